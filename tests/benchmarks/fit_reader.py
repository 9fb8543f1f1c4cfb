"""Fits the probe that tells where in a text the answer begins and ends.

    python tests/benchmarks/fit_reader.py [--write]

SQuAD 2.0 gives exact spans. The cross-encoder reads the question with the sentence that holds the
span, behind its title; a linear function of each token's state has to give the first and the last
token of the span the highest share of the sentence. Fitted to half of the titles, judged on the
others: EM of the likeliest span of at most twelve tokens, the AUC of its probability for being
right, and precision of the surest quarter. Needs ../shared/data and the bundled models.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from corpora import DATA
from scipy.optimize import minimize
from scipy.stats import rankdata

from engine.embeddings import span_reading
from engine.embeddings.cross_encoder import CrossEncoder
from engine.embeddings.span_reading import LAYER_OUTPUT, LONGEST_TOKENS
from graph.text.sentences import sentence_spans

RIDGE = 0.003
STEPS = 60
EACH = 1300
"""Questions of each half."""


@dataclass(frozen=True, slots=True)
class Example:
    """States of a sentence's tokens, and the first and last token of each right span."""

    states: np.ndarray
    spans: frozenset[tuple[int, int]]
    first: tuple[int, int]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    fitted, judged = examples(0), examples(1)
    weights = np.stack([fit(fitted, 0), fit(fitted, 1)], axis=1)
    best = [likeliest(each.states, weights) for each in judged]
    right = np.array([place in each.spans for (place, _), each in zip(best, judged, strict=True)])
    sure = np.array([value for _, value in best])
    quarter = np.argsort(-sure)[: len(sure) // 4]
    print(f"{LAYER_OUTPUT}: {len(judged)} unseen questions, EM {right.mean():.3f}")
    print(
        f"AUC {auc(sure, right):.3f}, precision of the surest quarter {right[quarter].mean():.3f}"
    )
    if arguments.write:
        path = Path(span_reading.__file__).with_name("span_weights.txt")
        np.savetxt(path, weights, fmt="%.4f")


def examples(half: int) -> list[Example]:
    """Read questions on the titles of a half, with their sentences."""
    rows = [json.loads(line) for line in (DATA / "squad2_dev" / "corpus.jsonl").open()]
    paragraphs = {row["id"]: row for row in rows}
    asked = [json.loads(line) for line in (DATA / "squad2_dev" / "queries.jsonl").open()]
    asked.sort(key=lambda row: zlib.crc32(("p" + row["text"]).encode()))
    reader, found = CrossEncoder(), list[Example]()
    for row in asked:
        paragraph = paragraphs[row["paragraph"]]
        if row["type"] == "answerable" and title_half(paragraph["title"]) == half:
            made = example(reader, row, paragraph)
            found += [made] if made else []
        if len(found) >= EACH:
            break
    return found


def title_half(title: str) -> int:
    """The half of a title: 0 is fitted to."""
    return zlib.crc32(title.encode()) % 2


def example(reader: CrossEncoder, row: dict, paragraph: dict) -> Example | None:
    """Read the sentence that holds a question's answer; None where no sentence holds it whole."""
    text, (start, end) = paragraph["text"], row["spans"][0]
    holding = [(a, b) for a, b in sentence_spans(text) if a <= start and end <= b]
    if not holding:
        return None
    begin, stop = holding[0]
    head = paragraph["title"].replace("_", " ") + ": "
    shift = len(head) - begin
    states, offsets = reader.states(row["text"], head + text[begin:stop])
    spans = [tokens_of(offsets, a + shift, b + shift) for a, b in row["spans"] if begin <= a]
    known = [span for span in spans if span]
    return Example(states, frozenset(known), known[0]) if known else None


def tokens_of(offsets: np.ndarray, start: int, end: int) -> tuple[int, int] | None:
    """The first and last token of `text[start:end]`."""
    first = np.flatnonzero((offsets[:, 0] <= start) & (start < offsets[:, 1]))
    last = np.flatnonzero((offsets[:, 0] < end) & (end <= offsets[:, 1]))
    return (int(first[0]), int(last[-1])) if first.size and last.size else None


def fit(some: Sequence[Example], which: int) -> np.ndarray:
    """Weights and constant for which the first (0) or last (1) tokens are likeliest."""
    x = np.concatenate([each.states for each in some]).astype(np.float32)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    x = (x - mean) / spread
    counts = np.array([len(each.states) for each in some])
    begins, of = np.r_[0, np.cumsum(counts)[:-1]], np.repeat(np.arange(len(some)), counts)
    gold = begins + np.array([each.first[which] for each in some])

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        beta = beta.astype(np.float32)
        z = x @ beta
        z -= np.maximum.reduceat(z, begins)[of]
        shares = np.exp(z)
        totals = np.add.reduceat(shares, begins)
        value = float(-(z[gold] - np.log(totals)).mean() + RIDGE * beta @ beta)
        shares /= totals[of]
        shares[gold] -= 1
        return value, (shares @ x / len(some) + 2 * RIDGE * beta).astype(np.float64)

    start = np.zeros(x.shape[1])
    beta = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    return np.append(beta / spread, -(mean / spread) @ beta)


def likeliest(states: np.ndarray, weights: np.ndarray) -> tuple[tuple[int, int], float]:
    """The likeliest span of at most `LONGEST_TOKENS` tokens and its log-probability."""
    odds = states @ weights[:-1] + weights[-1]
    odds = odds - np.log(np.exp(odds).sum(axis=0))
    both = odds[:, :1] + odds[None, :, 1]
    first, last = np.indices(both.shape)
    both[(last < first) | (last >= first + LONGEST_TOKENS)] = -np.inf
    place = np.unravel_index(int(both.argmax()), both.shape)
    return (int(place[0]), int(place[1])), float(both[place])


def auc(values: np.ndarray, truth: np.ndarray) -> float:
    """Area under the curve of values that should be higher where it is true."""
    positive = truth.sum()
    ranks = rankdata(values)[truth].mean() - (positive + 1) / 2
    return float(ranks / (len(truth) - positive))


if __name__ == "__main__":
    main()
