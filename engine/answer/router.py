"""The router as LlamaIndex knows it: two query engines, and a selector of ours.

An `Answer` travels in the metadata of LlamaIndex's `Response`, so that whoever speaks LlamaIndex
and whoever does not get the same thing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Protocol

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_selector import BaseSelector
from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import MockLLM
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.response_synthesizers import TreeSummarize
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool

from ..index.filters import DocumentFilter
from ..types import Answer, Passage, TraceStep


class Answering(Protocol):
    """Answers a question from the documents that a filter admits; None means all."""

    def __call__(self, question: str, *, within: DocumentFilter | None = None) -> Answer:
        """The answer."""
        ...


ANSWER_KEY = "answer"
DESCRIPTIONS = {
    "local": "Facts: who, what, when, where, how; answered from the passages that say so.",
    "global": "The whole collection: themes, overviews, what runs through many documents.",
}


@dataclass
class NarrowedQuestion(QueryBundle):
    """A question to some of the documents, as it travels through LlamaIndex's engines."""

    within: DocumentFilter | None = None


class AnswerEngine(BaseQueryEngine):
    """A LlamaIndex query engine around a function that answers."""

    def __init__(self, answer: Answering) -> None:
        self._answer = answer
        super().__init__(callback_manager=CallbackManager([]))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        within = query_bundle.within if isinstance(query_bundle, NarrowedQuestion) else None
        answer = self._answer(query_bundle.query_str, within=within)
        return Response(
            response=answer.text,
            source_nodes=[_node(passage) for passage in answer.passages],
            metadata={ANSWER_KEY: answer},
        )

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        # A language model may think for a minute: the event loop must go on.
        return await asyncio.to_thread(self._query, query_bundle)


def build_router(
    selector: BaseSelector,
    *,
    local: Answering,
    overview: Answering,
) -> RouterQueryEngine:
    """The router over the local and the global engine."""
    # Left out, these two would make LlamaIndex read its global settings and turn to OpenAI.
    silent = MockLLM()
    tools = [
        QueryEngineTool.from_defaults(
            AnswerEngine(answer), name=name, description=DESCRIPTIONS[name]
        )
        for name, answer in (("local", local), ("global", overview))
    ]
    summariser = TreeSummarize(llm=silent, callback_manager=CallbackManager([]))
    return RouterQueryEngine(selector, tools, llm=silent, summarizer=summariser)


def answer_of(response: RESPONSE_TYPE, *, seconds: float) -> Answer:
    """The answer in a router's response, with the router's choice first in its trace."""
    metadata = response.metadata or {}
    answer: Answer = metadata[ANSWER_KEY]
    reason = metadata["selector_result"].reason
    total = sum(step.seconds for step in answer.trace)
    step = TraceStep(stage="route", detail=reason, seconds=max(0.0, seconds - total))
    return replace(answer, trace=(step, *answer.trace))


def _node(passage: Passage) -> NodeWithScore:
    node = TextNode(
        id_=passage.chunk_id,
        text=passage.text,
        start_char_idx=passage.start,
        end_char_idx=passage.end,
        metadata={"title": passage.title, "document_id": passage.document_id},
    )
    return NodeWithScore(node=node, score=passage.score)
