"""Documents and sections that are about a subject, by their titles and headings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...storage.graph_api import Chunk
from .asked import Found, tokens_of
from .topics import Unit, plain_title, spread_evenly

_TITLED, _MOSTLY = 0.9, 1 / 3
"""Least share of the subject's weight that a title of it has, and of its words that are of it."""
_PARTS, _READ = 4, 60
"""Maximum number of parts, and of chunks that are read of each."""


def is_titled(title: str, found: Found) -> bool:
    """Check whether a title or heading names the subject and little else."""
    words = {word for word in tokens_of(plain_title(title)) if len(word) > 1 and word.isalpha()}
    if not found.words or found.weight(words) < _TITLED:
        return False
    own = sum(1 for word in words if found.akin({word}))
    return own >= _MOSTLY * len(words)


def parts_about(
    found: Found, chunks: Sequence[Chunk], whole: Callable[[str], Sequence[Chunk]]
) -> list[Unit]:
    """Return the parts about the subject, those with the best passages first.

    `chunks` are those found; a part is a whole document or a section of it, with all its chunks,
    which `whole` gives by document id.
    """
    places: dict[tuple[str, tuple[str, ...]], float] = {}
    for chunk in chunks:
        place = _place_about(chunk, found)
        if place is not None:
            key = (chunk.document_id, place)
            places[key] = max(places.get(key, 0.0), found.scores[chunk.id])
    ordered = sorted(places, key=lambda key: (-places[key], key))
    units: list[Unit] = []
    for name, headings in ordered:
        inside = any(
            name == other and len(above) < len(headings) and headings[: len(above)] == above
            for other, above in ordered
        )
        if not inside and len(units) < _PARTS:
            depth = len(headings)
            own = [one for one in whole(name) if one.headings[:depth] == headings]
            units.append(Unit(name, headings, tuple(spread_evenly(own, _READ))))
    return [unit for unit in units if unit.chunks]


def _place_about(chunk: Chunk, found: Found) -> tuple[str, ...] | None:
    """Return the headings down to the one that names the subject; none of them for the title."""
    if is_titled(chunk.title, found):
        return ()
    depths = range(1, len(chunk.headings) + 1)
    depth = next((at for at in depths if is_titled(chunk.headings[at - 1], found)), None)
    return None if depth is None else chunk.headings[:depth]
