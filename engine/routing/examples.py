"""Example questions of both scopes, and a question's similarity to them.

The examples are written for no corpus in particular: the shape of a question counts, not its
subject. None is among the questions that the router is measured by. Similarity goes by words (pairs
of characters in Chinese) or by an embedding model's vectors; both are linear.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..prompts import Language


@cache
def example_questions(language: Language) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the questions about the whole, and those about one thing, a line of a file each."""
    whole, specific = (
        (files(__package__) / f"{kind}_questions.{language}.txt").read_text(encoding="utf8")
        for kind in ("global", "local")
    )
    return tuple(whole.splitlines()), tuple(specific.splitlines())


_RIDGE = 1.0
_FILE = "likeness.json"
_WORD = re.compile(r"[a-z']+|\d+|\?")


@dataclass(frozen=True, slots=True)
class ExampleSimilarity:
    """The direction in which vectors of both kinds of typical questions lie apart.

    `direction` is as wide as the vectors; `offset` is what half way between the kinds comes to.
    """

    direction: NDArray[np.float64]
    offset: float

    @classmethod
    def of(cls, whole: NDArray[np.float32], specific: NDArray[np.float32]) -> Self:
        """Learn from the vectors of typical questions, one a row.

        Ridge regression of the kind (1 for the whole, −1 for one thing) on unit vectors, in its
        dual form: an equation for each typical question, however wide vectors are.
        """
        rows = np.vstack([_units(whole), _units(specific)]).astype(np.float64)
        kind = np.concatenate([np.ones(len(whole)), -np.ones(len(specific))])
        centre = rows.mean(axis=0)
        centred = rows - centre
        products = centred @ centred.T + _RIDGE * np.eye(len(rows))
        direction = centred.T @ np.linalg.solve(products, kind)
        return cls(direction=direction, offset=float(centre @ direction))

    def __call__(self, vector: Sequence[float]) -> float:
        """About 1 for a question about the whole, −1 for one about one thing."""
        unit = _units(np.asarray([vector], dtype=np.float32))[0]
        return float(unit @ self.direction) - self.offset


def lexical_similarity(question: str, language: Language) -> float:
    """Return the similarity by words and word pairs, or Chinese character pairs.

    Naive Bayes over what occurs, each question's sum divided by the root of its number of features,
    for long questions are not that much surer.
    """
    weights = _word_weights(language)
    found = _features(question, language)
    return sum(weights.get(feature, 0.0) for feature in sorted(found)) / math.sqrt(
        max(1, len(found))
    )


@cache
def _word_weights(language: Language) -> dict[str, float]:
    whole, specific = example_questions(language)
    in_whole = Counter(each for text in whole for each in _features(text, language))
    in_specific = Counter(each for text in specific for each in _features(text, language))
    return {
        feature: math.log(
            (in_whole[feature] + 1)
            / (len(whole) + 2)
            * (len(specific) + 2)
            / (in_specific[feature] + 1)
        )
        for feature in in_whole | in_specific
    }


def _features(question: str, language: Language) -> set[str]:
    if language == "zh":
        kept = f"^{''.join(character for character in question if character.isalnum())}$"
        return {kept[place : place + 2] for place in range(len(kept) - 1)}
    words = ["^", *_WORD.findall(question.casefold()), "$"]
    return set(words) | {f"{one} {further}" for one, further in pairwise(words)}


def fit_examples(
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]], language: Language
) -> ExampleSimilarity:
    """Fit the similarity of an embedding model to all example questions."""
    whole, specific = example_questions(language)
    vectors = np.asarray(embed([*whole, *specific]), dtype=np.float32)
    return ExampleSimilarity.of(vectors[: len(whole)], vectors[len(whole) :])


def load_pretrained(model: str, language: Language) -> ExampleSimilarity | None:
    """Load the bundled model's precomputed fit; None for other models or questions.

    `model` is its identity, such as `bge-small-en-v1.5/int8`. Learning takes a second of processor
    time, which a command line would pay for every question.
    """
    known = json.loads((files(__package__) / _FILE).read_text(encoding="utf8"))
    is_same = known["model"] == model.split("/")[0] and known["language"] == language
    if not is_same or known["questions"] != examples_digest(language):
        return None
    return ExampleSimilarity(
        direction=np.asarray(known["direction"], dtype=np.float64), offset=known["offset"]
    )


def examples_digest(language: Language) -> str:
    """Return a digest of the routing examples of a language."""
    text = "\n\n".join("\n".join(kind) for kind in example_questions(language))
    return hashlib.sha256(text.encode("utf8")).hexdigest()[:16]


def _units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)
