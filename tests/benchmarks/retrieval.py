"""Retrieval quality through the whole engine, one configuration for every set.

    make bench-retrieval                    # all sets
    python tests/benchmarks/retrieval.py hotpotqa_train100 cmrc2018_zh

Prints recall at 2, 5 and 10 documents and the share of questions with all gold among five, for
BM25 alone, vectors alone, their fusion, the walk alone, and the walk with its second look; and the
last one's gain over fusion and over the walk alone in R@5 with a paired bootstrap interval (95 %,
2,000 resamples, fixed seed).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import Query, built, queries

from engine import KnowledgeEngine, Settings

SETS = ("hotpotqa_train100", "2wiki_dev300", "musique_train100", "scifact_dev", "cmrc2018_zh")
LISTS = {
    "BM25": {"keyword": True, "dense": False, "walk": False},
    "dense": {"keyword": False, "dense": True, "walk": False},
    "fusion (RRF)": {"keyword": True, "dense": True, "walk": False, "fusion": "rrf"},
    "fusion": {"keyword": True, "dense": True, "walk": False},
    "walk alone": {"keyword": True, "dense": True, "walk": True, "second_look": False},
    "walk": {"keyword": True, "dense": True, "walk": True},
}
DEPTH = 10
Found = list[list[str]]


def main(names: Sequence[str]) -> None:
    for name in names or SETS:
        asked = queries(name)
        engine, seconds = built(name, KnowledgeEngine.open)
        print(f"\n{name}: {engine.stats()['chunks']} chunks, {len(asked)} questions"
              f" (built in {seconds:.0f} CPU s)")  # fmt: skip
        engine.close()
        print(f"{'':14} {'R@2':>6} {'R@5':>6} {'R@10':>6} {'all@5':>6} {'p50 ms':>7} {'p95 ms':>7}")
        results = {}
        for label, lists in LISTS.items():
            found, times = run(name, asked, lists)
            results[label] = found
            row = [recall(asked, found, k).mean() for k in (2, 5, 10)]
            row.append(whole(asked, found, 5).mean())
            middle, late = np.percentile(times, [50, 95])
            print(
                f"{label:14} " + " ".join(f"{x:6.3f}" for x in row) + f" {middle:7.1f} {late:7.1f}"
            )
        for other in ("fusion", "walk alone"):
            gain = recall(asked, results["walk"], 5) - recall(asked, results[other], 5)
            low, high = bootstrap(gain)
            print(f"walk − {other}, R@5: {gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]")


def run(name: str, asked: Sequence[Query], lists: dict[str, object]) -> tuple[Found, list[float]]:
    """The documents found for every question, best first without repeats, and milliseconds."""
    from corpora import KEPT

    settings = Settings.model_validate({"retrieve": lists})
    found, times = [], []
    with KnowledgeEngine.open(KEPT / name, settings=settings) as engine:
        engine.retrieve("warm up", top_k=DEPTH)
        for query in asked:
            started = time.perf_counter()
            passages = engine.retrieve(query.text, top_k=DEPTH * 3)
            times.append(1000 * (time.perf_counter() - started))
            found.append(list(dict.fromkeys(p.document_id for p in passages))[:DEPTH])
    return found, times


def recall(asked: Sequence[Query], found: Found, k: int) -> np.ndarray:
    return np.array(
        [len(q.gold & set(f[:k])) / len(q.gold) for q, f in zip(asked, found, strict=True)]
    )


def whole(asked: Sequence[Query], found: Found, k: int) -> np.ndarray:
    return np.array([q.gold <= set(f[:k]) for q, f in zip(asked, found, strict=True)], dtype=float)


def bootstrap(differences: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of the mean, resampling questions."""
    chosen = np.random.default_rng(7).integers(0, len(differences), (2000, len(differences)))
    low, high = np.percentile(differences[chosen].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


if __name__ == "__main__":
    main(sys.argv[1:])
