"""Calibrated support of a claim by sentences of its sources: 0–1, and which sentences.

Numbers, dates and names come first: a claim that holds one which its sentences do not is not
supported, however alike the words are. Then count shared words, weighted by rarity, and negation.
Swapped values are found by aligning claim and source word by word (of Chinese by character). The
coefficients are fitted by `tests/benchmarks/citations.py`; those of a summarising claim, which all
of its sources support together, by `tests/benchmarks/summing_up.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache

from graph.text.cjk import HAN, count_han

from ..prompts import is_injection
from ..retrieval.passages import Sentence, split_passages
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage
from .entities_and_numbers import (
    Beside,
    Quantities,
    contradicts,
    extract_quantities,
    missing_names,
    missing_quantities,
    names_in,
    normalise_name,
)

MAX_WORDS = 400
"""Of each text; the alignment's time grows with the product."""

_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['’.,-][^\W_]+)*")
_AGREES = 0.4
"""Minimum aligned share; below it the wording differs too much to compare positions."""
_LONGEST_PUT = 8
_FLANK = 3


@dataclass(frozen=True, slots=True)
class _Word:
    key: str
    specific: bool


def count_swapped_entities(claim: str, source: str) -> int:
    """Count figures or names of the claim at positions where the source has another."""
    said, told = _words(claim), _words(source)
    if not said or not told:
        return 0
    matcher = SequenceMatcher(
        None, [word.key for word in said], [word.key for word in told], autojunk=False
    )
    codes = matcher.get_opcodes()
    agreeing = sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag == "equal")
    if agreeing < _AGREES * len(said):
        return 0
    own = {word.key for word in said}
    return sum(
        1
        for place, (tag, i1, i2, j1, j2) in enumerate(codes)
        if tag == "replace"
        and i2 - i1 <= _LONGEST_PUT
        and j2 - j1 <= _LONGEST_PUT
        and _flanked(codes, place)
        and _differ(said[i1:i2], told[j1:j2], own)
    )


def _flanked(codes: Sequence[tuple[str, int, int, int, int]], place: int) -> bool:
    """Check whether both texts agree on both sides, or on the only side there is."""
    before = codes[place - 1] if place else None
    after = codes[place + 1] if place + 1 < len(codes) else None
    sides = [code for code in (before, after) if code is not None]
    agreed = [code[2] - code[1] if code[0] == "equal" else 0 for code in sides]
    return bool(agreed) and min(agreed) > 0 and sum(agreed) >= _FLANK


def _differ(said: Sequence[_Word], told: Sequence[_Word], own: set[str]) -> bool:
    ours = {word.key for word in said if word.specific}
    theirs = {word.key for word in told if word.specific}
    return bool(ours and theirs) and not ours & theirs and not theirs & own


def _words(text: str) -> list[_Word]:
    spans = []
    for name in dict.fromkeys(names_in(text)):
        place = text.find(name)
        while place != -1:
            spans.append((place, place + len(name)))
            place = text.find(name, place + len(name))
    words = []
    for match in list(_WORD.finditer(text))[:MAX_WORDS]:
        named = any(start <= match.start() < end for start, end in spans)
        words.append(_Word(normalise_name(match.group()), named or match.group()[0].isdigit()))
    return words


TITLE_CREDIT = 0.8
BEFORE_CREDIT = 0.4
"""Credit of a claim word found in the title, headings or previous sentence."""

ASKED_CREDIT = 0.5
"""Weight of a claim word that the question already contains."""

MOST_SENTENCES = 3
"""Maximum sentences that support one claim."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportScore:
    """Support of a claim, and the sentences that give it.

    `spans` are `(source, start, end)` into the texts of the sources, best first; `score` is 0–1.
    `missing` are figures and names that stand in none of them; with any, nothing is supported.
    `unjudged`: claim and source are in different languages, of which figures alone compare.
    """

    score: float = 0.0
    spans: tuple[tuple[int, int, int], ...] = ()
    missing: tuple[str, ...] = ()
    contradicted: bool = False
    unjudged: bool = False
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


_figures = lru_cache(maxsize=512)(extract_quantities)


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
    """

    def __init__(
        self,
        *,
        weight: TokenWeight,
        question: str = "",
        alike: Callable[[str, str], float | None] | None = None,
    ) -> None:
        self.alike = alike
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
        if all(_other_script(claim.text, source.passage.text) for source in sources):
            return self._across(claim, sources)
        chosen = self._chosen(claim, sources)
        return self._judged(claim, chosen, sources)

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
        absent = set(missing_quantities(claim.figures, _figures(sentence.text)))
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
        text = "\n".join((above, *(sentence.text for _, sentence in found)))
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
        denied = contradicts(
            claim.text,
            first.text,
            shared=lambda clause: len(claim.terms.keys() & set(tokens(clause))),
        )
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
            score=normalise_text(score, missing),
            spans=_spans(chosen),
            missing=missing,
            contradicted=denied,
            evidence=evidence,
        )

    def _nearness(self, claim: CheckedClaim, chosen: Sequence[tuple[int, Sentence]]) -> float:
        if self.alike is None or is_han(claim.text):
            return 0.0  # the bundled encoder reads no Chinese
        cosine = self.alike(claim.text, " ".join(sentence.text for _, sentence in chosen))
        return 0.0 if cosine is None else COSINE_WEIGHT * (cosine - COSINE_PIVOT)

    def _across(self, claim: CheckedClaim, sources: Sequence[EvidenceSource]) -> SupportScore:
        """Compare a claim across languages: only figures and Latin names."""
        found = claim.figures
        every = [(n, each) for n, source in enumerate(sources) for each in source.sentences]

        def absent(sentence: Sentence) -> int:
            return len(missing_quantities(found, extract_quantities(sentence.text)))

        best = min(every, key=lambda each: absent(each[1]))
        whole = "\n".join(f"{source.above}\n{source.passage.text}" for source in sources)
        missing = tuple(sorted(missing_quantities(found, extract_quantities(whole))))
        return SupportScore(
            score=0.0 if missing else 0.5,
            spans=_spans([best]),
            missing=missing,
            unjudged=not missing,
        )


def normalise_text(score: float, missing: Sequence[str]) -> float:
    """Reduce a score for missing items: halved for the first, and so on."""
    return min(score, 0.5) * 0.5 ** len(missing) if missing else score


def _other_script(claim: str, text: str) -> bool:
    """Check whether one text is mostly Chinese and the other hardly at all."""
    return is_han(claim) != is_han(text)


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
