"""A question and its answer a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from .blocks import Block, Section, sections
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser
from .questions import Question, questions
from .units import Limits, Unit, fill, merge_short, ranges


class FaqNodeParser(SpanNodeParser):
    """Node parser of question–answer pairs, one for each chunk.

    A long answer is split with its question as context.

    A pair ends where the next begins or a heading that is not below its own. Headings without text
    stand with the first question under them; what is no pair is gathered.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Pair by pair, and what lies between them."""
        text, markdown = subject.text, subject.shape == "markdown"
        limits = Limits(
            measure=Measure(text, self.tokeniser),
            size_tokens=self.size_tokens,
            overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            markdown=markdown,
        )
        return fill(text, qa_pairs(text, markdown=markdown), limits)


def qa_pairs(text: str, *, markdown: bool) -> list[Unit]:
    """Split a text into units: pairs stand alone, other text does not."""
    found = sections(text, markdown=markdown)
    asked = {question.start: question for question in questions(text, found)}
    starts = sorted({*asked, *_closing_headings(found, asked)})
    starts = _without_bare_headings(text, starts, found)
    paths = {block.start: section.path for section in found for block in section.blocks}
    result: list[Unit] = []
    path: tuple[str, ...] = ()
    inside = sorted({*asked})
    at = 0
    for start, end in ranges(text, 0, len(text), starts):
        path = paths.get(start, path)
        question = None
        while at < len(inside) and inside[at] < end:
            question = question or asked[inside[at]]
            path = paths.get(inside[at], path)
            at += 1
        carried = merge_short(question.asked) if question else ""
        unit = Unit(start=start, end=end, path=path, carried=carried, alone=question is not None)
        result.append(unit)
    return result


def _closing_headings(found: Sequence[Section], asked: dict[int, Question]) -> list[int]:
    """Headings that end a pair: all that are not below the heading that asks."""
    level = 0
    closing: list[int] = []
    for block in _headings(found):
        depth = block.heading.level if block.heading else 0
        if block.start in asked:
            level = depth
        elif depth <= level or level == 0:
            level = 0
            closing.append(block.start)
    return closing


def _headings(found: Sequence[Section]) -> list[Block]:
    return [block for block in chain(*(each.blocks for each in found)) if block.heading]


def _without_bare_headings(text: str, starts: list[int], found: Sequence[Section]) -> list[int]:
    """Drop starts that have only headings since the previous start."""
    ends = {block.start: block.end for block in _headings(found)}
    kept: list[int] = []
    bare_until: int | None = None
    for start in starts:
        stands_under = bare_until is not None and not text[bare_until:start].strip()
        if not stands_under:
            kept.append(start)
        bare_until = ends.get(start)
    return kept
