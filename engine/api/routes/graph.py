"""Graph routes: entities, neighbourhoods, paths, communities and reports."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from ...engine import KnowledgeEngine
from ...errors import GraphStageError, SettingsError
from ...knowledge_graph.explorer import GraphExplorer
from ...storage.graph_api import (
    CommunityDetail,
    CommunityList,
    EntityDetail,
    EntityList,
    EntityPath,
    EntityView,
    Neighbourhood,
    SeenCommunity,
)
from .. import schemas
from ..errors import Problem
from ..jobs import Caller, Service, ServiceHere
from ..limits import ThreadLimiter
from ..schemas import Cursor, Filters, Limit, Namespace, Page, Question, Where

router = APIRouter(prefix="/v1/graph", tags=["graph"])
Found = TypeVar("Found")
Name = Annotated[str, Query(min_length=1, max_length=1_000, description="A name, or an id.")]
_PAGE_POLICY = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@dataclass(frozen=True, slots=True)
class View:
    """Graph as visible to this request."""

    engine: KnowledgeEngine
    lane: ThreadLimiter
    namespace: str | frozenset[str] | None
    filters: Filters
    language: str = ""

    @property
    def graph(self) -> GraphExplorer:
        """The ways to look at it."""
        return self.engine.graph.in_language(self.language)

    async def seen(self, look: Callable[..., Found], *about: object, **how: object) -> Found:
        """Run an exploration such as `graph.entity` in a thread."""
        return await self.lane.run(
            partial(look, *about, **how, filters=self.filters, namespace=self.namespace)
        )


def _view(
    service: ServiceHere,
    caller: Caller,
    namespace: Namespace = None,
    where: Where = [],  # noqa: B006  # never changed; FastAPI reads it
    language: Annotated[
        str, Query(pattern="^(en|zh)?$", description="The reader's language, for names.")
    ] = "",
) -> View:
    return View(service.engine, service.looking, caller.within(namespace), where or None, language)


ViewHere = Annotated[View, Depends(_view)]


class EntityPaths(BaseModel):
    """Ways from one entity to another; none where there is none."""

    paths: list[EntityPath]


@router.get("/entities", summary="List entities")
async def list_entities(
    view: ViewHere,
    query: Annotated[str, Query(max_length=200, description="Part of a name.")] = "",
    type: Annotated[str | None, Query(max_length=100, examples=["PERSON"])] = None,  # noqa: A002
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[EntityView]:
    """Entities by any of their names, the most mentioned first."""
    after, begin = schemas.place_and_end_in("entities", cursor)
    found = await view.seen(
        view.graph.entities, query, type=type, limit=limit, offset=begin, after=after
    )
    return Page(items=found.items, total=found.total, next=_following("entities", found))


@router.get("/entities/{id:path}", summary="One entity")
async def get_entity(
    view: ViewHere,
    id: str,  # noqa: A002  # the parameter's public name
    evidences: Annotated[int, Query(ge=1, le=50)] = 5,
    limit: Limit = 50,
) -> EntityDetail:
    """Return an entity by id or name, with its sentences."""
    return await view.seen(view.graph.entity, id, evidences=evidences, limit=limit)


@router.get("/neighbourhood", summary="What lies about an entity")
async def neighbourhood(
    view: ViewHere,
    entity: Name,
    hops: Annotated[int, Query(ge=1, le=6)] = 1,
    limit: Limit = 100,
) -> Neighbourhood:
    """Nodes, the nearest and strongest first, and the relations among them."""
    return await view.seen(view.graph.neighbourhood, entity, hops=hops, limit=limit)


@router.get("/paths", summary="How two entities are joined")
async def paths(
    view: ViewHere,
    origin: Annotated[str, Query(alias="from", min_length=1, max_length=1_000)],
    target: Annotated[str, Query(alias="to", min_length=1, max_length=1_000)],
    max_hops: Annotated[int, Query(ge=1, le=6)] = 4,
    limit: Annotated[int, Query(ge=1, le=20)] = 5,
) -> EntityPaths:
    """Ways from one to the other, the shortest and of these the strongest first."""
    found = await view.seen(view.graph.paths, origin, target, max_hops=max_hops, limit=limit)
    return EntityPaths(paths=list(found))


@router.get("/communities", summary="List communities")
async def list_communities(
    view: ViewHere,
    level: Annotated[int | None, Query(ge=0, le=100, description="0 is the coarsest.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[SeenCommunity]:
    """Communities of one level or of all, the weightiest of each first."""
    after, begin = schemas.place_and_end_in("communities", cursor)
    found = await view.seen(view.graph.communities, level, limit=limit, offset=begin, after=after)
    return Page(items=found.items, total=found.total, next=_following("communities", found))


@router.get("/communities/{id:path}", summary="One community")
async def get_community(
    view: ViewHere,
    id: str,  # noqa: A002
    limit: Limit = 50,
) -> CommunityDetail:
    """Return a community with its report, evidence and strongest entities."""
    return await view.seen(view.graph.community, id, limit=limit)


@router.get(
    "/page",
    summary="The graph as a page",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
async def graph_page(
    service: ServiceHere,
    view: ViewHere,
    focus: Annotated[str, Query(max_length=1_000, description="An entity to begin at.")] = "",
    hops: Annotated[int, Query(ge=1, le=6)] = 1,
    community: Annotated[str | None, Query(max_length=1_000)] = None,
    question: Annotated[
        str, Query(max_length=4_000, description="Refused here: answering may cost, so POST it.")
    ] = "",
) -> Response:
    """Return one offline HTML page that holds the graph, or a part of it.

    It holds what the token may see, and nothing of other documents.
    """
    if question:
        raise Problem(
            405,
            "method",
            "question: not accepted by GET; send it by POST",
            headers={"Allow": "POST"},
        )
    return await _drawn(
        service, partial(_page, view, focus=focus, hops=hops, community=community, question="")
    )


@router.post(
    "/page",
    summary="The graph behind an answer as a page",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
async def page_of_answer(service: ServiceHere, caller: Caller, wanted: Question) -> Response:
    """Answer a question; return one offline page with the part of the graph behind the answer."""
    view = View(service.engine, service.looking, caller.within(wanted.namespace), wanted.filters)
    draw = partial(_page, view, focus="", hops=1, community=None, question=wanted.question)
    return await _drawn(service, draw)


async def _drawn(service: Service, draw: Callable[[], bytes]) -> Response:
    html = await service.asking.run(draw)
    headers = {"Content-Security-Policy": _PAGE_POLICY}
    return Response(html, media_type="text/html; charset=utf-8", headers=headers)


def _page(
    view: View,
    *,
    focus: str,
    hops: int,
    community: str | None,
    question: str,
) -> bytes:
    with tempfile.TemporaryDirectory(prefix="loregraph-") as folder:
        target = Path(folder) / "graph.html"
        try:
            view.engine.export_graph(
                target,
                focus=focus,
                hops=hops,
                community=community or None,
                question=question,
                filters=view.filters,
                namespace=view.namespace,
                language=view.language,
            )
        except (GraphStageError, SettingsError) as error:
            raise Problem(422, "part-of-the-graph", str(error)) from error
        return target.read_bytes()


def _following(kind: str, found: EntityList | CommunityList) -> str | None:
    end = found.begin + len(found.items)
    return schemas.encode_cursor(kind, (found.items[-1].id, end)) if end < found.total else None
