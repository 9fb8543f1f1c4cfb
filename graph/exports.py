"""The graph as files for other programs: GraphML and JSON.

Equal graphs give equal bytes: everything is sorted. Chunk texts stay out; evidences name their
chunk and span.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from .communities import depth, partition
from .model import (
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
            _fields(relation) | {"evidences": [_fields(e) for e in sorted(relation.evidences)]}
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
    id and report title; an edge its predicate, description, weight and evidences
    (`chunk:start-end`, by blanks). Characters that XML does not allow are left out.
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
    for level in range(depth(ordered)):
        for community in partition(ordered, level):
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
