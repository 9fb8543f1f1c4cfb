"""`loregraph mcp`: the library as tools for an agent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .options import DEFAULT_LIBRARY, LibraryOption, ProfileOption
from .session import opened, settings_of


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Listen on a port instead of standard input.")
    ] = False,
    host: Annotated[str | None, typer.Option(help="Where to listen, with --http.")] = None,
    port: Annotated[
        int, typer.Option(help="The port, with --http; 0 takes a free one.", min=0, max=65535)
    ] = 8322,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer no tool that adds or removes.")
    ] = False,
    namespace: Annotated[
        str | None, typer.Option(help="Offer this namespace alone, as if there were no other.")
    ] = None,
    allow: Annotated[
        list[Path] | None,
        typer.Option(help="A folder that files may be added from; without one, none may."),
    ] = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Serve the library to an agent by the Model Context Protocol."""
    settings = settings_of(profile)
    _check(namespace, allow or ())
    if http:
        from .listening import check_tokens

        wanted = {} if host is None else {"host": host}
        settings = settings.serving(port=port, **wanted)
        check_tokens(library, settings)  # before the library is opened: it shows at once
    if not read_only and not library.exists():
        typer.echo(f"a new, empty library at {str(library)!r}", err=True)
    with opened(library, profile, create=not read_only) as engine:
        from .mcp_listening import serve_http, serve_stdio
        from .mcp_server import ServerOptions, nobody

        offer = ServerOptions(
            engine=engine,
            rights_of=nobody,
            namespace=namespace,
            read_only=read_only,
            folders=[folder.resolve() for folder in allow or ()],
            concurrency=settings.serve.concurrency,
            timeout_seconds=settings.serve.request_timeout_seconds,
        )
        if http:
            serve_http(
                offer,
                settings,
                library,
                started=lambda where: typer.echo(f"an MCP server at {where}", err=True),
            )
        else:
            serve_stdio(offer)


def _check(namespace: str | None, folders: Sequence[Path]) -> None:
    """Validate the namespace and the folders."""
    from ..errors import SettingsError
    from ..namespaces import check_namespace

    if namespace is not None:
        check_namespace(namespace)
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError(f"--allow {str(folder)!r} is no folder")
