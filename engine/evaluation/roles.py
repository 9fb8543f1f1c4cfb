"""Misplaced parts of a claim: a figure of another sentence, a doer put in the place of another.

Claim verification asks whether the sources hold what a claim says; a claim whose words all stand
there can still be wrong where they are joined anew. Each claim is compared with the one sentence
that holds most of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from graph.text.cjk import has_han

from ..storage.graph_api import sentence_spans
from ..storage.tokenization import TokenWeight, tokens
from ..verification.entities_and_numbers import extract_quantities, opposed
from .questions.english import parse_english

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

MAX_SENTENCE_CHARACTERS = 600
_CLAUSE = re.compile(r"(?<=[；;])")
_CONTEXT, _THING = 2, 3
"""Characters before a Chinese place, and of what stands there."""


def misplaced(claim: str, texts: Sequence[str], weight: TokenWeight) -> bool:
    """Check whether a claim joins parts of its nearest sentence with those of others."""
    clauses = [one for text in texts for one in _clauses(text)]
    said = {word for word in tokens(claim) if not re.search(r"\d", word)}
    if not clauses or not said:
        return False
    shares = [sum(weight(word) for word in said & set(tokens(one))) for one in clauses]
    best = max(shares)
    nearest = clauses[shares.index(best)]
    if best < 0.5 * sum(map(weight, said)) or has_han(claim) != has_han(nearest):
        return False
    if _other_figure(claim, nearest) or opposed(claim, nearest) or _turned(claim, nearest):
        return True
    if has_han(claim):
        return _crossed(claim, nearest) or _around_verb(claim, nearest)
    return _other_doer(claim, nearest, " ".join(texts))


@lru_cache(maxsize=512)
def _clauses(text: str) -> tuple[str, ...]:
    sentences = (text[start:end] for start, end in sentence_spans(text))
    found = (part.strip() for one in sentences for part in _CLAUSE.split(one))
    return tuple(one[:MAX_SENTENCE_CHARACTERS] for one in found if one)


def _other_figure(claim: str, sentence: str) -> bool:
    """Check whether the sentence has another figure or year in place of one of the claim."""
    ours, theirs = (_figures(text) for text in (claim, sentence))
    for own, told in zip(ours, theirs, strict=True):
        if own - told and told - own and len(own) == 1:
            return True
    return False


def _figures(text: str) -> tuple[set[str], set[str]]:
    """Return the years and the other figures of a text."""
    numbers = extract_quantities(text).numbers
    years = {one for one in numbers if re.fullmatch(r"1\d{3}|20\d{2}", one)}
    return years, set(numbers) - years


def _crossed(claim: str, sentence: str) -> bool:
    """Check whether two parts of a Chinese sentence stand in each other's places."""
    found = []
    for at in range(len(claim) - _CONTEXT - _THING + 1):
        context = claim[at : at + _CONTEXT]
        if sentence.count(context) != 1 or not re.fullmatch(r"\w+", context):
            continue
        place = sentence.index(context) + _CONTEXT
        own, told = claim[at + _CONTEXT :][:_THING], sentence[place : place + _THING]
        if own != told and own in sentence and told in claim and len(told) == _THING:
            found.append((own, told))
    return any(one[0] == other[1] or other[0] == one[1] for one, other in pairwise(found))


def _around_verb(claim: str, sentence: str) -> bool:
    """Check whether what stands before and behind the same Chinese words has changed sides."""
    for at in range(len(claim) - _CONTEXT + 1):
        context = claim[at : at + _CONTEXT]
        if claim.count(context) == 1 == sentence.count(context):
            before, behind = _runs(claim[:at]), _runs(claim[at + _CONTEXT :])
            left, right = (_runs(part) for part in sentence.split(context))
            if before & (right - left) and behind & (left - right):
                return True
    return False


def _runs(text: str) -> set[str]:
    return {text[at : at + _THING] for at in range(len(text) - _THING + 1)}


_ORDER = re.compile(r"\b(before|after|until|to)\b|(之前|之后|以前|以后|[到至])")


def _turned(claim: str, sentence: str) -> bool:
    """Check whether what stands on both sides of a word of order has changed sides."""
    ours, theirs = _ORDER.search(claim), _ORDER.search(sentence)
    if ours is None or theirs is None or ours.group() != theirs.group():
        return False
    first, second = ({*tokens(claim[: ours.start()])}, {*tokens(claim[ours.end() :])})
    one, other = ({*tokens(sentence[: theirs.start()])}, {*tokens(sentence[theirs.end() :])})
    straight = len(first & one - other) + len(second & other - one)
    crossed = min(len(first & other - one), len(second & one - other))
    return crossed > 0 and 2 * crossed > straight


def _other_doer(claim: str, sentence: str, text: str) -> bool:
    """Check whether the sentence has another doer of the same act, and the claim's elsewhere."""
    docs = list(parse_english([claim, sentence]))
    if len(docs) != 2:
        return False
    told, words = list(_acts(docs[1])), set(tokens(text))
    for act, doer, named in _acts(docs[0]):
        others = {other for same, other, also in told if same == act and named == also}
        if others and doer not in others and set(tokens(doer)) <= words:
            return True
    return False


def _acts(doc: Doc) -> Iterator[tuple[str, str, bool]]:
    """Yield the verbs of a sentence with the head word of their doers; True for names."""
    for verb in doc:
        acted_on = any(child.dep_ in _ACTED_ON for child in verb.children) or verb.dep_ == "acl"
        doer = _doer(verb) if verb.pos_ == "VERB" and acted_on else None
        if doer is not None and doer.pos_ != "PRON":
            yield verb.lemma_.casefold(), doer.text.casefold(), doer.pos_ == "PROPN"


_ACTED_ON = ("dobj", "dative", "nsubjpass", "auxpass")


def _doer(verb: Token) -> Token | None:
    passive = any(child.dep_ in ("nsubjpass", "auxpass") for child in verb.children)
    for child in verb.children:
        if child.dep_ == "nsubj" and not passive:
            return child
        if child.dep_ == "agent" or (passive and child.text == "with"):
            return next((one for one in child.children if one.dep_ == "pobj"), None)
    if verb.dep_ == "conj" and verb.head.pos_ == "VERB" and not passive and verb.tag_ != "VBN":
        return _doer(verb.head)
    return None
