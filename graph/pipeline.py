"""Derivation from all facts: entities, links, relations, communities, reports.

One transaction, whose rows are a function of the facts alone: a library that reached the same facts
by another way holds the same rows. Only differing rows are written; relations and reports are made
anew only where names, entities or the cutting of a document into chunks changed (one digest a
document). An interrupted run leaves the old rows, and the next one repeats it. Where facts raise an
unexpected error, the documents at fault are found by bisection and their facts deleted; texts and
vectors stay, and their chunks get a fault. The result depends on the documents, not their order.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

from sqlalchemy import Connection, bindparam, delete, insert, select, text, update

from .communities.descriptions import (
    collect_descriptions,
    has_descriptions,
    read_descriptions,
)
from .communities.incremental import (
    ANCHOR,
    Anchor,
    Parameters,
    change_locally,
    write_anchor,
    write_change,
)
from .communities.leiden import cluster_communities as cluster
from .communities.report_input import report_input
from .communities.reports import FORMAT, parts_of, write_reports
from .communities.touched import Again, steady_entities, touched_communities
from .isolation import Fault, Isolation
from .linking import (
    STARTS,
    Progress,
    mark_unlinked,
    read_edges,
    stated_relations,
    write_links,
    write_relations,
)
from .model import Community, Name, Report
from .resolution.incremental import Resolved, forget_names, resolve_changes
from .search.view_changes import note_changed_rows
from .storage.database import (
    Database,
    Difference,
    Values,
    derived_reports,
    entities_of_keys,
    is_fresh,
    write_difference,
    write_difference_at,
    write_findings,
)
from .storage.facts import (
    DERIVE,
    FAILED,
    WORDS,
    delete_facts_of,
    derived_generation,
    facts_generation,
    forget_changes,
    forget_judgements,
    has_rows,
    in_batches,
    noted_changes,
    put_faults,
    read_state,
    rows_in,
    write_state,
)
from .storage.schema import (
    chunks,
    communities,
    entities,
    members,
    mentions,
    name_starts,
    names,
    relations,
    reports,
    statements,
    written_reports,
)

_DERIVED = (members, reports, communities, relations, name_starts, names, entities)

LAYOUTS = "layouts"
"""Key of the state table: the version of what is made of documents and their chunks."""


def rechunked_documents(connection: Connection, *, version: str) -> set[str] | None:
    """Return documents whose chunks changed since the last call, and record the new state.

    None: nothing is known of the last time, or it was another `version`.
    """
    before = read_state(connection, LAYOUTS)
    write_state(connection, LAYOUTS, version)
    found = noted_changes(connection, "document")
    forget_changes(connection, "document")
    return found if before == version else None


def entities_in(connection: Connection, documents: Iterable[str]) -> set[str]:
    """Return the entities mentioned in these documents."""
    inside = select(chunks.c.id)
    chunk_ids = [row.id for row in rows_in(connection, inside, chunks.c.document_id, documents)]
    keys: set[str] = set()
    for column in (mentions.c.key, statements.c.subject, statements.c.object):
        rows = rows_in(connection, select(column), column.table.c.chunk_id, chunk_ids)
        keys.update(key for (key,) in rows)
    return set(entities_of_keys(connection, keys).values())


def redescribed_relations(connection: Connection, said: Mapping[str, str]) -> set[str]:
    """Return the ends of relations whose descriptions changed, by id."""
    table = relations.c
    query = select(table.id, table.description)
    told = connection.execute(query.where(text("relations.description != ''"))).all()
    held = dict(map(tuple, told))
    other = [key for key in held.keys() | said.keys() if held.get(key, "") != said.get(key, "")]
    return {
        end
        for batch in in_batches(other)
        for row in connection.execute(
            select(table.source_id, table.target_id).where(table.id.in_(batch))
        )
        for end in row
    }


def entities_of_rows(entity_rows: Difference, name_rows: Difference) -> set[str]:
    """Return entities added, removed or changed; stale ones count as changed.

    The tables' first column is the entity's id, or the name and then the entity's id.
    """
    found = {key[0] for key in (*entity_rows.before, *entity_rows.after)}
    found.update(row[1] for rows in (name_rows.before, name_rows.after) for row in rows.values())
    return found


def communities_of(
    clusters: Iterable[Community], touched: Collection[str], *, fresh: Collection[str]
) -> list[Community]:
    """Return communities that are new or have a touched member."""
    return [
        cluster
        for cluster in clusters
        if cluster.id in fresh or any(one in touched for one in cluster.entity_ids)
    ]


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic collector.

    Scanning many acyclic values costs a third of their creation or more.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


FEW = 8
"""Maximum number of documents that are left out, or a tenth of all where that is more: beyond it
the fault is taken for the derivation's own, and no facts are deleted."""

T = TypeVar("T")


def derived_without_suspects(connection: Connection, derive: Callable[[], T]) -> T:
    """Return what `derive` returns, if need be without the facts of some documents.

    Nothing more is derived where nothing fails. The search derives halves of halves, in all
    log2(documents) times the library at most, however many documents are at fault.

    Raises:
        Exception: what `derive` raised, where it does so without any document's facts, too, or
            where more than a few documents would have to be left out.
    """
    done = _attempt(connection, derive, without=())
    if not isinstance(done, Fault):
        return done
    fault, blamed = done, list[str]()
    query = select(chunks.c.document_id).distinct().order_by(chunks.c.document_id)
    suspects = list(connection.execute(query).scalars())
    most = max(FEW, len(suspects) // 10)
    while isinstance(done, Fault):
        rest = [document_id for document_id in suspects if document_id not in blamed]
        found = _at_fault(connection, derive, rest, left_out=blamed, most=most - len(blamed))
        if not found:
            raise fault.error or RuntimeError(fault.reason)
        blamed += found
        done = _attempt(connection, derive, without=blamed, why=fault.reason)
    for document_id in blamed:
        fault.log(document_id)
    return done


def _at_fault(
    connection: Connection,
    derive: Callable[[], object],
    suspects: Sequence[str],
    *,
    left_out: Collection[str],
    most: int,
) -> list[str]:
    """Return up to `most` suspects at fault; none where there are more, or no document is."""
    if _fails(connection, derive, without=[*left_out, *suspects]):
        return []
    with connection.begin_nested() as savepoint:
        _leave_out(connection, left_out, why="")
        for table in _DERIVED:  # else each attempt would compare with the whole library's
            connection.execute(delete(table))
        forget_names(connection)
        found = _culprits(connection, derive, suspects, most=most)
        savepoint.rollback()
    return found if len(found) <= most else []


def _culprits(
    connection: Connection, derive: Callable[[], object], suspects: Sequence[str], *, most: int
) -> list[str]:
    """Return those of the suspects that fail alone, else one of those that fail together.

    The facts that are there are theirs, and deriving them fails. Ends above `most`.
    """
    if len(suspects) == 1:
        return list(suspects)
    middle = len(suspects) // 2
    halves = suspects[:middle], suspects[middle:]
    found: list[str] = []
    for half, other in (halves, halves[::-1]):
        if len(found) > most:
            break
        with connection.begin_nested() as savepoint:
            _leave_out(connection, other, why="")
            if _fails(connection, derive, without=()):
                found += _culprits(connection, derive, half, most=most - len(found))
            savepoint.rollback()
    return found or [_fewest(connection, derive, suspects=halves[0])]


def _fewest(
    connection: Connection, derive: Callable[[], object], *, suspects: Sequence[str]
) -> str:
    """Return the last of the fewest leading suspects without which nothing fails."""
    low, high = 0, len(suspects)  # it fails without the first `low`, not without the first `high`
    while high - low > 1:
        middle = (low + high) // 2
        fails = _fails(connection, derive, without=suspects[:middle])
        low, high = (middle, high) if fails else (low, middle)
    return suspects[high - 1]


def _fails(
    connection: Connection, derive: Callable[[], object], *, without: Collection[str]
) -> bool:
    """Check whether deriving fails; what a failure held is freed, since nothing else collects."""
    fails = isinstance(_attempt(connection, derive, without=without, keep=False), Fault)
    if fails:
        gc.collect()
    return fails


def _attempt(
    connection: Connection,
    derive: Callable[[], T],
    *,
    without: Collection[str],
    why: str = "",
    keep: bool = True,
) -> T | Fault:
    """Derive within a savepoint, which goes where that fails or is not to be kept."""
    with connection.begin_nested() as savepoint:
        _leave_out(connection, without, why=why)
        done: T | Fault
        with Isolation(DERIVE) as isolation:
            done = derive()
        if isolation.fault:
            done = isolation.fault
        if isolation.fault or not keep:
            savepoint.rollback()
    return done


def _leave_out(connection: Connection, documents: Collection[str], *, why: str) -> None:
    for batch in in_batches(documents):
        query = select(chunks.c.id).where(chunks.c.document_id.in_(batch))
        inside = connection.execute(query).scalars().all()
        delete_facts_of(connection, inside, extractor=f"{FAILED}{DERIVE}")
        put_faults(connection, dict.fromkeys(inside, why), stage=DERIVE)


Way = Literal["auto", "exact", "anchored"]
"""Clustering of everything, or of what changed since the last time.

"auto": everything up to `FEW_ENTITIES`, above them what changed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveOptions:
    """Options of the derived rows besides the facts.

    With `communities` "anchored" they also depend on the order in which documents came: communities
    stay (see `incremental`) until more than `drift`, a share of all entities, has changed.
    """

    max_community_size: int = 20
    resolution: float = 1.0
    seed: int = 20240601
    communities: Way = "auto"
    drift: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """Number of reports and of rows that a derivation wrote."""

    reports_written: int = 0
    rows_written: int = 0


def derive_graph(
    database: Database, *, options: DeriveOptions, progress: Progress | None = None
) -> Derived:
    """Derive entities, communities and reports from the facts in one transaction.

    Args:
        database: where facts are read and derived rows written.
        options: clustering parameters.
        progress: called with a stage's name, steps done and steps in all.
    """
    if is_fresh(database):  # without waiting for whoever writes
        return Derived()
    report = progress or (lambda _stage, _done, _total: None)
    with database.write() as connection, gc_paused():
        if derived_generation(connection) == facts_generation(connection):
            return Derived()
        return derived_without_suspects(connection, lambda: _derive(connection, options, report))


def forget_derived(connection: Connection) -> None:
    """Let the next derivation look at everything, as that of a new library does."""
    forget_names(connection)
    for key in (ANCHOR, LAYOUTS, STARTS, WORDS):
        write_state(connection, key, "")
    if derived_generation(connection) >= 0:
        write_state(connection, "derived", "0")


def _derive(connection: Connection, options: DeriveOptions, report: Progress) -> Derived:
    current = facts_generation(connection)
    noted = noted_changes(connection, "name") | noted_changes(connection, "link")
    laid_anew = rechunked_documents(connection, version=FORMAT)
    report("resolve", 0, 1)
    named = resolve_changes(connection)
    name_rows, entity_rows = _write_resolved(connection, named)
    forget_judgements(connection)
    said = _write_descriptions(connection)
    touched: set[str] | None = None  # everything
    steady = set[str]()
    if laid_anew is not None:
        told = said.changed | redescribed_relations(connection, said.texts)
        touched = entities_of_rows(entity_rows, name_rows) | told
        touched |= entities_in(connection, laid_anew)
        steady = steady_entities(entity_rows, name_rows) - told
    report("link", 0, 1)
    mark_unlinked(connection, gone=_kinds(name_rows.before), come=_kinds(name_rows.after))
    linked = write_links(connection, report)
    note_changed_rows(
        connection,
        laid_anew=None if named.is_whole else laid_anew,
        linked=linked,
        facts_of=noted,
        name_rows=name_rows,
        entity_rows=entity_rows,
    )
    other = None if touched is None else touched - steady
    related = stated_relations(connection, said=said.texts, only=other, among=steady)
    relation_rows = write_relations(connection, related, only=other, among=steady)
    report("cluster", 0, 1)
    clustered = _cluster(connection, options, entity_rows, relation_rows)
    if touched is not None:
        touched |= _ends(relation_rows)
    again = clustered.again(connection, touched, steady)
    report("report", 0, len(again.communities))
    report_rows, written = _report_anew(connection, again, said=said.texts)
    report("report", len(again.communities), len(again.communities))
    write_state(connection, "derived", str(current))
    return Derived(
        reports_written=written,
        rows_written=clustered.written
        + sum(rows.count for rows in (entity_rows, name_rows, relation_rows, report_rows)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """Descriptions by entity or relation id, and the entities of which they changed."""

    texts: Mapping[str, str]
    changed: set[str]


def _write_descriptions(connection: Connection) -> _Said:
    """Store what models said of entities; return all of it."""
    query = select(entities.c.id, entities.c.description).where(
        text("entities.description != ''")  # as its index says it
    )
    said: dict[str, str] = {}
    if has_descriptions(connection):
        called = dict(map(tuple, connection.execute(select(entities.c.id, entities.c.name)).all()))
        things = collect_descriptions(connection, called, entities_of_keys(connection))
        said = read_descriptions(connection, things)
        known = called.keys()
        held = dict(map(tuple, connection.execute(query).all()))
    else:
        read_descriptions(connection, ())
        held = dict(map(tuple, connection.execute(query).all()))
        known = held.keys()
    changed = sorted(one for one in known if said.get(one, "") != held.get(one, ""))
    if changed:
        table = entities.c
        put = (
            update(entities).where(table.id == bindparam("at")).values(description=bindparam("to"))
        )
        connection.execute(put, [{"at": one, "to": said.get(one, "")} for one in changed])
    return _Said(texts=said, changed={*changed})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clustered:
    """Result of clustering: all communities, or None where few changed, and the new ones' ids."""

    every: Sequence[Community] | None
    fresh: set[str]
    written: int

    def again(
        self, connection: Connection, touched: Collection[str] | None, steady: Collection[str]
    ) -> Again:
        """Return the communities that are new or have a touched member."""
        if self.every is None:
            return touched_communities(connection, touched, fresh=self.fresh, steady=steady)
        again = self.every
        if touched is not None:
            again = communities_of(self.every, touched, fresh=self.fresh)
        return Again(communities=again, parts=parts_of(self.every))


FEW_ENTITIES = 5_000
"""Number of entities up to which `auto` clusters all of them after each change."""


def _cluster(
    connection: Connection, options: DeriveOptions, entity_rows: Difference, ties: Difference
) -> _Clustered:
    """Cluster all entities, or take in what changed, and write the communities."""
    is_large = has_rows(connection, entities, FEW_ENTITIES + 1)
    parameters = Parameters(
        max_size=options.max_community_size,
        resolution=options.resolution,
        seed=options.seed,
        drift=options.drift,
    )
    way = options.communities
    if way == "anchored" or (way == "auto" and is_large):
        change = change_locally(
            connection,
            came={key[0] for key in entity_rows.come},
            gone={key[0] for key in entity_rows.gone},
            related=_ends(ties),
            parameters=parameters,
        )
        if change is not None:
            fresh, written = write_change(connection, change)
            return _Clustered(every=None, fresh=fresh, written=written)
    elif read_state(connection, ANCHOR):
        write_state(connection, ANCHOR, "")
        way = "exact"
    entity_ids = connection.execute(select(entities.c.id).order_by(entities.c.id)).scalars().all()
    found = cluster(
        entity_ids,
        read_edges(connection),
        max_size=options.max_community_size,
        resolution=options.resolution,
        seed=options.seed,
    )
    if way == "anchored" or (way == "auto" and is_large):
        write_anchor(connection, parameters, Anchor(moved=0, of=len(entity_ids)))
    fresh, written = _write_communities(connection, found)
    return _Clustered(every=found, fresh=fresh, written=written)


def _ends(rows: Difference) -> set[str]:
    """Return the entities at both ends of relations that came, went or weigh otherwise."""
    columns = list(relations.columns.keys())
    ends = [columns.index(name) for name in ("source_id", "target_id")]
    return {row[end] for some in (rows.before, rows.after) for row in some.values() for end in ends}


def _write_resolved(connection: Connection, named: Resolved) -> tuple[Difference, Difference]:
    """Write names and entities that were resolved; return the differences of both tables."""
    name_rows = [
        {
            "key": merge.key,
            "entity_id": merge.entity_id,
            "reason": merge.reason,
            "kind": _kind(named.profiles[merge.key].name),
            "dirty": False,
        }
        for merge in named.merges
    ]
    before = entities_of_keys(connection, None if named.is_whole else named.keys)
    ids = {*before.values(), *(entity.id for entity in named.entities)}
    query = select(entities.c.id, entities.c.description)
    told = dict(map(tuple, rows_in(connection, query, entities.c.id, ids)))
    entity_rows = [
        {
            "id": entity.id,
            "name": entity.name,
            "type": entity.type,
            "aliases": json.dumps(entity.aliases, ensure_ascii=False),
            "mention_count": entity.mention_count,
            "document_count": entity.document_count,
            "description": told.get(entity.id, ""),  # settled by `_write_descriptions`
            "dirty": False,
        }
        for entity in named.entities
    ]
    if named.is_whole:
        return (
            write_difference(connection, names, name_rows),
            write_difference(connection, entities, entity_rows),
        )
    return (
        write_difference_at(
            connection, names, rows=name_rows, at=(names.c.key,), values=named.keys
        ),
        write_difference_at(
            connection, entities, rows=entity_rows, at=(entities.c.id,), values=ids
        ),
    )


def _kinds(rows: Mapping[Values, Values]) -> set[tuple[str, str]]:
    """Return key and kind of each of these rows of names."""
    columns = list(names.columns.keys())
    key, kind = columns.index("key"), columns.index("kind")
    return {(row[key], row[kind]) for row in rows.values()}


def _kind(name: Name) -> str:
    if name.titles:
        return "title"
    return "name" if name.types.keys() - {"CONCEPT"} else "concept"


def _write_communities(connection: Connection, found: Sequence[Community]) -> tuple[set[str], int]:
    """Write communities; return new ids and the number of changed rows.

    A community's id comes from its members: those of one that was there before are there, too.
    """
    held = set(connection.execute(select(communities.c.id)).scalars())
    written = 0
    for batch in in_batches(held - {value.id for value in found}):
        for table in (members, reports):
            gone = delete(table).where(table.c.community_id.in_(batch))
            written += connection.execute(gone).rowcount
    rows = [
        {"id": value.id, "level": value.level, "parent_id": value.parent_id, "dirty": False}
        for value in found
    ]
    written += write_difference(connection, communities, rows).count
    written += _write_members(connection, (value for value in found if value.id not in held))
    return {value.id for value in found} - held, written


def _write_members(connection: Connection, found: Iterable[Community]) -> int:
    rows = [
        {"community_id": value.id, "entity_id": entity_id}
        for value in found
        for entity_id in value.entity_ids
    ]
    if rows:
        connection.execute(insert(members), rows)
    return len(rows)


def _report_anew(
    connection: Connection, again: Again, *, said: Mapping[str, str]
) -> tuple[Difference, int]:
    """Rewrite possibly changed reports; return rows and the number written."""
    anew = {one.id for one in again.communities}
    told = {part for one in again.communities for part in again.parts.get(one.id, ())} - anew
    resting_on = report_input(
        connection,
        again.communities,
        said=said,
        parts=again.parts,
        told={one.community_id: one for one in derived_reports(connection, told)},
    )
    previous = {one.fingerprint: one for one in derived_reports(connection, anew)}
    values = write_reports(resting_on, previous=previous)
    rows = _write_reports(connection, values, again=anew)
    return rows, sum(value.fingerprint not in previous for value in values)


def _write_reports(
    connection: Connection, values: Sequence[Report], *, again: Collection[str]
) -> Difference:
    """Store the reports of the communities `again`; written reports of others are deleted."""
    rows = [
        {
            "community_id": value.community_id,
            "fingerprint": value.fingerprint,
            "level": value.level,
            "title": value.title,
            "summary": value.summary,
            "rating": value.rating,
            "findings": write_findings(value.findings),
            "dirty": False,
        }
        for value in values
    ]
    at = (reports.c.community_id,)
    written = write_difference_at(connection, reports, rows=rows, at=at, values=again)
    gone = written_reports.c.fingerprint.not_in(select(reports.c.fingerprint))
    connection.execute(delete(written_reports).where(gone))
    return written
