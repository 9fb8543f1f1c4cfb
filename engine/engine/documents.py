"""Methods of `KnowledgeEngine` that change documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import checks_types
from ..config import Settings
from ..embeddings.choice import EmbeddingChoice
from ..enrichment.unanswered import forget_unanswered
from ..events import Progress, no_progress
from ..llm_components import asks_a_model
from ..namespaces import NamespaceReadings, Reading
from ..pipeline import IngestOptions, IngestPipeline, as_list
from ..providers.llm_clients import (
    Models,
)
from ..storage.documents import pending_chunks
from ..storage.library import Library
from ..types import (
    Estimate,
    IngestReport,
    MetaValue,
    PartialDocument,
    PendingChunk,
    qualified_id,
)

if TYPE_CHECKING:
    from llama_index.core.schema import Document


class DocumentMethods:
    """Adding, comparing, removing and describing documents; a part of `KnowledgeEngine`."""

    _whole: Reading
    _readings: NamespaceReadings
    _library: Library
    _models: Models
    _settings: Settings
    _embedding: EmbeddingChoice

    @cached_property
    def _pipeline(self) -> IngestPipeline:
        models, settings = self._models, self._settings
        return IngestPipeline(
            self._library,
            self._whole.parts.indexer,
            settings.ingest,
            budget=models.budget,
            embedding=self._embedding,
            on_change=self._forget_answers,
            warnings=models.void_caps() if asks_a_model(settings) else (),
        )

    def _forget_answers(self) -> None:
        """Clear cached answers, which rest on what the library held before."""
        if self._whole.cache is not None:
            self._whole.cache.clear()
        self._readings.refresh()

    def add(
        self,
        sources: str | Path | Document | Sequence[str | Path | Document],
        *,
        metadata: Mapping[str, MetaValue] | None = None,
        namespace: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tables: Sequence[str] = (),
        strict: bool = False,
        remove_many: bool = False,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add files, folders, web addresses, databases and LlamaIndex documents.

        What is there unchanged costs nothing; a document that changed replaces itself. One source
        that fails stops no other: it is a row of the report. A file that was emptied takes its
        document with it; one that can no longer be read keeps the text of its last readable state,
        and its document is `outdated` until it can.

        Args:
            sources: paths; `http(s)://` addresses; SQLAlchemy URLs, of which the schema and each
                row become documents; LlamaIndex documents.
            metadata: what you say of these documents, for filters: `tags`, a `date` (ISO 8601),
                anything. None leaves what a document has, anything else replaces it.
            namespace: keeps documents apart: their ids begin with it, and a question can be
                confined to it.
            include: patterns as in `.gitignore`; of what lies in a folder only what one of them
                matches is taken.
            exclude: of what lies in a folder, what one of these matches is passed over.
            tables: patterns of table names; of a database only these are read, and what is held of
                others stays.
            strict: remove documents whose file can no longer be read.
            remove_many: agree to remove more than a fifth of the documents, and more than 20.
            progress: called as work goes on, with a stage, steps done and steps in all.

        Raises:
            LibraryBusy: another process went on writing for too long.
            LibraryUnusable: the disk is full; what was committed is kept.
            SourceError: a namespace or metadata that cannot be.
            TooManyRemovals: so much would go; nothing was removed.
        """
        choice = IngestOptions(
            include=include,
            exclude=exclude,
            tables=tables,
            namespace=namespace,
            metadata=metadata,
            strict=strict,
            remove_many=remove_many,
        )
        return self._pipeline.add(as_list(sources), choice=choice, progress=progress or no_progress)

    @checks_types
    def add_text(
        self,
        text: str,
        *,
        document_id: str,
        title: str = "",
        metadata: Mapping[str, MetaValue] | None = None,
        namespace: str = "",
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add one text under an id of yours; the same id later replaces it."""
        return self._pipeline.add_text(
            text,
            document_id=document_id,
            title=title,
            choice=IngestOptions(namespace=namespace, metadata=metadata),
            progress=progress or no_progress,
        )

    def add_files(
        self,
        files: Mapping[str, str | Path],
        *,
        metadata: Mapping[str, MetaValue] | None = None,
        namespace: str = "",
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add files under ids of yours, wherever they lie; the same id later replaces it.

        For what only passes through a folder, such as an upload: the place is not remembered.
        """
        return self._pipeline.add_files(
            {document_id: Path(path) for document_id, path in files.items()},
            choice=IngestOptions(namespace=namespace, metadata=metadata),
            progress=progress or no_progress,
        )

    def estimate(
        self,
        sources: str | Path | Document | Sequence[str | Path | Document],
        *,
        namespace: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Estimate:
        """Estimate the LLM calls and cost of an `add`; makes no call.

        Documents are read and cut, not stored. Prices are those of `budget.prices`.
        """
        return self._pipeline.estimate(
            as_list(sources),
            choice=IngestOptions(
                include=include, exclude=exclude, tables=tables, namespace=namespace
            ),
            forecast=self._whole.parts.forecasts.of,
            progress=progress or no_progress,
        )

    def sync(
        self,
        sources: str | Path | Sequence[str | Path],
        *,
        metadata: Mapping[str, MetaValue] | None = None,
        namespace: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tables: Sequence[str] = (),
        dry_run: bool = False,
        strict: bool = False,
        remove_many: bool = False,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Add like `add`, and remove documents whose file is missing from these folders.

        Also those that the patterns now leave out. A folder in which nothing readable is left is
        a failure, and nothing of it is removed: its disk may be away. A run that would remove more
        than a fifth of the documents that it is about, and more than 20, stops before it does,
        unless `remove_many` agrees. With `strict` documents go whose file can no longer be read.
        With `dry_run` nothing is stored: the report says what would be done to files.

        Raises:
            TooManyRemovals: so much would go; nothing was removed.
        """
        return self._pipeline.sync(
            as_list(sources),
            choice=IngestOptions(
                include=include,
                exclude=exclude,
                tables=tables,
                namespace=namespace,
                metadata=metadata,
                strict=strict,
                remove_many=remove_many,
            ),
            dry_run=dry_run,
            progress=progress or no_progress,
        )

    def reembed(self, *, progress: Progress | None = None) -> IngestReport:
        """Bring the vectors of all documents up to the present embedding models.

        Only chunks without such vectors are embedded; texts are neither cut nor read anew. Vectors
        of other models are removed at the end. A run that is stopped is carried on by the next.

        Raises:
            EmbeddingUnavailable: a model cannot embed; what was embedded before it failed is kept.
        """
        return self._pipeline.reembed(progress=progress or no_progress)

    @checks_types
    def remove(
        self,
        document_ids: str | Sequence[str],
        *,
        namespace: str = "",
        progress: Progress | None = None,
    ) -> IngestReport:
        """Remove documents by id, with all that only they said.

        The id of an archive, a message, an address or a database removes all that came of it.
        """
        wanted = [document_ids] if isinstance(document_ids, str) else list(document_ids)
        return self._pipeline.remove(
            [qualified_id(namespace, name) for name in wanted], progress=progress or no_progress
        )

    @checks_types
    def describe(
        self,
        document_id: str,
        metadata: Mapping[str, MetaValue],
        *,
        namespace: str = "",
        progress: Progress | None = None,
    ) -> IngestReport:
        """Replace the user metadata of a document.

        What the document says of itself stays, under what you say. Nothing is read again.

        Raises:
            SourceError: a namespace or metadata that cannot be.
        """
        return self._pipeline.describe(
            qualified_id(namespace, document_id),
            IngestOptions(namespace=namespace, metadata=metadata),
            progress=progress or no_progress,
        )

    def pending(self) -> list[PendingChunk]:
        """Return chunks that a language model has not read, with reasons.

        The next `add` tries those again that are not unreadable by this model.
        """
        return pending_chunks(self._library)

    def partial(self) -> list[PartialDocument]:
        """Return the partial documents, sorted by id.

        And what they lack and why.
        """
        from ..storage.preparation import partial_documents

        return partial_documents(self._library)

    def retry_unanswered(self) -> None:
        """Let the next `add` ask again about everything that a model could not answer."""
        with self._library.writer():
            forget_unanswered(self._library)
