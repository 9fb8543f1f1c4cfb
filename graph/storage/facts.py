"""Facts in the database: chunks, what was read from each, judgements, faults.

Every function takes the connection of its transaction. A change of facts marks the derived rows
that rested on them as dirty and raises the generation in the same transaction, so no reader sees
knowledge whose evidence is gone. A fault says which stage could not take a chunk, and why, with the
product's version: another version tries again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar, cast

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from ..isolation import product_version
from ..model import Chunk, Claim, Description, Extraction, Judgement, Mention, Statement
from ..text.names import is_generic, name_key, words_of_text
from .schema import (
    changes,
    chunk_words,
    chunks,
    claims,
    communities,
    descriptions,
    entities,
    faults,
    judgements,
    links,
    members,
    mentions,
    names,
    pending,
    reports,
    state,
    statements,
)

_READ_FROM_CHUNKS = (mentions, statements, descriptions, claims)
_BATCH = 500  # parameters in one IN list; SQLite and PostgreSQL both take many more

T = TypeVar("T")


def text_sha(text: str) -> str:
    """Return the content hash that identifies an extraction's text."""
    return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()


def hashed(text: str) -> int:
    """Return 61 bits of a text's hash, by which tables find it."""
    digest = hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 3


def hashed_end(word: str) -> int:
    """Return the hash by which names that end with a word are found, no other's."""
    return hashed(f"\x1f{word}")


def in_batches(values: Iterable[str]) -> Iterator[list[str]]:
    """Split distinct sorted values into lists that fit an SQL IN clause."""
    ordered = sorted(set(values))
    for start in range(0, len(ordered), _BATCH):
        yield ordered[start : start + _BATCH]


def rows_in(
    connection: Connection, query: Select[Any], column: ColumnElement[str], values: Iterable[str]
) -> Iterator[Row[Any]]:
    """Run a query for the rows with one of these values in `column`, in batches."""
    for batch in in_batches(values):
        yield from connection.execute(query.where(column.in_(batch)))


def rows_between(
    connection: Connection,
    query: Select[Any],
    columns: tuple[ColumnElement[str], ColumnElement[str]],
    values: Iterable[str],
) -> Iterator[Row[Any]]:
    """Run a query for the rows with two of these values in two columns, in batches."""
    batches = list(in_batches(values))
    one, other = columns
    for some in batches:
        for others in batches:
            yield from connection.execute(query.where(one.in_(some), other.in_(others)))


def has_rows(connection: Connection, table: Table, count: int) -> bool:
    """Check whether a table has at least so many rows; no more of them are read."""
    if count < 1:
        return True
    last = select(literal(1)).select_from(table).limit(1).offset(count - 1)
    return connection.execute(last).first() is not None


def value_of_row(kind: Callable[..., T], row: Row[Any], **given: object) -> T:
    """Build a dataclass of this kind: `given` fields, the others from columns of their names."""
    columns = [one.name for one in fields(cast("type[Any]", kind)) if one.name not in given]
    return kind(**given, **{name: getattr(row, name) for name in columns})


def place_columns() -> tuple[ColumnElement[str], ColumnElement[int]]:
    """Return columns `source` and `offset` of a query that joins facts with their chunks.

    Chunks of a document overlap: a fact that two of them hold stands at one place, known by its
    source and its offset there. Chunks of unknown offsets (`end` 0) are sources of their own.
    """
    source = case((chunks.c.end > 0, chunks.c.document_id), else_=chunks.c.id)
    return source.label("source"), chunks.c.start.label("offset")


def title_key(title: str) -> str:
    """Return the name of a title; empty for headings such as "Introduction"."""
    key = name_key(title)
    return "" if is_generic(key) else key


STATE_READ = "loregraph_state"
"""Option of a connection that only reads: the values of the state table it has read."""


def read_state(connection: Connection, key: str) -> str | None:
    """Read a value of the state table; once in a transaction that only reads."""
    known: dict[str, str | None] | None = connection.get_execution_options().get(STATE_READ)
    if known is not None and key in known:
        return known[key]
    value = connection.execute(select(state.c.value).where(state.c.key == key)).scalar()
    if known is not None:
        known[key] = value
    return value


def write_state(connection: Connection, key: str, value: str) -> None:
    """Set a value of the state table."""
    connection.execute(delete(state).where(state.c.key == key))
    connection.execute(insert(state).values(key=key, value=value))


def facts_generation(connection: Connection) -> int:
    """Return the generation number of the graph's facts."""
    return int(read_state(connection, "generation") or 0)


def raise_generation(connection: Connection) -> None:
    """Raise the generation; everything derived so far is outdated."""
    write_state(connection, "generation", str(facts_generation(connection) + 1))


def derived_generation(connection: Connection) -> int:
    """Return the generation of the derived rows; -1 before the first."""
    return int(read_state(connection, "derived") or -1)


def derived_stamp(connection: Connection) -> str:
    """Return a stamp that changes with facts and derived rows."""
    return f"{facts_generation(connection)}.{derived_generation(connection)}"


LINEAGE = "lineage"
"""Key of the state table: a hash of all that each derivation changed, one after another.

Generations only count: a library restored from a copy counts again where it counted before.
"""


def lineage(connection: Connection) -> str:
    """Return a hash by which the facts and what is derived from them are known.

    Empty where something is not derived yet, or no derivation of this version changed anything.
    """
    if facts_generation(connection) != derived_generation(connection):
        return ""
    return read_state(connection, LINEAGE) or ""


def hashed_parts(*parts: str) -> str:
    """Return a hash of texts, one after another."""
    text = "\x1e".join(parts)
    return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()[:32]


def content_digest(connection: Connection, *columns: Column[str]) -> str:
    """Return a digest of all values of columns; by default of the ids and texts of all chunks.

    Each column by itself; the database joins its values in one.
    """
    made_of = hashlib.sha256()
    for column in columns or (chunks.c.id, chunks.c.text_sha):
        ordered = select(column.label("held")).order_by(column).subquery()
        joined = select(func.aggregate_strings(ordered.c.held, "\x1f"))
        held = connection.execute(joined).scalar_one() or ""
        made_of.update(f"\x1e{held}".encode("utf8", "surrogatepass"))
    return made_of.hexdigest()


WRITTEN = "written reports"
"""Key of the state table: how often a model's reports were stored."""


def reports_stamp(connection: Connection) -> str:
    """Return a stamp that changes with stored reports."""
    return read_state(connection, WRITTEN) or "0"


def put_chunks(connection: Connection, values: Sequence[Chunk]) -> None:
    """Store chunks; a changed one replaces its id with all its facts.

    Of two values with one id the last counts.
    """
    if not values:
        return
    if connection.execute(select(chunks.c.id).limit(1)).first() is None:
        write_state(connection, WORDS, _WORDS_VERSION)
    wanted = {chunk.id: chunk for chunk in values}
    held = {
        row.id: chunk_of_row(row)
        for row in rows_in(connection, select(chunks), chunks.c.id, wanted)
    }
    fresh = {key: chunk for key, chunk in wanted.items() if held.get(key) != chunk}
    if not fresh:
        return
    delete_chunks(connection, fresh.keys() & held.keys())
    connection.execute(insert(chunks), [_chunk_row(fresh[key]) for key in sorted(fresh)])
    note_changes(connection, "document", (chunk.document_id for chunk in fresh.values()))
    put_words(connection, {chunk.id: chunk.text for chunk in fresh.values()})
    _mark_dirty(connection, {title_key(chunk.title) for chunk in fresh.values()})


def put_extractions(
    connection: Connection, extractions: Mapping[str, Extraction], *, extractor: str
) -> None:
    """Replace what was read from each chunk, by chunk id."""
    if not extractions:
        return
    keys: set[str] = set()
    for batch in in_batches(extractions):
        keys |= _keys_read_from(connection, batch)
        for table in (*_READ_FROM_CHUNKS, pending):
            connection.execute(delete(table).where(table.c.chunk_id.in_(batch)))
        done = update(chunks).where(chunks.c.id.in_(batch))
        connection.execute(done.values(extractor=extractor, linked=False))
    found = [(chunk_id, extractions[chunk_id]) for chunk_id in sorted(extractions)]
    mention_rows = [_row(chunk_id, m) for chunk_id, e in found for m in unique_per_span(e.mentions)]
    statement_rows = [_row(chunk_id, s) for chunk_id, e in found for s in e.statements]
    for table, rows in (
        (mentions, mention_rows),
        (statements, statement_rows),
        (descriptions, [_row(chunk_id, d) for chunk_id, e in found for d in e.descriptions]),
        (claims, [_row(chunk_id, c) for chunk_id, e in found for c in e.claims]),
    ):
        if rows:
            connection.execute(insert(table), rows)
    _mark_dirty(
        connection,
        keys.union(
            (row["key"] for row in mention_rows),
            (row[end] for row in statement_rows for end in ("subject", "object")),
        ),
    )


def delete_facts_of(connection: Connection, chunk_ids: Collection[str], *, extractor: str) -> None:
    """Delete all that was read from these chunks, their titles' names too; their texts stay."""
    titles: set[str] = set()
    for batch in in_batches(chunk_ids):
        query = select(chunks.c.title_key).where(chunks.c.id.in_(batch)).distinct()
        titles.update(connection.execute(query).scalars())
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(title_key=""))
    put_extractions(connection, dict.fromkeys(chunk_ids, Extraction()), extractor=extractor)
    _mark_dirty(connection, titles - {""})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadChunk:
    """Chunk still to be read; `reader` is the extractor that read it meanwhile."""

    id: str
    document_id: str
    title: str
    headings: tuple[str, ...]
    text: str
    text_sha: str
    reader: str | None


def unread_chunks(
    connection: Connection, *, readers: Collection[str] | None = None
) -> list[UnreadChunk]:
    """Return chunks none of these extractors has read.

    By document and position; without those whose facts nothing can be derived from.
    """
    unread: ColumnElement[bool] = chunks.c.extractor.is_(None)
    if readers is not None:
        unread = or_(unread, chunks.c.extractor.not_in(readers))
    left_out = select(faults.c.chunk_id).where(faults.c.stage == "derive")
    query = select(chunks).where(unread, chunks.c.id.not_in(left_out))
    rows = connection.execute(query.order_by(chunks.c.document_id, chunks.c.position, chunks.c.id))
    return [
        value_of_row(
            UnreadChunk, row, reader=row.extractor, headings=tuple(json.loads(row.headings))
        )
        for row in rows
    ]


def put_pending(connection: Connection, reasons: Mapping[str, str]) -> None:
    """Note, by chunk id, why a language model has not read it."""
    for batch in in_batches(reasons):
        connection.execute(delete(pending).where(pending.c.chunk_id.in_(batch)))
    if reasons:
        rows = [{"chunk_id": key, "reason": reasons[key]} for key in sorted(reasons)]
        connection.execute(insert(pending), rows)


def unique_per_span(found: Iterable[Mention]) -> list[Mention]:
    """Sort mentions; keep the most specific type of one name at one place.

    On equal terms the first counts.
    """
    best: dict[tuple[int, int, str], Mention] = {}
    for mention in found:
        place = (mention.start, mention.end, mention.key)
        if place not in best or _says(mention) > _says(best[place]):
            best[place] = mention
    return sorted(best.values())


def _says(mention: Mention) -> int:
    return {"CONCEPT": 0, "NAME": 1}.get(mention.type, 2)


def delete_document(connection: Connection, *document_ids: str) -> int:
    """Delete chunks and facts of documents, all at once; return the number of chunks."""
    inside = rows_in(connection, select(chunks.c.id), chunks.c.document_id, document_ids)
    return delete_chunks(connection, [row.id for row in inside])


def delete_chunks(connection: Connection, chunk_ids: Iterable[str]) -> int:
    """Remove chunks and all that was read from them; how many there were."""
    keys: set[str] = set()
    count = 0
    for batch in in_batches(chunk_ids):
        columns = (chunks.c.id, chunks.c.title_key, chunks.c.document_id)
        rows = connection.execute(select(*columns).where(chunks.c.id.in_(batch))).all()
        titles = {row.title_key for row in rows}
        note_changes(connection, "document", (row.document_id for row in rows))
        note_changes(connection, "chunk", (row.id for row in rows))
        _delete_words(connection, batch)
        count += len(rows)
        linked = select(links.c.key).where(links.c.chunk_id.in_(batch)).distinct()
        note_changes(connection, "link", connection.execute(linked).scalars())
        keys |= titles | _keys_read_from(connection, batch)
        for owned in (*_READ_FROM_CHUNKS, pending, faults, links):
            connection.execute(delete(owned).where(owned.c.chunk_id.in_(batch)))
        connection.execute(delete(chunks).where(chunks.c.id.in_(batch)))
    if count:
        _mark_dirty(connection, keys)
    return count


WORDS = "words"
"""Key of the state table: the version in which the words of all chunks are stored."""

_WORDS_VERSION = "1"


def put_words(connection: Connection, texts: Mapping[str, str]) -> None:
    """Store the words of chunks, by which names that come are looked for in them."""
    rows = [
        {"word": hashed(word), "chunk_id": chunk_id}
        for chunk_id in sorted(texts)
        for word in sorted(words_of_text(texts[chunk_id]))
    ]
    if rows:
        connection.execute(insert(chunk_words), rows)


def _delete_words(connection: Connection, chunk_ids: Sequence[str]) -> None:
    texts = select(chunks.c.id, chunks.c.text).where(chunks.c.id.in_(chunk_ids))
    gone = [
        {"at_word": hashed(word), "at_chunk": row.id}
        for row in connection.execute(texts)
        for word in sorted(words_of_text(row.text))
    ]
    table = chunk_words.c
    place = (table.word == bindparam("at_word"), table.chunk_id == bindparam("at_chunk"))
    if gone:
        connection.execute(delete(chunk_words).where(*place), gone)


def complete_words(connection: Connection) -> None:
    """Store the words of all chunks, where another version or none stored them."""
    if read_state(connection, WORDS) == _WORDS_VERSION:
        return
    connection.execute(delete(chunk_words))
    found = select(chunks.c.id, chunks.c.text).order_by(chunks.c.id)
    put_words(connection, dict(map(tuple, connection.execute(found))))
    write_state(connection, WORDS, _WORDS_VERSION)


def forget_titles(connection: Connection, keys: Iterable[str]) -> None:
    """Take no title of these names for a name any more; documents keep their titles."""
    touched: set[str] = set()
    for batch in in_batches(set(keys) - {""}):
        query = select(chunks.c.title_key).where(chunks.c.title_key.in_(batch)).distinct()
        touched.update(connection.execute(query).scalars())
        titled = select(chunks.c.document_id).where(chunks.c.title_key.in_(batch))
        note_changes(connection, "document", connection.execute(titled).scalars().all())
        connection.execute(update(chunks).where(chunks.c.title_key.in_(batch)).values(title_key=""))
    if touched:
        _mark_dirty(connection, touched)


def extractions_by_text(
    connection: Connection, shas: Iterable[str], *, extractor: str
) -> dict[str, Extraction]:
    """Return this extractor's results for the same texts, by `text_sha`."""
    holders: dict[str, str] = {}
    query = select(chunks.c.text_sha, chunks.c.id).where(chunks.c.extractor == extractor)
    for row in rows_in(connection, query.order_by(chunks.c.id), chunks.c.text_sha, shas):
        holders.setdefault(row.text_sha, row.id)
    found = read_extractions(connection, holders.values())
    return {sha: found[chunk_id] for sha, chunk_id in holders.items()}


def read_extractions(connection: Connection, chunk_ids: Iterable[str]) -> dict[str, Extraction]:
    """Return extractions by chunk id, empty ones included."""
    ids = sorted(set(chunk_ids))
    mentioned = _by_chunk(connection, mentions, Mention, ids)
    stated = _by_chunk(connection, statements, Statement, ids)
    described = _by_chunk(connection, descriptions, Description, ids)
    claimed = _by_chunk(connection, claims, Claim, ids)
    return {
        chunk_id: Extraction(
            mentions=tuple(mentioned[chunk_id]),
            statements=tuple(stated[chunk_id]),
            descriptions=tuple(described[chunk_id]),
            claims=tuple(claimed[chunk_id]),
        )
        for chunk_id in ids
    }


def read_mentions(connection: Connection, chunk_ids: Iterable[str]) -> dict[str, list[Mention]]:
    """Return the mentions of each chunk in their order, by chunk id."""
    return _by_chunk(connection, mentions, Mention, sorted(set(chunk_ids)))


def _by_chunk(
    connection: Connection, table: Table, kind: Callable[..., T], ids: Sequence[str]
) -> dict[str, list[T]]:
    """Group rows as sorted values by chunk; columns match field names."""
    names = [column.name for column in table.columns if column.name != "chunk_id"]
    found: dict[str, list[Any]] = {chunk_id: [] for chunk_id in ids}
    query = select(table.c.chunk_id, *(table.c[name] for name in names))
    for chunk_id, *values in rows_in(connection, query, table.c.chunk_id, ids):
        found[chunk_id].append(kind(**dict(zip(names, values, strict=True))))
    return {chunk_id: sorted(values) for chunk_id, values in found.items()}


def chunk_of_row(row: Row[Any]) -> Chunk:
    """Convert a row of `chunks` to a `Chunk`."""
    return Chunk(
        id=row.id,
        document_id=row.document_id,
        title=row.title,
        text=row.text,
        start=row.start,
        end=row.end,
        position=row.position,
        headings=tuple(json.loads(row.headings)),
        page=row.page,
        context=row.context,
        read=None if row.read_start is None else (row.read_start, row.read_end),
    )


def _chunk_row(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "document_id": chunk.document_id,
        "position": chunk.position,
        "title": chunk.title,
        "title_key": title_key(chunk.title),
        "headings": json.dumps(chunk.headings, ensure_ascii=False),
        "text": chunk.text,
        "text_sha": text_sha(chunk.text),
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "context": chunk.context,
        "read_start": None if chunk.read is None else chunk.read[0],
        "read_end": None if chunk.read is None else chunk.read[1],
        "extractor": None,
        "linked": False,
    }


def _row(chunk_id: str, value: Mention | Statement | Description | Claim) -> dict[str, Any]:
    return {
        "chunk_id": chunk_id,
        **{field.name: getattr(value, field.name) for field in fields(value)},
    }


def _keys_read_from(connection: Connection, chunk_ids: Sequence[str]) -> set[str]:
    """Return the names extracted from a batch of chunks."""
    keys: set[str] = set()
    for column in (mentions.c.key, statements.c.subject, statements.c.object, descriptions.c.key):
        inside = column.table.c.chunk_id.in_(chunk_ids)
        keys.update(connection.execute(select(column).where(inside).distinct()).scalars())
    return keys


def _mark_dirty(connection: Connection, keys: set[str]) -> None:
    """Mark all that rests on these names, and raise the generation."""
    touched: set[str] = set()
    # Before the first derivation nothing rests on anything: a new library is filled faster.
    keys = keys if derived_generation(connection) >= 0 else set()
    fresh = note_changes(connection, "name", keys)  # what was noted before is dirty already
    for batch in in_batches(fresh):
        query = select(names.c.entity_id).where(names.c.key.in_(batch)).distinct()
        touched.update(connection.execute(query).scalars())
        connection.execute(update(names).where(names.c.key.in_(batch)).values(dirty=True))
    for batch in in_batches(touched):
        connection.execute(update(entities).where(entities.c.id.in_(batch)).values(dirty=True))
        inside = select(members.c.community_id).where(members.c.entity_id.in_(batch))
        for table, home in ((communities, communities.c.id), (reports, reports.c.community_id)):
            clean = update(table).where(home.in_(inside), table.c.dirty.is_(False))
            connection.execute(clean.values(dirty=True))
    raise_generation(connection)


def note_changes(connection: Connection, kind: str, keys: Iterable[str]) -> set[str]:
    """Note keys for the next derivation, which looks at these alone; return those that are new."""
    table = changes.c
    added = set[str]()
    for batch in in_batches(keys):
        noted = select(table.key).where(table.kind == kind, table.key.in_(batch))
        fresh = {*batch} - {*connection.execute(noted).scalars()}
        if fresh:
            rows = [{"kind": kind, "key": key} for key in sorted(fresh)]
            connection.execute(insert(changes), rows)
        added |= fresh
    return added


def noted_changes(connection: Connection, kind: str) -> set[str]:
    """Return the names or documents that were noted."""
    query = select(changes.c.key).where(changes.c.kind == kind)
    return set(connection.execute(query).scalars())


def forget_changes(connection: Connection, kind: str) -> None:
    """Forget what was noted: it has been derived from."""
    connection.execute(delete(changes).where(changes.c.kind == kind))


EXTRACT, LINK, DERIVE = "extract", "link", "derive"
"""Stages whose faults are told apart later."""

FAILED = "failed: "
"""Begins the name of an extractor that could not read a chunk: its result is never reused."""

HAND_MADE = "by hand"
"""Extractor name of facts that a user put into the graph store."""


def put_faults(connection: Connection, reasons: Mapping[str, str], *, stage: str) -> None:
    """Note, by chunk id, why a stage could not take it; what was noted before is replaced."""
    forget_faults(connection, reasons, stage=stage)
    if reasons:
        now = product_version()
        rows = [
            {"chunk_id": key, "stage": stage, "reason": reasons[key], "version": now}
            for key in sorted(reasons)
        ]
        connection.execute(insert(faults), rows)


def forget_faults(connection: Connection, chunk_ids: Iterable[str], *, stage: str) -> None:
    """Delete what was noted of a stage and these chunks."""
    for batch in in_batches(chunk_ids):
        gone = delete(faults).where(faults.c.chunk_id.in_(batch), faults.c.stage == stage)
        connection.execute(gone)


def faulty_chunks(connection: Connection, *, stage: str) -> set[str]:
    """Return ids of chunks that a stage could not process."""
    query = select(faults.c.chunk_id).where(faults.c.stage == stage)
    return set(connection.execute(query).scalars())


WRITTEN = "written reports"
"""Key of the state table: how often a model's reports were stored."""


def read_judgements(connection: Connection) -> list[Judgement]:
    """Every judgement, sorted by its two keys."""
    query = select(judgements).order_by(judgements.c.first_key, judgements.c.second_key)
    return [value_of_row(Judgement, row) for row in connection.execute(query)]


def put_judgements(connection: Connection, values: Iterable[Judgement]) -> None:
    """Keep judgements; one of the same pair replaces another."""
    for value in sorted(values):
        delete_judgement(connection, value.first_key, value.second_key)
        connection.execute(insert(judgements).values(asdict(value)))


def delete_judgement(connection: Connection, first_key: str, second_key: str) -> None:
    """Forget what was said of a pair."""
    pair = and_(judgements.c.first_key == first_key, judgements.c.second_key == second_key)
    connection.execute(delete(judgements).where(pair))


def forget_judgements(connection: Connection) -> int:
    """Delete verdicts whose names no longer exist; return their number."""
    judged = read_judgements(connection)
    query = select(names.c.key)
    keys = {key for value in judged for key in (value.first_key, value.second_key)}
    known = {row.key for row in rows_in(connection, query, names.c.key, keys)}
    gone = [value for value in judged if not {value.first_key, value.second_key} <= known]
    for value in gone:
        delete_judgement(connection, value.first_key, value.second_key)
    return len(gone)
