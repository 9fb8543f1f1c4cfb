"""`loregraph serve`: the page and the API over one library."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .options import DEFAULT_LIBRARY, LibraryOption, ProfileOption
from .session import settings_of


def serve(
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    host: Annotated[
        str | None, typer.Option(help="Where to listen; beyond loopback tokens are needed.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="0 takes any.", min=0, max=65535)] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    mcp: Annotated[
        bool | None, typer.Option("--mcp", help="Also the tools for agents, at /mcp.")
    ] = None,
) -> None:
    """Serve the page and the API (settings: `serve`), until interrupted."""
    given = {"host": host, "port": port, "mcp": mcp}
    settings = settings_of(profile).serving(**{k: v for k, v in given.items() if v is not None})
    from .listening import serve as listen

    def started(address: str) -> None:
        typer.echo(f"loregraph listens at {address} (Ctrl-C ends it)")
        sys.stdout.flush()
        if show:
            typer.launch(address)

    listen(library, settings, started=started)
