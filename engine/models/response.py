"""What a LlamaIndex chat response holds beside its text: token counts, and why it ended.

Each vendor puts these elsewhere. Knows nothing of how a response came about.
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
class Reported:
    """A server's own count of one call; `cached` and `written` are among the prompt's tokens.

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
"""How OpenAI-like servers, Anthropic and Ollama name them."""
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens")
"""How Anthropic and DeepSeek name what they had kept; others have it among details."""
_WRITTEN = "cache_creation_input_tokens"


def name_of(llm: LLM) -> str:
    """How messages name a model: what it is called, and where it is served."""
    name = f"language model {model_name_of(llm)!r}"
    url = getattr(llm, "api_base", None) or getattr(llm, "base_url", None)
    # A URL of the user's own making might carry a secret in front of an @ or behind a ?.
    return f"{name} at {url}" if isinstance(url, str) and not {"@", "?"} & set(url) else name


def reported_usage(response: ChatResponse) -> Reported | None:
    """The server's own count of one call, where the reply carries one."""
    raw = response.raw
    usage = _get(raw, "usage")
    places = (response.additional_kwargs, raw, usage)
    for place in places:
        for prompt_name, completion_name in _COUNTS:
            prompt, completion = _get(place, prompt_name), _get(place, completion_name)
            if _is_count(prompt) and _is_count(completion) and prompt + completion > 0:
                return _with_kept(prompt, completion, usage)
    return None


def _with_kept(prompt: int, completion: int, usage: object) -> Reported:
    """With what the server kept of prompts: Anthropic counts that beside the prompt, others in it.

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
    return Reported(
        prompt_tokens=prompt, completion_tokens=completion, cached=cached, written=written
    )


def finish_of(response: ChatResponse) -> str | None:
    """Why a reply ended, `UNFINISHED` while it goes on; None where the vendor does not say."""
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
