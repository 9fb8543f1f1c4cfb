"""Alias merging against gold: Re-DocRED's entities with all their surface forms.

Two settings: every document a library of its own, and all documents one library. Counted are pairs
of name keys of one library: right when both belong to one gold entity. A key that several gold
entities share (in one library "Smith" may be three people) counts as right with any of them. Names
that no document has together are not judged by gold, and are left out of the precision.

Gold often keeps apart what is one thing: "Casanova" beside "Giacomo Casanova", "courier - journal"
beside "courier-journal". The merges that it calls wrong were read in their documents; those that
are right stand in `READ_AS_ONE`, and a second precision counts them so. A pair that nobody has
read counts as wrong.

    python tests/benchmarks/aliases.py [--show 20]
"""

from __future__ import annotations

import argparse
import hashlib
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
_READ = """
1f3cc7788e 228b88464a 30f3675281 54e051dfcd 5a76372f80 62acfa8eb1 63678fc259 64c0e1f922
707d8451a2 7a987fefbb 8cd952ebcb a429a8615b aed4b37f75 bbfac27865 c2d1244272 d4a84e2dd2
ded7f9d94c e33533307b e71ee255d6 edf39f1ec5 f1107d878c f1c4a5999c fac9c94d4c
"""
READ_AS_ONE = frozenset(_READ.split())
"""Hashes of pairs that gold keeps apart and a reader does not (`--show` prints them all)."""


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
    _, merges = resolve(names, neighbours=neighbours(documents))
    found_by_entity: dict[str, list[str]] = defaultdict(list)
    for merge in merges:
        found_by_entity[merge.entity_id].append(merge.key)
    found = set(pairs(found_by_entity.values()))
    reasons = {merge.key: merge.reason for merge in merges}
    documents_of = {name.key: name.documents for name in names}
    judged = {pair for pair in found if documents_of[pair[0]] & documents_of[pair[1]]}
    read_as_one = {pair for pair in judged - gold if digest(pair) in READ_AS_ONE}
    shown = (
        ("wrong", judged - gold - read_as_one),
        ("right, though not in gold", read_as_one),
        ("missed", gold - found),
    )
    for label, some in shown:
        for one, other in sorted(some)[:show]:
            why = f"{reasons[one]}; {reasons[other]}"
            print(f"  {label}: {digest((one, other))} {one!r} / {other!r}  [{why}]")
    return Counter(
        found=len(judged),
        gold=len(gold),
        right=len(judged & gold),
        read=len(read_as_one),
        not_judged=len(found - judged),
    )


def digest(pair: Pair) -> str:
    """A short name for a pair of keys."""
    return hashlib.sha256("\x1f".join(sorted(pair)).encode("utf8")).hexdigest()[:10]


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


def neighbours(documents: list[dict]) -> dict[str, set[str]]:
    """Which keys stand in one sentence with a key; mentions of one entity are none."""
    found: dict[str, set[str]] = defaultdict(set)
    for document in documents:
        sentences: dict[int, set[tuple[int, str]]] = defaultdict(set)
        for number, entity in enumerate(document["entities"]):
            for mention in entity["mentions"] if entity["type"] in TYPES else ():
                if key := name_key(mention[-1]):
                    sentences[mention[0]].add((number, key))
        for _, some in sorted(sentences.items()):
            for (one, first), (other, second) in combinations(sorted(some), 2):
                if one != other and first != second:
                    found[first].add(second)
                    found[second].add(first)
    return found


def pairs(groups: Iterable[Iterable[str]]) -> Iterator[Pair]:
    """All pairs inside each group, each sorted."""
    for group in groups:
        yield from combinations(sorted(set(group)), 2)


def report(label: str, results: list[Counter[str]]) -> None:
    """One line of figures."""
    total = sum(results, Counter())
    right, merged = total["right"], max(1, total["found"])
    print(
        f"{label}: precision {right / merged:.3f} against gold ({right} of {total['found']} merged "
        f"pairs), {(right + total['read']) / merged:.3f} as read by hand; "
        f"recall {right / max(1, total['gold']):.3f} of {total['gold']} gold pairs"
    )
    if total["not_judged"]:
        print(f"  {total['not_judged']} more merged pairs that no document has together")


if __name__ == "__main__":
    sys.exit(main())
