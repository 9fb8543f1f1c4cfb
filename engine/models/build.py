"""Model factories: the only place that branches on the provider.

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

    from .endpoint import Endpoint

_EMBEDDING_TIMEOUT_SECONDS = 60.0
_EMBEDDING_RETRIES = 2


def build_embedding(
    settings: EmbeddingSettings, environment: Mapping[str, str] | None = None
) -> BaseEmbedding | None:
    """Build the configured embedding with its prefixes and dimensions.

    `None` where they ask for none.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    model = _bare_embedding(settings, environment)
    if model is None:
        return None
    from .prefixes import with_prefixes
    from .shorten import shortened

    model = with_prefixes(model, question=settings.query_prefix, passage=settings.passage_prefix)
    if settings.dimensions is None:
        return model
    return shortened(model, dimensions=settings.dimensions, force=settings.force_dimensions)


def build_chain(
    settings: EmbeddingSettings, environment: Mapping[str, str] | None = None
) -> list[BaseEmbedding]:
    """Build the configured embedding and its fallbacks, in order.

    Raises:
        SettingsError: as `build_embedding`.
        ModelUnavailable: as `build_embedding`.
    """
    first = build_embedding(settings, environment)
    others = [
        _bare_embedding(settings.model_copy(update={"kind": kind}), environment)
        for kind in settings.fallback
        if kind != settings.kind
    ]
    return [model for model in (first, *others) if model is not None] if first else []


def _bare_embedding(
    settings: EmbeddingSettings, environment: Mapping[str, str] | None = None
) -> BaseEmbedding | None:
    """Build the configured kind of embedding without wrappers.

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
        case "tfidf":
            from ..retrieve.tokens import TOKENS_VERSION, tokens
            from .tfidf import TfidfEmbedding

            return TfidfEmbedding(tokens=tokens, tokens_version=TOKENS_VERSION)
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
    """Build the configured language model; `None` if there is none.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        MissingExtra: what the kind needs is not installed.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    environment = os.environ if environment is None else environment
    match settings.kind:
        case "none":
            return None
        case "openai_like":
            from .endpoint import open_llm

            return open_llm(
                _llm_endpoint(settings, environment),
                context_window_tokens=settings.context_window_tokens,
                max_output_tokens=settings.max_output_tokens,
            )
        case "ollama":
            from .vendors import OLLAMA_URL, open_ollama

            local = settings.model_copy(update={"base_url": settings.base_url or OLLAMA_URL})
            return open_ollama(
                _llm_endpoint(local, environment),
                context_window_tokens=settings.context_window_tokens,
            )
        case "anthropic":
            from .vendors import ANTHROPIC_KEY_VARIABLE, ANTHROPIC_URL, open_anthropic

            far = settings.model_copy(update={"base_url": settings.base_url or ANTHROPIC_URL})
            if "api_key_variable" not in settings.model_fields_set:
                far = far.model_copy(update={"api_key_variable": ANTHROPIC_KEY_VARIABLE})
            return open_anthropic(
                _llm_endpoint(far, environment), max_output_tokens=settings.max_output_tokens
            )
        case "gguf":
            from .vendors import open_gguf

            return open_gguf(
                settings.path,
                name=settings.model,
                context_window_tokens=settings.context_window_tokens,
                max_output_tokens=settings.max_output_tokens,
            )


def _llm_endpoint(settings: LlmSettings, environment: Mapping[str, str]) -> Endpoint:
    from .endpoint import read_endpoint

    return read_endpoint(
        "llm",
        environment,
        base_url=settings.base_url,
        model=settings.model,
        api_key_variable=settings.api_key_variable,
        timeout_seconds=settings.timeout_seconds,
        retries=settings.retries,
    )
