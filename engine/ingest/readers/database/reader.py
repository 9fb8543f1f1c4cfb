"""Database reader: one document for the schema and one for each row, through SQLAlchemy.

Only reads; names are quoted and values bound by SQLAlchemy. Cells are cut, and bytes replaced by
their number, in the database itself, so that no huge value crosses the wire. Where a backend has
one text form for everything it is asked for that: a driver cannot then fail on a date of the year
infinity.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ....errors import SourceError
from ....types import MetaValue, SourceFailure, SourceText
from .connection import ReadOnlyDatabase, open_database
from .schema import (
    Catalogue,
    Column,
    ForeignKey,
    Table,
    binary_text,
    cell_text,
    date_column,
    date_text,
    encode_id_part,
    fill_row_template,
    key_text,
    row_hash,
    row_text,
    row_title,
    schema_text,
    template_names,
    title_columns,
)

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Row, Select, TableClause

_LABEL_CHARACTERS = 100
_CASTING = frozenset({"postgresql", "mysql", "mariadb"})
_QUOTING = _CASTING | {"sqlite"}


class Query(NamedTuple):
    """Query whose `select` gives `columns`, then the key, then a value for each of `labels`.

    `cells` and `keys` are where the columns and where the key ends in a row; `labels` holds the
    foreign key's first column for each label value.
    """

    select: Select[Any]
    columns: tuple[str, ...]
    cells: int
    keys: int
    labels: tuple[str, ...]


def count_query(table: Table, backend: str) -> Select[Any]:
    """Build the SQL query for a table's number of rows."""
    from sqlalchemy import func, select

    return select(func.count()).select_from(_clause(table, backend))


def row_query(
    table: Table,
    *,
    labels: Sequence[tuple[ForeignKey, Table]],
    backend: str,
    limit: int,
    cell: int,
) -> Query:
    """Build the query for the first `limit` rows by key.

    Cells are cut just past `cell` characters.
    """
    from sqlalchemy import select

    own = _clause(table, backend)
    columns = [_cell(own, column, backend=backend, limit=cell) for column in table.columns]
    keys = [_key(own, column, backend) for column in _named(table, table.key)]
    joined: Any = own
    label_columns, label_names = [], []
    for number, (key, target) in enumerate(labels):
        other = _clause(target, backend).alias(f"label_{number}")
        condition = _same(own, other, key)
        joined = joined.outerjoin(other, condition)
        for column in _named(target, title_columns(target)):
            label_columns.append(_cell(other, column, backend=backend, limit=_LABEL_CHARACTERS))
            label_names.append(key.columns[0])
    everything = [
        expression.label(f"value_{number}")
        for number, expression in enumerate([*columns, *keys, *label_columns])
    ]
    order = table.key or tuple(column.name for column in table.columns if column.orderable)
    chosen = select(*everything).select_from(joined)
    chosen = chosen.order_by(*(own.c[name] for name in order)).limit(limit)
    return Query(
        select=chosen,
        columns=tuple(column.name for column in table.columns),
        cells=len(columns),
        keys=len(columns) + len(keys),
        labels=tuple(label_names),
    )


def _clause(table: Table, backend: str) -> TableClause:
    from sqlalchemy import column
    from sqlalchemy import table as clause
    from sqlalchemy.sql import quoted_name

    def name(text: str) -> str:  # elsewhere lower case stands for "any case" and is not quoted
        return quoted_name(text, quote=True) if backend in _QUOTING else text

    names = dict.fromkeys([*(item.name for item in table.columns), *table.key])
    names |= dict.fromkeys(part for key in table.foreign_keys for part in key.columns)
    schema = None if table.schema is None else name(table.schema)
    return clause(name(table.bare_name), *(column(name(item)) for item in names), schema=schema)


def _named(table: Table, names: Sequence[str]) -> list[Column]:
    """Return the named columns; unreflected ones as text."""
    by_name = {column.name: column for column in table.columns}
    return [by_name.get(name, Column(name=name, type="")) for name in names]


def _same(own: Any, other: Any, key: ForeignKey) -> ColumnElement[bool]:
    from sqlalchemy import and_

    pairs = zip(key.columns, key.referred, strict=True)
    return and_(*(own.c[mine] == other.c[theirs] for mine, theirs in pairs))


def _cell(clause: Any, column: Column, *, backend: str, limit: int) -> ColumnElement[Any]:
    from sqlalchemy import Text, case, cast, func, literal

    value = clause.c[column.name]
    before, after = (literal(part) for part in binary_text("|").split("|"))
    size = before + cast(func.length(value), Text) + after
    if backend == "sqlite":  # any column of it may hold any type
        kind = func.typeof(value)
        cut = func.substr(value, 1, limit + 1)
        return case((kind == "blob", size), (kind == "text", cut), else_=value)
    if column.binary:
        return size if backend in _CASTING else value
    if backend in _CASTING:
        return func.substr(cast(value, Text), 1, limit + 1)
    return value  # type: ignore[no-any-return]


def _key(clause: Any, column: Column, backend: str) -> ColumnElement[Any]:
    from sqlalchemy import Text, cast

    value = clause.c[column.name]
    if backend in _CASTING and not column.binary:
        return cast(value, Text)
    return value  # type: ignore[no-any-return]


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
            source = f"{database.source}/{encode_id_part(shown)}"
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
        return f"{self.database.source}/{encode_id_part(self.table.name)}"

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
            return fill_row_template(self.template, cells, table=self.table.name)
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
        why = (
            "had the key of another row"
            if self.table.key
            else "equalled another row (the table has no key)"
        )
        rows = "1 row" if self.repeated == 1 else f"{self.repeated:,} rows"
        return DatabaseNote(text=f"table {self.table.name!r}: {rows} {why} and was added once")


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
