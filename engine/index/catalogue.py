"""Documents as a list shows them, page by page, and windows of their text.

A page begins after an id, not at a number, so that what comes or goes meanwhile neither repeats nor
skips anything.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Select, func, or_, select

from ..ingest.content import sanitise_text
from ..namespaces import SEPARATOR
from ..types import MetaValue
from .door import chunk_table
from .filters import DocumentFilter, Namespaces, document_filter
from .library import DocumentRow, Library
from .partial import why_partial
from .tables import documents, metadata_values

if TYPE_CHECKING:
    from .filters import Filters

_COLUMNS = (
    "id",
    "title",
    "type",
    "namespace",
    "source",
    "sha256",
    "metadata",
    "given",
    "pages",
    "outdated",
)
_PENDING = "SELECT count(*) FROM pending JOIN chunks ON chunks.id = chunk_id WHERE document_id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentInfo:
    """What is known of a document without its text.

    `metadata` are what the source says of itself under what its owner gave, which `given` holds
    alone; `pages` counts pages, 0 where the format has none; `characters` is the text's length.
    `partial` says what a document lacks that a stage could not take, and why; empty for others.
    `outdated` says why its file can no longer be read, and is None while it can.
    """

    id: str
    title: str
    type: str
    namespace: str
    source: str
    sha256: str
    chunks: int
    pages: int
    characters: int
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    given: Mapping[str, MetaValue] = field(default_factory=dict)
    partial: str = ""
    outdated: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """Some documents by id, how many there are in all, and whether more follow."""

    items: tuple[DocumentInfo, ...]
    total: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWindow:
    """`document_text[start:end] == text`; `pages` are the start offsets of all pages."""

    id: str
    title: str
    text: str
    start: int
    end: int
    total: int
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FromSource:
    """A document by its source: that one's hash, and the metadata that its owner gave."""

    id: str
    namespace: str
    source_sha256: str
    given: Mapping[str, MetaValue]


class DocumentStore:
    """Looks documents up in one library. Safe to share by threads."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def page(
        self,
        *,
        query: str = "",
        filters: Filters = None,
        namespace: Namespaces = None,
        after: str = "",
        limit: int = 50,
    ) -> DocumentPage:
        """List visible documents whose id or title contains `query`, after an id."""
        within = document_filter(filters, namespace=namespace)
        with self._library.read() as connection:
            if within is not None and within.filters is not None:
                every = self._library.document_metadata(connection)
                found = _matching(every, within, query)
                rest = [name for name in found if name > after]
                return _page(connection, rest[: limit + 1], len(found), limit)
            wanted = _named(select(documents.c.id), within, query)
            counted = select(func.count()).select_from(wanted.subquery())
            total = connection.execute(counted).scalar_one()
            page = wanted.where(documents.c.id > after).order_by(documents.c.id).limit(limit + 1)
            return _page(connection, connection.execute(page).scalars().all(), total, limit)

    def document(self, document_id: str) -> DocumentInfo | None:
        """One document; None where there is none of this id."""
        with self._library.read() as connection:
            found = _infos(connection, [document_id])
        return found[0] if found else None

    def pending(self, document_id: str) -> int:
        """Return the number of a document's chunks that a model has not read."""
        with self._library.read() as connection:
            return int(connection.exec_driver_sql(_PENDING, (document_id,)).scalar_one())

    def window(self, document_id: str, *, start: int, end: int) -> TextWindow | None:
        """Return the characters `[start, end)` of a document, clipped; None if absent."""
        text = documents.c.text
        columns = (
            documents.c.title,
            documents.c.pages,
            func.length(text).label("total"),
            func.substr(text, start + 1, max(end - start, 0)).label("part"),
        )
        query = select(*columns).where(documents.c.id == document_id)
        with self._library.read() as connection:
            row = connection.execute(query).first()
            pages = tuple(json.loads(row.pages)) if row is not None else ()
        if row is None:
            return None
        first = min(start, row.total)
        return TextWindow(
            id=document_id,
            title=row.title,
            text=row.part,
            start=first,
            end=first + len(row.part),
            total=row.total,
            pages=pages,
        )

    def from_source(self, source: str) -> list[FromSource]:
        """Return the document of an id, or all documents of that source, sorted."""
        either = or_(documents.c.id == source, documents.c.source == source)
        columns = (documents.c.id, documents.c.namespace, documents.c.source_sha256)
        query = select(*columns, documents.c.given).where(either).order_by(documents.c.id)
        with self._library.read() as connection:
            return [
                FromSource(
                    id=row.id,
                    namespace=row.namespace,
                    source_sha256=row.source_sha256,
                    given=metadata_values(row.given),
                )
                for row in connection.execute(query)
            ]

    def namespaces(self) -> dict[str, int]:
        """Count documents by namespace, sorted by name."""
        query = select(documents.c.namespace, func.count()).group_by(documents.c.namespace)
        with self._library.read() as connection:
            return {row[0]: row[1] for row in connection.execute(query.order_by("namespace"))}

    def counts(self, namespaces: Collection[str]) -> dict[str, int]:
        """Count documents and chunks of these namespaces together."""
        inside = documents.c.namespace.in_(sorted(namespaces))
        joined = documents.join(chunk_table, chunk_table.c.document_id == documents.c.id)
        with self._library.read() as connection:
            held = select(func.count()).select_from(documents).where(inside)
            chunks = select(func.count()).select_from(joined).where(inside)
            return {
                "documents": connection.execute(held).scalar_one(),
                "chunks": connection.execute(chunks).scalar_one(),
            }


def _matching(
    every: Mapping[str, Mapping[str, object]], within: DocumentFilter, query: str
) -> list[str]:
    """Return matching documents; metadata filters examine every document."""
    words = query.casefold()
    return sorted(
        name
        for name, values in every.items()
        if within.admits(values)
        and (words in name.casefold() or words in str(values["title"]).casefold())
    )


def _named(query: Select[Any], within: DocumentFilter | None, words: str) -> Select[Any]:
    if within is not None and within.namespaces is not None:
        query = query.where(documents.c.namespace.in_(sorted(within.namespaces)))
    if words:
        either = (
            documents.c.id.icontains(words, autoescape=True),
            documents.c.title.icontains(words, autoescape=True),
        )
        query = query.where(or_(*either))
    return query


def _page(connection: Connection, ids: Sequence[str], total: int, limit: int) -> DocumentPage:
    return DocumentPage(
        items=tuple(_infos(connection, ids[:limit])), total=total, has_more=len(ids) > limit
    )


def _infos(connection: Connection, ids: Sequence[str]) -> list[DocumentInfo]:
    length = func.length(documents.c.text).label("characters")
    columns = [documents.c[name] for name in _COLUMNS]
    chunks = (
        select(func.count())
        .where(chunk_table.c.document_id == documents.c.id)
        .scalar_subquery()
        .label("chunks")
    )
    query = select(*columns, length, chunks).where(documents.c.id.in_(ids))
    lacks = why_partial(connection, ids)
    rows = connection.execute(query.order_by(documents.c.id))
    return [_info(row, partial=lacks.get(row.id, "")) for row in rows]


def _info(row: Row[Any], *, partial: str) -> DocumentInfo:
    return DocumentInfo(
        id=row.id,
        title=row.title,
        type=row.type,
        namespace=row.namespace,
        source=row.source,
        sha256=row.sha256,
        chunks=row.chunks,
        pages=len(json.loads(row.pages)),
        characters=row.characters,
        metadata={**metadata_values(row.metadata), **metadata_values(row.given)},
        given=metadata_values(row.given),
        partial=partial,
        outdated=row.outdated,
    )


def resolve_ids(wanted: str, rows: Iterable[DocumentRow]) -> list[str]:
    """Resolve an id or source to document ids; else those of the file at this path."""
    held = list(rows)
    if found := [row.id for row in held if wanted in (row.id, row.source)]:
        return found
    namespace, _, name = wanted.rpartition(SEPARATOR)
    place = sanitise_text(Path(name).absolute().as_posix())
    return [row.id for row in held if row.path == place and row.namespace == namespace]
