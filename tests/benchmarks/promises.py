"""Promises of a library that changes, held to many more cases than the tests look at.

    python tests/benchmarks/promises.py sequences 1000 1
    python tests/benchmarks/promises.py kills 200 1
    python tests/benchmarks/promises.py modularity 500

`sequences` adds, changes, removes and describes documents in random batches on one warm engine;
afterwards every table but counters is that of a fresh build, and no word that was removed stands in
any file. `kills` has a process do that and ends it by SIGKILL at a random moment; what it left is
sound, holds each document as before or after the batch in hand, and is completed to what a fresh
build is. `modularity` changes documents beside more entities than are clustered exactly, and
compares the communities with fresh ones. Each tells what failed by its seed and ends with 1.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from hashed_embedding import open_light
from llama_index.core import Document
from sqlalchemy import func, select, text

from engine import KnowledgeEngine
from engine.storage.graph_api import metadata
from graph.communities.incremental import ANCHOR
from graph.communities.leiden import cluster_communities, community_depth, partition_at_level
from graph.linking import read_edges
from graph.model import Chunk, Community, Extraction, Mention, Statement
from graph.pipeline import FEW_ENTITIES, DeriveOptions, derive_graph
from graph.resolution import incremental
from graph.storage.database import Database, read_communities
from graph.storage.facts import delete_document, put_chunks, put_extractions, read_state
from graph.storage.schema import entities
from graph.storage.schema import metadata as graph_tables

COUNTERS = {"state", "usage"}
"""Tables of which rows tell how a library came to be, not what it holds."""

NAMES = (
    *("Ada Brine", "Dr. Ada Brine", "Captain Brine", "A. Brine", "Orrin Vale", "Vale", "Ada Vale"),
    *("Tomas Reed", "Tomás Reed", "Reed", "Gull Quay Society", "GQS", "Gull Quay", "Port Merrow"),
    *("the Petrel", "Petrel Shipping Company", "Petrel Shipping Co.", "Mercury", "New Merrow"),
)
ENGLISH = (
    "{0} met {1} at {2}.",
    "{0} ({1}) sold {2} to {3}.",
    "{0}, also known as {1}, was born in {2}.",
    "{0} works for the {1}. {2} disagrees.",
    "The {0} ({1}) was founded by {2}.",
    "{0} wrote to {1} about {2} and {3}.",
)
HAN_NAMES = (
    *("林若溪", "若溪", "林博士", "沈望", "沈望之", "海鸥码头", "海鸥协会", "海协", "默罗港"),
    *("托马斯·里德", "里德", "汤姆斯·里德", "水星", "海燕号"),
)
CHINESE = (
    "{0}在{1}认识了{2}。",
    "{0}（{1}）把{2}卖给了{3}。",
    "{0}，又名{1}，出生于{2}。",
    "{0}担任{1}的会长，{2}反对。",
    "{0}（Lin Ruoxi）与{1}写信给{2}。",
)
IDS = tuple(f"letter {number}" for number in range(8))


@dataclass(slots=True)
class Model:
    """What a library should hold, and the marks of all texts that were ever in it."""

    texts: dict[str, str] = field(default_factory=dict)
    given: dict[str, dict[str, str]] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    """By a word that no other text has: that text."""

    def gone(self) -> list[str]:
        held = set(self.texts.values())
        return [mark for mark, said in self.marks.items() if said not in held]


Step = tuple[str, Mapping[str, str]]
"""A deed, and by document a text ("" for one that goes) or a topic (of `describe`)."""


def written(chance: random.Random, model: Model) -> str:
    """Return a text of a few sentences with a name that no other text has."""
    number = len(model.marks)
    if chance.random() < 0.5:
        mark, names, frames = f"Quocks{number}x", NAMES, ENGLISH
        own = f"Zephyrine {mark}"
    else:
        mark, names, frames = chr(0x6B00 + number) + chr(0x7100 + number), HAN_NAMES, CHINESE
        own = f"林{mark}"
    said = []
    for place in range(chance.randint(1, 4)):
        chosen = chance.sample(names, 4)
        if place == 0:
            chosen[chance.randrange(3)] = own
        said.append(chance.choice(frames).format(*chosen))
    gap = chance.choice(("", " ", "\n\n"))
    found = chance.choice(("", "# Letters\n\n", "# 信件\n\n")) + gap.join(said)
    model.marks[mark] = found
    return found


def drawn(chance: random.Random, model: Model) -> Step:
    """Return a random step from what a model holds."""
    deed = chance.choices(("put", "remove", "describe"), weights=(6, 3, 1))[0]
    held = sorted(model.texts)
    if deed == "put" or not held:
        some = chance.sample(IDS, chance.choice((1, 1, 2, 4)))
        return "put", {one: written(chance, model) for one in some}
    if deed == "remove":
        return deed, dict.fromkeys(
            chance.sample(held, min(len(held), chance.choice((1, 1, 3)))), ""
        )
    return deed, {chance.choice(held): chance.choice(("sea", "land"))}


def note(model: Model, step: Step) -> None:
    """Do a step in the model."""
    deed, said = step
    for one, what in said.items():
        if deed == "put":
            model.texts[one] = what
        elif deed == "remove":
            del model.texts[one]
            model.given.pop(one, None)
        else:
            model.given[one] = {"topic": what}


def take(engine: KnowledgeEngine, step: Step) -> None:
    """Do a step in a library; again is as once."""
    deed, said = step
    if deed == "put":
        engine.add([Document(text=what, id_=one) for one, what in said.items()])
    elif deed == "remove":
        held = {row.id for row in engine.documents()}
        engine.remove(sorted(held & said.keys()))
    else:
        for one, what in said.items():
            engine.describe(one, {"topic": what})


def build(engine: KnowledgeEngine, model: Model) -> None:
    """Add what a model holds to an empty library."""
    engine.add([Document(text=said, id_=one) for one, said in sorted(model.texts.items())])
    for one, told in sorted(model.given.items()):
        engine.describe(one, told)


def rows(engine: KnowledgeEngine) -> dict[str, list[str]]:
    """Return every row of every table that is not a counter."""
    found = {}
    with engine._library.read() as connection:
        for table in metadata.sorted_tables:
            if table.name not in COUNTERS:
                query = text(f"SELECT * FROM {table.name}")  # noqa: S608 - a name of the schema
                found[table.name] = sorted(repr(tuple(row)) for row in connection.execute(query))
    return found


def differences(engine: KnowledgeEngine, model: Model, folder: Path) -> list[str]:
    """Compare a library with a fresh build; return a line for each table that differs."""
    engine.retrieve("Who met Ada Brine?")
    here = rows(engine)
    with open_light(folder) as fresh:
        build(fresh, model)
        fresh.retrieve("Who met Ada Brine?")
        there = rows(fresh)
    return [
        f"{name}: only here {sorted(set(here[name]) - set(there[name]))[:2]}, "
        f"only fresh {sorted(set(there[name]) - set(here[name]))[:2]}"
        for name in here
        if here[name] != there[name]
    ]


def left_over(folder: Path, marks: Sequence[str]) -> list[str]:
    """Return a line for each file that has a word of a removed text."""
    found = []
    for file in sorted(folder.rglob("*")):
        content = file.read_bytes().lower() if file.is_file() else b""
        found += [f"{mark!r} in {file.name}" for mark in marks if mark.lower().encode() in content]
    return found


def sequence(seed: int, folder: Path) -> list[str]:
    chance, model = random.Random(seed), Model()  # noqa: S311 - the same every time
    with open_light(folder / "walked") as engine:
        for _ in range(chance.randint(3, 12)):
            step = drawn(chance, model)
            take(engine, step)
            note(model, step)
            if chance.random() < 0.3:
                engine.retrieve("海鸥码头 and Orrin Vale")
        wrong = differences(engine, model, folder / "fresh")
        wrong += left_over(folder / "walked", model.gone())
    return wrong + left_over(folder / "walked", model.gone())


# --- kill −9 ----------------------------------------------------------------------------------


def killed(seed: int, folder: Path) -> list[str]:
    chance, model = random.Random(seed), Model()  # noqa: S311 - the same every time
    states, steps = [dict(model.texts)], list[Step]()
    for _ in range(8):
        steps.append(drawn(chance, model))
        note(model, steps[-1])
        states.append(dict(model.texts))
    done = ended_at(
        steps, folder / "library", at=chance.randrange(len(steps)), after=chance.uniform(0, 0.25)
    )
    before, after = states[done], states[min(done + 1, len(steps))]
    with open_light(folder / "library") as engine:
        wrong = engine.problems()
        held = {row.id: engine.document_text(row.id) for row in engine.documents()}
        for one in {*held, *before, *after}:
            if held.get(one) not in (before.get(one), after.get(one)):
                wrong.append(f"after {done} steps {one} is {held.get(one)!r}")
        for step in steps[done:]:
            take(engine, step)
        wrong += differences(engine, model, folder / "fresh") + engine.problems()
    return wrong + left_over(folder / "library", model.gone())


def ended_at(steps: Sequence[Step], folder: Path, *, at: int, after: float) -> int:
    """Kill a child so long after it has taken `at` of all steps; return how many it has taken."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, b"b")
            with open_light(folder) as engine:
                for step in steps:
                    take(engine, step)
                    os.write(writing, b"d")
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        for _ in range(at + 1):
            pipe.read(1)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return at + len(pipe.read())


# --- modularity -------------------------------------------------------------------------------

SYLLABLES = (
    *("ka", "lo", "mi", "ran", "dor", "vel", "su", "tha", "ne", "rik"),
    *("bo", "wen", "sil", "gar", "pho", "tam", "ur", "le", "dis", "qua"),
)
TOPIC = 25
"""Names of one topic."""
DOCUMENTS = 4_000


def name_of(number: int) -> str:
    """Return one word for a number, far from those of numbers near it."""
    mixed = number * 7_919 % 160_000
    return "".join(SYLLABLES[mixed // 20**place % 20] for place in range(4)).title()


def facts(chance: random.Random, names: int) -> Extraction:
    """Return the facts of a text of ten names: eight of one topic, two of anything."""
    first = chance.randrange(names // TOPIC) * TOPIC
    chosen = [first + int(TOPIC * chance.random() ** 2) for _ in range(8)]
    chosen += [chance.randrange(names) for _ in range(2)]
    chance.shuffle(chosen)
    words, at = [name_of(number) for number in dict.fromkeys(chosen)], 0
    found = []
    for word in words:
        found.append(
            Mention(start=at, end=at + len(word), surface=word, key=word.lower(), type="NAME")
        )
        at += len(word) + 7
    said = {
        Statement(start=a.start, end=b.end, subject=a.key, predicate="knows", object=b.key)
        for a, b in pairwise(found)
    }
    return Extraction(mentions=tuple(found), statements=tuple(sorted(said)))


def put(database: Database, document_ids: Sequence[str], found: Callable[[], Extraction]) -> None:
    """Give each document one chunk of new facts."""
    with database.write() as connection:
        for one in document_ids:
            extraction = found()
            said = " knows ".join(mention.surface for mention in extraction.mentions)
            chunk = Chunk(id=f"{one}#0", document_id=one, title="", text=said, end=len(said))
            delete_document(connection, one)
            put_chunks(connection, [chunk])
            put_extractions(connection, {chunk.id: extraction}, extractor="made")


def modularity(parts: Sequence[Community], edges: Sequence[tuple[str, str, float]]) -> float:
    """Return Newman's modularity of a partition."""
    home = {one: part.id for part in parts for one in part.entity_ids}
    inside, ends, total = 0.0, defaultdict[str, float](float), 0.0
    for source, target, weight in edges:
        total += weight
        inside += weight * (home[source] == home[target])
        ends[home[source]] += weight
        ends[home[target]] += weight
    return inside / total - sum((each / (2 * total)) ** 2 for each in ends.values())


def shares(database: Database, options: DeriveOptions) -> Iterator[float]:
    """Return kept by fresh modularity, of the coarsest and of the finest partition."""
    with database.read() as connection:
        kept, edges = read_communities(connection), read_edges(connection)
        ids = list(connection.execute(select(entities.c.id).order_by(entities.c.id)).scalars())
    fresh = cluster_communities(ids, edges, max_size=options.max_community_size, seed=options.seed)
    for level in (0, max(community_depth(kept), community_depth(fresh))):
        old, new = (modularity(partition_at_level(one, level), edges) for one in (kept, fresh))
        yield old / new


def drifted(changes: int, seed: int) -> list[str]:
    chance, options = random.Random(seed), DeriveOptions()  # noqa: S311 - the same every time
    database = Database("sqlite://")
    with database.write() as connection:
        graph_tables.create_all(connection)
    held = [f"d{number:05}" for number in range(DOCUMENTS)]
    names = 3 * DOCUMENTS
    put(database, held, lambda: facts(chance, names))
    derive_graph(database, options=options)
    with database.read() as connection:
        count = connection.execute(select(func.count()).select_from(entities)).scalar_one()
    if count <= FEW_ENTITIES:
        raise SystemExit(f"{count} entities are clustered exactly; more than {FEW_ENTITIES} needed")
    least = [9.0, 9.0]
    for number in range(1, changes + 1):
        change(database, held, chance, number, names)
        derive_graph(database, options=options)
        if number % 13 == 0 or number == changes:  # not in step with clustering anew
            now = list(shares(database, options))
            least = [min(pair) for pair in zip(least, now, strict=True)]
            with database.read() as connection:
                state = read_state(connection, ANCHOR)
            told = " ".join(f"{one:.4f}" for one in now)
            print(f"{number} changes, {count} entities: {told} {state}", flush=True)
    database.close()
    return [f"{one:.4f} of a fresh modularity" for one in least if one < 0.98]


def change(
    database: Database, held: list[str], chance: random.Random, number: int, names: int
) -> None:
    """Add, remove or rewrite one document."""
    deed = chance.choice(("add", "remove", "rewrite"))
    if deed == "add":
        held.append(f"new{number:05}")
        put(database, held[-1:], lambda: facts(chance, names))
    elif deed == "remove":
        with database.write() as connection:
            delete_document(connection, held.pop(chance.randrange(len(held))))
    else:
        put(database, [chance.choice(held)], lambda: facts(chance, names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("sequences", "kills"):
        command = commands.add_parser(name)
        command.add_argument("count", type=int)
        command.add_argument("seed", type=int)
    command = commands.add_parser("modularity")
    command.add_argument("count", type=int, metavar="changes")
    command.add_argument("seed", type=int, nargs="?", default=1)
    chosen = parser.parse_args()
    if chosen.command == "modularity":
        failed = drifted(chosen.count, chosen.seed)
        print("\n".join(failed) or "all at least .98")
        raise SystemExit(bool(failed))
    run = {"sequences": sequence, "kills": killed}[chosen.command]
    incremental.MOST = 0  # names of a small library, too, are resolved where they changed alone
    wrong = 0
    for number, seed in enumerate(range(chosen.seed, chosen.seed + chosen.count)):
        if number and number % 20 == 0:
            print(f"{number} {chosen.command}, {wrong} with a difference", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found = run(seed, Path(folder))
        wrong += bool(found)
        for line in found:
            print(f"seed {seed}: {line}", flush=True)
    print(f"{chosen.count} {chosen.command}, {wrong} with a difference")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
