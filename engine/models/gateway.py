"""The one way to a language model: break control tokens → count → cache → budget → retry → rate
limit → call.

Whoever asks gets an answer without thoughts and never empty, what it cost, or one `ModelError`;
every call is booked by day, stage and model, also when its caller fails later.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..types import Usage
from .bill import CostAccount, Counter
from .budget import Budget
from .control_tokens import broken, restored
from .learned import ServerCapabilities
from .line import LLMReply, LLMRequest, LLMTransport
from .naming import answering_identity, model_name_of
from .prices import Price
from .structured import Level, supports_json_schema

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, TextBlock
    from llama_index.core.llms import LLM

    from ..index.door import Prompt
    from ..index.ledger import UsageLog

__all__ = ["LLMClient", "LLMReply"]

_MESSAGE_TOKENS = 8
"""Maximum tokens that a chat template adds to a message."""


class LLMClient:
    """One per engine and model. Safe to share by threads.

    Args:
        llm: any LlamaIndex model; it is asked through copies that do not try again by themselves.
        budget: shared by all gateways of an engine.
        ledger: where calls are booked and answers kept; None does neither.
        tokeniser: counts where the server does not, and before a call.
        price: what the model costs; None is not known.
        retries: how often a call that failed and may pass is made again.
        concurrency: calls at a time.
        requests_per_minute: evenly spaced; None is no limit.
        structured: how answers are held to a schema.
        max_output_tokens: bounds what `chat` and `stream` answer.
        timeout_seconds: for a whole call, whatever it drips; None leaves it to the model's client.
        seed: of the jitter between retries.

    Raises:
        SettingsError: cost is limited and the model's price is not known.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        budget: Budget,
        ledger: UsageLog | None = None,
        tokeniser: Counter | None = None,
        price: Price | None = None,
        retries: int = 4,
        concurrency: int = 4,
        requests_per_minute: float | None = None,
        structured: Literal["auto", "schema", "json", "none"] = "auto",
        max_output_tokens: int = 1_024,
        timeout_seconds: float | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model_name_of(llm)
        self.identity = answering_identity(llm)
        self.concurrency = concurrency
        self.price = price
        self._ledger = ledger
        self._max_output_tokens = max_output_tokens
        level: Level = "schema" if structured == "auto" else structured
        learned = ServerCapabilities(
            level if supports_json_schema(llm) else "none", goes_down=structured == "auto"
        )
        self._learned = learned
        self._line = LLMTransport(
            llm,
            learned=learned,
            retries=retries,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            timeout_seconds=timeout_seconds,
            seed=seed,
        )
        self._bill = CostAccount(
            self.model,
            budget=budget,
            ledger=ledger,
            tokeniser=tokeniser,
            price=price,
            learned=learned,
        )
        # Instructions and schemas are the same in many requests.
        self._count_again = lru_cache(maxsize=16)(self._bill.count)

    @property
    def context_window(self) -> int:
        """Context window in tokens, as the model reports it.

        Raises:
            ModelUnavailable: it has to ask its server for that, which does not answer.
        """
        return self._line.context_window()

    @property
    def sends_schema(self) -> bool:
        """Whether a request holds the schema that its answer is to have."""
        return self._learned.manner.level == "schema"

    @property
    def max_output_tokens(self) -> int:
        """The longest answer to `chat`."""
        return self._max_output_tokens

    @property
    def total(self) -> Usage:
        """All calls so far; those that were refused cost nothing and are left out."""
        return self._bill.total

    def apart(self) -> LLMClient:
        """Return the same client with a scoped usage total.

        What it spends counts for this one too.
        """
        part = copy.copy(self)
        part._bill = self._bill.apart()
        return part

    # --- asking -----------------------------------------------------------------------------

    def ask(
        self,
        prompt: Prompt,
        *,
        stage: str,
        keep: bool = False,
        on_event: Callable[[str], None] | None = None,
    ) -> LLMReply:
        """Answer a prompt.

        Args:
            prompt: what is asked, the longest answer, and the schema that it is held to.
            stage: what it is booked under.
            keep: whether the answer is kept in the library for the next time, and taken from there.
            on_event: hears the answer's pieces as the model speaks; what it raises ends the call.

        Raises:
            BudgetExceeded: before the call, which could have exceeded the budget.
            ModelInputTooLong: the prompt does not fit into the model's window.
            ModelUnavailable: no connection, no answer in time, or refused, after all retries.
            ModelOutputError: not a reply of the protocol, or nothing in it.
        """
        from llama_index.core.base.llms.types import ChatMessage

        messages = [ChatMessage(role="user", content=prompt.user)]
        if prompt.system:
            messages.insert(0, ChatMessage(role="system", content=prompt.system))
        request = self._request(
            messages,
            stage=stage,
            max_output_tokens=prompt.max_output_tokens,
            schema=prompt.schema,
        )
        return self._answer(request, keep=keep, on_event=on_event)

    def chat(
        self,
        messages: Sequence[ChatMessage],
        *,
        stage: str,
        keep: bool = False,
        on_event: Callable[[str], None] | None = None,
    ) -> LLMReply:
        """Answer LlamaIndex chat messages; otherwise like `ask`."""
        return self._answer(self._request(messages, stage=stage), keep=keep, on_event=on_event)

    def stream(
        self, messages: Sequence[ChatMessage], *, stage: str, keep: bool = False
    ) -> Generator[str, None, LLMReply]:
        """Stream an answer; it is booked at its end, also when abandoned.

        Tried again only before anything came. A kept answer comes as one piece. What the generator
        returns is what `chat` would.

        Raises:
            ModelError: as `ask`; also in the middle, after pieces were given.
        """
        return self._streamed(self._request(messages, stage=stage), keep=keep)

    def unusable(self, stage: str) -> None:
        """Book a reply that could not be used as failed."""
        self._bill.book(stage, Usage(), failed=1)

    def _request(
        self,
        messages: Sequence[ChatMessage],
        *,
        stage: str,
        max_output_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> LLMRequest:
        quoted: dict[str, str] = {}
        messages = [_without_control_tokens(message, quoted) for message in messages]
        counted = sum(self._counted(message) for message in messages)
        if schema is not None:
            counted += self._count_again(json.dumps(schema, ensure_ascii=False)) + _MESSAGE_TOKENS
        return LLMRequest(
            messages=tuple(messages),
            stage=stage,
            max_output_tokens=max_output_tokens or self._max_output_tokens,
            schema=schema,
            counted=counted,
            quoted=quoted,
        )

    def _counted(self, message: ChatMessage) -> int:
        count = self._count_again if message.role == "system" else self._bill.count
        return count(message.content or "") + _MESSAGE_TOKENS

    # --- kept answers -----------------------------------------------------------------------

    def _answer(
        self, request: LLMRequest, *, keep: bool, on_event: Callable[[str], None] | None
    ) -> LLMReply:
        pieces = self._streamed(request, keep=keep, whole=on_event is None)
        with closing(pieces):
            while True:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    reply: LLMReply = end.value
                    return replace(reply, text=restored(reply.text, request.quoted))
                if on_event is not None:
                    on_event(piece)

    def _streamed(
        self, request: LLMRequest, *, keep: bool, whole: bool = False
    ) -> Generator[str, None, LLMReply]:
        """Stream an answer in pieces, or in one with `whole`, which may be retried."""
        ledger = self._ledger if keep else None
        key, asked_in = "", 0
        if ledger is not None:
            key, asked_in = self._key(request), ledger.generation()
            kept = ledger.cached_reply(key)
            if kept is not None:
                self._bill.add(Usage(kept=1))
                yield kept
                return LLMReply(text=kept, usage=Usage(kept=1), kept=True)
        if whole:
            reply = self._line.whole(request, bill=self._bill)
        else:
            reply = yield from self._line.stream(request, bill=self._bill)
        if ledger is not None and not reply.cut_short:
            ledger.cache_reply(key, reply.text, usage=reply.usage, asked_in=asked_in)
        return reply

    def _key(self, request: LLMRequest) -> str:
        said = [[str(message.role), message.content or ""] for message in request.messages]
        parts = [self.identity, request.max_output_tokens, request.schema, said]
        text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()


def _without_control_tokens(message: ChatMessage, quoted: dict[str, str]) -> ChatMessage:
    """The message as a model may read it; `quoted` learns what was broken in it."""
    text, originals = broken(message.content or "")
    if not originals:
        return message
    quoted |= originals
    return message.model_copy(update={"blocks": [_text_block(text)]})


def _text_block(text: str) -> TextBlock:
    from llama_index.core.base.llms.types import TextBlock

    return TextBlock(text=text)
