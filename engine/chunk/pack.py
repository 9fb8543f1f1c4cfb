"""Chunk packing: as full as allowed, cut at natural breaks, overlapping by sentences.

Pure; spans in, spans out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .blocks import Block, Section, is_delimiter_row
from .cuts import BLOCK, WINDOW, Piece, finer, sentence_starts
from .measure import Measure
from .parser import Span

_HEADER_CHARACTERS = 800
"""A header row that is longer, its rule included, says too little for its size."""


def pack(
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
        pieces = finer(self.text, piece, measure=self.measure, size_tokens=self.size_tokens)
        if pieces:
            self.queue.extendleft(reversed(pieces))
            return
        if self.end:  # nothing cuts it: rather too long a chunk than lost text
            self.done.append((self.start, self.end))
        self.open(piece, piece.start)
