"""OpenAI-compatible endpoints as LlamaIndex objects, with keys and retries.

An embedding is tried again by the OpenAI client alone (it honours Retry-After): LlamaIndex would
wrap its own loop around it, so that "2 retries" became six requests. A language model is tried
again by the gateway, which switches the client's loop off. The key lives in the client only, never
in a field that LlamaIndex prints or serialises.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import ModelUnavailable, SettingsError

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

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
            f"{section}: {base_url} needs a key, but the environment variable"
            f" {api_key_variable or '(unnamed: set ' + section + '.api_key_variable)'} is not set"
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

    from .body_limits import async_hooks, sync_hooks

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


def open_embedding(endpoint: Endpoint, *, batch_size: int) -> BaseEmbedding:
    """Open an embedding model; sends nothing before the first call; raises `ModelError`s."""
    from openai import DefaultHttpxClient, OpenAI

    from .remote_embedding import RemoteEmbedding

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
