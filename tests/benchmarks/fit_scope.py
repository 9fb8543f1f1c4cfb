"""Train the router's classifier on its example questions, and write what it ships.

    python tests/benchmarks/fit_scope.py

To be run again whenever the questions beside `engine/routing/scope.py` change; a test says so. The
weights of a model for a language are the mean of those learnt from each selection of questions,
which measured best.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine import Settings  # noqa: E402
from engine.answering.question_classifier import (  # noqa: E402
    LinearClassifier,
    examples_digest,
    word_rows,
    words_of,
)
from engine.embeddings.embedding_model import EmbeddingModel  # noqa: E402
from engine.embeddings.multilingual import MultilingualEmbedding  # noqa: E402
from engine.llm.response import identity_of  # noqa: E402
from engine.prompts import Language  # noqa: E402
from engine.providers.factory import build_chain  # noqa: E402
from engine.routing import scope  # noqa: E402

TRAINED_ON: dict[str, dict[Language, Sequence[Sequence[Language]]]] = {
    "bge-small-en-v1.5": {"en": [("en",)]},
    "multilingual-e5-small": {"en": [("en", "zh")], "zh": [("zh",), ("en", "zh")]},
}
_DECIMALS = 4
_OFTEN = 2
"""Example questions that hold a word which is learnt."""


def examples(languages: Sequence[Language]) -> tuple[list[str], list[scope.ScopeName]]:
    """Return the example questions of some languages and their scopes."""
    known = [
        (text, kind)
        for each in languages
        for kind, texts in scope.example_questions(each).items()
        for text in texts
    ]
    return [text for text, _ in known], [kind for _, kind in known]


def of_model(model: EmbeddingModel, selections: Sequence[Sequence[Language]]) -> dict[str, Any]:
    """Train on the vectors of a model, and take the mean over the selections of questions."""
    found = []
    for languages in selections:
        texts, kinds = examples(languages)
        vectors = [model.get_query_embedding(text) for text in texts]
        found.append(LinearClassifier.trained(vectors, kinds, scope.SCOPES))
    weights = np.mean([each.weights for each in found], axis=0)
    offsets = np.mean([each.offsets for each in found], axis=0)
    return LinearClassifier(weights, offsets).written(_DECIMALS)


def of_words(language: Language) -> dict[str, Any]:
    """Train on words."""
    texts, kinds = examples([language])
    counts = Counter(word for text in texts for word in words_of(text, language))
    vocabulary = sorted(word for word, count in counts.items() if count >= _OFTEN)
    column = {word: number for number, word in enumerate(vocabulary)}
    rows = word_rows(texts, language, column)
    fitted = LinearClassifier.trained(rows, kinds, scope.SCOPES)
    return {"vocabulary": vocabulary, **fitted.written(_DECIMALS)}


def main() -> None:
    """Train and write."""
    known_models = (build_chain(Settings().embedding)[0], MultilingualEmbedding())
    models = {identity_of(model).split("/")[0]: model for model in known_models}
    data = {
        "questions": examples_digest(map(scope.example_questions, get_args(Language))),
        "models": {
            name: {language: of_model(models[name], some) for language, some in languages.items()}
            for name, languages in TRAINED_ON.items()
        },
        "words": {language: of_words(language) for language in get_args(Language)},
    }
    path = Path(scope.__file__).with_name("scope.json")
    path.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf8")
    print(path)


if __name__ == "__main__":
    main()
