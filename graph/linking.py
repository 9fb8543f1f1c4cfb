"""Entity linking (known names in every chunk) and relations from statements.

Chunks are matched again only where a name that came or went may occur; the result is that of
matching all. A chunk that cannot be matched has no links and a fault, and is matched again whenever
names change. Relations group statements by their entities and sum the weights of their evidences;
one in the overlap of two chunks is one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, text, update

from .isolation import Isolation
from .model import OCCURS_WITH, SPEAKS_OF_A_NAME, Evidence, Relation, content_id
from .storage.database import (
    Difference,
    entities_of_keys,
    keys_of_entities,
    write_difference,
    write_difference_at,
)
from .storage.facts import (
    LINK,
    complete_words,
    faulty_chunks,
    forget_faults,
    has_rows,
    hashed,
    hashed_end,
    in_batches,
    place_columns,
    put_faults,
    read_state,
    rows_between,
    rows_in,
    write_state,
)
from .storage.schema import (
    chunk_words,
    chunks,
    links,
    name_starts,
    names,
    relations,
    statements,
)
from .text.names import (
    NameMatcher,
    introduced_names,
    is_matchable,
    start_of_name,
    starts_in_text,
    words_of_name,
)
from .text.short_names import name_words

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, steps done and steps in all."""


STARTS = "starts"
"""Key of the state table: the version in which the first words of all names are stored."""

_STARTS_VERSION = "2"

Named = tuple[str, str]
"""A name's key and its kind."""


def mark_unlinked(connection: Connection, *, gone: set[Named], come: set[Named]) -> None:
    """Chunks in which a name that came or went may occur are matched again; no others.

    What a chunk's longest matches are depends only on the names that occur in it: where a name goes
    those of which it was one, where it comes those that hold all its words.
    """
    gone, come = ({(key, kind) for key, kind in some if kind != "concept"} for some in (gone, come))
    gone, come = gone - come, come - gone
    _index_starts(connection, gone=gone, come=come)
    if not gone and not come:
        return
    if not has_rows(connection, names, (len(gone) + len(come)) * 5):
        connection.execute(update(chunks).values(linked=False))
        return
    again = faulty_chunks(connection, stage=LINK)
    lost = select(links.c.chunk_id)
    again.update(row.chunk_id for row in rows_in(connection, lost, links.c.key, dict(gone)))
    complete_words(connection)
    matcher = _matcher(come)
    found = {one for key, _ in sorted(come) for one in _chunks_with(connection, key)}
    texts = select(chunks.c.id, chunks.c.text)
    for row in rows_in(connection, texts, chunks.c.id, found - again):
        if _may_occur(matcher, row.text):
            again.add(row.id)
    for batch in in_batches(again):
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(linked=False))


def _index_starts(connection: Connection, *, gone: set[Named], come: set[Named]) -> None:
    """Keep first and last words of names; of all of them, where another version or none did."""
    table = name_starts.c
    if read_state(connection, STARTS) != _STARTS_VERSION:
        write_state(connection, STARTS, _STARTS_VERSION)
        connection.execute(delete(name_starts))
        gone = set()
        known = select(names.c.key, names.c.kind).where(names.c.kind != "concept")
        come = {(key, kind) for key, kind in connection.execute(known)}
    ended = [{"at": key} for key in sorted({*dict(gone)} - {*dict(come)})]
    if ended:
        starts = [{"start": one, **row} for row in ended for one in _places_of(row["at"])]
        place = (table.start == bindparam("start"), table.key == bindparam("at"))
        connection.execute(delete(name_starts).where(*place), starts)
    begun = sorted({*dict(come)} - {*dict(gone)})
    if begun:
        rows = [{"start": one, "key": key} for key in begun for one in _places_of(key)]
        connection.execute(insert(name_starts), rows)


def _places_of(key: str) -> set[int]:
    """Return what `name_starts` finds a name by: its first word and, of several, its last."""
    words = name_words(key)
    return {hashed(start_of_name(key)), *([hashed_end(words[-1])] if words else ())}


def _chunks_with(connection: Connection, key: str) -> list[str]:
    """Return the chunks that hold all words of a name, found by the rarest one."""
    if not is_matchable(key):
        return []
    words = sorted(map(hashed, words_of_name(key)))
    table, other = chunk_words.c, chunk_words.alias()
    counted = select(table.word, func.count()).where(table.word.in_(words)).group_by(table.word)
    held = dict(map(tuple, connection.execute(counted)))
    if held.keys() != {*words}:
        return []
    rarest, *others = sorted(words, key=lambda one: (held[one], one))
    query = select(table.chunk_id).where(table.word == rarest)
    for word in others:
        place = (other.c.word == word, other.c.chunk_id == table.chunk_id)
        query = query.where(select(other.c.word).where(*place).exists())
    return list(connection.execute(query).scalars())


MANY_NAMES = 100
"""Names to one chunk from which those that may occur are looked up; of fewer all are read."""


def _matcher_for(connection: Connection, texts: Sequence[str]) -> NameMatcher:
    """Return a matcher of all names that may occur in these texts."""
    query = select(names.c.key, names.c.kind)
    if not has_rows(connection, names, len(texts) * MANY_NAMES):
        return _matcher(map(tuple, connection.execute(query)))
    _index_starts(connection, gone=set(), come=set())
    starts = sorted({hashed(start) for text in texts for start in starts_in_text(text)})
    keys: set[str] = set()
    for place in range(0, len(starts), _BATCH):
        batch = starts[place : place + _BATCH]
        found = select(name_starts.c.key).where(name_starts.c.start.in_(batch))
        keys.update(connection.execute(found).scalars())
    return _matcher(map(tuple, rows_in(connection, query, names.c.key, keys)))


_BATCH = 500


def _matcher(kinds: Iterable[Named]) -> NameMatcher:
    named = [(key, kind) for key, kind in kinds if kind != "concept"]
    return NameMatcher(
        titles=[key for key, kind in named if kind == "title"], names=[key for key, _ in named]
    )


class Linked(NamedTuple):
    """Chunks that were matched, and the names that they have or had."""

    chunk_ids: set[str]
    keys: set[str]


def write_links(connection: Connection, progress: Progress) -> Linked:
    """Match the chunks that wait for it with all names as they are now."""
    columns = (chunks.c.id, chunks.c.document_id, chunks.c.title, chunks.c.text)
    query = select(*columns).where(text("NOT chunks.linked"))  # has an index
    waiting = connection.execute(query.order_by(chunks.c.id)).all()
    if not waiting:
        return Linked(set(), set())
    matcher = _matcher_for(connection, [row.text for row in waiting])
    rows: list[dict[str, Any]] = []
    reasons: dict[str, str] = {}
    for number, row in enumerate(waiting):
        with Isolation(LINK) as isolation:
            rows += _links(matcher, row)
        if isolation.fault:
            isolation.fault.log(f"{row.document_id} ({row.id})")
            reasons[row.id] = isolation.fault.reason
        if number % 500 == 0:
            progress("link", number, len(waiting))
    keys = {row["key"] for row in rows}
    for batch in in_batches(row.id for row in waiting):
        held = select(links.c.key).where(links.c.chunk_id.in_(batch))
        keys.update(connection.execute(held).scalars())
        connection.execute(delete(links).where(links.c.chunk_id.in_(batch)))
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(linked=True))
    forget_faults(connection, (row.id for row in waiting), stage=LINK)
    put_faults(connection, reasons, stage=LINK)
    if rows:
        connection.execute(insert(links), rows)
    return Linked({row.id for row in waiting}, keys)


def _links(matcher: NameMatcher, row: Row[Any]) -> list[dict[str, Any]]:
    """Return the link rows of one chunk."""
    matches = matcher.match(row.text)
    introduced = introduced_names(row.text, matches, title=row.title)
    keys = sorted({match.key for match in matches})
    return [{"chunk_id": row.id, "key": key, "opens": key in introduced} for key in keys]


def _may_occur(matcher: NameMatcher, text: str) -> bool:
    """Check whether any name may occur in a text; also true where matching fails."""
    with Isolation(LINK):
        return matcher.occurs_in(text)
    return True


TYPED_WEIGHT = 2.0
"""Weight of a stated relation; co-occurrence weighs 1."""

INFERRED_SHARE = 0.5
"""Factor for relations without a sentence naming both ends."""

Ends = tuple[str, str, str]
Place = tuple[str, int, int]


def stated_relations(
    connection: Connection,
    *,
    said: Mapping[str, str],
    only: Collection[str] | None = None,
    among: Collection[str] = (),
    within: Collection[str] | None = None,
) -> list[Relation]:
    """Group statements by their entities with all evidences; sorted by id.

    With `only`, the relations that have an end among these entities, or both `among` those; with
    `within`, what of these stands in such chunks. `said` is what a model said of a relation, by
    its id.
    """
    places: dict[Ends, dict[Place, tuple[float, Evidence]]] = defaultdict(dict)
    rows, entity_of = _statements(connection, only, among, within)
    for row in rows:
        chunk_id, start, end, subject, predicate, target, strength, inferred, source, offset = row
        ends = relation_ends(entity_of.get(subject), predicate, entity_of.get(target))
        if ends is None or not _is_asked(ends, only, among):
            continue
        weight = evidence_weight(predicate, strength, inferred)
        evidence = Evidence(chunk_id=chunk_id, start=start, end=end)
        place, known = (source, offset + start, offset + end), places[ends]
        others = known.get(place, (weight, evidence))
        known[place] = max(weight, others[0]), min(evidence, others[1])
    found = (_relation(ends, places[ends].values(), said=said) for ends in places)
    return sorted(found, key=lambda relation: relation.id)


def _is_asked(ends: Ends, only: Collection[str] | None, among: Collection[str]) -> bool:
    source, _, target = ends
    if only is None or source in only or target in only:
        return True
    return source in among and target in among


def _statements(
    connection: Connection,
    only: Collection[str] | None,
    among: Collection[str],
    within: Collection[str] | None,
) -> tuple[Iterable[Row[Any]], Mapping[str, str]]:
    """Return the statements that may be asked for, and their names' entities."""
    table = statements.c
    query = select(
        table.chunk_id,
        table.start,
        table.end,
        table.subject,
        table.predicate,
        table.object,
        table.strength,
        table.inferred,
        *place_columns(),
    )
    query = query.join(chunks, chunks.c.id == table.chunk_id)
    query = query.where(table.predicate.not_in(SPEAKS_OF_A_NAME))
    if only is None:
        return connection.execute(query), entities_of_keys(connection)
    keys, both = keys_of_entities(connection, only), keys_of_entities(connection, among)
    if within is None:
        sides = (rows_in(connection, query, side, keys) for side in (table.subject, table.object))
        rows = [row for side in sides for row in side]
        rows += rows_between(connection, query, (table.subject, table.object), both)
    else:
        near = rows_in(connection, query, table.chunk_id, within)
        rows = [row for row in near if row.subject in keys or row.object in keys]
    known = keys | both
    ends = {key for row in rows for key in (row.subject, row.object)} - known.keys()
    return rows, known | entities_of_keys(connection, ends)


def relation_ends(source: str | None, predicate: str, target: str | None) -> Ends | None:
    """Return the relation that a statement supports; None for none."""
    if predicate in SPEAKS_OF_A_NAME or source is None or target is None or source == target:
        return None
    if predicate == OCCURS_WITH and target < source:
        return target, predicate, source
    return source, predicate, target


def evidence_weight(predicate: str, strength: float, inferred: bool) -> float:
    """Return the weight of one evidence."""
    if predicate == OCCURS_WITH:
        return 1.0
    return TYPED_WEIGHT * float(strength) * (INFERRED_SHARE if inferred else 1.0)


def _relation(
    ends: Ends, evidences: Iterable[tuple[float, Evidence]], *, said: Mapping[str, str]
) -> Relation:
    ordered = sorted(evidences, key=lambda one: one[1])
    relation_id = content_id("r", *ends)
    return Relation(
        id=relation_id,
        source_id=ends[0],
        predicate=ends[1],
        target_id=ends[2],
        weight=round(sum(weight for weight, _ in ordered), 6),
        evidences=tuple(evidence for _, evidence in ordered),
        description=said.get(relation_id, ""),
    )


def write_relations(
    connection: Connection,
    found: Sequence[Relation],
    *,
    only: Collection[str] | None = None,
    among: Collection[str] = (),
) -> Difference:
    """Store these relations in place of all, or of those asked for (see `stated_relations`)."""
    rows: list[Mapping[str, Any]] = [
        {
            "id": relation.id,
            "source_id": relation.source_id,
            "predicate": relation.predicate,
            "target_id": relation.target_id,
            "weight": relation.weight,
            "description": relation.description,
        }
        for relation in found
    ]
    if only is None:
        return write_difference(connection, relations, rows)
    ends = (relations.c.source_id, relations.c.target_id)
    more = rows_between(connection, select(relations), ends, among)
    return write_difference_at(connection, relations, rows=rows, at=ends, values=only, more=more)


def read_edges(connection: Connection) -> list[tuple[str, str, float]]:
    """Read summed weights by entity pair.

    Pairs in sorted order, sorted; weights are summed in the order of the relations' ids.
    """
    table = relations.c
    query = select(table.id, table.source_id, table.target_id, table.weight)
    rows = sorted(map(tuple, connection.execute(query).all()))
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for _, source, target, weight in rows:
        weights[(source, target) if source < target else (target, source)] += weight
    return [(source, target, weights[source, target]) for source, target in sorted(weights)]
