"""Judges of claims: rules and a language model, and their calibration.

A judge says of each claim whether it is supported; a verdict that a model does not give, or gives
in a form that cannot be read, is a failure and is counted as one. The client keeps replies by hash
in the library, so a second run over the same answers makes no call.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Protocol

from ..llm.client import LLMClient
from ..prompts import language_of
from ..storage.tokenization import TokenWeight
from ..types import Passage
from ..verification.claims import parse_claims
from ..verification.entailment import EntailmentScorer
from ..verification.llm_judge import (
    call_judge,
    grade_prompt,
    ground_prompt,
    read_grades,
    read_verdicts,
)
from .measures import normalised_words
from .statistics import balanced_accuracy, kappa

MAX_CLAIMS_A_CALL = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """A judge's verdict on one claim; `unusable` says why there is none (then unsupported)."""

    claim: str
    supported: bool
    by: str
    unusable: str = ""


class ClaimJudge(Protocol):
    """Protocol of a judge of claims."""

    name: str

    def verdicts(
        self, question: str, claims: Sequence[str], sources: Sequence[Passage]
    ) -> list[ClaimVerdict]:
        """Return one verdict for each claim, in order."""
        ...


class RulesJudge:
    """Judges claims by words, figures, names and negations (`verification.entailment`).

    Args:
        weight: a token's idf.
        min_support: least support of a claim that counts as supported.
    """

    name = "rules"

    def __init__(self, *, weight: TokenWeight, min_support: float) -> None:
        self._weight = weight
        self._min_support = min_support

    def verdicts(
        self, question: str, claims: Sequence[str], sources: Sequence[Passage]
    ) -> list[ClaimVerdict]:
        """Return one verdict for each claim; a literal quotation is always supported."""
        reader = EntailmentScorer(weight=self._weight, question=question)
        texts = [f" {' '.join(normalised_words(f'{one.title} {one.text}'))} " for one in sources]
        taken = None
        found = []
        for claim in claims:
            said = f" {' '.join(normalised_words(claim))} "
            supported = bool(said.strip()) and any(said in text for text in texts)
            if not supported and sources:
                taken = taken or [reader.source(one) for one in sources]
                best = reader.support(reader.statement(claim), taken)
                refuted = best.missing or best.contradicted or best.swapped or best.unjudged
                supported = not refuted and best.score >= self._min_support
            found.append(ClaimVerdict(claim=claim, supported=supported, by=self.name))
        return found


class ModelJudge:
    """Judges claims by a language model, in calls of at most `MAX_CLAIMS_A_CALL` claims."""

    name = "model"

    def __init__(self, client: LLMClient) -> None:
        self._client = client

    def verdicts(
        self, question: str, claims: Sequence[str], sources: Sequence[Passage]
    ) -> list[ClaimVerdict]:
        """Return one verdict for each claim sent; none of the model's is `unusable`."""
        found: list[ClaimVerdict] = []
        for start in range(0, len(claims), MAX_CLAIMS_A_CALL):
            found += self._asked(question, claims[start : start + MAX_CLAIMS_A_CALL], sources)
        return found

    def _asked(
        self, question: str, claims: Sequence[str], sources: Sequence[Passage]
    ) -> list[ClaimVerdict]:
        context = "\n\n".join(f"[{n}] {one.text}" for n, one in enumerate(sources, start=1))
        prompt = ground_prompt(question, claims, context=context, language=language_of(question))
        judged = call_judge(
            self._client, "judge", prompt, lambda reply: read_verdicts(reply, count=len(claims))
        )
        missing = judged.problem or "no verdict for this claim"
        return [
            ClaimVerdict(
                claim=claim,
                supported=judged.values.get(n, False),
                by=self.name,
                unusable="" if n in judged.values else missing,
            )
            for n, claim in enumerate(claims, start=1)
        ]

    def relevant(self, question: str, passages: Sequence[Passage]) -> list[tuple[bool, str]]:
        """Return whether each passage holds a part of the answer, and why a grade is unusable."""
        prompt = grade_prompt(question, passages, language=language_of(question))
        judged = call_judge(
            self._client, "judge", prompt, lambda reply: read_grades(reply, count=len(passages))
        )
        missing = judged.problem or "no grade for this passage"
        return [
            (judged.values.get(n) == "yes", "" if n in judged.values else missing)
            for n in range(1, len(passages) + 1)
        ]


def claims_of(text: str, question: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the claims of an answer with the numbers of their citations, in order.

    A mark covers what stands before it, back to the mark before.
    """
    parsed = parse_claims(text, question=question)
    found: list[tuple[str, tuple[int, ...]]] = []
    numbers: tuple[int, ...] = ()
    for unit in reversed(parsed.units):
        for piece in reversed(unit.pieces):
            numbers = piece.numbers or numbers
            said = parsed.text_of(piece)
            if said and (piece.claims or piece.numbers):
                found.append((said, numbers))
    return found[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Agreement of a judge with known verdicts on claims of the package.

    `kappa` is Cohen's; `unusable` counts verdicts that were not given, as failures.
    """

    judge: str
    claims: int
    kappa: float
    balanced_accuracy: float
    unusable: int


def calibrate(judge: ClaimJudge) -> Calibration:
    """Judge the claims of `calibration.jsonl`, and compare with their known verdicts."""
    text = (resources.files(__package__) / "calibration.jsonl").read_text(encoding="utf8")
    gold: list[bool] = []
    said: list[bool] = []
    unusable = 0
    for line in text.splitlines():
        row = json.loads(line)
        source = Passage(
            text=row["source"], score=1.0, relevance=1.0, document_id="calibration",
            chunk_id="calibration", title="", start=0, end=len(row["source"]),
        )  # fmt: skip
        claims = [*row["true"], *row["false"]]
        for verdict in judge.verdicts("", claims, [source]):
            said.append(verdict.supported)
            unusable += bool(verdict.unusable)
        gold += [True] * len(row["true"]) + [False] * len(row["false"])
    return Calibration(
        judge=judge.name,
        claims=len(gold),
        kappa=round(kappa(gold, said), 3),
        balanced_accuracy=round(balanced_accuracy(gold, said), 3),
        unusable=unusable,
    )
