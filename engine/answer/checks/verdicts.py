"""Each claim of a written answer, and the sentences that bear it out.

A mark that names a passage which does not say it is led to one that does; a claim without a mark is
looked up. Pure: what compares claims with sentences comes by argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...types import Passage
from .claims import ParsedAnswer, parse_claims
from .summing import multi_source_support
from .support import EntailmentScorer, EvidenceSource, SupportScore, normalise_text

LOOKED_UP = 0.15
"""Minimum gain in support before a claim is linked to a passage it did not cite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Verdict on one claim.

    `spans` are `(passage, start, end, support)` into the passages' texts. `origin`: the mark was
    right (`cited`), led elsewhere (`moved`), there was none (`looked up`), or nothing was found.
    `why` says in words what is wrong, if anything; `missing` are the figures and names of the claim
    that its sources lack.
    """

    text: str
    support: float | None
    supported: bool
    spans: tuple[tuple[int, int, int, float | None], ...] = ()
    origin: Literal["cited", "moved", "looked up", "nothing"] = "nothing"
    why: str = ""
    missing: tuple[str, ...] = ()

    @property
    def firm(self) -> bool:
        """Check whether a hard mismatch rules out support."""
        return bool(self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An answer taken apart, with a verdict for each piece that claims something.

    `verdicts` is by the unit's and the piece's place; `unknown` counts numbers of no passage.
    """

    parted: ParsedAnswer
    verdicts: dict[tuple[int, int], Verdict]
    unknown: int = 0

    @property
    def share(self) -> float | None:
        """Return the supported share of the claims; None without claims."""
        if not self.verdicts:
            return None
        return sum(each.supported for each in self.verdicts.values()) / len(self.verdicts)


def read_claims(
    reply: str,
    passages: Sequence[Passage],
    *,
    reader: EntailmentScorer,
    min_support: float,
    summing_up: bool = False,
) -> Reading:
    """Verify each claim of a reply; its marks `[n]` name `passages[n - 1]`.

    Where it sums up, every passage that is named stays, each says a part of the claim; all together
    may bear it out, and a figure or a name may stand in any passage.
    """
    parts = parse_claims(
        reply,
        tokens=reader.tokens,
        sentence_spans=reader.sentence_spans,
        question=reader.question,
    )
    sources = [reader.source(passage) for passage in passages]
    whole = _plain(" ".join(text for one in passages for text in (one.title, one.text)))
    verdicts: dict[tuple[int, int], Verdict] = {}
    unknown = 0
    for place, unit in enumerate(parts.units):
        for order, piece in enumerate(unit.pieces):
            named = [n for n in piece.numbers if 1 <= n <= len(passages)]
            unknown += len(piece.numbers) - len(named)
            if piece.claims or named:
                verdict = _verdict(
                    parts.text_of(piece),
                    [n - 1 for n in named],
                    sources,
                    reader,
                    min_support,
                    summing_up=summing_up,
                )
                if summing_up and not verdict.supported:
                    told = [sources[n - 1] for n in named] or sources
                    verdict = _summed(verdict, told, reader, min_support, whole)
                verdicts[place, order] = verdict
    return Reading(parted=parts, verdicts=verdicts, unknown=unknown)


def _verdict(
    text: str,
    named: Sequence[int],
    sources: Sequence[EvidenceSource],
    reader: EntailmentScorer,
    min_support: float,
    *,
    summing_up: bool,
) -> Verdict:
    statement = reader.statement(text)
    cited = reader.support(statement, [sources[n] for n in named])
    spans = [(named[n], start, end, _known(cited)) for n, start, end in cited.spans]
    borne_out = bool(named) and _bears_out(cited, min_support)
    held = {n for n, *_ in spans}
    for n in (n for n in named if n not in held) if borne_out or summing_up else ():
        alone = reader.support(statement, [sources[n]])
        if alone.spans and (summing_up or _bears_out(alone, min_support)):
            spans.append((n, alone.spans[0][1], alone.spans[0][2], _known(alone)))
    if borne_out:
        return Verdict(
            text=text, support=_known(cited), supported=True, spans=tuple(spans), origin="cited"
        )
    found = reader.support(statement, sources)
    if _bears_out(found, min_support + LOOKED_UP) and not found.unjudged:
        return Verdict(
            text=text,
            support=found.score,
            supported=True,
            spans=tuple((*span, found.score) for span in found.spans),
            origin="moved" if named else "looked up",
        )
    best = cited if named else found
    return Verdict(
        text=text,
        support=best.score,
        supported=False,
        spans=tuple(spans),
        why=_why(best),
        missing=best.missing,
    )


def _summed(
    verdict: Verdict,
    sources: Sequence[EvidenceSource],
    reader: EntailmentScorer,
    min_support: float,
    whole: str,
) -> Verdict:
    """Return the verdict on a claim that several sources may support together."""
    missing = tuple(one for one in verdict.missing if _plain(one) not in whole)
    score = normalise_text(
        multi_source_support(reader.statement(verdict.text), sources, reader=reader), missing
    )
    if not missing and score >= min_support:
        return replace(verdict, support=score, supported=True, missing=(), why="", origin="cited")
    why = f"not in the sources: {', '.join(missing)}" if missing else "the sources do not say it"
    return replace(verdict, support=score, missing=missing, why=why)


def _bears_out(support: SupportScore, least: float) -> bool:
    """Check support; a missing figure or name rules it out."""
    return not support.missing and (support.score >= least or support.unjudged)


def _known(support: SupportScore) -> float | None:
    return None if support.unjudged else support.score


def _why(support: SupportScore) -> str:
    if support.missing:
        return f"not in the source: {', '.join(support.missing)}"
    return "the source says the opposite" if support.contradicted else "the source does not say it"


def _plain(text: str) -> str:
    return re.sub(r"[\s,，]", "", text.casefold())
