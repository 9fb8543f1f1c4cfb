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

from ...events import Listener, RouteEvent, StepEvent, nobody
from ...index.filters import DocumentFilter
from ...observe.llama_index import response_of
from ...retrieve.stopwatch import Stopwatch
from ...types import Answer, Route, Turn
from ..both import first_part, merged, second_part


class Answering(Protocol):
    """Answers a question from the documents that a filter admits (None: all), and tells how.

    A model is shown the turns before it, too.
    """

    def __call__(
        self,
        question: str,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        tell: Listener = nobody,
    ) -> Answer:
        """The answer."""
        ...


ANSWER_KEY = "answer"
DESCRIPTIONS = {
    "local": "Facts: who, what, when, where, how; answered from the passages that say so.",
    "global": "The whole collection: themes, overviews, what runs through many documents.",
}


@dataclass
class NarrowedQuestion(QueryBundle):
    """A question to some of the documents, as it travels through LlamaIndex's engines.

    `turns` is what was said before it, `tell` hears what happens on the way; `route` is where it
    was sent, once that is decided, `steps` what deciding took, and `answers` what came back so far.
    """

    within: DocumentFilter | None = None
    turns: tuple[Turn, ...] = ()
    tell: Listener = nobody
    route: Route | None = None
    answers: list[Answer] = field(default_factory=list)
    steps: Stopwatch = field(init=False)

    def __post_init__(self) -> None:
        self.steps = Stopwatch(self.tell)

    def go(self, route: Route) -> None:
        """The router's decision."""
        self.route = route
        self.tell(RouteEvent(route=route))
        signs = {name: round(weight, 2) for name, weight in route.signs.items()}
        self.steps.lap(
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
            tell = second_part(asked.tell, done[0]) if done else first_part(asked.tell)
            answer = _asked_of(self._beside, asked, tell)
        else:
            answer = _asked_of(self._answer, asked, asked.tell)
        asked.answers.append(answer)
        return _response(answer)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        # A language model may think for a minute: the event loop must go on.
        return await asyncio.to_thread(self._query, query_bundle)


class ScopeRouter(RouterQueryEngine):
    """LlamaIndex's router, whose response holds one `Answer`, also where two engines were asked."""

    def between(self, *, local: Answering, overview: Answering) -> ScopeRouter:
        """One that chooses as this one does, between others."""
        return build_router(self._selector, local=local, overview=overview)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = narrowed(query_bundle)
        return _with_answer(super()._query(asked), asked)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = narrowed(query_bundle)
        return _with_answer(await super()._aquery(asked), asked)


class _Joining(TreeSummarize):
    """What LlamaIndex's router puts two responses together with; no model is asked."""

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
) -> ScopeRouter:
    """The router over the local and the global engine; `brief` is the overview beside the other."""
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
    return ScopeRouter(selector, tools, llm=silent, summarizer=summariser)


def both_ways(local: Answering, brief: Answering, asked: NarrowedQuestion) -> Answer:
    """Both ways because that was asked for: no router decides."""
    first = _asked_of(local, asked, first_part(asked.tell))
    second = _asked_of(brief, asked, second_part(asked.tell, first))
    return _joined(first, second, asked.tell)


def narrowed(query: QueryBundle) -> NarrowedQuestion:
    """A question as it travels here; one that comes from elsewhere may see everything."""
    if isinstance(query, NarrowedQuestion):
        return query
    return NarrowedQuestion(query_str=query.query_str)


def _asked_of(answering: Answering, asked: NarrowedQuestion, tell: Listener) -> Answer:
    return answering(asked.query_str, within=asked.within, turns=asked.turns, tell=tell)


def _with_answer(response: RESPONSE_TYPE, asked: NarrowedQuestion) -> RESPONSE_TYPE:
    if len(asked.answers) < 2:
        return response
    first, second = sorted(asked.answers, key=lambda answer: answer.mode == "global")
    together = _response(_joined(first, second, asked.tell))
    together.metadata = {**(response.metadata or {}), **(together.metadata or {})}
    return together


def _joined(first: Answer, second: Answer, tell: Listener) -> Answer:
    answer = merged(first, second)
    tell(StepEvent(step=answer.trace[-1]))
    return answer


def _response(answer: Answer) -> Response:
    return response_of(answer, {ANSWER_KEY: answer})


def answer_of(response: RESPONSE_TYPE, asked: NarrowedQuestion) -> Answer:
    """The answer in a router's response, with the router's choice first in its trace."""
    answer: Answer = (response.metadata or {})[ANSWER_KEY]
    return replace(answer, route=asked.route, trace=(*asked.steps.steps, *answer.trace))
