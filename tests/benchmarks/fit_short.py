"""Are short answers and evidence to be believed? Fits and checks both.

    python tests/benchmarks/fit_short.py [SET …] [--limit N]

Questions of each set are asked of its library without a language model. An answer is right where
the gold answer stands in what is shown (of a question that decides between what it names: where the
short answer is it), a short one where it is the gold answer, or one is a part of the other and up
to three words shorter. Those of SQuAD 2.0 without an answer are never right.

Prints for each set: how often answers are right, AUC of the evidence, the share that is wrong with
evidence from .8 on; of questions for a person, place, date or amount: how often a short answer is
shown (confidence from .9 on) and how often those are right. At last the coefficients fitted to the
other sets together, for each set left out (`evidence.RIGHT_COEFFICIENTS`, and
`read_spans.COEFFICIENTS` and `CALIBRATION`). Of SQuAD 2.0 half of the titles is fitted to
(`fit_reader`), the other judged. Needs ../shared/data and the bundled models.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from answers import contains
from corpora import DATA, built
from fit_reader import auc, title_half
from scipy.optimize import minimize

from engine import Answer, KnowledgeEngine, Settings
from engine.answering.extractive import analysis, evidence, read_spans
from engine.answering.extractive.question_type import classify_question
from engine.evaluation.measures import normalised_words

SETS = ("hotpotqa_train100", "musique_train100", "2wiki_dev300", "squad2_dev")
FACTS = ("person", "place", "time", "amount", "money")
MISLEADING, CHAINED = 0.3, 0.3
"""Weights of questions made to mislead, and of chains, in the calibration of short answers."""
RIDGE = 0.003


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the figures of its answer, and of its spans if it asks for a fact."""

    set_: str
    right: bool
    evidence: float
    features: tuple[float, ...]
    answerable: bool
    asks_fact: bool
    shown: bool
    shown_right: bool
    spans: np.ndarray
    spans_right: np.ndarray
    texts: tuple[str, ...]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--limit", type=int, default=400, help="so many questions of each set")
    arguments = parser.parse_args()
    cases = [case for name in arguments.sets for case in cases_of(name, arguments.limit)]
    for name in dict.fromkeys(case.set_ for case in cases):
        print(line(name, [case for case in cases if case.set_ == name]))
    for name in dict.fromkeys(case.set_ for case in cases):
        others = [c for c in cases if c.set_ not in (name, "squad2_dev judged")]
        if others:
            show_fit(name, others, [case for case in cases if case.set_ == name])


def cases_of(name: str, limit: int) -> list[Case]:
    """Ask the questions of a set, by the checksum of their text."""
    rows = [json.loads(text) for text in (DATA / name / "queries.jsonl").open(encoding="utf8")]
    rows.sort(key=lambda row: zlib.crc32(("x" + row["text"]).encode()))
    titles = {
        row["id"]: row["title"]
        for row in map(json.loads, (DATA / name / "corpus.jsonl").open(encoding="utf8"))
    }
    settings = Settings.model_validate(
        {"answer": {"min_evidence": 0.0}, "cache": {"answers": "none"}}
    )
    found: list[Case] = []
    with built(name, lambda path: KnowledgeEngine.open(path, settings=settings))[0] as engine:
        for row in rows[:limit]:
            half = title_half(titles[row["paragraph"]]) if "paragraph" in row else None
            label = name if half is None else f"{name} {('fitted', 'judged')[half]}"
            found.append(case_of(engine, label, row))
    return found


def case_of(engine: KnowledgeEngine, label: str, row: dict) -> Case:
    """Ask one question."""
    seen: list[tuple[list, np.ndarray]] = []

    def noted(*args: object, **named: object) -> tuple[list, np.ndarray]:
        seen.append(read_spans.read_candidates(*args, **named))  # type: ignore[arg-type]
        return seen[-1]

    with patch.object(analysis, "read_candidates", noted):
        answer = engine.ask(row["text"], mode="local")
    spans, matrix = seen[-1] if seen else ([], np.zeros((0, len(read_spans.FEATURES))))
    figures = next((dict(s.figures) for s in answer.trace if s.stage == "extract"), {})
    asked, gold = classify_question(row["text"]), tuple(row.get("answers") or ())
    short = answer.short if answer.short is not None and answer.short.is_confident else None
    return Case(
        set_=label,
        right=is_right(answer, row["text"], gold),
        evidence=answer.evidence or 0.0,
        features=evidence.right_features(figures) if "held" in figures else (1.0, -4.6, -8.0, 0.0),
        answerable=bool(gold),
        asks_fact=asked.kind in FACTS and not asked.twofold,
        shown=short is not None,
        shown_right=short is not None and is_gold(short.text, gold),
        spans=matrix,
        spans_right=np.array([is_gold(span.text, gold) for span in spans], dtype=bool),
        texts=tuple(span.text for span in spans),
    )


def is_right(answer: Answer, question: str, gold: Sequence[str]) -> bool:
    """Whether what is shown holds the gold answer."""
    if not gold:
        return False
    if gold[0].casefold() in ("yes", "no") or contains(question, gold):
        return answer.short is not None and is_gold(answer.short.text, gold)
    return contains(answer.text, gold)


def is_gold(said: str, gold: Sequence[str]) -> bool:
    """Whether a span is the gold answer, or one of the two a part of the other."""
    for each in gold:
        shorter, longer = sorted((normalised_words(said), normalised_words(each)), key=len)
        places = range(len(longer) - len(shorter) + 1)
        inside = any(longer[i : i + len(shorter)] == shorter for i in places)
        if shorter and inside and len(longer) <= len(shorter) + 3:
            return True
    return False


def line(name: str, some: Sequence[Case]) -> str:
    """A line of the table."""
    right = np.array([case.right for case in some])
    sure = np.array([case.evidence for case in some])
    facts = [case for case in some if case.asks_fact]
    shown = [case for case in facts if case.shown]
    good = sum(case.shown_right for case in shown)
    return (
        f"{name:20} n {len(some):4d} right {right.mean():.3f} AUC {auc(sure, right):.3f}"
        f"  wrong from .8 on {np.mean((sure >= 0.8) & ~right):.3f}"
        f"  facts {len(facts):4d}, shown {len(shown)}, of these right {good}"
    )


def show_fit(name: str, others: Sequence[Case], own: Sequence[Case]) -> None:
    """Print what is fitted to other sets, and the AUC on the one left out."""
    x, y = np.array([c.features for c in others]), np.array([float(c.right) for c in others])
    counts = {c.set_: sum(o.set_ == c.set_ for o in others) for c in others}
    beta = logistic(x, y, np.array([counts[c.set_] ** -0.5 for c in others]))
    left_out = np.array([c.features for c in own]) @ beta
    print(f"without {name}: evidence {beta.round(3)}, AUC {auc(left_out, right_of(own)):.3f}")
    asking = [c for c in others if c.asks_fact and len(c.texts)]
    weights = ranking([c for c in asking if c.spans_right.any()])
    print(f"  spans {weights.round(2)}, calibration {calibration(asking, weights).round(2)}")


def right_of(some: Sequence[Case]) -> np.ndarray:
    """Which answers are right."""
    return np.array([case.right for case in some])


def ranking(some: Sequence[Case]) -> np.ndarray:
    """Weights that give the right spans of a question the highest share."""

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = 0.0, np.zeros(beta.size)
        for case in some:
            share = read_spans.softmax(case.spans @ beta)
            of_right = share[case.spans_right].sum()
            value -= float(np.log(of_right + 1e-12))
            pull = np.where(case.spans_right, share, 0.0) / max(of_right, 1e-12)
            gradient += case.spans.T @ (share - pull)
        ridge = 0.02
        return value / len(some) + ridge * beta @ beta, gradient / len(some) + 2 * ridge * beta

    start = np.zeros(len(read_spans.FEATURES))
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def calibration(some: Sequence[Case], weights: np.ndarray) -> np.ndarray:
    """Coefficients of the log odds that the likeliest span is right."""
    x, y, w = [], [], []
    for case in some:
        share = read_spans.softmax(case.spans @ weights)
        spans = [read_spans.Candidate(row=0, span=None, text=text) for text in case.texts]  # type: ignore[arg-type]
        best = int(share.argmax())
        x.append(read_spans.calibration_features(spans, case.spans, share)[best])
        y.append(float(case.spans_right[best]))
        chained = 1.0 if case.set_.startswith("squad2") else CHAINED
        w.append(chained * (1.0 if case.answerable else MISLEADING))
    return logistic(np.array(x), np.array(y), np.array(w))


def logistic(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weighted logistic regression with a small ridge."""
    w = w / w.sum()

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ beta
        value = float(w @ (np.logaddexp(0, z) - y * z) + RIDGE * beta[1:] @ beta[1:])
        gradient = x.T @ (w * (1 / (1 + np.exp(-z)) - y))
        gradient[1:] += 2 * RIDGE * beta[1:]
        return value, gradient

    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x)


if __name__ == "__main__":
    main()
