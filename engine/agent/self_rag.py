"""Self-RAG: skip retrieval, or answer again with a rewritten query and return the best round.

After Self-RAG (Asai et al., "Self-RAG: Learning to Retrieve, Generate, and Critique through
Self-Reflection", ICLR 2024), with a model's words or plain rules in place of trained tokens.
Without a model only greetings, sums and questions about the conversation skip the search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..answering.packing import Draft, source_label
from ..answering.rounds import AnswerRound, Try
from ..errors import ModelError
from ..llm.client import LLMClient
from ..prompts import language_of, stage_prompt
from ..retrieval.passages import Tracer
from ..retrieval.query_expansion import ExpandedQuery, Expander, Expansion
from ..retrieval.retriever import HybridRetriever
from ..storage.schema import DocumentFilter
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage
from ..verification.entities_and_numbers import extract_quantities
from ..verification.llm_judge import read_object
from .direct import answer_without_retrieval
from .runner import run_rounds
from .state import Action, DirectAnswer, Finding, Limits, Search, SearchKnowledge, State

if TYPE_CHECKING:
    from ..storage.graph_api import Prompt

ENOUGH = 0.7
"""Evidence or supported share from which no further round is tried."""

MAX_REPLY_CHARACTERS = 200
MAX_QUERY_CHARACTERS = 300
_SHOWN_PASSAGES, _SHOWN_CHARACTERS = 5, 400

_SAYS = re.compile(r"[\[【<《]|(?<=[a-z,] )(?!I\b)[A-Z]\w+")

_DECISION = {
    "type": "object",
    "properties": {"retrieve": {"type": "boolean"}, "reply": {"type": "string"}},
    "required": ["retrieve"],
    "additionalProperties": False,
}
_QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}


def decide_prompt(question: str) -> Prompt:
    """Asks whether the question has to be looked up."""
    return stage_prompt(
        "decide",
        language=language_of(question),
        context="",
        question=question,
        max_output_tokens=120,
        schema=_DECISION,
    )


def read_decision(reply: str) -> Draft | None:
    """Parse a model's direct answer; None if retrieval is needed.

    A reply with a figure, a name or a mark, or that is long, says something: that is looked up.
    """
    found = read_object(reply)
    said = found.get("reply")
    if found.get("retrieve") is not False or not isinstance(said, str) or not said.strip():
        return None
    text = " ".join(said.split())
    if len(text) > MAX_REPLY_CHARACTERS or extract_quantities(text).count or _SAYS.search(text):
        return None
    return Draft(text=text, detail="a model decided that no retrieval is needed")


def rewrite_prompt(question: str, passages: Sequence[Passage], tried: Sequence[str]) -> Prompt:
    """Build the rewrite prompt from past queries and passage openings."""
    shown = [
        f"{source_label(passage, n)}\n{passage.text[:_SHOWN_CHARACTERS]}"
        for n, passage in enumerate(passages[:_SHOWN_PASSAGES], start=1)
    ]
    return stage_prompt(
        "rewrite",
        language=language_of(question),
        context="\n\n".join((*shown, "Tried: " + " | ".join(tried))),
        question=question,
        max_output_tokens=120,
        schema=_QUERY,
    )


def read_query(reply: str, known: Sequence[str]) -> str:
    """Parse the web search query that a model wrote; empty if missing or already tried."""
    said = read_object(reply).get("query")
    text = " ".join(said.split())[:MAX_QUERY_CHARACTERS] if isinstance(said, str) else ""
    return "" if text.casefold() in {each.casefold() for each in known} else text


def answer_score(draft: Draft) -> float:
    """Score an answer, 0–1, for whether another round is tried; 0 for an abstention.

    The share of its claims that nothing speaks against, or, of an extracted one, its evidence.
    """
    if draft.abstained:
        return 0.0
    if draft.claims:
        return sum(claim.supported or claim.unchecked for claim in draft.claims) / len(draft.claims)
    known = (draft.grounding, draft.evidence)
    return next((value for value in known if value is not None), 1.0)


def answers_more(question: str, new: Draft, old: Draft, *, weight: TokenWeight) -> bool:
    """Check whether an answer is better than another: by what of the question it answers.

    What both answer alike is left to `answer_score`.
    """
    one, other = (_answered(question, draft, weight) for draft in (new, old))
    if new.abstained != old.abstained:
        return old.abstained
    if abs(one - other) > _SAME_SHARE:
        return one > other
    return answer_score(new) > answer_score(old)


_SAME_SHARE = 0.1


def _answered(question: str, draft: Draft, weight: TokenWeight) -> float:
    """Return the share of the question's words that supported claims and their quotes hold."""
    asked = set(tokens(question))
    held = [claim.text for claim in draft.claims if claim.supported or claim.unchecked]
    if not draft.claims:
        held = [draft.text]
    cited = {number for claim in draft.claims if claim.supported for number in claim.citations}
    held += [one.quote for one in draft.citations if one.number in cited]
    words = set(tokens(" ".join(held)))
    total = sum(weight(word) for word in asked)
    return sum(weight(word) for word in asked & words) / total if total else 0.0


class SelfRag:
    """Decides, judges and tries again, for one library.

    Args:
        max_rounds: how many further rounds there may be.
        retriever: weighs words among the documents that may be seen.
        client: the deciding and rewriting model; None goes by rules.
    """

    def __init__(
        self, *, max_rounds: int, retriever: HybridRetriever, client: LLMClient | None = None
    ) -> None:
        self._max_rounds = max_rounds
        self._retriever = retriever
        self._client = client

    def spared(self, question: str, steps: Tracer) -> Draft | None:
        """Return a direct answer; None if retrieval is needed."""
        draft = answer_without_retrieval(question)
        problem = ""
        if draft is None and self._client is not None:
            try:
                prompt = decide_prompt(question)
                draft = read_decision(self._client.ask(prompt, stage="decide", keep=True).text)
            except ModelError as error:
                problem = f" (by rules alone: {error})"
        said = draft.detail if draft is not None else f"retrieval needed{problem}"
        steps.record("decide", said, "", question, failed=float(bool(problem)))
        return draft

    def best(
        self,
        question: str,
        attempt: Try,
        steps: Tracer,
        *,
        within: DocumentFilter | None,
    ) -> tuple[AnswerRound, str]:
        """Return the best round, and why no further one could be made.

        The first one's errors come through; after it there is an answer to fall back to.
        """
        policy = _Reflection(
            question=question,
            attempt=attempt,
            steps=steps,
            weight=self._retriever.idf(within),
            client=self._client,
        )
        run_rounds(
            State(question=question),
            decide=policy.decide,
            act=policy.act,
            limits=Limits(max_rounds=1 + self._max_rounds, needs_new=False),
        )
        return policy.rounds[policy.best], policy.problem


@dataclass(slots=True, kw_only=True)
class _Reflection:
    """Decides on further rounds of one question and compares them; `best` is the best one's row."""

    question: str
    attempt: Try
    steps: Tracer
    weight: TokenWeight
    client: LLMClient | None
    rounds: list[AnswerRound] = field(default_factory=list)
    best: int = 0
    problem: str = ""

    def decide(self, state: State) -> Action:
        """Search again by another query while the best answer is poor and a model writes one."""
        if not self.rounds:
            return SearchKnowledge(query=self.question)
        if answer_score(self.rounds[self.best].draft) >= ENOUGH:
            return DirectAnswer(reason="the answer is good enough")
        if query := self._rewritten([each.query for each in state.tried]):
            return SearchKnowledge(query=query, purpose="rewrite")
        return DirectAnswer(reason="no other query")

    def act(self, action: Search, state: State) -> Finding | DirectAnswer:
        """Answer once more; an end that says why where a further round failed."""
        number = state.rounds + 1
        try:
            made = self.attempt(_beside(action.query) if self.rounds else None)
        except ModelError as error:
            if not self.rounds:
                raise
            note = f"round {number} failed: {error}"
            self.steps.record("reflect", note, failed=1)
            self.problem = note
            return DirectAnswer(reason=note)
        self.steps.skip()
        self.rounds.append(made)
        if number > 1:
            self._compare(number)
        return Finding(action=action, passages=made.packed.passages)

    def _compare(self, number: int) -> None:
        last, best = self.rounds[-1].draft, self.rounds[self.best].draft
        is_better = answers_more(self.question, last, best, weight=self.weight)
        self.steps.record(
            "reflect",
            f"round {number} is {'better' if is_better else 'no better'}",
            before=answer_score(best),
            after=answer_score(last),
        )
        if is_better:
            self.best = len(self.rounds) - 1

    def _rewritten(self, tried: Sequence[str]) -> str:
        """Return another query by a model; empty without one."""
        if self.client is None:
            return ""
        known, passages = [*dict.fromkeys(tried)], self.rounds[-1].packed.passages
        query, problem = "", "no new query in the reply"
        try:
            prompt = rewrite_prompt(self.question, passages, known)
            query = read_query(self.client.ask(prompt, stage="rewrite", keep=True).text, known)
        except ModelError as error:
            problem = str(error)
        if query:
            self.steps.record("rewrite", "another query", query, self.question)
        else:
            said = f"no rewritten query: {problem}"
            self.steps.record("rewrite", said, "", self.question, failed=1)
        return query


def _beside(query: str) -> Expander:
    """Combine a rewritten query with the question at a low weight."""

    def searches(question: str, _: object) -> ExpandedQuery:
        itself = Expansion(keyword=question, dense=question, weight=0.3, kind="question")
        other = Expansion(keyword=query, dense=query, weight=1.0, kind="decompose")
        return ExpandedQuery(expansions=(itself, other), asked=1)

    return searches
