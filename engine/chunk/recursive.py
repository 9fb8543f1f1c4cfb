"""Default strategy: headings, then paragraphs, then sentences, packed."""

from __future__ import annotations

from .blocks import sections
from .measure import Measure
from .pack import merge_small, pack
from .parser import ContextSource, Span, SpanNodeParser


class RecursiveNodeParser(SpanNodeParser):
    """Node parser of chunks up to `size_tokens`, overlapping by sentences inside a section.

    Headings are found by Markdown's marks where the text is Markdown, else only where it is clear.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other; what is too small is joined with its neighbour."""
        measure = Measure(subject.text, self.tokeniser)
        packed = [
            span
            for section in sections(subject.text, markdown=subject.shape == "markdown")
            for span in pack(
                subject.text,
                section,
                measure=measure,
                size_tokens=self.size_tokens,
                overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            )
        ]
        return merge_small(packed, measure=measure, size_tokens=self.size_tokens)
