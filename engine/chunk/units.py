"""Units of meaning (sentences, turns, clauses, functions) to chunks.

A strategy says what the units of a text are and what each falls into where it is too long; here
they are gathered as full as they may be, or cut. Pure; knows no format and no language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from .blocks import Kind, Section, blocks
from .cuts import stripped_spans
from .measure import Measure
from .pack import common_heading_path, pack
from .parser import Span

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


def ranges(text: str, start: int, end: int, starts: Iterable[int]) -> list[tuple[int, int]]:
    """Split `text[start:end]` at `starts` (in order) into trimmed ranges."""
    return list(stripped_spans(text, start, end, [at for at in starts if start < at < end]))


def merge_short(text: str) -> str:
    """Return one line of context: folded white space, truncated at 200 characters."""
    line = " ".join(text[: 4 * _CONTEXT_CHARACTERS].split())
    if len(line) <= _CONTEXT_CHARACTERS:
        return line
    return line[: _CONTEXT_CHARACTERS - 1].rstrip() + "…"


def fill(text: str, units: Sequence[Unit], limits: Limits) -> list[Span]:
    """Pack ordered `units` into chunks, as many as fit and may stand together."""
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
    """Split a unit without parts at its blocks and inside them."""
    found = blocks(text, markdown=limits.markdown, start=unit.start, end=unit.end)
    if unit.kind == "code":
        found = [replace(block, kind="code", heading=None) for block in found]
    return pack(
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
