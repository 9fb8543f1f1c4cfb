"""Calling a language model: the text, what it cost, and errors of our own tree.

Token counts are the server's where it gives them, else the tokeniser's (an estimate: every model
has its own). Knows nothing of prompts or of who is asking.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from ..errors import ModelOutputError
from ..types import Usage
from .failures import translated
from .response import UNFINISHED, finish_of, name_of, reported_usage

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.llms import LLM


class _Counter(Protocol):
    def count(self, text: str) -> int: ...


class UsageMeter:
    """Adds up what the calls made through it cost. Safe to share by threads."""

    def __init__(self, tokeniser: _Counter | None = None) -> None:
        self._tokeniser = tokeniser
        self._lock = threading.Lock()
        self._total = Usage()

    @property
    def total(self) -> Usage:
        """All calls so far, failed ones that cost nothing left out."""
        return self._total

    def complete(self, llm: LLM, messages: Sequence[ChatMessage]) -> tuple[str, Usage]:
        """The model's whole answer, stripped and never empty, and what this call cost.

        Raises:
            ModelUnavailable: no connection, no answer in time, or refused (401, 429, 5xx, …)
                after the client's own retries.
            ModelOutputError: not a reply of the protocol, or an empty one (it is still counted).
        """
        name = name_of(llm)
        with translated(name):
            response = llm.chat(list(messages))
            text = (response.message.content or "").strip()
        usage = self._add(messages, text, reported=reported_usage(response))
        if not text:
            raise _empty(name, finish=finish_of(response))
        return text, usage

    def stream(self, llm: LLM, messages: Sequence[ChatMessage]) -> Iterator[str]:
        """The answer piece by piece; counted when it ends, also when it is abandoned.

        Raises:
            ModelUnavailable: as `complete`; also in the middle, after pieces were given.
            ModelOutputError: nothing came, or the stream ended without saying that it was done.
        """
        name = name_of(llm)
        pieces: list[str] = []
        reported: Usage | None = None
        finish: str | None = None
        try:
            with translated(name):
                replies = iter(llm.stream_chat(list(messages)))
            while True:
                with translated(name):
                    response = next(replies, None)
                if response is None:
                    break
                reported = reported_usage(response) or reported
                finish = finish_of(response) or finish
                if response.delta:
                    pieces.append(response.delta)
                    yield response.delta
        finally:
            # A refused call costs nothing; one that was answered in part does.
            if pieces or reported or finish:
                self._add(messages, "".join(pieces), reported=reported)
        if finish is None and reported is None and not pieces:
            raise ModelOutputError(
                f"{name} sent something that is not a reply of its protocol: a stream of nothing"
            )
        if not "".join(pieces).strip():
            raise _empty(name, finish=finish)
        if finish == UNFINISHED:
            raise ModelOutputError(f"{name} broke off in the middle of its answer: ask again")

    def _add(self, messages: Sequence[ChatMessage], text: str, *, reported: Usage | None) -> Usage:
        usage = reported or Usage(
            calls=1,
            prompt_tokens=sum(self._count(message.content or "") for message in messages),
            completion_tokens=self._count(text),
        )
        with self._lock:
            total = self._total
            self._total = Usage(
                calls=total.calls + usage.calls,
                prompt_tokens=total.prompt_tokens + usage.prompt_tokens,
                completion_tokens=total.completion_tokens + usage.completion_tokens,
            )
        return usage

    def _count(self, text: str) -> int:
        if self._tokeniser is None:
            from .tokeniser import load_tokeniser

            self._tokeniser = load_tokeniser()
        return self._tokeniser.count(text)


def _empty(name: str, *, finish: str | None) -> ModelOutputError:
    advice = "raise max_output_tokens" if finish == "length" else "ask again or use another model"
    return ModelOutputError(f"{name} gave an empty answer: {advice}")
