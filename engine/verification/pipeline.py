"""Verification of a written answer: rules always, an LLM judge where configured.

Each claim is checked against the sentences of the passages. With `by_model` a model judges each
claim beside its sentences; what figures and names refute stays refuted. The grounding check judges
all claims against the whole context, and can only lower them. Where a model fails, the rules stand
and the trace says so. The answer is then put together again, with marks at the sentences that
support each claim; unsupported claims are flagged, dropped or left, as the settings say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..answering.packing import Draft, PackedContext, abstain, cite_span
from ..config import CheckSettings
from ..llm.client import LLMClient
from ..prompts import Language, language_of
from ..retrieval.passages import Embed
from ..storage.schema import DocumentFilter
from ..storage.tokenization import TokenWeight
from ..types import Citation, Claim, Passage, Usage
from .across import alike_by
from .claims import (
    UNSUPPORTED,
    ClaimSegment,
    ClaimSpan,
    Reading,
    Verdict,
    first_sentence,
    read_claims,
)
from .entailment import EntailmentScorer
from .llm_judge import (
    ClaimJudgement,
    call_judge,
    ground_prompt,
    read_verdicts,
    verify_prompt,
)

Policy = Literal["keep", "flag", "drop"]
"""Policy for unsupported claims."""

_BEGIN, _END = "\ue000", "\ue001"
"""Private markers around each claim during reassembly, removed at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedAnswer:
    """The text as it may be shown, with its citations and claims.

    `dropped` counts claims taken out; `nothing_left`: no claim stands.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    dropped: int = 0
    nothing_left: bool = False


def rebuild_answer(
    reading: Reading,
    passages: Sequence[Passage],
    *,
    policy: Policy,
    language: Language,
) -> VerifiedAnswer:
    """Rebuild the text with marks numbered 1, 2, … by first use, applying the policy.

    Every mark in it has its citation, whose quote stands in its passage; claims are in order.
    """
    return _Writer(reading, passages, policy=policy, language=language).checked()


class _Writer:
    """Puts an answer together again; used once."""

    def __init__(
        self,
        reading: Reading,
        passages: Sequence[Passage],
        *,
        policy: Policy,
        language: Language,
    ) -> None:
        self._reading = reading
        self._passages = passages
        self._policy = policy
        self._flag = UNSUPPORTED[language]
        self._citations: dict[tuple[int, int, int], Citation] = {}
        self._claims: list[tuple[Verdict, tuple[int, ...]]] = []
        self._dropped = 0

    def checked(self) -> VerifiedAnswer:
        units = self._reading.parted.units
        kept = [self._kept(place, unit) for place, unit in enumerate(units)]
        if self._policy == "drop":
            _drop_idle_leads(units, kept)
        text = self._assembled(kept)
        spans = _marked_spans(text)
        text = re.sub(f"[{_BEGIN}{_END}]", "", text)
        claims = tuple(
            Claim(
                text=text[start:end],
                start=start,
                end=end,
                citations=numbers,
                support=verdict.support,
                supported=verdict.supported,
                unchecked=verdict.unchecked,
                computed=verdict.computed,
            )
            for (verdict, numbers), (start, end) in zip(self._claims, spans, strict=True)
        )
        return VerifiedAnswer(
            text=text,
            citations=tuple(self._citations.values()),
            claims=claims,
            dropped=self._dropped,
            nothing_left=self._dropped > 0 and not claims,
        )

    def _kept(self, place: int, unit: ClaimSpan) -> tuple[ClaimSegment, ...]:
        """Return the segments that stay: all, or those before the first unsupported one."""
        if self._policy != "drop":
            return unit.pieces
        found = [self._reading.verdicts.get((place, n)) for n in range(len(unit.pieces))]
        good = [n for n, v in enumerate(found) if v is None or v.supported or v.unchecked]
        leading = next((n for n in range(len(found)) if n not in good), len(found))
        stays = leading if leading == len(good) else 0  # a later one needs what went before it
        if stays and all(found[n] is None for n in range(stays)) and stays < len(found):
            stays = 0
        self._dropped += sum(1 for v in found[stays:] if v is not None)
        return unit.pieces[:stays]

    def _assembled(self, kept: Sequence[tuple[ClaimSegment, ...]]) -> str:
        bare, units = self._reading.parted.bare, self._reading.parted.units
        numbering = _Numbering()
        text, done, gap = "", 0, ""
        for place, (unit, pieces) in enumerate(zip(units, kept, strict=True)):
            between = bare[done : unit.start]
            gap = between if between.count("\n") >= gap.count("\n") else gap
            done = unit.end
            number = numbering.of(bare[unit.start : unit.end], stays=bool(pieces))
            if pieces:
                text += gap + number + self._unit(place, unit, pieces, skip=numbering.width)
                gap = ""
        return _tidy(text + (bare[done:] if not gap else ""))

    def _unit(
        self, place: int, unit: ClaimSpan, pieces: Sequence[ClaimSegment], *, skip: int
    ) -> str:
        bare = self._reading.parted.bare
        text, done = "", unit.start + skip
        for order, piece in enumerate(pieces):
            verdict = self._reading.verdicts.get((place, order))
            at = min(max(piece.at, done), max(unit.end, done))
            if verdict is None:
                text += bare[done:at]
            else:
                text += self._piece(bare[done:at], piece, verdict)
            done = at
        whole = len(pieces) == len(unit.pieces)
        stop = bare[done : unit.end] if whole else _stop_of(bare[unit.start : unit.end])
        return text + (stop if text.strip() else "")

    def _piece(self, said: str, piece: ClaimSegment, verdict: Verdict) -> str:
        numbers = tuple(dict.fromkeys(self._number(span) for span in verdict.spans))
        marks = "".join(f"[{number}]" for number in numbers)
        blank = " " if piece.spaced else ""
        tail = blank + marks if marks else ""
        if not (verdict.supported or verdict.unchecked) and self._policy == "flag":
            tail += blank + self._flag
        begin = first_sentence(said)
        claim = said[begin:].rstrip()
        if not piece.claims or not claim:
            return said.rstrip() + tail if said.strip() else said + tail
        self._claims.append((verdict, numbers))
        return said[:begin] + _BEGIN + claim + _END + tail

    def _number(self, span: tuple[int, int, int, float | None]) -> int:
        passage, start, end, support = span
        key = (passage, start, end)
        known = self._citations.get(key)
        if known is None:
            number = len(self._citations) + 1
            known = cite_span(self._passages[passage], start, end, number=number)
        elif support is not None and known.support is not None:
            support = max(support, known.support)
        self._citations[key] = replace(known, support=support)
        return known.number


_LISTED = re.compile(r"(\s*)(\d{1,3})([.)、]\s+)")


class _Numbering:
    """Numbers of list items, closed up where an item was taken out.

    `width` is how many characters of the sentence the last call replaced.
    """

    def __init__(self) -> None:
        self.width = 0
        self._last = self._out = 0

    def of(self, said: str, *, stays: bool) -> str:
        """Return the new number of a sentence's mark; empty without one."""
        match = _LISTED.match(said)
        self.width = match.end() if match else 0
        if match is None:
            return ""
        number = int(match[2])
        if number != self._last + 1:
            self._out = 0
        self._last = number
        if not stays:
            self._out += 1
        return f"{match[1]}{number - self._out}{match[3]}"


def _stop_of(said: str) -> str:
    match = re.search(r"(?<![.!?。！？])[.!?。！？]+[\"”’')）]*\s*$", said)
    return match.group().rstrip() if match else "."


def _drop_idle_leads(units: Sequence[ClaimSpan], kept: list[tuple[ClaimSegment, ...]]) -> None:
    """Headings and leads under which nothing stands any more go too."""
    follows = False
    emptied = False
    for place in range(len(units) - 1, -1, -1):
        if units[place].leads:
            if emptied and not follows:
                kept[place] = ()
            follows = emptied = False
        elif kept[place]:
            follows = True
        else:
            emptied = True


def _tidy(text: str) -> str:
    text = re.sub(r"(?<!\s)[ \t]+(?=[.,;:!?。，；：！？](?:\s|$))", "", text)
    text = re.sub(r"(?<![ \t])[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _marked_spans(text: str) -> list[tuple[int, int]]:
    """Return the claim spans in the text without the private markers."""
    spans = []
    begin = 0
    for count, match in enumerate(re.finditer(f"[{_BEGIN}{_END}]", text)):
        place = match.start() - count
        if match.group() == _BEGIN:
            begin = place
        else:
            spans.append((begin, place))
    return spans


_JUDGED_TRUE, _JUDGED_FALSE = 0.9, 0.1
"""Support scores for a model's verdicts: lower bound for true, upper bound for false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """A reading of an answer, and what the checks say about themselves."""

    reading: Reading
    notes: tuple[str, ...] = ()
    unchecked: str = ""
    judged: int = 0


NamesSeen = Callable[[Sequence[str], DocumentFilter | None], Mapping[str, Sequence[str]]]
"""As `OtherNames`, among the documents that may be seen."""


class CitationVerifier:
    """Checks the answers of one library.

    Args:
        settings: what is checked, and what becomes of what is not supported.
        idf: gives the weights of tokens among the documents that may be seen.
        embed: texts to unit vectors; asked only where words leave a claim in doubt. None is none.
        embed_across: the same by a model of several languages; without it no claim across languages
            is supported.
        other_names: what else the documents that may be seen call a thing; for claims across
            languages.
        client: the judging model; None goes by rules alone.
    """

    def __init__(
        self,
        settings: CheckSettings,
        *,
        idf: Callable[[DocumentFilter | None], TokenWeight],
        embed: Embed | None = None,
        embed_across: Embed | None = None,
        other_names: NamesSeen | None = None,
        client: LLMClient | None = None,
    ) -> None:
        self._settings = settings
        self._idf = idf
        self._embed = embed
        self._embed_across = embed_across
        self._other_names = other_names
        self._client = client

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
        findings = self._findings(question, packed, reply, language, within, summing_up=summing_up)
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
        within: DocumentFilter | None,
        *,
        summing_up: bool,
    ) -> VerificationResult:
        across = alike_by(self._embed_across) if self._embed_across is not None else None
        known = self._other_names
        reader = EntailmentScorer(
            weight=self._idf(within),
            question=question,
            alike=self._alike,
            across=across,
            other_names=(lambda keys: known(keys, within)) if known is not None else None,
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
        if self._client is not None and findings.reading.verdicts:
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
        if self._client is None or not claims:
            return findings
        judged = call_judge(
            self._client,
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
        if self._client is None or not claims:
            return findings
        judged = call_judge(
            self._client,
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
                before,
                supported=True,
                unchecked=False,
                support=support,
                spans=_supporting(before, support),
                why="",
            )
        elif not supported:
            support = min(
                _JUDGED_FALSE if before.support is None else before.support, _JUDGED_FALSE
            )
            verdicts[place] = replace(
                before,
                supported=False,
                unchecked=False,
                support=support,
                why=f"{stage}: a model says so",
            )
    return replace(
        findings,
        reading=replace(findings.reading, verdicts=verdicts),
        judged=findings.judged + len(judged.values),
    )


def _supporting(verdict: Verdict, support: float) -> tuple[tuple[int, int, int, float | None], ...]:
    return tuple((n, start, end, support) for n, start, end, _ in verdict.spans)


def _figures(reading: Reading, findings: VerificationResult, *, dropped: int) -> dict[str, float]:
    verdicts = list(reading.verdicts.values())
    return {
        "claims": float(len(verdicts)),
        "supported": float(sum(each.supported for each in verdicts)),
        "moved": float(sum(each.origin == "moved" for each in verdicts)),
        "looked_up": float(sum(each.origin == "looked up" for each in verdicts)),
        "unchecked": float(sum(each.unchecked for each in verdicts)),
        "computed": float(sum(bool(each.computed) for each in verdicts)),
        "unknown_marks": float(reading.unknown),
        "dropped": float(dropped),
        "judged": float(findings.judged),
    }


def _detail(reading: Reading, findings: VerificationResult, share: float | None) -> str:
    verdicts = list(reading.verdicts.values())
    good = sum(each.supported for each in verdicts)
    parts = [f"{good} of {len(verdicts)} claim(s) supported"]
    if open_claims := sum(each.unchecked for each in verdicts):
        parts.append(f"{open_claims} unchecked")
    if reading.unknown:
        parts.append(f"{reading.unknown} mark(s) removed")
    if share is not None:
        parts.append(f"grounding {share:.2f}")
    wrong = [each for each in verdicts if not each.supported and not each.unchecked]
    parts += [f"{each.text[:60]!r}: {each.why}" for each in wrong[:3]]
    return "; ".join((*parts, *findings.notes))
