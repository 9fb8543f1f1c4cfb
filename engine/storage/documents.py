"""Documents: listed page by page, found deleted or unreadable, and health of the whole library.

A page begins after an id, not at a number, so that changes meanwhile neither repeat nor skip
anything. Of a folder in which nothing is left to read nothing is deleted: its disk may only be
away.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Select, func, or_, select, text, update

from ..errors import TooManyRemovals
from ..ingest.discovery import DiscoveredSources
from ..ingest.document import sanitise_text
from ..types import SEPARATOR, MetaValue, PendingChunk, SourceFailure, source_id
from .graph_api import chunk_table, forget_derived, raise_generation
from .integrity import find_damage
from .library import DocumentRow, Library
from .preparation import partial_count, why_partial
from .schema import (
    DocumentFilter,
    Namespaces,
    document_filter,
    documents,
    metadata_text,
    metadata_values,
)
from .vectors.external import ExternalDense
from .vectors.spaces import VectorSpace

if TYPE_CHECKING:
    from .indexer import Indexer
    from .schema import Filters

MOST_REMOVED = 20
"""Number of documents that a run may always remove."""
SHARE_REMOVED = 5
"""One in so many of the documents that a run is about may go without a yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Documents to remove, and outdated ones with reasons, by id."""

    missing: frozenset[str]
    outdated: Mapping[str, str]

    def reports(self) -> tuple[SourceFailure, ...]:
        """Return a row for each outdated document."""
        return tuple(
            SourceFailure(
                source=name,
                reason=f"keeps the text of its last readable state: its source {reason}",
            )
            for name, reason in sorted(self.outdated.items())
        )


def plan_removals(
    rows: Sequence[DocumentRow],
    found: DiscoveredSources,
    *,
    namespace: str,
    strict: bool,
    missing: Collection[str],
    outdated: Mapping[str, str],
) -> Leaving:
    """Decide which missing documents are removed and which stay as outdated."""
    away = _away(rows, found, namespace=namespace)
    broken = {**_unreadable(rows, found, namespace=namespace), **outdated}
    gone_ = set(missing)
    if strict:
        gone_ |= broken.keys() - away.keys()
    kept = {name: why for name, why in (broken | away).items() if name not in gone_}
    return Leaving(missing=frozenset(gone_), outdated=kept)


def check_removals(missing: Collection[str], scope: Collection[str], *, agreed: bool) -> None:
    """Refuse to remove a large part of the documents that a run is about, unless agreed to.

    Raises:
        TooManyRemovals: more than a fifth of them, and more than 20.
    """
    if not agreed and (said := too_many(missing, scope)):
        raise TooManyRemovals(said)


def too_many(missing: Collection[str], scope: Collection[str]) -> str:
    """Why so many removals want a yes; empty where they want none."""
    count, whole = len(missing), len({*missing, *scope})
    if count <= MOST_REMOVED or count * SHARE_REMOVED <= whole:
        return ""
    return (
        f"{count:,} of {whole:,} documents would be removed, more than a fifth, and none was: "
        "check that their disk is not away, or agree with --yes (Python: remove_many=True)"
    )


def find_deleted(
    held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> set[str]:
    """Return the ids of documents whose source file is missing."""
    missing = set[str]()
    rows = list(held)
    for root, folder in found.folders:
        if not _is_spared(root, folder, found):
            missing |= _missing_from(root, folder, rows, found, namespace)
    return missing


def documents_inside(
    held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> set[str]:
    """Return ids of stored documents whose source lies inside the walked folders."""
    rows = list(held)
    return {
        row.id
        for root, folder in found.folders
        for row in rows
        if _is_inside(row, root, folder, namespace)
    }


def emptied_documents(
    held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> set[str]:
    """Return ids of documents whose files are empty, by stat."""
    empty = {source_id(namespace, each.id) for each in found.sources if _has_no_byte(each.path)}
    return {row.id for row in held if row.source in empty}


def protected_documents(
    held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> Iterator[str]:
    """Return a line for each protected folder: empty now, its documents kept."""
    rows = list(held)
    for root, folder in found.folders:
        kept = _missing_from(root, folder, rows, found, namespace)
        if kept and _is_spared(root, folder, found):
            number = "1 document is" if len(kept) == 1 else f"{len(kept):,} documents are"
            yield (
                f"nothing can be read in {root or str(folder)!r} any more: of it {number} "
                "kept, since it may only be away; `loregraph remove` removes them by id"
            )


def _away(
    rows: Sequence[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> dict[str, str]:
    """Documents of folders in which nothing is left to read, and why they are kept."""
    return {
        name: f"is away: nothing can be read in {root or str(folder)!r} any more"
        for root, folder in found.folders
        if _is_spared(root, folder, found)
        for name in _missing_from(root, folder, rows, found, namespace)
    }


def _unreadable(
    rows: Sequence[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> dict[str, str]:
    """Documents whose file, or a folder that it lies in.

    Was found and could not be looked at.
    """
    reasons = {
        source_id(namespace, failure.source): failure.reason
        for failure in found.failures
        if not failure.is_empty
    }
    blocked = _blocked(found, namespace)
    why = {}
    for row in rows:
        if row.source in reasons:
            why[row.id] = reasons[row.source]
        elif folder := next((each for each in blocked if row.source.startswith(each)), ""):
            why[row.id] = f"lies in a folder that {reasons[folder.removesuffix('/')]}"
    return why


def _blocked(found: DiscoveredSources, namespace: str) -> tuple[str, ...]:
    """Return the unreadable folders inside the named ones."""
    roots = {root for root, _ in found.folders}
    return tuple(
        f"{source_id(namespace, failure.source)}/"
        for failure in found.failures
        if failure.source not in roots and not failure.is_empty
    )


def _is_spared(root: str, folder: Path, found: DiscoveredSources) -> bool:
    """Check whether an empty folder is more likely unmounted than emptied."""
    failed = {failure.source for failure in found.failures}
    return root in failed or str(folder) in failed or not (found.sources or found.failures)


def _is_inside(row: DocumentRow, root: str, folder: Path, namespace: str) -> bool:
    if row.path is None:
        return False
    by_id = bool(root) and row.source.startswith(f"{source_id(namespace, root)}/")
    return by_id or (row.namespace == namespace and Path(row.path).is_relative_to(folder))


def _missing_from(
    root: str, folder: Path, held: Iterable[DocumentRow], found: DiscoveredSources, namespace: str
) -> set[str]:
    there = {source_id(namespace, source.id) for source in found.sources}
    there |= {source_id(namespace, failure.source) for failure in found.failures}
    blocked = _blocked(found, namespace)
    return {
        row.id
        for row in held
        if _is_inside(row, root, folder, namespace)
        and row.source not in there
        and not row.source.startswith(blocked)
    }


def _has_no_byte(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return False


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
    """Document metadata without its text.

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


COUNTED = (
    "documents",
    "outdated",
    "chunks",
    "vectors",
    "mentions",
    "statements",
    "claims",
    "pending",
    "entities",
    "relations",
    "communities",
    "reports",
    "written_reports",
)
"""Counts shown to users; `outdated` are documents whose file cannot be read any more.

`pending` chunks
that a language model has not read.
"""


def library_counts(library: Library) -> dict[str, int]:
    """Return user-facing counts and the size on disk."""
    counts = library.counts()
    with library.read() as connection:
        outdated = select(func.count()).where(documents.c.outdated.is_not(None))
        counts["outdated"] = connection.execute(outdated).scalar_one()
    unreadable = (
        sum(each.unreadable for each in pending_chunks(library)) if counts["pending"] else 0
    )
    return {name: counts[name] for name in COUNTED} | {
        "partial": partial_count(library),
        "unreadable": unreadable,
        "size_bytes": library.size_bytes(),
    }


def pending_chunks(library: Library) -> list[PendingChunk]:
    """Return chunks a model has not read, by document, with reasons.

    Unreadable are those of which the reason is kept as one that the model is not asked again for.
    """
    query = text(
        "SELECT document_id, chunk_id, reason, EXISTS (SELECT 1 FROM unanswered"
        " WHERE stage = 'extraction' AND key = text_sha AND unanswered.reason = pending.reason)"
        " AS unreadable FROM pending JOIN chunks ON chunks.id = chunk_id"
        " ORDER BY document_id, start, chunk_id"
    )
    with library.read() as connection:
        return [
            PendingChunk(**{**row, "unreadable": bool(row["unreadable"])})
            for row in connection.execute(query).mappings()
        ]


def set_user_metadata(
    library: Library, document_id: str, given: Mapping[str, MetaValue]
) -> bool | None:
    """Replace a document's user metadata; return whether it changed, None if absent.

    Whatever was kept of answers and views counts as older afterwards, since filters go by it.
    """
    wanted, own = metadata_text(given), documents.c.id == sanitise_text(document_id)
    with library.write() as connection:
        held = connection.execute(select(documents.c.given).where(own)).scalar()
        if held is None or held == wanted:
            return None if held is None else False
        connection.execute(update(documents).where(own).values(given=wanted))
        raise_generation(connection)
    return True


def repair_library(library: Library, indexer: Indexer, spaces: Sequence[VectorSpace]) -> list[str]:
    """Derive everything from the library as if it were new; what was done, a line each.

    The database's file is written anew at the end: nothing removed is left in unused pages.
    """
    with library.writer():  # before any transaction, as whoever adds documents does
        with library.write() as connection:
            forget_derived(connection)
        done = indexer.derived()
        library.database.compact()
    lines = [f"derived: {done.rows_written} rows written"] if done.rows_written else []
    for dense in (space.dense for space in spaces):
        if isinstance(dense, ExternalDense):
            found = dense.reconcile(full=True)
            lines.append(f"vector store: {found.added} vectors written, {found.removed} removed")
    return lines


def check_library(library: Library) -> list[str]:
    """Return problems of a damaged library, one line each; empty if sound."""
    with library.read() as connection:
        return list(find_damage(connection))
