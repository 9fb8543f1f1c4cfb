"""What judging the first passages again buys: recall, nDCG, and milliseconds a question.

    python tests/benchmarks/rerankers.py [SET …] [--questions 100] [--candidates 20]
    python tests/benchmarks/rerankers.py --kind flag --model FOLDER hotpotqa_train100
    python tests/benchmarks/rerankers.py --kind endpoint --model M --base-url http://127.0.0.1:8080

Without `--kind`, two judges that need no weights of their own, over what the bundled encoder makes
of question and passage: late interaction of token vectors (for each token of the question the
nearest of the passage, weighted by how rare it is among the questions; Khattab and Zaharia, SIGIR
2020), and the sentence nearest to the question (sentence vectors are the means of its tokens in
the passage). Each judge is shown at several weights against the order before; intervals are 95 %
paired bootstrap over questions. Libraries are those of `retrieval.py`. Vectors are made anew for
every question, as a reranker would have to: token vectors take 100 KB a passage.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import Query, built, queries
from retrieval import bootstrap, recall

from engine import KnowledgeEngine
from engine.config import RerankSettings
from engine.embeddings.bundled import open_session
from engine.embeddings.model_files import EMBEDDING, model_file
from engine.embeddings.tokenizer import read_tokeniser
from engine.retrieval.rerank import Reranker, in_order_of, rerank_passages
from engine.retrieval.rerank_models import build_reranker
from engine.types import Passage

SETS = ("hotpotqa_train100", "musique_train100", "2wiki_dev300", "scifact_dev", "cmrc2018_zh")
WEIGHTS = (1.0, 0.5, 0.2)
Lists = list[list[Passage]]


@dataclass(slots=True)
class Read:
    """A text as the encoder reads it: token unit vectors, their spans, and the text's vector."""

    tokens: np.ndarray
    spans: list[tuple[int, int]]
    words: list[str]
    whole: np.ndarray


class TokenEncoder:
    """The bundled encoder, opened so that it gives the vectors of tokens too."""

    def __init__(self, threads: int = 1) -> None:
        self._session = open_session(str(model_file(EMBEDDING, "model.onnx")))
        self._tokeniser = read_tokeniser(model_file(EMBEDDING, "tokenizer.json"))
        self._tokeniser.enable_truncation(512)

    def read(self, text: str) -> Read:
        """The text without what the tokeniser puts around it."""
        encoded = self._tokeniser.encode(text)
        ids = np.array([encoded.ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids),
                  "token_type_ids": np.zeros_like(ids)}  # fmt: skip
        (hidden,) = self._session.run(["last_hidden_state"], inputs)
        states = hidden[0] / np.linalg.norm(hidden[0], axis=1, keepdims=True)
        return Read(states[1:-1], encoded.offsets[1:-1], encoded.tokens[1:-1], states[0])


Judge = Callable[[Read, Read, Passage], float]


class VectorReranker:
    """A reranker over the encoder's vectors of the question and of `title. text`."""

    def __init__(self, encoder: TokenEncoder, judge: Judge) -> None:
        self._encoder = encoder
        self._judge = judge

    def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        asked = self._encoder.read(question)
        scores: list[float | None] = [
            self._judge(asked, self._encoder.read(f"{each.title}. {each.text}"), each)
            for each in passages
        ]
        return in_order_of(passages, scores)


def late_interaction(asked: Sequence[Query], encoder: TokenEncoder) -> Judge:
    held = Counter(word for query in asked for word in set(encoder.read(query.text).words))

    def judge(question: Read, passage: Read, _: Passage) -> float:
        if not len(question.tokens) or not len(passage.tokens):
            return 0.0
        weights = np.array([math.log(1 + len(asked) / held[word]) for word in question.words])
        nearest = (question.tokens @ passage.tokens.T).max(axis=1)
        return float(nearest @ weights / weights.sum())

    return judge


def nearest_sentence(question: Read, read: Read, passage: Passage) -> float:
    from engine.storage.graph_api import sentence_spans

    base = len(passage.title) + 2
    spans = np.array(read.spans).reshape(-1, 2) - base
    best = float(read.whole @ question.whole)
    for start, end in sentence_spans(passage.text):
        inside = (spans[:, 0] >= start) & (spans[:, 1] <= end)
        if inside.any():
            mean = read.tokens[inside].mean(axis=0)
            best = max(best, float(mean @ question.whole / np.linalg.norm(mean)))
    return best


def main() -> None:
    arguments = read_arguments()
    encoder = None if arguments.kind else TokenEncoder()
    for name in arguments.sets or SETS:
        asked = queries(name)[: arguments.questions]
        before = found_lists(name, asked, depth=2 * arguments.candidates)
        print(f"\n{name}: {len(asked)} questions, the first {arguments.candidates} judged")
        print(
            f"{'':22} {'R@2':>6} {'R@5':>6} {'R@10':>6} {'nDCG':>6} {'ms':>7}  R@5 − order before"
        )
        print(row("order before", asked, before, before, 0.0))
        for label, reranker in judges(arguments, asked, encoder):
            show(label, reranker, asked, before, candidates=arguments.candidates)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--kind", choices=("flag", "endpoint"))
    parser.add_argument("--model", default="")
    parser.add_argument("--base-url", default="")
    return parser.parse_args()


def judges(
    arguments: argparse.Namespace, asked: Sequence[Query], encoder: TokenEncoder | None
) -> list[tuple[str, Reranker]]:
    if encoder is not None:
        return [
            ("late interaction", VectorReranker(encoder, late_interaction(asked, encoder))),
            ("nearest sentence", VectorReranker(encoder, nearest_sentence)),
        ]
    reranker = build_reranker(
        RerankSettings(
            kind=arguments.kind,
            model=arguments.model,
            base_url=arguments.base_url,
            candidates=arguments.candidates,
        )
    )
    return [(arguments.kind, reranker)] if reranker is not None else []


def found_lists(name: str, asked: Sequence[Query], *, depth: int) -> Lists:
    """What the engine finds for every question, one passage a document."""
    engine, _ = built(name, KnowledgeEngine.open)
    with engine:
        lists = [engine.retrieve(query.text, top_k=depth) for query in asked]
    return [first_of_each_document(each) for each in lists]


def first_of_each_document(passages: Sequence[Passage]) -> list[Passage]:
    best: dict[str, Passage] = {}
    for passage in passages:
        best.setdefault(passage.document_id, passage)
    return list(best.values())


def show(
    label: str, reranker: Reranker, asked: Sequence[Query], before: Lists, *, candidates: int
) -> None:
    """Judge each list once, then print what comes of it at every weight."""
    told: list[str] = []
    kept = Kept()
    started = time.perf_counter()
    for query, each in zip(asked, before, strict=True):
        kept.lists[query.text] = reranker.rerank(query.text, each[:candidates])
    spent = 1000 * (time.perf_counter() - started) / len(asked)
    for weight in WEIGHTS:
        after = [
            rerank_passages(
                each,
                query.text,
                reranker=kept,
                candidates=candidates,
                top_k=len(each),
                weight=weight,
                on_event=told.append,
            )
            for query, each in zip(asked, before, strict=True)
        ]
        print(row(f"{label}, {weight:.1f}", asked, after, before, spent))
    for line in sorted({line for line in told if line.startswith("order kept")}):
        print(f"  {line}")


class Kept:
    """A reranker that says again what another said."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Passage]] = {}

    def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        return self.lists[question]


def row(label: str, asked: Sequence[Query], lists: Lists, before: Lists, spent: float) -> str:
    found = [[p.document_id for p in each] for each in lists]
    former = [[p.document_id for p in each] for each in before]
    figures = [recall(asked, found, k).mean() for k in (2, 5, 10)] + [ndcg(asked, found).mean()]
    gain = recall(asked, found, 5) - recall(asked, former, 5)
    low, high = bootstrap(gain)
    shown = " ".join(f"{figure:6.3f}" for figure in figures)
    return f"{label:22} {shown} {spent:7.0f}  {gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def ndcg(asked: Sequence[Query], found: Sequence[Sequence[str]], k: int = 10) -> np.ndarray:
    """Normalised discounted cumulative gain of the first `k`, all gold documents worth the same."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    gains = [
        sum(discounts[place] for place, name in enumerate(names[:k]) if name in query.gold)
        / discounts[: len(query.gold)].sum()
        for query, names in zip(asked, found, strict=True)
    ]
    return np.array(gains)


if __name__ == "__main__":
    main()
