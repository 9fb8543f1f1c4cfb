"""Rerankers: a language model, an HTTP endpoint, or any LlamaIndex node postprocessor.

`build_reranker` selects by settings; building loads nothing and sends nothing. The language model
orders numbered passages listwise, in windows that slide from the end of the list to its front (Sun
et al., "Is ChatGPT Good at Search?", EMNLP 2023, section 3); an unusable reply is asked for once
more. The endpoint is `POST …/rerank` as of Jina, Cohere, Voyage and vLLM: only what they have in
common is sent, and replies are read in each of their forms and checked.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from graph.text.cjk import CJK

from ..config import RerankSettings
from ..errors import MissingExtra, ModelOutputError, ModelUnavailable, SettingsError
from ..llm.retry import translate_errors
from ..prompts import detect_language, filled_prompt
from ..types import Passage
from .rerank import Reranker, in_order_of, rerank_text, with_rerank_score

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore
    from openai import OpenAI

DEFAULT_FLAG_MODEL = "BAAI/bge-reranker-v2-m3"
"""Default cross-encoder.

English and Chinese, 568 M parameters, 2.3 GB, fetched on first use.
"""


def build_reranker(
    settings: RerankSettings,
    *,
    complete: Callable[[str], str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Reranker | None:
    """Build the configured reranker; None if there is none.

    Args:
        settings: the kind, and what it needs.
        complete: a prompt to the answering language model's reply, for kind `llm`.
        environment: where an endpoint's key is looked up; None means this process's.

    Raises:
        SettingsError: a setting that the kind needs is missing or unusable; the message names it.
        MissingExtra: `flag` without the extra `rerank`.
        ModelUnavailable: the endpoint needs a key and its variable holds none.
    """
    match settings.kind:
        case "none":
            return None
        case "flag":
            return _flag(settings)
        case "endpoint":
            return _endpoint(settings, os.environ if environment is None else environment)
        case "llm":
            if complete is None:
                raise SettingsError("rerank.kind: 'llm' needs a language model: set llm.kind")
            return LanguageReranker(complete)


def _flag(settings: RerankSettings) -> Reranker:
    model = settings.model or DEFAULT_FLAG_MODEL
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
                model=model, top_n=max(settings.candidates, 1), use_fp16=settings.half_precision
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


def _endpoint(settings: RerankSettings, environment: Mapping[str, str]) -> Reranker:
    from openai import DefaultHttpxClient, OpenAI

    from ..providers.factory import read_endpoint

    endpoint = read_endpoint(
        "rerank",
        environment,
        base_url=settings.base_url.strip().rstrip("/").removesuffix("/rerank"),
        model=settings.model,
        api_key_variable=settings.api_key_variable,
        timeout_seconds=settings.timeout_seconds,
        retries=settings.retries,
    )
    client = OpenAI(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        timeout=endpoint.timeout_seconds,
        max_retries=endpoint.retries,
        http_client=DefaultHttpxClient(trust_env=not endpoint.loopback),
    )
    return EndpointReranker(client, model=endpoint.model, base_url=endpoint.base_url)


_LISTS = ("results", "data")
_SCORES = ("relevance_score", "score")


class EndpointReranker:
    """Passages by the score that a server gives each with the question.

    Args:
        client: holds the address, the key, the time limit and the retries.
        model: the model that is asked for.
        base_url: for messages.
    """

    def __init__(self, client: OpenAI, *, model: str, base_url: str) -> None:
        self._client = client
        self._model = model
        self._name = f"reranker {model!r} at {base_url}"

    def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Rerank by score; passages the server omits follow in order.

        Raises:
            ModelUnavailable: no connection, no answer in time, or refused, after all retries.
            ModelOutputError: not a reply of the protocol.
        """
        if not passages:
            return []
        import httpx

        body = {
            "model": self._model,
            "query": question,
            "documents": [rerank_text(passage) for passage in passages],
        }
        with translate_errors(self._name):
            reply = self._client.post("/rerank", cast_to=httpx.Response, body=body).json()
        try:
            scores = read_scores(reply, count=len(passages))
        except ValueError as error:
            raise ModelOutputError(f"unusable reply of {self._name}: {error}") from error
        return in_order_of(passages, scores)


def read_scores(reply: object, *, count: int) -> list[float | None]:
    """Return scores of `count` documents, None where the reply omits one.

    A reply is a list of `{index, relevance_score or score}`, or an object that holds one under
    `results` or `data`.

    Raises:
        ValueError: anything else, an index out of range or twice, a score that is no number.
    """
    rows = reply
    if isinstance(reply, dict):
        rows = next((reply[key] for key in _LISTS if key in reply), None)
    if not isinstance(rows, list):
        raise ValueError(f"no list of results under {' or '.join(_LISTS)}")
    if count and not rows:
        raise ValueError("the list of results is empty")
    scores: list[float | None] = [None] * count
    for row in rows:
        index = row.get("index") if isinstance(row, dict) else None
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
            raise ValueError(f"index out of range: {index!r} of {count} documents")
        if scores[index] is not None:
            raise ValueError(f"document listed twice: {index}")
        scores[index] = _score_of(row)
    return scores


def _score_of(row: dict[str, object]) -> float:
    score = next((row[key] for key in _SCORES if key in row), None)
    if not isinstance(score, int | float) or isinstance(score, bool) or not math.isfinite(score):
        raise ValueError(f"score is not a number: {score!r}")
    return float(score)


_Result = TypeVar("_Result")
_QUOTED_CHARACTERS = 300
USUAL_FAILURES: tuple[type[Exception], ...] = (
    AssertionError,  # FlagEmbedding and others check what came back by `assert`
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    OSError,  # files, connections, and what `requests` and model hubs raise
    RuntimeError,  # torch
    TypeError,
    ValueError,
)


class PostprocessorReranker:
    """Passages in the order of a LlamaIndex postprocessor. Safe to share by threads.

    Args:
        build: makes the postprocessor when it is first needed; it must keep all nodes that it
            is given (`top_n` at least the number of candidates), or those that it drops stay
            behind. If it fails, later calls fail at once with the same message.
        name: how messages call it.
        failures: what else than `USUAL_FAILURES` and errors of `openai` and `httpx` the vendor's
            client raises.
    """

    def __init__(
        self,
        build: Callable[[], BaseNodePostprocessor],
        *,
        name: str,
        failures: Sequence[type[Exception]] = (),
    ) -> None:
        self._build = build
        self._name = name
        self._failures = (*USUAL_FAILURES, *failures)
        self._building = threading.Lock()
        self._turn = threading.Lock()  # tokenisers and torch models take one thread at a time
        self._built: BaseNodePostprocessor | ModelUnavailable | None = None

    def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Rerank by the postprocessor; dropped passages follow in their order.

        Raises:
            ModelUnavailable: it cannot be loaded or reached, or failed.
            ModelOutputError: it gave back nodes that it was not given, or one twice.
        """
        from llama_index.core.schema import NodeWithScore, TextNode

        nodes = [
            NodeWithScore(
                node=TextNode(id_=str(place), text=rerank_text(each)),
                score=each.score,
            )
            for place, each in enumerate(passages)
        ]
        if not nodes:
            return []
        with self._building:
            postprocessor = self._ready()
        with self._turn:
            found = self._guarded(
                lambda: postprocessor.postprocess_nodes(nodes, query_str=question)
            )
        return _in_their_order(found, passages, name=self._name)

    def _ready(self) -> BaseNodePostprocessor:
        if self._built is None:
            try:
                self._built = self._guarded(self._build)
            except ModelUnavailable as error:
                self._built = error
        if isinstance(self._built, ModelUnavailable):
            raise ModelUnavailable(str(self._built)) from self._built
        return self._built

    def _guarded(self, call: Callable[[], _Result]) -> _Result:
        with translate_errors(self._name):
            try:
                return call()
            except self._failures as error:
                reason = " ".join(str(error).split())[:_QUOTED_CHARACTERS]
                raise ModelUnavailable(
                    f"{self._name} failed: {type(error).__name__}: {reason}"
                ) from error


def _in_their_order(
    found: Sequence[NodeWithScore], passages: Sequence[Passage], *, name: str
) -> list[Passage]:
    places = [int(each.node.node_id) for each in found if each.node.node_id.isdecimal()]
    known = len(set(places)) == len(found) and all(place < len(passages) for place in places)
    if not known:
        raise ModelOutputError(
            f"unusable reply of {name}: unknown or repeated nodes; check rerank.model"
        )
    judged = [
        with_rerank_score(passages[place], float(each.score or 0.0))
        for place, each in zip(places, found, strict=True)
    ]
    return judged + [each for place, each in enumerate(passages) if place not in set(places)]


_JSON = re.compile(r"\{[^{}]*\}|\[[^\[\]{}]*\]")
_CHAIN = re.compile(r"\[\d{1,4}\](?:\s*(?:>|,|、|≥)\s*\[\d{1,4}\])+")
_ONLY_NUMBERS = re.compile(r"[\[(]?\d+[\])]?(?:\s*[,，、;>\s]\s*[\[(]?\d+[\])]?)*\s*[。.]?")
_NUMBER = re.compile(r"\[?(\d{1,4})\]?")
_SHOWN_CHARACTERS = 20_000
_PIECE = re.compile(rf"[{CJK}]|[^\W{CJK}]+")


class LanguageReranker:
    """Listwise reranker by a language model; stateless, thread-safe.

    Args:
        complete: a prompt to the model's answer; raises `ModelError` where it cannot.
        window: how many passages one prompt shows. Longer lists take a call for each half window.
        passage_words: how many words (or Chinese characters) of a passage are shown.
    """

    def __init__(
        self, complete: Callable[[str], str], *, window: int = 20, passage_words: int = 300
    ) -> None:
        if window < 2:
            raise ValueError(f"window must be 2 or more, not {window}")
        self._complete = complete
        self._window = window
        self._passage_words = passage_words

    def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Rerank by the model's order; omitted passages follow in theirs.

        `scores["rerank"]` falls evenly from 1 by rank, and is 0 where the model saw no help. In a
        list longer than one window, help is what any of its windows said last of a passage.

        Raises:
            ModelError: `complete` failed, or two answers in a row cannot be used.
        """
        order = list(range(len(passages)))
        helpful: set[int] = set()
        for first, after in window_bounds(len(order), self._window):
            shown = order[first:after]
            chosen = self._chosen(question, [passages[place] for place in shown])
            best = [shown[number] for number in chosen]
            others = [place for place in shown if place not in set(best)]
            helpful = (helpful - set(shown)) | set(best)
            order[first:after] = best + others
        order.sort(key=lambda place: place not in helpful)
        return [
            with_rerank_score(passages[place], 1 - rank / len(order) if place in helpful else 0.0)
            for rank, place in enumerate(order)
        ]

    def _chosen(self, question: str, passages: Sequence[Passage]) -> list[int]:
        """Return the chosen positions from 0, best first, with one corrective retry."""
        reason = ""
        for _ in range(2):
            numbers = read_order(self._complete(self._request(question, passages, reason)))
            reason = ranking_error(numbers, len(passages))
            if numbers is not None and not reason:
                return [number - 1 for number in dict.fromkeys(numbers)]
        raise ModelOutputError(f"the language model gave no order of the passages: {reason}")

    def _request(self, question: str, passages: Sequence[Passage], reason: str) -> str:
        language = detect_language(question)
        lines = "\n".join(
            f"[{number}] {_on_one_line(passage, self._passage_words)}"
            for number, passage in enumerate(passages, start=1)
        )
        asked = " ".join(question.split())
        problem = ""
        if reason:
            problem = filled_prompt("retrieval/rerank_problem", language=language, reason=reason)
        return filled_prompt(
            "retrieval/rerank",
            language=language,
            count=str(len(passages)),
            example="2, 1",
            problem=f"\n{problem}\n" if problem else "",
            fenced=f"{lines}\n{asked}",
            passages=lines,
            question=asked,
        )


def window_bounds(count: int, window: int) -> list[tuple[int, int]]:
    """Return half-overlapping windows `[first, after)` of a list, last first."""
    if count < 2:
        return []
    step = window // 2
    bounds = [(max(count - window, 0), count)]
    while bounds[-1][0] > 0:
        first = max(bounds[-1][0] - step, 0)
        bounds.append((first, min(first + window, count)))
    return bounds


def read_order(answer: str) -> list[int] | None:
    """Parse the numbers of an answer in order; None for an unknown form.

    Known are JSON (a list, or an object with one list), `[2] > [1]`, and a last line of numbers
    alone. Of several the last counts: models repeat the question's example first.
    """
    for candidate in reversed(_JSON.findall(answer)):
        numbers = _from_json(candidate)
        if numbers is not None and (len(numbers) > 1 or _stands_alone(candidate, answer)):
            return numbers
    chains = _CHAIN.findall(answer)
    if chains:
        return [int(number) for number in _NUMBER.findall(chains[-1])]
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if lines and _ONLY_NUMBERS.fullmatch(lines[-1]):
        return [int(number) for number in _NUMBER.findall(lines[-1])]
    return None


def ranking_error(numbers: Sequence[int] | None, count: int) -> str:
    """Return why an order of `count` passages is unusable, for the model; empty if fine.

    Numbers twice or left out are no objection.
    """
    if numbers is None:
        return 'no JSON of the form {"order": [...]} was found'
    strange = sorted({number for number in numbers if not 1 <= number <= count})
    if strange:
        return f"there is no passage {strange[0]}, the numbers go from 1 to {count}"
    return ""


def _stands_alone(candidate: str, said: str) -> bool:
    """Check whether a short list is the answer; `[3]` inside a sentence is a mention."""
    return candidate.startswith("{") or candidate in map(str.strip, said.splitlines())


def _from_json(candidate: str) -> list[int] | None:
    try:
        value = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        return None
    found = [_NUMBER.fullmatch(str(each).strip()) for each in value]
    return [int(match[1]) for match in found if match] if all(found) else None


def _on_one_line(passage: Passage, words: int) -> str:
    """Flatten a passage so that it cannot imitate another numbered one."""
    line = " ".join(rerank_text(passage, limit_characters=_SHOWN_CHARACTERS).split())
    for count, match in enumerate(_PIECE.finditer(line), start=1):
        if count > words:
            return f"{line[: match.start()].rstrip()} …"
    return line
