"""Self-RAG: skip retrieval, or answer again with a rewritten query and return the best round.

After Self-RAG (Asai et al., "Self-RAG: Learning to Retrieve, Generate, and Critique through
Self-Reflection", ICLR 2024), with a model's words or plain rules in place of trained tokens.
Without a model only greetings, sums and questions about the conversation skip the search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from typing import TYPE_CHECKING

from graph.text.cjk import in_script_of, simplified

from ..errors import ModelError
from ..llm.client import LLMClient
from ..prompts import Language, language_of, stage_prompt
from ..retrieval.passages import Tracer
from ..retrieval.query_expansion import ExpandedQuery, Expander, Expansion
from ..retrieval.retriever import HybridRetriever
from ..storage.schema import DocumentFilter
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage, TraceStep
from ..verification.entities_and_numbers import extract_quantities
from ..verification.llm_judge import read_object
from .corrective import feedback_expansion
from .packing import Draft, PackedContext, source_label

if TYPE_CHECKING:
    from ..storage.graph_api import Prompt

ENOUGH = 0.7
"""Evidence or supported share from which no further round is tried."""

MAX_REPLY_CHARACTERS = 200
MAX_QUERY_CHARACTERS = 300
_MAX_SUM_CHARACTERS = 120
_SHOWN_PASSAGES, _SHOWN_CHARACTERS = 5, 400

_GREETING = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day|night)|thanks?(?: you)?(?: very much)?"
    r"|thank you so much|bye|goodbye|how are you"
    r"|你好|您好|早上好|下午好|晚上好|谢谢你?|多谢|再见|嗨|你好吗)"
    r"(?: there| all| everyone|啊|呀)?",
    re.IGNORECASE,
)
_ABOUT_TALK = re.compile(
    r"what (?:did|have) (?:i|you|we) (?:just )?(?:say|said|ask|asked|tell|told)(?: you| me)?"
    r"(?: (?:before|first|last|earlier))?"
    r"|what was my (?:last|first|previous) (?:question|message)"
    r"|(?:我|你|我们)(?:刚才|刚刚|之前|上次)(?:说|问)(?:过|了)?(?:什么|啥)",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"(?:what(?:'s| is)|how much is|calculate|compute|计算(?:一下)?)?\s*"
    r"(?P<sum>[-+(]*\d[\d\s.,+\-*/×÷()xX]*[+\-*/×÷xX][\d\s.,+\-*/×÷()xX]*\d\)*)\s*"
    r"(?:=|等于(?:多少|几)?|是多少|得多少)?\s*[?？]?",
    re.IGNORECASE,
)
_PLAIN_SUM = re.compile(r"[+*×÷]|\s[-/]\s")
"""Pattern that turns numbers and signs into arithmetic without other cues."""
_REPLIES: dict[str, dict[Language, str]] = {
    "greeting": {
        "en": "Hello. Ask a question about the documents in this library.",
        "zh": "你好。请就资料库中的文档提问。",
    },
    "talk": {
        "en": "Answers here come from the documents alone: what was said before only helps to"
        " understand a question.",
        "zh": "这里的回答只依据文档，之前的对话只用来理解问题。",
    },
}

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


def answer_without_retrieval(question: str) -> Draft | None:
    """Answer without retrieval where that is certain; None otherwise."""
    language = language_of(question)
    said = simplified(question).strip().strip("!！.。?？~～ ")
    if _GREETING.fullmatch(said):
        reply = in_script_of(question, _REPLIES["greeting"][language])
        return Draft(text=reply, detail="greeting: no retrieval needed")
    if _ABOUT_TALK.fullmatch(said):
        reply = in_script_of(question, _REPLIES["talk"][language])
        return Draft(text=reply, detail="about the conversation")
    found = _SUM.fullmatch(question.strip())
    if found and question.strip() == found["sum"].strip() and not _PLAIN_SUM.search(question):
        return None  # 1901-1907, 24/7
    result = evaluate_arithmetic(found["sum"]) if found else None
    if found and result is not None:
        said = f"{found['sum'].strip()} = {result}"
        return Draft(text=said, detail="arithmetic: no retrieval needed")
    return None


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


# --- sums -------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|[-+*/()])")
_DEEPEST = 20


def evaluate_arithmetic(text: str) -> str | None:
    """Evaluate plain arithmetic in an answer with + - * / and brackets; None otherwise.

    Numbers are decimal and bounded, and nothing but the four operations is known.
    """
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    plain = plain.replace("×", "*").replace("÷", "/").replace("x", "*").replace("X", "*")
    if len(plain) > _MAX_SUM_CHARACTERS:
        return None
    tokens = _TOKEN.findall(plain)
    if "".join(tokens) != re.sub(r"\s+", "", plain):
        return None
    with localcontext() as context:
        context.prec = 30
        try:
            value, rest = _total(tokens, 0)
            if rest or not value.is_finite():
                return None
            rounded = round(value, 10)
            return format(rounded.normalize() + 0, "f")
        except (InvalidOperation, DivisionByZero, IndexError, ValueError):
            return None


def _total(tokens: list[str], depth: int) -> tuple[Decimal, list[str]]:
    value, tokens = _product(tokens, depth)
    while tokens and tokens[0] in "+-":
        operation, (other, rest) = tokens[0], _product(tokens[1:], depth)
        value, tokens = (value + other if operation == "+" else value - other), rest
    return value, tokens


def _product(tokens: list[str], depth: int) -> tuple[Decimal, list[str]]:
    value, tokens = _factor(tokens, depth)
    while tokens and tokens[0] in "*/":
        operation, (other, rest) = tokens[0], _factor(tokens[1:], depth)
        value, tokens = (value * other if operation == "*" else value / other), rest
    return value, tokens


def _factor(tokens: list[str], depth: int) -> tuple[Decimal, list[str]]:
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if tokens[0] == "-":
        value, rest = _factor(tokens[1:], depth + 1)
        return -value, rest
    if tokens[0] == "(":
        value, rest = _total(tokens[1:], depth + 1)
        if rest[0] != ")":
            raise ValueError("not closed")
        return value, rest[1:]
    return Decimal(tokens[0]), tokens[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRound:
    """One round: what it answered from, and what it answered."""

    packed: PackedContext
    draft: Draft
    trace: tuple[TraceStep, ...] = ()


Try = Callable[[Expander | None], AnswerRound]
"""One round with an expander of its own; None searches as the settings say."""


class SelfRag:
    """Decides, judges and tries again, for one library.

    Args:
        max_rounds: how many further rounds there may be.
        retriever: weighs words for feedback among the documents that may be seen.
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
        best = last = attempt(None)
        steps.skip()
        known = [question]
        for number in range(1, self._max_rounds + 1):
            if answer_score(best.draft) >= ENOUGH:
                break
            again = self._better(question, last, known, steps, within)
            if again is None:
                break
            try:
                last = attempt(again)
            except ModelError as error:
                note = f"round {number + 1} failed: {error}"
                steps.record("reflect", note, failed=1)
                return best, note
            steps.skip()
            weight = self._retriever.idf(within)
            better = answers_more(question, last.draft, best.draft, weight=weight)
            steps.record(
                "reflect",
                f"round {number + 1} is {'better' if better else 'no better'}",
                before=answer_score(best.draft),
                after=answer_score(last.draft),
            )
            best = last if better else best
        return best, ""

    def _better(
        self,
        question: str,
        last: AnswerRound,
        known: list[str],
        steps: Tracer,
        within: DocumentFilter | None,
    ) -> Expander | None:
        """Another way to search; None where there is none that was not tried."""
        if self._client is not None:
            query, problem = self._rewritten(question, last, known)
            if query:
                known.append(query)
                steps.record("rewrite", "another query", query, question)
                return _beside(query)
            steps.record("rewrite", f"no rewritten query: {problem}", "", question, failed=1)
        if _FEEDBACK in known:
            return None
        known.append(_FEEDBACK)
        return feedback_expansion(self._retriever.idf(within))

    def _rewritten(self, question: str, last: AnswerRound, known: Sequence[str]) -> tuple[str, str]:
        if self._client is None:
            return "", "no model"
        try:
            prompt = rewrite_prompt(question, last.packed.passages, known)
            reply = self._client.ask(prompt, stage="rewrite", keep=True).text
        except ModelError as error:
            return "", str(error)
        return read_query(reply, known), "no new query in the reply"


_FEEDBACK = "\x00feedback"


def _beside(query: str) -> Expander:
    """Combine a rewritten query with the question at a low weight."""

    def searches(question: str, _: object) -> ExpandedQuery:
        itself = Expansion(keyword=question, dense=question, weight=0.3, kind="question")
        other = Expansion(keyword=query, dense=query, weight=1.0, kind="decompose")
        return ExpandedQuery(expansions=(itself, other), asked=1)

    return searches
