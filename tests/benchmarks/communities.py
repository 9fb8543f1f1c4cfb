"""How many communities one document changes, and what reports cost in a large graph.

    LOREGRAPH_BENCH=DIR python tests/benchmarks/communities.py removals musique_train100 [...]
    python tests/benchmarks/communities.py large [--entities 100000] [--relations 600000]

The first takes documents out of copies of libraries that are there already, one at a time from the
same state, and counts the communities that are not there afterwards, and the seconds of deriving;
clustered exactly, and anchored. The second makes a graph from a seed, in which few entities have
most of the relations, clusters it and writes its reports, adds a hundred relations to it and counts
again what of that has to be done anew: anchored, less than a tenth, of the reports and of their
seconds. The second share is the larger one, for what changes are the large communities above all,
which rest on most sentences. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from statistics import mean

from sqlalchemy import select

from engine.storage.schema import migrate_schema
from graph.communities.incremental import (
    IncrementalCommunities,
    IncrementalState,
    count_astray,
    tie_strengths,
    update_communities,
)
from graph.communities.leiden import cluster_communities
from graph.communities.reports import EntityMention, ReportInput, parts_of, write_reports
from graph.model import (
    OCCURS_WITH,
    Chunk,
    Community,
    Entity,
    Evidence,
    Relation,
    Report,
    content_id,
)
from graph.pipeline import DeriveOptions, Way, communities_of, derive_graph
from graph.storage.database import Database, read_communities
from graph.storage.facts import delete_document, facts_generation, write_state
from graph.storage.schema import chunks

LIBRARIES = Path(os.environ.get("LOREGRAPH_BENCH", "/tmp/loregraph-bench"))  # noqa: S108
SEED = 20240601
WAYS: tuple[Way, ...] = ("exact", "anchored")


# --- one document less ------------------------------------------------------------------------


def removals(name: str, count: int) -> None:
    source = LIBRARIES / name / "library.db"
    if not source.exists():
        print(f"{name}: no library at {source}; tests/benchmarks/retrieval.py makes it")
        return
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            options = DeriveOptions(communities=way)
            whole = Path(folder) / "whole.db"
            copy(source, whole)
            derive_anew(whole, options)
            lost, written, seconds = [], [], []
            for document_id in random.Random(SEED).sample(documents_of(whole), count):  # noqa: S311
                path = Path(folder) / "less.db"
                copy(whole, path)
                one = without(path, document_id, options)
                lost.append(one[0])
                written.append(one[1])
                seconds.append(one[2])
                path.unlink()
            total = len(communities_in(whole))
            print(
                f"{name:<20} {way:<9} {total} communities; of {count} documents, one less takes "
                f"{mean(lost):.1f} away ({mean(lost) / total:.1%}, most {max(lost)}), "
                f"{mean(written):.1f} reports written, {mean(seconds):.2f} CPU s"
            )


def copy(source: Path, target: Path) -> None:
    """A library's database as of today's schema."""
    with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as old, sqlite3.connect(target) as new:
        old.backup(new)
    old.close()
    new.close()
    database = Database(f"sqlite:///{target}")
    with database.write() as connection:
        migrate_schema(connection)
    database.close()


def derive_anew(path: Path, options: DeriveOptions) -> None:
    database = Database(f"sqlite:///{path}")
    with database.write() as connection:
        write_state(connection, "generation", str(facts_generation(connection) + 1))
    derive_graph(database, options=options)
    database.close()


def documents_of(path: Path) -> list[str]:
    database = Database(f"sqlite:///{path}")
    with database.read() as connection:
        found = set(connection.execute(select(chunks.c.document_id)).scalars())
    database.close()
    return sorted(found)


def communities_in(path: Path) -> set[str]:
    database = Database(f"sqlite:///{path}")
    with database.read() as connection:
        found = {community.id for community in read_communities(connection)}
    database.close()
    return found


def without(path: Path, document_id: str, options: DeriveOptions) -> tuple[int, int, float]:
    """Communities that went with a document, reports written for it, and CPU seconds."""
    before = communities_in(path)
    database = Database(f"sqlite:///{path}")
    with database.write() as connection:
        delete_document(connection, document_id)
    began = time.process_time()
    derived = derive_graph(database, options=options)
    seconds = time.process_time() - began
    database.close()
    return len(before - communities_in(path)), derived.reports_written, seconds


# --- a large graph ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A synthetic graph: pairs of entity numbers, each standing in one sentence."""

    entities: int
    pairs: Sequence[tuple[int, int]]

    def edges(self) -> list[tuple[str, str, float]]:
        weights = Counter(self.pairs)
        return [(key(a), key(b), float(count)) for (a, b), count in sorted(weights.items())]

    def ids(self) -> list[str]:
        return [key(number) for number in range(self.entities)]


def key(number: int) -> str:
    return f"e{number:06}"


def made(entities: int, relations: int) -> Made:
    """Four in five relations lie within topics; both ends are drawn with weights 1/rank."""
    chance = random.Random(SEED)  # noqa: S311 - a fixed graph
    topics = max(1, entities // 60)
    size = entities // topics
    heavy = list(accumulate(1 / (rank + 1) for rank in range(size)))
    heads = list(accumulate(1 / (rank + 1) for rank in range(topics)))

    def one(topic: int) -> int:
        return topic + topics * chance.choices(range(size), cum_weights=heavy)[0]

    def drawn() -> tuple[int, int]:
        home = chance.randrange(topics)
        other = chance.choices(range(topics), cum_weights=heads)[0]
        far = other if chance.random() < 0.2 else home
        return one(home), one(far)

    pairs: list[tuple[int, int]] = []
    while len(pairs) < relations:
        a, b = drawn()
        if a != b:
            pairs.append((min(a, b), max(a, b)))
    return Made(entities=topics * size, pairs=pairs)


def large(entities: int, relations: int, added: int) -> None:
    graph = made(entities, relations)
    degrees = Counter(number for pair in graph.pairs for number in pair)
    top = sum(count for _, count in degrees.most_common(graph.entities // 100))
    print(
        f"{graph.entities} entities, {len(graph.pairs)} relations; the most related hundredth of "
        f"the entities has {top / (2 * len(graph.pairs)):.0%} of all ends"
    )
    edges = graph.edges()
    began = time.process_time()
    hierarchy = cluster_communities(graph.ids(), edges, seed=SEED)
    told("Leiden", began, f"{len(hierarchy)} communities")
    resting_on = report_input(graph, hierarchy, hierarchy, told={})
    gc.disable()  # as when a library is derived
    began = time.process_time()
    written = write_reports(resting_on, previous={})
    whole = told("reports", began, f"{len(written)} reports")
    known = {report.fingerprint: report for report in written}

    few = random.Random(SEED + 1).sample(graph.pairs, added)  # noqa: S311 - heavy ends are likelier
    more = replace(graph, pairs=[*graph.pairs, *((a, few[-n][1]) for n, (a, _) in enumerate(few))])
    more = replace(more, pairs=[(min(p), max(p)) for p in more.pairs if p[0] != p[1]])
    touched = {key(number) for pair in more.pairs[len(graph.pairs) :] for number in pair}
    began = time.process_time()
    kept = stay(
        hierarchy,
        more,
        anchor=IncrementalState(astray=count_astray(hierarchy, tie_strengths(edges))),
    )
    told(f"{added} relations more: anchored", began, f"{len(kept)} communities")
    for name, now in (
        ("anchored", kept),
        ("exact", cluster_communities(more.ids(), more.edges(), seed=SEED)),
    ):
        fresh = {one.id for one in now} - {one.id for one in hierarchy}
        again = communities_of(now, touched, fresh=fresh)
        anew = {one.id for one in again}
        held = {one.community_id: one for one in written if one.community_id not in anew}
        resting_on = report_input(more, again, now, told=held)
        began = time.process_time()
        found = write_reports(resting_on, previous=known)
        count = sum(report.fingerprint not in known for report in found)
        seconds = told(
            f"  reports, {name}",
            began,
            f"{len(fresh)} communities are new, {count} reports written",
        )
        print(
            f"    {count / len(written):.1%} of all reports, {seconds / whole:.1%} of their seconds"
        )
        if name == "anchored" and count >= 0.1 * len(written):
            raise SystemExit(
                "a hundred relations had more than a tenth of the reports written anew"
            )


def stay(
    hierarchy: Sequence[Community], graph: Made, *, anchor: IncrementalState
) -> Sequence[Community]:
    found = update_communities(hierarchy, graph.ids(), graph.edges(), anchor=anchor, seed=SEED)
    if not isinstance(found, IncrementalCommunities):
        raise SystemExit("a hundred relations are too much drift")
    return found.communities


def report_input(
    graph: Made,
    clusters: Iterable[Community],
    every: Sequence[Community],
    *,
    told: Mapping[str, Report],
) -> ReportInput:
    """What the reports of some communities rest on: sentences of two entities, 20 to a chunk."""
    wanted = tuple(clusters)
    parts = parts_of(every)
    inside = {one for cluster in wanted if cluster.id not in parts for one in cluster.entity_ids}
    numbers = [n for n, pair in enumerate(graph.pairs) if {key(pair[0]), key(pair[1])} & inside]
    texts = {number // 20: chunk_text(graph, number // 20) for number in numbers}
    places: dict[tuple[int, int], list[Evidence]] = {}
    mentions = []
    for number in numbers:
        pair, at = graph.pairs[number], texts[number // 20][1][number % 20]
        chunk_id = f"k{number // 20:06}"
        places.setdefault(pair, []).append(Evidence(chunk_id=chunk_id, start=at, end=at + 60))
        mentions += [
            EntityMention(chunk_id=chunk_id, start=at, end=at + 7, entity_id=key(end))
            for end in pair
        ]
    return ReportInput(
        communities=wanted,
        entities={one: entity(one) for one in graph.ids()},
        parts=parts,
        told=told,
        relations=tuple(
            Relation(
                id=content_id("r", key(pair[0]), key(pair[1])),
                source_id=key(pair[0]),
                predicate=OCCURS_WITH,
                target_id=key(pair[1]),
                weight=float(len(found)),
                evidences=tuple(found),
            )
            for pair, found in sorted(places.items())
        ),
        chunks={f"k{number:06}": chunk_of(number, text) for number, (text, _) in texts.items()},
        mentions=tuple(mentions),
    )


def chunk_text(graph: Made, number: int) -> tuple[str, list[int]]:
    text, starts = "", []
    for place in range(number * 20, min(len(graph.pairs), number * 20 + 20)):
        starts.append(len(text))
        a, b = graph.pairs[place]
        text += f"Keeper {key(a)} met keeper {key(b)} at lamp {place} of the long quay. "
    return text, starts


def chunk_of(number: int, text: str) -> Chunk:
    document, position = f"d{number // 10:05}", number % 10
    start = position * 2000  # more than a chunk's length
    return Chunk(
        id=f"k{number:06}",
        document_id=document,
        title="",
        text=text,
        start=start,
        end=start + len(text),
        position=position,
    )


def entity(entity_id: str) -> Entity:
    return Entity(
        id=entity_id,
        name=f"Keeper {entity_id}",
        type="PERSON",
        keys=(entity_id,),
        aliases=(),
        mention_count=1,
        document_count=1,
    )


def told(what: str, began: float, result: str) -> float:
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<32} {seconds:8.1f} CPU s  peak {peak:6.0f} MB  {result}", flush=True)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    removing = commands.add_parser("removals")
    removing.add_argument("libraries", nargs="*", default=["musique_train100", "2wiki_dev300"])
    removing.add_argument("--documents", type=int, default=20)
    big = commands.add_parser("large")
    big.add_argument("--entities", type=int, default=100_000)
    big.add_argument("--relations", type=int, default=600_000)
    big.add_argument("--added", type=int, default=100)
    options = parser.parse_args()
    if options.command == "large":
        large(options.entities, options.relations, options.added)
        return
    for name in options.libraries:
        removals(name, options.documents)


if __name__ == "__main__":
    main()
