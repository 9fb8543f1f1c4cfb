"""Database access: transactions, differential writes, reads of derived rows.

One write transaction at a time, readers beside it. `write()` is re-entrant within a thread: inside
another `write()` it joins that transaction, which is how one document reaches every table in one
commit. Reads of derived rows skip dirty ones.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    create_engine,
    delete,
    event,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import StaticPool

from ..model import (
    OCCURS_WITH,
    Chunk,
    Claim,
    Community,
    Entity,
    Evidence,
    Finding,
    GraphExport,
    Merge,
    PlacedClaim,
    Relation,
    Report,
)
from .facts import (
    STATE_READ,
    chunk_of_row,
    derived_generation,
    facts_generation,
    place_columns,
    rows_in,
    value_of_row,
)
from .schema import (
    chunks,
    claims,
    communities,
    entities,
    links,
    members,
    names,
    relations,
    reports,
    statements,
    written_reports,
)

BUSY_TIMEOUT_SECONDS = 60


class Database:
    """A connection pool with the two ways to use it.

    SQLite runs in WAL mode, so readers never wait for the writer; any other SQLAlchemy URL is
    used as it is. A SQLite database in memory is one connection that all threads share: there
    transactions wait for each other, and a `write()` inside a `read()` is part of it.
    """

    def __init__(self, url: str | URL) -> None:
        self.url = make_url(url)
        options: dict[str, Any] = {}
        if self.url.get_backend_name() == "sqlite":
            options["connect_args"] = {"timeout": BUSY_TIMEOUT_SECONDS}
        self._turn: AbstractContextManager[Any] = nullcontext()
        self._in_memory = _is_in_memory(self.url)
        if self._in_memory:
            options["connect_args"]["check_same_thread"] = False
            options["poolclass"] = StaticPool
            self._turn = threading.RLock()
        self._engine = create_engine(self.url, **options)
        self._local = threading.local()
        if self.url.get_backend_name() == "sqlite":
            event.listen(self._engine, "connect", _prepare_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction, committed or rolled back at the end of the outermost block."""
        current: Connection | None = getattr(self._local, "connection", None)
        if current is not None:
            yield current
            return
        reader: Connection | None = getattr(self._local, "reader", None)
        if self._in_memory and reader is not None:
            with reader.begin_nested(), self._writing(reader):
                yield reader
            return
        with self._turn, self._engine.connect() as connection:
            connection = connection.execution_options(loregraph_write=True)
            with connection.begin(), self._writing(connection):
                yield connection

    @contextmanager
    def _writing(self, connection: Connection) -> Iterator[None]:
        self._local.connection = connection
        try:
            yield
        finally:
            self._local.connection = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a consistent read, shared by nested `read()` calls of the thread.

        Inside `write()` it sees what that transaction wrote.
        """
        current: Connection | None = getattr(self._local, "connection", None)
        current = current or getattr(self._local, "reader", None)
        if current is not None:
            yield current
            return
        with self._turn, self._engine.connect() as connection, connection.begin():
            connection.execution_options(**{STATE_READ: {}})
            self._local.reader = connection
            try:
                yield connection
            finally:
                self._local.reader = None

    def empty_log(self) -> None:
        """Take what was overwritten out of SQLite's log, unless it is read at the moment."""
        if self.url.get_backend_name() != "sqlite" or self._in_memory:
            return
        with self._engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql("PRAGMA busy_timeout = 0")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_SECONDS * 1000}")

    def compact(self) -> None:
        """Write SQLite's file anew, without free pages and what unused parts of pages still hold.

        Takes the time of copying the file, and as much free disk.
        """
        if self.url.get_backend_name() != "sqlite" or self._in_memory:
            return
        with (
            closing(self._engine.raw_connection()) as connection,
            closing(connection.cursor()) as at,
        ):
            at.execute("VACUUM")  # outside of any transaction
        self.empty_log()

    def close(self) -> None:
        """Close every pooled connection."""
        self._engine.dispose()


def _is_in_memory(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and (
        not url.database or ":memory:" in url.database or url.query.get("mode") == "memory"
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite` alone
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten, not only unlinked
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock at once: a transaction that reads first and writes later could
    # otherwise fail with "database is locked" whatever the timeout.
    write = connection.get_execution_options().get("loregraph_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


Values = tuple[Any, ...]
"""A row as a tuple, in the order of the table's columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Difference between stored and wanted rows by key, each side sorted.

    A row that changed stands on both sides.
    """

    before: Mapping[Values, Values]
    after: Mapping[Values, Values]

    @property
    def count(self) -> int:
        """Number of rows added, removed or changed."""
        return len(self.before.keys() | self.after.keys())

    @property
    def come(self) -> list[Values]:
        """Keys that were not held before."""
        return [key for key in self.after if key not in self.before]

    @property
    def gone(self) -> list[Values]:
        """Keys that are held no more."""
        return [key for key in self.before if key not in self.after]


def values_with_row(
    connection: Connection,
    column: ColumnElement[str],
    values: Iterable[str],
    *any_of: ColumnElement[bool],
) -> set[str]:
    """Return those of the values that stand in `column` of a row of which any condition holds.

    One row of each is read.
    """
    given = func.json_each(bindparam("given")).table_valued("value")
    rows = select(literal(1)).where(column == given.c.value).correlate(given)
    found = select(given.c.value).where(or_(*(rows.where(one).exists() for one in any_of)))
    ids = json.dumps(sorted({*values}))
    return {*connection.execute(found, {"given": ids}).scalars()}


def write_difference(
    connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]
) -> Difference:
    """Make the table hold exactly these rows with distinct keys; return the difference."""
    held = set(map(tuple, connection.execute(select(table)).all()))
    return _write(connection, table, held=held, wanted=_tuples(table, rows))


def write_difference_at(
    connection: Connection,
    table: Table,
    *,
    rows: Iterable[Mapping[str, Any]],
    at: Sequence[Column[str]],
    values: Iterable[str],
    more: Iterable[Row[Any]] = (),
) -> Difference:
    """Do the same for the part of a table with these values in columns `at`, and `more` of it.

    All rows lie in that part.
    """
    values = set(values)
    held = {
        tuple(row) for column in at for row in rows_in(connection, select(table), column, values)
    }
    held.update(map(tuple, more))
    return _write(connection, table, held=held, wanted=_tuples(table, rows))


def _tuples(table: Table, rows: Iterable[Mapping[str, Any]]) -> set[Values]:
    return set(map(itemgetter(*table.columns.keys()), rows))


def _write(
    connection: Connection, table: Table, *, held: set[Values], wanted: set[Values]
) -> Difference:
    columns = list(table.columns.keys())
    keys = [column.name for column in table.primary_key.columns]
    places = [columns.index(name) for name in keys]

    def by_key(rows: set[Values]) -> dict[Values, Values]:
        return dict(sorted((tuple(row[place] for place in places), row) for row in rows))

    difference = Difference(before=by_key(held - wanted), after=by_key(wanted - held))
    same_key = and_(*(table.c[name] == bindparam(f"key_{name}") for name in keys))

    def named(key: Values) -> dict[str, Any]:
        return {f"key_{name}": part for name, part in zip(keys, key, strict=True)}

    if gone := [named(key) for key in difference.gone]:
        connection.execute(delete(table).where(same_key), gone)
    changed = [
        named(key) | {f"new_{name}": part for name, part in zip(columns, row, strict=True)}
        for key, row in difference.after.items()
        if key in difference.before
    ]
    if changed:
        values: dict[str, Any] = {
            name: bindparam(f"new_{name}") for name in columns if name not in keys
        }
        connection.execute(update(table).where(same_key).values(values), changed)
    if come := difference.come:
        connection.execute(
            insert(table), [dict(zip(columns, difference.after[key], strict=True)) for key in come]
        )
    return difference


def read_chunks(connection: Connection, ids: Iterable[str] | None = None) -> dict[str, Chunk]:
    """Chunks by id; all of them without `ids`."""
    if ids is None:
        return {row.id: chunk_of_row(row) for row in connection.execute(select(chunks))}
    return {
        row.id: chunk_of_row(row) for row in rows_in(connection, select(chunks), chunks.c.id, ids)
    }


def chunks_of_documents(connection: Connection, documents: Iterable[str]) -> dict[str, Chunk]:
    """Return the chunks of these documents by id."""
    rows = rows_in(connection, select(chunks), chunks.c.document_id, documents)
    return {row.id: chunk_of_row(row) for row in rows}


def read_other_names(connection: Connection, keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the other names of what each known key among `keys` means, sorted."""
    mine, other = names.alias("mine"), names.alias("other")
    query = (
        select(mine.c.key, other.c.key)
        .join(other, mine.c.entity_id == other.c.entity_id)
        .where(mine.c.dirty.is_(False), other.c.dirty.is_(False))
        .order_by(mine.c.key, other.c.key)
    )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, name in rows_in(connection, query, mine.c.key, keys):
        found[key] += [name] if name != key else []
    return {key: tuple(some) for key, some in found.items()}


def read_entities(connection: Connection) -> list[Entity]:
    """Every entity, sorted by id."""
    # Plain tuples, unpacked: a large library has hundreds of thousands, and attributes cost.
    keys: defaultdict[str, list[str]] = defaultdict(list)
    known = select(names.c.key, names.c.entity_id).where(names.c.dirty.is_(False))
    for key, entity_id in connection.execute(known.order_by(names.c.key)):
        keys[entity_id].append(key)
    query = select(*_ENTITY_COLUMNS).where(entities.c.dirty.is_(False)).order_by(entities.c.id)
    return [_entity(tuple(keys.get(row[0], ())), *row) for row in connection.execute(query)]


def entities_by_id(connection: Connection, entity_ids: Iterable[str]) -> list[Entity]:
    """Return these entities, sorted by id."""
    ids = {*entity_ids}
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for key, entity_id in sorted(keys_of_entities(connection, ids).items()):
        keys[entity_id].append(key)
    rows = rows_in(connection, select(*_ENTITY_COLUMNS), entities.c.id, ids)
    found = (_entity(tuple(keys[row[0]]), *row) for row in rows)
    return sorted(found, key=lambda entity: entity.id)


_ENTITY_COLUMNS = tuple(
    entities.c[name]
    for name in ("id", "name", "type", "aliases", "mention_count", "document_count", "description")
)


def entity_of_row(row: Row[Any], *, keys: tuple[str, ...]) -> Entity:
    """Convert a row of `entities` with its keys."""
    return _entity(keys, *(row._mapping[column] for column in _ENTITY_COLUMNS))


def _entity(
    keys: tuple[str, ...],
    id_: str,
    name: str,
    kind: str,
    aliases: str,
    mention_count: int,
    document_count: int,
    description: str,
) -> Entity:
    return Entity(
        id=id_,
        name=name,
        type=kind,
        keys=keys,
        aliases=() if aliases == "[]" else tuple(json.loads(aliases)),
        mention_count=mention_count,
        document_count=document_count,
        description=description,
    )


def read_merges(connection: Connection) -> list[Merge]:
    """Read the entity and reason of each name, sorted by key."""
    query = select(names).where(names.c.dirty.is_(False)).order_by(names.c.key)
    return [
        Merge(key=row.key, entity_id=row.entity_id, reason=row.reason)
        for row in connection.execute(query)
    ]


def entities_of_keys(connection: Connection, keys: Iterable[str] | None = None) -> dict[str, str]:
    """Return the entity of each of these keys that is a name; of all names without `keys`."""
    query = select(names.c.key, names.c.entity_id)
    rows = (
        connection.execute(query) if keys is None else rows_in(connection, query, names.c.key, keys)
    )
    return dict(map(tuple, rows))


def keys_of_entities(connection: Connection, entity_ids: Iterable[str]) -> dict[str, str]:
    """Return the names of these entities, each with its entity."""
    query = select(names.c.key, names.c.entity_id)
    return dict(map(tuple, rows_in(connection, query, names.c.entity_id, entity_ids)))


def read_relations(connection: Connection) -> list[Relation]:
    """Every relation between clean entities with its evidences, sorted by id."""
    clean = set(
        connection.execute(select(entities.c.id).where(entities.c.dirty.is_(False))).scalars()
    )
    entity_of = {merge.key: merge.entity_id for merge in read_merges(connection)}
    places: dict[tuple[str, str, str], dict[tuple[str, int, int], Evidence]] = defaultdict(dict)
    query = select(statements, *place_columns())
    for row in connection.execute(query.join(chunks, chunks.c.id == statements.c.chunk_id)):
        ends = entity_of.get(row.subject), entity_of.get(row.object)
        if ends[0] is None or ends[1] is None:
            continue
        source, target = sorted(ends) if row.predicate == OCCURS_WITH else ends  # type: ignore[type-var]
        evidence = Evidence(chunk_id=row.chunk_id, start=row.start, end=row.end)
        known = places[str(source), row.predicate, str(target)]
        place = (row.source, row.offset + row.start, row.offset + row.end)
        known[place] = min(evidence, known.get(place, evidence))
    return [
        Relation(
            id=row.id,
            source_id=row.source_id,
            predicate=row.predicate,
            target_id=row.target_id,
            weight=row.weight,
            evidences=tuple(sorted(places[row.source_id, row.predicate, row.target_id].values())),
            description=row.description,
        )
        for row in connection.execute(select(relations).order_by(relations.c.id))
        if row.source_id in clean and row.target_id in clean
    ]


def read_appearances(connection: Connection) -> dict[str, tuple[str, ...]]:
    """By entity id, the chunks in which one of its names stands; both sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    query = (
        select(names.c.entity_id, links.c.chunk_id)
        .join(links, links.c.key == names.c.key)
        .where(names.c.dirty.is_(False))
    )
    for row in connection.execute(query):
        found[row.entity_id].add(row.chunk_id)
    return {entity_id: tuple(sorted(found[entity_id])) for entity_id in sorted(found)}


def read_communities(connection: Connection) -> list[Community]:
    """Every community, sorted by level and id."""
    inside: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(select(members).order_by(members.c.entity_id)):
        inside[row.community_id].append(row.entity_id)
    query = select(communities).where(communities.c.dirty.is_(False))
    return [
        Community(
            id=row.id, level=row.level, parent_id=row.parent_id, entity_ids=tuple(inside[row.id])
        )
        for row in connection.execute(query.order_by(communities.c.level, communities.c.id))
    ]


def read_reports(connection: Connection) -> list[Report]:
    """Every report, sorted by level and community; a model's where it has written one."""
    written = {row.fingerprint: row for row in connection.execute(select(written_reports))}
    query = (
        select(reports)
        .join(communities, communities.c.id == reports.c.community_id)
        .where(and_(reports.c.dirty.is_(False), communities.c.dirty.is_(False)))
    )
    return [
        _written(report, written.get(report.fingerprint)) for report in _reports(connection, query)
    ]


def derived_reports(
    connection: Connection, communities: Iterable[str] | None = None
) -> list[Report]:
    """Return reports as they were derived, stale ones too; what models wrote is left out.

    Those of these communities, or all.
    """
    if communities is None:
        return _reports(connection, select(reports))
    rows = rows_in(connection, select(reports), reports.c.community_id, communities)
    return _reports_of(rows)


def _reports(connection: Connection, query: Select[Any]) -> list[Report]:
    query = query.order_by(reports.c.level, reports.c.community_id)
    return _reports_of(connection.execute(query))


def _reports_of(rows: Iterable[Row[Any]]) -> list[Report]:
    return [
        Report(
            community_id=row.community_id,
            level=row.level,
            title=row.title,
            summary=row.summary,
            rating=row.rating,
            findings=_findings(row.findings),
            fingerprint=row.fingerprint,
        )
        for row in rows
    ]


def _written(report: Report, row: Row[Any] | None) -> Report:
    if row is None:
        return report
    return replace(
        report,
        title=row.title,
        summary=row.summary,
        rating=row.rating,
        rating_reason=row.rating_reason,
        findings=_findings(row.findings),
        written_by=row.model,
    )


def read_claims(connection: Connection) -> list[PlacedClaim]:
    """Every claim about a known entity, by chunk and place."""
    entity_of = {merge.key: merge.entity_id for merge in read_merges(connection)}
    return sorted(placed_claims(connection.execute(select(claims)), entity_of))


def placed_claims(rows: Iterable[Row[Any]], entity_of: Mapping[str, str]) -> Iterator[PlacedClaim]:
    """Convert rows of claims whose subject is a known entity."""
    for row in rows:
        if row.subject in entity_of:
            yield PlacedClaim(
                chunk_id=row.chunk_id,
                claim=value_of_row(Claim, row),
                subject_id=entity_of[row.subject],
                object_id=entity_of.get(row.object, ""),
            )


def read_export(connection: Connection) -> GraphExport:
    """Read the whole graph as values, every collection sorted."""
    return GraphExport(
        entities=tuple(read_entities(connection)),
        relations=tuple(read_relations(connection)),
        communities=tuple(read_communities(connection)),
        reports=tuple(read_reports(connection)),
        claims=tuple(read_claims(connection)),
        chunks=read_chunks(connection),
        appearances=read_appearances(connection),
    )


def write_findings(findings: Sequence[Finding]) -> str:
    """Serialise findings as stored in `reports.findings`."""
    return json.dumps(
        [
            {"text": f.text, "evidences": [[e.chunk_id, e.start, e.end] for e in f.evidences]}
            for f in findings
        ],
        ensure_ascii=False,
    )


def _findings(text: str) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            text=item["text"],
            evidences=tuple(
                Evidence(chunk_id=chunk_id, start=start, end=end)
                for chunk_id, start, end in item["evidences"]
            ),
        )
        for item in json.loads(text)
    )


def is_fresh(database: Database) -> bool:
    """Check whether the graph's derived rows are current."""
    with database.read() as connection:
        return derived_generation(connection) == facts_generation(connection)
