"""Lead of an excerpt: the sentence of a block that answers by itself, read alone.

A long block is read as what it is mostly about; one of its sentences may say what is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...retrieval.lexical_variants import lexical_variants
from ...storage.graph_api import sentence_spans
from ...storage.tokenization import tokens
from .blocks import ExcerptBlock, count_words

SENTENCES = 4
"""Sentences of a block that are read, those with most of the question's words."""
SHORTEST = 4
"""Words of a sentence that is read."""
_ENDS = re.compile(r"[.!?。！？][\W\d]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Sentence `block.text[start:end]` with the logit that a reader gave it."""

    start: int
    end: int
    logit: float


def read_leads(
    question: str,
    blocks: Sequence[ExcerptBlock],
    *,
    above: Callable[[ExcerptBlock], str],
    wanted: Mapping[str, float],
    read: Callable[[str, Sequence[str]], NDArray[np.float64]],
) -> list[Lead | None]:
    """Return the best sentence of each block; None where it has no whole sentence.

    `above` is what a reader reads before a text of the block: its title and heading.
    """
    places = [
        (number, start, end)
        for number, block in enumerate(blocks)
        for start, end in _sentences(block.text, wanted)
    ]
    found: list[Lead | None] = [None] * len(blocks)
    if not places:
        return found
    texts = [f"{above(blocks[n])}\n{blocks[n].text[start:end]}" for n, start, end in places]
    for (number, start, end), logit in zip(places, read(question, texts), strict=True):
        best = found[number]
        if best is None or logit > best.logit:
            found[number] = Lead(start=start, end=end, logit=float(logit))
    return found


def _sentences(text: str, wanted: Mapping[str, float]) -> list[tuple[int, int]]:
    """Return the whole sentences that hold most of what is wanted, in no order."""
    places = ((_behind_title(text, start, end), end) for start, end in sentence_spans(text))
    whole = [
        (start, end)
        for start, end in places
        if count_words(text[start:end]) >= SHORTEST and _ENDS.search(text[start:end])
    ]

    def share(place: tuple[int, int]) -> float:
        held = set(tokens(text[slice(*place)]))
        return sum(w for term, w in wanted.items() if not held.isdisjoint(lexical_variants(term)))

    return sorted(whole, key=lambda place: (-share(place), place))[:SENTENCES]


_BOX_TITLE = re.compile(r"\W*[A-Z]{3,}[^\n.!?:;,]{0,60}\n\s*(?=[A-Z“\"'`])")


def _behind_title(text: str, start: int, end: int) -> int:
    """Return where a sentence begins behind the title of a box: *TIP Backups*, on a line."""
    title = _BOX_TITLE.match(text, start, end)
    return title.end() if title else start
