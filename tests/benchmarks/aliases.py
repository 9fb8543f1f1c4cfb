"""Alias merging against gold: Re-DocRED's entities with all their surface forms.

Given are the marked names where they stand, so that second names which the text states count, and
the documents' titles, which are names in every library; no pair with an unmarked title is judged.
Two settings: every document a library of its own, and all documents one library. Counted are pairs
of name keys of one library that were merged, and of these two precisions:

- *against gold*: the share that gold has as one entity. A key that several gold entities share
  (in one library "Smith" may be three people) counts as right with any of them.
- *as read*: gold often keeps apart what is one thing, "Casanova" beside "Giacomo Casanova". So
  every merged pair was read in its document, those that gold agrees with as well as those that it
  does not, and `alias_verdicts.jsonl` says what was found: `same`, `different` or `unclear`, with a
  reason where there is one to give. Only `same` counts as right: a pair that is unclear, or that
  nobody has read, is wrong. Gold plays no part in it.

Both with Wilson's interval for 95 of 100. Recall is the share of gold's pairs that were merged;
gold counts "Poland" and "Polish", or a book's title in two languages, as one thing, and the rules
do not. Names that no document has together are not judged, and are left out.

    python tests/benchmarks/aliases.py [--show 20]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

from graph.extraction.aliases import stated_aliases
from graph.model import Mention, Name
from graph.resolution.resolver import resolve_names
from graph.text.names import name_key
from graph.text.sentences import lay_out

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data" / "redocred_dev200" / "dev.jsonl"
TYPES = {"PER": "PERSON", "ORG": "ORGANISATION", "LOC": "PLACE", "MISC": "NAME"}
Pair = tuple[str, str]
Verdicts = Mapping[tuple[str, Pair], str]
"""What was read of a pair in a document: `same`, `different` or `unclear`."""

VERDICTS = Path(__file__).with_name("alias_verdicts.jsonl")


def main() -> int:
    """Print precision and recall of both settings."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--show", type=int, default=0, help="print so many wrong and missed pairs")
    arguments = parser.parse_args()
    if not DATA.exists():
        print(f"skipped: {DATA} is not there; this benchmark needs Re-DocRED's development set")
        return 0
    documents = [json.loads(line) for line in DATA.read_text("utf8").splitlines()]
    verdicts = read_verdicts()
    single = [counts_of([document], verdicts, arguments.show) for document in documents]
    report("each document a library", single)
    report("all documents one library", [counts_of(documents, verdicts, arguments.show)])
    return 0


def read_verdicts() -> Verdicts:
    """By document and pair of keys."""
    rows = map(json.loads, VERDICTS.read_text("utf8").splitlines())
    return {(row["document"], pair_of(row["names"])): row["verdict"] for row in rows}


def counts_of(documents: list[dict], verdicts: Verdicts, show: int) -> Counter[str]:
    """How many pairs were merged, should have been, and both; and what was read of them."""
    names, gold = read(documents)
    aliases = sorted({pair for document in documents for pair in stated(document)})
    _, merges = resolve_names(names, aliases, neighbours=neighbours(documents))
    found_by_entity: dict[str, list[str]] = defaultdict(list)
    for merge in merges:
        found_by_entity[merge.entity_id].append(merge.key)
    found = set(pairs(found_by_entity.values()))
    reasons = {merge.key: merge.reason for merge in merges}
    documents_of = {name.key: name.documents if name.types else frozenset() for name in names}
    judged = {pair for pair in found if documents_of[pair[0]] & documents_of[pair[1]]}
    read_as = {pair: verdict_of(pair, documents_of, verdicts) for pair in judged}
    shown = (
        *(
            (f"{verdict}, gold {agrees}", {one for one in some if read_as[one] == verdict})
            for verdict in ("different", "unclear", "not read", "same")
            for agrees, some in (("apart", judged - gold), ("as one", judged & gold))
        ),
        ("missed", gold - found),
    )
    for label, some in shown:
        for one, other in sorted(some)[:show]:
            why = f"{reasons[one]}; {reasons[other]}"
            print(f"  {label}: {one!r} / {other!r}  [{why}]")
    read_counts = Counter(verdict.replace(" ", "_") for verdict in read_as.values())
    return read_counts + Counter(
        found=len(judged),
        gold=len(gold),
        right=len(judged & gold),
        not_judged=len(found - judged),
    )


def verdict_of(pair: Pair, documents_of: Mapping[str, Collection[str]], verdicts: Verdicts) -> str:
    """What was read of a pair in all documents that have both names; the worst of it counts."""
    shared = {*documents_of[pair[0]]} & {*documents_of[pair[1]]}
    said = {verdicts.get((document, pair), "not read") for document in shared}
    return next(one for one in ("different", "unclear", "not read", "same") if one in said)


def pair_of(names: Iterable[str]) -> Pair:
    """Two keys, sorted."""
    one, other = sorted(names)
    return one, other


def stated(document: dict) -> Iterator[Pair]:
    """What the text states: a key and another by which it is known as well."""
    mentions = []
    text, token_spans = document["text"], spans(document)
    for entity in document["entities"]:
        for sentence, first, last, surface in entity["mentions"] if entity["type"] in TYPES else ():
            if key := name_key(surface):
                start, end = token_spans[sentence][first][0], token_spans[sentence][last - 1][1]
                kind = TYPES[entity["type"]]
                mentions.append(
                    Mention(start=start, end=end, surface=text[start:end], key=key, type=kind)
                )
    for statement in stated_aliases(lay_out(text), sorted(mentions)):
        yield statement.subject, statement.object


def spans(document: dict) -> list[list[tuple[int, int]]]:
    """Where the tokens of each sentence stand in the document's text, which runs through them."""
    found, place = [], 0
    for tokens in document["sents"]:
        found.append([])
        for token in tokens:
            start = document["text"].index(token, place)
            place = start + len(token)
            found[-1].append((start, place))
    return found


def read(documents: list[dict]) -> tuple[list[Name], set[Pair]]:
    """The names of a library and the gold pairs of keys."""
    surfaces: dict[str, Counter[str]] = defaultdict(Counter)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    places: dict[str, set[str]] = defaultdict(set)
    titles: dict[str, set[str]] = defaultdict(set)
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
        title = name_key(document["title"])
        titles[title].add(document["id"])
        places[title].add(document["id"])
        surfaces[title][document["title"]] += not surfaces[title]
    names = [
        Name(
            key=key,
            surfaces=dict(surfaces[key]),
            types=dict(types[key]),
            documents=frozenset(places[key]),
            titles=frozenset(titles[key]),
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
    """Four lines of figures."""
    total = sum(results, Counter())
    merged, gold = total["found"], total["gold"]
    print(f"{label}: {merged} merged pairs")
    print(f"  precision against gold  {share(total['right'], merged)}")
    print(
        f"  precision as read       {share(total['same'], merged)}; {total['different']} of "
        f"different things, {total['unclear']} unclear, {total['not_read']} not read"
    )
    print(f"  recall                  {share(total['right'], gold)} of gold's pairs")
    if total["not_judged"]:
        print(f"  {total['not_judged']} more, with an unmarked title or of different documents")


def share(part: int, whole: int) -> str:
    """A share with Wilson's interval for 95 of 100 (Wilson 1927)."""
    if not whole:
        return "of none"
    z, p = 1.959964, part / whole
    middle = (p + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * math.sqrt(p * (1 - p) / whole + z * z / (4 * whole**2)) / (1 + z * z / whole)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return f"{p:.3f} ({part} of {whole}; {low:.3f} to {high:.3f})"


if __name__ == "__main__":
    sys.exit(main())
