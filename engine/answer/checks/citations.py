"""A written answer checked claim by claim: its marks led to sentences that bear the claims out.

A mark that names a passage which does not say it is led to one that does; a claim without a mark is
looked up; what nothing bears out is flagged in the text, dropped from it, or left, as the settings
say. Pure: what compares claims with sentences comes by argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...types import Citation, Claim, Passage
from ..draft import cite_span
from ..language import Language
from .claims import UNSUPPORTED, Parted, Piece, Unit, opening, parted
from .summing import summed
from .support import Source, Support, SupportReader, lowered

Policy = Literal["keep", "flag", "drop"]
"""What becomes of a claim that nothing bears out."""

LOOKED_UP = 0.15
"""A claim is led to a passage that it did not name only if that one bears it out by so much more:
the best of many sentences is near to anything."""

_BEGIN, _END = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found for one claim.

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
        """Whether no likeness of words can make up for what is wrong."""
        return bool(self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An answer taken apart, with a verdict for each piece that claims something.

    `verdicts` is by the unit's and the piece's place; `unknown` counts numbers of no passage.
    """

    parted: Parted
    verdicts: dict[tuple[int, int], Verdict]
    unknown: int = 0

    @property
    def share(self) -> float | None:
        """Which share of the claims is supported; None where there is no claim."""
        if not self.verdicts:
            return None
        return sum(each.supported for each in self.verdicts.values()) / len(self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The text as it may be shown, with its citations and claims.

    `dropped` counts claims taken out; `nothing_left`: no claim stands.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    dropped: int = 0
    nothing_left: bool = False


def read_claims(
    reply: str,
    passages: Sequence[Passage],
    *,
    reader: SupportReader,
    min_support: float,
    summing_up: bool = False,
) -> Reading:
    """What each claim of a reply rests on; its marks `[n]` name `passages[n - 1]`.

    Where it sums up, every passage that is named stays, each says a part of the claim; all together
    may bear it out, and a figure or a name may stand in any passage.
    """
    parts = parted(
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
    sources: Sequence[Source],
    reader: SupportReader,
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
    sources: Sequence[Source],
    reader: SupportReader,
    min_support: float,
    whole: str,
) -> Verdict:
    """The verdict on a claim that no one sentence bears out, but these sources together may."""
    missing = tuple(one for one in verdict.missing if _plain(one) not in whole)
    score = lowered(summed(reader.statement(verdict.text), sources, reader=reader), missing)
    if not missing and score >= min_support:
        return replace(verdict, support=score, supported=True, missing=(), why="", origin="cited")
    why = f"not in the sources: {', '.join(missing)}" if missing else "the sources do not say it"
    return replace(verdict, support=score, missing=missing, why=why)


def _bears_out(support: Support, least: float) -> bool:
    """Whatever else is alike: with a figure or name missing nothing is borne out."""
    return not support.missing and (support.score >= least or support.unjudged)


def _known(support: Support) -> float | None:
    return None if support.unjudged else support.score


def _why(support: Support) -> str:
    if support.missing:
        return f"not in the source: {', '.join(support.missing)}"
    return "the source says the opposite" if support.contradicted else "the source does not say it"


def written(
    reading: Reading,
    passages: Sequence[Passage],
    *,
    policy: Policy,
    language: Language,
) -> Checked:
    """The text with marks numbered 1, 2, … by first use, and what is unsupported dealt with.

    Every mark in it has its citation, whose quote stands in its passage; claims are in order.
    """
    return _Writer(reading, passages, policy=policy, language=language).checked()


def _plain(text: str) -> str:
    return re.sub(r"[\s,，]", "", text.casefold())


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

    def checked(self) -> Checked:
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
            )
            for (verdict, numbers), (start, end) in zip(self._claims, spans, strict=True)
        )
        return Checked(
            text=text,
            citations=tuple(self._citations.values()),
            claims=claims,
            dropped=self._dropped,
            nothing_left=self._dropped > 0 and not claims,
        )

    def _kept(self, place: int, unit: Unit) -> tuple[Piece, ...]:
        """The pieces of a sentence that stay: all, or those up to the first unsupported one."""
        if self._policy != "drop":
            return unit.pieces
        found = [self._reading.verdicts.get((place, n)) for n in range(len(unit.pieces))]
        good = [n for n, v in enumerate(found) if v is None or v.supported]
        leading = next((n for n in range(len(found)) if n not in good), len(found))
        stays = leading if leading == len(good) else 0  # a later one needs what went before it
        if stays and all(found[n] is None for n in range(stays)) and stays < len(found):
            stays = 0
        self._dropped += sum(1 for v in found[stays:] if v is not None)
        return unit.pieces[:stays]

    def _assembled(self, kept: Sequence[tuple[Piece, ...]]) -> str:
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

    def _unit(self, place: int, unit: Unit, pieces: Sequence[Piece], *, skip: int) -> str:
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

    def _piece(self, said: str, piece: Piece, verdict: Verdict) -> str:
        numbers = tuple(dict.fromkeys(self._number(span) for span in verdict.spans))
        marks = "".join(f"[{number}]" for number in numbers)
        blank = " " if piece.spaced else ""
        tail = blank + marks if marks else ""
        if not verdict.supported and self._policy == "flag":
            tail += blank + self._flag
        begin = opening(said)
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
        """What the sentence's own number becomes; empty where it has none."""
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
    match = re.search(r"[.!?。！？]+[\"”’')）]*\s*$", said)
    return match.group().rstrip() if match else "."


def _drop_idle_leads(units: Sequence[Unit], kept: list[tuple[Piece, ...]]) -> None:
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
    """Where the claims stand in the text without the characters that mark them."""
    spans = []
    begin = 0
    for count, match in enumerate(re.finditer(f"[{_BEGIN}{_END}]", text)):
        place = match.start() - count
        if match.group() == _BEGIN:
            begin = place
        else:
            spans.append((begin, place))
    return spans
