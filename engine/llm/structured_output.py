"""Structured output in each vendor's dialect, and what a server was learned not to support.

The schema is also said in the prompt, for models that cannot be held to one. LlamaIndex's classes
are known by name, so that none of them must be installed. Safe to share by threads.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.llms import LLM

Level = Literal["schema", "json", "none"]
NEXT_LEVEL: Mapping[Level, Level] = {"schema": "json", "json": "none"}
"""Fallback level after a server refuses one."""

_REFUSED_WORDS = (
    "response_format",
    "response format",
    "json_schema",
    "json_object",
    "json mode",
    "json schema",
    "structured output",
    "guided",
    "grammar",
)


def refuses_format(message: str) -> bool:
    """Check whether a refusal is about the response format."""
    said = message.lower()
    return any(word in said for word in _REFUSED_WORDS)


def model_families(llm: LLM) -> frozenset[str]:
    """Return the names of a LlamaIndex model's class and of all its base classes."""
    return frozenset(base.__name__ for base in type(llm).__mro__)


def supports_json_schema(llm: LLM) -> bool:
    """Check whether this kind of model supports a JSON schema."""
    return bool(model_families(llm) & {"OpenAI", "Ollama", "GgufModel"})


def format_arguments(llm: LLM, schema: Mapping[str, Any] | None, *, level: Level) -> dict[str, Any]:
    """Return the arguments that enforce a schema at this level; empty if unsupported."""
    if schema is None or level == "none":
        return {}
    kinds = model_families(llm)
    if "Ollama" in kinds:
        return {"format": dict(schema) if level == "schema" else "json"}
    if not kinds & {"OpenAI", "GgufModel"}:
        return {}
    if level == "json":
        return {"response_format": {"type": "json_object"}}
    name = str(schema.get("title", "answer"))
    body = {
        "name": "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:64],
        "schema": _canonical(schema),
        "strict": is_strict(schema),
    }
    return {"response_format": {"type": "json_schema", "json_schema": body}}


def marked_instructions(llm: LLM, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """Return the arguments that make Anthropic cache the instructions.

    They are the same in every call of a stage; what it kept costs a tenth. LlamaIndex says nothing
    of instructions to be kept, so they are put in place of its own. What is too short to be kept
    (about 1,000 tokens) the vendor passes over. Others keep beginnings unasked.
    """
    told = [message.content for message in messages if message.role == "system"]
    if "Anthropic" not in model_families(llm) or not any(told):
        return {}
    text = "\n".join(one for one in told if one)
    kept = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    return {"extra_body": {"system": [kept]}}


def _canonical(schema: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = _parsed(json.dumps(schema, ensure_ascii=False))
    return plain


@lru_cache(maxsize=32)
def _parsed(text: str) -> Any:
    return json.loads(text)


def is_strict(schema: Any) -> bool:
    """Check whether every object of the schema is closed and requires all its fields.

    OpenAI refuses a schema that is sent as strict and is not.
    """
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != names:
            return False
    return all(is_strict(value) for value in schema.values())


def default_context_window(llm: LLM) -> int | None:
    """Return the prompt tokens a server reads before it truncates silently.

    None where it does say something, or where the window is not known.
    """
    window = getattr(llm, "context_window", None)
    if "Ollama" not in model_families(llm) or not isinstance(window, int) or window <= 0:
        return None
    return window


def with_longest_answer(
    llm: LLM, max_output_tokens: int, *, uses_max_completion_tokens: bool = False
) -> LLM:
    """Return the same model without retries of its own and with an answer limit.

    A copy that shares the connection; the model that was given is left as it is. Models that have
    no such field are returned unchanged. `uses_max_completion_tokens`
    selects OpenAI's newer name of that field.
    """
    fields = type(llm).model_fields
    changes: dict[str, Any] = {}
    if uses_max_completion_tokens and "OpenAI" in model_families(llm):
        own = dict(getattr(llm, "additional_kwargs", {}))
        limit = {"max_completion_tokens": max_output_tokens}
        changes |= {"max_tokens": None, "additional_kwargs": own | limit}
    elif "max_tokens" in fields:
        changes["max_tokens"] = max_output_tokens
    elif "Ollama" in model_families(llm):
        own = dict(getattr(llm, "additional_kwargs", {}))
        changes["additional_kwargs"] = own | {"num_predict": max_output_tokens}
    elif "LlamaCPP" in model_families(llm):
        own = dict(getattr(llm, "generate_kwargs", {}))
        changes["generate_kwargs"] = own | {"max_tokens": max_output_tokens}
    if "max_retries" in fields:
        changes["max_retries"] = 0
    if not changes:
        return llm
    copy: LLM = llm.model_copy(update=changes)
    client = getattr(copy, "_client", None)
    if client is not None and hasattr(client, "with_options"):
        copy._client = client.with_options(max_retries=0)  # type: ignore[attr-defined]
    return copy


_HIGHEST_RATIO = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDialect:
    """Request dialect that a server accepts.

    `level`: how answers are held to a schema. `uses_max_completion_tokens`: the longest
    answer is called
    `max_completion_tokens`. `rejects_temperature`: the model takes no temperature but its own.
    `uses_cache_control`: where a vendor keeps what is marked for that, instructions are.
    """

    level: Level
    uses_max_completion_tokens: bool = False
    rejects_temperature: bool = False
    uses_cache_control: bool = True


class ServerCapabilities:
    """Of one model's server.

    Args:
        level: how answers are held to a schema at first.
        goes_down: whether another level is tried where the server refuses.
    """

    def __init__(self, level: Level, *, goes_down: bool) -> None:
        self._manner = RequestDialect(level=level)
        self._goes_down = goes_down
        self._ratio = 1.0
        self._lock = threading.Lock()

    @property
    def manner(self) -> RequestDialect:
        """Return the present request dialect."""
        return self._manner

    def refused(self, manner: RequestDialect, message: str, *, with_schema: bool) -> bool:
        """Record a refusal; return whether another dialect is left to try."""
        other = self._other(manner, message.lower(), with_schema=with_schema)
        with self._lock:
            if self._manner == manner and other is not None:
                self._manner = other
        return other is not None

    def _other(
        self, manner: RequestDialect, said: str, *, with_schema: bool
    ) -> RequestDialect | None:
        if "max_completion_tokens" in said and not manner.uses_max_completion_tokens:
            return replace(manner, uses_max_completion_tokens=True)
        if "temperature" in said and not manner.rejects_temperature:
            return replace(manner, rejects_temperature=True)
        if "cache_control" in said and manner.uses_cache_control:
            return replace(manner, uses_cache_control=False)
        below = NEXT_LEVEL.get(manner.level)
        if with_schema and self._goes_down and below is not None and refuses_format(said):
            return replace(manner, level=below)
        return None

    def tokens(self, counted: int) -> int:
        """Return an upper bound of the model's tokens from our own count.

        Every model has a tokeniser of its own; the highest ratio that was reported so far counts,
        and before the first answer our own count does.
        """
        return -int(-counted * self._ratio // 1)

    def reported(self, tokens: int, *, counted: int) -> None:
        """Record the server's token count where we counted `counted`."""
        if counted > 0:
            with self._lock:
                self._ratio = max(self._ratio, min(tokens / counted, _HIGHEST_RATIO))
