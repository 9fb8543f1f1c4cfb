"""Reassembly of a verified answer, with marks at the sentences that support each claim.

What nothing bears out is flagged in the text, dropped from it, or left, as the settings say. How
each claim is judged is `verdicts`' business. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...types import Citation, Claim, Passage
from ..draft import cite_span
from ..language import Language
from .claims import UNSUPPORTED, ClaimSegment, ClaimSpan, first_sentence
from .verdicts import Reading, Verdict

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
        good = [n for n, v in enumerate(found) if v is None or v.supported]
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
        if not verdict.supported and self._policy == "flag":
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
