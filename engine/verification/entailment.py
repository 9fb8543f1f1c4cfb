"""Calibrated support of a claim by sentences of its sources: 0–1, and which sentences.

Numbers, dates and names come first: a claim that holds one which its sentences do not is not
supported, however alike the words are. Then count shared words, weighted by rarity, and negation.
The coefficients are fitted by `tests/benchmarks/citations.py`; those of a summarising claim, which
all of its sources support together, by `tests/benchmarks/summing_up.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from graph.text.cjk import count_han

from ..prompts import is_injection
from ..retrieval.passages import Sentence, split_passages
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage
from .across import (
    Alike,
    OtherNames,
    bears_out,
    missing_figures,
    nearest_sentence,
    parts_of,
)
from .computed import computed_figures
from .entities_and_numbers import (
    Beside,
    Quantities,
    contradicts,
    extract_quantities,
    missing_names,
    missing_quantities,
    names_in,
)
from .swaps import count_swapped_entities, exchanged

TITLE_CREDIT = 0.8
BEFORE_CREDIT = 0.4
"""Credit of a claim word found in the title, headings or previous sentence."""

ASKED_CREDIT = 0.5
"""Weight of a claim word that the question already contains."""

MOST_SENTENCES = 3
"""Maximum sentences that support one claim."""

CLOSE = 0.6
"""Least share of a claim that its sentences say for a denial or a swap to count against it."""
SAID = 0.5
"""Least share of a claim that its sentences say before the rest of their passages counts."""

_WORTH_ADDING = 0.12
_TIES = 0.03
_NEIGHBOURS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """Claim prepared for checking: weighted words, figures and names."""

    text: str
    terms: dict[str, float]
    figures: Quantities
    names: tuple[str, ...]

    @property
    def total(self) -> float:
        """The weight of all words."""
        return sum(self.terms.values())

    @property
    def specifics(self) -> int:
        """Number of figures and names."""
        return self.figures.count + len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSource:
    """A passage taken apart."""

    passage: Passage
    sentences: tuple[Sentence, ...]

    @property
    def above(self) -> str:
        """Return the headings above the sentences."""
        return " › ".join((self.passage.title, *self.passage.headings))

    @property
    def told(self) -> str:
        """Return headings and sentences, without instructions that the text holds."""
        return " ".join((self.above, *(each.text for each in self.sentences)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportScore:
    """Support of a claim, and the sentences that give it.

    `spans` are `(source, start, end)` into the texts of the sources, best first; `score` is 0–1.
    `missing` are figures and names that stand in none of them; with any, nothing is supported.
    `unjudged`: claim and source are in different languages, and nothing in them decides. `swapped`:
    two things of the claim stand in each other's places. `computed` are figures that follow from
    figures of the sentences.
    """

    score: float = 0.0
    spans: tuple[tuple[int, int, int], ...] = ()
    missing: tuple[str, ...] = ()
    contradicted: bool = False
    unjudged: bool = False
    swapped: bool = False
    computed: tuple[str, ...] = ()
    evidence: tuple[float, ...] = field(default=(), repr=False)


FEATURES = (
    "constant",
    "coverage",
    "coverage of one",
    "gap",
    "stretched",
    "denied",
    "specific",
    "put",
    "denied close",
    "coverage of neighbours",
    "stretched near",
)
"""Logistic features. `gap`: largest uncovered run of the claim.

`put`: names the source has swapped; `stretched`: share of figures and names from
distant sentences, `near` from adjacent ones; `specific`: any figures or names. `close`:
times the first sentence's coverage.
"""

COEFFICIENTS = (-0.5, -1.2, 1.4, -1.2, -5.0, -1.2, -0.8, -4.0, -3.2, 3.2, -0.3)
"""Fitted; in the order of `FEATURES`."""


quantities = lru_cache(maxsize=512)(extract_quantities)
"""Quantities of a text, of those asked last kept."""


DOUBT = 1.0
"""Log-odds band around 0 in which the cosine is consulted."""

COSINE_WEIGHT, COSINE_PIVOT = 1.8, 0.6


class EntailmentScorer:
    """Reads claims and passages with one library's words.

    Args:
        weight: a token's idf, highest for one that the corpus does not hold.
        question: what was asked; names of it are known.
        alike: the cosine of two texts, asked only where words leave a claim in doubt; None, or a
            function that gives None, compares words alone.
        across: the cosines of a text with others of any language.
        other_names: what else the library calls a thing, in either script.
    """

    def __init__(
        self,
        *,
        weight: TokenWeight,
        question: str = "",
        alike: Callable[[str, str], float | None] | None = None,
        across: Alike | None = None,
        other_names: OtherNames | None = None,
    ) -> None:
        self.alike = alike
        self._alike_across = across
        self._other_names = other_names
        self._weight = weight
        self.question = question

    def source(self, passage: Passage) -> EvidenceSource:
        """Split a passage into sentences, without injected instructions."""
        found = split_passages([passage])
        telling = tuple(each for each in found if not is_injection(each.text))
        return EvidenceSource(passage=passage, sentences=telling)

    def statement(self, text: str) -> CheckedClaim:
        """Prepare a statement for checking."""
        asked = set(tokens(self.question))
        terms = {
            term: max(self._weight(term), 0.1) * (ASKED_CREDIT if term in asked else 1.0)
            for term in tokens(text)
        }
        return CheckedClaim(
            text=text, terms=terms, figures=extract_quantities(text), names=names_in(text)
        )

    def support(self, claim: CheckedClaim, sources: Sequence[EvidenceSource]) -> SupportScore:
        """Return the best support of these sources for a claim; 0 without words."""
        if not claim.terms or not any(source.sentences for source in sources):
            return SupportScore()
        foreign = [is_foreign(claim.text, source) for source in sources]
        own = [n for n, other in enumerate(foreign) if not other]
        other = [n for n in range(len(sources)) if n not in own]
        if not own:
            return self._across(claim, sources)
        near = [sources[n] for n in own]
        judged = _placed_at(own, self._judged(claim, self._chosen(claim, near), near))
        if not other or not judged.missing or set(judged.missing) & set(claim.names):
            return judged
        across = _placed_at(other, self._across(claim, [sources[n] for n in other]))
        return judged if across.missing else across

    def _chosen(
        self, claim: CheckedClaim, sources: Sequence[EvidenceSource]
    ) -> list[tuple[int, Sentence]]:
        """Select the sentence with most of the claim, and those that add what it lacks."""
        every = [(n, each) for n, source in enumerate(sources) for each in source.sentences]
        found: list[tuple[int, Sentence]] = []
        while len(found) < MOST_SENTENCES:
            have = _credits([sentence for _, sentence in found], claim)
            lacking = self._missing(claim, found, sources) if found else ()
            best, gained = None, 0.0
            for n, sentence in every:
                if (n, sentence) in found:
                    continue
                words = _gain(claim, sentence, have)
                if not words and not found:
                    continue
                gain = words + self._brings(claim, sentence, lacking, not found)
                if found and not _near(n, sentence, found):
                    # A figure alone ties no sentence from elsewhere to the claim.
                    gain = gain - _WORTH_ADDING if words > _TIES else 0.0
                if best is None or gain > gained + 1e-9:
                    best, gained = (n, sentence), gain
            if best is None or (found and gained < _WORTH_ADDING):
                break
            found.append(best)
        return found or every[:1]

    def _brings(
        self, claim: CheckedClaim, sentence: Sentence, lacking: Sequence[str], first: bool
    ) -> float:
        """Score a sentence's figures and names.

        By share for the first, by missing ones for others.
        """
        absent = set(missing_quantities(claim.figures, quantities(sentence.text)))
        absent |= set(missing_names(claim.names, sentence.text, Beside(), claim=claim.text))
        if first:
            return -0.25 * len(absent) / max(1, claim.specifics)
        return 0.25 * len(set(lacking) - absent)

    def _missing(
        self,
        claim: CheckedClaim,
        found: Sequence[tuple[int, Sentence]],
        sources: Sequence[EvidenceSource],
    ) -> tuple[str, ...]:
        """Return figures and names of the claim that are in neither sentences nor headings."""
        used = [sources[n] for n in dict.fromkeys(n for n, _ in found)]
        above = " ".join(source.above for source in used)
        text = f"{above}\n{_texts(found)}"
        beside = Beside(
            passages=" ".join(f"{source.above} {source.passage.text}" for source in used),
            question=self.question,
        )
        figures = missing_quantities(claim.figures, extract_quantities(text))
        return (*sorted(figures), *missing_names(claim.names, text, beside, claim=claim.text))

    def _judged(
        self,
        claim: CheckedClaim,
        chosen: Sequence[tuple[int, Sentence]],
        sources: Sequence[EvidenceSource],
    ) -> SupportScore:
        missing = self._missing(claim, chosen, sources)
        alone = self._missing(claim, chosen[:1], sources)
        beside = _beside_first(chosen)
        near = self._missing(claim, beside, sources)
        said = " ".join(sentence.text for _, sentence in sorted(beside, key=_place))
        first = chosen[0][1]
        around = _around(chosen, sources)
        denied = contradicts(claim.text, _texts(chosen), _texts(around), shared=self._shared)
        swapped = exchanged(claim.text, _texts(around))
        lacking, computed = self._lacking(claim, chosen, around, sources)
        have = _credits([sentence for _, sentence in chosen], claim)
        evidence = (
            1.0,
            _covered(claim, [sentence for _, sentence in chosen]),
            _gain(claim, first, {}),
            _gap(tokens(claim.text), have),
            (len(near) - len(missing)) / max(1, claim.specifics),
            float(denied),
            float(claim.specifics > 0),
            float(min(2, count_swapped_entities(claim.text, said))),
            float(denied) * _gain(claim, first, {}),
            _covered(claim, [sentence for _, sentence in beside]),
            (len(alone) - len(near)) / max(1, claim.specifics),
        )
        odds = sum(one * other for one, other in zip(evidence, COEFFICIENTS, strict=True))
        if abs(odds) < DOUBT and not missing and not denied:
            odds += self._nearness(claim, chosen)
        score = 1.0 / (1.0 + math.exp(-odds))
        return SupportScore(
            score=normalise_text(score, lacking),
            spans=_spans(chosen),
            missing=lacking,
            contradicted=denied and evidence[1] >= CLOSE,
            swapped=(swapped or (evidence[7] > 0 and not computed)) and evidence[1] >= CLOSE,
            unjudged=evidence[1] < CLOSE and (denied or swapped or evidence[7] > 0) and not lacking,
            computed=computed,
            evidence=evidence,
        )

    def _shared(self, clause: str, other: str) -> float:
        """Return the share of a clause's weight that the other holds."""
        words, held = set(tokens(clause)), set(tokens(other))
        total = sum(self._weight(word) for word in words)
        return sum(self._weight(w) for w in words & held) / total if words else 0.0

    def _lacking(
        self,
        claim: CheckedClaim,
        chosen: Sequence[tuple[int, Sentence]],
        around: Sequence[tuple[int, Sentence]],
        sources: Sequence[EvidenceSource],
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what the sentences, their neighbours and headings lack, and what is computed."""
        missing = self._missing(claim, around, sources)
        told = extract_quantities(_texts(around)).numbers
        found = computed_figures(
            missing, said=claim.figures.numbers, told=told, claim=claim.text
        ) or computed_figures(
            missing,
            said=claim.figures.numbers,
            told=extract_quantities(_texts(chosen)).numbers,
            claim=claim.text,
        )
        lacking = tuple(one for one in missing if one not in found)
        return self._nowhere(claim, lacking, chosen, sources), tuple(sorted(found))

    def _nowhere(
        self,
        claim: CheckedClaim,
        lacking: Sequence[str],
        chosen: Sequence[tuple[int, Sentence]],
        sources: Sequence[EvidenceSource],
    ) -> tuple[str, ...]:
        """Return what a claim has that its passages do not hold anywhere.

        Where the sentences say most of a claim, a date or a name of it may stand further up: the
        year at the head of a section, the person whom a pronoun means.
        """
        if not lacking or _covered(claim, [each for _, each in chosen]) < SAID:
            return tuple(lacking)
        whole = " ".join(sources[n].told for n in sorted({n for n, _ in chosen}))
        absent = missing_quantities(claim.figures, quantities(whole))
        beside = Beside(passages=whole)
        absent |= set(missing_names(claim.names, whole, beside, claim=claim.text))
        return still_missing(lacking, absent)

    def _nearness(self, claim: CheckedClaim, chosen: Sequence[tuple[int, Sentence]]) -> float:
        if self.alike is None or is_han(claim.text):
            return 0.0  # the bundled encoder reads no Chinese
        cosine = self.alike(claim.text, " ".join(sentence.text for _, sentence in chosen))
        return 0.0 if cosine is None else COSINE_WEIGHT * (cosine - COSINE_PIVOT)

    def _across(self, claim: CheckedClaim, sources: Sequence[EvidenceSource]) -> SupportScore:
        """Compare a claim across languages: figures, names and meaning."""
        every = [(n, each) for n, source in enumerate(sources) for each in source.sentences]
        whole = "\n".join(source.told for source in sources)
        absent = missing_figures(claim.figures, whole)
        found = [self._part_across(claim.text, every, sources)]
        if not found[0][1]:
            found = [self._part_across(part, every, sources) for part in parts_of(claim.text)]
        chosen = list(dict.fromkeys(best for best, _ in found))
        told = extract_quantities(_texts(_around(chosen, sources))).numbers
        computed = computed_figures(absent, said=claim.figures.numbers, told=told, claim=claim.text)
        missing = tuple(sorted(absent - computed))
        borne = not absent and all(is_borne for _, is_borne in found)
        return SupportScore(
            score=0.0 if missing else 0.8 if borne else 0.5,
            spans=_spans(chosen),
            missing=missing,
            computed=tuple(sorted(computed)),
            unjudged=not missing and not borne,
        )

    def _part_across(
        self,
        part: str,
        every: Sequence[tuple[int, Sentence]],
        sources: Sequence[EvidenceSource],
    ) -> tuple[tuple[int, Sentence], bool]:
        """Return the sentence nearest to a part of a claim, and if it plainly says it."""
        alike, knows = self._alike_across, self._other_names
        texts = [each.text for _, each in every]
        headings = [each.heading for _, each in every]
        best = every[nearest_sentence(part, texts, alike, knows, headings=headings)]
        context = "\n".join((sources[best[0]].above, _texts(_around([best], sources))))
        heading = best[1].heading
        return best, bears_out(part, best[1].text, context, alike, knows, heading=heading)


def _placed_at(places: Sequence[int], support: SupportScore) -> SupportScore:
    """Return support by some of several sources, its spans by their places among all."""
    return replace(support, spans=tuple((places[n], a, b) for n, a, b in support.spans))


def _around(
    chosen: Sequence[tuple[int, Sentence]], sources: Sequence[EvidenceSource]
) -> list[tuple[int, Sentence]]:
    """Return sentences with those next to them and the headings above, in order."""
    held = []
    for n, source in enumerate(sources):
        places = [place for place, each in enumerate(source.sentences) if (n, each) in chosen]
        near = {place + step for place in places for step in (-1, 0, 1)}
        near |= {at for place in places for at in _fields_above(source.sentences, place)}
        held += [(n, each) for place, each in enumerate(source.sentences) if place in near]
    return held


_FIELD = re.compile(r"\s*[^\W\d_][\w ]{0,14}[:：]\s*\S")


def _fields_above(sentences: Sequence[Sentence], place: int) -> list[int]:
    """Return the nearest run of fields above a sentence, such as the head of a mail."""
    last = next((n for n in range(place, -1, -1) if _FIELD.match(sentences[n].text)), -1)
    first = last
    while first > 0 and _FIELD.match(sentences[first - 1].text):
        first -= 1
    return list(range(first, last + 1)) if last >= 0 else []


def _texts(chosen: Sequence[tuple[int, Sentence]]) -> str:
    """Return sentences under their headings."""
    return "\n".join(f"{each.heading}\n{each.text}" for _, each in chosen)


def normalise_text(score: float, missing: Sequence[str]) -> float:
    """Reduce a score for missing items: halved for the first, and so on."""
    return min(score, 0.5) * 0.5 ** len(missing) if missing else score


def still_missing(lacking: Sequence[str], absent: Collection[str]) -> tuple[str, ...]:
    """Return what more of the text lacks too; a day or a month goes with its date "7 March"."""
    within = {part for one in absent if one[:1].isdigit() for part in one.split()}
    return tuple(one for one in lacking if one in absent or one in within)


def is_foreign(claim: str, source: EvidenceSource) -> bool:
    """Check whether one of claim and source is mostly Chinese and the other hardly at all."""
    return is_han(claim) != is_han(source.passage.text)


def is_han(text: str) -> bool:
    """Check whether a claim is mostly Chinese."""
    han = count_han(text)
    return han * 3 > len(re.findall(r"[A-Za-z\u00c0-\u024f]", text))


def _credits(sentences: Sequence[Sentence], claim: CheckedClaim) -> dict[str, float]:
    """Return the coverage of each claim word by these sentences, 0–1."""
    have: dict[str, float] = {}
    for sentence in sentences:
        for term in claim.terms:
            share = _credit(sentence, term)
            if share > have.get(term, 0.0):
                have[term] = share
    return have


def _credit(sentence: Sentence, term: str) -> float:
    if term in sentence.terms:
        return 1.0
    if term in sentence.context:
        return TITLE_CREDIT
    return BEFORE_CREDIT if term in sentence.before else 0.0


def _gain(claim: CheckedClaim, sentence: Sentence, have: dict[str, float]) -> float:
    """Return the share of the claim's weight that the sentence adds."""
    added = sum(
        weight * max(0.0, _credit(sentence, term) - have.get(term, 0.0))
        for term, weight in claim.terms.items()
    )
    return added / claim.total


def _covered(claim: CheckedClaim, sentences: Sequence[Sentence]) -> float:
    """Return the share of the claim's weight that these sentences cover."""
    have = _credits(sentences, claim)
    return sum(claim.terms[term] * share for term, share in have.items()) / claim.total


def _beside_first(chosen: Sequence[tuple[int, Sentence]]) -> list[tuple[int, Sentence]]:
    """Return the first chosen sentence and those adjacent to it without a gap."""
    source, first = chosen[0]
    orders = {sentence.order for n, sentence in chosen if n == source}
    low = high = first.order
    while low - 1 in orders:
        low -= 1
    while high + 1 in orders:
        high += 1
    return [(n, each) for n, each in chosen if n == source and low <= each.order <= high]


def _place(chosen: tuple[int, Sentence]) -> int:
    return chosen[1].order


def _gap(terms: Sequence[str], have: dict[str, float]) -> float:
    """Return the longest run of uncovered words as a share of all words."""
    longest = run = 0
    for term in terms:
        run = 0 if have.get(term) else run + 1
        longest = max(longest, run)
    return longest / max(1, len(terms))


def _near(n: int, sentence: Sentence, found: Sequence[tuple[int, Sentence]]) -> bool:
    return any(n == m and abs(sentence.order - other.order) <= _NEIGHBOURS for m, other in found)


def _spans(chosen: Sequence[tuple[int, Sentence]]) -> tuple[tuple[int, int, int], ...]:
    """Return spans of sentences, adjacent ones joined, the best first."""
    joined: list[list[tuple[int, Sentence]]] = []
    for n, sentence in sorted(chosen, key=lambda each: (each[0], each[1].order)):
        last = joined[-1][-1] if joined else None
        if last is not None and last[0] == n and sentence.order == last[1].order + 1:
            joined[-1].append((n, sentence))
        else:
            joined.append([(n, sentence)])
    joined.sort(key=lambda run: min(chosen.index(each) for each in run))
    return tuple((run[0][0], run[0][1].start, run[-1][1].end) for run in joined)


BY_WORDS = (-1.3, 11.5)
BY_WORDS_AND_MEANING = (-3.5, 7.3, 7.7)
"""Logistic coefficients: constant, word coverage and cosine.

Shifted towards supported, as most summaries are.
"""

_MOST_SOURCES = 4
"""Maximum sources compared by embedding at a time."""
_WORDS_ENOUGH = 0.5


def multi_source_support(
    claim: CheckedClaim, sources: Sequence[EvidenceSource], *, reader: EntailmentScorer
) -> float:
    """Return how well the sources support the claim together; 0 without words."""
    if not claim.terms:
        return 0.0
    held = [
        claim.terms.keys() & set(tokens(f"{source.above} {source.passage.text}"))
        for source in sources
    ]
    covered = sum(claim.terms[term] for term in set[str]().union(*held)) / claim.total
    cosine = None
    if covered < _WORDS_ENOUGH and reader.alike is not None and not is_han(claim.text):
        nearest = sorted(range(len(sources)), key=lambda n: (-len(held[n]), n))[:_MOST_SOURCES]
        text = " ".join(sources[n].passage.text for n in sorted(nearest))
        cosine = reader.alike(claim.text, text)
    if cosine is None:
        constant, by_words = BY_WORDS
        odds = constant + by_words * covered
    else:
        constant, by_words, by_meaning = BY_WORDS_AND_MEANING
        odds = constant + by_words * covered + by_meaning * cosine
    return 1.0 / (1.0 + math.exp(-odds))
