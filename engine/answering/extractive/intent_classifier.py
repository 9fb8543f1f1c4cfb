"""Classifier of what a question asks for: a fact, a definition, steps, a cause, a list and others.

Linear on words and pairs of words, trained on the example questions in `intents`, a line of a file
each, and on half of the questions of public sets for facts (see `tests/benchmarks/fit_intent.py`).
The examples are about no documents in particular. Expressions by hand, which it replaced, told .61
of the English examples and .60 of the Chinese ones; it tells .74 and .80 of those it has not seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, get_args

from ...prompts import Language, language_of
from ...question_classifier import LinearClassifier, softmax, word_rows

Asked = Literal[
    "fact", "definition", "steps", "cause", "list", "comparison", "explanation", "overview"
]
ASKED: tuple[Asked, ...] = get_args(Asked)
_EXAMPLES, _FILE = "intents", "intent.json"
_REMEMBERED = 256


@cache
def example_questions(language: Language) -> Mapping[Asked, tuple[str, ...]]:
    """Return the example questions of each class."""
    folder = files(__package__) / _EXAMPLES
    return {
        asked: tuple((folder / f"{asked}.{language}.txt").read_text(encoding="utf8").splitlines())
        for asked in ASKED
    }


def examples_digest() -> str:
    """Return a digest of all example questions."""
    texts = [
        "\n".join(questions)
        for language in get_args(Language)
        for questions in example_questions(language).values()
    ]
    return hashlib.sha256("\n\n".join(texts).encode("utf8")).hexdigest()[:16]


@lru_cache(maxsize=_REMEMBERED)
def classify_asked(question: str) -> Mapping[Asked, float]:
    """Return the probability of each class; they sum to 1."""
    language = language_of(question)
    column, classifier = _shipped(language)
    logits = classifier.logits(word_rows([question], language, column)[0])
    return dict(zip(ASKED, map(float, softmax(logits)), strict=True))


@cache
def _shipped(language: Language) -> tuple[Mapping[str, int], LinearClassifier]:
    """Return the number of each known word, and the classifier of a language."""
    shipped: dict[str, Any] = json.loads((files(__package__) / _FILE).read_text(encoding="utf8"))
    found = shipped[language]
    return (
        {word: number for number, word in enumerate(found["vocabulary"])},
        LinearClassifier.of(found),
    )
