"""Graph page: one offline HTML file, drawn on the canvas of pyvis (vis-network).

    part ─→ first look (bubbles, totals; JSON) ─→ drawn at once
          └ columns, texts (JSON, deflate, base64) ─→ unpacked when they are needed

Rows are in the order of weight, and entities, communities and documents are named by their row, so
equal graphs give equal pages. Texts lie in blocks: a page of 50,000 entities cannot hold every
sentence unpacked. Of pyvis only vis-network is used; what draws with it (`page/drawing/`) are
modules that a web server can serve as they are (`drawing_scripts`) and that are joined here.
Document text reaches the page as JSON and is shown as text, never as HTML. A content security
policy forbids every request and every script but the page's own, by their hashes. The page's files
are in `page/`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

from ..communities.leiden import community_depth, partition_at_level
from ..errors import GraphError, GraphInputError
from ..model import Chunk, Claim, Community, Entity, Evidence, GraphExport, Relation
from ..naming import CHINESE, ENGLISH, name_in
from ..text.cjk import has_han
from ..text.sentences import sentence_spans
from .layout import ALONE, PALETTE, heaviest_communities, titles_of
from .subgraph import Subgraph, entity_weights, restrict_graph

MAX_CHARACTERS = 24_000_000
"""Maximum characters of evidence on a page; omissions are reported."""

MAX_PLACES = 12
"""Sentences kept for one relation at most."""

MAX_SENTENCE_CHARACTERS = 420
BLOCK_CHARACTERS = 240_000

_EMPHASIS = re.compile(r"(\*{1,3}|`+|__)(?=\S)(.+?)(?<=\S)\1")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKED = re.compile(r"[*`_\[]|^[-+>]")
_LIST_MARK = re.compile(r"^(?:[-*+>]\s+)+")


def readable_text(text: str) -> str:
    """Return a text for the graph page: even white space, no marks of Markdown around words."""
    text = " ".join(text.split())
    if not _MARKED.search(text):
        return text
    text = _LINK.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", _LIST_MARK.sub("", text))


def truncate(text: str, limit: int) -> str:
    """Return at most `limit` characters for the graph page, the last an ellipsis if truncated."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def evidence_spans(
    relations: Sequence[Relation], *, max_characters: int = MAX_CHARACTERS
) -> dict[str, list[Evidence]]:
    """Return by relation id the evidences that a global answer reads, at most `MAX_PLACES` each.

    The first evidence of every relation comes before the second of any, heavier relations before
    lighter ones, until `max_characters` are spent; a sentence is paid for once.
    """
    order = sorted(relations, key=lambda r: (-r.weight, r.id))
    kept: dict[str, list[Evidence]] = {relation.id: [] for relation in order}
    paid: set[Evidence] = set()
    left = max_characters
    for turn in range(MAX_PLACES):
        order = [relation for relation in order if len(relation.evidences) > turn]
        for relation in order:
            place = relation.evidences[turn]
            cost = 0 if place in paid else min(place.end - place.start, MAX_SENTENCE_CHARACTERS)
            if cost <= left:
                left -= cost
                paid.add(place)
                kept[relation.id].append(place)
    return kept


@dataclass
class TextBlock:
    """Texts with document and page numbers; −1 and 0 for none."""

    texts: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    characters: int = 0


class Texts:
    """Gathers texts, each once, and numbers them."""

    def __init__(self, export: GraphExport) -> None:
        self.blocks: list[TextBlock] = []
        self.starts: list[int] = []
        self._chunks = export.chunks
        self._count = 0
        self._numbers: dict[tuple[str, int, int], int] = {}
        self.documents = _documents(export.chunks.values())
        self._document_numbers = {key: number for number, (key, _) in enumerate(self.documents)}

    def document(self, chunk: Chunk) -> int:
        """Return the number of a chunk's document."""
        return self._document_numbers[chunk.document_id]

    def said(self, text: str) -> int:
        """Return the number of a text outside documents; −1 if empty."""
        text = readable_text(text)
        return self._put(text, document=-1, page=0) if text else -1

    def sentence(self, place: Evidence) -> int:
        """Return the number of the sentence at a place; −1 without one."""
        key = (place.chunk_id, place.start, place.end)
        if key not in self._numbers:
            chunk = self._chunks.get(place.chunk_id)
            text = readable_text(chunk.text[place.start : place.end]) if chunk else ""
            if chunk is None or not text:
                self._numbers[key] = -1
            else:
                self._numbers[key] = self._put(
                    truncate(text, MAX_SENTENCE_CHARACTERS),
                    document=self.document(chunk),
                    page=chunk.page or 0,
                )
        return self._numbers[key]

    def _put(self, text: str, *, document: int, page: int) -> int:
        if not self.blocks or self.blocks[-1].characters > BLOCK_CHARACTERS:
            self.blocks.append(TextBlock())
            self.starts.append(self._count)
        block = self.blocks[-1]
        block.texts.append(text)
        block.documents.append(document)
        block.pages.append(page)
        block.characters += len(text)
        self._count += 1
        return self._count - 1


def _documents(chunks: Iterable[Chunk]) -> list[tuple[str, str]]:
    """Every document's id and title, sorted by title."""
    titles: dict[str, tuple[int, str, str]] = {}
    for chunk in chunks:
        first = (chunk.start, chunk.id, chunk.title)
        titles[chunk.document_id] = min(titles.get(chunk.document_id, first), first)
    return sorted(
        ((key, title) for key, (_, _, title) in titles.items()), key=lambda one: (one[1], one[0])
    )


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
    weight = entity_weights(part.export)
    heavy = sorted(part.export.entities, key=lambda e: (-weight[e.id], e.id))
    export = part.export
    if len(heavy) > max_nodes:
        heavy = heavy[:max_nodes]
        export = restrict_graph(export, (entity.id for entity in heavy))
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
        for level in range(community_depth(export.communities)):
            for community in partition_at_level(export.communities, level):
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
        "translated": [_translated(entity) for entity in rows.entities],
        "aliases": [_aliases(entity) for entity in rows.entities],
        "weight": [round(rows.weight[entity.id], 2) for entity in rows.entities],
        "mentions": [entity.mention_count for entity in rows.entities],
        "document_count": [entity.document_count for entity in rows.entities],
        "home": rows.home,
        "description": [texts.said(entity.description) for entity in rows.entities],
        **_ragged("documents", documents),
        **_ragged("places", [[texts.sentence(place) for place in found] for found in places]),
    }


def _translated(entity: Entity) -> str:
    """Return the name for readers of the other language; "" where none is known."""
    name = name_in(entity, ENGLISH if has_han(entity.name) else CHINESE)
    return "" if name == entity.name else name


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
    look = heaviest_communities(export)
    flat = FLAT_PART if part.centre or part.question else FLAT
    return {
        "title": title,
        "is_chinese": 2 * sum(has_han(one.name) for one in rows.entities) > len(rows.entities),
        "about": part.about,
        "centre": rows.entity.get(part.centre, -1),
        "strong": sorted(rows.entity[one] for one in part.strong if one in rows.entity),
        "question": part.question,
        "answer": part.answer,
        "quotes": [[one.number, one.title, readable_text(one.text)] for one in part.quotes],
        "is_flat": len(rows.entities) <= flat or not look.bubbles,
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


def _ragged(name: str, lists: Sequence[Sequence[int]]) -> Table:
    """Flatten lists of unequal lengths: lengths and values."""
    return {
        f"{name}_counts": [len(values) for values in lists],
        name: [value for values in lists for value in values],
    }


DRAWING = ("pack", "paint", "drawing")
"""The modules of `page/drawing/`, each after those that it imports."""

SCRIPTS = ("words", "tables", "scenes", "panel", "finder", "start")
"""The page's own script is the drawing and these files of `page/`, in this order, in one scope."""

MAX_NODES = 50_000
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=\w)", re.MULTILINE)


def to_html(
    graph: GraphExport | Subgraph, *, title: str = "Knowledge graph", max_nodes: int = MAX_NODES
) -> str:
    """One self-contained HTML page; the same graph gives the same page.

    It opens on the communities; what is inside one is drawn when it is opened, so that the page
    stays quick at 50,000 entities. Larger graphs are cut to the `max_nodes` entities that weigh
    most; evidence sentences are bounded (`MAX_CHARACTERS`); the page says what was left out.

    Raises:
        GraphInputError: `max_nodes` is less than 1.
        GraphError: the installed pyvis writes pages that this module does not understand.
    """
    if max_nodes < 1:
        raise GraphInputError(f"max_nodes must be at least 1, not {max_nodes!r}")
    part = graph if isinstance(graph, Subgraph) else Subgraph(export=graph)
    tables = page_tables(part, title=title, max_nodes=max_nodes)
    return _page(title, tables=tables)


def drawing_scripts() -> dict[str, str]:
    """Return what draws a graph in a browser: JavaScript modules by file name.

    `drawing.js` exports the class `Drawing`; it needs `vis-network.js` to have been loaded.

    Raises:
        GraphError: the installed pyvis writes pages that this module does not understand.
    """
    folder = resources.files(__package__) / "page" / "drawing"
    modules = {f"{name}.js": (folder / f"{name}.js").read_text(encoding="utf8") for name in DRAWING}
    palette = f"export const PALETTE = {json.dumps(PALETTE)}, ALONE = {json.dumps(ALONE)};\n"
    return {"vis-network.js": _vis_network(), "palette.js": palette} | modules


def _vis_network() -> str:
    """Extract vis-network from pyvis's page."""
    from pyvis.network import Network

    page = Network(cdn_resources="in_line").generate_html()
    found = [one for one in _SCRIPT.findall(page) if "@version" in one and "vis-network" in one]
    if len(found) != 1:
        raise GraphError("the installed pyvis writes pages of an unknown form; install pyvis 0.3.2")
    return str(found[0])


def _page(title: str, *, tables: PageTables) -> str:
    files = resources.files(__package__) / "page"
    library, *modules = drawing_scripts().values()
    own = [_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules]
    own += [(files / f"{name}.js").read_text(encoding="utf8") for name in SCRIPTS]
    script = '"use strict";\n(() => {{\n{}\n}})();'.format("\n".join(own))
    scripts = {"LIBRARY": library, "SCRIPT": script}
    scripts = {name: text.replace("\r\n", "\n") for name, text in scripts.items()}
    blocks = {"columns": tables.columns} | {
        f"texts-{number}": block for number, block in enumerate(tables.texts)
    }
    parts = scripts | {
        "POLICY": html.escape(_policy(scripts.values())),
        "TITLE": html.escape(_plain(title)),
        "STYLE": (files / "page.css").read_text(encoding="utf8"),
        "FIRST": _script_json(tables.first),
        "BLOCKS": "\n".join(
            f'<script type="text/plain" id="{name}">{_packed(block)}</script>'
            for name, block in blocks.items()
        ),
    }
    text = (files / "page.html").read_text(encoding="utf8")
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match.group(1)], text)


def _policy(scripts: Iterable[str]) -> str:
    """Return the content security policy: no requests, only these scripts."""
    hashes = (
        base64.b64encode(hashlib.sha256(text.encode("utf8")).digest()).decode() for text in scripts
    )
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _packed(table: Mapping[str, object]) -> str:
    """JSON, deflated, in base64: letters that mean nothing to any parser of HTML."""
    text = json.dumps(table, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf8", "replace"), 6)).decode()


def _plain(text: str) -> str:
    """Strip control characters and lone surrogates."""
    return "".join(c if c.isprintable() or c == " " else " " for c in text)


def _script_json(data: Mapping[str, object]) -> str:
    """Serialise JSON for inline scripts, non-ASCII and markup escaped."""
    text = json.dumps(data, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
