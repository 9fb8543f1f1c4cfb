"""LLM vendors besides OpenAI-compatible endpoints, each behind an extra.

Nothing is sent, and no model is loaded, before the first call.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra, SettingsError

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from .endpoint import Endpoint

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

    from .body_limits import async_hooks, sync_hooks

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
    """A model file that is run in this process; `name` is its file's where it is empty.

    Raises:
        SettingsError: no path, or no file there.
        MissingExtra: the extra `gguf` is not installed.
    """
    if not path.strip():
        raise SettingsError("llm.path: name the model file (*.gguf) that is to be run")
    file = Path(path).expanduser()
    if not file.is_file():
        raise SettingsError(f"llm.path: there is no file {path!r}")
    _needs("llama_cpp", extra="gguf")
    from .gguf import open_model

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
