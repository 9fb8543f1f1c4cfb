"""Results of graph exploration: frozen values with their evidence.

Offsets here are offsets into the **document's** text. Every collection has an order that says
something: strongest, nearest or first in the text.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuote:
    """A place that speaks for something: `document_text[start:end] == quote`."""

    document_id: str
    title: str
    chunk_id: str
    start: int
    end: int
    quote: str
    page: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityView:
    """A thing as it is listed; `weight` is what all its relations weigh together."""

    id: str
    name: str
    type: str
    mention_count: int
    document_count: int
    weight: float
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityList:
    """Page of entities from `begin`; `total` counts all."""

    items: tuple[EntityView, ...]
    total: int
    begin: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationView:
    """A relation between two entities, from `source` to `target` (ids).

    `evidence` holds some of the sentences that state it, `evidence_count` says how many there are.
    """

    id: str
    source: str
    source_name: str
    predicate: str
    target: str
    target_name: str
    weight: float
    description: str = ""
    evidence: tuple[SourceQuote, ...] = ()
    evidence_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NameReason:
    """Name key of an entity, and the reason it belongs there.

    The reason is empty where it could rest on documents that may not be seen.
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityName:
    """A community as others point to it."""

    id: str
    level: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDetail:
    """All that is known of a thing.

    `evidence` are sentences that name it, from as many documents as can be; `relations` those of
    either direction, stated ones first, then the strongest, `relation_count` how many there are;
    `communities` those it belongs to, the coarsest first.
    """

    id: str
    name: str
    type: str
    description: str
    aliases: tuple[str, ...]
    names: tuple[NameReason, ...]
    mention_count: int
    document_count: int
    weight: float
    evidence: tuple[SourceQuote, ...]
    relations: tuple[RelationView, ...]
    relation_count: int
    communities: tuple[CommunityName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An entity near another, `hops` relations away; `community` is its coarsest, if any."""

    id: str
    name: str
    type: str
    mention_count: int
    document_count: int
    weight: float
    hops: int
    community: CommunityName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """Neighbourhood: nodes nearest first (the entity in front), then strongest.

    `edges` are the relations among the nodes, strongest first.
    """

    entity: str
    nodes: tuple[Neighbour, ...]
    edges: tuple[RelationView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPath:
    """Path between entities: `edges[i]` joins `nodes[i]` and `nodes[i + 1]`.

    An edge is the strongest relation of the two, in whichever direction it is stated; only where
    none is stated, that they are named together.
    """

    nodes: tuple[EntityView, ...]
    edges: tuple[RelationView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCommunity:
    """A community as it is listed. `size` counts its entities that are seen.

    `weight` is what all relations of its entities weigh; `parent` and `children` are ids of
    communities that are seen, too.
    """

    id: str
    level: int
    title: str
    size: int
    weight: float
    parent: str | None
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityList:
    """Page of communities from `begin`; `total` counts all.

    `levels` is how many levels there are in all.
    """

    items: tuple[SeenCommunity, ...]
    total: int
    levels: int
    begin: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFinding:
    """One thing that a report says, with the places that say it."""

    text: str
    evidence: tuple[SourceQuote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityDetail:
    """Community with its report.

    `entities` are members, strongest first, `size` their count.

    `rating` is 0–10, how much of the whole rests on it, and None where not all of it is seen;
    `written_by` names the language model that wrote the report, if one did.
    """

    id: str
    level: int
    title: str
    summary: str
    rating: float | None
    rating_reason: str
    written_by: str
    findings: tuple[SeenFinding, ...]
    entities: tuple[EntityView, ...]
    size: int
    weight: float
    parent: CommunityName | None
    children: tuple[CommunityName, ...]
