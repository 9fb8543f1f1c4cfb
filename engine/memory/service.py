"""Layered memory of a library's users: remember, close, recall, answer from memory, forget.

    ask      working memory → turns before the question; long-term memory → passages
    answer   → working memory and open session
    close    open session → conversation document → summary and facts, in one transaction

A backend that does not answer in time costs the question its deadline once, and a warning.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

from ..config import MemorySettings
from ..errors import EngineError, QuestionError, UnknownName
from ..types import Answer, Passage, Turn
from . import transcript
from .closing import IdleWatch, SessionCloser
from .compression import Compress
from .deadline import Deadline, MemoryUnavailable
from .facts import find_facts, settled
from .long_term import LongTermMemory
from .recall import linked, open_passages, rescored, spoken, windows
from .records import (
    MAX_NAME_CHARACTERS,
    Conversation,
    Fact,
    Memory,
    MemoryDocument,
    MemoryOverview,
    Message,
    SessionSummary,
    check_memory_name,
)
from .replies import Source, answer_from_memory
from .store import OpenTurns, SessionStore
from .topics import GENERAL, TopicBuckets
from .working import WorkingMemory, trim

_log = logging.getLogger("loregraph")
_SHOWN_RELEVANCE = 0.05
"""Relevance from which a passage of memory stands beside an answer."""
_CANDIDATES = 60
"""Minimum passages looked at."""
_PREFERENCES = 10
_BOOST = 1.15
"""Factor of a passage on the question's topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Memory for one question: turns before it, preferences, and passages of what was said."""

    turns: tuple[Turn, ...] = ()
    passages: tuple[Passage, ...] = ()
    preferences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class MemoryService:
    """Memory of all users of a library. Safe to share by threads.

    Args:
        settings: windows, lifetimes and limits.
        working: the last messages of each session.
        store: open sessions, summaries, facts.
        long_term: conversation documents.
        topics: topic buckets.
        count: tokens of a text.
        compress: a model's summary, topics and facts of a conversation; None leaves it to rules.
        backend_errors: exceptions of an absent database.
        now: the time, with its zone.
    """

    def __init__(
        self,
        settings: MemorySettings,
        *,
        working: WorkingMemory,
        store: SessionStore,
        long_term: LongTermMemory,
        topics: TopicBuckets,
        count: Callable[[str], int],
        compress: Compress | None = None,
        backend_errors: tuple[type[Exception], ...] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._working = working
        self._store = store
        self._long_term = long_term
        self._topics = topics
        self._count = count
        self._now = now
        self._errors: tuple[type[Exception], ...] = (
            EngineError,
            OSError,
            *backend_errors,
            *working.errors,
        )
        wait = settings.wait_seconds
        self._in_working = Deadline(
            "working memory",
            seconds=None if settings.working == "process" else wait,
            errors=working.errors,
        )
        self._in_store = Deadline(
            "short-term memory",
            seconds=None if settings.short_term == "library" else wait,
            errors=backend_errors,
        )
        self._closing = threading.RLock()
        self._closer = SessionCloser(
            settings,
            store=store,
            long_term=long_term,
            topics=topics,
            compress=compress,
            stamp=self._stamp,
            lock=self._closing,
        )
        self._watch = IdleWatch(self.close_idle, seconds=settings.idle_seconds, errors=self._errors)

    # --- a question -----------------------------------------------------------------------------

    def recollect(self, memory: Memory, question: str) -> Recollection:
        """Return what memory holds for a question; waits for no server longer than its deadline."""
        warnings: list[str] = []
        messages: list[Message] = []
        try:
            messages = self._in_working.run(lambda: self._working.read(memory.user, memory.session))
        except MemoryUnavailable as error:
            warnings.append(str(error))
        opened: dict[str, OpenTurns] = {}
        preferences: list[str] = []
        try:
            opened = self._in_store.run(lambda: self._store.open_sessions(memory.user))
            preferences = self.preferences(memory.user)
        except MemoryUnavailable as error:
            warnings.append(str(error))
        own = opened.get(memory.session, {})
        passages: tuple[Passage, ...] = ()
        try:
            found = self._search(memory.user, question, opened)
            passages = tuple(each for each in found if each.relevance >= _SHOWN_RELEVANCE)
        except EngineError as error:
            warnings.append(f"long-term memory is not available: {error}")
        return Recollection(
            turns=self._turns(messages or list(own.values())),
            passages=passages,
            preferences=tuple(preferences),
            warnings=tuple(warnings),
        )

    def answer(self, memory: Memory, question: str, found: Recollection) -> Answer | None:
        """Answer from memory alone, citing what was said and when; None where it does not say."""
        user = memory.user
        try:
            opened = self._in_store.run(lambda: self._store.open_sessions(user))
            known = self._in_store.run(lambda: self._store.facts(user))
            texts = dict(_open_document(user, *each) for each in opened.items())
            said = [fact for each in texts.items() for fact in find_facts(*each)]
            source = Source(
                facts=settled([*known, *said]) if said else known,
                text_of=lambda name: (
                    texts[name] if name in texts else self._long_term.text(user, name)
                ),
                ask=lambda: self._long_term.ask(user, question),
            )
            return answer_from_memory(question, found.passages, source)
        except (EngineError, MemoryUnavailable):
            return None

    def record(self, memory: Memory, question: str, answer: Answer | None) -> tuple[str, ...]:
        """Store a question and its answer, if any; compress full sessions; return warnings."""
        at = self._stamp()
        said = transcript.storable_messages([("user", question)], at=at)
        reply = transcript.answer_message(answer, at=at) if answer is not None else None
        messages = [*said, *([reply] if reply is not None and said else [])]
        warnings: list[str] = []
        user, session = memory.user, memory.session
        try:
            self._in_store.run(lambda: self._store.append(user, session, messages))
            opened = self._in_store.run(lambda: self._store.open_sessions(user))
            self._closer.close_full(user, session, opened)
        except MemoryUnavailable as error:
            warnings.append(f"not remembered: {error}")
        except self._errors as error:
            warnings.append(f"session not compressed yet: {_line(error)}")
        try:
            self._in_working.run(lambda: self._working.append(user, session, messages))
        except MemoryUnavailable as error:
            warnings.append(str(error))
        for warning in warnings:
            _log.warning("memory: %s", warning)
        return tuple(warnings)

    # --- remember and close -----------------------------------------------------------------------

    def remember(
        self,
        user: str,
        said: Iterable[tuple[str, str]],
        *,
        session: str = "default",
        at: str | None = None,
    ) -> int:
        """Store messages of a conversation, `(role, text)` in order; return how many were stored.

        System prompts, tool output and recalled text are left out. `at` is when they were said,
        ISO 8601; now by default.
        """
        memory = Memory(user, session)
        messages = transcript.storable_messages(said, at=_utc(at) if at else self._stamp())
        self._store.append(user, session, messages)
        self._working.append(user, memory.session, messages)
        self._closer.close_full(user, session, self._store.open_sessions(user))
        return len(messages)

    def close_session(self, user: str, session: str = "default") -> None:
        """Compress a session: its messages become a document, a summary and facts."""
        Memory(user, session)
        opened = self._store.open_sessions(user)
        self._closer.close(user, {session: opened[session]} if session in opened else {})
        self._working.clear(user, session)

    def close_idle(self, user: str | None = None) -> int:
        """Compress the sessions without a message for the idle time; return how many.

        Of one user, or of all.
        """
        return sum(
            self._closer.close_idle(name, self._store.open_sessions(name))
            for name in (self._store.users() if user is None else [user])
        )

    def watch_idle(self) -> None:
        """Compress idle sessions in the background from now on, until `close`."""
        self._watch.start()

    # --- recall -----------------------------------------------------------------------------------

    def search(
        self,
        user: str,
        question: str,
        *,
        top_k: int | None = None,
        topic: str = "",
        at: str | None = None,
    ) -> list[Passage]:
        """Return what a user said that is nearest to a question, best first.

        `topic` confines the search to conversations of a topic bucket; without it topics only
        boost. `at` is when it is asked, ISO 8601, for "last month"; now by default. Passages of at
        most `memory.max_tokens` together, origin `memory`.
        """
        check_memory_name("user", user)
        opened = self._store.open_sessions(user)
        asked = _utc(at) if at else self._stamp()
        return self._search(user, question, opened, top_k=top_k, topic=topic, asked=asked)

    def _search(
        self,
        user: str,
        question: str,
        opened: dict[str, OpenTurns],
        *,
        top_k: int | None = None,
        topic: str = "",
        asked: str = "",
    ) -> list[Passage]:
        most = top_k or self._settings.top_k
        day = date.fromisoformat((asked or self._stamp())[:10])
        found = self._long_term.search(
            user,
            question,
            top_k=max(_CANDIDATES, 2 * most),
            filters=[f"topics={topic}"] if topic else [],
            rescore=partial(rescored, question=question, asked=day),
        )
        topics = set(self._topics.of(question)) - {GENERAL}
        if topics:
            found = [self._boosted(passage, topics) for passage in found]
        texts: dict[str, str] = {}
        if not topic:
            for session, held in opened.items():
                name, text = _open_document(user, session, held)
                texts[name] = text
                found += open_passages(name, text, question)
        found = linked(spoken(found, question), question)

        def text_of(name: str) -> str:
            if name not in texts:
                texts[name] = self._long_term.text(user, name)
            return texts[name]

        return windows(
            found, text_of=text_of, count=self._count, most=most, room=self._settings.max_tokens
        )

    def _boosted(self, passage: Passage, topics: set[str]) -> Passage:
        is_on_topic = bool(topics & set(self._topics.of(passage.text)))
        return replace(passage, score=passage.score * _BOOST) if is_on_topic else passage

    def window(self, memory: Memory) -> list[Message]:
        """Return the messages of working memory, oldest first."""
        held = self._working.read(memory.user, memory.session)
        return held or list(self._store.open_sessions(memory.user).get(memory.session, {}).values())

    # --- looking in -------------------------------------------------------------------------------

    def sessions(self, user: str) -> list[str]:
        """Return the sessions of a user, sorted."""
        check_memory_name("user", user)
        closed = {transcript.session_of(name) for name in self._long_term.texts(user)}
        return sorted(closed | self._store.open_sessions(user).keys())

    def conversations(self, user: str) -> list[Conversation]:
        """Return the sessions of a user with their names, newest first."""
        check_memory_name("user", user)
        named = {each.session: each for each in self._store.conversations(user)}
        others = [Conversation(session=name) for name in self.sessions(user) if name not in named]
        found = [*named.values(), *others]
        return sorted(found, key=lambda each: (each.begun, each.session), reverse=True)

    def name_session(self, user: str, session: str, name: str) -> None:
        """Name a session; without a name it is called by its first message.

        Raises:
            UnknownName: no such session.
            QuestionError: an empty name.
        """
        Memory(user, session)
        wanted = transcript.storable(name)[:MAX_NAME_CHARACTERS].strip()
        if not wanted:
            raise QuestionError("name missing; give the conversation a name")
        if session not in self.sessions(user):
            raise UnknownName(f"unknown session: {session!r}; `loregraph memory list` shows them")
        self._store.name(user, session, wanted)

    def preferences(self, user: str) -> list[str]:
        """Return the current preferences of a user, oldest first, at most ten."""
        known = self._in_store.run(lambda: self._store.facts(user))
        return [
            fact.text
            for fact in known
            if fact.superseded_by is None and fact.kind in ("preference", "feedback")
        ][-_PREFERENCES:]

    def facts(self, user: str) -> list[Fact]:
        """Return the facts about a user, oldest first, replaced ones among them."""
        check_memory_name("user", user)
        return self._store.facts(user)

    def summaries(self, user: str) -> list[SessionSummary]:
        """Return the summaries of a user's latest closed sessions, newest first."""
        check_memory_name("user", user)
        self._expire()
        return self._store.summaries(user, limit=self._settings.summaries)

    def show(self, user: str, session: str | None = None) -> MemoryOverview:
        """Return everything that is held of a user, or of one session."""
        check_memory_name("user", user)
        opened = self._store.open_sessions(user)
        wanted = [name for name in self.sessions(user) if session in (None, name)]
        documents = [
            MemoryDocument(
                id=name,
                session=transcript.session_of(name),
                date=transcript.date_of(name),
                text=text,
            )
            for name, text in self._long_term.texts(user, session).items()
        ]
        documents.sort(key=lambda each: (each.date, each.id))
        return MemoryOverview(
            user=user,
            sessions=tuple(wanted),
            open={name: tuple(opened[name].values()) for name in wanted if name in opened},
            summaries=tuple(one for one in self.summaries(user) if one.session in wanted),
            facts=tuple(one for one in self.facts(user) if one.session in wanted),
            documents=tuple(documents),
        )

    # --- forgetting -------------------------------------------------------------------------------

    def forget(self, user: str, *, session: str | None = None, fact: str | None = None) -> None:
        """Forget a user, one session, or one fact (its id), and erase it from all files.

        A fact goes with every sentence of the user's conversations that holds it.

        Raises:
            UnknownName: no such fact.
        """
        check_memory_name("user", user)
        with self._closing:
            if fact is not None:
                self._forget_fact(user, fact)
            elif session is not None:
                self._forget_session(user, session)
            else:
                self._store.forget(user)
                self._working.clear(user)
                self._long_term.forget(user)
            self._store.erase()
            self._working.erase()

    def _forget_session(self, user: str, session: str) -> None:
        check_memory_name("session", session)
        names = list(self._long_term.texts(user, session))
        self._long_term.remove(user, names)
        self._store.forget(user, session)
        self._store.put_facts(user, settled(self._store.facts(user)))
        self._working.clear(user, session)
        self._long_term.erase(user)

    def _forget_fact(self, user: str, wanted: str) -> None:
        known = self._store.facts(user)
        unwanted = next((each.text for each in known if each.id == wanted), None)
        if unwanted is None:
            raise UnknownName(f"unknown fact: {wanted!r}; `loregraph memory list` shows the ids")
        folded = unwanted.casefold().strip(" .!。！")
        changed = []
        for name, text in self._long_term.texts(user).items():
            if folded not in text.casefold():
                continue
            left = transcript.without_sentence(text, unwanted)
            mine = [each for each in known if each.document_id == name]
            known = [each for each in known if each.document_id != name]
            changed.append(name)
            if left:
                self._closer.put(user, {name: left})
                known += find_facts(name, left)
                known += [moved for each in mine if (moved := _moved(each, left)) is not None]
            else:
                self._long_term.remove(user, [name])
        self._store.put_facts(user, settled(known))
        self._store.redact(user, changed, lambda held: transcript.redacted(held, unwanted))
        self._working.redact(user, lambda held: transcript.redacted(held, unwanted))
        self._long_term.erase(user)

    def close(self) -> None:
        """Close all backends."""
        self._watch.close()
        self._in_working.close()
        self._in_store.close()
        self._working.close()
        self._store.close()
        self._long_term.close()

    # --- helpers ----------------------------------------------------------------------------------

    def _expire(self) -> None:
        if self._store.expire(self._stamp(-86_400 * self._settings.summary_days)):
            self._store.erase()

    def _turns(self, messages: Sequence[Message]) -> tuple[Turn, ...]:
        """Pair the last messages into turns; of answers only what was cited."""
        short = [replace(each, text=transcript.compact(each)) for each in messages]
        window = trim(
            short,
            most=self._settings.messages,
            tokens=self._settings.working_tokens,
            count=self._count,
        )
        turns: list[Turn] = []
        for message in window:
            if message.role == "user":
                turns.append(Turn(message.text))
            else:
                turns[-1] = Turn(turns[-1].question, f"{turns[-1].answer} {message.text}".strip())
        return tuple(turns)

    def _stamp(self, seconds: float = 0.0) -> str:
        moment = self._now() + timedelta(seconds=seconds)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def _open_document(user: str, session: str, opened: OpenTurns) -> tuple[str, str]:
    """Return the id and text of the document that an open session will be."""
    messages = list(opened.values())
    return transcript.document_id(user, session, messages[0]), transcript.render(messages)


def _moved(fact: Fact, text: str) -> Fact | None:
    """Return a fact at its place in a shortened document; None where it is gone."""
    start = text.find(fact.text)
    return replace(fact, start=start, end=start + len(fact.text)) if start >= 0 else None


def _utc(at: str) -> str:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError as error:
        raise QuestionError(f"time not usable: {at[:40]!r}; write ISO 8601") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
