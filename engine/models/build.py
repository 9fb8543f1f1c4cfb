"""Settings to model objects: the only place that branches on which provider serves a model.

Building is cheap and silent: nothing is loaded, and nothing is sent before the first call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..settings import EmbeddingSettings, LlmSettings

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

_EMBEDDING_TIMEOUT_SECONDS = 60.0
_EMBEDDING_RETRIES = 2


def build_embedding(
    settings: EmbeddingSettings, environment: Mapping[str, str] | None = None
) -> BaseEmbedding | None:
    """The embedding that the settings ask for; `None` where they ask for none.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    match settings.kind:
        case "none":
            return None
        case "bundled":
            from .minilm import BundledEmbedding

            return BundledEmbedding(
                quantise=settings.quantise,
                embed_batch_size=settings.batch_size,
                environment=environment,
            )
        case "openai_like":
            from .endpoint import open_embedding, read_endpoint

            endpoint = read_endpoint(
                "embedding",
                os.environ if environment is None else environment,
                base_url=settings.base_url,
                model=settings.model,
                api_key_variable=settings.api_key_variable,
                timeout_seconds=_EMBEDDING_TIMEOUT_SECONDS,
                retries=_EMBEDDING_RETRIES,
            )
            return open_embedding(endpoint, batch_size=settings.batch_size)


def build_llm(settings: LlmSettings, environment: Mapping[str, str] | None = None) -> LLM | None:
    """The language model that the settings ask for; `None` where they ask for none.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    match settings.kind:
        case "none":
            return None
        case "openai_like":
            from .endpoint import open_llm, read_endpoint

            endpoint = read_endpoint(
                "llm",
                os.environ if environment is None else environment,
                base_url=settings.base_url,
                model=settings.model,
                api_key_variable=settings.api_key_variable,
                timeout_seconds=settings.timeout_seconds,
                retries=settings.retries,
            )
            return open_llm(
                endpoint,
                context_window_tokens=settings.context_window_tokens,
                max_output_tokens=settings.max_output_tokens,
            )


def identity_of(model: BaseEmbedding | LLM) -> str:
    """Names a model: what two of other names made must never be compared or taken for the same.

    The model's own `identity` where it has one, else its class and the model's name.
    """
    own = getattr(model, "identity", None)
    if isinstance(own, str):
        return own
    name = getattr(model, "model_name", None) or getattr(model, "model", "")
    return f"{model.class_name()}/{name}"
