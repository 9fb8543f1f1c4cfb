"""A model's response: usage, finish reason, text without reasoning, identity of the model.

Each vendor puts these elsewhere; answers of two models are never taken for one another's.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.core.llms import LLM

    from ..embeddings.embedding_model import EmbeddingModel

_DECISIVE = (
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "system_prompt",
    "reasoning_effort",
    "thinking",
    "thinking_dict",
    "additional_kwargs",
    "generate_kwargs",
    "model_kwargs",
)
"""Fields besides the model name that decide its answers."""

_NO_MATTER = frozenset({"stream_options", "max_tokens", "num_predict", "extra_headers", "timeout"})


def identity_of(model: EmbeddingModel | LLM) -> str:
    """Return a model identity; different identities must never share vectors or answers.

    The model's own `identity` where it has one, else its class and the model's name.
    """
    own = getattr(model, "identity", None)
    if isinstance(own, str):
        return own
    name = getattr(model, "model_name", None) or getattr(model, "model", "")
    return f"{model.class_name()}/{name}"


def model_name_of(llm: LLM) -> str:
    """Return the name of a model.

    Its own field, since `metadata` of some models asks their server for the window.
    """
    for field in ("model_name", "model"):
        name = getattr(llm, field, None)
        if isinstance(name, str) and name:
            return name
    return llm.metadata.model_name


def answering_identity(llm: LLM) -> str:
    """Return `identity_of` plus a digest of unusual generation parameters.

    Usual is a temperature of 0 and nothing else. Where it is served does not count. The mark is a
    hash: parameters may hold what is nobody's business.
    """
    decisive = {}
    for name in _DECISIVE:
        value = getattr(llm, name, None)
        if isinstance(value, dict):
            value = {key: value[key] for key in sorted(value) if key not in _NO_MATTER}
        if value:
            decisive[name] = value
    if not decisive:
        return identity_of(llm)
    text = json.dumps(decisive, sort_keys=True, ensure_ascii=False, default=_by_kind)
    mark = hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()[:8]
    return f"{identity_of(llm)}#{mark}"


def _by_kind(value: Any) -> str:
    """Objects have no text that is the same tomorrow; their class has."""
    return type(value).__qualname__


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


def finish_reason_of(response: ChatResponse) -> str | None:
    """Return a model response's finish reason; `UNFINISHED` while streaming, None if unknown."""
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


_NAMES = "think|thinking|thought|reasoning"
_OPEN = re.compile(rf"\s*<({_NAMES})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_NAMES})>", re.IGNORECASE)
_LONGEST_TAG = len("</reasoning>")
_BEGINNINGS = tuple(f"<{name}>" for name in _NAMES.split("|"))


def strip_reasoning(text: str) -> str:
    """Return the answer without reasoning, stripped; empty if reasoning has no end.

    A thought stands before the answer. Its opening tag may be missing (the prompt of some models
    ends with it), so everything before a closing tag without an opening one is a thought too.
    """
    while match := _OPEN.match(text):
        close = _CLOSE.search(text, match.end())
        if close is None:
            return ""
        text = text[close.end() :]
    orphan = _CLOSE.search(text)
    if orphan is not None and _opening_before(text, orphan.start()) is None:
        text = text[orphan.end() :]
    return text.strip()


def _opening_before(text: str, end: int) -> re.Match[str] | None:
    return re.compile(rf"<(?:{_NAMES})>", re.IGNORECASE).search(text, 0, end)


def stream_without_thoughts(pieces: Iterator[str]) -> Iterator[str]:
    """Stream an answer without its reasoning; no piece is empty.

    What has been given cannot be taken back: a closing tag without an opening one is left.
    """
    held = ""
    for piece in pieces:
        held += piece
        while match := _OPEN.match(held):
            close = _CLOSE.search(held, match.end())
            if close is None:
                # Of a thought only what may be the beginning of its end is still of use.
                held = match.group() + held[match.end() :][-_LONGEST_TAG:]
                break
            held = held[close.end() :]
        else:
            begun = held.lstrip().lower()
            if begun and not any(tag.startswith(begun) for tag in _BEGINNINGS):
                yield held
                yield from pieces
                return
    if held.strip() and not _OPEN.match(held):
        yield held
