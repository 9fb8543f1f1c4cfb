"""Selector for LlamaIndex's `RouterQueryEngine`: local, global or both.

The decision by words and likeness is `scope.decide`, a model's word is `by_model`; here stands
in which order they are heard, and what speaks LlamaIndex. Neither the global `Settings` nor any
language model is touched: models come by argument or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle
from llama_index.core.tools.types import ToolMetadata

from ...errors import QuestionError
from ...index.filters import DocumentFilter
from ...types import Mode, Route
from ..language import Language, language_of
from .by_model import Ask, route_by_model
from .likeness import ExampleSimilarity, fit_examples, load_pretrained
from .reasons import explain_ambiguous, explain_split
from .router import RoutedQuery
from .scope import classify_scope
from .two_questions import SURE as SURE_OF_HALVES
from .two_questions import goes_both_ways

__all__ = ["PrototypeClassifier", "QuerySelector", "Route", "RouteSelection", "classify_scope"]

SURE = 0.65
"""Confidence below which a model is asked, or both routes are taken."""
_READS = 0.5
"""Minimum readable share for the embedding model to be consulted."""


class PrototypeClassifier:
    """Prototype classifier by an embedding model, fitted once for each language.

    `identity` is the model's: what is shipped for it need not be learnt.
    """

    def __init__(
        self, embed_model: BaseEmbedding, *, readable: Callable[[str], float], identity: str = ""
    ) -> None:
        self._embed_model = embed_model
        self._readable = readable
        self._identity = identity
        self._lock = Lock()
        self._learnt: dict[Language, ExampleSimilarity] = {}

    def likeness(self, question: str) -> float | None:
        """Return −1 (one thing) to 1 (the whole); None if the model cannot read the question."""
        if self._readable(question) < _READS:
            return None
        language = language_of(question)
        with self._lock:
            if language not in self._learnt:
                embed = self._embed_model.get_text_embedding_batch
                self._learnt[language] = load_pretrained(self._identity, language) or fit_examples(
                    lambda texts: embed(list(texts)), language
                )
        return self._learnt[language](self._embed_model.get_text_embedding(question))


class RouteSelection(SingleSelection):
    """A selection that also says how sure it is, 0.5 to 1."""

    confidence: float


class QuerySelector(BaseSelector):
    """Selector of one or both of two tools named `local` and `global`.

    Args:
        embed_model: compares a question with typical ones; without it words alone do.
        readable: how much of a text that model reads, 0–1; None means everything.
        identity: of that model; empty where nobody knows it.
        known_names: counts the names of the knowledge graph in a question, of those documents
            alone that may be seen; without it only the capitalised ones are seen.
        ask: asks a language model where rules are in doubt; None asks none.
        sure: the confidence below which rules are in doubt.
        both: whether what stays in doubt goes both ways, rather than the likelier one.
    """

    def __init__(
        self,
        embed_model: BaseEmbedding | None = None,
        *,
        readable: Callable[[str], float] | None = None,
        identity: str = "",
        known_names: Callable[[str, DocumentFilter | None], int] | None = None,
        ask: Ask | None = None,
        sure: float = SURE,
        both: bool = True,
    ) -> None:
        self._typical = (
            PrototypeClassifier(
                embed_model, readable=readable or (lambda _text: 1.0), identity=identity
            )
            if embed_model is not None
            else None
        )
        self._known_names = known_names
        self._ask = ask
        self._sure = sure
        self._both = both

    def route(self, question: str, within: DocumentFilter | None = None) -> Route:
        """Route a question by rules where confident, else by a model.

        Raises:
            EmbeddingUnavailable: the embedding model does not answer.
        """
        two = goes_both_ways(question, lambda part: self.rule(part, within)) if self._both else None
        if two is not None:
            reason = explain_split(*two, language_of(question))
            return Route(mode="both", reason=reason, confidence=SURE_OF_HALVES)
        ruled = self.rule(question, within)
        if ruled.confidence >= self._sure:
            return ruled
        why = ""
        if self._ask is not None:
            said, why = route_by_model(question, self._ask)
            if said is not None:
                return said if self._both or said.mode != "both" else ruled
        mode: Mode = "both" if self._both else ruled.mode
        reason = (
            explain_ambiguous(ruled.signs, language_of(question)) if self._both else ruled.reason
        )
        return replace(ruled, mode=mode, reason=f"{reason}; {why}" if why else reason)

    def rule(self, question: str, within: DocumentFilter | None = None) -> Route:
        """Local or global, by words, names and likeness alone."""
        count = self._known_names
        return classify_scope(
            question,
            vector_likeness=self._typical.likeness(question) if self._typical else None,
            known_names=count(question, within) if count is not None else 0,
        )

    async def aroute(self, question: str, within: DocumentFilter | None = None) -> Route:
        """Route without blocking the event loop."""
        return await asyncio.to_thread(self.route, question, within)

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return _selection(choices, _told(self.route(query.query_str, _within(query)), query))

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return _selection(choices, _told(await self.aroute(query.query_str, _within(query)), query))

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if prompts_dict:
            raise QuestionError(f"the scope selector has no prompts to set: {sorted(prompts_dict)}")


def _within(query: QueryBundle) -> DocumentFilter | None:
    """Return the document filter of a query."""
    return query.within if isinstance(query, RoutedQuery) else None


def _told(route: Route, query: QueryBundle) -> Route:
    """Attach the decision to our own query."""
    if isinstance(query, RoutedQuery):
        query.go(route)
    return route


def _selection(choices: Sequence[ToolMetadata], route: Route) -> SelectorResult:
    names = [choice.name for choice in choices]
    if sorted(str(name) for name in names) != ["global", "local"]:
        raise QuestionError(f"the router needs the tools 'local' and 'global', not {names!r}")
    wanted = ("local", "global") if route.mode == "both" else (route.mode,)
    return SelectorResult(
        selections=[
            RouteSelection(
                index=names.index(name), reason=route.reason, confidence=route.confidence
            )
            for name in wanted
        ]
    )
