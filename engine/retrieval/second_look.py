"""Second look: the first passages of the walk as a set, each judged beside the others.

A walk puts the siblings of its first passage in front of the page behind the bridge, though they
repeat what is answered already. Greedy, from the best passage on: the next is the one whose words
answer most of what the question still asks and that a link joins to those taken, or whose name
stands in one of those beside the relation that is asked (*directed by …* where the director is).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import e, exp, log, sqrt

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ..storage.graph_api import QuestionNames, WalkGraph
from ..storage.tokenization import tokens
from .lexical_variants import lexical_variants

LOOKED_AT = 20
"""Number of passages that are looked at."""
OPEN_WEIGHT = 4.0
"""Weight of the open share of the question, where linked, beside the logarithm of the mass."""
RELATION_WEIGHT = 1.0
"""Weight of a name beside the relation asked, likewise."""
STANDING_HOME = 0.5
"""Link to the home of a name that the question itself has; 1 where a passage led to it."""
BEFORE, AFTER = 6, 3
"""Number of words before and after a name in which the relation is looked for."""
_FADING = 3.0
"""Distance in words over which a relation fades to 1/e."""
_LEAST_MASS = 1e-7
_WORD = re.compile(r"[^\W\d_][\w'’-]*")

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Mention = tuple[int, int, str]
"""A passage, the passage that is home of a name in it, and the name's label."""


@dataclass(frozen=True, slots=True)
class Links:
    """Closeness of passages by their links, symmetric `(k, k)`, 0–1, and mentions of homes."""

    closeness: Matrix
    mentions: tuple[Mention, ...]


def links_between(
    graph: WalkGraph,
    rows: Sequence[int],
    asked: Collection[str],
    *,
    in_long_document: Sequence[bool],
) -> Links:
    """Link passages by names and homes.

    A passage and the home of a name in it: 1, or less where the name is one of `asked`, those of
    the question. Passages with a common name that the question does not have: more, the fewer
    passages have it; but not of `in_long_document` (k), where the same names stand everywhere.
    Passages under one title are not linked: they are one thing.
    """
    known = frozenset(asked)
    titles = [graph.titles[row] for row in rows]
    homes = [_home_of(graph, row) for row in rows]
    present = [graph.labels[row] | own for row, own in zip(rows, homes, strict=True)]
    closeness, mentions = np.zeros((len(rows), len(rows))), list[Mention]()
    for one, here in enumerate(present):
        for other in range(one):
            if titles[one] and titles[one] == titles[other]:
                continue
            common = here & present[other]
            is_long = in_long_document[one] or in_long_document[other]
            own = frozenset[str]() if is_long else common - known
            shares = [_rarity(graph.frequency(label)) for label in own]
            for source, target in ((one, other), (other, one)):
                for label in sorted(homes[target] & common):
                    shares.append(STANDING_HOME if label in known else 1.0)
                    mentions.append((source, target, label))
            closeness[one, other] = closeness[other, one] = max(shares, default=0.0)
    return Links(closeness, tuple(mentions))


def _home_of(graph: WalkGraph, row: int) -> frozenset[str]:
    """Return the labels that a passage is the home of."""
    introduced = (label for label in graph.introduced[row] if row in graph.homes.get(label, ()))
    return frozenset(introduced) | ({graph.titles[row]} - {""})


def _rarity(passages: int) -> float:
    return 1.0 / sqrt(log(e + passages))


def relation_words(
    question: str, words: Sequence[str], weights: Sequence[float]
) -> dict[str, float]:
    """Return words that may say the relation asked, in all their forms, with weights 0–1.

    These are the question's `words` outside of its capitalised names; `weights` are theirs.
    """
    later = _WORD.findall(question)[1:]
    named = {token for word in later if word[0].isupper() for token in tokens(word)}
    plain = {w: weight for w, weight in zip(words, weights, strict=True) if w not in named}
    most = max(plain.values(), default=0.0)
    found = dict[str, float]()
    for word, weight in plain.items():
        for form in lexical_variants(word) if most > 0 else ():
            found[form] = max(found.get(form, 0.0), weight / most)
    return found


def relations_asked(
    mentions: Sequence[Mention],
    texts: Sequence[Sequence[str]],
    names: Mapping[str, Sequence[Sequence[str]]],
    words: Mapping[str, float],
) -> Matrix:
    """Return how near a relation asked stands to the mention of each home: `(k, k)`, 0–1.

    Args:
        mentions: passages, homes and labels (see `links_between`).
        texts: tokens of each of the k passages, in order.
        names: tokens of the forms of each label's name.
        words: relation words and their weights (see `relation_words`).
    """
    found = np.zeros((len(texts), len(texts)))
    places = {source: _places(texts[source]) for source in {each[0] for each in mentions}}
    asked = {
        source: sorted((place, words[word]) for word in words for place in held.get(word, ()))
        for source, held in places.items()
    }
    for source, target, label in mentions:
        for name in names.get(label, ()):
            size = len(name)
            for start in places[source].get(name[0], ()) if name else ():
                if list(texts[source][start : start + size]) == list(name):
                    near = _nearest(asked[source], start, start + size - 1)
                    found[source, target] = max(found[source, target], near)
    return found


def _places(text: Sequence[str]) -> Mapping[str, list[int]]:
    found = defaultdict[str, list[int]](list)
    for place, word in enumerate(text):
        found[word].append(place)
    return found


def _nearest(asked: Sequence[tuple[int, float]], start: int, end: int) -> float:
    """Return the greatest weight of words around `start` to `end`, fading with distance."""
    best = 0.0
    for place, weight in asked[bisect_left(asked, (start - BEFORE, 0.0)) :]:
        if place > end + AFTER:
            break
        if not start <= place <= end:
            distance = start - place if place < start else place - end
            best = max(best, weight * exp((1 - distance) / _FADING))
    return best


def second_look(
    order: Rows,
    mass: npt.NDArray[np.floating],
    *,
    closeness: Matrix,
    relations: Matrix,
    held: Matrix,
    weights: npt.ArrayLike,
) -> Rows:
    """Return `order` with its first k passages ordered as a set.

    Args:
        order: all rows, best first.
        mass: of each row (n).
        closeness: how closely the first k are linked (k, k), 0–1.
        relations: from each of the first k, how near a relation asked is to the name of the
            others (k, k), 0–1.
        held: how far each of the first k holds each word of the question (k, words), 0–1.
        weights: of the words, any scale.

    Each step takes the passage with the greatest ln mass + 4 · open · closeness + relation: `open`
    is the share of the question, by weight, that it holds and none taken does, the others the
    greatest from one taken. The first passage stays; without links nothing moves. Ties keep their
    order.
    """
    given = np.asarray(weights, dtype=np.float64)
    count = min(len(closeness), order.size)
    if count < 3 or not given.sum() > 0:
        return order
    share = given / given.sum()
    own = np.log(np.maximum(mass[order[:count]].astype(np.float64), _LEAST_MASS))
    taken, left = [0], list(range(1, count))
    answered, linked, asked = held[0], closeness[0], relations[0]
    while left:
        adds = np.maximum(held[left] - answered, 0.0) @ share
        merit = own[left] + OPEN_WEIGHT * adds * linked[left] + RELATION_WEIGHT * asked[left]
        best = left.pop(int(np.argmax(merit)))
        taken.append(best)
        answered = np.maximum(answered, held[best])
        linked = np.maximum(linked, closeness[best])
        asked = np.maximum(asked, relations[best])
    return np.concatenate([order[:count][taken], order[count:]])


def name_forms(name: str) -> list[list[str]]:
    """Return the tokens of a name, and of the part before a comma."""
    return [tokens(name), *([tokens(name.split(",")[0])] if "," in name else ())]


def words_held(
    question: str, names: QuestionNames, words: Sequence[str], texts: Sequence[Sequence[str]]
) -> NDArray[np.float64]:
    """Return which words of the question each text holds: `(texts, words)`, 0 or 1.

    The name of a thing that has several is held where any of them is.
    """
    present = [frozenset(text) for text in texts]
    held = np.array([[word in some for word in words] for some in present], dtype=np.float64)
    held = held.reshape(len(texts), len(words))
    for thing in names.things:
        said = {token for start, end in thing.spans for token in tokens(question[start:end])}
        forms = [frozenset(tokens(key)) for key in thing.keys]
        named = [any(form <= some for form in forms) for some in present]
        for column, word in enumerate(words):
            if word in said:
                held[:, column] = np.maximum(held[:, column], named)
    return held
