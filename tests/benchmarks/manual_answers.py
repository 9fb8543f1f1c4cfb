"""How often is what answers a question on a manual shown?

    python tests/benchmarks/manual_answers.py LIBRARY SET [--foreign]

`manual_questions.jsonl` holds questions in users' own words on pages of manuals, which Debian's
packages carry (`manuals`, `first` to `fourth`), and on speeches and a novel (`books`), with the
passage that answers (at most 50 words), or none. LIBRARY is one of the pages of a set. Prints for
facts and explanations how often that passage is shown (half of its runs of three words stand in the
answer), how often it is among the passages found, the words of an answer, and CPU seconds; for
questions that nothing answers how many are answered, answered below a word of doubt, and declined.
With `--foreign` LIBRARY is another, in which nothing answers.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from engine import KnowledgeEngine
from engine.prompts import HESITATION

HELD = 0.5
"""Share of a quote's runs of three words from which on a text holds it."""
SETS = ("manuals", "books", "first", "second", "third", "fourth")
QUESTIONS = Path(__file__).with_name("manual_questions.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--foreign", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    own = [row for row in rows if row["set"] == options.set]
    if options.foreign:
        own = [{**row, "kind": "none", "quote": ""} for row in own]
    with KnowledgeEngine.open(options.library) as engine:
        for kind in ("fact", "explain"):
            if of_kind := [row for row in own if row["kind"] == kind]:
                report(engine, kind, of_kind)
        if unanswered := [row for row in own if row["kind"] == "none"]:
            report_unanswered(engine, unanswered)


def report(engine: KnowledgeEngine, kind: str, rows: list[Mapping[str, str]]) -> None:
    """Ask the questions of a kind and print how they are answered."""
    told = []
    for row in rows:
        begun = time.process_time()
        answer = engine.ask(row["question"])
        found = any(holds(each.text, row["quote"]) for each in answer.passages)
        seconds, words = time.process_time() - begun, len(answer.text.split())
        told.append((holds(answer.text, row["quote"]), found, words, seconds))
    shown, found, words, seconds = np.mean(told, axis=0)
    print(
        f"{kind:8} n {len(rows):4} shown {shown:.3f} found {found:.3f}"
        f" words {words:.0f} CPU s {seconds:.2f}"
    )


def report_unanswered(engine: KnowledgeEngine, rows: list[Mapping[str, str]]) -> None:
    """Ask questions that nothing answers and print what becomes of them."""
    found = {"answered": 0, "doubted": 0, "declined": 0}
    for row in rows:
        answer = engine.ask(row["question"])
        is_doubted = answer.text.startswith(HESITATION["en"])
        found["declined" if answer.abstained else "doubted" if is_doubted else "answered"] += 1
    print(f"none     n {len(rows):4}", *(f"{name} {count}" for name, count in found.items()))


def holds(text: str, quote: str) -> bool:
    """Check that most of a quote stands in a text, however it is set."""
    own, said = _runs(quote), _runs(text)
    held = set(said)
    return sum(run in held for run in own) >= HELD * max(1, len(own))


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.sub(r"[\W_]+", " ", text.lower()).split()
    return [tuple(words[place : place + 3]) for place in range(len(words) - 2)]


if __name__ == "__main__":
    main()
