"""Ingestion pipeline of one library: add, synchronise, remove and describe documents.

Reports what came of every source; which ones are meant is `choice`'s, how they are read `ingest`'s,
how they are stored `index`'s.

Validated ingestion options: which sources, and the user's metadata.

User metadata of stored documents: tags, a date, any field to filter by.

The document's text, and all that was read of it, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import select, update

from .config import IngestSettings
from .embeddings.wrappers import ChosenEmbedding, check_same_model
from .errors import SourceError
from .events import Progress
from .ingest.change_detection import (
    ChangeDetector,
    FileStateCache,
    IngestTarget,
    StoredDocument,
    stat_signature,
)
from .ingest.discovery import ClassifiedSources, DiscoveredSources, FileSource, find_sources
from .ingest.document import ReadOptions, sanitise_text
from .ingest.sandbox import ReaderPool
from .llm.budget import Budget, track_usage
from .storage.documents import (
    check_removals,
    emptied,
    find_deleted,
    inside,
    leaving,
    protected_documents,
    resolve_ids,
    too_many,
)
from .storage.graph_api import raise_generation
from .storage.indexer import Indexer, RunStats
from .storage.library import DocumentRow, Library
from .storage.preparation import partial_by_other_version, partial_documents
from .storage.schema import documents, metadata_text
from .types import (
    Estimate,
    IngestReport,
    MetaValue,
    PendingChunk,
    SourceFailure,
    SourceText,
    check_name,
    check_namespace,
)

if TYPE_CHECKING:
    from llama_index.core.schema import Document

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Sources to ingest, and the user's metadata for them.

    `include` and `exclude` are patterns as in `.gitignore` for what lies in folders, `tables` are
    patterns of table names in databases. `metadata` None leaves what documents have. With `strict`
    a document goes whose file can no longer be read; `remove_many` agrees to many removals.

    Raises:
        SourceError: a namespace or metadata that cannot be.
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    tables: Sequence[str] = ()
    namespace: str = ""
    metadata: Mapping[str, MetaValue] | None = None
    strict: bool = False
    remove_many: bool = False

    def __post_init__(self) -> None:
        check_namespace(self.namespace)
        for key, value in (self.metadata or {}).items():
            if not isinstance(value, (str, int, float, bool, tuple)):
                raise SourceError(
                    f"metadata {key!r} is a {type(value).__name__}: "
                    "give text, a number, true or false, or a tuple of texts"
                )
            for text in (key, *(value if isinstance(value, tuple) else (value,))):
                if isinstance(text, str) and sanitise_text(text) != text:
                    raise SourceError(f"metadata {key!r}: {text!r} holds what is no character")


def as_list(sources: T | Sequence[T]) -> list[T]:
    """One source or several as a list; a text is one."""
    if isinstance(sources, Sequence) and not isinstance(sources, str):
        return list(sources)
    return [sources]


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


Feed = Callable[[ChangeDetector], Iterable[SourceText]]
NOTHING_NAMED = "names no source: give files, folders, web addresses or databases"


class IngestPipeline:
    """Writes to one library.

    Args:
        library: where documents are.
        indexer: puts a document's text into every index.
        settings: limits on what is read.
        budget: what language models may cost; each call of a method here is a run.
        embedding: the library's embedding model, and what is to be said of it.
        changed: called when documents came, changed or went.
        warnings: what is to be said of whatever may be paid for.
    """

    def __init__(
        self,
        library: Library,
        indexer: Indexer,
        settings: IngestSettings,
        *,
        budget: Budget,
        embedding: ChosenEmbedding | None = None,
        changed: Callable[[], object] = lambda: None,
        warnings: Sequence[str] = (),
    ) -> None:
        self._warnings = warnings
        self._changed = changed
        self._embedding = embedding
        self._budget = budget
        self._library = library
        self._indexer = indexer
        self._settings = settings

    def add(
        self, sources: Sequence[str | Path | Document], *, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Add files, folders, addresses, databases and LlamaIndex documents."""
        named = ClassifiedSources.of(sources)
        found = self._find(named.paths, choice)
        failures = list(found.failures)
        if not sources:
            failures.append(SourceFailure(source="nothing", reason=NOTHING_NAMED))
        return self._put(
            self._feed(named, found, choice, progress),
            choice=choice,
            found=found._replace(failures=failures),
            progress=progress,
        )

    def add_text(
        self, text: str, *, document_id: str, title: str, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Add one text in hand."""
        return self._put(
            lambda intake: intake.text(text, document_id=document_id, title=title),
            choice=choice,
            found=_NOTHING_FOUND,
            progress=progress,
        )

    def add_files(
        self, files: Mapping[str, Path], *, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Add files under ids of the caller's; where they lie is not kept."""
        for name in files:
            check_name(name)
        sources = [FileSource(id=name, path=path) for name, path in sorted(files.items())]
        count = len(sources)

        def feed(intake: ChangeDetector) -> Iterator[SourceText]:
            done: Callable[[int], None] = lambda number: progress("read", number, count)  # noqa: E731
            yield from intake.files(sources, progress=done, passing=True)
            progress("read", count, count)

        return self._put(feed, choice=choice, found=_NOTHING_FOUND, progress=progress)

    def sync(
        self,
        folders: Sequence[str | Path],
        *,
        choice: IngestOptions,
        dry_run: bool,
        progress: Progress,
    ) -> IngestReport:
        """Synchronise the library with these sources.

        Delete documents whose source is missing.
        """
        named = ClassifiedSources.of(folders)
        found = self._find(named.paths, choice)
        if dry_run:
            plan = self._plan(found, choice, progress)
            if named.addresses or named.databases:
                note = "web addresses and databases are left out: a dry run looks at files alone"
                plan = replace(plan, notes=(*plan.notes, note))
            return plan
        report = self._put(
            self._feed(named, found, choice, progress),
            choice=choice,
            found=found,
            progress=progress,
            follows=True,
        )
        kept = protected_documents(self._rows(), found, namespace=choice.namespace)
        return replace(report, notes=(*report.notes, *kept))

    def estimate(
        self,
        sources: Sequence[str | Path | Document],
        *,
        choice: IngestOptions,
        forecast: Callable[[Iterable[SourceText]], Estimate],
        progress: Progress,
    ) -> Estimate:
        """Estimate the cost of new and changed sources, and list the unreadable ones."""
        named = ClassifiedSources.of(sources)
        found = self._find(named.paths, choice)
        with self._pool() as pool:
            known = self._held(self._rows())
            intake = self._intake(known, FileStateCache(self._library.path), choice, pool)
            estimate = forecast(self._feed(named, found, choice, progress)(intake))
        notes = (*self._warnings, *estimate.notes)
        return replace(estimate, failed=_failed(found, intake), notes=notes)

    def remove(self, document_ids: Sequence[str], *, progress: Progress) -> IngestReport:
        """Remove documents by id or source name; an archive's name removes all its members."""
        work, removed = RunStats(), set[str]()
        failures: list[SourceFailure] = []
        with self._library.writer():
            known = self._library.documents()
            for wanted in sorted(set(document_ids)):
                names = resolve_ids(wanted, known.values())
                if not names:
                    failures.append(_not_held(wanted))
                for name in names:
                    self._indexer.remove(name)
                    removed.add(name)
            self._forget(removed)
            self._indexer.derive(work=work, progress=progress)
        self._changed()
        return IngestReport(
            removed=tuple(sorted(removed)), failed=tuple(failures), seconds=dict(work.seconds)
        )

    def describe(self, name: str, choice: IngestOptions, *, progress: Progress) -> IngestReport:
        """Replace what the owner says of one document."""
        work = RunStats()
        with self._library.writer():
            changed = set_user_metadata(self._library, name, choice.metadata or {})
            self._indexer.derive(work=work, progress=progress)
        if changed is None:
            return IngestReport(failed=(_not_held(name),))
        self._changed()
        return IngestReport(
            changed=(name,) if changed else (),
            unchanged=() if changed else (name,),
            seconds=dict(work.seconds),
        )

    # --- how --------------------------------------------------------------------------------

    def _find(self, paths: Sequence[str | Path], choice: IngestOptions) -> DiscoveredSources:
        return find_sources(
            paths,
            not_in=[self._library.path],
            include=choice.include,
            exclude=choice.exclude,
        )

    def _feed(
        self,
        named: ClassifiedSources,
        found: DiscoveredSources,
        choice: IngestOptions,
        progress: Progress,
    ) -> Feed:
        from .ingest.readers.database import DatabaseOptions

        options = DatabaseOptions(
            tables=tuple(choice.tables),
            template=self._settings.row_template,
            max_rows=self._settings.max_rows,
        )

        def feed(intake: ChangeDetector) -> Iterator[SourceText]:
            count = len(found.sources)
            yield from intake.files(
                found.sources, progress=lambda done: progress("read", done, count)
            )
            progress("read", count, count)
            yield from intake.addresses(named.addresses)
            yield from intake.databases(named.databases, options=options)
            yield from intake.documents(named.documents)

        return feed

    def _put(
        self,
        feed: Feed,
        *,
        choice: IngestOptions,
        found: DiscoveredSources,
        progress: Progress,
        follows: bool = False,
    ) -> IngestReport:
        """Store what a feed gives; what `follows` its folders loses what is gone from them."""
        work = RunStats()
        self._budget.start_run()
        with self._library.writer(), self._pool() as pool, track_usage() as spent:
            if self._embedding is not None:
                check_same_model(self._embedding, held_now=self._library.vector_models())
            rows, seen = self._rows(), FileStateCache(self._library.path)
            absent = find_deleted(rows, found, namespace=choice.namespace) if follows else set()
            scope = inside(rows, found, namespace=choice.namespace)
            early = absent | emptied(rows, found, namespace=choice.namespace)
            check_removals(early, scope, agreed=choice.remove_many)
            held = self._held(rows)
            intake = self._intake(held, seen, choice, pool)
            done = set(self._indexer.put(feed(intake), work=work, progress=progress))
            left = leaving(
                rows,
                found,
                namespace=choice.namespace,
                strict=choice.strict,
                missing=intake.gone | absent,
                outdated=intake.outdated,
            )
            check_removals(
                left.missing,
                scope | _touched(intake, done & held.keys()),
                agreed=choice.remove_many,
            )
            for name in sorted(left.missing):
                self._indexer.remove(name)
            if intake.restamped:
                self._library.update_fingerprints(intake.restamped)
            self._note_outdated(rows, left.outdated, readable=intake.unchanged)
            self._indexer.enrich(work=work, progress=progress)
            self._indexer.derive(work=work, progress=progress)
            self._indexer.second_look(work=work, progress=progress)
            self._indexer.write_reports(work=work, progress=progress)
            seen.save(sources=self._sources())
        if done or left.missing:
            self._changed()
        return IngestReport(
            added=tuple(sorted(done - held.keys())),
            changed=tuple(sorted(done & held.keys())),
            unchanged=tuple(sorted(intake.unchanged)),
            removed=tuple(sorted(left.missing)),
            failed=_failed(found, intake, work.failed),
            outdated=left.reports(),
            partial=tuple(partial_documents(self._library, done.union(intake.unchanged))),
            passed_over=tuple(found.passed_over),
            notes=(
                *self._warnings,
                *found.notes,
                *intake.notes,
                *self._embedding_notes(bool(done)),
                *work.notes,
            ),
            pending=self._pending_in(choice.namespace, work.pending),
            postponed={what: count for what, count in sorted(work.postponed.items()) if count},
            chunks=work.chunks,
            embedded=work.embedded,
            extracted=work.extracted,
            usage=spent.total,
            seconds={stage: round(value, 3) for stage, value in sorted(work.seconds.items())},
        )

    def _pending_in(
        self, namespace: str, pending: Sequence[PendingChunk]
    ) -> tuple[PendingChunk, ...]:
        """Return the pending chunks of a namespace; `engine.pending()` lists all."""
        inside = {row.id for row in self._rows() if row.namespace == namespace}
        return tuple(each for each in pending if each.document_id in inside)

    def _embedding_notes(self, is_stored: bool) -> tuple[str, ...]:
        """Return the embedding model's notes, where anything was embedded."""
        return self._embedding.notes if self._embedding is not None and is_stored else ()

    def _note_outdated(
        self, rows: Iterable[DocumentRow], outdated: Mapping[str, str], *, readable: Iterable[str]
    ) -> None:
        """Write down which documents are outdated, and which are so no more."""
        before = {row.id: row.outdated for row in rows}
        wanted: dict[str, str | None] = {**dict.fromkeys(readable), **outdated}
        changes = {name: reason for name, reason in wanted.items() if before.get(name) != reason}
        if changes:
            self._library.mark_outdated(changes)

    def _plan(
        self, found: DiscoveredSources, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Plan a `sync` of files.

        Those that are new or changed are read, none is stored.
        """
        rows, seen = self._rows(), FileStateCache(self._library.path)
        absent = find_deleted(rows, found, namespace=choice.namespace)
        held, count = self._held(rows), len(found.sources)
        with self._pool() as pool:
            intake = self._intake(held, seen, choice, pool)
            read = intake.files(found.sources, progress=lambda done: progress("read", done, count))
            done = {document.id for document in read}
        left = leaving(
            rows,
            found,
            namespace=choice.namespace,
            strict=choice.strict,
            missing=intake.gone | absent,
            outdated=intake.outdated,
        )
        scope = inside(rows, found, namespace=choice.namespace)
        many = too_many(left.missing, scope | _touched(intake, done & held.keys()))
        stops = () if choice.remove_many or not many else (f"it would stop: {many}",)
        return IngestReport(
            added=tuple(sorted(done - held.keys())),
            changed=tuple(sorted(done & held.keys())),
            unchanged=tuple(sorted(intake.unchanged)),
            removed=tuple(sorted(left.missing)),
            failed=_failed(found, intake),
            outdated=left.reports(),
            passed_over=tuple(found.passed_over),
            notes=(
                *found.notes,
                *protected_documents(rows, found, namespace=choice.namespace),
                *stops,
            ),
        )

    def _pool(self) -> ReaderPool:
        settings = self._settings
        return ReaderPool(
            options=ReadOptions(
                max_characters=settings.max_document_characters,
                max_members=settings.max_members,
                max_unpacked_bytes=settings.max_unpacked_bytes,
                ocr=settings.ocr,
                transcription_model=settings.transcription_model,
            ),
            max_bytes=settings.max_file_bytes,
            workers=settings.read_workers,
            timeout_seconds=settings.read_timeout_seconds,
            memory_bytes=settings.read_memory_bytes,
        )

    def _intake(
        self,
        held: Mapping[str, StoredDocument],
        seen: FileStateCache,
        choice: IngestOptions,
        pool: ReaderPool,
    ) -> ChangeDetector:
        return ChangeDetector(
            settings=self._settings,
            held=held,
            recipe=self._indexer.recipe,
            wish=IngestTarget(namespace=choice.namespace, given=choice.metadata),
            hints=seen,
            look=stat_signature,
            pool=pool,
        )

    def _held(self, rows: Iterable[DocumentRow]) -> dict[str, StoredDocument]:
        """Map document ids to the fields that detect changes."""
        to_retry = partial_by_other_version(self._library)
        return {
            row.id: StoredDocument(
                sha256=row.sha256,
                recipe="" if row.id in to_retry else row.recipe,
                title=row.title,
                source=row.source,
                source_sha256=row.source_sha256,
                given=row.given,
            )
            for row in rows
        }

    def _rows(self) -> list[DocumentRow]:
        return list(self._library.documents().values())

    def _sources(self) -> set[str]:
        return {row.source for row in self._rows()}

    def _forget(self, removed: set[str]) -> None:
        if removed:
            FileStateCache(self._library.path).save(sources=self._sources())


def _touched(intake: ChangeDetector, changed: Iterable[str]) -> set[str]:
    """Return the stored documents that a run examined."""
    return {*intake.unchanged, *changed, *intake.outdated}


_NOTHING_FOUND = DiscoveredSources([], [], [], [], [])


def _not_held(name: str) -> SourceFailure:
    reason = "is not in the library: `loregraph stats --documents` lists the ids"
    return SourceFailure(source=name, reason=reason)


def _failed(
    found: DiscoveredSources, intake: ChangeDetector, stored: Iterable[SourceFailure] = ()
) -> tuple[SourceFailure, ...]:
    """Return the sources that gave no document or could not be stored, each once."""
    return tuple(sorted({*found.failures, *intake.failures, *stored}, key=_by_source))


def _by_source(failure: SourceFailure) -> tuple[str, str]:
    return failure.source, failure.reason
