"""Token counts of spans without repeated tokenisation."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

_SLAB_CHARACTERS = 1 << 16
_LONGEST_TOKEN_CHARACTERS = 32


@runtime_checkable
class Tokeniser(Protocol):
    """Tokeniser protocol of chunking. `spans` are in order, without special tokens."""

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`."""
        ...

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Each token's `(start, end)` in characters of `text`."""
        ...


class Measure:
    """The token starts of one text; counting a span is two binary searches.

    Runs that the tokeniser takes for one token or skips, although they are long (unknown words,
    encoded data), count a token a character: cut in two they would not stay one token, so the
    counts given here are never below what a piece really has.
    """

    def __init__(self, text: str, tokeniser: Tokeniser) -> None:
        self._starts = _token_starts(text, tokeniser)
        self._length = len(text)

    def tokens(self, start: int, end: int) -> int:
        """Return the number of tokens in `[start, end)`; a straddling one counts as one."""
        first = bisect_left(self._starts, start)
        inside = bisect_left(self._starts, end) - first
        begins_here = first < len(self._starts) and self._starts[first] == start
        return inside if begins_here else inside + 1

    def forward(self, start: int, tokens: int) -> int:
        """Return the offset after `tokens` tokens from `start`."""
        index = bisect_left(self._starts, start) + tokens
        return self._starts[index] if index < len(self._starts) else self._length

    def backward(self, end: int, tokens: int) -> int:
        """Return the offset where the last `tokens` tokens before `end` begin."""
        index = max(0, bisect_left(self._starts, end) - tokens)
        return self._starts[index] if index < len(self._starts) else end


def _token_starts(text: str, tokeniser: Tokeniser) -> array[int]:
    """Slab by slab, so that a long text needs little memory besides its starts."""
    starts = array("q")
    begin = 0
    while begin < len(text):
        end = _slab_end(text, begin)
        covered = begin
        for first, last in tokeniser.spans(text[begin:end]):
            start, stop = first + begin, last + begin
            if start - covered > _LONGEST_TOKEN_CHARACTERS:
                starts.extend(_every_character(text, covered, start))
            if stop - start > _LONGEST_TOKEN_CHARACTERS:
                starts.extend(range(start, stop))
            else:
                starts.append(start)
            covered = stop
        if end - covered > _LONGEST_TOKEN_CHARACTERS:
            starts.extend(_every_character(text, covered, end))
        begin = end
    return starts


def _every_character(text: str, start: int, end: int) -> Iterator[int]:
    """Return characters the tokeniser skips, except white space."""
    return (at for at in range(start, end) if not text[at].isspace())


def _slab_end(text: str, begin: int) -> int:
    limit = begin + _SLAB_CHARACTERS
    if limit >= len(text):
        return len(text)
    cut = max(text.rfind(mark, begin, limit) for mark in ("\n", " ", "。"))
    return cut + 1 if cut > begin else limit
