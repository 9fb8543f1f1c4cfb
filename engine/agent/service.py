"""Agentic search of one library: the loop with its retriever, its answerer, and its model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..answering.answerer import LocalAnswerer
from ..answering.synthesis import say_answer
from ..config import AgentSettings
from ..events import Listener, null_listener, without_tokens
from ..llm.client import LLMClient
from ..retrieval.retriever import HybridRetriever, SearchResult
from ..storage.schema import DocumentFilter
from ..types import Answer, Passage, Turn
from .chain import name_read
from .hops import asks_for_name, find_hop
from .model import decide_by_model
from .rules import decide_by_rules
from .runner import AgentTools, Decide, Recall, run_agent
from .state import Limits
from .web import WebSearch, search_web

_SUMS_UP = re.compile(
    r"\W*(?:please |can you |could you )?(?:sum up|summari[sz]e|recap|condense|outline)\b"
    r"|\W*(?:请|帮我|麻烦)*(?:概括|总结|概述|归纳)",
    re.IGNORECASE,
)


class AgentSearch:
    """Answers questions in rounds.

    Args:
        settings: the limits of one question.
        local: reads the library for a question.
        retriever: finds passages, and weighs the words of web pages.
        client: the deciding model; None decides by rules.
        web: searches outside of the library; None never does.
    """

    def __init__(
        self,
        settings: AgentSettings,
        *,
        local: LocalAnswerer,
        retriever: HybridRetriever,
        client: LLMClient | None = None,
        web: WebSearch | None = None,
    ) -> None:
        self.limits = Limits(
            max_rounds=settings.max_rounds,
            max_seconds=settings.max_seconds,
            max_tokens=settings.max_tokens,
        )
        self._auto = settings.auto and client is None
        self._local = local
        self._retriever = retriever
        self._client = client
        self._web = web

    def suits(self, question: str) -> bool:
        """Check whether `auto` takes this mode: for questions of two steps, without a model.

        What is to be summed up is looked up by its description, which has no steps.
        """
        return self._auto and find_hop(question) is not None and not _SUMS_UP.match(question)

    def answer(
        self,
        question: str,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
        memory: Recall | None = None,
    ) -> Answer:
        """Answer, abstain, or ask back. Only the answer that stands is spoken."""
        tools = self.tools(within=within, turns=turns, on_event=on_event, memory=memory)
        answer = run_agent(
            question,
            tools,
            turns=turns,
            decide=self.decider(),
            limits=self.limits,
            on_event=on_event,
        )
        say_answer(answer, on_event)
        return answer

    def decider(self) -> Decide:
        """Return the model's decider where there is one, else that of the rules."""
        if self._client is None:
            return decide_by_rules
        return decide_by_model(self._client, max_seconds=self.limits.max_seconds)

    def tools(
        self,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
        memory: Recall | None = None,
    ) -> AgentTools:
        """Return the searches of one question."""
        return AgentTools(
            answer=lambda query, found: self._read(query, found, within, turns, on_event),
            search=lambda query: self._local.search(query, within).passages,
            reads=self._client is None,
            memory=memory,
            web=None if self._web is None else lambda query: self._from_web(query, within),
        )

    def _read(
        self,
        question: str,
        found: Sequence[Passage] | None,
        within: DocumentFilter | None,
        turns: tuple[Turn, ...],
        on_event: Listener,
    ) -> Answer:
        given = None if found is None else SearchResult(passages=list(found))
        answer = self._local.answer(
            question, within=within, turns=turns, on_event=without_tokens(on_event), found=given
        )
        quote = answer.citations[0].quote if answer.citations else ""
        if answer.short is not None or not quote or not asks_for_name(question):
            return answer
        names = self._retriever.find_entities(quote, within)
        return name_read(answer, [(each.start, each.end, each.type) for each in names])

    def _from_web(self, query: str, within: DocumentFilter | None) -> list[Passage]:
        """Return pages of the web; none where the search fails."""
        if self._web is None:
            return []
        return search_web(self._web, query, idf=self._retriever.idf(within))[0]
