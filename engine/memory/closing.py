"""Closing of sessions: messages become a document, a summary and facts, in one transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from ..config import MemorySettings
from . import transcript
from .compression import Compress, Compressed
from .facts import find_facts, settled
from .long_term import LongTermMemory
from .records import SessionSummary
from .store import OpenTurns, SessionStore
from .topics import TopicBuckets, summarise

_log = logging.getLogger("loregraph")
_LONGEST_PAUSE_SECONDS = 60.0


class SessionCloser:
    """Closes sessions of one library's memory.

    Args:
        settings: limits.
        store: open sessions, summaries, facts.
        long_term: conversation documents.
        topics: topic buckets.
        compress: a model's summary, topics and facts; None leaves them to rules.
        stamp: the time, plus so many seconds, as ISO 8601.
        lock: held while a session is closed.
    """

    def __init__(
        self,
        settings: MemorySettings,
        *,
        store: SessionStore,
        long_term: LongTermMemory,
        topics: TopicBuckets,
        compress: Compress | None,
        stamp: Callable[[float], str],
        lock: AbstractContextManager[object],
    ) -> None:
        self._settings = settings
        self._store = store
        self._long_term = long_term
        self._topics = topics
        self._compress = compress
        self._stamp = stamp
        self._lock = lock

    def close_idle(self, user: str, opened: Mapping[str, OpenTurns]) -> int:
        """Close the sessions without a message for the idle time; return how many."""
        idle = {session: held for session, held in opened.items() if self._is_idle(held)}
        self.close(user, idle)
        return len(idle)

    def close_full(self, user: str, session: str, opened: Mapping[str, OpenTurns]) -> None:
        """Close what exceeds the message limit, and idle sessions, while a question waits.

        No model is asked.
        """
        most = self._settings.messages
        ending: dict[str, OpenTurns] = {}
        for name, held in opened.items():
            is_full = len(held) >= most and held[max(held)].role == "assistant"
            is_idle = name != session and self._is_idle(held)
            if is_full or is_idle or len(held) >= 2 * most:
                ending[name] = held
        self.close(user, ending, asks=False)

    def close(self, user: str, opened: Mapping[str, OpenTurns], *, asks: bool = True) -> None:
        """Store documents, then replace the messages by their summaries and facts.

        Killed in between, the messages are still open; the same documents are made again.
        """
        if not opened:
            return
        parts = {
            transcript.document_id(user, session, next(iter(part.values()))): part
            for session, held in opened.items()
            for part in split_session(held, most=self._settings.messages)
        }
        texts = {name: transcript.render([*part.values()]) for name, part in parts.items()}
        read: dict[str, Compressed] = {}
        if self._compress is not None and asks:
            told = {name: self._compress(name, text) for name, text in texts.items()}
            read = {name: found for name, found in told.items() if found is not None}
        with self._lock:
            self.put(user, texts)
            known = [fact for fact in self._store.facts(user) if fact.document_id not in parts]
            for name, text in texts.items():
                ruled = find_facts(name, text)
                known += [*ruled, *(read[name].besides(ruled) if name in read else ())]
            self._store.finish(
                user,
                [number for part in parts.values() for number in part],
                [self._summary(name, parts[name], texts[name], read.get(name)) for name in parts],
                settled(known),
            )

    def put(self, user: str, texts: Mapping[str, str]) -> None:
        """Store conversation documents with session, date and topics."""
        documents = {
            name: (
                text,
                {
                    "session": transcript.session_of(name),
                    "date": transcript.date_of(name),
                    "topics": list(self._topics.of(text)),
                },
            )
            for name, text in texts.items()
        }
        if documents:
            self._long_term.put(user, documents)

    def _summary(
        self, name: str, part: OpenTurns, text: str, read: Compressed | None
    ) -> SessionSummary:
        said = [message.text for message in part.values() if message.role == "user"]
        return SessionSummary(
            session=transcript.session_of(name),
            document_id=name,
            summary=read.summary if read is not None else summarise(said),
            topics=(read.topics if read is not None else ()) or self._topics.of(text),
            created_at=self._stamp(0.0),
        )

    def _is_idle(self, held: OpenTurns) -> bool:
        return held[max(held)].at < self._stamp(-self._settings.idle_seconds)


def split_session(opened: OpenTurns, *, most: int) -> list[OpenTurns]:
    """Cut the messages of a session into documents of about `most`, each begun by the user."""
    parts: list[OpenTurns] = []
    for number, message in sorted(opened.items()):
        is_full = bool(parts) and len(parts[-1]) >= most and message.role == "user"
        is_dated = bool(parts) and next(iter(parts[-1].values())).at[:10] != message.at[:10]
        if not parts or is_full or is_dated or len(parts[-1]) >= 2 * most:
            parts.append({})
        parts[-1][number] = message
    return parts


class IdleWatch:
    """Background thread that closes idle sessions of all users.

    Args:
        close_idle: closes them.
        seconds: the idle time; it looks four times as often, at least once a minute.
        errors: what may fail, to be tried again.
    """

    def __init__(
        self,
        close_idle: Callable[[], int],
        *,
        seconds: float,
        errors: tuple[type[Exception], ...],
    ) -> None:
        self._close_idle = close_idle
        self._pause = min(_LONGEST_PAUSE_SECONDS, seconds / 4)
        self._errors = errors
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin; a second call does nothing."""
        with self._lock:
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._run, name="memory-idle", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End, after the session that is being closed."""
        self._ended.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            try:
                self._close_idle()
            except self._errors as error:
                _log.warning("memory: idle sessions not closed: %s", " ".join(str(error).split()))
            if self._ended.wait(self._pause):
                return
