"""Fit and check the coefficients of `engine.retrieval.fusion` on the development sets.

    python tests/benchmarks/fit_relevance.py [SET …]

Cases are the ten best passages of every question, as the engine retrieves them: gold ones are
positive, the others negative; and so are all that questions find in a library they were not made
for; with the encoder and the walk, and without either. Every set weighs the same, its own library
and the wrong ones half each. Prints the coefficients, then calibration of models that never saw
the set they are judged on. Libraries are built first where they are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import KEPT, Query, built, queries
from retrieval import SETS

from engine import KnowledgeEngine, Settings
from engine.retrieval import retriever
from engine.retrieval.fusion import (
    COEFFICIENTS,
    FEATURES,
    RelevanceFeatures,
    relevance_features,
    relevance_probability,
)

TOP = 10
OWN_QUESTIONS, WRONG_QUESTIONS = 150, 80
PENALTY = 0.003
PROFILES = (({}, 2.0), ({"dense": False}, 1.0), ({"walk": False}, 1.0))
"""Settings of retrieval, and how much they count."""
Case = tuple[np.ndarray, np.ndarray, float, int]
"""Features, labels, weight, and the number of the question, negative in a wrong library."""


@contextmanager
def captured() -> Iterator[list[np.ndarray]]:
    """Yield a list that gets the features of every retrieved list."""
    kept: list[np.ndarray] = []

    def judge(evidences: Sequence[RelevanceFeatures]) -> list[float]:
        kept.append(relevance_features(evidences))
        return relevance_probability(evidences)

    retriever.relevance_probability = judge
    try:
        yield kept
    finally:
        retriever.relevance_probability = relevance_probability


def cases(name: str, asked: Sequence[tuple[Query, float, int, bool]]) -> list[Case]:
    """The cases of questions, each with its weight, number and whether the library is its own."""
    found: list[Case] = []
    for lists, counts in PROFILES:
        settings = Settings.model_validate({"retrieve": lists})
        with captured() as kept, KnowledgeEngine.open(KEPT / name, settings=settings) as engine:
            for query, weight, number, own in asked:
                passages = engine.retrieve(query.text, top_k=TOP)
                gold = query.gold if own else frozenset()
                labels = np.array([float(p.document_id in gold) for p in passages])
                if len(passages):
                    found.append((kept[-1], labels, counts * weight / len(passages), number))
    return found


def collect(names: Sequence[str]) -> dict[str, tuple[np.ndarray, ...]]:
    """For each set: features, labels, weights, and the number of the question of each case."""
    asked = {name: queries(name) for name in names}
    found = {}
    for name in names:
        built(name, KnowledgeEngine.open)[0].close()
        own = asked[name][:OWN_QUESTIONS]
        each = WRONG_QUESTIONS // max(1, len(names) - 1)
        wrong = [query for other in names if other != name for query in asked[other][:each]]
        wanted = [(query, 0.5 / len(own), place, True) for place, query in enumerate(own)]
        wanted += [(q, 0.5 / len(wrong), -1 - place, False) for place, q in enumerate(wrong)]
        parts = cases(name, wanted)
        found[name] = (
            np.concatenate([m for m, *_ in parts]),
            np.concatenate([y for _, y, *_ in parts]),
            np.concatenate([np.full(len(y), w) for _, y, w, _ in parts]),
            np.concatenate([np.full(len(y), q) for _, y, _, q in parts]),
        )
        print(f"{name}: {len(own)} own questions, {len(wrong)} of other sets", flush=True)
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
    """The greatest probability for each question, in its own library or in wrong ones."""
    numbers = np.unique(question[question >= 0 if own else question < 0])
    return np.array([p[question == number].max() for number in numbers])


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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    data = collect(parser.parse_args().sets)
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
