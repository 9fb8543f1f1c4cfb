"""The router's selector: local or global, for LlamaIndex's `RouterQueryEngine`.

The decision itself is `scope.decide`; here stands what speaks LlamaIndex. Neither the global
`Settings` nor any language model is touched: the embedding model comes by argument or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle
from llama_index.core.tools.types import ToolMetadata
from numpy.typing import NDArray

from ..errors import QuestionError
from .language import language_of
from .prototypes import GLOBAL_QUESTIONS, LOCAL_QUESTIONS
from .scope import Route, decide, top_mean

__all__ = ["Prototypes", "Route", "ScopeSelector", "decide"]


class Prototypes:
    """The typical English questions as vectors, embedded once and one at a time.

    One at a time, because a batch could change a vector's last bits and with them a decision.
    """

    def __init__(self, embed_model: BaseEmbedding) -> None:
        self._embed_model = embed_model
        self._lock = Lock()
        self._vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None

    def similarity(self, question: str) -> tuple[float, float]:
        """Mean cosine with the three nearest global and the three nearest local questions."""
        return self._compare(self._embed_model.get_text_embedding(question))

    async def asimilarity(self, question: str) -> tuple[float, float]:
        """The same, waiting for the question's vector without blocking the event loop."""
        return self._compare(await self._embed_model.aget_text_embedding(question))

    def _compare(self, vector: list[float]) -> tuple[float, float]:
        unit = _unit(vector)
        to_global, to_local = (prototypes @ unit for prototypes in self._prototypes())
        return top_mean(to_global.tolist()), top_mean(to_local.tolist())

    def _prototypes(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        with self._lock:
            if self._vectors is None:
                self._vectors = (
                    self._embed(GLOBAL_QUESTIONS),
                    self._embed(LOCAL_QUESTIONS),
                )
            return self._vectors

    def _embed(self, questions: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([_unit(self._embed_model.get_text_embedding(text)) for text in questions])


class ScopeSelector(BaseSelector):
    """Chooses between exactly two tools whose metadata are named `local` and `global`.

    `known_names` counts the names of the knowledge graph in a question; without it only the
    capitalised ones are seen. Without `embed_model` cue words decide alone.
    """

    def __init__(
        self,
        embed_model: BaseEmbedding | None = None,
        *,
        known_names: Callable[[str], int] | None = None,
    ) -> None:
        self._prototypes = Prototypes(embed_model) if embed_model is not None else None
        self._known_names = known_names

    def route(self, question: str) -> Route:
        """The decision with its confidence, for callers that need no LlamaIndex types."""
        similarity = self._prototypes.similarity if self._prototypes is not None else None
        return decide(question, similarity=similarity, known_names=self._count(question))

    async def aroute(self, question: str) -> Route:
        """The same decision; only the embedding of the question is awaited."""
        if self._prototypes is None or language_of(question) == "zh":
            return decide(question, known_names=self._count(question))
        found = await self._prototypes.asimilarity(question)
        return decide(question, similarity=lambda _: found, known_names=self._count(question))

    def _count(self, question: str) -> int:
        return self._known_names(question) if self._known_names is not None else 0

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return _selection(choices, self.route(query.query_str))

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return _selection(choices, await self.aroute(query.query_str))

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if prompts_dict:
            raise QuestionError(f"the scope selector has no prompts to set: {sorted(prompts_dict)}")


def _selection(choices: Sequence[ToolMetadata], route: Route) -> SelectorResult:
    names = [choice.name for choice in choices]
    if sorted(str(name) for name in names) != ["global", "local"]:
        raise QuestionError(f"the router needs the tools 'local' and 'global', not {names!r}")
    chosen = SingleSelection(index=names.index(route.mode), reason=route.reason)
    return SelectorResult(selections=[chosen])


def _unit(vector: Sequence[float]) -> NDArray[np.float32]:
    array = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(array))
    return array / np.float32(length) if length > 0 else array
