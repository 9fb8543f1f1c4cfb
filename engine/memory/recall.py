"""Ranking of what a user said: exchanges and sessions together, time, and windows to be read.

An exchange ranks by its own score and by its session's, of the best few exchanges in it; sessions
on the days that a question names count more. What is read is an exchange with its neighbours, as
far as the budget of tokens goes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from ..storage.tokenization import tokens
from ..types import Passage
from . import transcript
from .facts import sentences_in
from .times import Days, date_ranges

Scores = NDArray[np.float64]
DEPTH = 300
"""Exchanges that count; all others score nil."""
_BEST = 3
"""Exchanges by which a session is scored, each counting half as much as the one before."""
_SESSION_WEIGHT = 0.1
_TIME_WEIGHT = 0.35
_SPEAKER_WEIGHT = 0.5
_LINK_WEIGHT = 0.3
_LINKED_FROM = 3
"""Passages whose names lead to others."""
_LINKING_SESSIONS = 6
"""Sessions above which a name of many leads nowhere."""
_TOLD_LATER_DAYS = 10
"""Days after which an event is still told of."""
_ALIKE = 0.8
"""Share of common words from which a second text is not read."""
_EXCHANGE_CHARACTERS = 600
"""Maximum characters of an exchange that is read whole."""
OWN = re.compile(r"\b(?:my|mine|me|i|we|our)\b|我|咱", re.IGNORECASE)
_SPEAKER = re.compile(r"([^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30})?)[:：]\s")
_FROM_ASSISTANT = re.compile(
    r"\b(?:did|have|had) you (?:\w+ )?"
    r"(?:say|said|suggest|recommend|tell|told|mention|answer|give|given)"
    r"|\byou (?:said|suggested|recommended|told|mentioned|gave)\b"
    r"|你(?:刚才|上次|之前)?(?:说|推荐|建议|告诉|提到)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\W*(?:(?:please|now|then|so|hi|hello|hey|ok|okay) )*(?:give|tell|show|explain|help|remind"
    r"|suggest|recommend|write|draft|compare|list|translate|describe|summari[sz]e|find|teach"
    r"|advise|let me know)\b|\W*(?:请|帮|给我|告诉|麻烦|教我|推荐|写)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?:。] )(?<!^)\b[A-Z][\w'’-]+")
"""Capitalised word within a sentence."""
MIN_OVERLAP = 0.3
"""Minimum share of a question's words that a message of an open session holds."""
_BLOCK = re.compile(r"[^\n]+(?:\n[^\n]+)*")
_LINE = re.compile(r"[^\n]+")


def rescored(documents: Sequence[str], scores: Scores, *, question: str, asked: date) -> Scores:
    """Return scores of exchanges with those of their sessions and days: `(n,)`.

    Args:
        documents: the document of each exchange.
        scores: fused scores, 0–1.
        question: the question; days that it names count.
        asked: the day from which "last month" counts; it also counts from the last session.
    """
    count = min(DEPTH, scores.size)
    if not count:
        return scores
    rows = np.argpartition(-scores, count - 1)[:count]
    rows = rows[np.lexsort((rows, -scores[rows]))]
    rows = rows[scores[rows] > 0]
    scores = scores / max(float(scores.max()), 1e-9)
    sessions: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows.tolist():
        sessions[documents[row]].append(float(scores[row]))
    days = {name: date.fromisoformat(transcript.date_of(name)) for name in sessions}
    times = {
        each
        for day in {asked, max(days.values(), default=asked)}
        for each in date_ranges(question, day)
    }
    worth = {name: session_score(held, days[name], times) for name, held in sessions.items()}
    found = np.zeros_like(scores)
    found[rows] = [scores[row] + worth[documents[row]] for row in rows.tolist()]
    return found


def session_score(scores: Sequence[float], day: date, times: Iterable[Days]) -> float:
    """Return what a session adds to the scores of its exchanges; `scores` are best first."""
    several = sum(score * 0.5**place for place, score in enumerate(scores[:_BEST]))
    fits = max((_fit(day, each) for each in times), default=0.0)
    return _SESSION_WEIGHT * several + _TIME_WEIGHT * fits


def _fit(day: date, days: Days) -> float:
    """Return how well a session's day fits days that a question names, 0–1."""
    first, last = days
    if first <= day <= last:
        return 1.0
    later = (day - last).days
    return max(0.0, 1.0 - later / (_TOLD_LATER_DAYS + 1)) if later > 0 else 0.0


def spoken(passages: Sequence[Passage], question: str) -> list[Passage]:
    """Return passages, best first, with more score where whoever is asked about states something.

    That is whom the question names of those who speak ("Tom: …"), the assistant for "what did you
    suggest", the user for "my", and else anybody. Asking states nothing.
    """
    lines = [transcript.parse(each.text) for each in passages]
    speakers = {_speaker(line.text) for some in lines for line in some} - {""}
    named = {name for name in speakers if re.search(rf"\b{re.escape(name)}\b", question, re.I)}
    by_assistant = _FROM_ASSISTANT.search(question) is not None
    is_own = OWN.search(question) is not None

    def counts(line: transcript.Line) -> bool:
        if by_assistant:
            return line.role == "assistant"
        if named:
            return _speaker(line.text) in named and _is_statement(line.text)
        return _is_statement(line.text) and (line.role == "user" or not is_own)

    return ranked(
        replace(passage, score=passage.score + _SPEAKER_WEIGHT * any(map(counts, some)))
        for passage, some in zip(passages, lines, strict=True)
    )


def linked(passages: Sequence[Passage], question: str) -> list[Passage]:
    """Return passages, best first, with more score where a name joins them to one of the first.

    The name stands in few sessions of those given, and not in the question: it is what a question
    of two steps leaves out, and what several conversations about one thing share.
    """
    lines = [transcript.parse(each.text) for each in passages]
    said = [frozenset(tokens(" ".join(line.text for line in some))) for some in lines]
    found = {name for some in lines for line in some for name in _NAME.findall(line.text)}
    names = {token for name in found for token in tokens(name)} - set(tokens(question))
    sessions: defaultdict[str, set[str]] = defaultdict(set)
    for passage, words in zip(passages, said, strict=True):
        for name in words & names:
            sessions[name].add(passage.document_id)
    leading = {name for name, where in sessions.items() if len(where) <= _LINKING_SESSIONS}
    first = [(p, words & leading) for p, words in zip(passages, said, strict=True)][:_LINKED_FROM]
    best = max((passage.score for passage in passages), default=1.0)

    def gain(passage: Passage, words: frozenset[str]) -> float:
        near = (
            other.score / best
            for other, held in first
            if other.document_id != passage.document_id and held & words
        )
        return _LINK_WEIGHT * max(near, default=0.0)

    return ranked(
        replace(passage, score=passage.score + gain(passage, words))
        for passage, words in zip(passages, said, strict=True)
    )


def ranked(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages by score, best first, ties by place."""
    return sorted(passages, key=lambda each: (-each.score, each.document_id, each.start))


def _speaker(text: str) -> str:
    match = _SPEAKER.match(text)
    return match[1] if match is not None else ""


def _is_statement(text: str) -> bool:
    """Check whether the speaker states something of their own, besides asking for something."""
    return any(
        OWN.search(text[start:end])
        and text[end - 1] not in "?？"
        and not _REQUEST.match(text[start:end])
        for start, end in sentences_in(text)
    )


@dataclass(slots=True)
class _Window:
    """Exchanges of one document that are read together: `spans[first:last + 1]`."""

    passage: Passage
    text: str
    spans: list[tuple[int, int]]
    first: int
    last: int

    @property
    def start(self) -> int:
        return self.spans[self.first][0]

    @property
    def end(self) -> int:
        return self.spans[self.last][1]


def windows(
    passages: Sequence[Passage],
    *,
    text_of: Callable[[str], str],
    count: Callable[[str], int],
    most: int,
    room: int,
) -> list[Passage]:
    """Return what is read for ranked exchanges: at most `most` windows of `room` tokens in all.

    Every one is first read alone, in order; an exchange beside a window is added to it. What is
    left of the room goes to the neighbours of the first ones.
    """
    kept: list[_Window] = []
    words: list[frozenset[str]] = []
    for passage in passages:
        if len(kept) == most and all(
            each.passage.document_id != passage.document_id for each in kept
        ):
            continue
        window = _window(passage, text_of(passage.document_id))
        near = next((each for each in kept if _touches(each, window)), None)
        if near is None and len(kept) == most:
            continue
        said = frozenset(tokens(_plain(window)))
        if near is None and any(_is_alike(said, other) for other in words):
            continue
        size = count(window.text[window.start : window.end])
        if near is not None and near.first <= window.first and window.last <= near.last:
            continue
        if size > room:
            continue
        room -= size
        words.append(said)
        if near is None:
            kept.append(window)
        else:
            near.first, near.last = min(near.first, window.first), max(near.last, window.last)
    for window in kept:
        room = _grow(window, kept, room, count)
    return [_read(window) for window in kept]


def _window(passage: Passage, text: str) -> _Window:
    spans = read_units(text)
    place = next((n for n, (_, end) in enumerate(spans) if passage.start < end), len(spans) - 1)
    return _Window(passage=passage, text=text, spans=spans, first=place, last=place)


def read_units(text: str) -> list[tuple[int, int]]:
    """Return the spans that are read whole: exchanges, of long ones messages, else sentences."""
    found: list[tuple[int, int]] = []
    for block in _BLOCK.finditer(text):
        if block.end() - block.start() <= _EXCHANGE_CHARACTERS:
            found.append(block.span())
            continue
        for line in _LINE.finditer(text, *block.span()):
            found += _pieces(text, *line.span())
    return found


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut a message into runs of sentences, each as long as may be read whole."""
    pieces: list[tuple[int, int]] = []
    for first, last in sentences_in(text[start:end], start):
        if pieces and last - pieces[-1][0] <= _EXCHANGE_CHARACTERS:
            pieces[-1] = (pieces[-1][0], last)
        else:
            pieces.append((first, last))
    return pieces


def _plain(window: _Window) -> str:
    """Return what is said in a window, without roles and times."""
    lines = transcript.parse(window.text[window.start : window.end])
    return "\n".join(line.text for line in lines)


def _is_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Check whether two texts say the same, by their words."""
    return len(one & other) >= _ALIKE * len(one | other) > 0


def _touches(one: _Window, other: _Window) -> bool:
    """Check whether two windows are of one document, and beside each other or shared."""
    is_same = one.passage.document_id == other.passage.document_id
    return is_same and one.first <= other.first and other.last <= one.last


def _grow(
    window: _Window, others: Sequence[_Window], room: int, count: Callable[[str], int]
) -> int:
    """Add the units beside a window that fit, the later one first; return what room is left."""
    for place in (window.last + 1, window.first - 1):
        if not 0 <= place < len(window.spans) or any(
            other is not window
            and other.passage.document_id == window.passage.document_id
            and other.first <= place <= other.last
            for other in others
        ):
            continue
        start, end = window.spans[place]
        size = count(window.text[start:end])
        if size <= room:
            room -= size
            window.first, window.last = min(window.first, place), max(window.last, place)
    return room


def _read(window: _Window) -> Passage:
    return replace(
        window.passage,
        text=window.text[window.start : window.end],
        start=window.start,
        end=window.end,
        title=transcript.session_of(window.passage.document_id),
        origin="memory",
    )


def open_passages(document: str, text: str, question: str) -> list[Passage]:
    """Return the messages of an open session that share words with a question."""
    asked = set(tokens(question))
    found = []
    for line in transcript.parse(text):
        share = len(asked & set(tokens(line.text))) / len(asked) if asked else 0.0
        if share < MIN_OVERLAP:
            continue
        passage = Passage(
            text=line.text,
            score=share * (1 + _SESSION_WEIGHT),
            relevance=share,
            document_id=document,
            chunk_id=f"{document}#{line.start}",
            title=transcript.session_of(document),
            start=line.start,
            end=line.end,
            scores={"open": share},
            origin="memory",
        )
        found.append(passage)
    return found
