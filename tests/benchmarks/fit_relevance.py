"""Fit and check the coefficients of `engine.retrieval.fusion` on the development sets.

    python tests/benchmarks/fit_relevance.py --vectors DIR [SET …]

Cases are the ten best passages of every question: gold ones are positive, the others negative;
and so are all that questions find in a corpus they were not made for; with the encoder and the
walk, and without either. Every set weighs the same, its own corpus and the wrong ones half each.
Prints the coefficients, then calibration of models that never saw the set they are judged on.
Needs ../shared/data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from recipe import CHINESE, SETS, Pool, load, read_vectors
from scipy.optimize import minimize
from scipy.stats import rankdata

from engine.retrieval.fusion import (
    COEFFICIENTS,
    FEATURES,
    RelevanceFeatures,
    question_tokens,
    rank_passages,
    relevance_features,
    token_coverage,
)
from engine.storage.tokenization import tokens
from graph.search.walk import rank_by_walk
from graph.text.names import capitalised_names, is_matchable, name_key

TOP = 10
WRONG_QUESTIONS = 100
PENALTY = 0.003
PROFILES = ((True, True), (True, True), (False, True), (True, False))
"""With an encoder or not, with a walk or not; the full profile counts twice."""


class Corpus:
    """A pool with what coverage needs: token sets and document frequencies."""

    def __init__(self, pool: Pool, vectors: Path) -> None:
        self.pool = pool
        self.tokens = [
            frozenset(tokens(f"{a}. {b}")) for a, b in zip(pool.titles, pool.texts, strict=True)
        ]
        self.frequency: dict[str, int] = {}
        for held in self.tokens:
            for token in held:
                self.frequency[token] = self.frequency.get(token, 0) + 1
        self.windows = None if pool.name in CHINESE else read_vectors(pool.name, vectors)

    def dense(self, question: np.ndarray | None) -> np.ndarray | None:
        """Cosines with every passage; None where the encoder reads neither."""
        if self.windows is None or question is None:
            return None
        passages, owners, _ = self.windows
        best = np.full(len(self.pool.texts), -1.0, dtype=np.float32)
        np.maximum.at(best, owners, passages @ question)
        return best


def cases(
    corpus: Corpus, question: str, *, vector: np.ndarray | None, walking: bool
) -> tuple[np.ndarray, list[int]]:
    """Features of the ten best passages for a question, and their rows."""
    pool = corpus.pool
    asked = tokens(question)
    labels = {m.key for m in pool.matcher.match(question, any_case=True)}
    dense = corpus.dense(vector)
    ranking = rank_passages(
        pool.body.get_scores(asked),
        pool.title.get_scores(asked),
        dense=dense,
    )
    if walking:
        ranking = ranking.walked(rank_by_walk(pool.graph, ranking.scores, labels))
    rows = ranking.order[:TOP].tolist()
    top = max(ranking.scores[rows[0]], 1e-9)
    covered = token_coverage(
        question_tokens(question),
        [corpus.tokens[row] for row in rows],
        document_frequency=lambda token: corpus.frequency.get(token, 0),
        passage_count=len(pool.texts),
    )
    names = name_shares(pool, question, labels, rows)
    evidences = [
        RelevanceFeatures(
            covered=float(covered[place]),
            share=float(ranking.scores[row] / top),
            cosine=None if dense is None else float(dense[row]),
            names=None if names is None else float(names[place]),
        )
        for place, row in enumerate(rows)
    ]
    return relevance_features(evidences), rows


def name_shares(pool: Pool, question: str, labels: set[str], rows: list[int]) -> np.ndarray | None:
    """The share of the question's names in each passage; None where it holds no name."""
    runs = {name_key(question[a:b]) for a, b in capitalised_names(question)}
    names = labels | {key for key in runs if is_matchable(key)}
    if not names:
        return None
    held = [pool.graph.labels[row] | {pool.graph.titles[row]} for row in rows]
    return np.array([len(names & some) / len(names) for some in held])


def collect(corpora: list[Corpus], vectors: Path) -> dict[str, tuple[np.ndarray, ...]]:
    """For each set: features, labels, weights, and the id of the question of each case."""
    found = {}
    for home in corpora:
        pool = home.pool
        asked = None if pool.name in CHINESE else read_vectors(pool.name, vectors)[2]
        parts: list[tuple[np.ndarray, np.ndarray, float, int]] = []
        for corpus in corpora:
            own = corpus is home
            count = len(pool.questions) if own else min(WRONG_QUESTIONS, len(pool.questions))
            share = 0.5 / count if own else 0.5 / count / (len(corpora) - 1)
            for place in range(count):
                for sees, walking in PROFILES:
                    matrix, rows = cases(
                        corpus,
                        pool.questions[place],
                        vector=asked[place] if sees and asked is not None else None,
                        walking=walking,
                    )
                    gold = set(pool.gold[place]) if own else set()
                    label = np.array([float(row in gold) for row in rows])
                    parts.append((matrix, label, share / len(rows), place if own else -1 - place))
        found[pool.name] = (
            np.concatenate([m for m, *_ in parts]),
            np.concatenate([y for _, y, *_ in parts]),
            np.concatenate([np.full(len(y), w) for _, y, w, _ in parts]),
            np.concatenate([np.full(len(y), q) for _, y, _, q in parts]),
        )
    return found


def fit(data: list[tuple[np.ndarray, ...]]) -> np.ndarray:
    """Weighted logistic regression with a small ridge; coefficients in the order of FEATURES."""
    x, y, w = (np.concatenate([part[i] for part in data]) for i in range(3))
    w = w / w.sum()

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ beta
        value = float(w @ (np.logaddexp(0, z) - y * z)) + PENALTY / 100 * float(beta[1:] @ beta[1:])
        gradient = x.T @ (w * (1 / (1 + np.exp(-z)) - y))
        gradient[1:] += 2 * PENALTY / 100 * beta[1:]
        return value, gradient

    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x)


def probabilities(x: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The logistic of the weighted features."""
    return 1 / (1 + np.exp(-(x @ beta)))


def judge(name: str, case: tuple[np.ndarray, ...], beta: np.ndarray) -> np.ndarray:
    """Print Brier, AUC and what a threshold of 0.25 on the best passage would do."""
    x, y, w, question = case
    p = probabilities(x, beta)
    w = w / w.sum()
    brier, constant = float(w @ (p - y) ** 2), float((w @ y) * (1 - w @ y))
    ranks = rankdata(p)
    positive = y > 0
    auc = (ranks[positive].mean() - (positive.sum() + 1) / 2) / (~positive).sum()
    own, wrong = best_by_question(p, question, own=True), best_by_question(p, question, own=False)
    print(
        f"  {name:20} Brier {brier:.4f} (constant {constant:.4f})  AUC {auc:.3f}"
        f"  best ≥ .25: own corpus {np.mean(own >= 0.25):.3f}, wrong {np.mean(wrong >= 0.25):.3f}"
        f"  medians {np.median(own):.2f} {np.median(wrong):.2f}"
    )
    return p


def best_by_question(p: np.ndarray, question: np.ndarray, *, own: bool) -> np.ndarray:
    """The greatest probability of each result list, of its own corpus or of wrong ones."""
    chosen = question >= 0 if own else question < 0
    count = int(chosen.sum()) // TOP
    return p[chosen].reshape(count, TOP).max(axis=1)


def reliability(p: np.ndarray, y: np.ndarray, w: np.ndarray) -> None:
    """Print forecast and truth by tenths."""
    print("  forecast   truth   cases")
    for low in np.arange(0, 1, 0.1):
        inside = (p >= low) & (p < low + 0.1)
        if inside.any():
            share = w[inside] / w[inside].sum()
            print(f"  {share @ p[inside]:8.3f}{share @ y[inside]:8.3f}{inside.sum():8d}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--vectors", type=Path, required=True)
    arguments = parser.parse_args()
    corpora = [Corpus(load(name, arguments.vectors), arguments.vectors) for name in arguments.sets]
    data = collect(corpora, arguments.vectors)
    fitted = fit(list(data.values()))
    print("fitted on all:")
    for feature, value, now in zip(FEATURES, fitted, COEFFICIENTS, strict=True):
        print(f"  {feature:18} {value:+.2f}   (in the code {now:+.2f})")
    print("each set judged by a fit without it:")
    held_out = {
        name: judge(name, case, fit([data[other] for other in data if other != name]))
        for name, case in data.items()
    }
    print("each set judged by the coefficients in the code:")
    coded = {name: judge(name, case, np.array(COEFFICIENTS)) for name, case in data.items()}
    weights = np.concatenate([case[2] for case in data.values()])
    truth = np.concatenate([case[1] for case in data.values()])
    for title, p in (("held out", held_out), ("in the code", coded)):
        print(f"reliability, {title}:")
        reliability(np.concatenate([p[name] for name in data]), truth, weights)


if __name__ == "__main__":
    main()
