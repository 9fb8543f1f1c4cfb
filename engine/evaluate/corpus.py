"""A library over an evaluation's corpus: made once, and taken again while nothing changed."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..errors import SourceError
from ..facade import KnowledgeEngine
from ..settings import Settings
from ..types import IngestReport
from .queries import read_corpus

FOLDER = "loregraph-eval"
INDEXING = ("ingest", "chunk", "embedding", "graph")
"""Sections of the settings that decide what stands in a library."""


def library_for(corpus: Path, settings: Settings) -> Path:
    """The temporary folder whose library holds this corpus, indexed by these settings.

    A file is known by its content, a folder by its place: what changes in it is added.

    Raises:
        SourceError: there is no such file or folder.
    """
    if not corpus.exists():
        raise SourceError(f"no corpus at {str(corpus)!r}: name a .jsonl file or a folder")
    digest = hashlib.sha256(index_stamp(settings).encode())
    if corpus.is_dir():
        digest.update(str(corpus.resolve()).encode("utf8", "surrogatepass"))
    else:
        digest.update(corpus.read_bytes())
    return Path(tempfile.gettempdir()) / FOLDER / f"{corpus.stem}-{digest.hexdigest()[:16]}"


def index_stamp(settings: Settings) -> str:
    """Two settings with one stamp make the same library."""
    return settings.model_dump_json(include=set(INDEXING))


def add_corpus(
    engine: KnowledgeEngine, corpus: Path, *, progress: Callable[[str, int, int], None]
) -> IngestReport:
    """Add what the library lacks of a corpus: the rows of a `.jsonl` file, or a folder's files.

    Raises:
        SourceError: a file that is none, or rows that cannot be added.
    """
    if corpus.is_dir():
        report = engine.sync(corpus, progress=progress)
    elif corpus.suffix.lower() in (".jsonl", ".ndjson"):
        from llama_index.core.schema import Document

        given = [
            Document(id_=row.id, text=row.text, metadata={"title": row.title} if row.title else {})
            for row in read_corpus(corpus)
        ]
        report = engine.add(given, progress=progress)
    else:
        raise SourceError(f"{str(corpus)!r} is no corpus: name a .jsonl file or a folder")
    if report.failed and not (report.added or report.changed or report.unchanged):
        first = report.failed[0]
        raise SourceError(f"nothing of {str(corpus)!r} was added: {first.source}: {first.reason}")
    return report
