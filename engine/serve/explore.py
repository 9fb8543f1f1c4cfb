"""`loregraph graph show | near | path | communities`: looking around in the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from ..errors import QuestionError
from .options import (
    DEFAULT_LIBRARY,
    JsonOption,
    LibraryOption,
    ProfileOption,
    WhereOption,
    WithinOption,
)
from .session import reading

Entity = Annotated[str, typer.Argument(help="One of its names, or its id.")]


def show(
    entity: Entity,
    hops: Annotated[
        int, typer.Option(help="Show what lies so many relations about it.", min=0, max=6)
    ] = 0,
    limit: Annotated[
        int, typer.Option(help="So many relations, or entities about it.", min=1, max=1000)
    ] = 12,
    where: WhereOption = None,
    within: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show an entity: names, sentences, relations, communities."""
    from ..explore_text import entity_lines, neighbourhood_lines

    with reading(library, profile, asks_models=False) as engine:
        if hops:
            around = engine.graph.neighbourhood(
                entity, hops=hops, limit=limit, filters=where, namespace=within
            )
            _out(around, neighbourhood_lines(around), as_json=json_output)
            return
        detail = engine.graph.entity(entity, limit=limit, filters=where, namespace=within)
    _out(detail, entity_lines(detail), as_json=json_output)


def path(
    first: Entity,
    second: Entity,
    max_hops: Annotated[int, typer.Option(help="The longest way.", min=1, max=6)] = 4,
    limit: Annotated[int, typer.Option(help="How many ways at most.", min=1, max=100)] = 3,
    where: WhereOption = None,
    within: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show how two entities hang together, each step with the sentence that says so."""
    from ..explore_text import path_lines

    with reading(library, profile, asks_models=False) as engine:
        found = engine.graph.paths(
            first, second, max_hops=max_hops, limit=limit, filters=where, namespace=within
        )
        if not found:
            one, other = (
                engine.graph.entity(name, filters=where, namespace=within).id
                for name in (first, second)
            )
            if one == other:
                raise QuestionError(f"{first!r} and {second!r} are one thing here: name two")
    _out(found, path_lines(found, ends=(first, second), hops=max_hops), as_json=json_output)


def communities(
    community: Annotated[
        str, typer.Argument(help="Its id, number or title: show its report; without, list them.")
    ] = "",
    level: Annotated[
        int | None, typer.Option(help="List those of this level; 0 is the widest.", min=0)
    ] = None,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1, max=1000)] = 20,
    where: WhereOption = None,
    within: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """List communities, or show one with its report and where each finding stands."""
    from ..explore_text import community_lines, community_list_lines

    with reading(library, profile, asks_models=False) as engine:
        graph = engine.graph
        if community:
            detail = graph.community(community, limit=limit, filters=where, namespace=within)
            _out(detail, community_lines(detail), as_json=json_output)
            return
        found = graph.communities(level, limit=limit, filters=where, namespace=within)
    lines = community_list_lines(found, numbered=level is None)
    _out(found, lines, as_json=json_output)


def _out(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print JSON or lines; control characters in names are escaped."""
    from .draw import print_json, show_line

    if as_json:
        print_json(value)
        return
    for line in lines:
        show_line(line)
