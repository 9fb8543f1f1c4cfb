"""Values of layered memory: who speaks in which session, messages, facts, summaries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import QuestionError

Role = Literal["user", "assistant"]
FactKind = Literal["preference", "knowledge", "feedback", "event"]
NAMESPACE = "memory"
"""First part of every id of a conversation document; no namespace of documents can hold it."""
FOLDER = "memory"
"""Folder of memory in a library's."""
MAX_MESSAGE_CHARACTERS = 40_000
"""Maximum characters of a stored message; the rest is cut."""
MAX_NAME_CHARACTERS = 80
"""Maximum characters of a session's name."""
_NAME = re.compile(r"\w[\w.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class Memory:
    """User and session whose memory a question reads and extends.

    Args:
        user: up to 64 letters, digits, dots, dashes, underscores and at signs.
        session: the conversation, named alike.

    Raises:
        QuestionError: another name.
    """

    user: str
    session: str = "default"

    def __post_init__(self) -> None:
        """Validate both names."""
        check_memory_name("user", self.user)
        check_memory_name("session", self.session)


def check_memory_name(kind: str, name: object) -> None:
    """Validate the name of a user or a session; raises `QuestionError`."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise QuestionError(
            f"{kind} not usable: {str(name)[:80]!r}; use up to 64 letters, digits, dots, dashes, "
            "underscores and at signs"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Message of a conversation.

    `at` is ISO 8601 in UTC; `cited` is what of an answer later prompts are shown.
    """

    role: Role
    text: str
    at: str
    cited: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Statement of a user about themselves: `document_text[start:end] == text`.

    `valid_from` is the ISO date of the turn. `superseded_by` is the id of the later fact that
    replaces it; None while it is current. `slot` names what it is about, empty where nothing
    can replace it.
    """

    id: str
    kind: FactKind
    text: str
    session: str
    document_id: str
    start: int
    end: int
    valid_from: str
    slot: str = ""
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """Short-term memory of a closed part of a session; at most 500 characters and 3 topics."""

    session: str
    document_id: str
    summary: str
    topics: tuple[str, ...]
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Session with its name, and when it was begun, ISO 8601 in UTC; empty where not known."""

    session: str
    name: str = ""
    begun: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDocument:
    """Conversation document of a user; `text` holds one message a line."""

    id: str
    session: str
    date: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOverview:
    """Everything that is held of a user or of one of their sessions; lists are oldest first."""

    user: str
    sessions: tuple[str, ...]
    open: Mapping[str, Sequence[Message]]
    summaries: tuple[SessionSummary, ...]
    facts: tuple[Fact, ...]
    documents: tuple[MemoryDocument, ...]
