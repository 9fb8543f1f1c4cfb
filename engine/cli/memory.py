"""Commands for the memory of users: list, show, name, search, forget and export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .session import (
    DEFAULT_LIBRARY,
    JsonOption,
    LibraryOption,
    ProfileOption,
    command_group,
    opened,
)

memory_app = command_group()
UserOption = Annotated[str, typer.Option("--user", "-u", help="Whose memory.")]
SessionOption = Annotated[str | None, typer.Option("--session", help="Only this conversation.")]


@memory_app.command("list")
def list_memory(
    user: UserOption,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """List the sessions and facts of a user; a replaced fact is in brackets."""
    from .rendering import print_json, print_line

    with opened(library, profile, asks_models=False) as engine:
        sessions, facts = engine.memory.sessions(user), engine.memory.facts(user)
        summaries, named = engine.memory.summaries(user), engine.memory.conversations(user)
    if json_output:
        told = {"sessions": sessions, "conversations": named}
        print_json({**told, "summaries": summaries, "facts": facts})
        return
    for each in named:
        summary = next((one.summary for one in summaries if one.session == each.session), each.name)
        print_line(f"session {each.session}", f": {summary}" if summary else "")
    for fact in facts:
        text = f"{fact.id}  {fact.kind:10}  {fact.valid_from}  {fact.text}"
        print_line(text if fact.superseded_by is None else f"({text})")
    if not sessions:
        print_line("nothing is remembered")


@memory_app.command()
def show(
    session: Annotated[str, typer.Argument(help="The conversation.")],
    user: UserOption,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Show what was said in a session."""
    from .rendering import print_line

    with opened(library, profile, asks_models=False) as engine:
        found = engine.memory.show(user, session)
    for document in found.documents:
        print_line(document.text, lines=True)
    for messages in found.open.values():
        for message in messages:
            print_line(f"{message.role.capitalize()} ({message.at[:16]}): {message.text}")
    if not (found.documents or found.open):
        print_line(f"nothing is remembered of a session {session!r}")


@memory_app.command()
def name(
    session: Annotated[str, typer.Argument(help="The conversation.")],
    title: Annotated[list[str], typer.Argument(help="Its name.")],
    user: UserOption,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Name a session."""
    with opened(library, profile, asks_models=False) as engine:
        engine.memory.name_session(user, session, " ".join(title))


@memory_app.command()
def search(
    question: Annotated[list[str], typer.Argument(help="What to look for.")],
    user: UserOption,
    topic: Annotated[str, typer.Option(help="Only conversations of this topic.")] = "",
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", help="How many passages; else memory.top_k.", min=1, max=50),
    ] = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show what a user said that a question finds."""
    from .rendering import show_passages

    with opened(library, profile) as engine:
        found = engine.memory.search(user, " ".join(question), top_k=top_k, topic=topic)
    show_passages(found, explain=False, as_json=json_output)


@memory_app.command()
def forget(
    user: UserOption,
    session: SessionOption = None,
    fact: Annotated[str | None, typer.Option(help="Only this fact, by its id.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Agree to forget everything of the user.")
    ] = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Forget a fact, a session, or a user, for good."""
    from .rendering import print_line

    if session is None and fact is None and not yes:
        raise typer.BadParameter("give --session, --fact, or --yes for all", param_hint="forget")
    with opened(library, profile, asks_models=False) as engine:
        engine.memory.forget(user, session=session, fact=fact)
    print_line("forgotten")


@memory_app.command()
def export(
    target: Annotated[Path, typer.Argument(help="A JSON file.")],
    user: UserOption,
    session: SessionOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Write everything that is held of a user as JSON."""
    from pydantic import TypeAdapter

    from ..memory.records import MemoryOverview

    with opened(library, profile, asks_models=False) as engine:
        found = engine.memory.show(user, session)
    target.write_bytes(TypeAdapter(MemoryOverview).dump_json(found, indent=2) + b"\n")
    typer.echo(f"{target} written")
