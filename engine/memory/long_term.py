"""Long-term memory: what each user said, as documents of a library of its own for each user.

`memory/<user>` is no namespace of the documents' library but a library below it, written by the
same ingestion and read by the same retrieval: no question, list, export or token of the documents'
library reaches it, its words weigh nothing there, and forgetting a user deletes a folder.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import SourceError
from ..retrieval.retriever import Rescore
from ..types import Answer, IngestReport, Passage
from .transcript import date_of

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from ..storage.library import DocumentRow

_MAX_OPEN = 8
"""Libraries held open; the one used longest ago is closed first."""
_DATABASE = "library.db"


class ConversationLibrary(Protocol):
    """Library of one user's conversations; `KnowledgeEngine` is one."""

    def add(self, sources: Sequence[Document]) -> IngestReport:
        """Add conversation documents; the same id later replaces one."""

    def remove(self, document_ids: Sequence[str]) -> IngestReport:
        """Remove documents by id."""

    def rank(
        self, question: str, *, top_k: int, filters: Sequence[str], rescore: Rescore
    ) -> list[Passage]:
        """Return the passages nearest to a question, best first, by changed scores."""

    def ask(self, question: str, *, mode: str = "auto") -> Answer:
        """Answer from the conversations alone, or abstain."""

    def documents(self) -> list[DocumentRow]:
        """Return every document without its text, sorted by id."""

    def document_text(self, document_id: str) -> str:
        """Return the text of a document."""

    def close(self) -> None:
        """Close the library."""


class LongTermMemory:
    """Conversation libraries of all users. Safe to share by threads.

    Args:
        folder: where the users' libraries lie.
        open_library: opens the library in a folder, making it where there is none.
    """

    def __init__(self, folder: Path, open_library: Callable[[Path], ConversationLibrary]) -> None:
        self._folder = folder
        self._open_library = open_library
        self._lock = threading.Lock()
        self._open: OrderedDict[str, ConversationLibrary] = OrderedDict()
        self._used: dict[str, int] = {}

    def put(self, user: str, documents: Mapping[str, tuple[str, Mapping[str, object]]]) -> None:
        """Add conversation documents: text and metadata (`session`, `date`, `topics`) by id."""
        from llama_index.core import Document

        made = [
            Document(id_=name, text=text, metadata={**values, "title": _spoken_date(name)})
            for name, (text, values) in documents.items()
        ]
        with self._library(user) as library:
            report = library.add(made)
        if report.failed:
            raise SourceError(f"not stored: {report.failed[0].reason}")

    def search(
        self, user: str, question: str, *, top_k: int, filters: Sequence[str], rescore: Rescore
    ) -> list[Passage]:
        """Return the passages of a user nearest to a question, best first."""
        if not self._exists(user):
            return []
        with self._library(user) as library:
            return library.rank(question, top_k=top_k, filters=filters, rescore=rescore)

    def ask(self, user: str, question: str) -> Answer | None:
        """Answer a question from what a user said; None where nothing was."""
        if not self._exists(user):
            return None
        with self._library(user) as library:
            return library.ask(question, mode="local")

    def texts(self, user: str, session: str | None = None) -> dict[str, str]:
        """Return the conversation documents of a user or a session, by id."""
        if not self._exists(user):
            return {}
        with self._library(user) as library:
            names = [row.id for row in library.documents()]
            wanted = [name for name in names if session in (None, name.split("/")[2])]
            return {name: library.document_text(name) for name in wanted}

    def text(self, user: str, document_id: str) -> str:
        """Return the text of one conversation document."""
        with self._library(user) as library:
            return library.document_text(document_id)

    def remove(self, user: str, document_ids: Sequence[str]) -> None:
        """Remove documents; `erase` removes them from the files, too."""
        if document_ids and self._exists(user):
            with self._library(user) as library:
                library.remove(list(document_ids))

    def erase(self, user: str) -> None:
        """Remove what was deleted from a user's files: the WAL, free pages, derived files."""
        place = self._place(user)
        if not self._exists(user):
            return
        self._close(user)
        with closing(sqlite3.connect(place / _DATABASE, timeout=5)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("DELETE FROM replies")
            connection.commit()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.rmtree(place / "derived", ignore_errors=True)
        (place / "derived").mkdir(exist_ok=True)

    def forget(self, user: str) -> None:
        """Delete everything of a user."""
        self._close(user)
        if self._exists(user):
            shutil.rmtree(self._place(user))

    def close(self) -> None:
        """Close all libraries."""
        with self._lock:
            held, self._open = list(self._open.values()), OrderedDict()
        for library in held:
            library.close()

    def _exists(self, user: str) -> bool:
        return (self._place(user) / _DATABASE).exists()

    def _place(self, user: str) -> Path:
        # A name on a disk that does not tell "Ann" from "ann" would join two users.
        return self._folder / hashlib.sha256(user.encode()).hexdigest()[:32]

    @contextmanager
    def _library(self, user: str) -> Iterator[ConversationLibrary]:
        with self._lock:
            library = self._open.pop(user, None)
            if library is None:
                library = self._open_library(self._place(user))
            self._open[user] = library
            self._used[user] = self._used.get(user, 0) + 1
            idle = [name for name in self._open if not self._used.get(name)]
            for name in idle[: max(0, len(self._open) - _MAX_OPEN)]:
                self._open.pop(name).close()
        try:
            yield library
        finally:
            with self._lock:
                self._used[user] -= 1

    def _close(self, user: str) -> None:
        with self._lock:
            library = self._open.pop(user, None)
        if library is not None:
            library.close()


def _spoken_date(document_id: str) -> str:
    """Return the date of a conversation as people say it; it is indexed with every exchange."""
    day = date.fromisoformat(date_of(document_id))
    return f"{day.day} {day:%B %Y}"
