"""What of a graph is shown on one page: which entities, which links, and the words beside them.

All values, no markup: `visualise` turns them into a page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .communities import partition
from .model import Community, Entity, Evidence, GraphExport, Relation, Report

LINKS_PER_NODE = 4
"""Of all links between shown entities the strongest are drawn, on average so many a node."""

MAX_RELATIONS_SHOWN = 12
MAX_PLACES_PER_RELATION = 2
MAX_PARTS_SHOWN = 12
MAX_SENTENCE_CHARACTERS = 420

_EMPHASIS = re.compile(r"(\*{1,3}|`+|__)(?=\S)(.+?)(?<=\S)\1")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_LIST_MARK = re.compile(r"^(?:[-*+>]\s+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Shown entities by number, heaviest first; `links` as (lower number, higher number, weight).

    `groups` and `subgroups` number each entity's community on level 0 and on level 1; entities in
    no community, or alone in one, share the group after the last of the `communities`. `facts` is
    all the page says in words, ready for JSON.
    """

    names: list[str]
    weights: list[float]
    groups: list[int]
    communities: int
    subgroups: list[int]
    links: list[tuple[int, int, float]]
    facts: dict[str, object]


def picture(export: GraphExport, *, max_nodes: int) -> Picture:
    """The part of a graph that fits `max_nodes`, with what is to be said about it."""
    strength = _strength(export)
    top = _by_weight(partition(export.communities, 0), strength)
    chosen = _chosen(export, top, strength=strength, max_nodes=max_nodes)
    number = {entity.id: index for index, entity in enumerate(chosen)}
    groups = _group_numbers(chosen, [one for one in top if len(one.entity_ids) > 1])
    finer = sorted(partition(export.communities, 1), key=lambda community: community.id)
    all_links = _links(export.relations, number)
    links = all_links[: max(1, LINKS_PER_NODE * len(chosen))]
    words = _Words(export=export, number=number)
    reports = {report.community_id: report for report in export.reports}
    shown_communities = _communities(export, top, words=words, reports=reports)
    facts: dict[str, object] = {
        "entities": [words.entity(entity) for entity in chosen],
        "relations": words.relations(),
        "communities": shown_communities,
        "sentences": words.sentences,
        "documents": words.documents,
        "totals": {
            "entities": len(export.entities),
            "relations": len(export.relations),
            "communities": len(export.communities),
            "documents": len({chunk.document_id for chunk in export.chunks.values()}),
            "shown_entities": len(chosen),
            "links": len(all_links),
            "shown_links": len(links),
        },
    }
    return Picture(
        names=[entity.name for entity in chosen],
        weights=[strength[entity.id] for entity in chosen],
        groups=groups,
        communities=len(shown_communities),
        subgroups=_group_numbers(chosen, finer),
        links=sorted(links),
        facts=facts,
    )


def _strength(export: GraphExport) -> dict[str, float]:
    """An entity's weight: that of its relations, and a little for each mention."""
    strength = {entity.id: 0.1 * entity.mention_count for entity in export.entities}
    for relation in sorted(export.relations, key=lambda r: r.id):
        for entity_id in (relation.source_id, relation.target_id):
            if entity_id in strength:
                strength[entity_id] += relation.weight
    return strength


def _by_weight(communities: Iterable[Community], strength: dict[str, float]) -> list[Community]:
    def weight(community: Community) -> float:
        return sum(strength.get(entity_id, 0.0) for entity_id in community.entity_ids)

    return sorted(communities, key=lambda c: (len(c.entity_ids) == 1, -weight(c), c.id))


def _chosen(
    export: GraphExport, top: list[Community], *, strength: dict[str, float], max_nodes: int
) -> list[Entity]:
    """The heaviest entities: each community in turn gets its share by weight, at least three."""
    by_id = {entity.id: entity for entity in export.entities}
    total = sum(strength.values()) or 1.0
    seats: list[Entity] = []
    left: list[Entity] = []
    grouped: set[str] = set()
    for community in top:
        members = sorted(
            (by_id[one] for one in community.entity_ids if one in by_id),
            key=lambda e: (-strength[e.id], e.id),
        )
        grouped.update(entity.id for entity in members)
        share = sum(strength[entity.id] for entity in members) / total
        room = max(3, int(share * max_nodes)) if len(members) > 1 else 0
        seats += members[:room]
        left += members[room:]
    left += [entity for entity in export.entities if entity.id not in grouped]
    left.sort(key=lambda e: (-strength[e.id], e.id))
    chosen = (seats + left)[:max_nodes]
    return sorted(chosen, key=lambda e: (-strength[e.id], e.id))


def _group_numbers(chosen: Sequence[Entity], communities: Sequence[Community]) -> list[int]:
    """The community of each entity, numbered by the order of `communities` among those shown.

    Entities of none of them share the last number.
    """
    home = {
        entity_id: place
        for place, community in enumerate(communities)
        for entity_id in community.entity_ids
    }
    places = [home.get(entity.id, len(communities)) for entity in chosen]
    rank = {place: number for number, place in enumerate(sorted(set(places)))}
    return [rank[place] for place in places]


def _links(relations: Iterable[Relation], number: dict[str, int]) -> list[tuple[int, int, float]]:
    """Relations between shown entities summed by pair, strongest first."""
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for relation in sorted(relations, key=lambda r: r.id):
        a, b = number.get(relation.source_id), number.get(relation.target_id)
        if a is not None and b is not None and a != b:
            sums[min(a, b), max(a, b)] += relation.weight
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [(a, b, weight) for (a, b), weight in ordered]


def _communities(
    export: GraphExport, top: list[Community], *, words: _Words, reports: dict[str, Report]
) -> list[dict[str, object]]:
    """The communities of several entities with shown members, in the order of their numbers."""
    parts: dict[str, list[Community]] = defaultdict(list)
    for community in sorted(export.communities, key=lambda c: (-len(c.entity_ids), c.id)):
        if community.parent_id is not None:
            parts[community.parent_id].append(community)
    found = []
    for community in top:
        if len(community.entity_ids) == 1 or not words.shown(community.entity_ids):
            continue
        inside = [part for part in parts[community.id] if part.id in reports]
        found.append(
            words.community(community, reports.get(community.id))
            | {
                "parts": [
                    words.community(part, reports[part.id])
                    for part in inside[:MAX_PARTS_SHOWN]
                    if words.shown(part.entity_ids)
                ]
            }
        )
    return found


def readable(text: str) -> str:
    """Text as a reader wants it: even white space, no marks of Markdown around words."""
    text = _LINK.sub(r"\1", " ".join(text.split()))
    return _EMPHASIS.sub(r"\2", _LIST_MARK.sub("", text))


class _Words:
    """Gathers the sentences that the page quotes, each once, with its document's title."""

    def __init__(self, *, export: GraphExport, number: dict[str, int]) -> None:
        self.export = export
        self.number = number
        self.sentences: list[tuple[str, int]] = []
        self.documents: list[str] = []
        self._sentence_numbers: dict[Evidence, int] = {}
        self._document_numbers: dict[str, int] = {}
        self._entity_names = {entity.id: entity.name for entity in export.entities}
        self._relations_of: dict[str, list[Relation]] = defaultdict(list)
        for relation in sorted(export.relations, key=lambda r: (-r.weight, r.id)):
            for entity_id in {relation.source_id, relation.target_id}:
                self._relations_of[entity_id].append(relation)
        self._relation_numbers: dict[str, int] = {}
        self._relations: list[list[object]] = []

    def entity(self, entity: Entity) -> dict[str, object]:
        mine = self._relations_of[entity.id]
        return {
            "name": entity.name,
            "type": entity.type,
            "aliases": [alias for alias in entity.aliases if alias != entity.name][:12],
            "mentions": entity.mention_count,
            "documents": entity.document_count,
            "relations": [self._relation(relation) for relation in mine[:MAX_RELATIONS_SHOWN]],
            "more": max(0, len(mine) - MAX_RELATIONS_SHOWN),
        }

    def relations(self) -> list[list[object]]:
        """Each as: both ends (a number, or the name of one not shown), predicate, count, places."""
        return self._relations

    def shown(self, entity_ids: Iterable[str]) -> list[int]:
        return sorted(self.number[one] for one in entity_ids if one in self.number)

    def community(self, community: Community, report: Report | None) -> dict[str, object]:
        shown = self.shown(community.entity_ids)
        names = [self._entity_names.get(one, "") for one in community.entity_ids[:3]]
        findings = report.findings if report is not None else ()
        return {
            "title": report.title if report is not None else ", ".join(names),
            "summary": readable(report.summary) if report is not None else "",
            "rating": report.rating if report is not None else 0.0,
            "size": len(community.entity_ids),
            "members": shown,
            "findings": [
                [self._sentence(place) for place in finding.evidences[:1]] for finding in findings
            ],
        }

    def _relation(self, relation: Relation) -> int:
        if relation.id not in self._relation_numbers:
            self._relation_numbers[relation.id] = len(self._relations)
            ends = (relation.source_id, relation.target_id)
            self._relations.append(
                [
                    [self.number.get(one, self._entity_names.get(one, "")) for one in ends],
                    relation.predicate,
                    len(relation.evidences),
                    [self._sentence(one) for one in relation.evidences[:MAX_PLACES_PER_RELATION]],
                ]
            )
        return self._relation_numbers[relation.id]

    def _sentence(self, place: Evidence) -> int:
        if place not in self._sentence_numbers:
            chunk = self.export.chunks.get(place.chunk_id)
            text = readable(chunk.text[place.start : place.end]) if chunk else ""
            if len(text) > MAX_SENTENCE_CHARACTERS:
                text = text[: MAX_SENTENCE_CHARACTERS - 1].rstrip() + "…"
            self._sentence_numbers[place] = len(self.sentences)
            self.sentences.append((text, self._document(chunk.title if chunk else "")))
        return self._sentence_numbers[place]

    def _document(self, title: str) -> int:
        if title not in self._document_numbers:
            self._document_numbers[title] = len(self.documents)
            self.documents.append(title)
        return self._document_numbers[title]
