"""Merging of descriptions from several chunks.

A pure function of the set of descriptions: the order in which chunks came changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .passages import is_near_duplicate, tokens
from .sentences import sentence_spans

MAX_CHARACTERS = 600
_MOST = 200
"""Maximum sentences compared with each other; the first ones are used."""


def combined(texts: Iterable[str]) -> str:
    """Join distinct sentences of all descriptions up to `MAX_CHARACTERS`.

    What more descriptions say goes first, then what is longer, then by text; of near-duplicates
    the first stays. A single sentence that is longer than all that is cut at a word.
    """
    chosen: list[str] = []
    left = MAX_CHARACTERS
    ranked = distinct_sentences(texts)
    for sentence in ranked:
        if len(sentence) <= left:
            chosen.append(sentence)
            left -= len(sentence) + 1
    if not chosen and ranked:
        chosen.append(_cut(ranked[0]))
    return " ".join(chosen)


def is_too_much(texts: Iterable[str]) -> bool:
    """Check whether `combined` drops text, so that a summary would help."""
    return len(" ".join(distinct_sentences(texts))) > MAX_CHARACTERS


def distinct_sentences(texts: Iterable[str]) -> list[str]:
    """Return the distinct sentences of all descriptions, best first."""
    counts: Counter[str] = Counter()
    for text in texts:
        plain = " ".join(text.split())
        counts.update({plain[start:end] for start, end in sentence_spans(plain)})
    ranked = sorted(counts, key=lambda one: (-counts[one], -len(one), one))[:_MOST]
    kept: list[str] = []
    heard: list[frozenset[str]] = []
    for sentence in ranked:
        words = tokens(sentence)
        if words and not any(is_near_duplicate(other, words) for other in heard):
            kept.append(sentence)
            heard.append(words)
    return kept


def _cut(sentence: str) -> str:
    """Truncate a sentence at a word border."""
    short = sentence[: MAX_CHARACTERS - 1]
    return f"{short.rsplit(' ', 1)[0] if ' ' in short[MAX_CHARACTERS // 2 :] else short}…"
