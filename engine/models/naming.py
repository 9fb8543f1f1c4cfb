"""Names of models: what two of other names made must never be taken for the same.

Knows LlamaIndex's models by the fields that they usually have.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

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


def identity_of(model: BaseEmbedding | LLM) -> str:
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
