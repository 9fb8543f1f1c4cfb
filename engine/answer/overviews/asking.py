"""Batched LLM calls: replies in order, some of which may be errors.

Who is asked, how often, and what that costs, others know; here is only what a round of questions
makes of failures: one of several is counted and named, all of them are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...errors import ModelError, ModelInputTooLong
from ...index.door import Prompt
from ...types import Usage


class Reply(Protocol):
    """LLM reply and its cost."""

    @property
    def text(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def usage(self) -> Usage: ...  # noqa: D102


class BatchLLM(Protocol):
    """A stage (`map`, `answers`) and prompts to what became of each, in their order."""

    def __call__(
        self,
        stage: str,
        prompts: Sequence[Prompt],
        *,
        on_event: Callable[[str], None] | None = None,
    ) -> Sequence[Reply | ModelError]:
        """Return the replies; `on_event` receives a single prompt's tokens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """Replies of one batch; None where a call failed.

    `failures` holds the reasons, each once, in the order of the calls; `failed` counts calls.
    `too_long` are the places of those that did not fit into the model's window.
    """

    texts: tuple[str | None, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failed: int = 0
    failures: tuple[str, ...] = ()
    too_long: tuple[int, ...] = ()


def call_batch(
    ask_many: BatchLLM,
    stage: str,
    prompts: Sequence[Prompt],
    *,
    divisible: bool = False,
    on_event: Callable[[str], None] | None = None,
) -> BatchResult:
    """Ask all prompts at once; `on_event` hears the reply where there is but one.

    With `divisible`, the caller asks again in parts what was too long: that alone is no error.

    Raises:
        ModelError: the first call's error, where every call failed.
    """
    replies = ask_many(stage, prompts, on_event=on_event) if prompts else ()
    errors = [reply for reply in replies if isinstance(reply, ModelError)]
    too_long = [n for n, reply in enumerate(replies) if isinstance(reply, ModelInputTooLong)]
    if errors and len(errors) == len(replies) and not (divisible and too_long):
        raise errors[0]
    usage = Usage()
    texts: list[str | None] = []
    for reply in replies:
        if isinstance(reply, ModelError):
            texts.append(None)
        else:
            usage = usage + reply.usage
            texts.append(reply.text)
    return BatchResult(
        texts=tuple(texts),
        usage=usage,
        failed=len(errors),
        failures=tuple(dict.fromkeys(str(error) for error in errors)),
        too_long=tuple(too_long),
    )
