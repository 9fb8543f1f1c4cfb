"""Documents and sections that are about a subject, by their titles and headings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...storage.graph_api import Chunk
from .asked import Asked, Found, tokens_of
from .context import GlobalContext
from .topics import Unit, books_of, plain_title, sample_chunks, spread_evenly, units_of

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


def named_part(
    scene: GlobalContext, asked: Asked, by_document: Mapping[str, Sequence[str]]
) -> Sequence[Chunk]:
    """Return the one document or chapter whose title a question names; none where it is none."""
    heads = scene.chunks(keys[0] for keys in by_document.values())
    units = units_of(list(heads.values())) if len(by_document) > 1 else []
    books, others = books_of(units)
    parts = [*others, *(one for book in books for one in (*book.front, *book.chapters))]
    wanted = Found({}, {}, {word: scene.weight(word) for word in asked.subject})
    named = []
    for part in parts:
        name = part.document_id.rpartition("/")[2].rpartition(".")[0]
        if any(is_titled(title, wanted) for title in (part.chunks[0].title, name)):
            named.append(
                (len(tokens_of(part.chunks[0].title)), -len(part.chunks), part.document_id, part)
            )
    if not named:
        return ()
    part = min(named, key=lambda one: one[:3])[3]
    documents = {chunk.document_id for chunk in part.chunks}
    keys = sample_chunks({name: by_document[name] for name in documents})
    return list(scene.chunks(keys).values())


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
