"""How often does the extractive answer contain the gold answer, given passages that hold it?

    python tests/benchmarks/answers.py [--limit N] [--retrieved] [--embedding] [--sets NAME …]

Each question gets its gold passages and five others drawn by a fixed seed, in shuffled order: an
upper bound for the picking of sentences, not for retrieval. With `--retrieved` the passages are the
eight best by BM25, once as they are and once without the gold ones, and the evidence of both is
compared: how well an abstention can be decided. Reads `../shared/data`; says so when it is missing.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from engine.answer.draft import Draft  # noqa: E402
from engine.answer.extractive import extractive_answer  # noqa: E402
from engine.retrieve.tokens import tokens  # noqa: E402
from engine.types import Passage  # noqa: E402
from graph.sentences import sentence_spans  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
SETS = ("hotpotqa_train100", "2wiki_dev300", "musique_train100", "cmrc2018_zh")


class Corpus:
    """The passages of one set with their idf and a plain BM25."""

    def __init__(self, name: str) -> None:
        folder = DATA / name
        self.documents = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
        self.queries = [json.loads(line) for line in (folder / "queries.jsonl").open()]
        self.by_id = {document["id"]: document for document in self.documents}
        self.counts = [Counter(tokens(f"{d['title']} {d['text']}")) for d in self.documents]
        frequency: Counter[str] = Counter()
        for count in self.counts:
            frequency.update(count.keys())
        self.frequency, self.total = frequency, len(self.documents)
        self.average = sum(map(Counter.total, self.counts)) / self.total

    def weight(self, term: str) -> float:
        found = self.frequency.get(term, 0)
        return math.log(1 + (self.total - found + 0.5) / (found + 0.5))

    def search(self, question: str, top: int) -> list[tuple[str, float]]:
        terms = set(tokens(question))
        scored = []
        for document, count in zip(self.documents, self.counts, strict=True):
            norm = 1.2 * (0.25 + 0.75 * count.total() / self.average)
            score = sum(
                self.weight(t) * count[t] * 2.2 / (count[t] + norm) for t in terms if t in count
            )
            scored.append((document["id"], score))
        scored.sort(key=lambda entry: (-entry[1], entry[0]))
        return scored[:top]

    def passage(self, identifier: str, score: float = 1.0) -> Passage:
        document = self.by_id[identifier]
        return Passage(
            text=document["text"], score=score, relevance=1.0, document_id=identifier,
            chunk_id=identifier, title=document["title"], start=0, end=len(document["text"]),
        )  # fmt: skip


def normalise(text: str) -> str:
    return " ".join(re.sub(r"[^\w\u4e00-\u9fff]+", " ", text.casefold()).split())


def contains(text: str, answers: list[str]) -> bool:
    body = f" {normalise(text)} "
    for answer in map(normalise, answers):
        if re.search(r"[\u4e00-\u9fff]", answer):
            if answer.replace(" ", "") in body.replace(" ", ""):
                return True
        elif f" {answer} " in body:
            return True
    return False


def ask(corpus: Corpus, question: str, passages: list[Passage], options: dict) -> Draft:
    return extractive_answer(
        question, passages, tokens=tokens, weight=corpus.weight, sentence_spans=sentence_spans,
        **options,
    )  # fmt: skip


def gold_and_distractors(corpus: Corpus, query: dict) -> list[Passage]:
    generator = random.Random(query["id"])  # noqa: S311 - a fixed draw, no secret
    others = [d["id"] for d in corpus.documents if d["id"] not in query["gold_ids"]]
    chosen = [*query["gold_ids"], *generator.sample(others, 5)]
    generator.shuffle(chosen)
    return [corpus.passage(identifier) for identifier in chosen]


def measure_containment(corpus: Corpus, options: dict, limit: int) -> dict[str, float]:
    hits: list[bool] = []
    possible: list[bool] = []
    sentences: list[int] = []
    started = time.process_time()
    for query in corpus.queries[:limit]:
        passages = gold_and_distractors(corpus, query)
        draft = ask(corpus, query["text"], passages, {**options, "min_evidence": 0.0})
        whole = " ".join(f"{passage.title} {passage.text}" for passage in passages)
        hits.append(contains(draft.text, query["answers"]))
        possible.append(contains(whole, query["answers"]))
        sentences.append(len(draft.citations))
    stated = [hit for hit, can in zip(hits, possible, strict=True) if can]
    return {
        "questions": len(hits),
        "contained": sum(hits) / len(hits),
        "stated": len(stated),
        "contained of stated": sum(stated) / max(1, len(stated)),
        "sentences": sum(sentences) / len(sentences),
        "cpu ms": 1000 * (time.process_time() - started) / len(hits),
    }


def measure_abstention(corpus: Corpus, options: dict, limit: int) -> dict[str, float]:
    """Evidence with the gold passages in reach against evidence without them."""
    answerable, unanswerable = [], []
    for query in corpus.queries[:limit]:
        found = corpus.search(query["text"], 8 + len(query["gold_ids"]))
        gold = set(query["gold_ids"])
        options = {**options, "min_evidence": 0.0}
        if gold <= {identifier for identifier, _ in found[:8]}:
            with_gold = [corpus.passage(*entry) for entry in found[:8]]
            answerable.append(ask(corpus, query["text"], with_gold, options).evidence)
        without = [corpus.passage(*entry) for entry in found if entry[0] not in gold][:8]
        unanswerable.append(ask(corpus, query["text"], without, options).evidence)
    good, bad = np.array(answerable), np.array(unanswerable)
    area = float(
        (good[:, None] > bad[None, :]).mean() + 0.5 * (good[:, None] == bad[None, :]).mean()
    )
    return {
        "answerable": len(good),
        "AUC": area,
        "answerable p10": float(np.quantile(good, 0.1)),
        "answerable median": float(np.median(good)),
        "unanswerable median": float(np.median(bad)),
        "unanswerable p90": float(np.quantile(bad, 0.9)),
    }


def encoder() -> tuple[Callable, Callable[[str], float]]:
    """The bundled encoder, and how much of a text it reads."""
    from engine.models.encoder import MiniLmEncoder
    from engine.models.tokeniser import load_tokeniser

    return MiniLmEncoder(threads=2).embed, load_tokeniser().readable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--retrieved", action="store_true")
    parser.add_argument("--embedding", action="store_true")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    arguments = parser.parse_args()
    if not DATA.is_dir():
        print("skipped: ../shared/data is missing")
        return
    embed, share = encoder() if arguments.embedding else (None, lambda text: 1.0)
    options = {"embed": embed, "readable": share, "max_sentences": 3}
    for name in arguments.sets:
        corpus = Corpus(name)
        measure = measure_abstention if arguments.retrieved else measure_containment
        figures = measure(corpus, options, arguments.limit)
        print(name, " ".join(f"{key}={value:.3g}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
