"""Classifier of what a question asks for: a fact, a definition, steps, a cause, a list and others.

Linear on words and pairs of words, trained on the example questions beside this module, a line of a
file each, and on half of the questions of public sets for facts (`tests/benchmarks/fit_intent.py`).
The examples are about no documents in particular. Expressions by hand, which it replaced, told .61
of the English examples and .60 of the Chinese ones; it tells .74 and .80 of those it has not seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, get_args

from ....prompts import Language, language_of
from ...question_classifier import WordClassifier, softmax

Asked = Literal[
    "fact", "definition", "steps", "cause", "list", "comparison", "explanation", "overview"
]
ASKED: tuple[Asked, ...] = get_args(Asked)
_FILE = "intent.json"
_REMEMBERED = 256


@cache
def example_questions(language: Language) -> Mapping[Asked, tuple[str, ...]]:
    """Return the example questions of each class."""
    folder = files(__package__)
    return {
        asked: tuple((folder / f"{asked}.{language}.txt").read_text(encoding="utf8").splitlines())
        for asked in ASKED
    }


@lru_cache(maxsize=_REMEMBERED)
def classify_asked(question: str) -> Mapping[Asked, float]:
    """Return the probability of each class; they sum to 1."""
    logits = _classifier(language_of(question)).logits(question)
    return dict(zip(ASKED, map(float, softmax(logits)), strict=True))


@cache
def _classifier(language: Language) -> WordClassifier:
    shipped: dict[str, Any] = json.loads((files(__package__) / _FILE).read_text(encoding="utf8"))
    return WordClassifier(shipped[language], language)
