"""Claims of a written answer with their citation marks, and the sentences that support each.

`[1]`, `[1, 3]`, `[2-4]`, `[^1]`, `[[1]]`, `[source 1]`, `【1】` and full-width digits are marks;
code and link targets are not. A mark belongs to what stands before it, back to the mark or the
sentence before; one that opens a line to the line's first sentence. A closing list of sources is
left out. A mark whose passage does not say the claim is moved to one that does; a claim without a
mark is looked up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from graph.text.patterns import lazy_regex

from ..prompts import Language
from ..storage.graph_api import sentence_spans
from ..storage.tokenization import tokens
from ..types import Passage
from .entailment import (
    EntailmentScorer,
    EvidenceSource,
    SupportScore,
    is_foreign,
    multi_source_support,
    normalise_text,
    quantities,
    still_missing,
)
from .entities_and_numbers import (
    Beside,
    denies,
    extract_quantities,
    missing_names,
    missing_quantities,
)
from .swaps import exchanged

MAX_ANSWER_CHARACTERS = 40_000
"""Maximum characters of an answer that are read; the rest is dropped."""

MAX_NUMBERS = 20
"""Maximum numbers in one run of marks; larger runs are not citations."""

UNDECIDABLE = "rules cannot judge it"
EXCHANGED = "the source has it the other way round"
DENIED = "the source says the opposite"

UNSUPPORTED: Mapping[Language, str] = {"en": "[unsupported]", "zh": "[无依据]"}

_NUMBERS = r"\d{1,4}(?:\s*(?:[,，、;；–—-]|and|和)\s*\d{1,4})*"
_MARK = lazy_regex(
    rf"(?<![ \t])[ \t]*+[\[【［]{{1,2}}(?:\^|(?:sources?|来源|资料)\s?[:：]?)?\s*({_NUMBERS})\s*"
    rf"[\]】］]{{1,2}}(?!\()",
    re.IGNORECASE,
)
_RUN = lazy_regex(rf"(?:{_MARK.pattern})+", re.IGNORECASE)
_CODE = lazy_regex(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", re.DOTALL)
_BULLET = lazy_regex(r"[ \t]*+(?:[-*+•>]|\d{1,3}[.)、])?[ \t]*")
_BLANKS = lazy_regex(r"[ \t]*")
_NUMBERED = lazy_regex(r"\s*(?:[-*+>]\s*)*(?:\d{1,3}|[A-Za-z])[.)、]\s*")
_HEADING = lazy_regex(r"\s*(?:#{1,6}\s|\*\*[^*\n]{1,80}\*\*:?\s*$)")
_LEAD = lazy_regex(r"[:：]\W*$")
_ASKS = lazy_regex(r"[?？]\W*$")
_OWN_WORDS = lazy_regex(
    r"\b(?:the )?(?:sources?|documents?|passages?|texts?|library|context|information)\b[^.]*"
    r"\b(?:do(?:es)?|did|is|are) not\b"
    r"|\b(?:no|not enough|insufficient) (?:\w+ )?(?:information|evidence)\b"
    r"|\b(?:no|not)\b[^.]*\b(?:is|are|was|were) (?:given|stated|mentioned|named|specified)\b"
    r"|\b(?:is|are|was|were) not (?:given|stated|mentioned|named|specified)\b"
    r"|未提及|没有提到|未说明|没有说明|未给出|没有给出"
    r"|\bI (?:do not|don't|cannot|could not|couldn't) "
    r"|(?:来源|资料|文档|文中|材料)[^。]*(?:没有|未|不)"
    r"|没有(?:足够的?)?(?:信息|依据|资料)|无法(?:确定|回答|得知)",
    re.IGNORECASE,
)
_SOURCES_LIST = lazy_regex(
    r"(?:\A|\n)[ \t]*(?:#{1,6}[ \t]*)?\*{0,2}"
    r"(?:sources?|references?|citations?|来源|参考(?:资料|文献|来源)?|引用)"
    r"\*{0,2}[ \t]*[:：]?\*{0,2}[ \t]*\n"
    r"(?:[ \t]*\n|[ \t]*(?:[-*+•][ \t]*)?[\[【［]\^?\d{1,4}[\]】］][^\n]*(?:\n|\Z))++\s*\Z",
    re.IGNORECASE,
)
_FEWEST_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSegment:
    """Segment of one run of marks: `bare[start:end]`; without `numbers` it is unmarked.

    `at` is where its marks stand, `spaced` whether with a space. `claims` is whether it says
    something that a source must bear out.
    """

    start: int
    end: int
    at: int
    numbers: tuple[int, ...] = ()
    spaced: bool = True
    claims: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSpan:
    """Sentence or heading `bare[start:end]` with its segments.

    `leads`: it introduces the next.
    """

    start: int
    end: int
    pieces: tuple[ClaimSegment, ...]
    leads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """A text without its marks, and its sentences."""

    bare: str
    units: tuple[ClaimSpan, ...]

    def text_of(self, piece: ClaimSegment) -> str:
        """Return the words of a segment."""
        said = self.bare[piece.start : piece.end]
        return said[first_sentence(said) :].strip()


_OPENING = lazy_regex(r"\s*(?:[-*+•>]\s+)*(?:#{1,6}\s+)?(?:\d{1,3}[.)、]\s+)?[,，;；]?\s*")


_LABEL = lazy_regex(r"(?:\*\*|__)[^*_\n]{1,80}?(?:[.:：。](?:\*\*|__)|(?:\*\*|__)\s*[:：—–])\s*")


def first_sentence(said: str) -> int:
    """Return the length of a leading list mark, number, heading mark, comma or bold label."""
    match = _OPENING.match(said)
    begin = match.end() if match else 0
    label = _LABEL.match(said, begin)
    if label is not None and len(tokens(said[label.end() :])) >= _FEWEST_WORDS:
        return label.end()
    return begin


@dataclass(frozen=True, slots=True)
class _Mark:
    at: int
    numbers: tuple[int, ...]
    spaced: bool
    opens: bool


def parse_claims(text: str, *, question: str) -> ParsedAnswer:
    """Parse an answer into sentences and segments; empty sentences need no source.

    That are headings, questions, leads that end in a colon, and what a model says of its own
    sources, all as long as they hold no number that the question does not hold.
    """
    bare, marks = _without_marks(_plain(text))
    spans = _merged(bare, sentence_spans(bare))
    code = [match.span() for match in _CODE.finditer(bare)]
    by_unit = _placed(bare, marks, spans)
    asked = extract_quantities(question).numbers
    units = []
    for number, (start, end) in enumerate(spans):
        said = bare[start:end]
        silent = (
            any(a <= start and end <= b for a, b in code)
            or len(tokens(said)) < 1
            or (_is_aside(said) and not (extract_quantities(said).numbers - asked))
        )
        pieces = _pieces(bare, start, end, by_unit[number], silent=silent)
        leads = bool(_HEADING.match(said) or _LEAD.search(said))
        units.append(ClaimSpan(start=start, end=end, pieces=pieces, leads=leads and silent))
    return ParsedAnswer(bare=bare, units=tuple(units))


def without_markers(text: str) -> str:
    """Return a text without its marks and without a trailing list of sources."""
    return _without_marks(_plain(text))[0]


def _is_aside(said: str) -> bool:
    return bool(
        _HEADING.match(said) or _LEAD.search(said) or _ASKS.search(said) or _OWN_WORDS.search(said)
    )


def _plain(text: str) -> str:
    """Remove this module's private characters and normalise digits."""
    text = re.sub(r"[\ue000-\ue00f]", "", text[:MAX_ANSWER_CHARACTERS])
    text = re.sub(r"[０-９]", lambda match: unicodedata.normalize("NFKC", match.group()), text)
    return _SOURCES_LIST.sub("", text)


def _without_marks(text: str) -> tuple[str, list[_Mark]]:
    code = [match.span() for match in _CODE.finditer(text)]
    kept: list[str] = []
    marks: list[_Mark] = []
    done = length = 0
    for run in _RUN.finditer(text):
        begin = run.start() + len(run.group()) - len(run.group().lstrip(" \t"))
        if any(start <= begin < end for start, end in code):
            continue
        line = text[text.rfind("\n", 0, begin) + 1 : begin]
        opens = _BULLET.fullmatch(line) is not None
        cut = begin if opens else run.start()  # one that opens a line takes the blank behind it
        kept.append(text[done:cut])
        length += cut - done
        done = run.end() + (_blanks(text, run.end()) if opens else 0)
        found = [n for mark in _MARK.finditer(run.group()) for n in numbers_in(mark.group(1))]
        spaced = opens or run.group()[0] in " \t"
        marks.append(_Mark(length, tuple(dict.fromkeys(found)), spaced, opens))
    kept.append(text[done:])
    return "".join(kept), marks


def _blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() - place if found else 0


def numbers_in(inside: str) -> list[int]:
    """Return the numbers of a mark, ranges expanded; an oversized range by its ends."""
    numbers: list[int] = []
    for part in re.split(r"[,，、;；]|and|和", inside):
        ends = [int(digits) for digits in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= MAX_NUMBERS:
            numbers.extend(range(ends[0], ends[1] + 1))
        else:
            numbers.extend(ends)
    return numbers[:MAX_NUMBERS]


def _merged(bare: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge list numbers split off as sentences; keep code in one piece."""
    code = [match.span() for match in _CODE.finditer(bare)]
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        inside = any(a < start < b for a, b in code)
        if merged and (inside or _NUMBERED.fullmatch(bare[slice(*merged[-1])])):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _placed(
    bare: str, marks: Sequence[_Mark], spans: Sequence[tuple[int, int]]
) -> list[list[_Mark]]:
    """Return the marks of each sentence, in order.

    One that opens a line goes to the sentence behind it, unless that one has marks of its own.
    """
    placed: list[list[_Mark]] = [[] for _ in spans]
    opening = []
    for mark in marks:
        before = [n for n, (start, _) in enumerate(spans) if start < mark.at]
        behind = next((n for n, (_, end) in enumerate(spans) if mark.at < end), None)
        if mark.opens and behind is not None and "\n" not in bare[mark.at : spans[behind][0]]:
            opening.append((mark, behind, before))
        elif before:
            placed[before[-1]].append(mark)
    for mark, behind, before in opening:
        if not placed[behind]:
            at = _before_stop(bare, spans[behind])
            placed[behind].append(_Mark(at, mark.numbers, True, True))
        elif before and before[-1] != behind:
            placed[before[-1]].append(mark)
    return placed


def _before_stop(bare: str, span: tuple[int, int]) -> int:
    start, end = span
    return start + len(bare[start:end].rstrip(" \t\n.!?。！？;；*_\"”’')）"))


def _pieces(
    bare: str, start: int, end: int, marks: Sequence[_Mark], *, silent: bool
) -> tuple[ClaimSegment, ...]:
    pieces: list[ClaimSegment] = []
    begin = start
    for mark in sorted(marks, key=lambda mark: mark.at):
        stop = min(mark.at, end)
        if pieces and len(tokens(bare[begin:stop])) < _FEWEST_WORDS:
            last = pieces.pop()  # "[1] and [2]": one claim, two marks
            numbers = tuple(dict.fromkeys((*last.numbers, *mark.numbers)))
            pieces.append(
                ClaimSegment(start=last.start, end=max(last.end, stop), at=mark.at, numbers=numbers,
                      spaced=mark.spaced, claims=not silent)
            )  # fmt: skip
        else:
            pieces.append(
                ClaimSegment(start=begin, end=max(begin, stop), at=mark.at, numbers=mark.numbers,
                      spaced=mark.spaced, claims=not silent)
            )  # fmt: skip
        begin = max(begin, stop)
    if not pieces or len(tokens(bare[begin:end])) > _FEWEST_WORDS:
        at = _before_stop(bare, (start, end))
        pieces.append(ClaimSegment(start=begin, end=end, at=max(begin, at), claims=not silent))
    return tuple(pieces)


LOOKED_UP = 0.15
"""Minimum gain in support before a claim is linked to a passage it did not cite."""


MOST_SHOWN = 3
"""Maximum places that are cited for one claim; it is checked against all that it names."""

ENOUGH_WORDS, UNDECIDED = 0.45, 0.2
"""Share of a claim's words in the passage that it marks: enough for support, too few to judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Verdict on one claim.

    `spans` are `(passage, start, end, support)` into the passages' texts. `origin`: the mark was
    right (`cited`), led elsewhere (`moved`), there was none (`looked up`), or nothing was found.
    `why` says in words what is wrong, if anything; `missing` are the figures and names of the claim
    that its sources lack, `computed` its figures that follow from theirs. `unchecked`: rules cannot
    judge it, as across languages; then it is not `supported` either.
    """

    text: str
    support: float | None
    supported: bool
    spans: tuple[tuple[int, int, int, float | None], ...] = ()
    origin: Literal["cited", "moved", "looked up", "nothing"] = "nothing"
    why: str = ""
    missing: tuple[str, ...] = ()
    unchecked: bool = False
    computed: tuple[str, ...] = ()

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
        """Return the supported share of the claims that could be judged; None without any."""
        judged = [each for each in self.verdicts.values() if not each.unchecked]
        return sum(each.supported for each in judged) / len(judged) if judged else None


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
    parts = parse_claims(reply, question=reader.question)
    sources = [reader.source(passage) for passage in passages]
    whole = " ".join(source.told for source in sources)
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
                if summing_up and not verdict.supported and not verdict.unchecked:
                    told = [sources[n - 1] for n in named]
                    verdict = _summed(verdict, told, sources, reader, min_support, whole)
                verdicts[place, order] = verdict
    return Reading(parted=parts, verdicts=_without_leads(parts, verdicts), unknown=unknown)


def _without_leads(
    parts: ParsedAnswer, verdicts: dict[tuple[int, int], Verdict]
) -> dict[tuple[int, int], Verdict]:
    """Leave out unmarked sentences that the next one, marked and supported, bears out.

    A figure or a name that no source holds is a claim wherever it stands.
    """
    kept = dict(verdicts)
    for place, (unit, after) in enumerate(zip(parts.units, parts.units[1:], strict=False)):
        if (
            len(unit.pieces) != 1
            or unit.pieces[0].numbers
            or "\n\n" in parts.bare[unit.end : after.start]
        ):
            continue
        verdict, follows = verdicts.get((place, 0)), verdicts.get((place + 1, 0))
        if verdict is None or verdict.supported or verdict.missing or follows is None:
            continue
        if follows.supported and after.pieces[0].numbers:
            del kept[place, 0]
    return kept


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
    borne_out = bool(named) and _bears_out(cited, min_support, own_mark=True)
    held = {n for n, *_ in spans}
    for n in (n for n in named if n not in held) if borne_out or summing_up else ():
        alone = reader.support(statement, [sources[n]])
        if alone.spans and (summing_up or _bears_out(alone, min_support)):
            spans.append((n, alone.spans[0][1], alone.spans[0][2], _known(alone)))
    shown = tuple(spans[:MOST_SHOWN])
    if borne_out:
        return Verdict(
            text=text, support=_known(cited), supported=True, spans=shown, origin="cited",
            computed=cited.computed,
        )  # fmt: skip
    elsewhere = _elsewhere(named, sources, cited)
    found = reader.support(statement, [sources[n] for n in elsewhere])
    if _bears_out(found, min_support + LOOKED_UP):
        return Verdict(
            text=text,
            support=found.score,
            supported=True,
            spans=tuple((elsewhere[n], a, b, found.score) for n, a, b in found.spans),
            origin="moved" if named else "looked up",
            computed=found.computed,
        )
    best = cited if named else found
    unchecked = best.unjudged or (bool(named) and _undecided(cited))
    unchecked = unchecked or (bool(named) and _dated_elsewhere(cited, named, sources))
    return Verdict(
        text=text,
        support=None if unchecked else best.score,
        supported=False,
        spans=shown,
        origin="cited" if unchecked and named else "nothing",
        why=UNDECIDABLE if unchecked else _why(best),
        missing=() if unchecked else best.missing,
        unchecked=unchecked,
    )


_YEAR = re.compile(r"[12]\d{3}")


def _dated_elsewhere(
    cited: SupportScore, named: Sequence[int], sources: Sequence[EvidenceSource]
) -> bool:
    """Check whether all that the cited sentences lack is a year, and they say no other one."""
    years = bool(cited.missing) and all(map(_YEAR.fullmatch, cited.missing))
    if not years or not _about(cited, ENOUGH_WORDS):
        return False
    told = [sources[named[n]].passage.text[start:end] for n, start, end in cited.spans]
    if any(map(_YEAR.fullmatch, quantities(" ".join(told)).numbers)):
        return False
    return any(set(cited.missing) <= quantities(one.told).numbers for one in sources)


def _elsewhere(
    named: Sequence[int], sources: Sequence[EvidenceSource], cited: SupportScore
) -> list[int]:
    """Return the sources to which a mark may be moved: the same documents', unless it is wrong.

    The model's own mark comes first: it goes to another document only where what it marks plainly
    lacks the claim.
    """
    every = list(range(len(sources)))
    if not named or (not cited.unjudged and (cited.missing or not _about(cited, UNDECIDED))):
        return every
    own = {sources[n].passage.document_id for n in named}
    return [n for n in every if sources[n].passage.document_id in own]


def _summed(
    verdict: Verdict,
    marked: Sequence[EvidenceSource],
    every: Sequence[EvidenceSource],
    reader: EntailmentScorer,
    min_support: float,
    whole: str,
) -> Verdict:
    """Return the verdict on a claim that its sources, without marks all, support together."""
    told = "\n".join(every[n].passage.text[start:end] for n, start, end, _ in verdict.spans)
    if verdict.why == EXCHANGED and exchanged(verdict.text, told):
        return verdict
    if verdict.why == DENIED and denies(verdict.text):
        return verdict
    sources = marked or every
    statement = reader.statement(verdict.text)
    foreign = any(is_foreign(verdict.text, source) for source in marked)
    absent = set(missing_quantities(statement.figures, quantities(whole)))
    if not foreign:
        absent |= set(missing_names(statement.names, whole, Beside(), claim=verdict.text))
    missing = still_missing(verdict.missing, absent)
    score = normalise_text(multi_source_support(statement, sources, reader=reader), missing)
    if not missing and score >= min_support:
        return replace(verdict, support=score, supported=True, missing=(), why="", origin="cited")
    if foreign and not missing:
        return replace(
            verdict, support=None, missing=(), why=UNDECIDABLE, unchecked=True, origin="cited"
        )
    why = f"not in the sources: {', '.join(missing)}" if missing else "the sources do not say it"
    return replace(verdict, support=score, missing=missing, why=why)


def _bears_out(support: SupportScore, least: float, *, own_mark: bool = False) -> bool:
    """Check support; a missing figure or name, a denial or a swap rules it out.

    For a passage that the model itself marked, most of the claim's words are enough.
    """
    if support.missing or support.unjudged or support.swapped or support.contradicted:
        return False
    return support.score >= least or (own_mark and _about(support, ENOUGH_WORDS))


def _about(support: SupportScore, share: float) -> bool:
    """Check whether the sentences hold this share of the claim's words."""
    return bool(support.evidence) and support.evidence[1] >= share


def _undecided(support: SupportScore) -> bool:
    """Check whether nothing speaks against a claim, and too little for it."""
    hard = support.missing or support.contradicted or support.swapped
    return not hard and (support.unjudged or _about(support, UNDECIDED))


def _known(support: SupportScore) -> float | None:
    return None if support.unjudged else support.score


def _why(support: SupportScore) -> str:
    if support.missing:
        return f"not in the source: {', '.join(support.missing)}"
    if support.swapped:
        return EXCHANGED
    return DENIED if support.contradicted else "the source does not say it"
