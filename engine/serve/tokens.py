"""`loregraph token`: who may call the server, made, listed and revoked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command_groups import command_group
from .options import DEFAULT_LIBRARY, JsonOption, LibraryOption, ProfileOption
from .session import settings_of

if TYPE_CHECKING:
    from .api.tokens import TokenRow, TokenStore

token_app = command_group()
_SPACES = "(a namespace, '' for the one without a name, '*' for all)"


def _store(library: Path, profile: Path | None) -> TokenStore:
    settings = settings_of(profile)
    from .api.tokens import TokenStore, tokens_file

    return TokenStore(tokens_file(settings, library))


@token_app.command()
def create(
    name: Annotated[str, typer.Argument(help="Whose it is.")],
    read: Annotated[
        list[str] | None, typer.Option(help=f"May look at documents of {_SPACES}.")
    ] = None,
    write: Annotated[
        list[str] | None, typer.Option(help=f"May add and remove documents of {_SPACES}.")
    ] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="May do everything, and see figures and settings.")
    ] = False,
    expires: Annotated[
        str | None, typer.Option(metavar="<time>", help="How long it counts, such as 90d or 12h.")
    ] = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Make a token and print it: this once, since only its hash is kept."""
    from .api.tokens import time_after

    over = time_after(expires, datetime.now(UTC)) if expires is not None else None
    row, secret = _store(library, profile).create(
        name, reads=read or (), writes=write or (), is_admin=admin, expires=over
    )
    typer.echo(secret)
    typer.echo(f"{row.id} {row.name}: {_told(row)}; it is not shown again", err=True)


@token_app.command("list")
def list_tokens(
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show every token's id, name, rights and time."""
    rows = _store(library, profile).rows()
    if json_output:
        values = [
            {
                "id": row.id,
                "name": row.name,
                "read": row.reads,
                "write": row.writes,
                "admin": row.is_admin,
                "expires": row.expires.isoformat() if row.expires else None,
            }
            for row in rows
        ]
        typer.echo(json.dumps(values, ensure_ascii=False, indent=2))
        return
    for row in rows:
        typer.echo(f"{row.id}  {row.name}  {_told(row)}")
    if not rows:
        typer.echo("no tokens: on loopback everybody on this machine may do everything")


@token_app.command()
def revoke(
    token: Annotated[str, typer.Argument(help="Its id or its name.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Forget a token; a running server refuses it from the next request on."""
    row = _store(library, profile).revoke(token)
    typer.echo(f"{row.id} {row.name} revoked")


def _told(row: TokenRow) -> str:
    if row.expires is None:
        return _rights(row)
    word = "expired" if row.is_over(datetime.now(UTC)) else "until"
    return f"{_rights(row)}, {word} {row.expires:%Y-%m-%d %H:%M} UTC"


def _rights(row: TokenRow) -> str:
    if row.is_admin:
        return "admin"
    told = [("reads", row.reads), ("writes", row.writes)]
    return ", ".join(
        f"{what} {' '.join(name or repr('') for name in names)}" for what, names in told if names
    )
