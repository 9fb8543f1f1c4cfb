"""Whole sentences, as many as fit: for flowing text whose layout says nothing."""

from __future__ import annotations

from collections.abc import Iterator

from .blocks import Section, sections
from .cuts import sentence_starts
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser
from .units import Limits, Unit, fill, ranges


class SentenceNodeParser(SpanNodeParser):
    """Node parser of sentences packed up to `size_tokens` across paragraphs.

    Overlapping by sentences up to `overlap_tokens`. A heading stays with the following
    sentence.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Return chunks of sentences; a path names the headings common to the whole chunk."""
        text, markdown = subject.text, subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        found = sections(text, markdown=markdown)
        return fill(text, [unit for each in found for unit in _sentences(text, each)], limits)


def _sentences(text: str, section: Section) -> Iterator[Unit]:
    heading: int | None = None
    for number, block in enumerate(section.blocks):
        start = block.start if heading is None else heading
        if block.kind == "heading" and number + 1 < len(section.blocks):
            heading = start
            continue
        heading = None
        prose = block.kind in ("text", "front")
        cuts = sentence_starts(text, block.start, block.end) if prose else []
        for first, last in ranges(text, start, block.end, cuts):
            yield Unit(start=first, end=last, path=section.path, kind=block.kind)
