"""How well is it known when there is no answer? Fits and checks `extractive.answer`.

    python tests/benchmarks/abstention.py [SET …] [--limit N]

To every library are put its own questions (`own`) and some about known things whose article says
the answer (`said`, see `known_things`). Without an answer are: the own ones while the documents
with their answers are filtered out (`without`), or while the sentences that hold the answer are cut
out of the passages found (`gap`); those about known things of which nothing says it (`unsaid`);
questions of other sets (`wrong`); and of the sample corpus those that it was made not to answer
(`none`, never fitted to). An own question counts as answerable where its answer stands in the
passages found (of one that decides between what it names: where all gold documents are there).

Coefficients are fitted to half of the questions (`answers.fitting`); the other half is judged, by
the code's coefficients and by this fit.
Prints for each set: AUC, how often it abstains at the threshold of the settings, precision and
recall of abstaining; the same by language with a calibration table, ECE and Brier score; and at
last the coefficients. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import json

import numpy as np
from answers import SAMPLE, SETS, Asked, asked_of, bound, contains, fitting, opened
from corpora import documents
from known_things import known_things
from scipy.optimize import minimize
from scipy.stats import rankdata

from engine import Answer, KnowledgeEngine, Settings
from engine.answering.extractive.answer import extractive_answer
from engine.answering.extractive.evidence import COEFFICIENTS, FEATURES
from engine.prompts import language_of
from engine.storage.graph_api import sentence_spans

PENALTY = 0.001
WRONG, WITHOUT = 20, 100
"""So many questions of every other set, and so many with their documents filtered out."""
SHARE = {
    "own": 0.3, "said": 0.2, "without": 0.15, "gap": 0.1, "unsaid": 0.1, "wrong": 0.15, "none": 0.0
}  # fmt: skip
"""What each group weighs in a fit, however many its questions."""


LEAST = {"log relevance": -4.6, "log coverage": -4.6, "unknown": 1.0, "unsaid": 1.0}
"""The figures of a question for which nothing was found."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question put to a library: the figures of its answer, and whether there was one to find."""

    group: str
    text: str
    language: str
    answerable: bool
    features: tuple[float, ...]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--limit", type=int, default=1000, help="so many own questions of each set")
    arguments = parser.parse_args()
    threshold = Settings().answer.min_evidence
    found = {name: cases(name, arguments.sets, arguments.limit) for name in arguments.sets}
    coefficients = fit([[c for c in some if fitting(c.text)] for some in found.values()])
    judged_by = {name: [c for c in some if not fitting(c.text)] for name, some in found.items()}
    shipped = np.array(COEFFICIENTS)
    print(f"questions that nothing was fitted to, by the code's coefficients; below {threshold}")
    for name, some in judged_by.items():
        print(line(name, some, probabilities(some, shipped), threshold))
    everything = [case for some in judged_by.values() for case in some]
    print(line("together", everything, probabilities(everything, shipped), threshold))
    print(line("by this fit", everything, probabilities(everything, coefficients), threshold))
    for language in ("en", "zh"):
        some = [case for case in everything if case.language == language]
        for title, by in ((f"asked in {language}", shipped), ("  by this fit", coefficients)):
            if some:
                print(line(title, some, probabilities(some, by), threshold))
                reliability(some, probabilities(some, by))
    for feature, value, now in zip(FEATURES, coefficients, COEFFICIENTS, strict=True):
        print(f"  {feature:16} {value:+.2f}   (in the code {now:+.2f})")


def cases(name: str, names: Sequence[str], limit: int) -> list[Case]:
    """All questions put to the library of a set."""
    settings = Settings.model_validate(
        {"answer": {"min_evidence": 0.0}, "cache": {"answers": "none"}}
    )
    with opened(name, settings) as engine:
        found = list(_own(engine, asked_of(name)[:limit]))
        for other in names:
            if other != name:
                found.extend(
                    case("wrong", engine.ask(asked.text, mode="local"), False)
                    for asked in asked_of(other)[:WRONG]
                )
        found.extend(_known(engine, name))
    return found


def _known(engine: KnowledgeEngine, name: str) -> Iterator[Case]:
    """Of the sample what it was made not to answer; of others what is asked of known things."""
    if name == "sample":
        for line_ in (SAMPLE / "questions.jsonl").read_text(encoding="utf8").splitlines():
            row = json.loads(line_)
            if row["type"] == "unanswerable":
                yield case("none", engine.ask(row["text"], mode="local"), False)
        return
    for known in known_things(documents(name)):
        answer = engine.ask(known.text, mode="local")
        there = any(p.document_id.endswith(known.document_id) for p in answer.passages)
        yield case("said" if known.said else "unsaid", answer, known.said and there)


def _own(engine: KnowledgeEngine, questions: Sequence[Asked]) -> Iterator[Case]:
    from llama_index.core.vector_stores.types import (
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )

    ids = [document.id for document in engine.documents()]
    for number, asked in enumerate(questions):
        answer = engine.ask(asked.text, mode="local")
        yield case("own", answer, bound(asked, answer))
        if not asked.decides:
            yield _gap(engine, asked, answer)
        if number < WITHOUT:
            gold = [each for each in ids if each.endswith(asked.documents)]
            no_gold = MetadataFilter(key="document_id", value=gold, operator=FilterOperator.NIN)
            filters = MetadataFilters(filters=[no_gold])
            yield case("without", engine.ask(asked.text, mode="local", filters=filters), False)


def _gap(engine: KnowledgeEngine, asked: Asked, answer: Answer) -> Case:
    """The same passages, without the sentences that hold the answer."""
    cut = []
    for passage in answer.passages:
        spans = sentence_spans(passage.text)
        kept = [passage.text[start:end] for start, end in spans]
        text = " ".join(each for each in kept if not contains(each, asked.answers))
        if text:
            cut.append(replace(passage, text=text))
    weight = engine._whole.parts.keyword.idf()
    draft = extractive_answer(asked.text, cut, weight=weight, min_evidence=0.0)
    return _case("gap", asked.text, draft.figures, False)


def case(group: str, answer: Answer, answerable: bool) -> Case:
    """The figures that the answer's trace holds."""
    figures = next((s.figures for s in answer.trace if s.stage == "extract"), {})
    return _case(group, answer.question, figures, answerable)


def _case(group: str, text: str, figures: Mapping[str, float], answerable: bool) -> Case:
    features = (1.0, *(figures.get(name, LEAST.get(name, 0.0)) for name in FEATURES[1:]))
    return Case(group, text, language_of(text), answerable, features)


def _arrays(some: Sequence[Case]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, truths, and weights: a group counts its share, however many it has."""
    x = np.array([each.features for each in some])
    y = np.array([float(each.answerable) for each in some])
    counts = {group: sum(each.group == group for each in some) for group in SHARE}
    w = np.array([SHARE[each.group] / counts[each.group] for each in some])
    return x, y, w / w.sum()


def fit(sets: Sequence[Sequence[Case]]) -> np.ndarray:
    """Weighted logistic regression with a small ridge, every set weighing the same."""
    parts = [_arrays(some) for some in sets]
    x, y, w = (np.concatenate([part[i] for part in parts]) for i in range(3))
    w = w / w.sum()

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ beta
        value = float(w @ (np.logaddexp(0, z) - y * z) + PENALTY * beta[1:] @ beta[1:])
        gradient = x.T @ (w * (1 / (1 + np.exp(-z)) - y))
        gradient[1:] += 2 * PENALTY * beta[1:]
        return value, gradient

    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x)


def probabilities(some: Sequence[Case], beta: np.ndarray) -> np.ndarray:
    """What a fit says of each case."""
    return np.asarray(1 / (1 + np.exp(-(_arrays(some)[0] @ beta))))


def line(name: str, some: Sequence[Case], p: np.ndarray, threshold: float) -> str:
    """AUC, the share of each group that is abstained from, precision and recall of abstaining.

    Precision and recall count cases, own questions whose answer was not found as unanswerable.
    """
    y = np.array([each.answerable for each in some])
    groups = np.array([each.group for each in some])
    positive = y.sum()
    auc = (rankdata(p)[y].mean() - (positive + 1) / 2) / (len(y) - positive)
    declined = p < threshold
    shares = [f"answerable {declined[(groups == 'own') & y].mean():.3f}"]
    shares += [
        f"{group} {declined[groups == group].mean():.3f}"
        for group in ("said", "without", "gap", "unsaid", "wrong", "none")
        if (groups == group).any()
    ]
    precision = (declined & ~y).sum() / max(1, declined.sum())
    recall = (declined & ~y).sum() / max(1, (~y).sum())
    return (
        f"{name:20} AUC {auc:.3f}  abstains: {', '.join(shares)}"
        f"  precision {precision:.3f} recall {recall:.3f}"
    )


def reliability(some: Sequence[Case], p: np.ndarray) -> None:
    """Print forecast and truth by tenths, ECE and Brier score."""
    _, y, w = _arrays(some)
    error = 0.0
    for low in np.arange(0, 1, 0.1):
        inside = (p >= low) & (p < low + 0.1)
        if inside.any():
            share = w[inside] / w[inside].sum()
            says, true = float(share @ p[inside]), float(share @ y[inside])
            error += float(w[inside].sum()) * abs(says - true)
            print(f"  says {says:.3f}, is {true:.3f}   {inside.sum():5d} cases")
    print(f"  ECE {error:.3f}, Brier {float(w @ (p - y) ** 2):.4f}")


if __name__ == "__main__":
    main()
