"""Commands that serve or go on: `token`, `serve`, `mcp`, `demo`, and `sync --watch`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import EngineError, SourceError
from ..shipped import SAMPLE_CORPUS, copy_sample_corpus
from .session import (
    DEFAULT_LIBRARY,
    JsonOption,
    LibraryOption,
    ProfileOption,
    command_group,
    opened,
    reading,
    settings_of,
    writing,
)

if TYPE_CHECKING:
    from ..api.auth import TokenRow, TokenStore


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
    from ..api.serve import serve as listen

    def started(address: str) -> None:
        typer.echo(f"loregraph listens at {address} (Ctrl-C ends it)")
        sys.stdout.flush()
        if show:
            typer.launch(address)

    from .main import run
    from .served import answering_commands

    listen(
        library,
        settings,
        started=started,
        beside=lambda engine: answering_commands(library, engine, profile=profile, run=run),
    )


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
    user: Annotated[
        str, typer.Option(help="Offer the memory of this user; not with --http, where tokens say.")
    ] = "",
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Serve the library to an agent by the Model Context Protocol."""
    settings = settings_of(profile)
    _check(namespace, allow or (), user)
    if http:
        from ..api.serve import check_tokens

        wanted = {} if host is None else {"host": host}
        settings = settings.serving(port=port, **wanted)
        check_tokens(library, settings)  # before the library is opened: it shows at once
    if not read_only and not library.exists():
        typer.echo(f"a new, empty library at {str(library)!r}", err=True)
    with opened(library, profile, create=not read_only) as engine:
        from ..api.serve import serve_http, serve_stdio
        from ..mcp_server import ServerOptions, no_access

        offer = ServerOptions(
            engine=engine,
            rights_of=no_access,
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
            serve_stdio(offer, user=user)


def _check(namespace: str | None, folders: Sequence[Path], user: str) -> None:
    """Validate the namespace, the folders and the user."""
    from ..errors import SettingsError
    from ..memory.records import check_memory_name
    from ..types import check_namespace

    if user:
        check_memory_name("user", user)

    if namespace is not None:
        check_namespace(namespace)
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError(f"not a folder: --allow {str(folder)!r}; name an existing folder")


token_app = command_group()
_SPACES = "(a namespace, '' for the one without a name, '*' for all)"


def _store(library: Path, profile: Path | None) -> TokenStore:
    settings = settings_of(profile)
    from ..api.auth import TokenStore, tokens_file

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
    user: Annotated[
        str, typer.Option(help="Whose memory it reads and writes; without one, none.")
    ] = "",
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Make a token and print it: this once, since only its hash is kept."""
    from ..api.auth import time_after

    over = time_after(expires, datetime.now(UTC)) if expires is not None else None
    row, secret = _store(library, profile).create(
        name, reads=read or (), writes=write or (), is_admin=admin, expires=over, user=user
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
        values = [row.shown() for row in rows]
        typer.echo(json.dumps(values, ensure_ascii=False, indent=2))
        return
    for row in rows:
        typer.echo(f"{row.id}  {row.name}  {_told(row)}")
    if not rows:
        typer.echo("no tokens: everyone on this machine has access over loopback")


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
        return f"admin, memory of {row.user}" if row.user else "admin"
    told = [("reads", row.reads), ("writes", row.writes)]
    memory = [f"memory of {row.user}"] if row.user else []
    return ", ".join(
        [
            *(
                f"{what} {' '.join(name or repr('') for name in names)}"
                for what, names in told
                if names
            ),
            *memory,
        ]
    )


DEMO_QUESTIONS = (
    "Which ship laid the LANTERN cable, and when?",
    "What conflicts run through these documents, and over what?",
)


def demo(
    corpus: Annotated[
        Path | None, typer.Option(help="The documents to index; else the sample corpus.")
    ] = None,
    library: LibraryOption = Path("demo-library"),
    page: Annotated[Path, typer.Option(help="Where the graph page goes.")] = Path("graph.html"),
) -> None:
    """Index the sample corpus, ask two questions, draw the graph."""
    from .rendering import show_answer, show_question, show_report

    folder = corpus or Path(SAMPLE_CORPUS)
    copy_sample_corpus([str(folder)])
    if not folder.exists():
        raise SourceError(f"no such folder: {str(folder)!r}; check the path after --corpus")
    with writing(library, None, create=True) as (engine, progress):
        report = engine.add([folder], progress=progress)
    show_report(report, as_json=False, planned=False)
    with reading(library, None) as engine:
        for question in DEMO_QUESTIONS:
            show_question(question)
            show_answer(engine.ask(question), explain=False, as_json=False)
        engine.export_graph(page)
    command = "loregraph" if shutil.which("loregraph") else sys.argv[0]
    typer.echo(f"\nThe graph: {page.resolve()} (open it in a browser)")
    typer.echo("Every command of the tutorial works here, with this library:")
    for words in ('ask "When was the first Foghorn Festival held?"', "graph communities", "chat"):
        typer.echo(f"  {command} {words} --library {library}")
    typer.echo(f"Your own documents: {command} add FOLDER")


TICK_MILLISECONDS = 500
RETRY_TICKS = 20
"""A round that failed is tried again after so many ticks without a change."""
_NEVER_READ = ("node_modules", "__pycache__")


def follow(sources: Sequence[str], run: Callable[[], None], *, pass_over: Collection[Path]) -> None:
    """Call `run`, then again after every change, until interrupted.

    Watching begins before the first round, so that what changes during it is not missed. An error
    ends the first round and all; one in a later round is shown, once as long as it stays the same,
    and the round is tried again.

    Args:
        sources: folders and files; others (addresses, databases) are not watched.
        run: one round.
        pass_over: files and folders in which changes do not count.

    Raises:
        SourceError: none of the sources is a folder or file that is there.
    """
    from .rendering import show_watching

    changes = changes_in(sources, pass_over=pass_over)
    next(changes)
    run()
    show_watching(sources)
    try:
        _go_on(changes, run)
    except KeyboardInterrupt:
        return


def _go_on(changes: Iterator[bool], run: Callable[[], None]) -> None:
    from .rendering import show_failure

    said, waited = "", 0
    for changed in changes:
        waited += 1
        if not changed and not (said and waited >= RETRY_TICKS):
            continue
        waited = 0
        try:
            run()
            said = ""
        except (EngineError, OSError) as error:
            if str(error) != said:
                show_failure(error, then="the watching goes on")
            said = str(error) or type(error).__name__


def changes_in(sources: Sequence[str], *, pass_over: Collection[Path]) -> Iterator[bool]:
    """Yield whether these folders changed since the last step.

    From the first step on nothing is missed. Hidden names do not count, as they are not read.

    Raises:
        SourceError: no folder or file is there.
    """
    from watchfiles import watch

    roots = [Path(source).resolve() for source in sources if Path(source).exists()]
    if not roots:
        raise SourceError("--watch: not a folder; name an existing folder")
    ignored = [path.resolve() for path in pass_over]

    def counts(_kind: object, path: str) -> bool:
        return _is_read(Path(path), roots=roots, ignored=ignored)

    for found in watch(
        *roots,
        watch_filter=counts,
        debounce=1_000,
        step=200,
        rust_timeout=TICK_MILLISECONDS,
        yield_on_timeout=True,
    ):
        yield bool(found)


def _is_read(path: Path, *, roots: Sequence[Path], ignored: Sequence[Path]) -> bool:
    if any(path.is_relative_to(other) for other in ignored):
        return False
    return any(
        not any(
            part.startswith(".") or part in _NEVER_READ for part in path.relative_to(root).parts
        )
        for root in roots
        if path.is_relative_to(root)
    )
