"""How much of what sentences say the language rules find: gold triples of WebNLG, by relation.

    python tests/benchmarks/triples.py [--most 500] [--show RELATION]

Of every triple whose two ends stand in the text four things are counted, each needing the one
before: both ends are names that were found (`ends`); some statement joins them, if only as names in
one sentence (`linked`); one joins them with a predicate of the sentence (`stated`); that predicate
shares a word with the gold relation's label (`same word`), which is a floor: "was created by" says
what `creator` means, and is counted, "makers of" is not. An end is a name that is equal to the gold
one after normalisation or holds it, or is held by it, word by word. The direction is not judged,
since gold labels point either way.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import Stemmer

from graph.extraction.rule_based import LanguageExtractor
from graph.model import Extraction
from graph.text.names import name_key

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "text2kg_webnlg"
STEPS = ("triples", "ends", "linked", "stated", "same word")
TOGETHER = "occurs with"
_STEM = Stemmer.Stemmer("english")


def main() -> int:
    """Print the table, the most frequent relations first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, help="only so many sentences")
    parser.add_argument("--show", metavar="RELATION", help="sentences whose triple is not stated")
    arguments = parser.parse_args()
    path = DATA / "dbpedia_webnlg_test.jsonl"
    if not path.exists():
        sys.exit(f"no public data at {path}: this benchmark reads it from beside the project")
    rows = [json.loads(line) for line in path.read_text("utf8").splitlines()][: arguments.most]
    extractions = LanguageExtractor().extract([row["text"] for row in rows])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row, found in zip(rows, extractions, strict=True):
        for subject, relation, target in grounded(row):
            reached = steps_of(found, subject, relation, target)
            counts[relation].update(reached)
            if arguments.show == relation and "stated" not in reached:
                print(f"  {' < '.join(reached)}: {subject} | {target} | {row['text']}")
    show(counts)
    return 0


def grounded(row: dict) -> Iterable[tuple[str, str, str]]:
    """The row's triples whose ends both stand in its text."""
    for triple, stands in zip(row["triples_norm"], row["grounded"], strict=True):
        if stands:
            yield triple[0], triple[1], triple[2]


def steps_of(found: Extraction, subject: str, relation: str, target: str) -> list[str]:
    """Which of `STEPS` a triple reaches, in their order."""
    keys = {mention.key for mention in found.mentions}
    left, right = fitting(keys, subject), fitting(keys, target)
    if not left or not right:
        return ["triples"]
    joining = [
        s.predicate
        for s in found.statements
        if (s.subject in left and s.object in right) or (s.subject in right and s.object in left)
    ]
    said = [predicate for predicate in joining if predicate != TOGETHER]
    wanted = stems(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", relation))
    same = any(wanted & stems(predicate) for predicate in said)
    reached = (True, True, bool(joining), bool(said), same)
    return [step for step, there in zip(STEPS, reached, strict=True) if there]


def fitting(keys: Iterable[str], name: str) -> set[str]:
    """The keys that mean the gold name: the same, or one within the other by whole words."""
    gold = name_key(name)
    padded = f" {gold} "
    return {key for key in keys if key and (f" {key} " in padded or padded in f" {key} ")}


def stems(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_]{3,}", text.casefold())
    return {stem[:5] for stem in _STEM.stemWords(words)}


def show(counts: dict[str, Counter[str]]) -> None:
    """The table: shares of the triples of each relation, the frequent ones and all."""
    print(f"{'relation':24} {'triples':>8} " + " ".join(f"{step:>10}" for step in STEPS[1:]))
    rows: Sequence[tuple[str, Counter[str]]] = sorted(
        counts.items(), key=lambda item: (-item[1]["triples"], item[0])
    )
    total: Counter[str] = sum(counts.values(), Counter())
    for name, each in [*rows[:40], ("all", total)]:
        shares = " ".join(f"{each[step] / each['triples']:10.3f}" for step in STEPS[1:])
        print(f"{name:24} {each['triples']:8} {shares}")


if __name__ == "__main__":
    sys.exit(main())
