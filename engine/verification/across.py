"""Claims in another language than their source: the sentence by figures, names and meaning.

Words of two languages do not compare. The sentence is the one of the passages that the model named
that lacks fewest figures and names and means most alike. A claim is supported where that sentence
holds each of its figures and names, these by any name that the library knows, at least one figure,
in the claim's order, denies what the claim denies, and means the same; it is refuted by a figure
that its passages lack; else rules cannot judge it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import HAN, has_han, simplified

from ..retrieval.passages import Embed
from .entities_and_numbers import (
    Quantities,
    denies,
    extract_quantities,
    missing_quantities,
    normalise_name,
    opposed,
    places_in_a_row,
)

ALIKE = 0.4
"""Minimum cosine of the multilingual encoder between a claim and the sentence that says it."""

ALIKE_ALONE = 0.5
"""The same where one figure is all that ties the two."""

_LETTERS = rf"(?:[^\W{HAN}]|[’'.-])*"
_LATIN_NAME = re.compile(rf"[A-Z]{_LETTERS}(?:\s+[A-Z]{_LETTERS})*")
_NO_NAME = re.compile(
    r"(?:The|A|An|In|On)\s+|(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s?(?:\s+|$)"
)
_HAN_RUN = re.compile(rf"[{HAN}·]{{2,}}")
_LONGEST_HAN = 8
_TOWARDS = re.compile(
    r"\b(?:pa(?:y|ys|id)|g[ai]ve[sn]?|sold|lent|sent|told|asked|defeat\w*|beat|sued|succeed\w*)\b"
    r"|[付交卖借送派还]给|告诉|要求|击败|打败|战胜|起诉|接替"
)
"""Verbs from one to another: who stands on which side decides."""
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
        opens = not (text[: match.start()].strip(' *-•#>"“(') or has_han(text))
        name = _NO_NAME.sub("", match.group()).strip(" .'’-")
        if (opens and " " not in name) or len(name) < 2:
            continue
        found.append(name)
    return found


def nearest_sentence(
    claim: str,
    sentences: Sequence[str],
    alike: Alike | None,
    other_names: OtherNames | None = None,
    *,
    headings: Sequence[str] = (),
) -> int:
    """Return the place of the sentence that says the claim, by figures, names and meaning."""
    figures = extract_quantities(claim)
    names = things_named(claim, other_names)
    cosines = alike(claim, sentences) if alike is not None else None

    def worth(place: int) -> float:
        text = "\n".join((*headings[place : place + 1], sentences[place]))
        held = figures.count - len(missing_quantities(figures, extract_quantities(text)))
        held += sum(thing.place(normalise_name(text)) >= 0 for thing in names)
        share = held / max(1, figures.count + len(names))
        return share + (cosines[place] if cosines is not None else 0.0)

    return max(range(len(sentences)), key=lambda place: (worth(place), -place))


OtherNames = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""Other names of what each name in lower case means; names that are not known are left out."""


@dataclass(frozen=True, slots=True)
class NamedThing:
    """Named thing of a claim: the name as it stands there, and all names of it, folded."""

    name: str
    forms: tuple[str, ...]

    def place(self, text: str) -> int:
        """Return where a folded text first has one of the forms; −1 where it has none."""
        return min((at for at in map(text.find, self.forms) if at >= 0), default=-1)


def things_named(claim: str, other_names: OtherNames | None) -> list[NamedThing]:
    """Return what a claim names: Latin names, and Chinese ones of which others are known."""
    latin = {normalise_name(name): name for name in latin_names(claim)}
    runs = _HAN_RUN.findall(simplified(claim))
    parts = {
        run[start : start + length]
        for run in runs
        for length in range(2, _LONGEST_HAN + 1)
        for start in range(len(run) - length + 1)
    }
    known = other_names(sorted({*latin, *parts})) if other_names is not None else {}
    found = [NamedThing(name, (key, *known.get(key, ()))) for key, name in latin.items()]
    rest = simplified(claim)
    for part in sorted(parts & known.keys(), key=lambda each: (-len(each), each)):
        if part in rest and any(not has_han(other) for other in known[part]):
            rest = rest.replace(part, " ")
            found.append(NamedThing(part, (part, *known[part])))
    return found


def bears_out(
    claim: str,
    sentence: str,
    context: str,
    alike: Alike | None,
    other_names: OtherNames | None = None,
    *,
    heading: str = "",
) -> bool:
    """Check whether a sentence of another language plainly says the claim.

    `context` is what stands above and beside the sentence: a date or a name may stand there.
    `heading` is the sentence's own: a day of a diary ties as if the sentence said it.
    """
    said = extract_quantities(claim)
    near = f"{context}\n{heading}\n{sentence}"
    if missing_figures(said, near):
        return False
    held = extract_quantities(f"{heading}\n{sentence}")
    tied = len(said.numbers & held.numbers) + len(said.codes & held.codes)
    things = things_named(claim, other_names)
    by_names = not said.count and len(things) >= _BOTH_SIDES
    if not (tied or by_names) or not all(_stands(thing, near) for thing in things):
        return False
    if denies(claim) != denies(sentence) or opposed(claim, sentence):
        return False
    if _TOWARDS.search(claim) and len(things) < _BOTH_SIDES:
        return False
    if len(_QUOTED.findall(claim)) > 1 or not _same_order(claim, near, things):
        return False
    cosines = alike(claim, [sentence]) if alike is not None else None
    least = ALIKE if tied and tied + len(things) > 1 else ALIKE_ALONE
    return cosines is not None and cosines[0] >= least


_BOTH_SIDES = 2
_PARTS = re.compile(r"[;；]\s*|, and (?!its\b|the\b)")


def parts_of(claim: str) -> list[str]:
    """Return the parts of a claim that each say something with a figure or a name; else it."""
    parts = _PARTS.split(claim)
    telling = all(extract_quantities(part).count or latin_names(part) for part in parts)
    return parts if telling else [claim]


def missing_figures(said: Quantities, text: str) -> frozenset[str]:
    """Return the figures that a text of another language lacks; 第二 may be "second" there."""
    return missing_quantities(said, extract_quantities(text)) - places_in_a_row(text)


def _stands(thing: NamedThing, text: str) -> bool:
    folded = normalise_name(text)
    return thing.place(folded) >= 0 or all(
        normalise_name(word) in folded for word in thing.name.split()
    )


def _same_order(claim: str, sentence: str, things: Sequence[NamedThing]) -> bool:
    """Check whether figures and names that stand once in both stand in the same order."""
    folded_claim, folded = (_DATE.sub(" ", normalise_name(text)) for text in (claim, sentence))
    figures = {match.group().strip(",.:") for match in _FIGURE.finditer(folded_claim)}
    keys = [*things, *(NamedThing(figure, (figure,)) for figure in sorted(figures))]
    once = [key for key in keys if _once(key, folded_claim) and _once(key, folded)]
    by_claim = sorted(once, key=lambda key: key.place(folded_claim))
    return by_claim == sorted(once, key=lambda key: key.place(folded))


def _once(thing: NamedThing, text: str) -> bool:
    return max(map(text.count, thing.forms)) == 1
