"""Local retrieval on the development sets, on plain arrays: BM25, dense, two fusions, the walk.

    python tests/benchmarks/recipe.py [--vectors DIR] [--untitled] [SET …]

One configuration for all sets: what the modules have as defaults. Needs ../shared/data. Vectors
are read from DIR (`SET.npy`, `SET.owners.npy`: one row a window, `SET.queries.npy`) and made there
with the bundled embedder where they are missing; without DIR, only what needs no encoder is shown.
`--untitled` takes the titles away (vectors keep them): the name that opens a passage stands in.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import bm25s
import numpy as np

from engine.retrieval.fusion import rank_passages, reciprocal_rank_fusion
from engine.storage.tokenization import tokens
from graph.search.walk import WalkGraph, rank_by_walk
from graph.text.names import NameMatch, NameMatcher, capitalised_names, is_generic, name_key

DATA = Path(__file__).parents[3] / "shared" / "data"
SETS = ("hotpotqa_train100", "2wiki_dev300", "musique_train100", "scifact_dev", "cmrc2018_zh")
CHINESE = frozenset({"cmrc2018_zh"})
SAMPLES = 2000
ARTICLE = re.compile(r"[\s#*\"“«《「'‘(]*(?:(?:the|an?)\s+)?", re.IGNORECASE)


@dataclass
class Pool:
    """A set as arrays: texts, questions, gold rows, BM25, vectors and the graph of the walk."""

    name: str
    titles: list[str]
    texts: list[str]
    questions: list[str]
    gold: list[list[int]]
    body: bm25s.BM25
    title: bm25s.BM25 | None
    matcher: NameMatcher
    graph: WalkGraph
    dense: np.ndarray | None
    seconds: dict[str, float] = field(default_factory=dict)


def read_set(name: str) -> tuple[list[dict], list[dict]]:
    """Corpus and queries of a set, or an exit that says what is missing."""
    folder = DATA / name
    if not folder.is_dir():
        sys.exit(f"no development data at {folder}: this benchmark needs ../shared/data")
    return tuple(
        [json.loads(line) for line in (folder / f"{part}.jsonl").open(encoding="utf8")]
        for part in ("corpus", "queries")
    )


def load(name: str, vectors: Path | None, *, titled: bool = True) -> Pool:
    """Everything that is made once for a corpus, timed in CPU seconds."""
    corpus, queries = read_set(name)
    row_of = {document["id"]: row for row, document in enumerate(corpus)}
    seconds: dict[str, float] = {}
    titles = [document["title"] for document in corpus]
    texts = [document["text"] for document in corpus]
    dense = cosines(name, titles, texts, [query["text"] for query in queries], vectors)
    if not titled:
        titles = [""] * len(titles)
    with timed(seconds, "BM25"):
        body = keyword_index([f"{a}. {b}" for a, b in zip(titles, texts, strict=True)])
        title = keyword_index(titles) if titled else None
    with timed(seconds, "names and matching"):
        matcher, title_keys, links = find_links(titles, texts)
    with timed(seconds, "graph"):
        graph = WalkGraph.build(title_keys, links)
    questions = [query["text"] for query in queries]
    return Pool(
        name=name, titles=titles, texts=texts, questions=questions,
        gold=[[row_of[i] for i in query["gold_ids"]] for query in queries],
        body=body, title=title, matcher=matcher, graph=graph,
        dense=dense, seconds=seconds,
    )  # fmt: skip


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the CPU seconds of a block to `seconds[stage]`."""
    begin = time.process_time()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.process_time() - begin


def keyword_index(texts: list[str]) -> bm25s.BM25:
    """BM25 arrays of `texts`."""
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index([tokens(text) for text in texts], show_progress=False)
    return index


def opening_name(text: str, matches: list[NameMatch]) -> str:
    """The key of the longest name with which `text` begins, an article aside; "" where none does.

    Serves as the title of a passage that has none: what a text begins with is mostly what it is
    about.
    """
    opening = [m for m in matches if ARTICLE.fullmatch(text, 0, m.start)]
    return max(opening, key=lambda m: (-m.start, m.end, m.key)).key if opening else ""


def find_links(
    titles: list[str], texts: list[str]
) -> tuple[NameMatcher, list[str], list[list[str]]]:
    """The dictionary of a corpus, each passage's title key, and the keys that stand in it."""
    title_keys = ["" if is_generic(key) else key for key in map(name_key, titles)]
    names = {name_key(text[a:b]) for text in texts for a, b in capitalised_names(text)}
    matcher = NameMatcher(filter(None, title_keys), names)
    matches = [matcher.match(text) for text in texts]
    title_keys = [
        key or opening_name(text, found)
        for key, text, found in zip(title_keys, texts, matches, strict=True)
    ]
    return matcher, title_keys, [[m.key for m in found] for found in matches]


def cosines(
    name: str, titles: list[str], texts: list[str], questions: list[str], vectors: Path | None
) -> np.ndarray | None:
    """Cosine of every question with the best window of every passage; None without an encoder."""
    if vectors is None or name in CHINESE:
        return None
    if not (vectors / f"{name}.npy").exists():
        embed(name, [f"{a.rstrip('.')}. {b}" for a, b in zip(titles, texts, strict=True)],
              questions, vectors)  # fmt: skip
    windows, owners, asked = read_vectors(name, vectors)
    best = np.full((len(questions), len(texts)), -1.0, dtype=np.float32)
    np.maximum.at(best.T, owners, (asked @ windows.T).T)
    return best


def read_vectors(name: str, vectors: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of a set's windows, the row each belongs to, and vectors of its questions."""
    return tuple(np.load(vectors / f"{name}{part}.npy") for part in ("", ".owners", ".queries"))


def embed(name: str, texts: list[str], questions: list[str], vectors: Path) -> None:
    """Vectors of a set, with the bundled embedder, to `vectors`."""
    from engine.embeddings.bundled import BundledEmbedding
    from engine.embeddings.wrappers import with_prefixes

    model = BundledEmbedding()
    vectors.mkdir(parents=True, exist_ok=True)
    asking = with_prefixes(model)
    asked = [asking.get_query_embedding(question) for question in questions]
    np.save(vectors / f"{name}.queries.npy", np.array(asked, dtype=np.float32))
    np.save(vectors / f"{name}.owners.npy", np.arange(len(texts)))
    np.save(vectors / f"{name}.npy", model.embed(texts))


def orders(pool: Pool, question: int) -> dict[str, np.ndarray]:
    """The order of rows that each method gives for one question."""
    asked = tokens(pool.questions[question])
    body = pool.body.get_scores(asked)
    title = None if pool.title is None else pool.title.get_scores(asked)
    dense = None if pool.dense is None else pool.dense[question]
    labels = {m.key for m in pool.matcher.match(pool.questions[question], any_case=True)}

    fused = rank_passages(body, title, dense=dense)
    found = {"BM25": descending(body), "BM25+title": descending(fused.lists["keyword"])}
    if dense is not None:
        found["dense"] = descending(dense)
        found["RRF"] = descending(reciprocal_rank_fusion([body, dense]))
    found["fusion"] = fused.order
    found["walk"] = rank_by_walk(pool.graph, fused.scores, labels).order
    return found


def descending(scores: np.ndarray) -> np.ndarray:
    """Rows by falling score, equal ones by row."""
    return np.argsort(-scores, kind="stable")


METRICS: dict[str, Callable[[list[int], np.ndarray], float]] = {
    "R@2": lambda gold, order: recall(gold, order, 2),
    "R@5": lambda gold, order: recall(gold, order, 5),
    "R@10": lambda gold, order: recall(gold, order, 10),
    "all@5": lambda gold, order: float(recall(gold, order, 5) == 1.0),
}


def recall(gold: list[int], order: np.ndarray, cut: int) -> float:
    """Share of gold rows among the first `cut`."""
    return len(set(gold) & set(order[:cut].tolist())) / len(gold)


def interval(differences: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of paired differences; seeded."""
    generator = np.random.default_rng(0)
    picks = generator.integers(0, differences.size, (SAMPLES, differences.size))
    low, high = np.percentile(differences[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def report(pool: Pool) -> None:
    """Print one set's table."""
    begin = time.process_time()
    rankings = [orders(pool, question) for question in range(len(pool.questions))]
    per_query = 1000 * (time.process_time() - begin) / len(rankings)
    print(f"\n{pool.name}: {len(pool.texts)} passages, {len(pool.questions)} questions")
    cost = ", ".join(f"{stage} {value:.2f} s" for stage, value in pool.seconds.items())
    print(f"  CPU: {cost}; all methods together {per_query:.1f} ms a question")
    print("  " + " " * 12 + "".join(f"{metric:>8}" for metric in METRICS))
    table: dict[tuple[str, str], np.ndarray] = {}
    for method in rankings[0]:
        for metric, measure in METRICS.items():
            table[method, metric] = np.array(
                [measure(g, r[method]) for g, r in zip(pool.gold, rankings, strict=True)]
            )
        print(f"  {method:12}" + "".join(f"{table[method, m].mean():8.3f}" for m in METRICS))
    for metric in METRICS:
        difference = table["walk", metric] - table["fusion", metric]
        low, high = interval(difference)
        print(f"  walk − fusion {metric:6} {difference.mean():+.3f}  [{low:+.3f}, {high:+.3f}]")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--vectors", type=Path, default=None)
    parser.add_argument("--untitled", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.sets:
        report(load(name, arguments.vectors, titled=not arguments.untitled))


if __name__ == "__main__":
    main()
