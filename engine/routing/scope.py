"""Scope of a question: the whole of the documents, a topic told in many places, or one thing.

A linear classifier on the vectors of the bundled embedding models and on words and pairs of words,
trained on example questions of the three scopes beside this module, a line of a file each. They are
written for no corpus in particular: the shape of a question counts, not its subject. None is among
the questions that the router is measured by. Where no model is installed, words decide.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, get_args

import numpy as np

from ..answering.question_classifier import LinearClassifier, Rows, WordClassifier, softmax
from ..errors import ModelUnavailable
from ..prompts import Language, language_of

_LOGGER = logging.getLogger("loregraph.models")

ScopeName = Literal["whole", "topic", "specific"]
SCOPES: tuple[ScopeName, ...] = get_args(ScopeName)
Embed = Callable[[str], Sequence[float]]

_WORDS = 0.5
"""Vote of the words beside that of a model."""
_FILE = "scope.json"
_REMEMBERED = 64


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
        total = np.sum([*logits, _WORDS * _by_words(language).logits(question)], axis=0)
        found = total / (len(logits) + _WORDS) if logits else total / _WORDS
        scope = Scope(*map(float, softmax(found)))
        if failure is not None:
            raise _Unheard(scope)
        return scope


class _Unheard(Exception):
    """A scope that a model had no part in, and which is not remembered."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope


def shipped_weights(model: str, language: Language) -> LinearClassifier | None:
    """Return the weights shipped for a model, by its identity; None for other models."""
    found = _shipped()["models"].get(model.split("/")[0], {}).get(language)
    return None if found is None else LinearClassifier.of(found)


@cache
def _shipped() -> dict[str, Any]:
    shipped: dict[str, Any] = json.loads((files(__package__) / _FILE).read_text(encoding="utf8"))
    return shipped


@cache
def _by_words(language: Language) -> WordClassifier:
    return WordClassifier(_shipped()["words"][language], language)
