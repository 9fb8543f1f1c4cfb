"""Ingestion pipeline of one library: from sources to a graph with communities and reports.

`IngestPipeline` has one method for each verb of the owner: `add`, `add_text`, `add_files`, `sync`,
`estimate`, `remove`, `describe`. Those that store documents run these steps, in this order:

    read           sources into texts, unchanged ones skipped     ingest.change_detection
    chunk          texts into nodes with exact spans              chunking
    embed          chunks into vectors                            storage.vectors, embeddings
    extract        names and relations by rules                   graph.extraction
    commit         text, vectors, keywords, facts, one batch of   storage.library
                   documents a transaction
    remove         documents whose source is gone                 storage.documents
    enrich         read chunks with a language model              enrichment.extraction
    derive         resolve entities, cluster communities, report  graph.pipeline
    refine         judge names, summarise with a language model   enrichment.entities
    write reports  with a language model                          enrichment.reports

The first five run batch by batch; `storage.indexer` has a method for each step but the first.
Without a language model enrich, refine and write reports do nothing: rules extract, and reports are
extractive. A source that fails is a failure in the report and stops no other; a document whose
source is missing is removed by `sync`, and by `add` where its archive or table was read and no
longer holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .config import IngestSettings
from .embeddings.choice import NO_EMBEDDING, EmbeddingChoice, check_same_model
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
    Leaving,
    check_removals,
    documents_inside,
    emptied_documents,
    find_deleted,
    plan_removals,
    protected_documents,
    resolve_ids,
    set_user_metadata,
    too_many,
)
from .storage.indexer import Indexer, IndexRun
from .storage.library import DocumentRow, Library
from .storage.preparation import partial_by_other_version, partial_documents
from .types import (
    Estimate,
    IngestReport,
    MetaValue,
    SourceFailure,
    SourceText,
    Usage,
    check_name,
    check_namespace,
    source_id,
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
                    f"metadata {key!r}: unsupported type {type(value).__name__}; give text, a "
                    "number, true or false, or a tuple of texts"
                )
            for text in (key, *(value if isinstance(value, tuple) else (value,))):
                if isinstance(text, str) and sanitise_text(text) != text:
                    raise SourceError(
                        f"metadata {key!r}: contains invalid characters: {text!r}; remove them"
                    )


def as_list(sources: T | Sequence[T]) -> list[T]:
    """One source or several as a list; a text is one.

    Raises:
        SourceError: one is neither a text, a path nor a document.
    """
    several = isinstance(sources, Sequence) and not isinstance(sources, str | bytes)
    listed: list[T] = list(sources) if several else [sources]  # type: ignore[list-item, arg-type]
    for each in listed:
        if not isinstance(each, str | Path) and not hasattr(each, "id_"):
            raise SourceError(
                f"source is not text: {type(each).__name__}; give a path, an address or a document"
            )
    return listed


SourceReader = Callable[[ChangeDetector], Iterable[SourceText]]
"""Reads what a run is about: new and changed texts, as they are asked for."""

NOTHING_NAMED = "names no source: give files, folders, web addresses or databases"
_NOTHING_FOUND = DiscoveredSources([], [], [], [], [])


@dataclass(slots=True, kw_only=True)
class _Ingestion:
    """State of one run.

    Attributes:
        choice: what the owner wants.
        found: files behind the paths that were named.
        rows: documents that the library held when the run began.
        detector: reads sources, and tells unchanged ones.
        file_states: what files looked like the last time.
        deleted: documents whose source file is missing.
        steps: progress and figures of the indexer.
        stored: documents that were committed.
        leaving: what goes and what stays outdated.
    """

    choice: IngestOptions
    found: DiscoveredSources
    rows: list[DocumentRow]
    detector: ChangeDetector
    file_states: FileStateCache
    deleted: set[str]
    steps: IndexRun
    stored: set[str] = field(default_factory=set)
    leaving: Leaving = field(default_factory=lambda: Leaving(missing=frozenset(), outdated={}))

    def decide_removals(self) -> set[str]:
        """Decide what leaves the library; return the documents that the run was about."""
        self.leaving = plan_removals(
            self.rows,
            self.found,
            namespace=self.choice.namespace,
            strict=self.choice.strict,
            missing=self.detector.gone | self.deleted,
            outdated=self.detector.outdated,
        )
        scope = documents_inside(self.rows, self.found, namespace=self.choice.namespace)
        changed = self.stored & self.detector.held.keys()
        return {*scope, *self.detector.unchanged, *changed, *self.detector.outdated}


class IngestPipeline:
    """Writes to one library.

    Args:
        library: where documents are.
        indexer: writes a document through every index, step by step.
        settings: limits on what is read.
        budget: what language models may cost; each call of a method here is a run.
        embedding: the library's embedding models, and what is to be said of them.
        on_change: called when documents came, changed or went.
        warnings: what is to be said of whatever may be paid for.
    """

    def __init__(
        self,
        library: Library,
        indexer: Indexer,
        settings: IngestSettings,
        *,
        budget: Budget,
        embedding: EmbeddingChoice = NO_EMBEDDING,
        on_change: Callable[[], None] = lambda: None,
        warnings: Sequence[str] = (),
    ) -> None:
        self._warnings = warnings
        self._on_change = on_change
        self._embedding = embedding
        self._budget = budget
        self._library = library
        self._indexer = indexer
        self._settings = settings

    # --- verbs ------------------------------------------------------------------------------

    def add(
        self, sources: Sequence[str | Path | Document], *, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Add files, folders, addresses, databases and LlamaIndex documents."""
        named = ClassifiedSources.of(sources)
        found = self._discover(named.paths, choice)
        if not sources:
            nothing = SourceFailure(source="nothing", reason=NOTHING_NAMED)
            found = found._replace(failures=[*found.failures, nothing])
        reader = self._reader(named, found, choice, progress)
        about = _names_of(named, found, choice)
        return self._ingest(reader, choice=choice, found=found, progress=progress, about=about)

    def add_text(
        self, text: str, *, document_id: str, title: str, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Add one text in hand."""

        def read(detector: ChangeDetector) -> Iterable[SourceText]:
            return detector.text(text, document_id=document_id, title=title)

        about = {source_id(choice.namespace, sanitise_text(document_id))}
        return self._ingest(
            read, choice=choice, found=_NOTHING_FOUND, progress=progress, about=about
        )

    def add_files(
        self, files: Mapping[str, Path], *, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Add files under ids of the caller's; where they lie is not kept."""
        for name in files:
            check_name(name)
        sources = [FileSource(id=name, path=path) for name, path in sorted(files.items())]

        def read(detector: ChangeDetector) -> Iterator[SourceText]:
            yield from _read_files(detector, sources, progress, passing=True)

        about = {source_id(choice.namespace, name) for name in files}
        return self._ingest(
            read, choice=choice, found=_NOTHING_FOUND, progress=progress, about=about
        )

    def sync(
        self,
        folders: Sequence[str | Path],
        *,
        choice: IngestOptions,
        dry_run: bool,
        progress: Progress,
    ) -> IngestReport:
        """Add sources, and remove documents whose file is gone from the folders."""
        named = ClassifiedSources.of(folders)
        found = self._discover(named.paths, choice)
        if dry_run:
            plan = self._plan(found, choice, progress)
            if named.addresses or named.databases:
                note = "web addresses and databases are left out: a dry run looks at files alone"
                plan = replace(plan, notes=(*plan.notes, note))
            return plan
        reader = self._reader(named, found, choice, progress)
        report = self._ingest(
            reader, choice=choice, found=found, progress=progress, removes_deleted=True
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
        found = self._discover(named.paths, choice)
        reader = self._reader(named, found, choice, progress)
        with self._pool() as pool:
            states = FileStateCache(self._library.path)
            detector = self._detector(self._rows(), states, choice, pool)
            estimate = forecast(reader(detector))
        notes = (*self._warnings, *estimate.notes)
        return replace(estimate, failed=_failures(found, detector), notes=notes)

    def remove(self, document_ids: Sequence[str], *, progress: Progress) -> IngestReport:
        """Remove documents by id or source name; an archive's name removes all its members."""
        run, removed = IndexRun(progress=progress), set[str]()
        failures: list[SourceFailure] = []
        with self._library.writer():
            found = {wanted: self._resolved(wanted) for wanted in sorted(set(document_ids))}
            sources = self._library.sources_of(name for names in found.values() for name in names)
            for wanted, names in found.items():
                if not names:
                    failures.append(_not_in_library(wanted))
                for name in names:
                    self._indexer.remove(name)
                    removed.add(name)
            if gone := sources - self._library.sources_among(sources):
                states = FileStateCache(self._library.path)
                states.save(gone=gone)
            self._indexer.derive(run)
            self._library.database.empty_log()
        self._on_change()
        return IngestReport(
            removed=tuple(sorted(removed)), failed=tuple(failures), seconds=dict(run.seconds)
        )

    def describe(self, name: str, choice: IngestOptions, *, progress: Progress) -> IngestReport:
        """Replace what the owner says of one document."""
        run = IndexRun(progress=progress)
        with self._library.writer():
            changed = set_user_metadata(self._library, name, choice.metadata or {})
            self._indexer.derive(run)
        if changed is None:
            return IngestReport(failed=(_not_in_library(name),))
        self._on_change()
        return IngestReport(
            changed=(name,) if changed else (),
            unchanged=() if changed else (name,),
            seconds=dict(run.seconds),
        )

    def reembed(self, *, progress: Progress) -> IngestReport:
        """Embed every stored chunk that has no vectors of the present models.

        Vectors of other models are removed at the end; a run that is stopped is carried on by the
        next.
        """
        self._budget.start_run()
        run = IndexRun(progress=progress)
        with self._library.writer(), track_usage() as usage:
            self._indexer.reembed(run)
        self._on_change()
        return IngestReport(
            embedded=run.embedded,
            notes=tuple(run.notes),
            usage=usage.total,
            seconds={stage: round(value, 3) for stage, value in sorted(run.seconds.items())},
        )

    # --- steps ------------------------------------------------------------------------------

    def _ingest(
        self,
        read: SourceReader,
        *,
        choice: IngestOptions,
        found: DiscoveredSources,
        progress: Progress,
        removes_deleted: bool = False,
        about: Collection[str] | None = None,
    ) -> IngestReport:
        """Run all steps of an ingestion and report what came of every source.

        `about` are the ids and sources that the run is about, where these are known: it then looks
        at no other documents.
        """
        self._budget.start_run()
        indexer = self._indexer
        with self._library.writer(), self._pool() as pool, track_usage() as usage:
            run = self._begin(choice, found, pool, progress, removes_deleted, about)
            batches = indexer.chunk(read(run.detector), run.steps)
            workers = self._settings.workers
            with closing(indexer.embed_and_extract(batches, run.steps, workers=workers)) as ready:
                for batch in ready:
                    run.stored |= indexer.commit(batch, run.steps)
                    del batch  # freed before the next sources are read
            self._remove_missing(run)
            indexer.embed_missing(run.steps, only=run.detector.unchanged)
            indexer.enrich(run.steps)
            indexer.derive(run.steps)
            indexer.refine(run.steps)
            indexer.write_reports(run.steps)
            states = run.file_states
            if about is None or states.is_read:
                seen = states.sources if about is None else states.sources.intersection(about)
                states.save(gone=seen - self._library.sources_among(seen))
            report = self._report(run, usage.total)
            if report.changed or report.removed:
                self._library.database.empty_log()
        if run.stored or run.leaving.missing:
            self._on_change()
        return report

    def _begin(
        self,
        choice: IngestOptions,
        found: DiscoveredSources,
        pool: ReaderPool,
        progress: Progress,
        removes_deleted: bool,
        about: Collection[str] | None,
    ) -> _Ingestion:
        """Look at what the library holds; refuse a run that would remove too much of it."""
        check_same_model(self._embedding, held_now=self._library.vector_models())
        run = self._run(choice, found, pool, progress, removes_deleted=removes_deleted, about=about)
        scope = documents_inside(run.rows, found, namespace=choice.namespace)
        early = run.deleted | emptied_documents(run.rows, found, namespace=choice.namespace)
        check_removals(early, scope, agreed=choice.remove_many)
        return run

    def _remove_missing(self, run: _Ingestion) -> None:
        """Remove documents whose source is gone; mark those that can no longer be read."""
        scope = run.decide_removals()
        check_removals(run.leaving.missing, scope, agreed=run.choice.remove_many)
        for name in sorted(run.leaving.missing):
            self._indexer.remove(name)
        if run.detector.restamped:
            self._library.update_fingerprints(run.detector.restamped)
        before = {row.id: row.outdated for row in run.rows}
        readable: dict[str, str | None] = dict.fromkeys(run.detector.unchanged)
        wanted = {**readable, **run.leaving.outdated}
        changes = {name: reason for name, reason in wanted.items() if before.get(name) != reason}
        if changes:
            self._library.mark_outdated(changes)

    def _plan(
        self, found: DiscoveredSources, choice: IngestOptions, progress: Progress
    ) -> IngestReport:
        """Report what `sync` would do to files: new and changed ones are read, none is stored."""
        with self._pool() as pool:
            run = self._run(choice, found, pool, progress, removes_deleted=True)
            run.stored = {
                document.id for document in _files_of(run.detector, found.sources, progress)
            }
        scope = run.decide_removals()
        many = too_many(run.leaving.missing, scope)
        stops = () if choice.remove_many or not many else (f"it would stop: {many}",)
        kept = protected_documents(run.rows, found, namespace=choice.namespace)
        return _report_changes(run, notes=(*found.notes, *kept, *stops))

    def _report(self, run: _Ingestion, usage: Usage) -> IngestReport:
        """Build the report of an ingestion."""
        steps, detector = run.steps, run.detector
        embedding = self._embedding.notes if run.stored else ()
        rows = self._rows() if steps.pending else ()
        present = {row.id for row in rows if row.namespace == run.choice.namespace}
        notes = (*self._warnings, *run.found.notes, *detector.notes, *embedding, *steps.notes)
        return replace(
            _report_changes(run, notes=notes),
            partial=tuple(partial_documents(self._library, run.stored.union(detector.unchanged))),
            pending=tuple(each for each in steps.pending if each.document_id in present),
            postponed={what: count for what, count in sorted(steps.postponed.items()) if count},
            chunks=steps.chunks,
            embedded=steps.embedded,
            extracted=steps.extracted,
            usage=usage,
            seconds={stage: round(value, 3) for stage, value in sorted(steps.seconds.items())},
        )

    # --- parts of the steps -----------------------------------------------------------------

    def _discover(self, paths: Sequence[str | Path], choice: IngestOptions) -> DiscoveredSources:
        """Find the files behind paths."""
        return find_sources(
            paths,
            not_in=[self._library.path],
            include=choice.include,
            exclude=choice.exclude,
        )

    def _reader(
        self,
        named: ClassifiedSources,
        found: DiscoveredSources,
        choice: IngestOptions,
        progress: Progress,
    ) -> SourceReader:
        """Return the reader of sources of every kind."""
        from .ingest.readers.database.reader import DatabaseOptions

        options = DatabaseOptions(
            tables=tuple(choice.tables),
            template=self._settings.row_template,
            max_rows=self._settings.max_rows,
        )

        def read(detector: ChangeDetector) -> Iterator[SourceText]:
            yield from _read_files(detector, found.sources, progress)
            yield from detector.addresses(named.addresses)
            yield from detector.databases(named.databases, options=options)
            yield from detector.documents(named.documents)

        return read

    def _run(
        self,
        choice: IngestOptions,
        found: DiscoveredSources,
        pool: ReaderPool,
        progress: Progress,
        *,
        removes_deleted: bool,
        about: Collection[str] | None = None,
    ) -> _Ingestion:
        """Return the state with which a run begins."""
        rows = list(self._library.documents(about).values())
        states = FileStateCache(self._library.path)
        deleted = find_deleted(rows, found, namespace=choice.namespace) if removes_deleted else ()
        return _Ingestion(
            choice=choice,
            found=found,
            rows=rows,
            detector=self._detector(rows, states, choice, pool),
            file_states=states,
            deleted=set(deleted),
            steps=IndexRun(progress=progress),
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

    def _detector(
        self,
        rows: Iterable[DocumentRow],
        states: FileStateCache,
        choice: IngestOptions,
        pool: ReaderPool,
    ) -> ChangeDetector:
        return ChangeDetector(
            settings=self._settings,
            held=self._stored_documents(rows),
            recipe=self._indexer.recipe,
            wish=IngestTarget(namespace=choice.namespace, given=choice.metadata),
            hints=states,
            look=stat_signature,
            pool=pool,
        )

    def _stored_documents(self, rows: Iterable[DocumentRow]) -> dict[str, StoredDocument]:
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

    def _resolved(self, wanted: str) -> list[str]:
        """Return the documents of an id, a source or a path."""
        is_stored = sanitise_text(wanted) == wanted  # else no id can be it
        named = self._library.documents({wanted}).values() if is_stored else ()
        return resolve_ids(wanted, named) or resolve_ids(wanted, self._rows())

    def _rows(self) -> list[DocumentRow]:
        return list(self._library.documents().values())


MOST_NAMED = 100
"""Sources named in one run whose documents are looked up one by one; for more all are listed."""


def _names_of(
    named: ClassifiedSources, found: DiscoveredSources, choice: IngestOptions
) -> set[str] | None:
    """Return the ids and sources that a run is about; None where not all are known beforehand."""
    if found.folders or named.addresses or named.databases:
        return None
    given = {each.id for each in found.sources} | {each.source for each in found.failures}
    given |= {sanitise_text(each.id_) for each in named.documents}
    names = {source_id(choice.namespace, name) for name in given}
    return names if len(names) <= MOST_NAMED else None


def _files_of(
    detector: ChangeDetector,
    sources: Sequence[FileSource],
    progress: Progress,
    *,
    passing: bool = False,
) -> Iterator[SourceText]:
    """Read new and changed files, telling how many of them are done."""

    def done(number: int) -> None:
        progress("read", number, len(sources))

    return detector.files(sources, progress=done, passing=passing)


def _read_files(
    detector: ChangeDetector,
    sources: Sequence[FileSource],
    progress: Progress,
    *,
    passing: bool = False,
) -> Iterator[SourceText]:
    """Read new and changed files, and tell when all are read."""
    yield from _files_of(detector, sources, progress, passing=passing)
    progress("read", len(sources), len(sources))


def _report_changes(run: _Ingestion, *, notes: tuple[str, ...]) -> IngestReport:
    """Report what came of every source: added, changed, unchanged, removed, failed."""
    held = run.detector.held.keys()
    return IngestReport(
        added=tuple(sorted(run.stored - held)),
        changed=tuple(sorted(run.stored & held)),
        unchanged=tuple(sorted(run.detector.unchanged)),
        removed=tuple(sorted(run.leaving.missing)),
        failed=_failures(run.found, run.detector, run.steps.failed),
        outdated=run.leaving.reports(),
        skipped=tuple(run.found.skipped),
        notes=notes,
    )


def _not_in_library(name: str) -> SourceFailure:
    reason = "is not in the library: `loregraph stats --documents` lists the ids"
    return SourceFailure(source=name, reason=reason)


def _failures(
    found: DiscoveredSources, detector: ChangeDetector, stored: Iterable[SourceFailure] = ()
) -> tuple[SourceFailure, ...]:
    """Return the sources that gave nothing, or could not be stored, each once."""
    return tuple(
        sorted(
            {*found.failures, *detector.failures, *stored},
            key=lambda failure: (failure.source, failure.reason),
        )
    )
