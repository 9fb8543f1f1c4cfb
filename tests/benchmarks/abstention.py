"""How well is it known when there is no answer? Fits and checks `engine.answer.extracts.evidence`.

    python tests/benchmarks/abstention.py [SET …] [--limit N]

To every library are put its own questions; the same ones while the documents with their answers are
filtered out (it knows of what is asked, not the answer: `without`); questions of other sets
(`wrong`); and of the sample corpus those that it was made not to answer (`none`). An own question
counts as answerable where its answer stands in the passages found (of one that decides between what
it names: where all gold documents are there).

Prints for each set, judged by a fit that never saw it: AUC, how often it abstains at the threshold
of the settings, precision and recall of abstaining; the same by language with a calibration table,
ECE and Brier score; and at last the coefficients. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import json

import numpy as np
from answers import SAMPLE, SETS, Asked, asked_of, judged, opened
from scipy.optimize import minimize
from scipy.stats import rankdata

from engine import Answer, KnowledgeEngine, Settings
from engine.answer.extracts.evidence import COEFFICIENTS, FEATURES
from engine.answer.language import language_of

PENALTY = 0.001
WRONG, WITHOUT = 40, 100
"""So many questions of every other set, and so many with their documents filtered out."""
SHARE = {"own": 0.5, "without": 0.25, "wrong": 0.25, "none": 0.1}


@dataclass(frozen=True, slots=True)
class Case:
    """A question put to a library: the figures of its answer, and whether there was one to find."""

    group: str
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
    held_out = {
        name: probabilities(some, fit([found[other] for other in found if other != name]))
        for name, some in found.items()
    }
    print(f"each set judged by a fit without it; abstains below {threshold}")
    for name, some in found.items():
        print(line(name, some, held_out[name], threshold))
    everything = [case for some in found.values() for case in some]
    p = np.concatenate(list(held_out.values()))
    print(line("together", everything, p, threshold))
    for language in ("en", "zh"):
        chosen = np.array([case.language == language for case in everything])
        some = [case for case, is_it in zip(everything, chosen, strict=True) if is_it]
        print(line(f"asked in {language}", some, p[chosen], threshold))
        reliability(some, p[chosen])
    coefficients = fit(list(found.values()))
    for feature, value, now in zip(FEATURES, coefficients, COEFFICIENTS, strict=True):
        print(f"  {feature:16} {value:+.2f}   (in the code {now:+.2f})")


def cases(name: str, names: Sequence[str], limit: int) -> list[Case]:
    """All questions put to the library of a set."""
    settings = Settings.model_validate({"answer": {"min_evidence": 0.0}})
    with opened(name, settings) as engine:
        found = list(_own(engine, asked_of(name)[:limit]))
        for other in names:
            if other != name:
                found.extend(
                    case("wrong", engine.ask(asked.text, mode="local"), False)
                    for asked in asked_of(other)[:WRONG]
                )
        if name == "sample":
            for line_ in (SAMPLE / "questions.jsonl").read_text(encoding="utf8").splitlines():
                row = json.loads(line_)
                if row["type"] == "unanswerable":
                    found.append(case("none", engine.ask(row["text"], mode="local"), False))
    return found


def _own(engine: KnowledgeEngine, questions: Sequence[Asked]) -> Iterator[Case]:
    from llama_index.core.vector_stores.types import (
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )

    ids = [document.id for document in engine.documents()]
    for number, asked in enumerate(questions):
        answer = engine.ask(asked.text, mode="local")
        yield case("own", answer, judged(asked, answer).bound)
        if number < WITHOUT:
            gold = [each for each in ids if each.endswith(asked.documents)]
            no_gold = MetadataFilter(key="document_id", value=gold, operator=FilterOperator.NIN)
            filters = MetadataFilters(filters=[no_gold])
            yield case("without", engine.ask(asked.text, mode="local", filters=filters), False)


def case(group: str, answer: Answer, answerable: bool) -> Case:
    """The figures that the answer's trace holds."""
    figures = next((s.figures for s in answer.trace if s.stage == "extract"), {})
    least = {"log relevance": -4.6, "log coverage": -3.0, "unknown": 1.0}
    features = (1.0, *(figures.get(name, least.get(name, 0.0)) for name in FEATURES[1:]))
    return Case(group, language_of(answer.question), answerable, features)


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
        for group in ("without", "wrong", "none")
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
