"""Fits what a block promises and which of its sentences answers: `block_prior` and `one_place`.

    python tests/benchmarks/fit_blocks.py [--limit N]

SQuAD 2.0's paragraphs are joined to their articles, so that a question has to find its paragraph
among others of the same page. Of each question the blocks of the passages found are right where
they hold the gold answer; of the ten that promise most, so are the sentences. The weights make what
is right likely among all others, with a small ridge. Fitted to half of the questions
(`answers.fitting`), printed of the other half: how often the ten blocks, and the first one to three
sentences, hold the answer, by the weights in the code and by the new ones. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from answers import contains, fitting
from corpora import DATA, KEPT, documents
from llama_index.core.schema import Document
from scipy.optimize import minimize

from engine import KnowledgeEngine
from engine.answering.extractive import block_prior, one_place
from engine.answering.extractive.question_type import answer_types, strip_question_words
from engine.answering.extractive.sentence_scoring import score_sentences
from engine.embeddings.cross_encoder import CrossEncoder
from engine.retrieval.passages import split_passages
from engine.storage.tokenization import tokens

SET = "squad2_dev"
PENALTY = 0.02
Case = tuple[np.ndarray, np.ndarray]


def opened() -> KnowledgeEngine:
    """The engine over the articles of the set."""
    articles: dict[str, list[str]] = defaultdict(list)
    for row in documents(SET):
        articles[row["title"]].append(row["text"])
    engine = KnowledgeEngine.open(KEPT / f"{SET}_articles")
    engine.add(
        [
            Document(id_=title, text="\n\n".join(texts), metadata={"title": title})
            for title, texts in articles.items()
        ]
    )
    return engine


def case(engine: KnowledgeEngine, reader: CrossEncoder, row: dict) -> tuple[Case, Case] | None:
    """Features of the blocks and of the sentences of a question, and which hold the answer."""
    question, answers = row["text"], row["answers"]
    passages = block_prior.with_direct(
        question, engine._retriever.search(question, top_k=60).passages, count=10
    )
    idf = engine._keyword.idf()
    wanted = {term: max(idf(term), 0.0) for term in tokens(strip_question_words(question))}
    sentences = split_passages(passages)
    if not sentences or not sum(wanted.values()):
        return None
    weighed = score_sentences(
        sentences, passages, wanted=wanted, kinds=answer_types(question), weight=idf, language="en"
    )
    blocks = block_prior.promising_blocks(question, weighed, passages, wanted=wanted)
    likely = blocks[: one_place.READ_BLOCKS]
    read = one_place.sentence_features(question, likely, weighed, passages, reader=reader)
    rows = [row for one in likely for row in one.rows]
    return (
        (
            np.array([one.features for one in blocks]),
            np.array([contains(one.block.text, answers) for one in blocks]),
        ),
        (
            np.concatenate(read),
            np.array([contains(weighed[row].sentence.text, answers) for row in rows]),
        ),
    )


def fitted(cases: list[Case]) -> np.ndarray:
    """Weights by which what is right is likely among all others."""
    some = [(features, right) for features, right in cases if right.any()]

    def loss(weights: np.ndarray) -> float:
        total = PENALTY * len(some) * float(weights @ weights) / 2
        for features, right in some:
            scores = features @ weights
            scores = scores - scores.max()
            shares = np.exp(scores) / np.exp(scores).sum()
            total -= float(np.log(shares[right].sum() + 1e-12))
        return total

    return minimize(loss, np.zeros(some[0][0].shape[1]), method="L-BFGS-B").x


def held(cases: list[Case], weights: np.ndarray, count: int) -> float:
    """Share of cases of which the first so many hold what is right."""
    found = [
        right[np.argsort(-(features @ weights), kind="stable")[:count]].any()
        for features, right in cases
    ]
    return float(np.mean(found))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=400, help="so many questions")
    lines = (DATA / SET / "queries.jsonl").read_text(encoding="utf8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["answers"]]
    rows = rows[:: max(1, len(rows) // parser.parse_args().limit)]
    with opened() as engine:
        reader = CrossEncoder()
        found = [(fitting(row["text"]), case(engine, reader, row)) for row in rows]
    for place, name, now, counts in (
        (0, "blocks", block_prior.BLOCK_WEIGHTS, (1, 10)),
        (1, "sentences", one_place.SENTENCE_WEIGHTS, (1, 2, 3)),
    ):
        fit = [both[place] for is_fit, both in found if both and is_fit]
        judged = [both[place] for is_fit, both in found if both and not is_fit]
        new = fitted(fit)
        for label, weights in (("code", np.array(now)), ("new", new)):
            shares = ", ".join(f"{count}: {held(judged, weights, count):.3f}" for count in counts)
            print(f"{name} {label:5} {shares}")
        print(f"{name} weights {tuple(round(float(weight), 2) for weight in new)}")


if __name__ == "__main__":
    main()
