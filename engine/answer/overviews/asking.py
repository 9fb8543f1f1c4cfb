"""Asking a language model several things at once: replies in order, some of which may be errors.

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
    """What a model said and what that cost."""

    @property
    def text(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def usage(self) -> Usage: ...  # noqa: D102


class AskMany(Protocol):
    """A stage (`map`, `answers`) and prompts to what became of each, in their order."""

    def __call__(
        self, stage: str, prompts: Sequence[Prompt], *, tell: Callable[[str], None] | None = None
    ) -> Sequence[Reply | ModelError]:
        """The replies; `tell` hears the one reply to a single prompt as it is written."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a round of calls brought: the text of each reply, None where the call failed.

    `failures` holds the reasons, each once, in the order of the calls; `failed` counts calls.
    `too_long` are the places of those that did not fit into the model's window.
    """

    texts: tuple[str | None, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failed: int = 0
    failures: tuple[str, ...] = ()
    too_long: tuple[int, ...] = ()


def ask_round(
    ask_many: AskMany,
    stage: str,
    prompts: Sequence[Prompt],
    *,
    divisible: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Round:
    """Ask all prompts at once; `tell` hears the reply where there is but one.

    With `divisible`, the caller asks again in parts what was too long: that alone is no error.

    Raises:
        ModelError: the first call's error, where every call failed.
    """
    replies = ask_many(stage, prompts, tell=tell) if prompts else ()
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
    return Round(
        texts=tuple(texts),
        usage=usage,
        failed=len(errors),
        failures=tuple(dict.fromkeys(str(error) for error in errors)),
        too_long=tuple(too_long),
    )
