"""Graph exploration: entities, neighbourhoods, paths, communities, plain-text rendering and export.

Every method is limited by `filters` and `namespace` like a question: what only other documents say
is not there.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from ..arguments import checks_types
from ..errors import QuestionError, SettingsError, SourceError
from ..storage.graph_api import (
    OCCURS_WITH,
    CommunityDetail,
    CommunityList,
    CommunityName,
    EntityDetail,
    EntityList,
    EntityPath,
    Explorer,
    GraphExport,
    Neighbourhood,
    Quote,
    RelationView,
    SeenCommunities,
    SourceQuote,
    Subgraph,
    community_detail,
    export_in,
    graph_errors,
    read_export,
    seen_export,
)
from ..storage.graph_views import GraphViewCache
from ..storage.library import Library
from ..storage.schema import DocumentFilter, document_filter
from ..types import Answer

if TYPE_CHECKING:
    from ..storage.schema import Filters, Namespaces

MAX_LIMIT = 1_000
MAX_HOPS = 6
EVIDENCES = 5
"""Maximum sentences shown for an entity and for each of its relations."""


class GraphExplorer:
    """The graph of one library, to look around in.

    Args:
        readings: opens what some namespaces are read through, brought up to the documents.
        language: the reader's ("en", "zh"), for names; "" for that of most mentions.
    """

    def __init__(
        self,
        readings: Callable[[Namespaces], AbstractContextManager[tuple[Library, GraphViewCache]]],
        *,
        language: str = "",
    ) -> None:
        self._readings = readings
        self._language = language

    @checks_types
    def in_language(self, language: str) -> GraphExplorer:
        """Return the same graph for a reader of a language ("en", "zh"), for names."""
        return GraphExplorer(self._readings, language=language)

    @checks_types
    def entities(
        self,
        query: str = "",
        *,
        type: str | None = None,  # noqa: A002
        limit: int = 50,
        offset: int = 0,
        after: str = "",
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> EntityList:
        """Entities by any of their names, the most mentioned first.

        The part begins after the one whose id is `after`, so that nothing is passed over when the
        library grows between two parts; where that is gone, or not given, at `offset`.

        What is called just as the query says comes first; where no name contains the query, those
        that are spelt much like it. `type` is PERSON, ORGANISATION, PLACE and so on.
        """
        limit, offset = _checked(limit, offset)
        with self._looking(filters, namespace) as look:
            return look.explorer.entities(query, type=type, limit=limit, offset=offset, after=after)

    @checks_types
    def entity(
        self,
        name: str,
        *,
        evidences: int = EVIDENCES,
        limit: int = 50,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> EntityDetail:
        """Return an entity: names, sentences, relations (up to `limit`) and communities.

        Args:
            name: one of its names, or its id.
            evidences: so many sentences for it, and for each relation.
            limit: so many relations, the strongest.
            filters: which documents may be seen, as in `KnowledgeEngine.ask`.
            namespace: only documents of this one, or of these; None means all.

        Raises:
            UnknownName: nothing that may be seen is called so; the message names what comes near.
        """
        limit, evidences = _checked(limit, evidences)
        with self._looking(filters, namespace) as look:
            own = look.communities.of_entity.get(look.explorer.number(name), ())
            return look.explorer.entity(
                name,
                communities=look.communities.names_of(own),
                evidences=evidences,
                limit=limit,
            )

    @checks_types
    def neighbourhood(
        self,
        name: str,
        *,
        hops: int = 1,
        limit: int = 100,
        evidences: int = 1,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> Neighbourhood:
        """Return the neighbourhood of an entity.

        Up to `limit` nodes, nearest and strongest first; each with its community where no filter
        hides documents, since communities rest on them all.

        Raises:
            UnknownName: nothing that may be seen is called so.
            QuestionError: `hops` or `limit` below 1 or beyond what is offered.
        """
        limit, evidences = _checked(limit, evidences)
        with self._looking(filters, namespace) as look:
            seen, sees_all = look.communities, look.within is None

            def community_of(number: int) -> CommunityName | None:
                own = seen.of_entity.get(number, ())[:1] if sees_all else ()
                return next(iter(seen.names_of(own)), None)

            return look.explorer.neighbourhood(
                name,
                hops=_checked_hops(hops),
                limit=limit,
                evidences=evidences,
                community_of=community_of,
            )

    @checks_types
    def paths(
        self,
        a: str,
        b: str,
        *,
        max_hops: int = 4,
        limit: int = 5,
        evidences: int = 1,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> tuple[EntityPath, ...]:
        """Return paths between two entities, shortest first, then strongest; may be empty.

        Raises as `neighbourhood`.
        """
        limit, evidences = _checked(limit, evidences)
        with self._looking(filters, namespace) as look:
            return look.explorer.paths(
                a, b, max_hops=_checked_hops(max_hops), limit=limit, evidences=evidences
            )

    @checks_types
    def communities(
        self,
        level: int | None = None,
        *,
        limit: int = 50,
        offset: int = 0,
        after: str = "",
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> CommunityList:
        """Return communities of one level (0 is the coarsest) or of all, heaviest first.

        `after` and `offset` as for `entities`.
        """
        limit, offset = _checked(limit, offset)
        with self._looking(filters, namespace) as look:
            return look.communities.page(level=level, limit=limit, offset=offset, after=after)

    @checks_types
    def community(
        self,
        community_id: str,
        *,
        limit: int = 50,
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> CommunityDetail:
        """Return a community with its report and up to `limit` entities, strongest first.

        Raises:
            UnknownName: there is no such community that may be seen.
        """
        limit, _ = _checked(limit, 0)
        with self._looking(filters, namespace) as look:
            return community_detail(
                look.connection,
                look.communities,
                community_id,
                page_of=look.page_of,
                entity_at=look.explorer.entity_at,
                limit=limit,
            )

    def export(self, *, filters: Filters = None, namespace: Namespaces = None) -> GraphExport:
        """All of the graph that rests on these documents, as values; names in one language."""
        with self._looking(filters, namespace) as look:
            return look.export()

    @contextmanager
    def _looking(self, filters: Filters, namespace: Namespaces) -> Iterator[_Look]:
        within = document_filter(filters, namespace=namespace)
        with (
            self._readings(namespace) as (library, pictures),
            library.read() as connection,
            graph_errors(),
        ):
            yield _Look(library, pictures, connection, within, self._language)


@dataclass
class _Look:
    """One question to the graph, over one picture of the library."""

    library: Library
    pictures: GraphViewCache
    connection: Connection
    within: DocumentFilter | None
    language: str

    @cached_property
    def explorer(self) -> Explorer:
        """Return the explorer over the visible graph."""
        seen = self.pictures.current(self.connection, self.within)
        return Explorer(self.connection, seen, page_of=self.page_of, language=self.language)

    @cached_property
    def communities(self) -> SeenCommunities:
        """The communities that are seen."""
        return self.pictures.communities(self.connection, self.within)

    def export(self) -> GraphExport:
        """All that is seen, as values."""
        if self.within is None:
            return export_in(read_export(self.connection), self.language)
        seen = self.pictures.current(self.connection, self.within)
        return export_in(seen_export(self.connection, seen, self.communities), self.language)

    @cached_property
    def _pages(self) -> dict[str, tuple[int, ...]]:
        return {}

    def page_of(self, document_id: str, offset: int) -> int | None:
        """Return the page of an offset in a document, counted from 1."""
        if document_id not in self._pages:
            self._pages[document_id] = self.library.page_starts([document_id]).get(document_id, ())
        return bisect_right(self._pages[document_id], offset) or None


def _checked(limit: int, other: int) -> tuple[int, int]:
    """Validate a limit and an offset.

    Raises:
        QuestionError: one of them is not.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise QuestionError(f"limit: {limit} is not possible; give 1 to {MAX_LIMIT:,}")
    if other < 0:
        raise QuestionError(f"{other}: negative; count from 0")
    return limit, other


def _checked_hops(hops: int) -> int:
    if not 1 <= hops <= MAX_HOPS:
        raise QuestionError(f"hops: {hops} is not possible; give 1 to {MAX_HOPS}")
    return hops


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
        yield f"{_counted(found.relation_count, 'relation')}, the stated ones first:"
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
        yield "relations among them, the stated ones first:"
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
    said = (
        f"{relation.source_name} and {relation.target_name} are named together"
        if relation.predicate == OCCURS_WITH
        else f"{relation.source_name} – {relation.predicate} – {relation.target_name}"
    )
    yield f"{said} ({relation.weight:g})"
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


SUFFIXES = (".html", ".graphml", ".json", ".svg", ".png")
_log = logging.getLogger("loregraph")
_QUOTED = re.compile(r"'(.*)'", re.DOTALL)


def select_subgraph(
    export: GraphExport, *, focus: str, hops: int, community: str | int | None
) -> Subgraph:
    """Select the neighbourhood of an entity, a community, or the whole graph."""
    if focus:
        from ..storage.graph_api import neighbourhood_subgraph

        return neighbourhood_subgraph(export, focus, hops=hops)
    if community is not None:
        from ..storage.graph_api import part_of_community

        return part_of_community(export, community)
    return Subgraph(export=export)


def subgraph_of_answer(export: GraphExport, answer: Answer) -> Subgraph:
    """Return the subgraph behind an answer, with the answer."""
    from ..storage.graph_api import part_of_answer

    quotes = [
        Quote(number=one.number, title=one.title, text=one.quote, chunk_id=one.chunk_id)
        for one in answer.citations
    ]
    steps = (_QUOTED.search(step) for passage in answer.passages for step in passage.path)
    return part_of_answer(
        export,
        question=answer.question,
        answer=answer.text,
        quotes=quotes,
        read=[passage.chunk_id for passage in answer.passages],
        names=[step.group(1) for step in steps if step],
    )


def write_graph(part: Subgraph, target: Path, *, max_nodes: int) -> Path:
    """Write the graph to `target`.

    Raises:
        SettingsError: a suffix that is none of `SUFFIXES`.
        SourceError: the file cannot be written there.
    """
    content = _content(part, target, max_nodes=max_nodes)
    temporary = target.with_name(f"{target.name}.part")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    except OSError as error:
        raise SourceError(
            f"cannot write: {str(target)!r} ({error.strerror}); choose a writable place"
        ) from error
    return target


def export_suffix(target: Path) -> str:
    """Return the validated lower-case suffix of a graph export's file.

    Raises:
        SettingsError: it is none of `SUFFIXES`.
    """
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingsError(
            f"unknown graph format: {str(target)!r}; end the name in {', '.join(SUFFIXES)}"
        )
    return suffix


def _content(part: Subgraph, target: Path, *, max_nodes: int) -> bytes:
    match export_suffix(target):
        case ".html":
            from ..storage.graph_api import to_html

            return to_html(part, max_nodes=max_nodes).encode("utf8")
        case ".graphml":
            from ..storage.graph_api import to_graphml

            return to_graphml(part.export).encode("utf8")
        case ".svg":
            from ..storage.graph_api import draw_picture, to_svg

            return to_svg(draw_picture(part)).encode("utf8")
        case ".png":
            from ..storage.graph_api import draw_picture, to_png

            drawn = to_png(draw_picture(part))
            if drawn.note:
                _log.warning("%s", drawn.note)
            return drawn.content
        case _:
            from ..storage.graph_api import to_json

            return to_json(part.export).encode("utf8")
