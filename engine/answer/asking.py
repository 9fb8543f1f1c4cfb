"""Asking a language model several things at once: replies in order, some of which may be errors.

Who is asked, how often, and what that costs, others know; here is only what a round of questions
makes of failures: one of several is counted and named, all of them are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..errors import ModelError
from ..index.door import Prompt
from ..index.side_by_side import side_by_side
from ..types import Usage

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from ..models.usage import UsageMeter


class Reply(Protocol):
    """What a model said and what that cost."""

    @property
    def text(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def usage(self) -> Usage: ...  # noqa: D102


AskMany = Callable[[str, Sequence[Prompt]], Sequence[Reply | ModelError]]
"""A stage (`map`, `answers`) and prompts to what became of each, in their order."""

CALLS_AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reply as a value."""

    text: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a round of calls brought: the text of each reply, None where the call failed.

    `failures` holds the reasons, each once, in the order of the calls; `failed` counts calls.
    """

    texts: tuple[str | None, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failed: int = 0
    failures: tuple[str, ...] = ()


def ask_round(ask_many: AskMany, stage: str, prompts: Sequence[Prompt]) -> Round:
    """Ask all prompts at once.

    Raises:
        ModelError: the first call's error, where every call failed.
    """
    replies = ask_many(stage, prompts) if prompts else ()
    errors = [reply for reply in replies if isinstance(reply, ModelError)]
    if errors and len(errors) == len(replies):
        raise errors[0]
    usage = Usage()
    texts: list[str | None] = []
    for reply in replies:
        if isinstance(reply, ModelError):
            texts.append(None)
        else:
            usage = usage + reply.usage
            texts.append(reply.text)
    return Round(
        texts=tuple(texts),
        usage=usage,
        failed=len(errors),
        failures=tuple(dict.fromkeys(str(error) for error in errors)),
    )


def asking(llm: LLM, meter: UsageMeter, *, calls_at_once: int = CALLS_AT_ONCE) -> AskMany:
    """A LlamaIndex language model as something that can be asked several things at once."""

    def one(prompt: Prompt) -> Said | ModelError:
        from llama_index.core.base.llms.types import ChatMessage, MessageRole

        messages = [
            ChatMessage(role=MessageRole.SYSTEM, content=prompt.system),
            ChatMessage(role=MessageRole.USER, content=prompt.user),
        ]
        try:
            text, usage = meter.complete(llm, messages)
        except ModelError as error:
            return error
        return Said(text=text, usage=usage)

    def numbered(item: tuple[int, Prompt]) -> tuple[int, Said | ModelError]:
        return item[0], one(item[1])

    def ask_many(_stage: str, prompts: Sequence[Prompt]) -> list[Reply | ModelError]:
        found = dict(side_by_side(enumerate(prompts), numbered, workers=calls_at_once))
        return [found[place] for place in range(len(prompts))]

    return ask_many
