"""Corrective retrieval before generation: passages graded right, doubtful or wrong.

After CRAG (Yan et al., "Corrective Retrieval Augmented Generation", 2024). Right: for a model the
passages are cut to their key sentences. Doubtful: more are searched for with words of those found,
and outside of the library where a `WebSearch` is given. Wrong: the web alone, else a refusal that
says what was searched. A model grades where there is one, else calibrated relevance decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from ..answering.packing import Draft, abstain
from ..answering.rounds import CorrectedPassages
from ..config import CheckSettings
from ..llm.client import LLMClient
from ..prompts import ABSTENTION, Language, language_of
from ..retrieval.fusion import question_tokens
from ..retrieval.passages import Tracer, preview_top_passages
from ..retrieval.query_expansion import Expander, expand_query
from ..retrieval.retriever import HybridRetriever
from ..storage.graph_api import sentence_spans
from ..storage.schema import DocumentFilter
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage
from ..verification.llm_judge import ClaimJudgement, call_judge, grade_prompt, read_grades
from .runner import run_rounds
from .state import Action, DirectAnswer, Finding, Limits, Search, SearchKnowledge, SearchWeb, State
from .web import WebSearch, search_web

Verdict = Literal["right", "doubtful", "wrong"]
Grade = Literal["yes", "partly", "no"]

KEY_SHARE = 0.5
"""Minimum share of the passage's best sentence score for a sentence to stay."""


def verdict_of(
    passages: Sequence[Passage],
    *,
    wrong_below: float,
    right_from: float,
    grades: Mapping[int, Grade] | None = None,
) -> Verdict:
    """Grade the passages; `grades` are a model's, by number from 1."""
    if grades:
        said = set(grades.values())
        if "yes" in said:
            return "right"
        return "doubtful" if "partly" in said else "wrong"
    best = max((passage.relevance for passage in passages), default=0.0)
    if best < wrong_below:
        return "wrong"
    return "right" if best >= right_from else "doubtful"


def without_refused(
    passages: Sequence[Passage], grades: Mapping[int, Grade] | None
) -> list[Passage]:
    """Drop passages that a model rejects, unless none would remain."""
    kept = [
        passage
        for number, passage in enumerate(passages, start=1)
        if (grades or {}).get(number) != "no"
    ]
    return kept or list(passages)


def trim_passages(question: str, passages: Sequence[Passage], *, idf: TokenWeight) -> list[Passage]:
    """Trim each retrieved passage to its relevant run of sentences plus one on each side.

    `document_text[start:end] == text` still holds. A passage in which nothing stands out stays.
    """
    wanted = {token: max(idf(token), 0.0) for token in question_tokens(question)}
    return [_refined(passage, wanted) for passage in passages]


def _refined(passage: Passage, wanted: Mapping[str, float]) -> Passage:
    spans = sentence_spans(passage.text)
    carried = [
        sum(wanted[token] for token in set(tokens(passage.text[start:end])) & wanted.keys())
        for start, end in spans
    ]
    best = max(carried, default=0.0)
    if best <= 0.0:
        return passage
    key = [n for n, weight in enumerate(carried) if weight >= KEY_SHARE * best]
    first, last = max(0, key[0] - 1), min(len(spans) - 1, key[-1] + 1)
    start, end = spans[first][0], spans[last][1]
    return replace(
        passage,
        text=passage.text[start:end],
        start=passage.start + start,
        end=passage.start + end,
    )


def merged_passages(
    first: Sequence[Passage], second: Sequence[Passage], *, limit: int
) -> list[Passage]:
    """Both lists by relevance, each passage once, at its better place; ties as given."""
    best: dict[str, Passage] = {}
    for passage in (*first, *second):
        held = best.get(passage.chunk_id)
        if held is None or passage.relevance > held.relevance:
            best[passage.chunk_id] = passage
    return sorted(best.values(), key=lambda passage: -passage.relevance)[:limit]


_SEARCHED: dict[Language, str] = {
    "en": "{count} passages were looked at; the nearest, “{title}”, is about something else.",
    "zh": "共查看了 {count} 个段落，最接近的“{title}”说的是别的事。",
}
_NOTHING: dict[Language, str] = {"en": "Nothing was found.", "zh": "没有找到任何内容。"}
_TITLE_CHARACTERS = 80


_GRADED = 10
"""First passages that a model grades; the rest stay as they were found."""


class CorrectiveRetriever:
    """Judges and corrects what was found in one library.

    Args:
        settings: from which relevance on passages are right or wrong.
        retriever: searches once more, and weighs words.
        client: the grading model; None goes by relevance.
        web: searches outside of the library; None does not.
    """

    def __init__(
        self,
        settings: CheckSettings,
        *,
        retriever: HybridRetriever,
        client: LLMClient | None = None,
        web: WebSearch | None = None,
    ) -> None:
        self._settings = settings
        self._retriever = retriever
        self._client = client
        self._web = web

    def corrected(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        within: DocumentFilter | None,
        steps: Tracer,
    ) -> CorrectedPassages:
        """Return the passages to answer from; every stage is a trace step."""
        verdict, kept = self._graded(question, passages, steps)
        if verdict == "right":
            return CorrectedPassages(passages=self._refined(question, kept, within, steps))
        first = Finding(action=SearchKnowledge(query=question), passages=tuple(kept))
        state, _ = run_rounds(
            State(question=question, findings=(first,), has_web=self._web is not None),
            decide=partial(decide_correction, verdict=verdict),
            act=partial(self._act, within=within, steps=steps),
            limits=Limits(needs_new=False),
        )
        if verdict == "doubtful":
            return CorrectedPassages(passages=_widest(state))
        found = [each for each in _widest(state) if each.origin == "web"]
        if any(each.relevance >= self._settings.wrong_below for each in found):
            return CorrectedPassages(passages=found)
        return CorrectedPassages(refusal=_refusal(question, [*passages, *found]))

    def _act(
        self, action: Search, state: State, *, within: DocumentFilter | None, steps: Tracer
    ) -> Finding:
        if isinstance(action, SearchWeb):
            found = self._from_web(action.query, within, steps)
        else:
            found = self._widened(action.query, state.findings[0].passages, within, steps)
        return Finding(action=action, passages=tuple(found))

    def _graded(
        self, question: str, passages: Sequence[Passage], steps: Tracer
    ) -> tuple[Verdict, list[Passage]]:
        judged: ClaimJudgement[Grade] = ClaimJudgement(values={})
        if self._client is not None and passages:
            judged = call_judge(
                self._client,
                "grade",
                grade_prompt(question, passages[:_GRADED], language=language_of(question)),
                lambda reply: read_grades(reply, count=min(_GRADED, len(passages))),
            )
        verdict = verdict_of(
            passages,
            wrong_below=self._settings.wrong_below,
            right_from=self._settings.right_from,
            grades=judged.values,
        )
        kept = without_refused(passages, judged.values)
        by = "a model" if judged.values else "relevance"
        note = f"; by rules alone: {judged.problem}" if judged.problem else ""
        steps.record(
            "grade",
            f"{verdict}, by {by}{note}",
            preview_top_passages(kept),
            question,
            relevance=max((each.relevance for each in passages), default=0.0),
            left_out=len(passages) - len(kept),
            failed=float(bool(judged.problem)),
        )
        return verdict, kept

    def _refined(
        self,
        question: str,
        passages: Sequence[Passage],
        within: DocumentFilter | None,
        steps: Tracer,
    ) -> list[Passage]:
        if self._client is None:
            return list(passages)  # extraction chooses sentences itself, and reads around them
        cut = trim_passages(question, passages, idf=self._retriever.idf(within))
        before = sum(len(each.text) for each in passages)
        after = sum(len(each.text) for each in cut)
        steps.record("refine", f"{after} of {before} characters kept", preview_top_passages(cut))
        return cut

    def _widened(
        self,
        question: str,
        passages: Sequence[Passage],
        within: DocumentFilter | None,
        steps: Tracer,
    ) -> list[Passage]:
        limit = 2 * max(1, len(passages))
        found = self._retriever.search(
            question,
            top_k=limit,
            within=within,
            expander=feedback_expansion(self._retriever.idf(within)),
        )
        wider = merged_passages(passages, found.passages, limit=limit)
        new = len({each.chunk_id for each in wider} - {each.chunk_id for each in passages})
        steps.record(
            "widen", f"{new} further passages", preview_top_passages(wider), question, new=new
        )
        return wider

    def _from_web(
        self, question: str, within: DocumentFilter | None, steps: Tracer
    ) -> list[Passage]:
        if self._web is None:
            return []
        found, problem = search_web(self._web, question, idf=self._retriever.idf(within))
        if problem:
            steps.record("web", problem, "", question, failed=1)
            return []
        addresses = "; ".join(each.document_id for each in found)
        steps.record("web", f"{len(found)} pages", addresses, question, outside=max(1, len(found)))
        return found


def decide_correction(state: State, *, verdict: Verdict) -> Action:
    """Decide where to search once more: the library where passages are doubtful, then the web."""
    ways: list[Search] = []
    if verdict == "doubtful":
        ways.append(SearchKnowledge(query=state.question, purpose="feedback"))
    if state.has_web:
        ways.append(SearchWeb(query=state.question))
    done = DirectAnswer(reason="all was searched")
    return next((way for way in ways if way not in state.tried), done)


def _widest(state: State) -> list[Passage]:
    """Return the library's passages as last found, then those of the web."""
    library = [each for each in state.findings if isinstance(each.action, SearchKnowledge)]
    web = [each for each in state.findings if isinstance(each.action, SearchWeb)]
    return [passage for each in (*library[-1:], *web) for passage in each.passages]


def feedback_expansion(idf: TokenWeight) -> Expander:
    """Search again with terms of the first result (pseudo-relevance feedback)."""
    return lambda question, first: expand_query(
        question, kinds=("feedback",), first_passages=first, idf=idf
    )


def _refusal(question: str, passages: Sequence[Passage]) -> Draft:
    """Return the abstention, listing the queries tried."""
    language = language_of(question)
    best = max(passages, key=lambda each: each.relevance, default=None)
    if best is None:
        said = _NOTHING[language]
    else:
        title = " ".join(best.title.split())[:_TITLE_CHARACTERS] or best.document_id
        said = _SEARCHED[language].format(count=len(passages), title=title)
    blank = " " if language == "en" else ""
    draft = abstain(language, detail="the passages are about something else")
    return Draft(
        text=f"{ABSTENTION[language]}{blank}{said}",
        abstained=True,
        evidence=0.0,
        detail=draft.detail,
    )
