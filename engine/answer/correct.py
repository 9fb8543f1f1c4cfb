"""Corrective retrieval before generation (see `retrieve.corrective`).

Right: for a model the passages are cut to their key sentences. Doubtful: more are looked for, with
words of those found, and outside of the library where there is a tool for that. Wrong: the tool
alone, else a refusal that says what was searched. By a model's grades where there is one, else by
relevance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..index.door import sentence_spans
from ..index.filters import DocumentFilter
from ..retrieve.corrective import (
    MAX_WEB_RESULTS,
    Grade,
    Verdict,
    WebSearch,
    merged_passages,
    refined,
    verdict_of,
    web_passages,
    without_refused,
)
from ..retrieve.leading import preview_top_passages
from ..retrieve.local import LocalRetriever
from ..retrieve.stopwatch import Tracer
from ..retrieve.transform import Expander, expand_query
from ..settings import CheckSettings
from ..types import Passage
from .checks.judge import ClaimJudgement, JudgeLLM, call_judge, grade_prompt, read_grades
from .draft import Draft, abstain
from .language import ABSTENTION, Language, language_of

_SEARCHED: dict[Language, str] = {
    "en": "{count} passages were looked at; the nearest, “{title}”, is about something else.",
    "zh": "共查看了 {count} 个段落，最接近的“{title}”说的是别的事。",
}
_NOTHING: dict[Language, str] = {"en": "Nothing was found.", "zh": "没有找到任何内容。"}
_TITLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedPassages:
    """The passages to answer from; or a `refusal`, where there are none."""

    passages: list[Passage] = field(default_factory=list)
    refusal: Draft | None = None


class CorrectiveRetriever:
    """Judges and corrects what was found in one library.

    Args:
        settings: from which relevance on passages are right or wrong.
        retriever: searches once more.
        idf: gives the weights of tokens among the documents that may be seen.
        consult: asks a model for grades; None goes by relevance.
        web: searches outside of the library; None does not.
    """

    def __init__(
        self,
        settings: CheckSettings,
        *,
        retriever: LocalRetriever,
        idf: Callable[[DocumentFilter | None], Callable[[str], float]],
        consult: JudgeLLM | None = None,
        web: WebSearch | None = None,
    ) -> None:
        self._settings = settings
        self._retriever = retriever
        self._idf = idf
        self._consult = consult
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
        match verdict:
            case "right":
                return CorrectedPassages(passages=self._refined(question, kept, within, steps))
            case "doubtful":
                wider = self._widened(question, kept, within, steps)
                found = self._from_web(question, within, steps)
                return CorrectedPassages(passages=[*wider, *found])
            case "wrong":
                found = self._from_web(question, within, steps)
                if any(each.relevance >= self._settings.wrong_below for each in found):
                    return CorrectedPassages(passages=found)
                return CorrectedPassages(refusal=_refusal(question, [*passages, *found]))

    def _graded(
        self, question: str, passages: Sequence[Passage], steps: Tracer
    ) -> tuple[Verdict, list[Passage]]:
        judged: ClaimJudgement[Grade] = ClaimJudgement(values={})
        if self._consult is not None and passages:
            judged = call_judge(
                self._consult,
                "grade",
                grade_prompt(question, passages, language=language_of(question)),
                lambda reply: read_grades(reply, count=len(passages)),
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
        if self._consult is None:
            return list(passages)  # extraction chooses sentences itself, and reads around them
        cut = refined(question, passages, idf=self._idf(within), sentence_spans=sentence_spans)
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
            question, top_k=limit, within=within, expander=feedback_expansion(self._idf(within))
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
        try:
            results = self._web.search(question, limit=MAX_WEB_RESULTS)
        except (OSError, ValueError) as error:
            steps.record("web", f"failed: {error}", "", question, failed=1)
            return []
        found = web_passages(
            question,
            results,
            idf=self._idf(within),
        )
        addresses = "; ".join(each.document_id for each in found)
        steps.record("web", f"{len(found)} pages", addresses, question, outside=max(1, len(found)))
        return found


def feedback_expansion(idf: Callable[[str], float]) -> Expander:
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
    draft = abstain(language, detail="what was found is about other things")
    return Draft(
        text=f"{ABSTENTION[language]}{blank}{said}",
        abstained=True,
        evidence=0.0,
        detail=draft.detail,
    )
