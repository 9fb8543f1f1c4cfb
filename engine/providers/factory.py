"""Models by provider: OpenAI-compatible endpoints, other vendors behind extras, local ones.

The only module that branches on the provider. Nothing is loaded and nothing is sent before the
first call. An embedding is tried again by the OpenAI client alone, which honours Retry-After; a
language model by `LLMClient`, which switches the client's loop off. A key lives in its client,
never in a field that LlamaIndex prints or serialises.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..config import EmbeddingSettings, LlmSettings
from ..errors import MissingExtra, ModelUnavailable, SettingsError

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from ..embeddings.embedding_model import EmbeddingModel

NO_KEY = "none"
"""Placeholder key for servers without one; the client refuses an empty key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Address and access of a model endpoint. `repr` omits the key.

    A server on this machine (`loopback`) needs no key and is never reached through a proxy.
    """

    base_url: str
    model: str
    timeout_seconds: float
    retries: int
    loopback: bool
    key: str = field(repr=False)

    @property
    def has_key(self) -> bool:
        """Check whether a key was given."""
        return self.key != NO_KEY


def read_endpoint(
    section: str,
    environment: Mapping[str, str],
    *,
    base_url: str,
    model: str,
    api_key_variable: str,
    timeout_seconds: float,
    retries: int,
) -> Endpoint:
    """Validate an endpoint before anything is sent.

    `section` is the settings section, for messages; the key is `environment[api_key_variable]`.

    Raises:
        SettingsError: no model, or no usable URL; the message names the setting.
        ModelUnavailable: the endpoint is not on this machine and the variable holds no key.
    """
    if not model.strip():
        raise SettingsError(f"{section}.model: name the model that {base_url or 'the URL'} serves")
    loopback = _is_loopback(_host_of(base_url, setting=f"{section}.base_url"))
    key = environment.get(api_key_variable, "").strip() if api_key_variable else ""
    if not key and not loopback:
        raise ModelUnavailable(
            f"{section}: {base_url} needs a key; set the environment variable "
            f"{api_key_variable or '(unnamed: set ' + section + '.api_key_variable)'}"
        )
    return Endpoint(
        base_url=base_url.strip(),
        model=model.strip(),
        timeout_seconds=timeout_seconds,
        retries=retries,
        loopback=loopback,
        key=key or NO_KEY,
    )


def _host_of(url: str, *, setting: str) -> str:
    example = "expected something like http://127.0.0.1:8080/v1"
    if not url.strip():
        raise SettingsError(f"{setting}: not set; {example}")
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port  # a port that is no number raises here
    except ValueError as error:
        raise SettingsError(f"{setting}: {url!r} is not a URL ({error}); {example}") from error
    if parts.username or parts.password:
        raise SettingsError(f"{setting}: holds a user name or password; put secrets in a variable")
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError(f"{setting}: {url!r} is not a URL; {example}")
    return host


def is_loopback_url(url: str) -> bool:
    """Check whether the URL is a server on this machine."""
    try:
        return _is_loopback(urlsplit(url.strip()).hostname or "")
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, not an address
        return False


def open_llm(endpoint: Endpoint, *, context_window_tokens: int, max_output_tokens: int) -> LLM:
    """Open a chat model at temperature 0; sends nothing before the first call."""
    from llama_index.llms.openai_like import OpenAILike
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

    from ..llm.http_limits import async_hooks, sync_hooks

    proxies = not endpoint.loopback
    llm: LLM = OpenAILike(
        model=endpoint.model,
        api_base=endpoint.base_url,
        api_key=NO_KEY,
        temperature=0.0,
        max_tokens=max_output_tokens,
        context_window=context_window_tokens,
        is_chat_model=True,
        is_function_calling_model=False,
        timeout=endpoint.timeout_seconds,
        max_retries=0,
        additional_kwargs={"stream_options": {"include_usage": True}},
        openai_client=OpenAI(
            **_client_arguments(endpoint),
            http_client=DefaultHttpxClient(
                trust_env=proxies, event_hooks=sync_hooks(endpoint.timeout_seconds)
            ),
        ),
        async_openai_client=AsyncOpenAI(
            **_client_arguments(endpoint),
            http_client=DefaultAsyncHttpxClient(
                trust_env=proxies, event_hooks=async_hooks(endpoint.timeout_seconds)
            ),
        ),
    )
    return llm


def open_embedding(endpoint: Endpoint, *, batch_size: int) -> EmbeddingModel:
    """Open an embedding model; sends nothing before the first call; raises `ModelError`s."""
    from openai import DefaultHttpxClient, OpenAI

    from ..embeddings.wrappers import RemoteEmbedding

    client = OpenAI(
        **_client_arguments(endpoint),
        http_client=DefaultHttpxClient(trust_env=not endpoint.loopback),
    )
    return RemoteEmbedding(
        client, base_url=endpoint.base_url, model_name=endpoint.model, batch_size=batch_size
    )


def _client_arguments(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "api_key": endpoint.key,
        "base_url": endpoint.base_url,
        "timeout": endpoint.timeout_seconds,
        "max_retries": endpoint.retries,
    }


_EMBEDDING_TIMEOUT_SECONDS = 60.0
_EMBEDDING_RETRIES = 2


def build_embedding(
    settings: EmbeddingSettings, environment: Mapping[str, str] | None = None
) -> EmbeddingModel | None:
    """Build the configured embedding with its prefixes and dimensions.

    `None` where they ask for none.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    model = _bare_embedding(settings, environment)
    if model is None:
        return None
    from ..embeddings.wrappers import truncate_embedding, with_prefixes

    model = with_prefixes(model, question=settings.query_prefix, passage=settings.passage_prefix)
    if settings.dimensions is None:
        return model
    return truncate_embedding(
        model, dimensions=settings.dimensions, force=settings.force_dimensions
    )


def build_chain(
    settings: EmbeddingSettings, environment: Mapping[str, str] | None = None
) -> list[EmbeddingModel]:
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
) -> EmbeddingModel | None:
    """Build the configured kind of embedding without wrappers.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    match settings.kind:
        case "none":
            return None
        case "bundled":
            from ..embeddings.bundled import BundledEmbedding

            return BundledEmbedding(
                embed_batch_size=settings.batch_size,
                environment=environment,
            )
        case "tfidf":
            from ..embeddings.tfidf import TfidfEmbedding
            from ..storage.tokenization import TOKENS_VERSION, tokens

            return TfidfEmbedding(tokens=tokens, tokens_version=TOKENS_VERSION)
        case "openai_like":
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
            return open_llm(
                _llm_endpoint(settings, environment),
                context_window_tokens=settings.context_window_tokens,
                max_output_tokens=settings.max_output_tokens,
            )
        case "ollama":
            local = settings.model_copy(update={"base_url": settings.base_url or OLLAMA_URL})
            return open_ollama(
                _llm_endpoint(local, environment),
                context_window_tokens=settings.context_window_tokens,
            )
        case "anthropic":
            far = settings.model_copy(update={"base_url": settings.base_url or ANTHROPIC_URL})
            if "api_key_variable" not in settings.model_fields_set:
                far = far.model_copy(update={"api_key_variable": ANTHROPIC_KEY_VARIABLE})
            return open_anthropic(
                _llm_endpoint(far, environment), max_output_tokens=settings.max_output_tokens
            )
        case "gguf":
            return open_gguf(
                settings.path,
                name=settings.model,
                context_window_tokens=settings.context_window_tokens,
                max_output_tokens=settings.max_output_tokens,
            )


def _llm_endpoint(settings: LlmSettings, environment: Mapping[str, str]) -> Endpoint:

    return read_endpoint(
        "llm",
        environment,
        base_url=settings.base_url,
        model=settings.model,
        api_key_variable=settings.api_key_variable,
        timeout_seconds=settings.timeout_seconds,
        retries=settings.retries,
    )


OLLAMA_URL = "http://127.0.0.1:11434"
ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_KEY_VARIABLE = "ANTHROPIC_API_KEY"


def open_ollama(endpoint: Endpoint, *, context_window_tokens: int) -> LLM:
    """Open a model served by Ollama, at temperature 0 and with this window.

    Ollama cuts a longer prompt silently, so the window is always said.

    Raises:
        MissingExtra: the extra `ollama` is not installed.
    """
    _needs("llama_index.llms.ollama", "ollama", extra="ollama")
    from llama_index.llms.ollama import Ollama
    from ollama import AsyncClient, Client

    from ..llm.http_limits import async_hooks, sync_hooks

    seconds = endpoint.timeout_seconds
    options: dict[str, Any] = {
        "timeout": endpoint.timeout_seconds,
        "trust_env": not endpoint.loopback,
    }
    if endpoint.has_key:
        options["headers"] = {"Authorization": f"Bearer {endpoint.key}"}
    llm: LLM = Ollama(
        model=endpoint.model,
        base_url=endpoint.base_url,
        temperature=0.0,
        context_window=context_window_tokens,
        request_timeout=endpoint.timeout_seconds,
        client=Client(host=endpoint.base_url, event_hooks=sync_hooks(seconds), **options),
        async_client=AsyncClient(
            host=endpoint.base_url, event_hooks=async_hooks(seconds), **options
        ),
    )
    return llm


def open_anthropic(endpoint: Endpoint, *, max_output_tokens: int) -> LLM:
    """Open a model by Anthropic's protocol, at temperature 0 where supported.

    Raises:
        MissingExtra: the extra `anthropic` is not installed.
        SettingsError: a model that the installed version does not know.
    """
    _needs("llama_index.llms.anthropic", "anthropic", extra="anthropic")
    from llama_index.llms.anthropic import Anthropic

    llm: LLM = Anthropic(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=endpoint.key,
        temperature=0.0,
        max_tokens=max_output_tokens,
        timeout=endpoint.timeout_seconds,
        max_retries=0,
    )
    try:
        _ = llm.metadata
    except ValueError as error:
        raise SettingsError(
            f"llm.model: {endpoint.model!r} is not known to the installed"
            " llama-index-llms-anthropic: check the name, or upgrade it"
        ) from error
    return llm


def open_gguf(path: str, *, name: str, context_window_tokens: int, max_output_tokens: int) -> LLM:
    """Open a model file in this process; `name` defaults to the file's.

    Raises:
        SettingsError: no path, or no file there.
        MissingExtra: the extra `gguf` is not installed.
    """
    if not path.strip():
        raise SettingsError("llm.path: name the model file (*.gguf) that is to be run")
    file = Path(path).expanduser()
    if not file.is_file():
        raise SettingsError(f"llm.path: no such file: {path!r}; check the path")
    _needs("llama_cpp", extra="gguf")
    from ..llm.gguf import open_model

    return open_model(
        file,
        name=name or file.stem,
        context_window_tokens=context_window_tokens,
        max_output_tokens=max_output_tokens,
    )


def _needs(*modules: str, extra: str) -> None:
    missing = [name for name in modules if not _is_there(name)]
    if missing:
        raise MissingExtra(
            f"llm.kind {extra!r} needs {' and '.join(missing)}: pip install 'loregraph[{extra}]'"
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even what it is a part of
        return False
