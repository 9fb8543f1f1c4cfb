"""Talk, chunked by the turn: nobody's words are parted from who said them."""

from __future__ import annotations

from .blocks import Section, sections
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser
from .turns import turns
from .units import Limits, Unit, fill, merge_short, ranges


class TranscriptNodeParser(SpanNodeParser):
    """Node parser of whole turns up to `size_tokens`.

    Overlapping by turns up to `overlap_tokens`.

    A turn that does not fit is cut at its sentences into chunks that hold nothing else, and its
    later pieces have the speaker for their context. Headings of Markdown begin a new chunk; what
    stands before the first turn is a unit of its own.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other, turn by turn."""
        text, markdown = subject.text, subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        found = sections(text, markdown=True) if markdown else [Section(path=(), blocks=())]
        return [
            span
            for section, (start, end) in zip(found, _bounds(text, found), strict=True)
            for span in fill(text, _units(text, start, end, section=section), limits)
        ]


def _bounds(text: str, found: list[Section]) -> list[tuple[int, int]]:
    starts = [0, *(section.blocks[0].start for section in found[1:])]
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if found else []


def _units(text: str, start: int, end: int, *, section: Section) -> list[Unit]:
    begun = {turn.start: turn.speaker for turn in turns(text, start, end)}
    starts = list(begun)
    first_turn = starts[0] if starts else end
    if starts and not text[_headings_end(section, start) : first_turn].strip():
        starts = starts[1:]  # the first turn's unit begins with the headings above it
        begun[start] = begun[first_turn]
    result: list[Unit] = []
    for first, last in ranges(text, start, end, starts):
        speaker = merge_short(begun.get(start if first < first_turn else first, ""))
        carried = f"{speaker}:" if speaker else ""
        result.append(Unit(start=first, end=last, path=section.path, carried=carried))
    return result


def _headings_end(section: Section, start: int) -> int:
    """Return the end of a section's leading headings; `start` without any."""
    end = start
    for block in section.blocks:
        if block.kind != "heading":
            break
        end = block.end
    return end
