"""Conversation documents: messages as text, one a line, and back; what may be stored of them.

System prompts, tool output and text that was recalled are never stored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..ingest.document import sanitise_text
from ..types import Answer
from .records import MAX_MESSAGE_CHARACTERS, NAMESPACE, Message, Role

_LABELS: Mapping[Role, str] = {"user": "User", "assistant": "Assistant"}
_LINE = re.compile(r"(?P<label>User|Assistant) \((?P<at>\d{4}-\d\d-\d\d[ \d:]*)\): ?(?P<text>.*)")
_RECALLED = re.compile(r"<recalled>.*?(?:</recalled>|\Z)", re.DOTALL)
_QUOTED = re.compile(
    r"(?:\b(?:You said|I answered) on \d{4}-\d\d-\d\d: "
    r"|[您我]在\d{4}-\d\d-\d\d(?:说过|回答过)：)“[^”]*”"
)
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
_MARK = re.compile(r"\s?\[\d{1,4}\]")
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+(?:\s?\[\d{1,4}\])*|\n|$)")
CITED_CHARACTERS = 240
"""Maximum characters of an earlier answer in a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Message of a conversation document: `document_text[start:end] == text`."""

    role: Role
    text: str
    at: str
    start: int
    end: int


def storable(text: str) -> str:
    """Return what may be stored of a message: one line, without recalled text; may be empty."""
    text = _QUOTED.sub("", _RECALLED.sub("", sanitise_text(text[:MAX_MESSAGE_CHARACTERS])))
    return " ".join(text.split())


def storable_messages(said: Iterable[tuple[str, str]], *, at: str) -> list[Message]:
    """Return the messages of `(role, text)` pairs that may be stored, in order.

    Other roles than user and assistant are dropped.
    """
    roles: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
    made = (
        Message(role=roles[role], text=storable(text), at=at)
        for role, text in said
        if role in roles
    )
    return [message for message in made if message.text]


def answer_message(answer: Answer, *, at: str) -> Message | None:
    """Return the message of an answer; None where it only repeats memory, or says nothing."""
    is_recalled = any(citation.origin == "memory" for citation in answer.citations)
    text = storable(_MARK.sub("", _HEADING.sub("", answer.text)))
    if is_recalled or answer.abstained or not text:
        return None
    return Message(role="assistant", text=text, at=at, cited=cited_part(answer))


def cited_part(answer: Answer) -> str:
    """Return the first cited sentences of an answer, 240 characters at most.

    A sentence is cited that has a mark, or stands in what is quoted.
    """
    text = _HEADING.sub("", answer.text)
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)]
    quoted = "\n".join(" ".join(each.quote.split()) for each in answer.citations)
    cited = [
        each for each in sentences if _MARK.search(each) or " ".join(each.split()) in quoted
    ] or sentences
    kept = ""
    for sentence in cited:
        plain = storable(_MARK.sub("", sentence))
        if kept and len(kept) + len(plain) >= CITED_CHARACTERS:
            break
        kept = f"{kept} {plain}".strip()
    return kept[:CITED_CHARACTERS].strip()


def compact(message: Message) -> str:
    """Return the message as later prompts are shown it."""
    if message.role == "user":
        return message.text
    return message.cited or message.text[:CITED_CHARACTERS].strip()


def render(messages: Sequence[Message]) -> str:
    """Render messages as the text of a conversation document; a blank line ends an exchange."""
    lines: list[str] = []
    for message in messages:
        if message.role == "user" and lines:
            lines.append("")
        stamp = message.at[:16].replace("T", " ")
        lines.append(f"{_LABELS[message.role]} ({stamp}): {message.text}")
    return "\n".join(lines) + "\n"


def parse(text: str) -> list[Line]:
    """Parse the messages of a conversation document."""
    return list(_lines(text))


def _lines(text: str) -> Iterator[Line]:
    place = 0
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is not None:
            role: Role = "user" if match["label"] == "User" else "assistant"
            start = place + match.start("text")
            yield Line(
                role=role, text=match["text"], at=match["at"], start=start, end=place + len(line)
            )
        place += len(line) + 1


def without_sentence(text: str, unwanted: str) -> str:
    """Return the conversation without every sentence that holds `unwanted`, in any message."""
    wanted = unwanted.casefold().strip(" .!。！")
    kept = [
        Message(role=line.role, text=cut, at=line.at.replace(" ", "T"))
        for line in parse(text)
        if (cut := cut_sentence(line.text, wanted))
    ]
    return render(kept) if kept else ""


def cut_sentence(text: str, unwanted: str) -> str:
    """Return a message without the sentences that hold `unwanted` (case-folded)."""
    if unwanted not in text.casefold():
        return text
    kept = [
        match.group()
        for match in _SENTENCE.finditer(text)
        if unwanted not in match.group().casefold()
    ]
    left = "".join(kept).strip()
    return "" if unwanted in left.casefold() else left  # it spans sentences


def document_id(user: str, session: str, first: Message) -> str:
    """Return the id of the document that begins with a message."""
    digest = hashlib.sha256(f"{first.at} {first.role} {first.text}".encode()).hexdigest()
    time = first.at[11:].replace(":", "")
    return f"{NAMESPACE}/{user}/{session}/{first.at[:10]}-{time}-{digest[:12]}"


def session_of(document: str) -> str:
    """Return the session that a conversation document belongs to."""
    return document.split("/")[2]


def date_of(document: str) -> str:
    """Return the ISO date of a conversation document."""
    return document.rpartition("/")[2][:10]


def redacted(message: Message, unwanted: str) -> Message:
    """Return a message without the sentences that hold `unwanted`."""
    folded = unwanted.casefold().strip(" .!。！")
    return replace(
        message,
        text=cut_sentence(message.text, folded),
        cited=cut_sentence(message.cited, folded),
    )
