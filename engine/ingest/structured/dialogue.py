"""Dialogues and FAQs in parsed data, by field names.

Turns come out as the transcript shape has them (`Speaker: what was said`, a paragraph a turn),
pairs as a heading with the answer under it. Pure; knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from ..content import one_line
from .records import paragraphs, record

_SPEAKERS = (
    "role",
    "speaker",
    "from",
    "sender",
    "author",
    "user",
    "username",
    "name",
    "说话人",
    "发言人",
    "发送者",
    "角色",
)
_WORDS = (
    "content",
    "text",
    "value",
    "message",
    "body",
    "utterance",
    "parts",
    "内容",
    "文本",
    "消息",
)
_TIMES = ("timestamp", "time", "date", "created_at", "start", "时间")
_TITLES = ("title", "headline", "标题")
_LISTS = (
    "messages",
    "conversations",
    "conversation",
    "turns",
    "dialogue",
    "dialog",
    "transcript",
    "chat",
    "utterances",
    "meeting_transcripts",
    "segments",
    "对话",
    "消息",
)
_QUESTIONS = ("question", "q", "query", "问题", "问", "提问")
_ANSWERS = ("answer", "a", "answers", "response", "accepted_answer", "答案", "答", "回答", "解答")
_SHARE = 0.9
_STAMP = re.compile(r"(?:(\d{4}-\d\d-\d\d)[T ])?(\d{1,2}:\d\d(?::\d\d)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Speaker turn; `time` is date and time, or empty."""

    speaker: str
    text: str
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns in order."""

    turns: tuple[Turn, ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A question, its answer, and what else its record says."""

    question: str
    answer: str
    others: tuple[tuple[str, str], ...] = ()


def conversations(value: object) -> list[Conversation]:
    """Return conversations in a value.

    A list of turns, an object holding one, or a list of those. Empty otherwise.
    """
    talk = _conversation(value)
    if talk is not None:
        return [talk]
    if not _is_list(value) or not value:
        return []
    talks = [_conversation(item) for item in value if isinstance(item, Mapping)]
    found = [talk for talk in talks if talk is not None]
    return found if len(found) == len(value) else []


def turn_blocks(talk: Conversation) -> Iterator[str]:
    """Return a paragraph for each turn, under the title."""
    if talk.title:
        yield f"# {talk.title}"
    for turn in talk.turns:
        words = "\n".join(line.rstrip() for line in turn.text.splitlines() if line.strip())
        yield f"[{turn.time}] {turn.speaker}: {words}" if turn.time else f"{turn.speaker}: {words}"


def questions_of(value: Sequence[object]) -> list[Pair] | None:
    """Return question–answer pairs if every item is one, else None."""
    pairs = [_pair(item) for item in value]
    found = [pair for pair in pairs if pair is not None]
    return found if found and len(found) == len(value) else None


def question_blocks(pair: Pair, *, level: int) -> Iterator[str]:
    """Return the question as heading, the answer, then other fields."""
    yield f"{'#' * min(level, 6)} {one_line(pair.question, limit=300)}"
    if len(pair.question) > 300:
        yield paragraphs(pair.question)
    yield paragraphs(pair.answer)
    rest = record(pair.others)
    if rest:
        yield rest


def _conversation(value: object) -> Conversation | None:
    if isinstance(value, Mapping):
        title = next((value[key] for key in _TITLES if isinstance(value.get(key), str)), "")
        held = (_turns(value[key]) for key in _LISTS if _is_list(value.get(key)))
        turns = next(filter(None, held), None) or _exported(value.get("mapping"))
        return None if turns is None else Conversation(turns=turns, title=one_line(title))
    turns = _turns(value) if _is_list(value) else None
    return None if turns is None else Conversation(turns=turns)


def _turns(value: object) -> tuple[Turn, ...] | None:
    if not _is_list(value) or len(value) < 2:
        return None
    turns = [turn for turn in map(_turn, value) if turn is not None]
    enough = len(turns) >= 2 and len(turns) >= _SHARE * len(value)
    return tuple(turn for turn in turns if turn.text) if enough else None


def _turn(item: object) -> Turn | None:
    if not isinstance(item, Mapping) or any(item.get(key) for key in _TITLES):
        return None
    speaker = next((name for key in _SPEAKERS if (name := _name(item.get(key)))), "")
    words = next((item[key] for key in _WORDS if item.get(key) is not None), None)
    text = _said(words)
    if not speaker or text is None:
        return None
    time = next((item[key] for key in _TIMES if isinstance(item.get(key), str)), "")
    return Turn(
        speaker=one_line(speaker[:1].upper() + speaker[1:], limit=80),
        text=text.strip(),
        time=_stamp(time),
    )


def _stamp(time: str) -> str:
    """Return date and time where given; counted seconds are dropped."""
    found = _STAMP.match(time)
    return " ".join(filter(None, found.groups())) if found else ""


def _name(value: object) -> str:
    """Return a speaker's name, as text or from an object."""
    if isinstance(value, Mapping):
        return next(
            (
                name
                for key in ("name", "role", "username", "display_name")
                if isinstance(name := value.get(key), str)
            ),
            "",
        )
    return value.strip() if isinstance(value, str) and len(value) <= 100 else ""


def _said(value: object) -> str | None:
    """Return a turn's words from text or parts; None without any."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _said(value.get("parts") or value.get("text") or value.get("content"))
    if not _is_list(value):
        return None
    parts = [
        part if isinstance(part, str) else part.get("text", "")
        for part in value
        if isinstance(part, str | Mapping)
    ]
    return "".join(part for part in parts if isinstance(part, str))


def _exported(mapping: object) -> tuple[Turn, ...] | None:
    """Return a conversation stored as a message tree, in stored order."""
    if not isinstance(mapping, Mapping):
        return None
    messages = [node.get("message") for node in mapping.values() if isinstance(node, Mapping)]
    turns = [_turn(message) for message in messages if isinstance(message, Mapping)]
    found = tuple(turn for turn in turns if turn is not None and turn.text)
    return found or None


def _pair(item: object) -> Pair | None:
    if not isinstance(item, Mapping):
        return None
    names = {str(key).lower(): key for key in item}
    question = next((names[key] for key in _QUESTIONS if key in names), None)
    answer = next((names[key] for key in _ANSWERS if key in names), None)
    if question is None or answer is None or not isinstance(item[question], str):
        return None
    text = _said(item[answer])
    if text is None or not item[question].strip():
        return None
    others = tuple(
        (str(key), value)
        for key, value in item.items()
        if key not in (question, answer) and isinstance(value, str)
    )
    return Pair(question=item[question].strip(), answer=text.strip(), others=others)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
