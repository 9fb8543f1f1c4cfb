"""The router as LlamaIndex knows it: two query engines, and a selector of ours.

An `Answer` travels in the metadata of LlamaIndex's `Response`, so that whoever speaks LlamaIndex
and whoever does not get the same thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_selector import BaseSelector
from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.prompt_helper import ChatPromptHelper, PromptHelper
from llama_index.core.llms import MockLLM
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.response_synthesizers import TreeSummarize
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool

from ...events import Listener, RouteEvent, StepEvent, null_listener
from ...index.filters import DocumentFilter
from ...observe.llama_index import response_of
from ...retrieve.stopwatch import Tracer
from ...types import Answer, Route, Turn
from ..both import combine_answers, global_events, local_events


class Answering(Protocol):
    """Query engine function: answers from documents admitted by a filter, with events.

    A model is shown the turns before it, too.
    """

    def __call__(
        self,
        question: str,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
    ) -> Answer:
        """Answer the question."""
        ...


ANSWER_KEY = "answer"
DESCRIPTIONS = {
    "local": "Facts: who, what, when, where, how; answered from the passages that say so.",
    "global": "The whole collection: themes, overviews, what runs through many documents.",
}


@dataclass
class RoutedQuery(QueryBundle):
    """A question to some of the documents, as it travels through LlamaIndex's engines.

    `turns` is what was said before it, `on_event` hears what happens on the way; `route` is where it
    was sent, once that is decided, `steps` what deciding took, and `answers` what came back so far.
    """

    within: DocumentFilter | None = None
    turns: tuple[Turn, ...] = ()
    on_event: Listener = null_listener
    route: Route | None = None
    answers: list[Answer] = field(default_factory=list)
    steps: Tracer = field(init=False)

    def __post_init__(self) -> None:
        self.steps = Tracer(self.on_event)

    def go(self, route: Route) -> None:
        """Dispatch to the router's decision."""
        self.route = route
        self.on_event(RouteEvent(route=route))
        signs = {name: round(weight, 2) for name, weight in route.signs.items()}
        self.steps.record(
            "route",
            f"{route.mode}: {route.reason}",
            f"{route.mode}, confidence {route.confidence:.2f}",
            self.query_str,
            confidence=route.confidence,
            **signs,
        )


class AnswerEngine(BaseQueryEngine):
    """A LlamaIndex query engine around a function that answers.

    `beside` answers instead where the question goes both ways.
    """

    def __init__(self, answer: Answering, *, beside: Answering | None = None) -> None:
        self._answer = answer
        self._beside = beside or answer
        super().__init__(callback_manager=CallbackManager([]))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = narrowed(query_bundle)
        if asked.route is not None and asked.route.mode == "both":
            done = asked.answers
            on_event = (
                global_events(asked.on_event, done[0]) if done else local_events(asked.on_event)
            )
            answer = _asked_of(self._beside, asked, on_event)
        else:
            answer = _asked_of(self._answer, asked, asked.on_event)
        asked.answers.append(answer)
        return _response(answer)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        # A language model may think for a minute: the event loop must go on.
        return await asyncio.to_thread(self._query, query_bundle)


class QueryRouter(RouterQueryEngine):
    """LlamaIndex router whose response holds one `Answer`, also for two engines."""

    def between(self, *, local: Answering, overview: Answering) -> QueryRouter:
        """One that chooses as this one does, between others."""
        return build_router(self._selector, local=local, overview=overview)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = narrowed(query_bundle)
        return _with_answer(super()._query(asked), asked)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = narrowed(query_bundle)
        return _with_answer(await super()._aquery(asked), asked)


class _Joining(TreeSummarize):
    """Summariser of LlamaIndex's router that joins responses without a model."""

    def get_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> str:
        return "\n\n".join(text_chunks)

    async def aget_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> str:
        return "\n\n".join(text_chunks)


def build_router(
    selector: BaseSelector,
    *,
    local: Answering,
    overview: Answering,
    brief: Answering | None = None,
) -> QueryRouter:
    """Build the router over local and global engines.

    `brief` is the short overview for both.
    """
    # Left out, these two would make LlamaIndex read its global settings and turn to OpenAI.
    silent = MockLLM()
    tools = [
        QueryEngineTool.from_defaults(
            AnswerEngine(answer, beside=beside), name=name, description=DESCRIPTIONS[name]
        )
        for name, answer, beside in (("local", local, None), ("global", overview, brief))
    ]
    summariser = _Joining(
        llm=silent,
        callback_manager=CallbackManager([]),
        # Nothing is cut: neither a vocabulary nor the global settings are read.
        prompt_helper=PromptHelper(tokenizer=list),
        chat_prompt_helper=ChatPromptHelper(tokenizer=list),
    )
    return QueryRouter(selector, tools, llm=silent, summarizer=summariser)


def both_ways(local: Answering, brief: Answering, asked: RoutedQuery) -> Answer:
    """Both ways because that was asked for: no router decides."""
    first = _asked_of(local, asked, local_events(asked.on_event))
    second = _asked_of(brief, asked, global_events(asked.on_event, first))
    return _joined(first, second, asked.on_event)


def narrowed(query: QueryBundle) -> RoutedQuery:
    """Wrap a query bundle; one from elsewhere has no filter."""
    if isinstance(query, RoutedQuery):
        return query
    return RoutedQuery(query_str=query.query_str)


def _asked_of(answering: Answering, asked: RoutedQuery, on_event: Listener) -> Answer:
    return answering(asked.query_str, within=asked.within, turns=asked.turns, on_event=on_event)


def _with_answer(response: RESPONSE_TYPE, asked: RoutedQuery) -> RESPONSE_TYPE:
    if len(asked.answers) < 2:
        return response
    first, second = sorted(asked.answers, key=lambda answer: answer.mode == "global")
    together = _response(_joined(first, second, asked.on_event))
    together.metadata = {**(response.metadata or {}), **(together.metadata or {})}
    return together


def _joined(first: Answer, second: Answer, on_event: Listener) -> Answer:
    answer = combine_answers(first, second)
    on_event(StepEvent(step=answer.trace[-1]))
    return answer


def _response(answer: Answer) -> Response:
    return response_of(answer, {ANSWER_KEY: answer})


def answer_of(response: RESPONSE_TYPE, asked: RoutedQuery) -> Answer:
    """Return the answer of a router response, with the routing step first in its trace."""
    answer: Answer = (response.metadata or {})[ANSWER_KEY]
    return replace(answer, route=asked.route, trace=(*asked.steps.steps, *answer.trace))
