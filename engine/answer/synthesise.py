"""Answer synthesis by a language model: packed context in, verified text out.

Two pure halves, `synthesis_messages` and `read_synthesis`, with the call between them. Knows no
model: `complete` comes by argument, takes chat messages and gives the reply with what it cost; so
does `check`, which makes the draft of a reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ..types import Usage
from .draft import Draft, abstain
from .language import ABSTENTION, language_of
from .packing.pack import PackedContext
from .prompts import chat_messages
from .spoken import strip_markers

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

Complete = Callable[[Sequence["ChatMessage"]], tuple[str, Usage]]


class Check(Protocol):
    """Makes the draft of a reply whose marks `[n]` name `packed.passages[n - 1]`."""

    def __call__(
        self, question: str, packed: PackedContext, *, reply: str, usage: Usage
    ) -> Draft: ...


def synthesise(
    question: str, packed: PackedContext, *, complete: Complete, check: Check, earlier: str = ""
) -> Draft:
    """Generate an answer from the packed context; abstain without sources or call.

    `earlier` is what was said before, which the model is shown but cannot cite.
    Errors of `complete` pass through unchanged.
    """
    if not packed.passages:
        return abstain(language_of(question), detail="no sources")
    reply, usage = complete(synthesis_messages(question, packed, earlier=earlier))
    return read_synthesis(question, packed, reply=reply, usage=usage, check=check)


def synthesis_messages(
    question: str, packed: PackedContext, *, earlier: str = ""
) -> tuple[ChatMessage, ...]:
    """Build the messages: constant instructions, then sources and question."""
    return chat_messages(
        "answer",
        language=language_of(question),
        context=packed.text,
        question=question,
        earlier=earlier,
    )


def read_synthesis(
    question: str, packed: PackedContext, *, reply: str, usage: Usage, check: Check
) -> Draft:
    """Build the draft of a reply; an abstention is detected before verification."""
    language = language_of(question)
    if not reply.strip():
        return abstain(language, detail="the model replied nothing", usage=usage)
    if is_abstention(reply):
        return abstain(language, detail="the model found no answer in the sources", usage=usage)
    return check(question, packed, reply=reply, usage=usage)


def is_abstention(reply: str) -> bool:
    """Check whether the reply is only the abstention sentence."""
    said = strip_markers(reply)
    return any(strip_markers(sentence) == said for sentence in ABSTENTION.values())
