"""Fit the mean vectors of languages that the multilingual encoder takes off.

    python tests/benchmarks/language_means.py

Means of 300 questions and 300 texts each of SQuAD 2.0 and CMRC 2018, those at even places; writes
`engine/embeddings/language_means.txt`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from corpora import DATA  # noqa: E402

from engine.embeddings import question_encoder  # noqa: E402

COUNT = 300
CHARACTERS = {"squad2_dev": 500, "cmrc2018_zh": 170}
"""Of a text, about a window."""


def lines(name: str, file: str) -> list[str]:
    """Return texts of a set, evenly spread over those at even places."""
    rows = (DATA / name / f"{file}.jsonl").read_text(encoding="utf8").splitlines()[::2]
    return [json.loads(row)["text"] for row in rows[:: max(1, len(rows) // COUNT)][:COUNT]]


def main() -> None:
    """Write the means."""
    question_encoder._language_means = lambda: {
        kind: np.zeros((2, question_encoder.QUESTION_DIMENSION)) for kind in ("query", "passage")
    }
    encoder = question_encoder.QuestionEncoder()
    rows = [encoder.questions(lines(name, "queries")).mean(axis=0) for name in CHARACTERS]
    for name, size in CHARACTERS.items():
        texts = [text[:size] for text in lines(name, "corpus")]
        rows.append(encoder.texts(texts).mean(axis=0))
    path = ROOT / "engine" / "embeddings" / "language_means.txt"
    path.write_text("".join(" ".join(f"{x:.4f}" for x in row) + "\n" for row in rows), "ascii")


if __name__ == "__main__":
    main()
