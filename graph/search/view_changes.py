"""Walk snapshots that follow changes: which rows a derivation changed, and these alone anew.

A derivation notes the documents whose rows may differ in a short log. A view of an earlier
generation reads these again and keeps all other rows; the result is that of reading everything.
A view in a file is known by the lineage of its library.
"""

from __future__ import annotations

import json
from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any, cast

from sqlalchemy import Column, Connection, select

from ..linking import Linked
from ..storage.database import Difference
from ..storage.facts import (
    LINEAGE,
    content_digest,
    derived_generation,
    facts_generation,
    forget_changes,
    hashed_end,
    hashed_parts,
    in_batches,
    noted_changes,
    read_state,
    rows_in,
    write_state,
)
from ..storage.schema import chunks, entities, links, name_starts, names
from ..text.short_names import first_words, is_short_for, name_words
from .packed_rows import Rows, Splice, first_or_empty, pack_rows, widen_table
from .snapshot import WalkSnapshot, placed_chunks, view_of

LOG = "view changes"
"""Key of the state table: what each of the last derivations changed."""
_NOTED = ("gone", "documents", "entities")
MOST_NOTED = 20_000
"""Maximum number of ids in the log."""
MOST_FOLLOWED = 500
"""Documents above which a view in a file is read, and written, anew."""
MOST_ANEW = 5
"""Share of all rows, one in so many, above which a view is read as a whole."""


def note_changed_rows(
    connection: Connection,
    *,
    laid_anew: Collection[str] | None,
    linked: Linked,
    facts_of: Collection[str],
    name_rows: Difference,
    entity_rows: Difference,
) -> None:
    """Note what a derivation changed in the rows of views.

    Args:
        connection: to a library whose names and links are as they are now.
        laid_anew: documents whose chunks changed; None: views are then read as a whole.
        linked: chunks that were linked again, and names that they gained or lost.
        facts_of: names whose facts changed, or that chunks that are gone had links to.
        name_rows: names that changed.
        entity_rows: entities that changed.
    """
    gone = noted_changes(connection, "chunk")
    forget_changes(connection, "chunk")
    forget_changes(connection, "link")
    before = read_state(connection, LINEAGE) or ""
    if laid_anew is None or not before:
        before = hashed_parts(before, content_digest(connection, *_DIGESTED))
        write_state(connection, LINEAGE, before)
    if laid_anew is None:
        write_state(connection, LOG, "[]")
        return
    renamed = _otherwise(name_rows, names.c.entity_id)
    found = {*linked.chunk_ids}
    for column in (links.c.key, chunks.c.title_key):
        place = links.c.chunk_id if column.table is links else chunks.c.id
        found.update(row[0] for row in rows_in(connection, select(place), column, renamed))
    found |= _introducing(
        connection, _longer_names(connection, renamed | linked.keys | {*facts_of})
    )
    change = {
        "from": derived_generation(connection),
        "to": facts_generation(connection),
        "since": before,
        "gone": sorted(gone),
        "documents": sorted({*laid_anew} | _documents_of(connection, found)),
        "entities": sorted(_otherwise(entity_rows, entities.c.name)),
    }
    texts = select(chunks.c.id, chunks.c.text_sha)
    laid = sorted(map(tuple, rows_in(connection, texts, chunks.c.document_id, laid_anew)))
    rows = [
        (sorted(one.before.items()), sorted(one.after.items())) for one in (name_rows, entity_rows)
    ]
    now = hashed_parts(before, json.dumps(change), repr(laid), repr(rows))
    write_state(connection, LINEAGE, now)
    log = _read_log(connection)
    log.append(change)
    while sum(len(each[kind]) for each in log for kind in _NOTED) > MOST_NOTED:
        log.pop(0)
    write_state(connection, LOG, json.dumps(log))


_DIGESTED = (chunks.c.id, chunks.c.text_sha, names.c.key, names.c.entity_id, entities.c.name)


def _otherwise(rows: Difference, column: Column[str]) -> set[str]:
    """Return the first columns of rows that came, went or differ in a column."""
    place = list(column.table.columns).index(column)
    before, after = (
        {row[0]: row[place] for row in some.values()} for some in (rows.before, rows.after)
    )
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _read_log(connection: Connection) -> list[dict[str, Any]]:
    log: list[dict[str, Any]] = json.loads(read_state(connection, LOG) or "[]")
    return [each for each in log if each.keys() >= {*_NOTED}]  # others are an earlier version's


def _longer_names(connection: Connection, keys: Collection[str]) -> set[str]:
    """Return the names that one of these may be short for."""
    words = {key: words for key in keys if (words := name_words(key))}
    found: set[str] = set()
    alike = _names_ending(connection, words.values())
    for some in words.values():
        found.update(key for key, other in alike[some[-1]] if _is_short_for(some, other))
    return found


def _names_ending(
    connection: Connection, wanted: Iterable[tuple[str, ...]]
) -> defaultdict[str, list[tuple[str, tuple[str, ...]]]]:
    """Return names and their words by their last word, for the last of these words."""
    found = defaultdict[str, list[tuple[str, tuple[str, ...]]]](list)
    ends = sorted({hashed_end(words[-1]) for words in wanted})
    for first in range(0, len(ends), 500):
        inside = name_starts.c.start.in_(ends[first : first + 500])
        for key in connection.execute(select(name_starts.c.key).where(inside)).scalars():
            if words := name_words(key):
                found[words[-1]].append((key, words))
    return found


def _is_short_for(shorter: tuple[str, ...], longer: tuple[str, ...]) -> bool:
    return shorter[0] in first_words(longer) and is_short_for(shorter, longer)


def _introducing(connection: Connection, keys: Collection[str]) -> set[str]:
    """Return the chunks that introduce one of these names."""
    opened = select(links.c.chunk_id).where(links.c.opens)
    titled = select(chunks.c.id)
    return {
        row[0]
        for row in chain(
            rows_in(connection, opened, links.c.key, keys),
            rows_in(connection, titled, chunks.c.title_key, keys),
        )
    }


def follow_changes(
    connection: Connection, view: WalkSnapshot, *, since: str
) -> WalkSnapshot | None:
    """Return the view of now, from one that was read at the stamp `since`.

    None where the log does not lead from there to now, or too much changed.
    """
    seen, _, derived = since.partition(".")
    noted = _noted_since(connection, int(seen)) if seen == derived else None
    if noted is None or len(noted["documents"]) * MOST_ANEW > len(view.chunk_ids):
        return None
    touched, entity_ids = noted["documents"], noted["entities"]
    shown = select(entities.c.id, entities.c.name)
    display = {row.id: row.name for row in rows_in(connection, shown, entities.c.id, entity_ids)}
    return _replaced(view, _read_documents(connection, touched), touched, display)


def follow_kept(
    connection: Connection, view: WalkSnapshot, *, since: str, lineage: str
) -> WalkSnapshot | None:
    """Return the view of now, from one in a file: read at the stamp `since`, with this lineage.

    None where this library has another history, something was removed, or much changed.
    """
    if documents_added_since(connection, since, lineage=lineage) is None:
        return None
    return follow_changes(connection, view, since=since)


def documents_added_since(connection: Connection, since: str, *, lineage: str) -> set[str] | None:
    """Return the documents whose rows changed since the state of a file, and some others.

    None where the library was never in that state, something was removed, or much changed.
    """
    seen, _, derived = since.partition(".")
    if not lineage or seen != derived:
        return None
    noted = _noted_since(connection, int(seen), lineage=lineage)
    if noted is None or noted["gone"] or len(noted["documents"]) > MOST_FOLLOWED:
        return None
    return noted["documents"]


def documents_changed_since(connection: Connection, generation: int) -> set[str] | None:
    """Return the documents whose rows changed since a generation, and some others.

    None where not all of them are noted.
    """
    noted = _noted_since(connection, generation)
    return None if noted is None else noted["documents"]


def chunks_gone_since(connection: Connection, generation: int) -> set[str] | None:
    """Return the chunks that went, or were replaced, since a generation.

    None where not all of them are noted.
    """
    noted = _noted_since(connection, generation)
    return None if noted is None else noted["gone"]


def _noted_since(
    connection: Connection, generation: int, *, lineage: str | None = None
) -> dict[str, set[str]] | None:
    """Return what changed since then, if all that did is noted, and the lineage was that one."""
    now = facts_generation(connection)
    if now != derived_generation(connection):
        return None
    if generation == now and lineage not in {None, read_state(connection, LINEAGE)}:
        return None
    found, place = {kind: set[str]() for kind in _NOTED}, generation
    for each in _read_log(connection):
        if each["from"] == place:
            if lineage is not None and place == generation and each.get("since") != lineage:
                return None
            for kind, ids in found.items():
                ids.update(each[kind])
            place = each["to"]
    return found if place == now else None


def _documents_of(connection: Connection, chunk_ids: Collection[str]) -> set[str]:
    query = select(chunks.c.document_id)
    return {row[0] for row in rows_in(connection, query, chunks.c.id, chunk_ids)}


def _read_documents(connection: Connection, document_ids: Collection[str]) -> WalkSnapshot:
    """Read the rows of some documents."""
    ordered = [
        tuple(row)
        for batch in in_batches(document_ids)
        for row in connection.execute(placed_chunks().where(chunks.c.document_id.in_(batch)))
    ]
    query = select(links.c.chunk_id, links.c.key, links.c.opens)
    ids = [chunk_id for chunk_id, _, _ in ordered]
    linked = [tuple(row) for row in rows_in(connection, query, links.c.chunk_id, ids)]
    keys = {key for _, key, _ in linked} | {title for _, _, title in ordered}
    known = _entities_of(connection, keys)

    def shorter(introduced: Collection[str]) -> dict[str, set[str]]:
        words = {key: words for key in introduced if (words := name_words(key))}
        alike = _names_ending(connection, words.values())
        short = {
            key: {one for one, other in alike[some[-1]] if _is_short_for(other, some)}
            for key, some in words.items()
        }
        every = {one for some in short.values() for one in some}
        has_link = select(links.c.key).distinct()
        standing = {row[0] for row in rows_in(connection, has_link, links.c.key, every)}
        meant = _entities_of(connection, standing)
        return {key: {meant[one][0] for one in some if one in meant} for key, some in short.items()}

    label_of = {key: label for key, (label, _) in known.items()}
    return view_of(ordered, linked, label_of, display=dict(known.values()), shorter=shorter)


def _entities_of(connection: Connection, keys: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return id and name of the entity of each of these names that is known."""
    query = select(names.c.key, entities.c.id, entities.c.name)
    query = query.join(entities, entities.c.id == names.c.entity_id)
    clean = query.where(names.c.dirty.is_(False), entities.c.dirty.is_(False))
    return {
        key: (label, name) for key, label, name in rows_in(connection, clean, names.c.key, keys)
    }


def _replaced(
    view: WalkSnapshot, fresh: WalkSnapshot, document_ids: Collection[str], display: dict[str, str]
) -> WalkSnapshot:
    """Return a view with the rows of some documents replaced by fresh ones."""
    splice = Splice.of(view.documents, fresh.documents, document_ids)
    given = (fresh.titles, fresh.labels, fresh.introduced, fresh.shortened)
    columns = ([(title,) for title in given[0]], *given[1:])
    table, places = widen_table(
        view.columns[0].table, chain.from_iterable(row for column in columns for row in column)
    )
    rows: list[Rows[tuple[str, ...]]] = [
        old.renumbered(places, table).spliced(splice.order, new)
        for old, new in zip(view.columns, pack_rows(*columns, table=table), strict=True)
    ]
    titles, labels, introduced, shortened = rows
    base = cast("dict[str, str]", view.display)
    shown = base if isinstance(base, ChainMap) else ChainMap({}, base)
    return WalkSnapshot(
        chunk_ids=tuple(splice.joined(view.chunk_ids, fresh.chunk_ids)),
        documents=tuple(splice.joined(view.documents, fresh.documents)),
        titles=titles.shaped(first_or_empty),
        labels=labels,
        display=ChainMap({**shown.maps[0], **fresh.display, **display}, *shown.maps[1:]),
        introduced=introduced,
        shortened=shortened,
    )
