"""Claims in another language than their source: the sentence by figures, names and meaning.

Words of two languages do not compare. The sentence is the one of the passages that the model named
that lacks fewest figures and names and means most alike. A claim is supported where that sentence
holds each of its figures and Latin names, at least one figure, in the claim's order, denies what
the claim denies, and means the same; it is refuted by a figure that its passages lack; else rules
cannot judge it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..retrieval.passages import Embed
from .entities_and_numbers import (
    denies,
    extract_quantities,
    missing_quantities,
    normalise_name,
    opposed,
)

ALIKE = 0.35
"""Minimum cosine of the multilingual encoder between a claim and the sentence that says it."""

_LATIN_NAME = re.compile(r"[A-Z][\w’'.-]*(?:\s+[A-Z][\w’'.-]*)*")
_QUOTED = re.compile(r"[“\"][^“”\"]{2,40}[”\"]")
_DATE = re.compile(r"\d{4}年?|\d{1,2}月(?:\d{1,2}日)?|(?<=月)\d{1,2}日")
_FIGURE = re.compile(r"\d[\d,.:]*")

Alike = Callable[[str, Sequence[str]], Sequence[float] | None]
"""Cosines of one text with others of any language; None where no model reads both."""


def alike_by(embed: Embed) -> Alike:
    """Return cosines by an encoder of both languages; each text is encoded once."""
    known: dict[str, NDArray[np.float32]] = {}

    def alike(text: str, others: Sequence[str]) -> list[float]:
        new = [each for each in dict.fromkeys((text, *others)) if each not in known]
        if new:
            known.update(zip(new, embed(new), strict=True))
        return [float(known[text] @ known[other]) for other in others]

    return alike


def latin_names(text: str) -> list[str]:
    """Return runs of capitalised Latin words, those that only open an English sentence left out."""
    found = []
    for match in _LATIN_NAME.finditer(text):
        opens = not text[: match.start()].strip(' *-•#>"“(')
        name = match.group().strip(".'’-")
        if (opens and " " not in name) or len(name) < 2:
            continue
        found.append(name)
    return found


def nearest_sentence(claim: str, sentences: Sequence[str], alike: Alike | None) -> int:
    """Return the place of the sentence that says the claim, by figures, names and meaning."""
    figures = extract_quantities(claim)
    names = latin_names(claim)
    cosines = alike(claim, sentences) if alike is not None else None

    def worth(place: int) -> float:
        text = sentences[place]
        held = figures.count - len(missing_quantities(figures, extract_quantities(text)))
        held += sum(_stands(name, text) for name in names)
        share = held / max(1, figures.count + len(names))
        return share + (cosines[place] if cosines is not None else 0.0)

    return max(range(len(sentences)), key=lambda place: (worth(place), -place))


def bears_out(claim: str, sentence: str, context: str, alike: Alike | None) -> bool:
    """Check whether a sentence of another language plainly says the claim.

    `context` is what stands above and beside the sentence: a date or a name may stand there.
    """
    said = extract_quantities(claim)
    near = f"{context}\n{sentence}"
    names = latin_names(claim)
    if not said.count or missing_quantities(said, extract_quantities(near)):
        return False
    held = extract_quantities(sentence)
    if not (said.numbers & held.numbers or said.codes & held.codes):
        return False
    if not all(_stands(name, near) for name in names):
        return False
    if denies(claim) != denies(sentence) or opposed(claim, sentence):
        return False
    if len(_QUOTED.findall(claim)) > 1 or not _same_order(claim, near, names):
        return False
    cosines = alike(claim, [sentence]) if alike is not None else None
    return cosines is not None and cosines[0] >= ALIKE


def _stands(name: str, text: str) -> bool:
    folded = normalise_name(text)
    words = [normalise_name(word) for word in name.split()]
    return all(word in folded for word in words)


def _same_order(claim: str, sentence: str, names: Sequence[str]) -> bool:
    """Check whether figures and names that stand once in both stand in the same order."""
    folded_claim, folded = (_DATE.sub(" ", normalise_name(text)) for text in (claim, sentence))
    keys = {normalise_name(name) for name in names}
    keys |= {match.group().strip(",.:") for match in _FIGURE.finditer(folded_claim)}
    once = [key for key in keys if folded_claim.count(key) == 1 == folded.count(key)]
    by_claim = sorted(once, key=folded_claim.index)
    return by_claim == sorted(once, key=folded.index)
