"""Parts of a graph, and files for other programs: GraphML and JSON.

A part (around an entity, inside a community, under an answer, or what some documents say) is a
`GraphExport` like the whole, so every export writes it alike. Equal graphs give equal bytes:
everything is sorted. Chunk texts stay out; evidences name their chunk and span.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from ..communities.descriptions import join_descriptions
from ..communities.leiden import community_depth, partition_at_level
from ..errors import GraphInputError
from ..explore.communities import SeenCommunities
from ..explore.visible_graph import QuotedStatement, VisibleGraph, description_of, said_of_relations
from ..model import (
    OCCURS_WITH,
    Chunk,
    Claim,
    Community,
    Entity,
    Evidence,
    Finding,
    GraphExport,
    PlacedClaim,
    Relation,
    Report,
)
from ..resolution.review import find_key
from ..storage.database import chunks_of_documents, placed_claims
from ..storage.facts import rows_in
from ..storage.schema import claims, descriptions, links

MAX_HOPS = 6
SUGGESTIONS = 5
MIN_LIKENESS = 60.0
"""Minimum similarity (rapidfuzz WRatio, 0–100) for a suggested title."""

ANSWER_ENTITIES = 120
"""Maximum entities of an answer's subgraph: cited first, then heaviest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Numbered source of an answer: `text` in chunk `chunk_id` of document `title`."""

    number: int
    title: str
    text: str
    chunk_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgraph:
    """A part of a graph with what it is.

    `about` says in a line what was chosen; `centre` is the id of the entity that it is around, ""
    for none; `strong` are the ids of what matters most in it; `question`, `answer` and `quotes`
    are shown with it where it is what an answer rests on.
    """

    export: GraphExport
    about: str = ""
    centre: str = ""
    strong: tuple[str, ...] = ()
    question: str = ""
    answer: str = ""
    quotes: tuple[Quote, ...] = ()


def entity_weights(export: GraphExport) -> dict[str, float]:
    """Return entity weights by id for drawing: relations, and a little for each mention."""
    weight = {entity.id: 0.1 * entity.mention_count for entity in export.entities}
    for relation in sorted(export.relations, key=lambda r: r.id):
        for entity_id in (relation.source_id, relation.target_id):
            if entity_id in weight:
                weight[entity_id] += relation.weight
    return weight


def neighbourhood_subgraph(
    export: GraphExport, name: str, *, hops: int = 1, limit: int = 300
) -> Subgraph:
    """Return the entity of this name or id and its neighbourhood within `hops`.

    At most `limit` entities: nearer before farther, and among equally near ones those that the
    strongest relations lead to.

    Raises:
        GraphInputError: nothing, or more than one thing, has this name (the message names what
            comes near), or a number is out of range.
    """
    if not 0 <= hops <= MAX_HOPS:
        raise GraphInputError(f"hops must be 0 to {MAX_HOPS}, not {hops!r}")
    if limit < 1:
        raise GraphInputError(f"limit must be at least 1, not {limit!r}")
    entity = entity_called(export, name)
    chosen = _reached(export, entity.id, hops=hops, limit=limit)
    steps = "1 step" if hops == 1 else f"{hops} steps"
    return Subgraph(
        export=restrict_graph(export, chosen),
        about=f"Within {steps} of {entity.name}",
        centre=entity.id,
        strong=(entity.id,),
    )


def part_of_community(export: GraphExport, wanted: str | int) -> Subgraph:
    """One community with all communities inside it.

    `wanted` is its id, its number in `listed`, or the title of its report.

    Raises:
        GraphInputError: there is none such; the message names titles that come near.
    """
    community = community_called(export, wanted)
    report = next((one for one in export.reports if one.community_id == community.id), None)
    title = report.title if report is not None else community.id
    return Subgraph(
        export=restrict_graph(export, community.entity_ids), about=f"Community: {title}"
    )


def part_of_answer(
    export: GraphExport,
    *,
    question: str,
    answer: str,
    quotes: Sequence[Quote],
    read: Iterable[str] = (),
    names: Iterable[str] = (),
) -> Subgraph:
    """Return the subgraph behind an answer.

    Args:
        export: the whole graph, with `appearances`.
        question: what was asked.
        answer: what was answered.
        quotes: what the answer cites.
        read: ids of the chunks that were read for it, best first.
        names: what the search went through on its way to them, as it is written there.

    Entities named in the quotes come first and are `strong`; then those on the search's way, then
    the others that stand in the chunks, the heaviest first.
    """
    quoted = {quote.chunk_id for quote in quotes}
    strong = _named_in(export, quotes)
    chunks = quoted | set(read)
    weight = entity_weights(export)
    way = _called_any(export, names)
    standing = {
        entity_id
        for entity_id, places in sorted(export.appearances.items())
        if not chunks.isdisjoint(places)
    }
    order = sorted(
        standing | strong | way,
        key=lambda one: (one not in strong, one not in way, -weight[one], one),
    )[:ANSWER_ENTITIES]
    return Subgraph(
        export=restrict_graph(export, order),
        about="What the answer rests on",
        strong=tuple(one for one in order if one in strong),
        question=question,
        answer=answer,
        quotes=tuple(quotes),
    )


def entity_called(export: GraphExport, name: str) -> Entity:
    """Return the entity of this id, name or alias.

    Raises:
        GraphInputError: none, or several; the message names what comes near.
    """
    by_id = {entity.id: entity for entity in export.entities}
    if name in by_id:
        return by_id[name]
    key = find_key(name, export.entities)
    return next(entity for entity in export.entities if key in entity.keys)


def list_communities(export: GraphExport) -> list[Community]:
    """List the communities of several entities: by level, heaviest relations first."""
    weight: dict[str, float] = defaultdict(float)
    for relation in export.relations:
        weight[relation.source_id] += relation.weight
        weight[relation.target_id] += relation.weight

    def order(community: Community) -> tuple[int, float, str]:
        return (
            community.level,
            -sum(weight.get(e, 0.0) for e in community.entity_ids),
            community.id,
        )

    return sorted((one for one in export.communities if len(one.entity_ids) > 1), key=order)


def community_called(export: GraphExport, wanted: str | int) -> Community:
    """Return the community of this id, number in `listed` (from 1), or title.

    Of several with one title the first in `listed` is meant.

    Raises:
        GraphInputError: there is none such.
    """
    text = str(wanted).strip()
    by_id = {community.id: community for community in export.communities}
    if text in by_id:
        return by_id[text]
    order = list_communities(export)
    if re.fullmatch(r"#?[0-9]{1,9}", text):
        number = int(text.lstrip("#"))
        if 1 <= number <= len(order):
            return order[number - 1]
        raise GraphInputError(f"no community {number}: give a number from 1 to {len(order)}")
    titles: dict[str, Community] = {}
    by_title = {report.community_id: report.title for report in export.reports}
    for community in order:
        titles.setdefault(_folded(by_title.get(community.id, "")), community)
    if text and _folded(text) in titles:
        return titles[_folded(text)]
    near = _near(text, [by_title[one.id] for one in order if by_title.get(one.id)])
    advice = f"; similar titles are {', '.join(map(repr, near))}" if near else ""
    raise GraphInputError(f"no community has the id, number or title {text!r}{advice}")


def restrict_graph(export: GraphExport, entity_ids: Iterable[str]) -> GraphExport:
    """Restrict an exported graph to these entities.

    Relations between two of them stay; communities keep those of their members that are there, and
    go where none is; a report goes with its community, and is still about the whole of it.
    """
    chosen = set(entity_ids)
    relations = tuple(
        one for one in export.relations if one.source_id in chosen and one.target_id in chosen
    )
    communities = tuple(
        replace(one, entity_ids=tuple(e for e in one.entity_ids if e in chosen))
        for one in export.communities
        if not chosen.isdisjoint(one.entity_ids)
    )
    left = {community.id for community in communities}
    reports = tuple(report for report in export.reports if report.community_id in left)
    appearances = {key: value for key, value in export.appearances.items() if key in chosen}
    claims = tuple(one for one in export.claims if one.subject_id in chosen)
    needed = {place.chunk_id for one in relations for place in one.evidences}
    needed |= {place.chunk_id for one in reports for f in one.findings for place in f.evidences}
    needed |= {chunk_id for places in appearances.values() for chunk_id in places}
    needed |= {one.chunk_id for one in claims}
    return GraphExport(
        entities=tuple(one for one in export.entities if one.id in chosen),
        relations=relations,
        communities=communities,
        reports=reports,
        claims=claims,
        chunks={key: chunk for key, chunk in export.chunks.items() if key in needed},
        appearances=appearances,
    )


def _reached(export: GraphExport, start: str, *, hops: int, limit: int) -> list[str]:
    """Search breadth-first, each ring by strongest tie to earlier ones."""
    ties: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for relation in sorted(export.relations, key=lambda r: r.id):
        ties[relation.source_id][relation.target_id] += relation.weight
        ties[relation.target_id][relation.source_id] += relation.weight
    found, ring = {start}, [start]
    order = [start]
    for _ in range(hops):
        strength: dict[str, float] = defaultdict(float)
        for one in ring:
            for other, weight in ties[one].items():
                if other not in found:
                    strength[other] = max(strength[other], weight)
        ring = sorted(strength, key=lambda one: (-strength[one], one))[: limit - len(order)]
        found.update(ring)
        order += ring
    return order


def _named_in(export: GraphExport, quotes: Sequence[Quote]) -> set[str]:
    """Return entities of the quotes' chunks named in the quotes."""
    texts: dict[str, str] = defaultdict(str)
    for quote in quotes:
        texts[quote.chunk_id] += f" {_folded(quote.text)}"
    found: set[str] = set()
    for entity in export.entities:
        said = [texts[one] for one in export.appearances.get(entity.id, ()) if one in texts]
        if said:
            names = [_folded(name) for name in (entity.name, *entity.aliases, *entity.keys)]
            if any(name and name in text for name in names for text in said):
                found.add(entity.id)
    return found


def _called_any(export: GraphExport, names: Iterable[str]) -> set[str]:
    wanted = {_folded(name) for name in names}
    return {
        entity.id
        for entity in export.entities
        if not wanted.isdisjoint(map(_folded, (entity.name, *entity.aliases)))
    }


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _near(text: str, titles: Sequence[str]) -> list[str]:
    from rapidfuzz import fuzz, process, utils

    scored = process.extract(
        text,
        sorted(set(titles)),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        limit=SUGGESTIONS,
        score_cutoff=MIN_LIKENESS,
    )
    return [match for match, *_ in sorted(scored, key=lambda one: (-one[1], one[0]))]


def seen_export(
    connection: Connection, seen: VisibleGraph, communities: SeenCommunities
) -> GraphExport:
    """Export the visible graph, every collection sorted by id."""
    documents = seen.documents or frozenset()
    held = dict(sorted(chunks_of_documents(connection, documents).items()))
    return GraphExport(
        entities=_entities(connection, seen, documents),
        relations=_relations(connection, seen),
        communities=_communities(seen, communities),
        reports=_reports(communities),
        claims=_claims(connection, seen, held),
        chunks=held,
        appearances=_appearances(connection, seen, held),
    )


def _entities(
    connection: Connection, seen: VisibleGraph, documents: frozenset[str]
) -> tuple[Entity, ...]:
    if connection.execute(select(descriptions.c.key).limit(1)).first() is None:
        return tuple(replace(entity, description="") for entity in seen.entities)
    return tuple(
        replace(
            entity,
            description=description_of(
                connection, entity.keys, id=entity.id, name=entity.name, documents=documents
            ),
        )
        for entity in seen.entities
    )


def _relations(connection: Connection, seen: VisibleGraph) -> tuple[Relation, ...]:
    ids = [entity.id for entity in seen.entities]
    ends = [seen.ends(row) for row in range(len(seen.stated))]
    entity_of = {key: ids[number] for key, number in seen.node_of.items()}
    said = said_of_relations(
        connection,
        frozenset(ends),
        entity_of=entity_of,
        keys=entity_of.keys(),
        documents=seen.documents,
    )
    found = []
    for row, (source, predicate, target) in enumerate(ends):
        known = said.get((source, predicate, target), QuotedStatement(places=[], descriptions=[]))
        found.append(
            Relation(
                id=seen.relation_id(row),
                source_id=source,
                predicate=predicate,
                target_id=target,
                weight=round(float(seen.adjacency.weights[row]), 6),
                evidences=tuple(known.places),
                description=join_descriptions(known.descriptions),
            )
        )
    return tuple(sorted(found, key=lambda one: one.id))


def _communities(seen: VisibleGraph, communities: SeenCommunities) -> tuple[Community, ...]:
    return tuple(
        Community(
            id=one.id,
            level=one.level,
            parent_id=one.parent,
            entity_ids=tuple(
                sorted(seen.entities[number].id for number in communities.members[one.id])
            ),
        )
        for one in sorted(communities.listed.values(), key=lambda one: (one.level, one.id))
    )


def _reports(communities: SeenCommunities) -> tuple[Report, ...]:
    """Those of what is listed; a rating that rests on hidden things is none."""
    return tuple(
        replace(
            communities.reports[one.id],
            rating=0.0 if one.id in communities.unrated else communities.reports[one.id].rating,
            rating_reason="",
        )
        for one in sorted(communities.listed.values(), key=lambda one: (one.level, one.id))
    )


def _claims(
    connection: Connection, seen: VisibleGraph, held: Collection[str]
) -> tuple[PlacedClaim, ...]:
    entity_of = {key: seen.entities[number].id for key, number in seen.node_of.items()}
    rows = rows_in(connection, select(claims), claims.c.chunk_id, held)
    return tuple(sorted(placed_claims(rows, entity_of)))


def _appearances(
    connection: Connection, seen: VisibleGraph, held: Collection[str]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = defaultdict(set)
    query = select(links.c.key, links.c.chunk_id)
    for row in rows_in(connection, query, links.c.chunk_id, held):
        if row.key in seen.node_of:
            found[seen.entities[seen.node_of[row.key]].id].add(row.chunk_id)
    return {entity_id: tuple(sorted(found[entity_id])) for entity_id in sorted(found)}


FORMAT = "loregraph/1"
_ILLEGAL_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_json(export: GraphExport) -> str:
    """Export the graph as one JSON object, a record per line, keys sorted, unescaped.

    `chunks` says of what evidences refer to in which document, under which title and where it
    stands, not what it says.
    """
    sections = {
        "chunks": [_chunk(chunk) for _, chunk in sorted(export.chunks.items())],
        "claims": [
            _fields(placed) | {"claim": _fields(placed.claim)} for placed in sorted(export.claims)
        ],
        "communities": [
            _fields(community)
            for community in sorted(export.communities, key=lambda c: (c.level, c.id))
        ],
        "entities": [_fields(entity) for entity in sorted(export.entities, key=lambda e: e.id)],
        "relations": [
            _fields(relation)
            | {
                "evidences": [_fields(e) for e in sorted(relation.evidences)],
                "stated": relation.predicate != OCCURS_WITH,
            }
            for relation in sorted(export.relations, key=lambda r: r.id)
        ],
        "reports": [
            _fields(report) | {"findings": [_finding(one) for one in report.findings]}
            for report in sorted(export.reports, key=lambda r: (r.level, r.community_id))
        ],
    }
    encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, allow_nan=False).encode
    parts = [f'"format": {encode(FORMAT)}']
    for name, records in sorted(sections.items()):
        lines = ",\n".join(encode(record) for record in records)
        parts.append(f'"{name}": [\n{lines}\n]' if records else f'"{name}": []')
    return _without_surrogates("{" + ",\n".join(parts) + "}\n")


def to_graphml(export: GraphExport) -> str:
    """Export a directed multigraph by networkx, for Gephi, yEd and Cytoscape.

    A node carries its name, type, aliases, description, counts and, for each level, its community's
    id and report title; an edge its predicate, whether a text states it, description, weight and
    evidences (`chunk:start-end`, by blanks). Characters that XML does not allow are left out.
    """
    import networkx

    graph = networkx.MultiDiGraph()
    where = _communities_by_entity(export)
    for entity in sorted(export.entities, key=lambda e: e.id):
        graph.add_node(
            _clean(entity.id),
            name=_clean(entity.name),
            type=_clean(entity.type),
            aliases=_clean(" | ".join(entity.aliases)),
            description=_clean(entity.description),
            mention_count=entity.mention_count,
            document_count=entity.document_count,
            **where.get(entity.id, {}),
        )
    for relation in sorted(export.relations, key=lambda r: r.id):
        graph.add_edge(
            _clean(relation.source_id),
            _clean(relation.target_id),
            key=_clean(relation.id),
            predicate=_clean(relation.predicate),
            stated=relation.predicate != OCCURS_WITH,
            description=_clean(relation.description),
            weight=float(relation.weight),
            evidences=_clean(
                " ".join(f"{e.chunk_id}:{e.start}-{e.end}" for e in sorted(relation.evidences))
            ),
        )
    return "\n".join(networkx.generate_graphml(graph, prettyprint=False)) + "\n"


def _communities_by_entity(export: GraphExport) -> Mapping[str, dict[str, str]]:
    titles = {report.community_id: report.title for report in export.reports}
    found: dict[str, dict[str, str]] = {}
    ordered = sorted(export.communities, key=lambda c: (c.level, c.id))
    for level in range(community_depth(ordered)):
        for community in partition_at_level(ordered, level):
            for entity_id in community.entity_ids:
                attributes = found.setdefault(entity_id, {})
                attributes[f"community_{level}"] = _clean(community.id)
                attributes[f"report_{level}"] = _clean(titles.get(community.id, ""))
    return found


def _fields(
    value: Entity | Relation | Community | Report | Evidence | PlacedClaim | Claim,
) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__slots__}


def _finding(finding: Finding) -> dict[str, object]:
    return {"text": finding.text, "evidences": [_fields(place) for place in finding.evidences]}


def _chunk(chunk: Chunk) -> dict[str, object]:
    return {name: getattr(chunk, name) for name in ("id", "document_id", "title", "start", "end")}


def _clean(text: str) -> str:
    return _ILLEGAL_IN_XML.sub("", text)


def _without_surrogates(text: str) -> str:
    """Escape lone surrogates, which have no UTF-8 form."""
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match.group()):04x}", text)
