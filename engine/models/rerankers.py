"""Reranker factory: the only place that branches on the kind.

Building is cheap and silent: nothing is loaded, and nothing is sent before the first question.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from ..errors import MissingExtra, SettingsError
from ..retrieve.rerank import Reranker

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

RerankKind = Literal["none", "flag", "endpoint", "llm"]
DEFAULT_FLAG_MODEL = "BAAI/bge-reranker-v2-m3"
"""Default cross-encoder.

English and Chinese, 568 M parameters, 2.3 GB, fetched on first use.
"""


def build_reranker(
    kind: RerankKind,
    *,
    model: str = "",
    base_url: str = "",
    api_key_variable: str = "RERANK_API_KEY",
    candidates: int = 20,
    timeout_seconds: float = 30.0,
    retries: int = 1,
    half_precision: bool = False,
    complete: Callable[[str], str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Reranker | None:
    """Build the configured reranker; None if there is none.

    Args:
        kind: `flag`, a cross-encoder on this machine (extra `rerank`); `endpoint`, a server with
            `POST …/rerank`; `llm`, the language model that answers.
        model: a model's name, or for `flag` also a folder.
        base_url: of the endpoint, with or without `/rerank` at its end.
        api_key_variable: the environment variable that holds the endpoint's key.
        candidates: how many passages are judged at most.
        timeout_seconds: how long one request to the endpoint may take.
        retries: how often a request to the endpoint is sent again.
        half_precision: for `flag` on a GPU; a processor computes in full precision anyway.
        complete: a prompt to the language model's answer.
        environment: where the key is looked up; None means this process's.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        MissingExtra: `flag` without the extra `rerank`.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    match kind:
        case "none":
            return None
        case "flag":
            return _flag(model or DEFAULT_FLAG_MODEL, candidates, half_precision=half_precision)
        case "endpoint":
            return _endpoint(
                os.environ if environment is None else environment,
                model=model,
                base_url=base_url,
                api_key_variable=api_key_variable,
                timeout_seconds=timeout_seconds,
                retries=retries,
            )
        case "llm":
            if complete is None:
                raise SettingsError("rerank.kind: 'llm' needs a language model: set llm.kind")
            from ..retrieve.rerank_language import LanguageReranker

            return LanguageReranker(complete)


def _flag(model: str, candidates: int, *, half_precision: bool) -> Reranker:
    from ..retrieve.rerank_postprocessor import PostprocessorReranker

    missing = [name for name in ("FlagEmbedding", "torch") if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"reranking by a cross-encoder needs {' and '.join(missing)}:"
            " pip install 'loregraph[rerank]'"
        )

    def load() -> BaseNodePostprocessor:
        from llama_index.postprocessor.flag_embedding_reranker import (
            FlagEmbeddingReranker,
        )

        with _without_progress_bars():
            reranker: BaseNodePostprocessor = FlagEmbeddingReranker(
                model=model, top_n=max(candidates, 1), use_fp16=half_precision
            )
        return reranker

    return PostprocessorReranker(load, name=f"reranker {model!r}")


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Suppress progress bars while weights are loaded."""
    from transformers.utils import (  # type: ignore[import-not-found, unused-ignore]  # extra
        logging as bars,
    )

    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def _endpoint(
    environment: Mapping[str, str],
    *,
    model: str,
    base_url: str,
    api_key_variable: str,
    timeout_seconds: float,
    retries: int,
) -> Reranker:
    from openai import DefaultHttpxClient, OpenAI

    from ..retrieve.rerank_endpoint import EndpointReranker
    from .endpoint import read_endpoint

    endpoint = read_endpoint(
        "rerank",
        environment,
        base_url=base_url.strip().rstrip("/").removesuffix("/rerank"),
        model=model,
        api_key_variable=api_key_variable,
        timeout_seconds=timeout_seconds,
        retries=retries,
    )
    client = OpenAI(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        timeout=endpoint.timeout_seconds,
        max_retries=endpoint.retries,
        http_client=DefaultHttpxClient(trust_env=not endpoint.loopback),
    )
    return EndpointReranker(client, model=endpoint.model, base_url=endpoint.base_url)
