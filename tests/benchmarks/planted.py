"""Is a planted regression found with eighty questions, and is no difference taken for one?

    python tests/benchmarks/planted.py LIBRARY GOLD [--n 80] [--coarse LIBRARY] [--rows FILE]

The questions of GOLD (`loregraph eval make`, a hundred or more) are answered as set (five
passages) and with a regression: without the walk, with two passages, without keyword search, with
citations that stand at other sentences, and, of a second library of the same documents, from
chunks of 2,048 tokens. Power is the share of resampled sets of `--n` questions in which the
comparison calls a decisive measure worse. Beside it 100 comparisons without a difference: each run
draws its answers at random from the same variants, on sets that are drawn anew. FILE keeps the
answers' measures for another run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine import Answer, KnowledgeEngine, Settings
from engine.evaluation.answers import DECIDING, AnswerReport, evaluate_answers, paired_values
from engine.evaluation.gold import GoldQuestion, read_gold
from engine.evaluation.statistics import compare_measures

BASE: dict[str, Any] = {"top_k": 5}
REGRESSIONS: dict[str, dict[str, Any]] = {
    "walk off": {"walk": False},
    "top 5 to 2": {"top_k": 2},
    "keyword search off": {"keyword": False},
}
SETS = 100


class ShuffledCitations:
    """An engine whose citations of an answer change places."""

    def __init__(self, engine: KnowledgeEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def ask(self, question: str, *, mode: Any = "auto") -> Answer:
        answer = self._engine.ask(question, mode=mode)
        order = list(answer.citations)
        random.Random(question).shuffle(order)  # noqa: S311
        moved = tuple(
            dataclasses.replace(other, number=one.number)
            for one, other in zip(answer.citations, order, strict=True)
        )
        return dataclasses.replace(answer, citations=moved)


def runs(
    library: Path, coarse: Path | None, questions: Sequence[GoldQuestion], only: Sequence[str]
) -> Iterator[tuple[str, AnswerReport]]:
    tried = [("as set", library, {}), *((name, library, REGRESSIONS[name]) for name in only)]
    tried += [("chunks 512 to 2,048", coarse, {})] if coarse else []
    for name, place, changes in tried:
        settings = Settings.model_validate({"retrieve": BASE | changes})
        if place == coarse:
            settings = Settings.model_validate({"retrieve": BASE, "chunk": {"size_tokens": 2048}})
        started = time.process_time()
        with KnowledgeEngine.open(place, settings=settings, create=False) as engine:
            yield name, evaluate_answers(engine, questions, label=name)
            if name == "as set":
                moved: Any = ShuffledCitations(engine)
                yield "citations shuffled", evaluate_answers(moved, questions, label="shuffled")
        print(f"  {name}: {time.process_time() - started:.0f} CPU s", file=sys.stderr, flush=True)


def compared(now: Sequence[Any], before: Sequence[Any]) -> list[str]:
    """Measures that the comparison calls different, those that became worse with a minus."""
    values = paired_values(zip(now, before, strict=True))
    deciding = {name: values[name] for name in DECIDING if name in values}
    return [
        ("-" if one.interval.mean < 0 else "+") + one.measure
        for one in compare_measures(deciding, family=DECIDING)
        if one.is_clear
    ]


def kept_rows(path: Path | None, found: Iterator[tuple[str, AnswerReport]]) -> dict[str, list[Any]]:
    if path is not None and path.exists():
        return dict(json.loads(path.read_text(encoding="utf8")))
    rows = {name: list(report.rows) for name, report in found}
    if path is not None:
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf8")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--coarse", type=Path)
    parser.add_argument("--only", nargs="*", default=list(REGRESSIONS), choices=REGRESSIONS)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--n", type=int, default=80)
    arguments = parser.parse_args()
    questions = read_gold(arguments.gold)
    found = runs(arguments.library, arguments.coarse, questions, arguments.only)
    rows = kept_rows(arguments.rows, found)
    base, n = rows["as set"], min(arguments.n, len(rows["as set"]))
    rng = random.Random(1)  # noqa: S311
    samples = [rng.sample(range(len(base)), n) for _ in range(SETS)]
    print(f"{len(base)} questions, sets of {n}")
    for name, some in rows.items():
        if name == "as set":
            continue
        by: Counter[str] = Counter()
        hits = 0
        for sample in samples:
            clear = compared([some[i] for i in sample], [base[i] for i in sample])
            by.update(clear)
            hits += any(one.startswith("-") for one in clear)
        print(f"{name:22} power {hits / SETS:.2f}  {dict(by.most_common(6))}")
    alarms = 0
    for sample in samples:
        now, then = ([rows[rng.choice(list(rows))][i] for i in sample] for _ in range(2))
        alarms += bool(compared(now, then))
    print(f"{alarms} alarms in {SETS} comparisons without a difference")
    values = {name: paired_values(zip(some, base, strict=True)) for name, some in rows.items()}
    for name in DECIDING:
        print(f"{name:22}{''.join(f'{fmean(each[name][0]):9.3f}' for each in values.values())}")


if __name__ == "__main__":
    main()
