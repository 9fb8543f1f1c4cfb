"""How good are the answers to public questions? The whole engine, without a language model.

    make bench-answers
    python tests/benchmarks/answers.py [SET …] [--limit N]

Each question is asked of the library of its set (`corpora.built`; `sample` is `data/`) and measured
by `evaluate_answers`, as `loregraph eval answers` does; its gold documents or values are the set's.
Printed for all, for each type and for those *held out*, to which no weight was fitted (`fitting`):
`right` (the gold value stands in the answer, or is the short answer where the question names it),
F1 and exact match of the short answer, context recall, faithfulness, citation precision, declined;
then the stages at which gold was lost.

Documents of the public sets are read from `../shared/data`.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT, built

from engine import Answer, KnowledgeEngine, Settings
from engine.evaluation.answers import evaluate_answers
from engine.evaluation.gold import GoldQuestion, gold_question
from engine.evaluation.measures import normalised_words
from engine.prompts import language_of

SETS = ("hotpotqa_train100", "2wiki_dev300", "musique_train100", "cmrc2018_zh", "sample")
SAMPLE = Path(__file__).parents[2] / "data"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a set with its gold. `kind` is the set's own type, `documents` end its ids."""

    text: str
    answers: tuple[str, ...]
    documents: tuple[str, ...]
    kind: str

    @property
    def decides(self) -> bool:
        """Whether the answer is a decision between what the question itself names."""
        gold = self.answers[0].casefold()
        return gold in ("yes", "no") or contains(self.text, self.answers)


def asked_of(name: str) -> list[Asked]:
    """The questions of a set that have an answer."""
    path = SAMPLE / "questions.jsonl" if name == "sample" else DATA / name / "queries.jsonl"
    if not path.exists():
        sys.exit(f"no questions at {path}: this benchmark reads public data beside the project")
    rows = [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()]
    return [
        Asked(
            row["text"],
            tuple(row["answers"]),
            tuple(row.get("gold_ids") or row["documents"]),
            row["type"],
        )
        for row in rows
        if row.get("answers")
    ]


def fitting(text: str) -> bool:
    """Whether weights may be fitted to a question: to half of all, by a checksum of their text.

    The other half is held out: it judges, and nobody looks at its answers while changing code.
    """
    return zlib.crc32(text.encode()) % 2 == 0


def opened(name: str, settings: Settings | None = None) -> KnowledgeEngine:
    """The engine over a set's library."""
    if name != "sample":
        open_ = partial(KnowledgeEngine.open, settings=settings)
        return built(name, open_)[0]  # type: ignore[return-value]
    engine = KnowledgeEngine.open(KEPT / name, settings=settings)
    engine.add(SAMPLE / "corpus")
    return engine


def bound(asked: Asked, answer: Answer) -> bool:
    """Whether what was packed holds an answer, or all gold documents where it is a decision."""
    if asked.decides:
        found = {p.document_id for p in answer.passages}
        return all(any(held.endswith(gold) for held in found) for gold in asked.documents)
    return contains("\n".join(f"{p.title}\n{p.text}" for p in answer.passages), asked.answers)


def contains(text: str, answers: Iterable[str]) -> bool:
    """Whether an answer stands in a text, as whole words; Chinese wherever it stands."""
    body = f" {' '.join(normalised_words(text))} "
    return any(f" {' '.join(normalised_words(answer))} " in body for answer in answers)


def gold(number: int, asked: Asked) -> GoldQuestion:
    """The question as `evaluate_answers` takes it."""
    return gold_question(
        asked.text, kind=asked.kind, language=language_of(asked.text), answers=asked.answers,
        gold_ids=asked.documents, question_id=str(number),
    )  # fmt: skip


COLUMNS = ("F1", "exact match", "context recall", "faithfulness", "citation precision")


def row(label: str, rows: Sequence[dict[str, Any]]) -> str:
    """A line of the table."""
    cells = [fmean(bool(one["right"]) for one in rows)]
    for name in COLUMNS:
        values = [one["measures"][name] for one in rows if name in one["measures"]]
        cells.append(fmean(values) if values else 0.0)
    cells.append(fmean(one["abstained"] for one in rows))
    return f"{label:26}{len(rows):5d}" + "".join(f"{cell:9.3f}" for cell in cells)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--limit", type=int, default=1000, help="so many questions of each set")
    arguments = parser.parse_args()
    heads = ("right", "F1", "EM", "context", "faithful", "cited", "declined")
    print(f"{'':26}{'n':>5}" + "".join(f"{head:>9}" for head in heads))
    for name in arguments.sets:
        asked = asked_of(name)[: arguments.limit]
        with opened(name) as engine:
            questions = [gold(number, one) for number, one in enumerate(asked)]
            report = evaluate_answers(engine, questions, mode="local", label=name)
        print(row(name, report.rows))
        if held_out := [one for one in report.rows if not fitting(one["text"])]:
            print(row("  held out", held_out))
        for kind in sorted({one["kind"] for one in report.rows}):
            print(row(f"  {kind}", [one for one in report.rows if one["kind"] == kind]))
        print(f"  lost at: {dict(Counter(one['lost'] for one in report.rows if one['lost']))}")


if __name__ == "__main__":
    main()
