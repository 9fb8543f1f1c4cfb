"""Packs of chunks for one call, and their splitting.

Instructions cost the same for one chunk as for ten, so short chunks share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .segments import is_chinese

MAX_CHUNKS = 12
"""Models lose count of more numbered texts than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Chunks read in one call: `keys[i]` is the id of `texts[i]`."""

    texts: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def chinese(self) -> bool:
        """Check whether the pack is mostly Chinese."""
        return is_chinese("\n".join(self.texts))

    def only(self, keys: Iterable[str]) -> Pack:
        """Return the pack of these chunks alone, in order."""
        wanted = frozenset(keys)
        kept = [pair for pair in zip(self.keys, self.texts, strict=True) if pair[0] in wanted]
        return Pack(keys=tuple(key for key, _ in kept), texts=tuple(text for _, text in kept))

    def halves(self) -> tuple[Pack, Pack]:
        """Two packs of half the chunks each; the second is empty where there is one chunk."""
        middle = (len(self.keys) + 1) // 2
        return self.only(self.keys[:middle]), self.only(self.keys[middle:])


def packs(
    chunks: Sequence[tuple[str, str]], *, count: Callable[[str], int], target_tokens: int
) -> list[Pack]:
    """Pack `(id, text)` pairs by at most `target_tokens` and 12 chunks, in order.

    A chunk of `target_tokens` or more is a pack of its own. `count` gives a text's tokens; every id
    must be there once.
    """
    done: list[Pack] = []
    open_chunks: list[tuple[str, str]] = []
    size = 0
    for key, text in chunks:
        tokens = count(text)
        if open_chunks and (size + tokens > target_tokens or len(open_chunks) == MAX_CHUNKS):
            done.append(_pack(open_chunks))
            open_chunks, size = [], 0
        open_chunks.append((key, text))
        size += tokens
    if open_chunks:
        done.append(_pack(open_chunks))
    return done


def _pack(chunks: Sequence[tuple[str, str]]) -> Pack:
    return Pack(keys=tuple(key for key, _ in chunks), texts=tuple(text for _, text in chunks))
