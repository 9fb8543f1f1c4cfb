"""Corrective retrieval before generation: passages graded right, doubtful or wrong.

After CRAG (Yan et al., "Corrective Retrieval Augmented Generation", 2024). Right: for a model the
passages are cut to their key sentences. Doubtful: pages are searched for outside of the library,
where a `WebSearch` is given. Wrong: the web alone, else a refusal that says what was searched. A
model grades where there is one, else calibrated relevance decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ..answering.packing import Draft, abstain
from ..answering.rounds import CorrectedPassages
from ..config import CheckSettings
from ..llm.client import LLMClient
from ..prompts import ABSTENTION, Language, language_of
from ..retrieval.fusion import question_tokens
from ..retrieval.passages import Tracer, preview_top_passages
from ..retrieval.retriever import HybridRetriever
from ..storage.graph_api import sentence_spans
from ..storage.schema import DocumentFilter
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage
from ..verification.llm_judge import ClaimJudgement, call_judge, grade_prompt, read_grades
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
        retriever: weighs words.
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
        found = self._from_web(question, within, steps)
        if verdict == "doubtful":
            return CorrectedPassages(passages=[*kept, *found])
        if any(each.relevance >= self._settings.wrong_below for each in found):
            return CorrectedPassages(passages=found)
        return CorrectedPassages(refusal=_refusal(question, [*passages, *found]))

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
