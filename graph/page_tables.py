"""Tables of the graph page: columns of numbers and names, blocks of texts.

    part ─→ first look (bubbles, totals) + columns (entities, relations, communities) + texts

Entities, communities and documents are named by their row; rows are in the order of weight, so that
equal graphs give equal tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .communities import depth, partition
from .global_match import HAN
from .model import Claim, Community, Entity, Evidence, GraphExport, Relation
from .overview import ALONE, PALETTE, overview, titles_of
from .page_texts import Texts, evidence_spans, readable
from .sentences import sentence_spans
from .subgraph import Subgraph, restricted, weights

FLAT = 60
"""So few entities are shown at once, without a level of bubbles before them."""

FLAT_PART = 150
"""The same for what is around an entity or behind an answer."""

MAX_ALIASES = 24
PLACES_WITHOUT_RELATIONS = 2

Table = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTables:
    """Page tables: `first` is drawn at once.

    `columns` open anything; `texts` load on demand.
    """

    first: Table
    columns: Table
    texts: tuple[Table, ...]


def page_tables(part: Subgraph, *, title: str, max_nodes: int) -> PageTables:
    """Build the tables of a subgraph, cut to its `max_nodes` heaviest entities."""
    weight = weights(part.export)
    heavy = sorted(part.export.entities, key=lambda e: (-weight[e.id], e.id))
    export = part.export
    if len(heavy) > max_nodes:
        heavy = heavy[:max_nodes]
        export = restricted(export, (entity.id for entity in heavy))
    texts = Texts(export)
    rows = _Rows(export, heavy=heavy, weight=weight)
    relations = _relations(export, rows=rows, texts=texts)
    entities = _entities(rows, texts=texts, linked=relations.linked)
    communities = _communities(export, rows=rows, texts=texts)
    first = _first(part, export, rows=rows, relations=relations, title=title)
    columns: Table = {
        "entities": entities,
        "communities": communities,
        "relations": relations.table,
        "claims": _claims(export, rows=rows, texts=texts),
        "documents": {
            "title": [title for _, title in texts.documents],
            "id": [key for key, _ in texts.documents],
        },
        "text_starts": texts.starts,
    }
    blocks: tuple[Table, ...] = tuple(
        {"text": block.texts, "document": block.documents, "page": block.pages}
        for block in texts.blocks
    )
    return PageTables(first=first, columns=columns, texts=blocks)


class _Rows:
    """Row numbers of entities and communities, and each entity's home."""

    def __init__(
        self, export: GraphExport, *, heavy: Sequence[Entity], weight: Mapping[str, float]
    ) -> None:
        self.export = export
        self.entities = heavy
        self.weight = weight
        self.entity = {entity.id: row for row, entity in enumerate(heavy)}
        self.communities = self._ordered_communities()
        self.community = {one.id: row for row, one in enumerate(self.communities)}
        self.home = [-1] * len(heavy)
        for level in range(depth(export.communities)):
            for community in partition(export.communities, level):
                row = self.community.get(community.id)
                for entity_id in community.entity_ids if row is not None else ():
                    self.home[self.entity[entity_id]] = -1 if row is None else row

    def _ordered_communities(self) -> list[Community]:
        """Those of several entities: coarse before fine, heavy before light."""

        def order(community: Community) -> tuple[int, float, str]:
            return (
                community.level,
                -sum(self.weight.get(one, 0.0) for one in community.entity_ids),
                community.id,
            )

        several = [one for one in self.export.communities if len(one.entity_ids) > 1]
        return sorted(several, key=order)


def _entities(rows: _Rows, *, texts: Texts, linked: frozenset[str]) -> Table:
    types = sorted({entity.type for entity in rows.entities})
    number = {name: place for place, name in enumerate(types)}
    documents = _documents_of(rows, texts)
    places = [
        [] if entity.id in linked else _places_without_relations(rows.export, entity)
        for entity in rows.entities
    ]
    return {
        "name": [entity.name for entity in rows.entities],
        "types": types,
        "type": [number[entity.type] for entity in rows.entities],
        "aliases": [_aliases(entity) for entity in rows.entities],
        "weight": [round(rows.weight[entity.id], 2) for entity in rows.entities],
        "mentions": [entity.mention_count for entity in rows.entities],
        "document_count": [entity.document_count for entity in rows.entities],
        "home": rows.home,
        "description": [texts.said(entity.description) for entity in rows.entities],
        **_ragged("documents", documents),
        **_ragged("places", [[texts.sentence(place) for place in found] for found in places]),
    }


def _aliases(entity: Entity) -> str:
    """Other names, one a line."""
    names = (" ".join(alias.split()) for alias in entity.aliases if alias != entity.name)
    return "\n".join([name for name in names if name][:MAX_ALIASES])


def _documents_of(rows: _Rows, texts: Texts) -> list[list[int]]:
    found: list[set[int]] = [set() for _ in rows.entities]
    chunks = rows.export.chunks
    for entity_id, places in rows.export.appearances.items():
        if entity_id in rows.entity:
            found[rows.entity[entity_id]].update(
                texts.document(chunks[place]) for place in places if place in chunks
            )
    for relation in rows.export.relations:
        numbers = {
            texts.document(chunks[place.chunk_id])
            for place in relation.evidences
            if place.chunk_id in chunks
        }
        for end in (relation.source_id, relation.target_id):
            if end in rows.entity:
                found[rows.entity[end]] |= numbers
    return [sorted(numbers) for numbers in found]


def _places_without_relations(export: GraphExport, entity: Entity) -> list[Evidence]:
    """Sentences in which one of the entity's names stands."""
    names = sorted({entity.name.casefold(), *(alias.casefold() for alias in entity.aliases)})
    found: list[Evidence] = []
    for chunk_id in export.appearances.get(entity.id, ()):
        chunk = export.chunks.get(chunk_id)
        for start, end in sentence_spans(chunk.text) if chunk is not None else ():
            said = chunk.text[start:end].casefold() if chunk is not None else ""
            if any(name in said for name in names):
                found.append(Evidence(chunk_id=chunk_id, start=start, end=end))
                break
        if len(found) == PLACES_WITHOUT_RELATIONS:
            break
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relations:
    table: Table
    linked: frozenset[str]
    evidences: int
    kept: int


def _relations(export: GraphExport, *, rows: _Rows, texts: Texts) -> _Relations:
    """Return relations between entities on the page; neighbours share blocks."""
    inside = [
        one
        for one in export.relations
        if one.source_id in rows.entity and one.target_id in rows.entity
    ]
    places = evidence_spans(inside)

    def order(relation: Relation) -> tuple[int, float, str]:
        return (rows.home[rows.entity[relation.source_id]], -relation.weight, relation.id)

    inside.sort(key=order)
    predicates = sorted({relation.predicate for relation in inside})
    number = {name: place for place, name in enumerate(predicates)}
    table: Table = {
        "predicates": predicates,
        "predicate": [number[one.predicate] for one in inside],
        "source": [rows.entity[one.source_id] for one in inside],
        "target": [rows.entity[one.target_id] for one in inside],
        "weight": [round(one.weight, 2) for one in inside],
        "evidences": [len(one.evidences) for one in inside],
        "description": [texts.said(one.description) for one in inside],
        **_ragged(
            "places", [[texts.sentence(place) for place in places[one.id]] for one in inside]
        ),
    }
    return _Relations(
        table=table,
        linked=frozenset(
            end for one in inside if places[one.id] for end in (one.source_id, one.target_id)
        ),
        evidences=sum(len(one.evidences) for one in inside),
        kept=sum(len(found) for found in places.values()),
    )


def _claims(export: GraphExport, *, rows: _Rows, texts: Texts) -> Table:
    """Return model claims with sentences; −1 without an object."""
    found = [one for one in export.claims if one.subject_id in rows.entity]
    places = [
        Evidence(chunk_id=one.chunk_id, start=one.claim.start, end=one.claim.end) for one in found
    ]
    return {
        "subject": [rows.entity[one.subject_id] for one in found],
        "object": [rows.entity.get(one.object_id, -1) for one in found],
        "type": [one.claim.type for one in found],
        "status": [one.claim.status for one in found],
        "dates": [_dates(one.claim) for one in found],
        "said": [texts.said(one.claim.text) for one in found],
        "place": [texts.sentence(place) for place in places],
    }


def _dates(claim: Claim) -> str:
    """From when to when; one date where both are the same or one is not known."""
    return " – ".join(dict.fromkeys(filter(None, (claim.start_date, claim.end_date))))


def _communities(export: GraphExport, *, rows: _Rows, texts: Texts) -> Table:
    titles = titles_of(export)
    reports = {report.community_id: report for report in export.reports}
    findings: list[list[int]] = []
    summaries: list[int] = []
    for community in rows.communities:
        report = reports.get(community.id)
        said: list[int] = []
        for finding in report.findings if report is not None else ():
            quotes = [texts.sentence(place) for place in finding.evidences[:2]]
            said += [texts.said(finding.text), len(quotes), *quotes]
        findings.append(said)
        summaries.append(texts.said(report.summary) if report is not None else -1)
    parents = [rows.community.get(one.parent_id or "", -1) for one in rows.communities]
    return {
        "title": [titles[one.id] for one in rows.communities],
        "parent": parents,
        "size": [len(one.entity_ids) for one in rows.communities],
        "rating": [
            round(reports[one.id].rating, 1) if one.id in reports else 0.0
            for one in rows.communities
        ],
        "summary": summaries,
        **_ragged("findings", findings),
    }


def _first(
    part: Subgraph, export: GraphExport, *, rows: _Rows, relations: _Relations, title: str
) -> Table:
    look = overview(export)
    flat = FLAT_PART if part.centre or part.question else FLAT
    return {
        "title": title,
        "is_chinese": 2 * sum(_is_chinese(one.name) for one in rows.entities) > len(rows.entities),
        "about": part.about,
        "centre": rows.entity.get(part.centre, -1),
        "strong": sorted(rows.entity[one] for one in part.strong if one in rows.entity),
        "question": part.question,
        "answer": part.answer,
        "quotes": [[one.number, one.title, readable(one.text)] for one in part.quotes],
        "is_flat": len(rows.entities) <= flat or not look.bubbles,
        "palette": list(PALETTE),
        "alone_colour": ALONE,
        "bubbles": [
            {
                "community": rows.community[bubble.community.id],
                "title": bubble.title,
                "size": len(bubble.community.entity_ids),
                "colour": bubble.colour,
                "x": round(bubble.x, 1),
                "y": round(bubble.y, 1),
                "radius": round(bubble.radius, 1),
            }
            for bubble in look.bubbles
        ],
        "links": [[a, b, round(weight, 2)] for a, b, weight in look.links],
        "further": look.further,
        "alone": look.alone,
        "types": dict(sorted(Counter(entity.type for entity in rows.entities).items())),
        "totals": {
            "entities": len(part.export.entities),
            "held": len(rows.entities),
            "relations": len(part.export.relations),
            "communities": len(rows.communities),
            "documents": len({chunk.document_id for chunk in part.export.chunks.values()}),
            "evidences": relations.evidences,
            "kept": relations.kept,
        },
    }


def _is_chinese(name: str) -> bool:
    return HAN.search(name) is not None


def _ragged(name: str, lists: Sequence[Sequence[int]]) -> Table:
    """Flatten lists of unequal lengths: lengths and values."""
    return {
        f"{name}_counts": [len(values) for values in lists],
        name: [value for values in lists for value in values],
    }
