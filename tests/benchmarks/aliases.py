"""Alias merging against gold: Re-DocRED's entities with all their surface forms.

Two settings: every document a library of its own, and all documents one library. Counted are pairs
of name keys of one library: right when both belong to one gold entity. A key that several gold
entities share (in one library "Smith" may be three people) counts as right with any of them.

    python tests/benchmarks/aliases.py [--show 20]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from graph.model import Name
from graph.names import name_key
from graph.resolve import resolve

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data" / "redocred_dev200" / "dev.jsonl"
TYPES = {"PER": "PERSON", "ORG": "ORGANISATION", "LOC": "PLACE", "MISC": "NAME"}
Pair = tuple[str, str]


def main() -> int:
    """Print precision and recall of both settings."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--show", type=int, default=0, help="print so many wrong and missed pairs")
    arguments = parser.parse_args()
    if not DATA.exists():
        print(f"skipped: {DATA} is not there; this benchmark needs Re-DocRED's development set")
        return 0
    documents = [json.loads(line) for line in DATA.read_text("utf8").splitlines()]
    single = [counts_of([document], arguments.show) for document in documents]
    report("each document a library", single)
    report("all documents one library", [counts_of(documents, arguments.show)])
    return 0


def counts_of(documents: list[dict], show: int) -> Counter[str]:
    """How many pairs were merged, should have been, and both."""
    names, gold = read(documents)
    _, merges = resolve(names)
    found_by_entity: dict[str, list[str]] = defaultdict(list)
    for merge in merges:
        found_by_entity[merge.entity_id].append(merge.key)
    found = set(pairs(found_by_entity.values()))
    reasons = {merge.key: merge.reason for merge in merges}
    for label, some in (("wrong", found - gold), ("missed", gold - found)):
        for one, other in sorted(some)[:show]:
            print(f"  {label}: {one!r} / {other!r}  [{reasons[one]}; {reasons[other]}]")
    return Counter(found=len(found), gold=len(gold), right=len(found & gold))


def read(documents: list[dict]) -> tuple[list[Name], set[Pair]]:
    """The names of a library and the gold pairs of keys."""
    surfaces: dict[str, Counter[str]] = defaultdict(Counter)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    places: dict[str, set[str]] = defaultdict(set)
    gold: set[Pair] = set()
    for document in documents:
        for entity in document["entities"]:
            kind = TYPES.get(entity["type"])
            if kind is None:  # numbers and dates are no names
                continue
            keys = set()
            for *_, surface in entity["mentions"]:
                key = name_key(surface)
                if key:
                    keys.add(key)
                    surfaces[key][surface] += 1
                    types[key][kind] += 1
                    places[key].add(document["id"])
            gold.update(pairs([sorted(keys)]))
    names = [
        Name(
            key=key,
            surfaces=dict(surfaces[key]),
            types=dict(types[key]),
            documents=frozenset(places[key]),
        )
        for key in sorted(surfaces)
    ]
    return names, gold


def pairs(groups: Iterable[Iterable[str]]) -> Iterator[Pair]:
    """All pairs inside each group, each sorted."""
    for group in groups:
        yield from combinations(sorted(set(group)), 2)


def report(label: str, results: list[Counter[str]]) -> None:
    """One line of figures."""
    total = sum(results, Counter())
    precision = total["right"] / max(1, total["found"])
    recall = total["right"] / max(1, total["gold"])
    print(
        f"{label}: precision {precision:.3f} ({total['right']} of {total['found']} merged pairs), "
        f"recall {recall:.3f} of {total['gold']} gold pairs"
    )


if __name__ == "__main__":
    sys.exit(main())
