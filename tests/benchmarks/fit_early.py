"""Fits what foretells a reader's logit, by which texts far below the best are left unread.

    python tests/benchmarks/fit_early.py [--write]

The cross-encoder reads questions of four public sets with paragraphs that answer and others with
many of their words, a third of them cut to one sentence; for each stage a linear function of its
features has to give the last layer's logit. The token reader's logit is foretold by the likeness of
words, on the Chinese questions of CMRC 2018; its three weights are printed, for `BY_WORDS`. Told
are correlation and error on a quarter of the questions, left out of the fit. Needs ../shared/data
and the bundled models; takes ten CPU minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from corpora import DATA

from engine.embeddings import early_reading
from engine.embeddings.bundled import map_threads
from engine.embeddings.cross_encoder import CrossEncoder
from engine.embeddings.early_reading import LOGITS, STAGES
from engine.embeddings.token_reader import TokenReader
from engine.storage.tokenization import tokens
from graph.text.sentences import sentence_spans

ENGLISH = (
    ("squad2_dev", 700, 6),
    ("hotpotqa_train100", 100, 10),
    ("musique_train100", 100, 10),
    ("scifact_dev", 120, 6),
)
CHINESE = (("cmrc2018_zh", 150, 6),)
"""Sets, questions of each, and paragraphs for a question."""
RIDGE = 1000.0
SENTENCES = 0.35
"""Share of paragraphs that are cut to a sentence."""
WORDS = 110
"""Words of a paragraph, from its beginning or for a quarter its end."""

Pair = tuple[str, str]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    pairs = [pair for some in ENGLISH for pair in pairs_of(*some)]
    reader = CrossEncoder()
    read = map_threads(partial(starred, reader.early), pairs, threads=2)
    logits = np.clip([logit for _, logit in read], *LOGITS)
    weights = []
    for stage, one in enumerate(STAGES):
        rows = np.array([features[stage] for features, _ in read])
        print(f"{one.output}: {judged(rows, logits, pairs, RIDGE)}")
        weights.append(fit(rows, logits, RIDGE))
    if arguments.write:
        path = Path(early_reading.__file__).with_name("early_weights.txt")
        np.savetxt(path, np.stack(weights, axis=1), fmt="%.5f")
    pairs = [pair for some in CHINESE for pair in pairs_of(*some)]
    told = map_threads(partial(starred, TokenReader().early), pairs, threads=2)
    rows, values = np.array([both for both, _ in told]), np.array([logit for _, logit in told])
    print(f"words: {judged(rows, values, pairs, 0.0)}")
    *by_words, constant = fit(rows, values, 0.0)
    print("BY_WORDS =", tuple(round(float(one), 1) for one in (constant, *by_words)))


def starred(read, pair: Pair):
    """Read a pair."""
    return read(*pair)


def pairs_of(name: str, questions: int, paragraphs: int) -> Iterator[Pair]:
    """Give questions of a set, each with right paragraphs and with others that share its words."""
    corpus = [json.loads(line) for line in (DATA / name / "corpus.jsonl").open()]
    asked = [json.loads(line) for line in (DATA / name / "queries.jsonl").open()]
    chance = random.Random(name)  # noqa: S311
    chance.shuffle(asked)
    words = {row["id"]: frozenset(tokens(f"{row['title']} {row['text']}")) for row in corpus}
    spread = Counter(word for some in words.values() for word in some)
    by_id = {row["id"]: row for row in corpus}
    for query in asked[:questions]:
        wanted = {word: math.log(len(corpus) / spread[word])
                  for word in tokens(query["text"]) if word in spread}  # fmt: skip
        right = [one for one in query.get("gold_ids") or [query.get("paragraph")] if one in by_id]

        def shared(row: dict, wanted: dict[str, float] = wanted) -> float:
            return -sum(wanted[word] for word in wanted.keys() & words[row["id"]])

        others = sorted((row for row in corpus if row["id"] not in right[:2]), key=shared)
        for row in [*map(by_id.__getitem__, right[:2]), *others][:paragraphs]:
            yield query["text"], f"{row['title']}\n{cut(row['text'], wanted.keys(), chance)}"


def cut(text: str, wanted, chance: random.Random) -> str:
    """Return the sentence of a text with most of the words wanted, or its beginning or end."""
    if chance.random() < SENTENCES:
        sentences = [text[start:end] for start, end in sentence_spans(text)] or [text]
        return max(sentences, key=lambda one: len(wanted & set(tokens(one))))
    words = text.split(" ")
    start = chance.choice((0, 0, 0, max(0, len(words) - WORDS)))
    return " ".join(words[start : start + WORDS])


def fit(rows: np.ndarray, values: np.ndarray, ridge: float) -> np.ndarray:
    """Return weights and constant by ridge regression of the standardised columns."""
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    scaled = (rows - mean) / spread
    beta = np.linalg.solve(
        scaled.T @ scaled + ridge * np.eye(rows.shape[1]), scaled.T @ (values - values.mean())
    )
    return np.append(beta / spread, values.mean() - (mean / spread) @ beta)


def judged(rows: np.ndarray, values: np.ndarray, pairs: list[Pair], ridge: float) -> str:
    """Tell how well a fit to three quarters of the questions foretells those of the others."""
    unseen = np.array([zlib.crc32(question.encode()) % 4 == 0 for question, _ in pairs])
    *weights, constant = fit(rows[~unseen], values[~unseen], ridge)
    told = rows[unseen] @ np.array(weights) + constant
    error = math.sqrt(((told - values[unseen]) ** 2).mean())
    r = np.corrcoef(told, values[unseen])[0, 1]
    return f"r {r:.3f}, error {error:.2f} on {unseen.sum()} unseen pairs of {len(pairs)}"


if __name__ == "__main__":
    main()
