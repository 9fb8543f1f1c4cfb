"""Library of an evaluation corpus, cached while unchanged."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from ..errors import SourceError
from ..facade import KnowledgeEngine
from ..index.library import DocumentRow
from ..settings import Settings
from ..types import IngestReport
from .queries import read_corpus

FOLDER = "loregraph-eval"
LINES = (".jsonl", ".ndjson")
INDEXING = ("ingest", "chunk", "embedding", "graph")
"""Sections of the settings that decide what stands in a library."""


def check_corpus(corpus: Path) -> None:
    """Refuse what is no corpus before a library is made for it.

    Raises:
        SourceError: there is no such file or folder, a file that is none, or no rows in it.
    """
    if not corpus.exists():
        raise SourceError(f"no corpus at {str(corpus)!r}: name a .jsonl file or a folder")
    if corpus.is_dir():
        return
    if corpus.suffix.lower() not in LINES:
        raise SourceError(f"{str(corpus)!r} is no corpus: name a .jsonl file or a folder")
    read_corpus(corpus)


def library_for(corpus: Path, settings: Settings) -> Path:
    """Return the temporary folder of the library for this corpus and these settings.

    A file is known by its content, a folder by its place: what changes in it is added.

    Raises:
        SourceError: as `check_corpus`.
    """
    check_corpus(corpus)
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
    """Add missing documents of a corpus: rows of a `.jsonl` file, or a folder's files.

    Raises:
        SourceError: the library holds documents of another origin, or nothing could be added.
    """
    rows = () if corpus.is_dir() else read_corpus(corpus)
    _refuse_others(engine, corpus, {row.id for row in rows})
    if corpus.is_dir():
        report = engine.sync(corpus, progress=progress)
    else:
        from llama_index.core.schema import Document

        given = [
            Document(id_=row.id, text=row.text, metadata={"title": row.title} if row.title else {})
            for row in rows
        ]
        report = engine.add(given, progress=progress)
    if report.failed and not (report.added or report.changed or report.unchanged):
        first = report.failed[0]
        raise SourceError(f"nothing of {str(corpus)!r} was added: {first.source}: {first.reason}")
    return report


def _refuse_others(engine: KnowledgeEngine, corpus: Path, ids: Collection[str]) -> None:
    """Refuse a library with other documents; its figures would be meaningless."""
    home = corpus.resolve()

    def is_of_corpus(row: DocumentRow) -> bool:
        if row.path is None:
            return row.id in ids
        return corpus.is_dir() and Path(row.path).is_relative_to(home)

    others = [row.id for row in engine.documents() if not is_of_corpus(row)]
    if others:
        raise SourceError(
            f"the library holds {len(others)} documents that are not of {str(corpus)!r}, such as "
            f"{others[0]!r}: name another --library for this corpus, or search this one without "
            "--corpus"
        )
