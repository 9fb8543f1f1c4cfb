"""An answer without a language model: the sentences that answer, cited, or an abstention.

A sentence is scored by how much of the question's weight it carries (its own words whole, those of
its title, headings and the sentence before it in part), by cosine where an encoder can read both,
by the rank of its passage, and by whether it shows the kind of thing that is asked for. Further
sentences are chosen for what the first left open: question words not yet covered, and names that
lead on from a chosen sentence to another passage (multi-hop). Knows nothing of indexes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..types import Citation, Passage
from .draft import Draft, abstain, cite_span
from .expect import expected_kinds, shows, without_asking
from .language import language_of
from .sentences import Sentence, SentenceSpans, Tokens, in_context, plain, split_passages

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

CONTEXT_CREDIT = 0.7
BEFORE_CREDIT = 0.35
"""What a question word counts when it stands in the title or headings, or one sentence earlier."""

_COVERAGE, _COSINE, _KIND, _RANK = 1.0, 0.5, 0.2, 0.15
_OWN, _NEW, _REPEAT = 0.6, 1.0, 0.25
_BRIDGE, _BRIDGE_KIND, _BRIDGE_OPENS, _SHARED_NAMES = 0.5, 1.0, 0.3, 0.5
_EMBEDDED = 12
"""Only so many sentences, the best by words, are embedded: encoding is the dear part."""

MISSING_KIND = 0.3
"""What the evidence loses when no sentence shows the kind of thing that is asked for."""

FULL_SENTENCE_TERMS = 4
"""A sentence of fewer terms is a fragment and counts in proportion."""

FURTHER = 0.35
"""A further sentence must add at least this share of the first one's score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSentence:
    """A sentence with its own score, whether it shows what is asked for, and its credit a term."""

    sentence: Sentence
    base: float
    kind: float
    credit: dict[str, float]


def _reads_all(_: str) -> float:
    return 1.0


def extractive_answer(
    question: str,
    passages: Sequence[Passage],
    *,
    tokens: Tokens,
    weight: Callable[[str], float],
    sentence_spans: SentenceSpans,
    embed: Embed | None = None,
    readable: Callable[[str], float] = _reads_all,
    max_sentences: int = 3,
    min_evidence: float = 0.08,
) -> Draft:
    """The sentences of `passages` (best first) that answer, or an abstention.

    `tokens` are the keyword index's, stop words removed; `weight` is a token's idf, highest for
    one that the corpus does not hold. `embed` gives unit vectors, one row a text; `readable` is how
    much of a text the encoder can read, 0–1. MiniLM added nothing to words here, on four sets, for
    150 ms of CPU a question: leave it out unless the encoder is stronger. Abstains where the
    evidence (see `evidence`) is below `min_evidence`. Deterministic: ties go to the earlier
    sentence.
    """
    language = language_of(question)
    weight = cache(weight)  # a library may have to look each token up
    wanted = {term: max(weight(term), 0.0) for term in tokens(without_asking(question))}
    sentences = split_passages(passages, tokens=tokens, sentence_spans=sentence_spans)
    if not wanted or not sum(wanted.values()) or not sentences:
        return abstain(language, detail="nothing to compare the question with")
    kinds = expected_kinds(question)
    scored = _score(sentences, passages, wanted=wanted, kinds=kinds)
    if embed is not None:
        cosine = _cosines(question, scored, passages, embed=embed, readable=readable)
        scored = _with_cosine(scored, cosine)
    chosen = _choose(scored, wanted=wanted, weight=weight, limit=max_sentences)
    figures = evidence(question, chosen, passages=passages, wanted=wanted, tokens=tokens)
    strength = figures["evidence"]
    if strength < min_evidence:
        detail = f"evidence {strength:.2f} is below {min_evidence:.2f}"
        return abstain(language, detail=detail, evidence=strength, figures=figures)
    text, citations = _present([one.sentence for one in chosen], passages)
    return Draft(
        text=text,
        citations=citations,
        evidence=strength,
        detail=f"{len(citations)} sentence(s) of {len(sentences)}, evidence {strength:.2f}",
        figures=figures,
    )


def evidence(
    question: str,
    chosen: Sequence[ScoredSentence],
    *,
    passages: Sequence[Passage],
    wanted: Mapping[str, float],
    tokens: Tokens,
) -> dict[str, float]:
    """How well the chosen sentences carry an answer, and the figures that it is made of.

    `coverage`: which share of the question's weight they carry together, `direct`: which the best
    of them carries alone, context counted in part in both. `kind`: whether one shows the kind of
    thing that is asked for. `unknown`: the share of the question's names, codes and numbers that
    stand in no passage at all. `relevance`: the best of their passages'. All 0–1;
    `evidence = relevance · ½(coverage + direct) · (0.7 + 0.3 kind) · (1 − unknown)`.
    """
    total = sum(wanted.values())
    carried = [{term: one.credit.get(term, 0.0) for term in wanted} for one in chosen]
    coverage = sum(wanted[term] * max(one[term] for one in carried) for term in wanted) / total
    direct = max(sum(wanted[term] * one[term] for term in wanted) for one in carried) / total
    kind = max(one.kind for one in chosen) if expected_kinds(question) else 1.0
    unknown = _unknown_share(question, passages, tokens=tokens)
    relevance = max(passages[one.sentence.passage].relevance for one in chosen)
    fit = 1.0 - MISSING_KIND * (1.0 - kind)
    return {
        "coverage": coverage,
        "direct": direct,
        "kind": kind,
        "unknown": unknown,
        "relevance": relevance,
        "evidence": relevance * (coverage + direct) / 2 * fit * (1.0 - unknown),
    }


_DISTINCTIVE = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+|\b[A-Za-z]*\d[\w.-]*\w|\b\d\b")


def _unknown_share(question: str, passages: Sequence[Passage], *, tokens: Tokens) -> float:
    names = {match.group() for match in _DISTINCTIVE.finditer(question)}
    known: set[str] = set()
    for passage in passages:
        known.update(tokens(" ".join((passage.title, *passage.headings, passage.text))))
    parts = [terms for name in sorted(names) if (terms := set(tokens(name)))]
    missing = sum(1 for terms in parts if not terms & known)
    return missing / len(parts) if parts else 0.0


def _score(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    kinds: tuple[str, ...],
) -> list[ScoredSentence]:
    total = sum(wanted.values())
    top = max(max(passage.score for passage in passages), 1e-9)
    scored = []
    for sentence in sentences:
        credit = _credit(sentence, wanted)
        coverage = sum(wanted[term] * share for term, share in credit.items()) / total
        kind = shows(sentence.text, kinds)
        whole = min(1.0, len(sentence.terms) / FULL_SENTENCE_TERMS)
        rank = max(passages[sentence.passage].score, 0.0) / top
        base = _COVERAGE * coverage * whole + _KIND * kind * min(1.0, 2 * coverage) + _RANK * rank
        scored.append(ScoredSentence(sentence=sentence, base=base, kind=kind, credit=credit))
    return scored


def _credit(sentence: Sentence, wanted: Mapping[str, float]) -> dict[str, float]:
    credit = {}
    for term in wanted:
        if term in sentence.terms:
            credit[term] = 1.0
        elif term in sentence.context:
            credit[term] = CONTEXT_CREDIT
        elif term in sentence.before:
            credit[term] = BEFORE_CREDIT
    return credit


def _cosines(
    question: str,
    scored: Sequence[ScoredSentence],
    passages: Sequence[Passage],
    *,
    embed: Embed,
    readable: Callable[[str], float],
) -> dict[int, float]:
    best = sorted(scored, key=lambda one: (-one.base, one.sentence.order))[:_EMBEDDED]
    texts = [f"{passages[one.sentence.passage].title}. {one.sentence.text}" for one in best]
    reading = readable(question)
    if reading <= 0.5:
        return {}
    vectors = embed([question, *texts])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    return {
        one.sentence.order: max(0.0, cosine) * reading * readable(one.sentence.text)
        for one, cosine in zip(best, cosines, strict=True)
    }


def _with_cosine(
    scored: Sequence[ScoredSentence], cosines: dict[int, float]
) -> list[ScoredSentence]:
    return [
        replace(one, base=one.base + _COSINE * cosines.get(one.sentence.order, 0.0))
        for one in scored
    ]


def _choose(
    scored: Sequence[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    weight: Callable[[str], float],
    limit: int,
) -> list[ScoredSentence]:
    """The best sentence, then whichever adds most to those chosen, while it adds enough.

    What a candidate adds is its own score, words still open, and names that lead on, less what it
    repeats; each round compares the candidates with the sentence chosen last only.
    """
    total = sum(wanted.values())
    best = max(scored, key=lambda one: (one.base, -one.sentence.order))
    chosen, rest = [best], [one for one in scored if one is not best]
    have = dict.fromkeys(wanted, 0.0)
    bridges, repeats = [0.0] * len(scored), [0.0] * len(scored)
    gains: dict[int, float] = {}
    while rest and len(chosen) < limit:
        for term, share in chosen[-1].credit.items():
            have[term] = max(have[term], share)
        for one in rest:
            last, place = chosen[-1].sentence, one.sentence.order
            bridge = _bridge(one.sentence, last, wanted=wanted, weight=weight)
            bridges[place] = max(bridges[place], bridge)
            repeats[place] = max(repeats[place], _overlap(one.sentence.terms, last.terms))
            new = sum(wanted[t] * max(0.0, s - have[t]) for t, s in one.credit.items()) / total
            fit = _BRIDGE + _BRIDGE_KIND * one.kind + _BRIDGE_OPENS * one.sentence.opens
            gains[place] = (
                _OWN * one.base + _NEW * new + fit * bridges[place] - _REPEAT * repeats[place]
            )
        best = max(rest, key=lambda one: (gains[one.sentence.order], -one.sentence.order))
        if gains[best.sentence.order] < FURTHER * chosen[0].base:
            break
        chosen.append(best)
        rest.remove(best)
    return chosen


def _bridge(
    one: Sentence,
    other: Sentence,
    *,
    wanted: Mapping[str, float],
    weight: Callable[[str], float],
) -> float:
    """0–1: does a name beyond the question lead from one sentence to the other's passage?

    Whole where the title of one passage stands in the sentence of the other, in part where they
    only share names.
    """
    if one.passage == other.passage:
        return 0.0
    forward = _share((one.title & other.terms) - wanted.keys(), one.title, weight)
    backward = _share((other.title & one.terms) - wanted.keys(), other.title, weight)
    shared = _share((one.terms & other.names) - wanted.keys(), other.names, weight)
    return max(forward, backward, _SHARED_NAMES * shared)


def _share(
    found: frozenset[str], all_terms: frozenset[str], weight: Callable[[str], float]
) -> float:
    if not found:
        return 0.0
    total = sum(max(weight(term), 0.0) for term in sorted(all_terms))
    return sum(max(weight(term), 0.0) for term in sorted(found)) / total if total else 0.0


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / max(1, min(len(first), len(second)))


def _present(
    chosen: Sequence[Sentence], passages: Sequence[Passage]
) -> tuple[str, tuple[Citation, ...]]:
    lines, citations = [], []
    for number, sentence in enumerate(chosen, start=1):
        passage = passages[sentence.passage]
        line = in_context(plain(sentence.text), title=passage.title)
        lines.append(f"{line} [{number}]")
        citations.append(cite_span(passage, sentence.start, sentence.end, number=number))
    return "\n".join(lines), tuple(citations)
