"""Fit and check the weights of extractive answers: `sentence_scoring` and `answer_spans`.

    python tests/benchmarks/fit_answers.py [SET …]

Of every question the passages found are taken apart into sentences, and the best of these into
spans. The weights make what holds (or is) the gold answer likely among all others: the logarithm of
its share of a softmax, every set weighing the same, with a small ridge. English is fitted on the
sets below; *single* are the steps into which MuSiQue takes its questions apart, so that not all
teach chains. Chinese is fitted on CMRC. Fitted is to half of the questions (`answers.fitting`).
Prints of the other half how often the best one to three sentences hold the answer, and how often
the likeliest span is it, by the new weights and by those in the code; then the weights. Needs
../shared/data.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from answers import Asked, asked_of, contains, fitting, opened
from corpora import DATA
from scipy.optimize import minimize

from engine import KnowledgeEngine
from engine.answering.extractive import answer_spans as short
from engine.answering.extractive import sentence_scoring as weigh
from engine.answering.extractive.question_type import (
    answer_types,
    classify_question,
    strip_question_words,
)
from engine.evaluation.measures import token_f1
from engine.prompts import language_of
from engine.retrieval.passages import split_passages
from engine.storage.graph_api import capitalised_names
from engine.storage.tokenization import tokens

ENGLISH = ("hotpotqa_train100", "musique_train100", "2wiki_dev300", "single", "sample")
CHINESE = "cmrc2018_zh"
PENALTY = 0.001
RIGHT = 0.8
"""From this F1 on a span is the answer."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is chosen from for one question: features of each, and which of them are right."""

    features: np.ndarray
    right: np.ndarray
    fitting: bool


def single_steps() -> list[Asked]:
    """MuSiQue's questions taken apart: each step as a question with the answers before put in."""
    found = []
    path = DATA / "musique_train100" / "queries.jsonl"
    for line in path.read_text(encoding="utf8").splitlines():
        known: list[str] = []
        for step in json.loads(line)["decomposition"]:
            text = step["question"]
            for number, answer in enumerate(known, start=1):
                text = text.replace(f"#{number}", answer)
            known.append(step["answer"])
            if ">>" not in text and "#" not in text:
                text = f"{text[0].upper()}{text[1:]}".replace(" ?", "?")
                found.append(Asked(text, (step["answer"],), (step["gold_id"],), "single"))
    return found


def cases(name: str) -> tuple[list[Case], list[Case]]:
    """For each question of a set that the question does not decide itself: sentences, and spans."""
    asked = single_steps() if name == "single" else asked_of(name)
    with opened("musique_train100" if name == "single" else name) as engine:
        idf = engine._whole.parts.keyword.idf()
        found = [
            each
            for one in asked
            if not one.decides and (language_of(one.text) == "zh") == (name == CHINESE)
            for each in _choices(engine, one, idf)
        ]
    return [one for one, _ in found], [other for _, other in found]


def _choices(engine: KnowledgeEngine, asked: Asked, idf) -> Iterator[tuple[Case, Case]]:
    passages = engine.retrieve(asked.text)
    wanted = {term: max(idf(term), 0.0) for term in tokens(strip_question_words(asked.text))}
    sentences = split_passages(passages)
    if not sentences or not sum(wanted.values()):
        return
    kinds = answer_types(asked.text)
    matrix, _ = weigh.sentence_features(sentences, passages, wanted=wanted, kinds=kinds, weight=idf)
    half = fitting(asked.text)
    holds = np.array(
        [
            contains(s.text, asked.answers)
            and passages[s.passage].document_id.endswith(asked.documents)
            for s in sentences
        ]
    )
    weighed = weigh.score_sentences(
        sentences,
        passages,
        wanted=wanted,
        kinds=kinds,
        weight=idf,
        language=language_of(asked.text),
    )
    spans, features = short.span_candidates(
        asked.text,
        weighed,
        asked=classify_question(asked.text),
        wanted=wanted,
        tokens=tokens,
        names=capitalised_names,
    )
    best = [max(token_f1(s.text, gold) for gold in asked.answers) for s in spans]
    is_it = np.array([each >= RIGHT for each in best])
    yield Case(matrix, holds, half), Case(features, is_it.astype(bool), half)


def fit(sets: Sequence[Sequence[Case]]) -> np.ndarray:
    """The weights under which what is right is likeliest, of the half that is fitted to."""
    halves = [[case for case in some if case.fitting] for some in sets]
    chosen = [(c, 1 / len(some) / len(sets)) for some in halves for c in some if c.right.any()]

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = float(PENALTY * beta @ beta), 2 * PENALTY * beta
        for case, weight in chosen:
            share = _softmax(case.features @ beta)
            right = share * case.right
            value -= weight * float(np.log(right.sum() + 1e-12))
            gradient = gradient - weight * case.features.T @ (right / (right.sum() + 1e-12) - share)
        return value, gradient

    width = chosen[0][0].features.shape[1]
    return np.asarray(minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B").x)


def _softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max())
    return np.asarray(raised / raised.sum())


def within(some: Sequence[Case], beta: np.ndarray, depth: int) -> list[bool]:
    """Whether one of the best is right, of each."""
    return [
        bool(case.right[np.argsort(-(case.features @ beta), kind="stable")[:depth]].any())
        if case.right.size
        else False
        for case in some
    ]


def report(
    name: str,
    some: Sequence[Case],
    beta: np.ndarray,
    *,
    now: Sequence[float],
    depths: Sequence[int],
) -> None:
    """Print how often the best are right of the half that is held out, by the fit and as it is."""
    held_out = [case for case in some if not case.fitting]
    told = [
        " ".join(f"{np.mean(within(held_out, weights, depth)):.3f}" for depth in depths)
        for weights in (beta, np.array(now))
    ]
    count = f"{len(held_out):5d} questions"
    print(f"  {name:20} {count}  best {depths}: {told[0]}   in the code {told[1]}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=(*ENGLISH, CHINESE), metavar="SET")
    asked = parser.parse_args().sets
    english = {name: cases(name) for name in ENGLISH if name in asked}
    chinese = {CHINESE: cases(CHINESE)} if CHINESE in asked else {}
    for place, (what, module, depths) in enumerate(
        (("sentences", weigh, (1, 2, 3)), ("spans", short, (1, 3)))
    ):
        print(f"{what}, of questions that nothing was fitted to:")
        for language, sets in (("en", english), ("zh", chinese)):
            if not sets:
                continue
            some = {name: both[place] for name, both in sets.items()}
            now = module.COEFFICIENTS[language]
            beta = fit(list(some.values()))
            for name, own in some.items():
                report(name, own, beta, now=now, depths=depths)
            print(f"  {language}: {', '.join(f'{x:.2f}' for x in beta)}")
            print(f"  in the code: {', '.join(f'{x:.2f}' for x in now)}")


if __name__ == "__main__":
    main()
