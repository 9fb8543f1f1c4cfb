"""Rerank endpoint over HTTP: `POST …/rerank` as of Jina, Cohere, Voyage, vLLM.

Only what they have in common is sent; replies are read in each of their forms and checked. The
client comes by argument and does the retries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import ModelOutputError
from ..models.failures import translated
from ..types import Passage
from .rerank import in_order_of, rerank_text

if TYPE_CHECKING:
    from openai import OpenAI

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
        with translated(self._name):
            reply = self._client.post("/rerank", cast_to=httpx.Response, body=body).json()
        try:
            scores = read_scores(reply, count=len(passages))
        except ValueError as error:
            raise ModelOutputError(f"{self._name} sent an unusable reply: {error}") from error
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
            raise ValueError(f"{index!r} is no index of {count} documents")
        if scores[index] is not None:
            raise ValueError(f"document {index} stands in it twice")
        scores[index] = _score_of(row)
    return scores


def _score_of(row: dict[str, object]) -> float:
    score = next((row[key] for key in _SCORES if key in row), None)
    if not isinstance(score, int | float) or isinstance(score, bool) or not math.isfinite(score):
        raise ValueError(f"{score!r} is no score")
    return float(score)
