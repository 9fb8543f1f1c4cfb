"""Adapter of LlamaIndex node postprocessors as rerankers.

FlagEmbedding, Cohere, Jina, Voyage.

Passages go in as nodes of nothing but text, and come back in the postprocessor's order. Knows
nothing of which one it is: what it may raise beyond the usual comes by argument.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..errors import ModelOutputError, ModelUnavailable
from ..models.failures import translated
from ..types import Passage
from .rerank import rerank_text, with_rerank_score

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore

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
        with translated(self._name):
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
        raise ModelOutputError(f"{name} gave back nodes that it was not given, or one twice")
    judged = [
        with_rerank_score(passages[place], float(each.score or 0.0))
        for place, each in zip(places, found, strict=True)
    ]
    return judged + [each for place, each in enumerate(passages) if place not in set(places)]
