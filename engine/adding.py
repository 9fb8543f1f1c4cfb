"""The adding side of an engine: documents in and out, and what that would cost.

How documents are read, stored and indexed is `documents`' business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .choice import IngestOptions, as_list
from .documents import IngestPipeline
from .estimate import CostEstimator
from .namespaces import qualified_id
from .progress import Progress, no_progress
from .types import Estimate, IngestReport, MetaValue

if TYPE_CHECKING:
    from llama_index.core.schema import Document


class Adding:
    """Ingestion methods: add, describe, synchronise and remove documents.

    Args:
        documents: who writes.
        forecasts: what adding would cost.
    """

    def __init__(self, documents: IngestPipeline, *, forecasts: CostEstimator) -> None:
        self._documents = documents
        self._forecasts = forecasts

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
        return self._documents.add(
            as_list(sources), choice=choice, progress=progress or no_progress
        )

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
        return self._documents.add_text(
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
        return self._documents.add_files(
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
        return self._documents.estimate(
            as_list(sources),
            choice=IngestOptions(
                include=include, exclude=exclude, tables=tables, namespace=namespace
            ),
            forecast=self._forecasts.of,
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
        """As `add`, and documents whose file is gone from these folders are removed.

        Also those that the patterns now leave out. A folder in which nothing readable is left is
        a failure, and nothing of it is removed: its disk may be away. A run that would remove more
        than a fifth of the documents that it is about, and more than 20, stops before it does,
        unless `remove_many` agrees. With `strict` documents go whose file can no longer be read.
        With `dry_run` nothing is stored: the report says what would be done to files.

        Raises:
            TooManyRemovals: so much would go; nothing was removed.
        """
        return self._documents.sync(
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
        return self._documents.remove(
            [qualified_id(namespace, name) for name in wanted], progress=progress or no_progress
        )

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
        return self._documents.describe(
            qualified_id(namespace, document_id),
            IngestOptions(namespace=namespace, metadata=metadata),
            progress=progress or no_progress,
        )
