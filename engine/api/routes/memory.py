"""Memory of the caller: sessions, facts, search, and forgetting.

The user is the token's. Only a server that asks for no token takes one from the request.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from ...memory.records import Conversation, Fact, MemoryOverview, SessionSummary
from ...types import Passage
from ..auth import memory_user
from ..jobs import Caller, ServiceHere
from ..schemas import Passages, Wanted

router = APIRouter(prefix="/v1/memory", tags=["memory"])
User = Annotated[
    str | None,
    Query(max_length=64, description="Whose memory, where the server asks for no token."),
]
_Name = Annotated[str, Field(max_length=64)]


class MemoryListing(BaseModel):
    """Sessions and their names (newest first), the latest summaries, and facts of a user."""

    user: str
    sessions: list[str]
    conversations: list[Conversation]
    summaries: list[SessionSummary]
    facts: list[Fact]


class MemorySearch(Wanted):
    """Search of memory."""

    question: str = Field(min_length=1, max_length=4_000)
    top_k: int | None = Field(None, ge=1, le=50)
    topic: str = Field("", max_length=64)
    at: str | None = Field(None, max_length=40, description="When it is asked, ISO 8601; now.")


class MemoryMessage(Wanted):
    """Message of a conversation; system prompts and tool output are dropped."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = Field(max_length=40_000)


class MemoryMessages(Wanted):
    """Messages of one session, oldest first."""

    session: _Name = "default"
    messages: list[MemoryMessage] = Field(min_length=1, max_length=1_000)
    at: str | None = Field(None, max_length=40, description="When, ISO 8601; now by default.")


class SessionName(Wanted):
    """Name of a session."""

    name: str = Field(min_length=1, max_length=400)


class Stored(BaseModel):
    """Number of messages that were stored."""

    stored: int


@router.get("", summary="What is remembered")
async def list_memory(service: ServiceHere, caller: Caller, user: User = None) -> MemoryListing:
    """List the sessions, the latest summaries, and the facts of the caller."""
    owner, memory = memory_user(caller, user), service.engine.memory

    def look() -> MemoryListing:
        return MemoryListing(
            user=owner,
            sessions=memory.sessions(owner),
            conversations=memory.conversations(owner),
            summaries=memory.summaries(owner),
            facts=memory.facts(owner),
        )

    return await service.looking.run(look)


@router.get("/export", summary="Export memory")
async def export_memory(
    service: ServiceHere,
    caller: Caller,
    session: Annotated[str | None, Query(max_length=64)] = None,
    user: User = None,
) -> MemoryOverview:
    """Return everything that is held of the caller, or of one session."""
    owner = memory_user(caller, user)
    return await service.looking.run(partial(service.engine.memory.show, owner, session))


@router.post("/search", summary="Search memory")
async def search_memory(
    service: ServiceHere, caller: Caller, wanted: MemorySearch, user: User = None
) -> Passages:
    """Return what the caller said that is nearest to a question, best first."""
    owner = memory_user(caller, user)
    found: list[Passage] = await service.asking.run(
        partial(
            service.engine.memory.search,
            owner,
            wanted.question,
            top_k=wanted.top_k,
            topic=wanted.topic,
            at=wanted.at,
        )
    )
    return Passages(items=found)


@router.post("/messages", summary="Remember messages")
async def add_messages(
    service: ServiceHere, caller: Caller, wanted: MemoryMessages, user: User = None
) -> Stored:
    """Store messages of a conversation of the caller."""
    owner = memory_user(caller, user)
    said = [(message.role, message.content) for message in wanted.messages]
    work = partial(
        service.engine.memory.remember, owner, said, session=wanted.session, at=wanted.at
    )
    return Stored(stored=await service.asking.run(work))


@router.post("/sessions/{session}/close", summary="Close a session", status_code=204)
async def close_session(
    service: ServiceHere, caller: Caller, session: str, user: User = None
) -> None:
    """Compress a session of the caller into a document, a summary and facts."""
    owner = memory_user(caller, user)
    await service.asking.run(partial(service.engine.memory.close_session, owner, session))


@router.put("/sessions/{session}", summary="Name a session", status_code=204)
async def name_session(
    service: ServiceHere, caller: Caller, session: str, wanted: SessionName, user: User = None
) -> None:
    """Give a session of the caller a name."""
    owner = memory_user(caller, user)
    await service.asking.run(
        partial(service.engine.memory.name_session, owner, session, wanted.name)
    )


@router.delete("", summary="Forget", status_code=204)
async def forget(
    service: ServiceHere,
    caller: Caller,
    session: Annotated[str | None, Query(max_length=64)] = None,
    fact: Annotated[str | None, Query(max_length=64)] = None,
    user: User = None,
) -> None:
    """Forget a fact, a session, or without either everything of the caller, for good."""
    owner = memory_user(caller, user)
    await service.asking.run(
        partial(service.engine.memory.forget, owner, session=session, fact=fact)
    )
