"""Linear classifiers of questions, by their words or by vectors of an embedding model.

The shape of a question tells what it asks for, whatever it is about: *what led to* asks for a cause
and *which of them* for a list. A classifier is trained on example questions that stand beside the
module that uses it, and ships as weights in a JSON file.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..prompts import Language

Rows = NDArray[np.float64]

SCALE, RIDGE, STEPS = 4.0, 1.5, 3000
"""Factor of centred unit vectors, penalty of weights, and steps of the training."""
_WORD = re.compile(r"[a-z']+|\d+|\?")


@dataclass(frozen=True, slots=True)
class LinearClassifier:
    """Linear classifier of vectors: (dimension, classes) weights, and an offset for each class."""

    weights: Rows
    offsets: Rows

    @classmethod
    def of(cls, shipped: Mapping[str, Any]) -> Self:
        """Return the classifier that was written as `weights` and `offsets`."""
        return cls(weights=np.array(shipped["weights"]), offsets=np.array(shipped["offsets"]))

    @classmethod
    def trained(
        cls,
        vectors: Sequence[Sequence[float]] | Rows,
        labels: Sequence[str],
        classes: Sequence[str],
        *,
        counts: Sequence[float] | None = None,
        scale: float = SCALE,
        steps: int = STEPS,
    ) -> Self:
        """Train multinomial logistic regression on a vector for each label.

        Accelerated gradient descent (Nesterov 1983) on centred unit vectors with an L2 penalty.
        `counts` is how much each vector counts, by default 1.
        """
        rows = np.asarray(vectors, dtype=np.float64)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        count = np.ones((len(rows), 1)) if counts is None else np.array(counts)[:, np.newaxis]
        centre = (rows * count).sum(axis=0) / count.sum()
        known = np.hstack([(rows - centre) * scale, np.ones((len(rows), 1))])
        right = np.array([[label == each for each in classes] for label in labels], dtype=float)
        penalty = np.full((known.shape[1], 1), RIDGE)
        penalty[-1] = 0.0
        step = 1.0 / (0.5 * float(np.linalg.norm(known * np.sqrt(count), 2)) ** 2 + RIDGE)
        found = ahead = np.zeros((known.shape[1], len(classes)))
        speed = 1.0
        for _ in range(steps):
            gradient = known.T @ (count * (softmax(known @ ahead) - right)) + penalty * ahead
            further, faster = ahead - step * gradient, (1 + math.sqrt(1 + 4 * speed**2)) / 2
            ahead = further + (speed - 1) / faster * (further - found)
            found, speed = further, faster
        weights = found[:-1] * scale
        return cls(weights=weights, offsets=found[-1] - centre @ weights)

    def logits(self, vector: Sequence[float] | Rows) -> Rows:
        """Return a logit for each class, of a question's vector."""
        row = np.asarray(vector, dtype=np.float64)
        found: Rows = row / np.linalg.norm(row) @ self.weights + self.offsets
        return found

    def written(self, decimals: int) -> dict[str, Any]:
        """Return weights and offsets as they are shipped."""
        return {
            "offsets": self.offsets.round(decimals).tolist(),
            "weights": self.weights.round(decimals).tolist(),
        }


def softmax(logits: Rows) -> Rows:
    """Return the probabilities of logits along the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: Rows = powers / powers.sum(axis=-1, keepdims=True)
    return found


def word_rows(questions: Sequence[str], language: Language, column: Mapping[str, int]) -> Rows:
    """Return which words of a vocabulary stand in each question, a row a question.

    `column` is the number of each word. The last column is 1 for a question without any, so that no
    row is nil.
    """
    rows = np.zeros((len(questions), len(column) + 1))
    for row, question in zip(rows, questions, strict=True):
        known = [column[each] for each in words_of(question, language) if each in column]
        row[known or -1] = 1.0
    return rows


def words_of(question: str, language: Language) -> set[str]:
    """Return the words and pairs of words of a question, or its pairs of Chinese characters."""
    if language == "zh":
        kept = f"^{''.join(character for character in question if character.isalnum())}$"
        return {kept[place : place + 2] for place in range(len(kept) - 1)}
    words = ["^", *_WORD.findall(question.casefold()), "$"]
    return set(words) | {f"{one} {further}" for one, further in pairwise(words)}


class WordClassifier:
    """Linear classifier of questions in one language by their words.

    Args:
        shipped: `vocabulary`, `weights` and `offsets`, as a file has them.
        language: of the questions.
    """

    def __init__(self, shipped: Mapping[str, Any], language: Language) -> None:
        self._column = {word: number for number, word in enumerate(shipped["vocabulary"])}
        self._classifier = LinearClassifier.of(shipped)
        self._language = language

    def logits(self, question: str) -> Rows:
        """Return a logit for each class."""
        row = word_rows([question], self._language, self._column)[0]
        return self._classifier.logits(row)


def examples_digest(examples: Iterable[Mapping[Any, Sequence[str]]]) -> str:
    """Return a digest of example questions, which are given by class for each language."""
    texts = ["\n".join(some) for questions in examples for some in questions.values()]
    return hashlib.sha256("\n\n".join(texts).encode("utf8")).hexdigest()[:16]
