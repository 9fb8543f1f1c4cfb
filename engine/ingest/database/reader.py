"""A database as a source: one document for its schema and one for each row.

Only reads, and only what SQLAlchemy builds. What a row says is `rows`'s; how a database is
reached, and how its refusals are told, `connection`'s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ...errors import SourceError
from ...types import MetaValue, SourceFailure, SourceText
from .connection import (
    ReadOnlyDatabase,
    database_source,
    is_database_url,
    open_database,
)
from .queries import Query, count_query, row_query
from .rows import (
    ForeignKey,
    Table,
    cell_text,
    date_column,
    date_text,
    encoded,
    filled,
    key_text,
    row_hash,
    row_text,
    row_title,
    schema_text,
    template_names,
)
from .tables import Catalogue

if TYPE_CHECKING:
    from sqlalchemy import Row

__all__ = [
    "DatabaseItem",
    "DatabaseNote",
    "DatabaseOptions",
    "database_source",
    "is_database_url",
    "read_database",
]

_ROWS_A_PAGE = 200
_NAMES_IN_A_MESSAGE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseOptions:
    """Options of database reading.

    `tables` and `exclude` are patterns as of file names (`order*`), case and all; a table of
    another schema than the default is `schema.table`, and `exclude` may also name `table.column`.
    Without `tables` all tables of the default schema are read, but no views. `template` makes a
    row's text: `{column}` and `{table}` are filled in; a table without these columns gets the
    default. `max_rows` is for each table, `timeout_seconds` for each query.
    """

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    template: str = ""
    max_rows: int = 100_000
    max_cell_characters: int = 20_000
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseNote:
    """Something passed over on purpose, in one line."""

    text: str


DatabaseItem = SourceText | SourceFailure | DatabaseNote
"""Item of database reading. A failure's source is a table id or the database."""


def read_database(url: str, *, options: DatabaseOptions | None = None) -> Iterator[DatabaseItem]:
    """Read the schema, then every table by name and every row by key.

    Ids: the schema's is the address as of `database_source`; a row's is that, `/table/key`. A table
    that cannot be read is a failure, and rows of it that are known already are then not gone. Rows
    are streamed: a slow reader holds the transaction, and a lock of SQLite, for as long.

    Raises:
        SourceError: no such database, table or driver, a refused login, or a template that asks
            for more than columns; while walked, and without the address or a password in it.
    """
    options = options or DatabaseOptions()
    names = template_names(options.template)
    with closing(open_database(url, timeout_seconds=options.timeout_seconds)) as database:
        catalogue = Catalogue(database, exclude=options.exclude)
        tables, failures = _tables(database, catalogue, options)
        _check_template(names, tables)
        yield _schema(database, tables)
        yield from failures
        for table in tables:
            template = options.template if names <= _names(table) else ""
            if options.template and not template:
                missing = ", ".join(sorted(names - _names(table)))
                yield DatabaseNote(
                    text=f"table {table.name!r} has no column {missing}: "
                    "its rows are written without the template"
                )
            reading = _Reading(database=database, table=table, options=options, template=template)
            yield from reading.items(catalogue)


def _tables(
    database: ReadOnlyDatabase, catalogue: Catalogue, options: DatabaseOptions
) -> tuple[list[Table], list[SourceFailure]]:
    """Return the tables to read with row counts, and the unreadable ones."""
    tables, failures = [], []
    for schema, name in catalogue.names(options.tables):
        try:
            table = catalogue.table(schema, name)
            tables.append(table.counted(_count(database, table)))
        except SourceError as error:
            shown = f"{schema}.{name}" if schema else name
            source = f"{database.source}/{encoded(shown)}"
            failures.append(SourceFailure(source=source, reason=str(error)))
    return tables, failures


def _count(database: ReadOnlyDatabase, table: Table) -> int:
    with database.reading() as connection:
        return int(connection.execute(count_query(table, database.backend)).scalar_one())


def _names(table: Table) -> frozenset[str]:
    return frozenset({"table", *(column.name for column in table.columns)})


def _check_template(names: frozenset[str], tables: Sequence[Table]) -> None:
    if not tables or any(names <= _names(table) for table in tables):
        return
    known = sorted({name for table in tables for name in _names(table)} - {"table"})
    shown = ", ".join(known[:_NAMES_IN_A_MESSAGE]) + (", …" if len(known) > 10 else "")
    missing = ", ".join(sorted(names - frozenset(known))) or "all of " + ", ".join(sorted(names))
    raise SourceError(f"has no table with the template's columns ({missing}): there are {shown}")


def _schema(database: ReadOnlyDatabase, tables: Sequence[Table]) -> SourceText:
    name = _database_name(database)
    text = schema_text(name, tables, backend=database.backend)
    return SourceText(
        id=database.source,
        title=f"Database {name}",
        text=text,
        type="schema",
        shape="markdown",
        sha256=_sha256(text),
        source=database.source,
        metadata={"database": name, "path": database.source, "type": "schema"},
    )


def _database_name(database: ReadOnlyDatabase) -> str:
    return PurePosixPath(database.source).name or database.backend


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One table on its way to documents."""

    database: ReadOnlyDatabase
    table: Table
    options: DatabaseOptions
    template: str
    ids: set[str] = field(default_factory=set)
    repeated: int = 0

    @property
    def place(self) -> str:
        return f"{self.database.source}/{encoded(self.table.name)}"

    def items(self, catalogue: Catalogue) -> Iterator[DatabaseItem]:
        """Yield the rows, then the notes."""
        labelled, notes = self._labelled(catalogue)
        yield from notes
        try:
            yield from self._rows(labelled)
        except SourceError as error:
            yield SourceFailure(source=self.place, reason=str(error))

    def _labelled(self, catalogue: Catalogue) -> tuple[Query, list[DatabaseNote]]:
        """Return the query with those labels that are readable.

        A refused one would lose the table.
        """
        notes: list[DatabaseNote] = []
        labels: list[tuple[ForeignKey, Table]] = []
        for key in self.table.foreign_keys:
            try:
                target = catalogue.pointed_to(key)
                if target is None:
                    continue
                probe = self._query([(key, target)], limit=1)
                with self.database.reading() as connection:
                    connection.execute(probe.select).first()
                labels.append((key, target))
            except SourceError as error:
                text = f"what {self.table.name}.{key.columns[0]} points to is not named: it {error}"
                notes.append(DatabaseNote(text=text))
        return self._query(labels, limit=self.options.max_rows + 1), notes

    def _query(self, labels: list[tuple[ForeignKey, Table]], *, limit: int) -> Query:
        return row_query(
            self.table,
            labels=labels,
            backend=self.database.backend,
            limit=limit,
            cell=self.options.max_cell_characters,
        )

    def _rows(self, query: Query) -> Iterator[DatabaseItem]:
        with self.database.reading() as connection:
            result = connection.execution_options(
                stream_results=True, max_row_buffer=_ROWS_A_PAGE
            ).execute(query.select)
            read = 0
            pages = result.partitions(_ROWS_A_PAGE)
            while page := next(pages, None):
                for row in page:
                    read += 1
                    if read > self.options.max_rows:
                        yield self._past_the_limit()
                        break
                    document = self._document(row, query)
                    if document is not None:
                        yield document
                self.database.restart_clock()
        if self.repeated:
            yield self._note_on_repeated()

    def _document(self, row: Row[Any], query: Query) -> SourceText | None:
        """Convert a row to a document; None for a repeated id."""
        limit = self.options.max_cell_characters
        texts = [cell_text(value, limit=limit) for value in row[: query.cells]]
        cells = dict(zip(query.columns, texts, strict=True))
        key = key_text(row[query.cells : query.keys]) if self.table.key else None
        end = key or row_hash(cells)
        if end in self.ids:
            self.repeated += 1
            return None
        self.ids.add(end)
        title = row_title(self.table, cells, key=unquote(key or ""))
        text = self._text(title, cells, labels=_labels(row, query))
        if not text.strip():
            return None
        return self._source(f"{self.place}/{end}", title, text=text, date=_date(self.table, cells))

    def _text(self, title: str, cells: dict[str, str], *, labels: dict[str, str]) -> str:
        if self.template:
            return filled(self.template, cells, table=self.table.name)
        return row_text(title, cells, labels=labels)

    def _source(self, id_: str, title: str, *, text: str, date: str) -> SourceText:
        metadata: dict[str, MetaValue] = {"date": date} if date else {}
        metadata |= {
            "table": self.table.name,
            "database": _database_name(self.database),
            "path": id_,
            "type": "row",
        }
        return SourceText(
            id=id_,
            title=title,
            text=text,
            type="row",
            sha256=_sha256(text),
            source=self.database.source,
            metadata=metadata,
        )

    def _past_the_limit(self) -> DatabaseNote:
        rows = "" if self.table.rows is None else f" of its {self.table.rows:,}"
        return DatabaseNote(
            text=f"table {self.table.name!r}: only the first {self.options.max_rows:,}{rows} rows "
            "are read: raise max_rows"
        )

    def _note_on_repeated(self) -> DatabaseNote:
        why = "had the key of another" if self.table.key else "equalled another (it has no key)"
        rows = "1 row" if self.repeated == 1 else f"{self.repeated:,} rows"
        return DatabaseNote(text=f"table {self.table.name!r}: {rows} {why} and came in once")


def _labels(row: Row[Any], query: Query) -> dict[str, str]:
    """Return labels of the row's foreign keys, by first key column."""
    labels: dict[str, list[str]] = {}
    for name, value in zip(query.labels, row[query.keys :], strict=True):
        labels.setdefault(name, []).append(cell_text(value, limit=100).replace("\n", " "))
    return {name: " ".join(filter(None, texts)) for name, texts in labels.items()}


def _date(table: Table, cells: dict[str, str]) -> str:
    column = date_column(table)
    return date_text(cells.get(column, "")) if column else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
