"""The router as LlamaIndex's `RouterQueryEngine`, and its selector.

An `Answer` travels in the metadata of LlamaIndex's `Response`. LlamaIndex's global `Settings` are
never read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.prompt_helper import ChatPromptHelper, PromptHelper
from llama_index.core.llms import MockLLM
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.response_synthesizers import TreeSummarize
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool
from llama_index.core.tools.types import ToolMetadata

from ..errors import QuestionError
from ..observability import response_of
from ..types import Answer, Route
from .router import Answering, QueryRouter, QuerySelector, RoutedQuery

ANSWER_KEY = "answer"
DESCRIPTIONS = {
    "local": "Facts: who, what, when, where, how; answered from the passages that say so.",
    "global": "The whole collection: themes, overviews, what runs through many documents.",
}
TOOLS = tuple(ToolMetadata(name=name, description=said) for name, said in DESCRIPTIONS.items())


class RouteSelection(SingleSelection):
    """A selection that also says how sure it is, 0.5 to 1."""

    confidence: float


class RouteSelector(BaseSelector):
    """Selector of one or both of two tools named `local` and `global`.

    Args:
        selector: decides.
    """

    def __init__(self, selector: QuerySelector) -> None:
        self._selector = selector

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return selection(choices, self._selector.route(query.query_str))

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return await asyncio.to_thread(self._select, choices, query)

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if prompts_dict:
            raise QuestionError(
                f"the scope selector has no prompts to set: {sorted(prompts_dict)}; leave them out"
            )


def selection(choices: Sequence[ToolMetadata], route: Route) -> SelectorResult:
    """Return a route as a selection of tools; raises `QuestionError` for other tools."""
    names = [choice.name for choice in choices]
    if sorted(str(name) for name in names) != ["global", "local"]:
        raise QuestionError(f"tools of the router: {names!r}; give it 'local' and 'global'")
    wanted = ("local", "global") if route.mode == "both" else (route.mode,)
    return SelectorResult(
        selections=[
            RouteSelection(
                index=names.index(name), reason=route.reason, confidence=route.confidence
            )
            for name in wanted
        ]
    )


class AnswerEngine(BaseQueryEngine):
    """A LlamaIndex query engine around a function that answers."""

    def __init__(self, answer: Callable[[str], Answer]) -> None:
        self._answer = answer
        super().__init__(callback_manager=CallbackManager([]))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Response:
        answer = self._answer(query_bundle.query_str)
        return response_of(answer, {ANSWER_KEY: answer})

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        # A language model may think for a minute: the event loop must go on.
        return await asyncio.to_thread(self._query, query_bundle)


class LibraryRouter(RouterQueryEngine):
    """The router of a library as LlamaIndex's, whose response holds one `Answer`.

    Args:
        router: routes and answers, also where a question goes both ways.
    """

    def __init__(self, router: QueryRouter) -> None:
        self._router = router
        # Left out, these would make LlamaIndex read its global settings and turn to OpenAI.
        silent = MockLLM()
        super().__init__(
            RouteSelector(router.selector),
            [_tool("local", router.local), _tool("global", router.overview)],
            llm=silent,
            summarizer=TreeSummarize(
                llm=silent,
                callback_manager=CallbackManager([]),
                prompt_helper=PromptHelper(tokenizer=list),
                chat_prompt_helper=ChatPromptHelper(tokenizer=list),
            ),
        )

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        answer = self._router.answer(RoutedQuery(question=query_bundle.query_str))
        metadata: dict[str, object] = {ANSWER_KEY: answer}
        if answer.route is not None:
            metadata["selector_result"] = selection(TOOLS, answer.route)
        return response_of(answer, metadata)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return await asyncio.to_thread(self._query, query_bundle)


def _tool(name: str, answer: Answering) -> QueryEngineTool:
    engine = AnswerEngine(answer)
    return QueryEngineTool.from_defaults(engine, name=name, description=DESCRIPTIONS[name])
