"""A page a chunk: for slides, forms and reports that are laid out by the page."""

from __future__ import annotations

from bisect import bisect_right

from .blocks import sections
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser
from .recursive import RecursiveNodeParser
from .units import Limits, Unit, cut_unit, ranges


class PageNodeParser(SpanNodeParser):
    """Node parser with a chunk for each page.

    Oversized pages are split at blocks and overlap only within the page. Without pages it
    works like `RecursiveNodeParser`. The path is the headings in force at the page's start,
    or the page's own first heading.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One page after the other."""
        text, starts = subject.text, subject.page_starts
        if not starts:
            return RecursiveNodeParser(
                size_tokens=self.size_tokens,
                overlap_tokens=self.overlap_tokens,
                tokeniser=self.tokeniser,
            ).spans(subject)
        markdown = subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        found = sections(text, markdown=markdown)
        begins = [section.blocks[0].start for section in found]
        result: list[Span] = []
        for start, end in ranges(text, 0, len(text), sorted(starts)):
            at = bisect_right(begins, start) - 1
            unit = Unit(start=start, end=end, path=found[at].path if at >= 0 else ())
            if limits.fits(start, end):
                result.append(Span(start=start, end=end, path=unit.path))
            else:
                result.extend(cut_unit(text, unit, limits=limits))
        return result
