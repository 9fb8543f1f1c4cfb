"""Scope of a question: the whole of the documents, a topic told in many places, or one thing.

A linear classifier on the vectors of the bundled embedding models and on words and pairs of words,
trained on example questions of the three scopes beside this module, a line of a file each. They are
written for no corpus in particular: the shape of a question counts, not its subject. None is among
the questions that the router is measured by. Where no model is installed, words decide.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelUnavailable
from ..prompts import Language, language_of

_LOGGER = logging.getLogger("loregraph.models")

ScopeName = Literal["whole", "topic", "specific"]
SCOPES: tuple[ScopeName, ...] = get_args(ScopeName)
Embed = Callable[[str], Sequence[float]]

_SCALE, _RIDGE, _STEPS = 4.0, 1.5, 3000
"""Factor of centred unit vectors, penalty of weights, and steps of the training."""
_WORDS = 0.5
"""Vote of the words beside that of a model."""
WHOLE = 0.7
"""Probability from which a question is about the documents as a whole."""
_FILE = "scope.json"
_REMEMBERED = 64
_WORD = re.compile(r"[a-z']+|\d+|\?")

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scope:
    """Probabilities of the three scopes; they sum to 1."""

    whole: float
    topic: float
    specific: float

    @property
    def likeliest(self) -> ScopeName:
        """Return whether more is asked for than one thing, and what of it."""
        if self.specific >= 0.5:
            return "specific"
        return "whole" if self.whole >= self.topic else "topic"

    @property
    def is_whole(self) -> bool:
        """Check that the documents as a whole are plainly asked about."""
        return self.whole >= WHOLE

    @property
    def log_odds(self) -> float:
        """Log odds that more is asked for than one thing."""
        return math.log((self.whole + self.topic) / self.specific)


@cache
def example_questions(language: Language) -> Mapping[ScopeName, tuple[str, ...]]:
    """Return the example questions of each scope."""
    return {
        scope: tuple(
            (files(__package__) / f"{scope}_questions.{language}.txt")
            .read_text(encoding="utf8")
            .splitlines()
        )
        for scope in SCOPES
    }


@dataclass(frozen=True, slots=True)
class ScopeWeights:
    """Linear classifier of vectors: (dimension, 3) weights and 3 offsets, in `SCOPES` order."""

    weights: Rows
    offsets: Rows

    @classmethod
    def trained(cls, vectors: Sequence[Sequence[float]], scopes: Sequence[ScopeName]) -> Self:
        """Train multinomial logistic regression on a vector for each scope.

        Accelerated gradient descent (Nesterov 1983) on centred unit vectors with an L2 penalty.
        """
        rows = np.asarray(vectors, dtype=np.float64)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        centre = rows.mean(axis=0)
        known = np.hstack([(rows - centre) * _SCALE, np.ones((len(rows), 1))])
        right = np.array([[scope == each for each in SCOPES] for scope in scopes], dtype=np.float64)
        penalty = np.full((known.shape[1], 1), _RIDGE)
        penalty[-1] = 0.0
        step = 1.0 / (0.5 * float(np.linalg.norm(known, 2)) ** 2 + _RIDGE)
        found = ahead = np.zeros((known.shape[1], len(SCOPES)))
        speed = 1.0
        for _ in range(_STEPS):
            gradient = known.T @ (_softmax(known @ ahead) - right) + penalty * ahead
            further, faster = ahead - step * gradient, (1 + math.sqrt(1 + 4 * speed**2)) / 2
            ahead = further + (speed - 1) / faster * (further - found)
            found, speed = further, faster
        weights = found[:-1] * _SCALE
        return cls(weights=weights, offsets=found[-1] - centre @ weights)

    def logits(self, vector: Sequence[float]) -> Rows:
        """Return three logits for a question's vector."""
        row = np.asarray(vector, dtype=np.float64)
        found: Rows = row / np.linalg.norm(row) @ self.weights + self.offsets
        return found


class ScopeClassifier:
    """Tells the scope of a question; the models that read its language vote alike, words less.

    Args:
        models: embedding functions of questions by the identity of their model, such as
            `bge-small-en-v1.5/int8`; those that nothing is shipped for are passed over.
    """

    def __init__(self, models: Mapping[str, Embed] | None = None) -> None:
        self._models = dict(models or {})
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._classified)

    def __call__(self, question: str) -> Scope:
        """Return the scope of a question; without a model that does not answer at this moment."""
        try:
            return self._remembered(question)
        except _Unheard as error:
            return error.scope

    def _classified(self, question: str) -> Scope:
        language = language_of(question)
        logits, failure = list[Rows](), None
        for model, embed in self._models.items():
            weights = shipped_weights(model, language)
            if weights is None:
                continue
            try:
                vector = embed(question)
            except ModelUnavailable as error:
                failure = error
                _LOGGER.info("a question's scope is told without %s: %s", model, error)
                continue
            if any(vector):
                logits.append(weights.logits(vector))
        total = np.sum([*logits, _WORDS * _lexical_logits(question, language)], axis=0)
        found = total / (len(logits) + _WORDS) if logits else total / _WORDS
        scope = Scope(*map(float, _softmax(found)))
        if failure is not None:
            raise _Unheard(scope)
        return scope


class _Unheard(Exception):
    """A scope that a model had no part in, and which is not remembered."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope


def shipped_weights(model: str, language: Language) -> ScopeWeights | None:
    """Return the weights shipped for a model, by its identity; None for other models."""
    found = _shipped()["models"].get(model.split("/")[0], {}).get(language)
    return None if found is None else _weights_of(found)


def _weights_of(shipped: Mapping[str, Any]) -> ScopeWeights:
    return ScopeWeights(weights=np.array(shipped["weights"]), offsets=np.array(shipped["offsets"]))


@cache
def _shipped() -> dict[str, Any]:
    shipped: dict[str, Any] = json.loads((files(__package__) / _FILE).read_text(encoding="utf8"))
    return shipped


def examples_digest() -> str:
    """Return a digest of all example questions."""
    texts = [
        "\n".join(questions)
        for language in get_args(Language)
        for questions in example_questions(language).values()
    ]
    return hashlib.sha256("\n\n".join(texts).encode("utf8")).hexdigest()[:16]


def word_rows(questions: Sequence[str], language: Language, vocabulary: Sequence[str]) -> Rows:
    """Return which words of a vocabulary stand in each question, a row a question.

    The last column is 1 for a question without any, so that no row is nil.
    """
    column = {word: number for number, word in enumerate(vocabulary)}
    rows = np.zeros((len(questions), len(vocabulary) + 1))
    for row, question in zip(rows, questions, strict=True):
        known = [column[each] for each in words_of(question, language) if each in column]
        row[known or -1] = 1.0
    return rows


def _lexical_logits(question: str, language: Language) -> Rows:
    found = _shipped()["words"][language]
    weights = _weights_of(found)
    return weights.logits(word_rows([question], language, found["vocabulary"])[0])


def words_of(question: str, language: Language) -> set[str]:
    """Return the words and pairs of words of a question, or its pairs of Chinese characters."""
    if language == "zh":
        kept = f"^{''.join(character for character in question if character.isalnum())}$"
        return {kept[place : place + 2] for place in range(len(kept) - 1)}
    words = ["^", *_WORD.findall(question.casefold()), "$"]
    return set(words) | {f"{one} {further}" for one, further in pairwise(words)}


def _softmax(logits: Rows) -> Rows:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: Rows = powers / powers.sum(axis=-1, keepdims=True)
    return found
