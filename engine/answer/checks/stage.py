"""Verification stage: rules always, an LLM judge where configured.

Rules first: each claim against the sentences of the passages. With `by_model` a model judges each
claim beside its sentences; what figures and names already refute stays refuted, whatever a model
says. The grounding check judges all claims against the whole context, and can only lower them.
Where a model fails or talks past the question, the rules stand and the trace says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ...index.door import LanguageExtractor, Mention, sentence_spans
from ...index.filters import DocumentFilter
from ...retrieve.tokens import tokens
from ...settings import CheckSettings
from ...types import Passage, Usage
from ..draft import Draft, abstain
from ..language import Language, language_of
from ..packing.pack import PackedContext
from ..sentences import Embed
from .citations import rebuild_answer
from .judge import (
    ClaimJudgement,
    JudgeLLM,
    call_judge,
    ground_prompt,
    read_verdicts,
    verify_prompt,
)
from .support import EntailmentScorer
from .verdicts import Reading, Verdict, read_claims

_JUDGED_TRUE, _JUDGED_FALSE = 0.9, 0.1
"""Support scores for a model's verdicts: lower bound for true, upper bound for false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """A reading of an answer, and what the checks say about themselves."""

    reading: Reading
    notes: tuple[str, ...] = ()
    unchecked: str = ""
    judged: int = 0


class CitationVerifier:
    """Checks the answers of one library.

    Args:
        settings: what is checked, and what becomes of what is not supported.
        idf: gives the weights of tokens among the documents that may be seen.
        embed: texts to unit vectors; asked only where words leave a claim in doubt. None is none.
        consult: asks a language model; None goes by rules alone.
    """

    def __init__(
        self,
        settings: CheckSettings,
        *,
        idf: Callable[[DocumentFilter | None], Callable[[str], float]],
        embed: Embed | None = None,
        consult: JudgeLLM | None = None,
    ) -> None:
        self._settings = settings
        self._idf = idf
        self._embed = embed
        self._consult = consult

    def checked(
        self,
        question: str,
        packed: PackedContext,
        *,
        reply: str,
        usage: Usage,
        within: DocumentFilter | None = None,
        summing_up: bool = False,
    ) -> Draft:
        """Verify a reply and build the draft: claims checked, marks resolved, figures counted.

        Its marks `[n]` name `packed.passages[n - 1]`. What one that sums up says may rest
        on several passages together. Abstains where nothing of it is left.
        """
        language = language_of(question)
        findings = self._findings(
            question, packed, reply, language, self._idf(within), summing_up=summing_up
        )
        reading = findings.reading
        share = reading.share
        refused = (
            self._settings.grounding == "abstain"
            and share is not None
            and share < self._settings.min_grounding
        )
        result = rebuild_answer(
            reading,
            packed.passages,
            policy=self._settings.citations,
            language=language,
        )
        figures = _figures(reading, findings, dropped=result.dropped)
        detail = _detail(reading, findings, share if self._settings.grounding != "none" else None)
        if refused or result.nothing_left or not result.text:
            reason = "too little of it is in the sources" if refused else "nothing of it is left"
            return replace(
                abstain(language, detail=f"{reason}; {detail}", figures=figures, usage=usage),
                unchecked=findings.unchecked,
                grounding=share,
            )
        return Draft(
            text=result.text,
            citations=result.citations,
            claims=result.claims,
            grounding=share,
            unchecked=findings.unchecked,
            detail=detail,
            figures=figures,
            usage=usage,
        )

    def _findings(
        self,
        question: str,
        packed: PackedContext,
        reply: str,
        language: Language,
        weight: Callable[[str], float],
        *,
        summing_up: bool,
    ) -> VerificationResult:
        reader = EntailmentScorer(
            tokens=tokens,
            weight=weight,
            names=names_in,
            sentence_spans=sentence_spans,
            question=question,
            alike=self._alike,
        )
        findings = VerificationResult(
            reading=read_claims(
                reply,
                packed.passages,
                reader=reader,
                min_support=self._settings.min_support,
                summing_up=summing_up,
            )
        )
        if self._consult is not None and findings.reading.verdicts:
            if self._settings.by_model:
                findings = self._verified(question, packed.passages, findings, language)
            if self._settings.grounding != "none":
                findings = self._grounded(question, packed, findings, language)
        return findings

    def _alike(self, one: str, other: str) -> float | None:
        if self._embed is None:
            return None
        vectors = self._embed([one, other])
        return float(np.dot(vectors[0], vectors[1]))

    def _verified(
        self,
        question: str,
        passages: Sequence[Passage],
        findings: VerificationResult,
        language: Language,
    ) -> VerificationResult:
        places = [place for place, each in findings.reading.verdicts.items() if each.spans]
        claims = [_beside(findings.reading.verdicts[place], passages) for place in places]
        if self._consult is None or not claims:
            return findings
        judged = call_judge(
            self._consult,
            "verify",
            verify_prompt(question, claims, language=language),
            lambda reply: read_verdicts(reply, count=len(claims)),
        )
        return _with(findings, places, judged, stage="verify", raises=True)

    def _grounded(
        self, question: str, packed: PackedContext, findings: VerificationResult, language: Language
    ) -> VerificationResult:
        places = list(findings.reading.verdicts)
        claims = [findings.reading.verdicts[place].text for place in places]
        if self._consult is None or not claims:
            return findings
        judged = call_judge(
            self._consult,
            "ground",
            ground_prompt(question, claims, context=packed.text, language=language),
            lambda reply: read_verdicts(reply, count=len(claims)),
        )
        return _with(findings, places, judged, stage="ground", raises=False)


def _beside(verdict: Verdict, passages: Sequence[Passage]) -> tuple[str, list[str]]:
    """Return a claim and its sentences, each under its title."""
    return verdict.text, [
        f"{passages[n].title}: {passages[n].text[start:end]}" for n, start, end, _ in verdict.spans
    ]


def _with(
    findings: VerificationResult,
    places: Sequence[tuple[int, int]],
    judged: ClaimJudgement[bool],
    *,
    stage: str,
    raises: bool,
) -> VerificationResult:
    """Merge a model's verdicts; `raises`: it may also mark a claim supported."""
    if judged.problem:
        note = f"{stage} by rules alone: {judged.problem}"
        return replace(findings, notes=(*findings.notes, note), unchecked=note)
    verdicts = dict(findings.reading.verdicts)
    for number, supported in judged.values.items():
        place = places[number - 1]
        before = verdicts[place]
        if supported and raises and not before.firm and before.spans:
            support = max(before.support or 0.0, _JUDGED_TRUE)
            verdicts[place] = replace(
                before, supported=True, support=support, spans=_supporting(before, support), why=""
            )
        elif not supported:
            support = min(
                _JUDGED_FALSE if before.support is None else before.support, _JUDGED_FALSE
            )
            verdicts[place] = replace(
                before, supported=False, support=support, why=f"{stage}: a model says so"
            )
    return replace(
        findings,
        reading=replace(findings.reading, verdicts=verdicts),
        judged=findings.judged + len(judged.values),
    )


def _supporting(verdict: Verdict, support: float) -> tuple[tuple[int, int, int, float | None], ...]:
    return tuple((n, start, end, support) for n, start, end, _ in verdict.spans)


@lru_cache(maxsize=1)
def _extractor() -> LanguageExtractor:
    return LanguageExtractor(spacy_model="none", concepts=False)


@lru_cache(maxsize=2_048)
def find_mentions(text: str) -> tuple[Mention, ...]:
    """Find names in a text by position: capitals in English, a tagger in Chinese."""
    (found,) = _extractor().extract([text])
    return tuple(found.mentions)


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a text as written."""
    return tuple(text[mention.start : mention.end] for mention in find_mentions(text))


def _figures(reading: Reading, findings: VerificationResult, *, dropped: int) -> dict[str, float]:
    verdicts = list(reading.verdicts.values())
    return {
        "claims": float(len(verdicts)),
        "supported": float(sum(each.supported for each in verdicts)),
        "moved": float(sum(each.origin == "moved" for each in verdicts)),
        "looked_up": float(sum(each.origin == "looked up" for each in verdicts)),
        "uncompared": float(sum(each.support is None for each in verdicts)),
        "unknown_marks": float(reading.unknown),
        "dropped": float(dropped),
        "judged": float(findings.judged),
    }


def _detail(reading: Reading, findings: VerificationResult, share: float | None) -> str:
    verdicts = list(reading.verdicts.values())
    good = sum(each.supported for each in verdicts)
    parts = [f"{good} of {len(verdicts)} claim(s) supported"]
    if reading.unknown:
        parts.append(f"{reading.unknown} mark(s) removed")
    if share is not None:
        parts.append(f"grounding {share:.2f}")
    wrong = [each for each in verdicts if not each.supported]
    parts += [f"{each.text[:60]!r}: {each.why}" for each in wrong[:3]]
    return "; ".join((*parts, *findings.notes))
