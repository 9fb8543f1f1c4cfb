"""Plain-text rendering of graph exploration, for the terminal and for agents.

Pure; every text of a document is put on one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .index.door import (
    CommunityDetail,
    CommunityList,
    EntityDetail,
    EntityPath,
    Neighbourhood,
    RelationView,
    SourceQuote,
)

EXCERPT_CHARACTERS = 240
SHOWN_MEMBERS = 12


def entity_lines(found: EntityDetail) -> Iterator[str]:
    """Render an entity: names, descriptions and relations."""
    counts = f"{_counted(found.mention_count, 'mention')} in "
    counts += _counted(found.document_count, "document")
    yield f"{found.name} ({found.type}; {counts}; {found.id})"
    for name in found.names if len(found.names) > 1 else ():
        yield f"  also {name.name} – {name.reason}" if name.reason else f"  also {name.name}"
    if found.description:
        yield f"  {_one_line(found.description)}"
    for quote in found.evidence:
        yield f"  {quote_line(quote)}"
    if found.relations:
        yield f"{_counted(found.relation_count, 'relation')}, the strongest first:"
    for relation in found.relations:
        yield from (f"  {line}" for line in relation_lines(relation))
    if len(found.relations) < found.relation_count:
        yield f"  … and {found.relation_count - len(found.relations):,} more"
    if found.communities:
        yield "communities, the widest first:"
    for community in found.communities:
        yield f"  {community.title} (level {community.level}; {community.id})"


def neighbourhood_lines(found: Neighbourhood) -> Iterator[str]:
    """Render a neighbourhood hop by hop, with its relations."""
    hops = sorted({node.hops for node in found.nodes} - {0})
    yield f"about {found.nodes[0].name}:"
    for hop in hops:
        names = ", ".join(node.name for node in found.nodes if node.hops == hop)
        yield f"  {_counted(hop, 'relation')} away: {names}"
    if found.edges:
        yield "relations among them, the strongest first:"
    for relation in found.edges:
        yield from (f"  {line}" for line in relation_lines(relation))


def path_lines(found: Sequence[EntityPath], *, ends: tuple[str, str], hops: int) -> Iterator[str]:
    """Ways from one entity to another, each step with a sentence that states it."""
    if not found:
        yield f"no way of {_counted(hops, 'relation')} or fewer leads from {ends[0]} to {ends[1]}"
    for number, path in enumerate(found, 1):
        yield f"{number}. {' → '.join(node.name for node in path.nodes)}"
        for relation in path.edges:
            yield from (f"   {line}" for line in relation_lines(relation))


def community_list_lines(found: CommunityList, *, numbered: bool = False) -> Iterator[str]:
    """Render communities, one per line, indented by level.

    `numbered` from 1 over all levels.
    """
    if not found.items:
        yield "there are no communities"
    for number, one in enumerate(found.items, start=1):
        size = _counted(one.size, "entity", "entities")
        place = f"{number}. " if numbered else ""
        yield f"{'  ' * one.level}{place}{one.title} (level {one.level}; {size}; {one.id})"
    if len(found.items) < found.total:
        yield f"… {len(found.items):,} of {found.total:,} communities on {found.levels} levels"


def community_lines(found: CommunityDetail) -> Iterator[str]:
    """Render a community with its report; every finding with its location."""
    rating = "" if found.rating is None else f"; rating {found.rating:.1f} of 10"
    yield f"{found.title} (level {found.level}; {found.id}{rating})"
    if found.written_by:
        yield f"  {_one_line(found.summary)} (written by {found.written_by})"
    for finding in found.findings:
        if found.written_by:
            yield f"  – {_one_line(finding.text)}"
        for quote in finding.evidence:
            yield f"  {quote_line(quote)}"
    names = ", ".join(entity.name for entity in found.entities[:SHOWN_MEMBERS])
    more = found.size - min(SHOWN_MEMBERS, len(found.entities))
    rest = f" and {more:,} more" if more > 0 else ""
    yield f"{_counted(found.size, 'entity', 'entities')}: {names}{rest}"
    if found.parent is not None:
        yield f"part of {found.parent.title} ({found.parent.id})"
    for child in found.children:
        yield f"holds {child.title} ({child.id})"


def relation_lines(relation: RelationView) -> Iterator[str]:
    """Render a relation, its weight and a sentence that states it."""
    yield (
        f"{relation.source_name} – {relation.predicate} – {relation.target_name} "
        f"({relation.weight:g})"
    )
    if relation.description:
        yield f"  {_one_line(relation.description)}"
    for quote in relation.evidence[:1]:
        yield f"  {quote_line(quote)}"


def quote_line(quote: SourceQuote) -> str:
    """Render a sentence and its location."""
    page = "" if quote.page is None else f", page {quote.page}"
    place = f"{quote.document_id}{page}, {quote.start}–{quote.end}"
    return f"“{_one_line(quote.quote)}” ({place})"


def _one_line(text: str) -> str:
    plain = " ".join(text.split())
    if len(plain) <= EXCERPT_CHARACTERS:
        return plain
    return f"{plain[: EXCERPT_CHARACTERS - 1].rstrip()}…"


def _counted(number: int, word: str, words: str = "") -> str:
    return f"1 {word}" if number == 1 else f"{number:,} {words or word + 's'}"
