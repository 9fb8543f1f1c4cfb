"""A section a chunk: for documents whose headings say what can be asked of them."""

from __future__ import annotations

from .blocks import sections
from .measure import Measure
from .pack import pack
from .parser import ContextSource, Span, SpanNodeParser


class MarkdownNodeParser(SpanNodeParser):
    """Each section with text of its own is a chunk, cut only where it does not fit.

    Two things set it apart from `RecursiveNodeParser`: small sections stay chunks of their own
    instead of joining their neighbours, and Markdown's marks count whatever the file was. Tables
    and code are kept whole while they fit; a table that does not is cut between rows, and its later
    pieces have the header row for their context.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other; headings without text stand with the next section."""
        measure = Measure(subject.text, self.tokeniser)
        return [
            span
            for section in sections(subject.text, markdown=True)
            for span in pack(
                subject.text,
                section,
                measure=measure,
                size_tokens=self.size_tokens,
                overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            )
        ]
