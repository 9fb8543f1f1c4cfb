"""A graph of any size made from a seed, with communities in three levels, reports and evidence.

For tests of the graph page and its benchmark. Names are invented; sentences are as long as real
ones (about 150 characters), one in six is Chinese.
"""

from __future__ import annotations

import random

from graph.model import (
    Chunk,
    Community,
    Entity,
    Evidence,
    Finding,
    GraphExport,
    Relation,
    Report,
    content_id,
)

TYPES = ("PERSON", "ORGANISATION", "PLACE", "EVENT", "CONCEPT", "NAME")
PREDICATES = ("occurs with", "knows", "leads", "is part of", "wrote", "visited", "paid", "built")
SYLLABLES = (
    *("ka", "lo", "mi", "ran", "dor", "vel", "su", "tha", "ne", "rik", "bo", "wen", "sil"),
    *("gar", "pho", "tam", "ur", "le", "dis", "qua"),
)
HAN = "海燕站林若溪安斯加港沈望顾明冷阶陆听澜临大学托兰航灯塔潮汐声学船队"
WORDS = (
    *("the", "station", "harbour", "tide", "winter", "report", "signal", "crew", "older"),
    *("letters", "cable", "measured", "again", "before", "storm", "found", "under", "keeper"),
    *("ledger", "third", "quiet", "northern", "agreed", "wrote", "later", "council"),
)


def generated(count: int, *, seed: int = 7, relations_each: int = 3) -> GraphExport:
    """`count` entities; each is linked with about `relations_each` others, mostly near ones."""
    chance = random.Random(seed)  # noqa: S311 - the same graph every time
    names = _names(count, chance)
    ids = [content_id("e", name) for name in names]
    leaf_of = [number // 14 for number in range(count)]
    relations, chunks = _relations(names, ids, leaf_of, chance=chance, total=count * relations_each)
    appearances: dict[str, set[str]] = {}
    for relation in relations:
        for end in (relation.source_id, relation.target_id):
            places = {evidence.chunk_id for evidence in relation.evidences}
            appearances.setdefault(end, set()).update(places)
    entities = [
        Entity(
            id=ids[number],
            name=name,
            type=TYPES[min(int(chance.expovariate(0.7)), len(TYPES) - 1)],
            keys=(name.casefold(),),
            aliases=(name, f"{name} of old") if number % 5 == 0 else (name,),
            mention_count=1 + int(chance.paretovariate(1.2)) % 40,
            document_count=1 + number % 7,
            description=f"{name} is one of many." if number % 9 == 0 else "",
        )
        for number, name in enumerate(names)
    ]
    communities = _communities(ids, leaf_of)
    return GraphExport(
        entities=tuple(sorted(entities, key=lambda one: one.id)),
        relations=tuple(sorted(relations, key=lambda one: one.id)),
        communities=tuple(sorted(communities, key=lambda one: (one.level, one.id))),
        reports=_reports(communities, dict(zip(ids, names, strict=True)), relations),
        chunks=chunks,
        appearances={key: tuple(sorted(value)) for key, value in sorted(appearances.items())},
    )


def _names(count: int, chance: random.Random) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        if chance.random() < 0.15:
            name = "".join(chance.choice(HAN) for _ in range(chance.randint(2, 6)))
        else:
            name = " ".join(
                "".join(chance.choice(SYLLABLES) for _ in range(chance.randint(2, 3))).title()
                for _ in range(chance.randint(1, 2))
            )
        found.setdefault(name if name not in found else f"{name} {len(found)}")
    return list(found)


def _relations(
    names: list[str],
    ids: list[str],
    leaf_of: list[int],
    *,
    chance: random.Random,
    total: int,
) -> tuple[list[Relation], dict[str, Chunk]]:
    """Two thirds within a leaf community, most others nearby; heads of leaves are linked most."""
    count, found, chunks = len(names), {}, {}
    for number in range(total):
        a = chance.randrange(count)
        head = 14 * leaf_of[a]
        draw = chance.random()
        if draw < 0.4:
            b = head
        elif draw < 0.67:
            b = min(count - 1, head + chance.randrange(14))
        elif draw < 0.95:
            b = 14 * ((leaf_of[a] + chance.randint(-12, 12)) % (leaf_of[-1] + 1))
        else:
            b = chance.randrange(count)
        predicate = PREDICATES[int(chance.random() ** 2 * len(PREDICATES))]
        key = (min(ids[a], ids[b]), predicate, max(ids[a], ids[b]))
        if a == b or key in found:
            continue
        places = tuple(
            _sentence(names[a], names[b], chance=chance, chunks=chunks)
            for _ in range(min(4, int(chance.paretovariate(1.5))))
        )
        found[key] = Relation(
            id=content_id("r", *key),
            source_id=key[0],
            predicate=predicate,
            target_id=key[2],
            weight=float(len(places)) + number % 3,
            evidences=tuple(sorted(places)),
        )
    return list(found.values()), chunks


def _sentence(a: str, b: str, *, chance: random.Random, chunks: dict[str, Chunk]) -> Evidence:
    if chance.random() < 1 / 6:
        said = "".join(chance.choice(HAN) for _ in range(40))
        text = f"{a}与{b}在{said}。"
    else:
        said = " ".join(chance.choice(WORDS) for _ in range(chance.randint(8, 28)))
        text = f"{a} and {b}: {said}."
    number = len(chunks)
    key = f"c{number:07}"
    document = f"docs/{number // 60:04}.md"
    chunks[key] = Chunk(
        id=key, document_id=document, title=f"Ledger {number // 60}", text=text, end=len(text)
    )
    return Evidence(chunk_id=key, start=0, end=len(text))


def _communities(ids: list[str], leaf_of: list[int]) -> list[Community]:
    """Leaves of 14, sixes of leaves above them, and tops of unlike size."""
    middle_of = [leaf // 6 for leaf in leaf_of]
    edges = _tops(middle_of[-1] + 1)
    top_of = [next(n for n, end in enumerate(edges) if middle < end) for middle in middle_of]
    found, parents = [], {}
    for level, groups in enumerate((top_of, middle_of, leaf_of)):
        members: dict[int, list[str]] = {}
        for number, group in enumerate(groups):
            members.setdefault(group, []).append(ids[number])
        for group, inside in sorted(members.items()):
            key = content_id("c", str(level), str(group))
            parent = parents.get(inside[0])
            found.append(
                Community(id=key, level=level, parent_id=parent, entity_ids=tuple(sorted(inside)))
            )
        for one in (each for each in found if each.level == level):
            parents.update(dict.fromkeys(one.entity_ids, one.id))
    return found


def _tops(middles: int) -> list[int]:
    """Where each top community ends: the first are the largest."""
    ends, at, size = [], 0, max(1, middles // 8)
    while at < middles:
        at = min(middles, at + size)
        ends.append(at)
        size = max(1, int(size * 0.9))
    return ends


def _reports(
    communities: list[Community], names: dict[str, str], relations: list[Relation]
) -> tuple[Report, ...]:
    of: dict[str, list[Relation]] = {}
    for relation in relations:
        of.setdefault(relation.source_id, []).append(relation)
    found = []
    for number, one in enumerate(communities):
        inside = [relation for key in one.entity_ids[:40] for relation in of.get(key, ())[:1]][:4]
        title = ", ".join(names[key] for key in one.entity_ids[:2])
        found.append(
            Report(
                community_id=one.id,
                level=one.level,
                title=f"{title} and {names[one.entity_ids[-1]]}",
                summary=f"A community about {title}." if number % 2 else "",
                rating=float(number % 10),
                findings=tuple(
                    Finding(text="What is said", evidences=each.evidences[:2]) for each in inside
                ),
                fingerprint=one.id,
            )
        )
    return tuple(found)
