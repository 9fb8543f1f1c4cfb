"""How often is what answers found and shown where a question has other words than the documents?

    python tests/benchmarks/paraphrases.py [COLLECTION ...] [--answers]

`collections.jsonl` holds the documents of 14 invented collections (letters, minutes, reports,
how-tos, tables, two sets of manuals, a novel), `collection_questions.jsonl` 130 questions on each,
asked in as few of the documents' words as is natural, with the words that answer. Prints for each
collection, or those that are named, how often these stand in the first passages; with `--answers`
how often in the answer, in its first part, and how many are declined. A collection takes about a
minute of two cores to index, its questions half a minute, with answers two.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from engine import KnowledgeEngine

Row = Mapping[str, str]
FIRST = (1, 3, 5, 10, 20)
_MARKS = re.compile(r"[\s*_>#|`“”\"'\\-]+")
"""Marks that a quote and a passage may differ by."""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", nargs="*")
    parser.add_argument("--answers", action="store_true")
    options = parser.parse_args()
    documents, questions = grouped("collections.jsonl"), grouped("collection_questions.jsonl")
    told: list[np.ndarray] = []
    for name in options.collections or documents:
        with tempfile.TemporaryDirectory(prefix="loregraph-bench-") as folder:
            told += report(Path(folder), name, documents[name], questions[name], options.answers)
    print_shares(f"all {len(told)}", told, options.answers)


def grouped(file: str) -> dict[str, list[Row]]:
    """Read the rows of a file by collection."""
    found = defaultdict[str, list[Row]](list)
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found[row["collection"]].append(row)
    return found


def report(
    folder: Path, name: str, documents: Sequence[Row], questions: Sequence[Row], answers: bool
) -> list[np.ndarray]:
    """Index a collection, ask its questions and print the shares; return a row for each."""
    (folder / "documents").mkdir()
    for row in documents:
        (folder / "documents" / row["file"]).write_text(row["text"], encoding="utf-8")
    with KnowledgeEngine.open(folder / "library") as engine:
        engine.add(folder / "documents")
        ask = answered if answers else found
        told = [ask(engine, row) for row in questions]
    print_shares(name, told, answers)
    return told


def found(engine: KnowledgeEngine, row: Row) -> np.ndarray:
    """Return for each of `FIRST` whether so many passages hold what answers."""
    passages = engine.retrieve(row["question"], top_k=FIRST[-1])
    place = next((at for at, one in enumerate(passages) if holds(one.text, row)), FIRST[-1])
    return np.array([place < count for count in FIRST])


def answered(engine: KnowledgeEngine, row: Row) -> np.ndarray:
    """Return whether an answer, and its first part, hold what answers, and whether it declines."""
    answer = engine.ask(row["question"])
    first = answer.text.partition("[1]")[0]
    return np.array([holds(answer.text, row), holds(first, row), answer.abstained])


def holds(text: str, row: Row) -> bool:
    """Check whether a text holds most runs of 25 characters of what answers."""
    bare = _MARKS.sub("", re.sub(r"\[\d+\]", "", text)).casefold()
    quote = _MARKS.sub("", row["quote"]).casefold()
    runs = [quote[at : at + 25] for at in range(0, max(1, len(quote) - 24), 8)]
    return 2 * sum(run in bare for run in runs) >= len(runs)


def print_shares(name: str, told: Sequence[np.ndarray], answers: bool) -> None:
    """Print the mean of each column."""
    names = ("shown", "first", "declined") if answers else tuple(f"R@{count}" for count in FIRST)
    shares = np.mean(told, axis=0)
    print(f"{name:14}", *(f"{n} {s:.3f}" for n, s in zip(names, shares, strict=True)), flush=True)


if __name__ == "__main__":
    main()
