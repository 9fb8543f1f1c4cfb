"""What several chunks say of one thing, as one text.

A pure function of the set of descriptions: the order in which chunks came changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .passages import is_near_duplicate, tokens
from .sentences import sentence_spans

MAX_CHARACTERS = 600


def combined(texts: Iterable[str]) -> str:
    """The distinct sentences of all descriptions, as many as `MAX_CHARACTERS` hold.

    What more descriptions say goes first, then what is longer, then by text; of near-duplicates
    the first stays.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({text[start:end].strip() for start, end in sentence_spans(text)})
    chosen: list[str] = []
    heard: list[frozenset[str]] = []
    left = MAX_CHARACTERS
    for sentence in sorted(counts, key=lambda one: (-counts[one], -len(one), one)):
        words = frozenset(tokens(sentence))
        if not sentence or len(sentence) > left or _is_said(words, heard):
            continue
        chosen.append(sentence)
        heard.append(words)
        left -= len(sentence) + 1
    return " ".join(chosen)


def _is_said(words: frozenset[str], heard: Iterable[frozenset[str]]) -> bool:
    return any(is_near_duplicate(other, words) for other in heard)
