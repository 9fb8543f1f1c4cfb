"""Commands `loregraph entities` (inspect, override resolution) and `loregraph graph` (explore)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import QuestionError
from .session import (
    DEFAULT_LIBRARY,
    FiltersOption,
    JsonOption,
    LibraryOption,
    ProfileOption,
    WithinOption,
    command_group,
    opened,
    reading,
)

if TYPE_CHECKING:
    from ..knowledge_graph.entities import CurationChange, DecisionRow, EntityRow

Entity = Annotated[str, typer.Argument(help="One of its names, or its id.")]


def show(
    entity: Entity,
    hops: Annotated[
        int, typer.Option(help="Show what lies so many relations about it.", min=0, max=6)
    ] = 0,
    limit: Annotated[
        int, typer.Option(help="So many relations, or entities about it.", min=1, max=1000)
    ] = 12,
    filters: FiltersOption = None,
    within: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show an entity: names, sentences, relations, communities."""
    from ..knowledge_graph.explorer import entity_lines, neighbourhood_lines

    with reading(library, profile, asks_models=False) as engine:
        if hops:
            around = engine.graph.neighbourhood(
                entity, hops=hops, limit=limit, filters=filters, namespace=within
            )
            _out(around, neighbourhood_lines(around), as_json=json_output)
            return
        detail = engine.graph.entity(entity, limit=limit, filters=filters, namespace=within)
    _out(detail, entity_lines(detail), as_json=json_output)


def path(
    first: Entity,
    second: Entity,
    max_hops: Annotated[int, typer.Option(help="The longest way.", min=1, max=6)] = 4,
    limit: Annotated[int, typer.Option(help="How many ways at most.", min=1, max=100)] = 3,
    filters: FiltersOption = None,
    within: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show how two entities hang together, each step with the sentence that says so."""
    from ..knowledge_graph.explorer import path_lines

    with reading(library, profile, asks_models=False) as engine:
        found = engine.graph.paths(
            first, second, max_hops=max_hops, limit=limit, filters=filters, namespace=within
        )
        if not found:
            one, other = (
                engine.graph.entity(name, filters=filters, namespace=within).id
                for name in (first, second)
            )
            if one == other:
                raise QuestionError(
                    f"both names mean the same entity: {first!r}, {second!r}; name two entities"
                )
    _out(found, path_lines(found, ends=(first, second), hops=max_hops), as_json=json_output)


def communities(
    community: Annotated[
        str, typer.Argument(help="Its id, number or title: show its report; without, list them.")
    ] = "",
    level: Annotated[
        int | None, typer.Option(help="List those of this level; 0 is the widest.", min=0)
    ] = None,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1, max=1000)] = 20,
    filters: FiltersOption = None,
    within: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """List communities, or show one with its report and where each finding stands."""
    from ..knowledge_graph.explorer import community_lines, community_list_lines

    with reading(library, profile, asks_models=False) as engine:
        graph = engine.graph
        if community:
            detail = graph.community(community, limit=limit, filters=filters, namespace=within)
            _out(detail, community_lines(detail), as_json=json_output)
            return
        found = graph.communities(level, limit=limit, filters=filters, namespace=within)
    lines = community_list_lines(found, numbered=level is None)
    _out(found, lines, as_json=json_output)


def _out(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print JSON or lines; control characters in names are escaped."""
    from .rendering import print_json, print_line

    if as_json:
        print_json(value)
        return
    for line in lines:
        print_line(line)


entities_app = command_group()

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Only show what would change; nothing is written.")
]
Name = Annotated[str, typer.Argument(help="One of its names, or its id.")]
DESCRIPTION_CHARACTERS = 200


@entities_app.callback()
def root() -> None:
    """Inspect entities and decide about them; decisions beat every rule and are stored."""


@entities_app.command("list")
def list_entities(
    query: Annotated[str, typer.Argument(help="Only those with a name that contains it.")] = "",
    limit: Annotated[int, typer.Option(help="How many at most.", min=1, max=100_000)] = 20,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show entities, the most mentioned first, and why each name belongs."""
    from .rendering import print_json

    with opened(library, profile, asks_models=False) as engine:
        rows = engine.entities.list(query, limit=limit)
    if json_output:
        print_json(rows)
        return
    if not rows:
        _say("no entity has such a name" if query else "there are no entities")
    for row in rows:
        _show_entity(row)


@entities_app.command()
def merge(
    names: Annotated[
        list[str], typer.Argument(help="Two names or more; the first stays its name.")
    ],
    dry_run: DryRunOption = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Say that names mean one thing."""
    with opened(library, profile, asks_models=False) as engine:
        change = engine.entities.merge(names, dry_run=dry_run)
    _show_change(change, as_json=json_output)


@entities_app.command()
def split(
    names: Annotated[list[str], typer.Argument(help="Names that leave what they belong to.")],
    dry_run: DryRunOption = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Say that names mean something else; several names stay together."""
    with opened(library, profile, asks_models=False) as engine:
        change = engine.entities.split(names, dry_run=dry_run)
    _show_change(change, as_json=json_output)


@entities_app.command()
def rename(
    name: Name,
    new_name: Annotated[str, typer.Argument(help="What it is to be called.")],
    dry_run: DryRunOption = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Give an entity another name."""
    with opened(library, profile, asks_models=False) as engine:
        change = engine.entities.rename(name, new_name, dry_run=dry_run)
    _show_change(change, as_json=json_output)


@entities_app.command()
def retype(
    name: Name,
    new_type: Annotated[str, typer.Argument(help="PERSON, ORGANISATION, PLACE, …")],
    dry_run: DryRunOption = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Say what kind of thing an entity is."""
    with opened(library, profile, asks_models=False) as engine:
        change = engine.entities.retype(name, new_type, dry_run=dry_run)
    _show_change(change, as_json=json_output)


@entities_app.command()
def decisions(
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show the decisions made, and what each acts on now."""
    from .rendering import print_json

    with opened(library, profile, asks_models=False) as engine:
        rows = engine.entities.decisions()
    if json_output:
        print_json(list(rows))
        return
    if not rows:
        _say("no decisions were made")
    for row in rows:
        _say(f"{row.number}. {_decision(row.action, row.names, row.value)}: {_state(row)}")


@entities_app.command()
def undo(
    number: Annotated[int, typer.Argument(help="Its number (see `entities decisions`).", min=1)],
    dry_run: DryRunOption = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Take a decision back."""
    with opened(library, profile, asks_models=False) as engine:
        change = engine.entities.undo(number, dry_run=dry_run)
    _show_change(change, as_json=json_output)


def _show_entity(row: EntityRow) -> None:
    from .rendering import counted

    where = f"{counted(row.mentions, 'mention')} in {counted(row.documents, 'document')}"
    _say(f"{row.name} ({row.type}; {where}; {row.id})")
    for name in row.names:
        if len(row.names) > 1:
            _say(f"  {name.key} – {name.reason}")
    if row.description:
        cut = "…" if len(row.description) > DESCRIPTION_CHARACTERS else ""
        _say(f"  {row.description[:DESCRIPTION_CHARACTERS]}{cut}")


def _show_change(change: CurationChange, *, as_json: bool) -> None:
    from .rendering import print_json

    if as_json:
        print_json(change)
        return
    what = _decision(change.action, change.names, change.value)
    if change.action == "undo":
        _say(f"{'' if change.written else 'would be: '}undo {change.number}")
    else:
        _say(f"{change.number}. {what}" if change.written else f"would be: {what}")
    for mark, rows in (("-", change.before), ("+", change.after)):
        for row in rows:
            names = ", ".join(name.key for name in row.names)
            _say(f"  {mark} {row.name} ({row.type}): {names}")
    if not change.before and not change.after:
        _say("  no entity changes")


def _decision(action: str, names: Sequence[str], value: str) -> str:
    quoted = ", ".join(repr(name) for name in names)
    return f"{action} {quoted} to {value!r}" if value else f"{action} {quoted}"


def _state(row: DecisionRow) -> str:
    missing = ", ".join(repr(key) for key in row.waits_for)
    if not row.entities:
        return f"waits, for no document has the names {missing} now"
    acting = f"acts on {', '.join(repr(name) for name in row.entities)}"
    return f"{acting}; waits for {missing}" if missing else acting


def _say(line: str) -> None:
    """One line; names come from documents, so nothing in them may steer a terminal."""
    from .rendering import print_line

    print_line(line)
