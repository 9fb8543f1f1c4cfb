"""Packing of units (sentences, turns, clauses, functions) into chunks, with overlap by sentences.

A strategy gives the units of a text and what each falls into where it is too long; they are packed
as full as allowed and cut at natural breaks. Semantic units (a few short sentences, a table, a code
block) are what the strategies that choose among boundaries choose from.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from .span_parser import Measure, Span
from .structure import (
    BLOCK,
    WINDOW,
    Block,
    Kind,
    Piece,
    Section,
    blocks,
    is_delimiter_row,
    sentence_starts,
    split_finer,
    stripped_spans,
)

_HEADER_CHARACTERS = 800
"""A header row that is longer, its rule included, says too little for its size."""


def pack_section(
    text: str, section: Section, *, measure: Measure, size_tokens: int, overlap_tokens: int
) -> list[Span]:
    """Pack one section into chunks, none above `size_tokens`.

    A block stays whole where it fits; prose fills a chunk that is not yet half full. Tables and
    code are cut only where they do not fit. A heading is not parted from what follows it. A chunk
    that begins inside a table has the table's header row for its context.
    """
    packer = _Packer(
        text=text,
        measure=measure,
        size_tokens=size_tokens,
        overlap_tokens=overlap_tokens,
        queue=deque(
            Piece(start=block.start, end=block.end, kind=block.kind) for block in section.blocks
        ),
    )
    tables = [block for block in section.blocks if block.kind == "table"]
    return [
        Span(start=start, end=end, path=section.path, context=_table_header(text, tables, start))
        for start, end in packer.run()
    ]


def _table_header(text: str, tables: Sequence[Block], at: int) -> str:
    """Return the header row of the table around `at`, past its first row; else empty."""
    index = bisect_left(tables, at, key=lambda table: table.start) - 1
    if index < 0 or at >= tables[index].end:
        return ""
    begin = tables[index].start
    rows = text[begin : min(begin + _HEADER_CHARACTERS, tables[index].end)].splitlines()
    return rows[0].strip() if len(rows) > 2 and is_delimiter_row(rows[1]) else ""


def merge_small(spans: Sequence[Span], *, measure: Measure, size_tokens: int) -> list[Span]:
    """Merge neighbours of which one is below an eighth of `size_tokens`.

    Under a common parent heading, if they fit. The merged path is the common one.
    """
    minimum = size_tokens // 8
    result: list[Span] = []
    for span in spans:
        last = result[-1] if result else None
        if last is not None and _mergeable(last, span, measure, minimum, size_tokens):
            shared = common_heading_path(last.path, span.path)
            result[-1] = replace(last, end=span.end, path=shared)
        else:
            result.append(span)
    return result


def _mergeable(a: Span, b: Span, measure: Measure, minimum: int, size_tokens: int) -> bool:
    small = min(measure.tokens(a.start, a.end), measure.tokens(b.start, b.end)) < minimum
    akin = len(common_heading_path(a.path, b.path)) >= max(len(a.path), len(b.path)) - 1
    return small and akin and measure.tokens(a.start, b.end) <= size_tokens


def common_heading_path(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """Return the common heading path of two paths, from the root."""
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return a[:count]


@dataclass(slots=True, kw_only=True)
class _Packer:
    """The chunk that is open (`start`, `end`) and the pieces still to come."""

    text: str
    measure: Measure
    size_tokens: int
    overlap_tokens: int
    queue: deque[Piece]
    start: int = 0
    end: int = 0
    prose_start: int | None = None
    only_headings: bool = True
    done: list[tuple[int, int]] = field(default_factory=list)

    def run(self) -> list[tuple[int, int]]:
        while self.queue:
            piece = self.queue.popleft()
            if self.end == 0 and self.fits(piece.start, piece.end):
                self.open(piece, piece.start)
            elif self.end and self.fits(self.start, piece.end):
                self.extend(piece)
            elif self.end and self.closes_before(piece):
                self.close(piece)
            else:
                self.cut(piece)
        if self.end:
            self.done.append((self.start, self.end))
        return self.done

    def fits(self, start: int, end: int) -> bool:
        return self.measure.tokens(start, end) <= self.size_tokens

    def closes_before(self, piece: Piece) -> bool:
        """Check whether to end the open chunk instead of splitting the piece."""
        if self.only_headings:
            return piece.grain == WINDOW
        whole = self.fits(piece.start, piece.end)
        is_prose = piece.kind in ("text", "front")
        half_full = 2 * self.measure.tokens(self.start, self.end) >= self.size_tokens
        return half_full or (whole and (piece.grain > BLOCK or not is_prose))

    def open(self, piece: Piece, start: int) -> None:
        self.start, self.end = start, piece.end
        self.only_headings = piece.kind in ("heading", "front")
        self.prose_start = start if piece.kind == "text" else None

    def extend(self, piece: Piece) -> None:
        self.end = piece.end
        self.only_headings = self.only_headings and piece.kind in ("heading", "front")
        if piece.kind != "text":
            self.prose_start = None
        elif self.prose_start is None:
            self.prose_start = piece.start

    def close(self, piece: Piece) -> None:
        """End the open chunk; repeat its last sentences if the next piece still fits."""
        self.done.append((self.start, self.end))
        if not self.fits(piece.start, piece.end):
            self.end = 0
            self.queue.appendleft(piece)
            return
        self.open(piece, self.overlap_start(piece))

    def overlap_start(self, piece: Piece) -> int:
        if self.prose_start is None or piece.kind != "text" or not self.overlap_tokens:
            return piece.start
        earliest = max(self.prose_start, self.measure.backward(self.end, self.overlap_tokens))
        begin = max(self.prose_start, self.start, earliest - 64)
        for start in sentence_starts(self.text, begin, self.end):
            if start >= earliest and start > self.start and self.fits(start, piece.end):
                return start
        return piece.start

    def cut(self, piece: Piece) -> None:
        pieces = split_finer(self.text, piece, measure=self.measure, size_tokens=self.size_tokens)
        if pieces:
            self.queue.extendleft(reversed(pieces))
            return
        if self.end:  # nothing cuts it: rather too long a chunk than lost text
            self.done.append((self.start, self.end))
        self.open(piece, piece.start)


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_CONTEXT_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """`text[start:end]`, to stay whole while it fits.

    `parts` are finer units that hold the same text, for where it does not fit; without any it is
    cut at its blocks and sentences (or lines, where `kind` is code). `carried` says in one line
    what every later piece of it belongs to: a speaker, a question, a signature. One that stands
    `alone` shares its chunk with no other.
    """

    start: int
    end: int
    path: tuple[str, ...] = ()
    kind: Kind = "text"
    parts: tuple[Unit, ...] = ()
    carried: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of chunking: maximum size, overlap and the text's token measure.

    Overlap is in whole units. `markdown` says what marks the blocks of a unit that must be cut.
    """

    measure: Measure
    size_tokens: int
    overlap_tokens: int = 0
    markdown: bool = False

    def fits(self, start: int, end: int) -> bool:
        """Check whether `text[start:end]` fits in a chunk."""
        return self.measure.tokens(start, end) <= self.size_tokens


def line_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Return the lines of `text[start:end]` without line ends."""
    for found in _LINE.finditer(text, start, end):
        if found.group():
            yield (
                found.start(),
                found.end() - (len(found.group()) - len(found.group().rstrip("\r\n"))),
            )


def split_at(text: str, start: int, end: int, starts: Iterable[int]) -> list[tuple[int, int]]:
    """Split `text[start:end]` at `starts` (in order) into trimmed chunks."""
    return list(stripped_spans(text, start, end, [at for at in starts if start < at < end]))


def merge_short(text: str) -> str:
    """Return one line of context: folded white space, truncated at 200 characters."""
    line = " ".join(text[: 4 * _CONTEXT_CHARACTERS].split())
    if len(line) <= _CONTEXT_CHARACTERS:
        return line
    return line[: _CONTEXT_CHARACTERS - 1].rstrip() + "…"


def pack_units(text: str, units: Sequence[Unit], limits: Limits) -> list[Span]:
    """Pack ordered units into chunks, as many as fit and may stand together."""
    return _Filler(text=text, limits=limits).run(units, context="", later="", first=-1)


@dataclass(slots=True, kw_only=True)
class _Filler:
    text: str
    limits: Limits
    done: list[Span] = field(default_factory=list)

    def run(self, units: Sequence[Unit], *, context: str, later: str, first: int) -> list[Span]:
        """Pack a run of parts.

        `later` precedes every chunk except the one at `first`, which gets `context`.
        """
        together: list[Unit] = []

        def close() -> None:
            if together:
                here = context if together[0].start == first else later
                self.done.append(_joined(together, here))

        for given in units:
            unit = given
            whole = self.limits.fits(unit.start, unit.end)
            if whole and together and self._goes_with(together, unit):
                together.append(unit)
                continue
            if (
                not whole
                and together
                and together[0].start == first
                and self._heads(together, unit)
            ):
                unit = _widened(unit, together[0].start)  # a line such as `namespace n {`
                together = []
            close()
            if whole:
                together = [*self._repeated(together, unit), unit]
                continue
            together = []
            here = context if unit.start == first else later
            further = _lines(later, unit.carried)
            if unit.parts:
                self.run(unit.parts, context=here, later=further, first=unit.start)
            else:
                pieces = cut_unit(self.text, unit, limits=self.limits)
                self.done.extend(_under(pieces, first=here, later=further))
        close()
        return self.done

    def _heads(self, together: list[Unit], unit: Unit) -> bool:
        """Check whether the text before a divisible unit is too short for a chunk."""
        if not unit.parts or unit.alone or together[-1].alone:
            return False
        measure = self.limits.measure
        return measure.tokens(together[0].start, unit.start) < self.limits.size_tokens // 8

    def _goes_with(self, together: list[Unit], unit: Unit) -> bool:
        apart = unit.alone or together[-1].alone
        return not apart and self.limits.fits(together[0].start, unit.end)

    def _repeated(self, before: list[Unit], unit: Unit) -> list[Unit]:
        """Return the units that a chunk beginning with `unit` repeats; never all."""
        limits = self.limits
        if unit.alone or not limits.overlap_tokens:
            return []
        kept: list[Unit] = []
        for each in reversed(before[1:]):
            tokens = limits.measure.tokens(each.start, before[-1].end)
            too_much = tokens > limits.overlap_tokens or not limits.fits(each.start, unit.end)
            if too_much or each.alone:
                break
            kept.insert(0, each)
        return kept


def cut_unit(text: str, unit: Unit, *, limits: Limits) -> list[Span]:
    """Split a chunking unit without parts at its blocks and inside them."""
    found = blocks(text, markdown=limits.markdown, start=unit.start, end=unit.end)
    if unit.kind == "code":
        found = [replace(block, kind="code", heading=None) for block in found]
    return pack_section(
        text,
        Section(path=unit.path, blocks=tuple(found)),
        measure=limits.measure,
        size_tokens=limits.size_tokens,
        overlap_tokens=limits.overlap_tokens,
    )


def _under(pieces: Sequence[Span], *, first: str, later: str) -> list[Span]:
    """Return the pieces with their parent's context before their own."""
    return [
        replace(piece, context=_lines(later if number else first, piece.context))
        for number, piece in enumerate(pieces)
    ]


def _widened(unit: Unit, start: int) -> Unit:
    """Return the unit and the first of its parts at each level, from `start`."""
    parts = unit.parts and (_widened(unit.parts[0], start), *unit.parts[1:])
    return replace(unit, start=start, parts=parts)


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _joined(units: list[Unit], context: str) -> Span:
    path = units[0].path
    for unit in units[1:]:
        path = common_heading_path(path, unit.path)
    return Span(start=units[0].start, end=units[-1].end, path=path, context=context)


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticUnit:
    """Unit `text[start:end]`.

    `tokens` is its size. A heading belongs to the following unit.
    """

    start: int
    end: int
    tokens: int


def semantic_units(
    text: str,
    section: Section,
    *,
    measure: Measure,
    size_tokens: int,
    atom_tokens: int,
    across_paragraphs: bool = True,
) -> list[SemanticUnit]:
    """Split a section into units in order, none above `size_tokens`.

    Sentences are taken together until they have `atom_tokens`, or not `across_paragraphs` to the
    end of their paragraph; a table or a piece of code is one atom while it fits.
    """
    grouping = _Grouping(measure=measure, size_tokens=size_tokens, atom_tokens=atom_tokens)
    for block in section.blocks:
        for piece in _pieces(text, block, measure=measure, size_tokens=size_tokens):
            grouping.take(piece)
        if not across_paragraphs and not grouping.only_headings:
            grouping.close()
    return grouping.finished()


def clip_section(section: Section, start: int, end: int) -> Section:
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
        result += pack_section(
            text,
            clip_section(section, start, end),
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
        packed = pack_section(
            text, alone, measure=measure, size_tokens=size_tokens, overlap_tokens=0
        )
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
