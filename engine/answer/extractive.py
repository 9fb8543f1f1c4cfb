"""An answer without a language model: the sentences that answer, cited, or an abstention.

A sentence is scored by how much of the question's weight it carries (its own words whole, those of
its title, headings and the sentence before it in part), by cosine where an encoder can read both,
by the rank of its passage, and by whether it shows the kind of thing that is asked for. Further
sentences are chosen for what the first left open: question words not yet covered, and names that
lead on from a chosen sentence to another passage (multi-hop). Knows nothing of indexes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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

FURTHER = 0.2
"""A further sentence must add at least this share of the first one's score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    sentence: Sentence
    base: float
    kind: float
    credit: dict[str, float]


def extractive_answer(
    question: str,
    passages: Sequence[Passage],
    *,
    tokens: Tokens,
    weight: Callable[[str], float],
    embed: Embed | None,
    readable: Callable[[str], float],
    sentence_spans: SentenceSpans,
    max_sentences: int = 3,
    min_relevance: float = 0.25,
) -> Draft:
    """The sentences of `passages` (best first) that answer, or an abstention.

    `tokens` are the keyword index's, stop words removed; `weight` is a token's idf, highest for
    one that the corpus does not hold. `embed` gives unit vectors, one row a text; `readable`
    is how much of a text the encoder can read, 0–1. Abstains where the evidence (see `evidence`)
    is below `min_relevance`. Deterministic: ties go to the earlier sentence.
    """
    language = language_of(question)
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
    figures = evidence(question, chosen_credit=[one.credit for one in chosen],
                       relevance=[passages[one.sentence.passage].relevance for one in chosen],
                       passages=passages, wanted=wanted, tokens=tokens)  # fmt: skip
    strength = figures["evidence"]
    if strength < min_relevance:
        detail = f"evidence {strength:.2f} is below {min_relevance:.2f}"
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
    *,
    chosen_credit: Sequence[dict[str, float]],
    relevance: Sequence[float],
    passages: Sequence[Passage],
    wanted: dict[str, float],
    tokens: Tokens,
) -> dict[str, float]:
    """How well the chosen sentences carry an answer, and the figures that it is made of.

    `coverage`: which share of the question's weight they carry, context counted in part.
    `unknown`: the share of its names, codes and numbers that stand in no passage at all.
    `relevance`: the best of their passages'. `evidence = relevance · coverage · (1 − unknown)`.
    """
    total = sum(wanted.values())
    best = {term: max(credit.get(term, 0.0) for credit in chosen_credit) for term in wanted}
    coverage = sum(wanted[term] * best[term] for term in wanted) / total
    unknown = _unknown_share(question, passages, tokens=tokens)
    strongest = max(relevance)
    return {
        "coverage": coverage,
        "unknown": unknown,
        "relevance": strongest,
        "evidence": strongest * coverage * (1.0 - unknown),
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
    wanted: dict[str, float],
    kinds: tuple[str, ...],
) -> list[_Scored]:
    total = sum(wanted.values())
    top = max(max(passage.score for passage in passages), 1e-9)
    scored = []
    for sentence in sentences:
        credit = _credit(sentence, wanted)
        coverage = sum(wanted[term] * share for term, share in credit.items()) / total
        kind = shows(sentence.text, kinds)
        rank = max(passages[sentence.passage].score, 0.0) / top
        base = _COVERAGE * coverage + _KIND * kind * min(1.0, 2 * coverage) + _RANK * rank
        scored.append(_Scored(sentence=sentence, base=base, kind=kind, credit=credit))
    return scored


def _credit(sentence: Sentence, wanted: dict[str, float]) -> dict[str, float]:
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
    scored: Sequence[_Scored],
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


def _with_cosine(scored: Sequence[_Scored], cosines: dict[int, float]) -> list[_Scored]:
    return [
        replace(one, base=one.base + _COSINE * cosines.get(one.sentence.order, 0.0))
        for one in scored
    ]


def _choose(
    scored: Sequence[_Scored],
    *,
    wanted: dict[str, float],
    weight: Callable[[str], float],
    limit: int,
) -> list[_Scored]:
    chosen = [max(scored, key=lambda one: (one.base, -one.sentence.order))]
    rest = [one for one in scored if one is not chosen[0]]
    while rest and len(chosen) < limit:
        gains = [_gain(one, chosen, wanted=wanted, weight=weight) for one in rest]
        best = max(range(len(rest)), key=lambda index: (gains[index], -index))
        if gains[best] < FURTHER * chosen[0].base:
            break
        chosen.append(rest.pop(best))
    return chosen


def _gain(
    one: _Scored,
    chosen: Sequence[_Scored],
    *,
    wanted: dict[str, float],
    weight: Callable[[str], float],
) -> float:
    """What a sentence adds to those chosen: its own score, words still open, names that lead on."""
    total = sum(wanted.values())
    have = {term: max(other.credit.get(term, 0.0) for other in chosen) for term in wanted}
    new = sum(wanted[t] * max(0.0, share - have[t]) for t, share in one.credit.items()) / total
    bridge = max(
        _bridge(one.sentence, other.sentence, wanted=wanted, weight=weight) for other in chosen
    )
    repeat = max(_overlap(one.sentence.terms, other.sentence.terms) for other in chosen)
    fit = _BRIDGE + _BRIDGE_KIND * one.kind + _BRIDGE_OPENS * one.sentence.opens
    return _OWN * one.base + _NEW * new + bridge * fit - _REPEAT * repeat


def _bridge(
    one: Sentence, other: Sentence, *, wanted: dict[str, float], weight: Callable[[str], float]
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
