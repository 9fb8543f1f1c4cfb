"""Fields of LlamaIndex chat responses: token usage and finish reason.

Each vendor puts these elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .naming import model_name_of

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.core.llms import LLM


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderUsage:
    """Token usage reported by a server; `cached` and `written` are part of the prompt.

    They are those that it had kept from calls before, and those that it keeps from now on.
    """

    prompt_tokens: int
    completion_tokens: int
    cached: int = 0
    written: int = 0


UNFINISHED = "unfinished"
CUT_SHORT = frozenset({"length", "max_tokens", "MAX_TOKENS"})
_COUNTS = (
    ("prompt_tokens", "completion_tokens"),
    ("input_tokens", "output_tokens"),
    ("prompt_eval_count", "eval_count"),
)
"""Usage fields of OpenAI-like servers, Anthropic and Ollama."""
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens")
"""Cache-hit fields of Anthropic and DeepSeek; others report it in details."""
_WRITTEN = "cache_creation_input_tokens"


def name_of(llm: LLM) -> str:
    """Return a model's name and address for messages."""
    name = f"language model {model_name_of(llm)!r}"
    url = getattr(llm, "api_base", None) or getattr(llm, "base_url", None)
    # A URL of the user's own making might carry a secret in front of an @ or behind a ?.
    return f"{name} at {url}" if isinstance(url, str) and not {"@", "?"} & set(url) else name


def usage_from_response(response: ChatResponse) -> ProviderUsage | None:
    """Return the usage that the reply reports, if any."""
    raw = response.raw
    usage = _get(raw, "usage")
    places = (response.additional_kwargs, raw, usage)
    for place in places:
        for prompt_name, completion_name in _COUNTS:
            prompt, completion = _get(place, prompt_name), _get(place, completion_name)
            if _is_count(prompt) and _is_count(completion) and prompt + completion > 0:
                return _with_kept(prompt, completion, usage)
    return None


def _with_kept(prompt: int, completion: int, usage: object) -> ProviderUsage:
    """Add cache hits: Anthropic counts them outside the prompt, others inside.

    More than the prompt itself is no count of it.
    """
    details = _get(usage, "prompt_tokens_details")
    told = (_get(details, "cached_tokens"), *(_get(usage, name) for name in _CACHED))
    cached = next((count for count in told if _is_count(count)), 0)
    written = _get(usage, _WRITTEN)
    if _is_count(written) or _is_count(_get(usage, _CACHED[0])):
        written = written if _is_count(written) else 0
        prompt += cached + written
    else:
        cached, written = min(cached, prompt), 0
    return ProviderUsage(
        prompt_tokens=prompt, completion_tokens=completion, cached=cached, written=written
    )


def finish_of(response: ChatResponse) -> str | None:
    """Return the finish reason; `UNFINISHED` while streaming, None if not reported."""
    raw = response.raw
    choices = _get(raw, "choices")
    if choices:
        return _get(choices[0], "finish_reason") or UNFINISHED
    for name in ("stop_reason", "done_reason"):
        reason = _get(raw, name)
        if isinstance(reason, str):
            return reason
    return None


def _get(place: object, name: str) -> Any:
    if isinstance(place, Mapping):
        return place.get(name)
    return getattr(place, name, None)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
