"""Layered memory of a library's users: remember, close, recall, answer from memory, forget.

    ask      working memory → turns before the question; long-term memory → passages
    answer   → working memory and open session
    close    open session → conversation document → summary and facts, in one transaction

A backend that does not answer in time costs the question its deadline once, and a warning.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

from ..config import MemorySettings
from ..errors import EngineError, QuestionError, UnknownName
from ..prompts import language_of
from ..storage.tokenization import tokens
from ..types import Answer, Citation, Passage, TraceStep, Turn
from . import transcript
from .deadline import Deadline, MemoryUnavailable
from .facts import about, find_facts, sentences_in, settled
from .long_term import LongTermMemory
from .recall import MIN_OVERLAP, OWN, open_passages, rescored, spoken, windows
from .records import (
    Fact,
    Memory,
    MemoryDocument,
    MemoryOverview,
    Message,
    SessionSummary,
    check_memory_name,
)
from .store import OpenTurns, SessionStore
from .topics import GENERAL, TopicBuckets, summarise
from .working import WorkingMemory, trim

_log = logging.getLogger("loregraph")
_SHOWN_RELEVANCE = 0.05
"""Relevance from which a passage of memory stands beside an answer."""
_CANDIDATES = 60
"""Minimum passages looked at."""
_BOOST = 1.15
"""Factor of a passage on the question's topic."""
_SAID = {
    ("en", "user"): "You said on {date}: “{text}” [1]",
    ("en", "assistant"): "I answered on {date}: “{text}” [1]",
    ("zh", "user"): "您在{date}说过：“{text}” [1]",
    ("zh", "assistant"): "我在{date}回答过：“{text}” [1]",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Memory for one question: the turns before it, and passages of what the user said."""

    turns: tuple[Turn, ...] = ()
    passages: tuple[Passage, ...] = ()
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
        self._closing = threading.Lock()

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
        try:
            opened = self._in_store.run(lambda: self._opened(memory.user))
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
            warnings=tuple(warnings),
        )

    def answer(self, memory: Memory, question: str, found: Recollection) -> Answer | None:
        """Answer from memory alone, citing what was said and when; None where it does not say."""
        try:
            told = self._told(memory.user, question, found.passages)
        except (EngineError, MemoryUnavailable):
            return None
        if told is None:
            return None
        passage, line, start, end, evidence = told
        quote = line.text[start - line.start : end - line.start]
        said = _SAID[language_of(question), line.role]
        citation = Citation(
            number=1,
            document_id=passage.document_id,
            chunk_id=passage.chunk_id,
            title=passage.title,
            quote=quote,
            start=start,
            end=end,
            origin="memory",
        )
        step = TraceStep(stage="memory", detail="answered from memory", seconds=0.0)
        return Answer(
            question=question,
            text=said.format(date=line.at[:10], text=quote),
            mode="local",
            citations=(citation,),
            memory=found.passages,
            evidence=evidence,
            trace=(step,),
        )

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
            self._close_full(user, session, self._in_store.run(lambda: self._opened(user)))
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
        self._close_full(user, session, self._opened(user))
        return len(messages)

    def close_session(self, user: str, session: str = "default") -> None:
        """Compress a session: its messages become a document, a summary and facts."""
        Memory(user, session)
        opened = self._opened(user)
        self._close(user, {session: opened[session]} if session in opened else {})
        self._working.clear(user, session)

    def close_idle(self, user: str | None = None) -> int:
        """Compress the sessions without a message for the idle time; return how many.

        Of one user, or of all.
        """
        before = self._stamp(-self._settings.idle_seconds)
        closed = 0
        for name in self._store.users() if user is None else [user]:
            idle = {
                session: held
                for session, held in self._opened(name).items()
                if held[max(held)].at < before
            }
            self._close(name, idle)
            closed += len(idle)
        return closed

    def _close_full(self, user: str, session: str, opened: dict[str, OpenTurns]) -> None:
        """Compress what exceeds the message limit, and idle sessions."""
        before = self._stamp(-self._settings.idle_seconds)
        most = self._settings.messages
        ending: dict[str, OpenTurns] = {}
        for name, held in opened.items():
            last = held[max(held)]
            is_full = len(held) >= most and last.role == "assistant"
            is_idle = name != session and last.at < before
            if is_full or is_idle or len(held) >= 2 * most:
                ending[name] = held
        self._close(user, ending)

    def _close(self, user: str, opened: Mapping[str, OpenTurns]) -> None:
        """Store documents, then replace the messages by their summaries and facts.

        Killed in between, the messages are still open; the same documents are made again.
        """
        if not opened:
            return
        with self._closing:
            parts = {
                transcript.document_id(user, session, next(iter(part.values()))): part
                for session, held in opened.items()
                for part in _parts(held, most=self._settings.messages)
            }
            texts = {name: transcript.render([*part.values()]) for name, part in parts.items()}
            self._put(user, texts)
            held = [fact for fact in self._store.facts(user) if fact.document_id not in parts]
            found = [fact for each in texts.items() for fact in find_facts(*each)]
            self._store.finish(
                user,
                [number for part in parts.values() for number in part],
                [self._summary(name, part, texts[name]) for name, part in parts.items()],
                settled([*held, *found]),
            )

    def _summary(self, name: str, part: OpenTurns, text: str) -> SessionSummary:
        said = [message.text for message in part.values() if message.role == "user"]
        return SessionSummary(
            session=transcript.session_of(name),
            document_id=name,
            summary=summarise(said),
            topics=self._topics.of(text),
            created_at=self._stamp(),
        )

    def _put(self, user: str, texts: Mapping[str, str]) -> None:
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
        opened = self._opened(user)
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
        found = spoken(found, question)
        found.sort(key=lambda each: (-each.score, each.document_id, each.start))

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

    def _told(
        self, user: str, question: str, passages: Sequence[Passage]
    ) -> tuple[Passage, transcript.Line, int, int, float | None] | None:
        """Return the passage, line and span that answer a question, and their evidence."""
        opened = self._in_store.run(lambda: self._opened(user))
        known = self._in_store.run(lambda: self._store.facts(user))
        texts = dict(_open_document(user, *each) for each in opened.items())
        if said := [fact for each in texts.items() for fact in find_facts(*each)]:
            known = settled([*known, *said])
        fact = about(question, known) if OWN.search(question) else None
        if fact is not None:
            return self._where(user, fact, texts, None)
        if not passages:
            return None
        answer = self._long_term.ask(user, question)
        open_ones = [each for each in passages if each.scores.get("open")]
        if (answer is None or answer.abstained) and not open_ones:
            return None
        best = self._best_sentence(user, question, open_ones or passages, answer)
        if best is None:
            return None
        passage, line, start, end = best
        later = _replacement(known, passage.document_id, start, end)
        evidence = answer.evidence if answer is not None else None
        if later is not None:
            return self._where(user, later, texts, evidence)
        return passage, line, start, end, evidence

    def _where(
        self, user: str, fact: Fact, opened: Mapping[str, str], evidence: float | None
    ) -> tuple[Passage, transcript.Line, int, int, float | None] | None:
        name = fact.document_id
        text = opened[name] if name in opened else self._long_term.text(user, name)
        lines = transcript.parse(text)
        line = next((one for one in lines if one.start <= fact.start < one.end), None)
        if line is None or text[fact.start : fact.end] != fact.text:
            return None
        passage = Passage(
            text=line.text,
            score=1.0,
            relevance=1.0,
            document_id=fact.document_id,
            chunk_id=f"{fact.document_id}#{fact.id}",
            title=fact.session,
            start=line.start,
            end=line.end,
            origin="memory",
        )
        return passage, line, fact.start, fact.end, evidence

    def _best_sentence(
        self, user: str, question: str, passages: Sequence[Passage], answer: Answer | None
    ) -> tuple[Passage, transcript.Line, int, int] | None:
        """Return the sentence of a short answer, else the one with most words of the question."""
        asked = set(tokens(question))
        short = answer.short if answer is not None else None
        best: tuple[float, Passage, transcript.Line, int, int] | None = None
        for rank, passage in enumerate(passages):
            for line in _lines_of(passage):
                for start, end in _sentences(line):
                    words = set(tokens(line.text[start - line.start : end - line.start]))
                    share = len(asked & words) / len(asked) if asked else 0.0
                    value = share - 0.05 * rank - (0.1 if line.role == "assistant" else 0.0)
                    if (
                        short is not None
                        and short.document_id == passage.document_id
                        and short.start is not None
                        and start <= short.start < end
                    ):
                        value = 2.0
                    if share < MIN_OVERLAP and value < 1:
                        continue
                    if line.text[end - line.start - 1 : end - line.start] in "?？":
                        continue
                    if best is None or value > best[0]:
                        best = (value, passage, line, start, end)
        return best[1:] if best is not None else None

    def window(self, memory: Memory) -> list[Message]:
        """Return the messages of working memory, oldest first."""
        held = self._working.read(memory.user, memory.session)
        return held or list(self._opened(memory.user).get(memory.session, {}).values())

    # --- looking in -------------------------------------------------------------------------------

    def sessions(self, user: str) -> list[str]:
        """Return the sessions of a user, sorted."""
        check_memory_name("user", user)
        closed = {transcript.session_of(name) for name in self._long_term.texts(user)}
        return sorted(closed | self._opened(user).keys())

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
        opened = self._opened(user)
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
            known = [each for each in known if each.document_id != name]
            changed.append(name)
            if left:
                self._put(user, {name: left})
                known += find_facts(name, left)
            else:
                self._long_term.remove(user, [name])
        self._store.put_facts(user, settled(known))
        self._store.redact(user, changed, lambda held: transcript.redacted(held, unwanted))
        self._working.redact(user, lambda held: transcript.redacted(held, unwanted))
        self._long_term.erase(user)

    def close(self) -> None:
        """Close all backends."""
        self._in_working.close()
        self._in_store.close()
        self._working.close()
        self._store.close()
        self._long_term.close()

    # --- helpers ----------------------------------------------------------------------------------

    def _opened(self, user: str) -> dict[str, OpenTurns]:
        return self._store.open_sessions(user)

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


def is_about_user(question: str) -> bool:
    """Check whether a question asks about the user or what they said."""
    return OWN.search(question) is not None


def _parts(opened: OpenTurns, *, most: int) -> list[OpenTurns]:
    """Cut the messages of a session into documents of about `most`, each begun by the user."""
    parts: list[OpenTurns] = []
    for number, message in sorted(opened.items()):
        is_full = bool(parts) and len(parts[-1]) >= most and message.role == "user"
        is_dated = bool(parts) and next(iter(parts[-1].values())).at[:10] != message.at[:10]
        if not parts or is_full or is_dated or len(parts[-1]) >= 2 * most:
            parts.append({})
        parts[-1][number] = message
    return parts


def _open_document(user: str, session: str, opened: OpenTurns) -> tuple[str, str]:
    """Return the id and text of the document that an open session will be."""
    messages = list(opened.values())
    return transcript.document_id(user, session, messages[0]), transcript.render(messages)


def _lines_of(passage: Passage) -> list[transcript.Line]:
    """Return the messages in a passage, at their places in its document."""
    return [
        replace(line, start=line.start + passage.start, end=line.end + passage.start)
        for line in transcript.parse(passage.text)
    ]


def _sentences(line: transcript.Line) -> list[tuple[int, int]]:
    return list(sentences_in(line.text, line.start))


def _replacement(known: Sequence[Fact], document_id: str, start: int, end: int) -> Fact | None:
    """Return the current fact that replaces one stated in a span; None without one."""
    by_id = {fact.id: fact for fact in known}
    for fact in known:
        if fact.document_id == document_id and fact.start < end and start < fact.end:
            while fact.superseded_by in by_id:
                fact = by_id[fact.superseded_by]
            return fact if fact.document_id != document_id or fact.start != start else None
    return None


def _utc(at: str) -> str:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError as error:
        raise QuestionError(f"time not usable: {at[:40]!r}; write ISO 8601") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
