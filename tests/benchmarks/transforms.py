"""What each way of asking again buys, without a language model: points of recall, and its time.

    python tests/benchmarks/transforms.py                        # all sets
    python tests/benchmarks/transforms.py musique_train100

Each question is searched as it is and with its expansions; what they find is merged before the walk
(as `rank_expanded` does) or after it. `ideal parts` takes MuSiQue's own sub-questions with the
answers of earlier ones filled in: what a perfect model could buy by `steps`; `ideal, unanswered`
fills in nothing, as `decompose` does. The difference is that of R@5 to the question alone, with a
paired bootstrap interval; ms is what is added to a question.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT, Query, built, queries
from retrieval import SETS, bootstrap, recall

from engine import KnowledgeEngine
from engine.embeddings.bundled import BundledEmbedding
from engine.embeddings.tokenizer import load_tokeniser
from engine.embeddings.wrappers import with_prefixes
from engine.llm.response import identity_of
from engine.retrieval.fusion import Ranking, rank_passages
from engine.retrieval.query_expansion import (
    Expansion,
    expand_query,
    merge_scores,
    rank_expanded,
)
from engine.storage.bm25_index import KeywordIndex
from engine.storage.graph_api import read_chunks, read_view
from engine.storage.library import Library
from engine.storage.tokenization import tokens
from engine.storage.vectors.index import DenseIndex

MOST_QUESTIONS = 200
DENSE_DEPTH = 400


class Lists:
    """The lists of one built library, for any text."""

    def __init__(self, name: str) -> None:
        self.library = Library(KEPT / name, create=False)
        self.model = with_prefixes(BundledEmbedding(threads=2))
        self.readable = load_tokeniser().readable
        self.keyword = KeywordIndex(self.library, tokens=tokens, readable=self.readable)
        self.dense = DenseIndex(self.library, model=identity_of(self.model))
        with self.library.read() as connection:
            self.view = read_view(connection)
        self.vectors: dict[str, np.ndarray] = {}

    def vector(self, text: str) -> np.ndarray:
        if text not in self.vectors:
            made = self.model.get_query_embedding(text)
            self.vectors[text] = np.asarray(made, dtype=np.float32)
        return self.vectors[text]

    def rank(self, search: Expansion, vector: np.ndarray | None = None) -> Ranking:
        """As local retrieval fuses, without the walk."""
        lexical = title = dense = None
        if search.keyword:
            fields = self.keyword.field_scores(search.keyword)
            lexical, title = fields["body"], fields["title"]
        if search.dense and self.readable(search.dense):
            query = self.vector(search.dense) if vector is None else vector
            found = self.dense.scores(query, depth=DENSE_DEPTH)
            floor = min(found.values())
            dense = np.array([found.get(each, floor) for each in self.view.chunk_ids])
        weight = self.readable(search.dense or search.keyword) * self.keyword.readable
        if lexical is None and dense is None:
            lexical = np.zeros(len(self.view.chunk_ids))
        return rank_passages(lexical, title, dense=dense, dense_weight=weight)

    def texts(self, rows: Sequence[int]) -> list[str]:
        with self.library.read() as connection:
            held = read_chunks(connection, [self.view.chunk_ids[row] for row in rows])
        found = [held[self.view.chunk_ids[row]] for row in rows]
        return [f"{chunk.title}\n{chunk.text}" for chunk in found]

    def walk_of(self, question: str) -> Callable[[Ranking], Ranking]:
        with self.library.read() as connection:
            labels = self.view.names_in(connection, question).labels
        return lambda ranking: ranking.walked(self.view.rank(ranking.scores, labels))

    def documents(self, order: np.ndarray) -> list[str]:
        return list(dict.fromkeys(self.view.documents[row] for row in order[:60]))[:10]


def main(names: Sequence[str]) -> None:
    for name in names or SETS:
        built(name, KnowledgeEngine.open)[0].close()
        asked = queries(name)[:MOST_QUESTIONS]
        ideal = ideal_parts(name)
        lists = Lists(name)
        found: dict[str, list[list[str]]] = {}
        times: dict[str, list[float]] = {}
        taken_apart = 0
        for query in asked:
            parts = measure(lists, query, ideal.get(query.text, {}), found, times)
            taken_apart += parts > 0
        print(f"\n{name}: {len(asked)} questions, grammar takes {taken_apart} apart", flush=True)
        show(asked, found, times)


def measure(
    lists: Lists,
    query: Query,
    ideal: Mapping[str, Sequence[str]],
    found: dict[str, list[list[str]]],
    times: dict[str, list[float]],
) -> int:
    """Every way for one question; how many parts its grammar gives."""
    walk = lists.walk_of(query.text)
    base = expand_query(query.text, kinds=()).expansions[0]
    own = lists.rank(base)

    def note(label: str, ranking: Ranking, seconds: float = 0.0) -> None:
        found.setdefault(label, []).append(lists.documents(ranking.order))
        times.setdefault(label, []).append(1000 * seconds)

    note("question", walk(own))
    note("question, no walk", own)
    lists.vectors = {query.text: lists.vector(query.text)}

    started = time.perf_counter()
    parts = expand_query(query.text, kinds=("decompose",)).expansions[1:]
    searched = [(each, lists.rank(each)) for each in parts]
    seconds = time.perf_counter() - started
    compare("grammar", base, own, searched, walk, note, seconds)

    started = time.perf_counter()
    terms = expand_query(
        query.text,
        kinds=("feedback",),
        first_passages=lambda _text, count: lists.texts(own.order[:count]),
        idf=lists.keyword.idf(),
    ).expansions[1:]
    searched = [(each, lists.rank(each)) for each in terms]
    seconds = time.perf_counter() - started
    note("feedback", walk(rank_expanded([(base, own), *searched]) if searched else own), seconds)

    for label, texts in ideal.items():
        wanted = [Expansion(keyword=t, dense=t, weight=1.0, kind="decompose") for t in texts]
        started = time.perf_counter()
        searched = [(each, lists.rank(each)) for each in wanted]
        compare(label, base, own, searched, walk, note, time.perf_counter() - started)
    return len(parts)


def compare(label, base, own, searched, walk, note, seconds) -> None:
    """The same searches by every way of merging them."""
    both = [(base, own), *searched]
    note(label, walk(rank_expanded(both) if searched else own), seconds)
    walked = [walk(ranking).scores for _, ranking in both]
    scores = merge_scores(walked, [each.weight for each, _ in both])
    note(f"{label}, after", Ranking(scores=scores), seconds)


def ideal_parts(name: str) -> dict[str, dict[str, list[str]]]:
    """By question, its sub-questions with earlier answers filled in, and with none."""
    rows = (DATA / name / "queries.jsonl").read_text(encoding="utf8").splitlines()
    found: dict[str, dict[str, list[str]]] = {}
    for row in map(json.loads, rows):
        answers = [str(step["answer"]) for step in row.get("decomposition") or []]
        texts = [step["question"].replace(" >> ", " ") for step in row.get("decomposition") or []]
        bare = [re.sub(r"#\d", "", text) for text in texts]
        for number, answer in enumerate(answers, 1):
            texts = [text.replace(f"#{number}", answer) for text in texts]
        if texts:
            found[row["text"]] = {"ideal parts": texts, "ideal, unanswered": bare}
    return found


def show(asked: Sequence[Query], found: dict[str, Any], times: dict[str, Any]) -> None:
    print(f"{'':26} {'R@2':>6} {'R@5':>6} {'R@10':>6}   {'ΔR@5':>6} {'95 %':>16} {'ms':>6}")
    base = recall(asked, found["question"], 5)
    for label, results in found.items():
        row = " ".join(f"{recall(asked, results, k).mean():6.3f}" for k in (2, 5, 10))
        gain = recall(asked, results, 5) - base
        low, high = bootstrap(gain)
        print(f"{label:26} {row}   {gain.mean():+6.3f} [{low:+.3f}, {high:+.3f}]"
              f" {np.mean(times[label]):6.1f}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
