"""Semantic units of a section: a few short sentences, a table, a piece of code.

Strategies that choose among boundaries (semantic, agentic, sentence-window) all choose among those
between atoms. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from .blocks import Block, Section
from .cuts import sentence_starts, stripped_spans
from .measure import Measure
from .pack import pack
from .parser import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticUnit:
    """Unit `text[start:end]`.

    `tokens` is its size. A heading belongs to the following unit.
    """

    start: int
    end: int
    tokens: int


def semantic_units(
    text: str, section: Section, *, measure: Measure, size_tokens: int, atom_tokens: int
) -> list[SemanticUnit]:
    """Split a section into units in order, none above `size_tokens`.

    Sentences are taken together until they have `atom_tokens`; a table or a piece of code is one
    atom while it fits.
    """
    grouping = _Grouping(measure=measure, size_tokens=size_tokens, atom_tokens=atom_tokens)
    for block in section.blocks:
        for piece in _pieces(text, block, measure=measure, size_tokens=size_tokens):
            grouping.take(piece)
    return grouping.finished()


def clipped(section: Section, start: int, end: int) -> Section:
    """Clip a section to `[start, end)`, cutting blocks only at unit ends."""
    blocks = section.blocks
    first = bisect_right(blocks, start, key=lambda block: block.end)
    after = bisect_left(blocks, end, key=lambda block: block.start)
    inside = tuple(
        replace(block, start=max(block.start, start), end=min(block.end, end))
        for block in blocks[first:after]
    )
    return Section(path=section.path, blocks=inside)


def spans_between(
    text: str,
    section: Section,
    inside: Sequence[SemanticUnit],
    cuts: Iterable[int],
    *,
    measure: Measure,
    size_tokens: int,
    overlap_tokens: int,
) -> list[Span]:
    """Return chunks of the units `inside` a section, cut before the ones in `cuts`.

    What is too long between two cuts is packed like any other text, with an overlap inside.
    """
    edges = [0, *sorted(set(cuts) - {0, len(inside)}), len(inside)]
    result: list[Span] = []
    for first, after in pairwise(edges if inside else []):
        start, end = inside[first].start, inside[after - 1].end
        if measure.tokens(start, end) <= size_tokens:
            result.append(Span(start=start, end=end, path=section.path))
            continue
        result += pack(
            text,
            clipped(section, start, end),
            measure=measure,
            size_tokens=size_tokens,
            overlap_tokens=overlap_tokens,
        )
    return result


def _pieces(text: str, block: Block, *, measure: Measure, size_tokens: int) -> Iterator[Block]:
    """Return a block's sentences, or the block itself, split further if too long."""
    for piece in _sentences(text, block):
        if measure.tokens(piece.start, piece.end) <= size_tokens:
            yield piece
            continue
        alone = Section(path=(), blocks=(piece,))
        packed = pack(text, alone, measure=measure, size_tokens=size_tokens, overlap_tokens=0)
        for span in packed:
            yield Block(start=span.start, end=span.end, kind=piece.kind)


def _sentences(text: str, block: Block) -> Iterator[Block]:
    if block.kind not in ("text", "front"):
        yield block
        return
    starts = sentence_starts(text, block.start, block.end)
    for start, end in stripped_spans(text, block.start, block.end, starts):
        yield Block(start=start, end=end, kind=block.kind)


@dataclass(slots=True, kw_only=True)
class _Grouping:
    """The pieces of the atom that is open, and the atoms that are done."""

    measure: Measure
    size_tokens: int
    atom_tokens: int
    done: list[SemanticUnit] = field(default_factory=list)
    start: int = 0
    end: int = 0
    only_headings: bool = True
    prose: bool = True

    def take(self, piece: Block) -> None:
        if self.end and not self.joins(piece):
            self.close()
        if not self.end:
            self.start, self.only_headings, self.prose = piece.start, True, True
        self.end = piece.end
        self.only_headings = self.only_headings and piece.kind == "heading"
        self.prose = self.prose and piece.kind in ("heading", "text")

    def joins(self, piece: Block) -> bool:
        """Check whether the piece joins the open unit.

        Behind its heading, or as another short sentence.
        """
        if self.measure.tokens(self.start, piece.end) > self.size_tokens:
            return False
        small = self.measure.tokens(self.start, self.end) < self.atom_tokens
        return self.only_headings or (self.prose and piece.kind == "text" and small)

    def close(self) -> None:
        tokens = self.measure.tokens(self.start, self.end)
        self.done.append(SemanticUnit(start=self.start, end=self.end, tokens=tokens))
        self.end = 0

    def finished(self) -> list[SemanticUnit]:
        if self.end:
            self.close()
        return self.done
