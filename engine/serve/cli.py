"""The command line.

Exit codes: 0 done, 1 an error (one line says which), 2 a command that cannot be understood, 3 some
of many failed, 130 interrupted.

Only draws and parses: what commands do, `KnowledgeEngine` does. Heavy imports wait until a
command needs them, so that `--help` is quick.
"""

from __future__ import annotations

import errno
import io
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import EngineError, LibraryNotFound, SourceError
from .options import (
    DEFAULT_LIBRARY,
    ExcludeOption,
    IncludeOption,
    JsonOption,
    LibraryOption,
    MetaOption,
    NamespaceOption,
    ProfileOption,
    ReportOption,
    TagOption,
    WhereOption,
    WithinOption,
    metadata_of,
)

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine
    from ..settings import Settings
    from ..types import IngestReport

SOME_FAILED = 3
INTERRUPTED = 130
DEMO_QUESTIONS = (
    "Which ship laid the LANTERN cable, and when?",
    "What conflicts run through these documents, and over what?",
)


class Mode(StrEnum):
    """Which way a question takes."""

    AUTO = "auto"
    LOCAL = "local"
    GLOBAL = "global"


# Plain help: rich's boxes double the start-up time and break where lines are short.
app = typer.Typer(
    name="loregraph",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
graph_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
config_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(graph_app, name="graph", help="The knowledge graph as a page or a file.")
app.add_typer(config_app, name="config", help="The settings in force.")

Words = list[str]
"""A question as the shell hands it over: whoever forgot the quotes is understood all the same."""


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"loregraph {version('loregraph')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Documents in, cited answers out: with no key and no network."""


@app.command()
def add(
    sources: Annotated[
        list[str], typer.Argument(help="Files, folders, web addresses, database URLs.")
    ],
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    tag: TagOption = None,
    meta: MetaOption = None,
    namespace: NamespaceOption = "",
    report_file: ReportOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Add documents; unchanged ones cost nothing."""
    with _writing(library, profile, create=True) as (engine, progress):
        report = engine.add(
            sources,
            metadata=metadata_of(tag, meta),
            namespace=namespace,
            include=include or (),
            exclude=exclude or (),
            progress=progress,
        )
    _conclude(report, as_json=json_output, file=report_file)


@app.command()
def sync(
    sources: Annotated[
        list[str], typer.Argument(help="Folders (files, addresses and databases too).")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and follow every change until interrupted.")
    ] = False,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    tag: TagOption = None,
    meta: MetaOption = None,
    namespace: NamespaceOption = "",
    report_file: ReportOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Add what is new, replace what changed, remove what is gone from a folder."""
    from .draw import show_watching
    from .watching import changes_in

    def once(engine: KnowledgeEngine, progress: Callable[[str, int, int], None]) -> IngestReport:
        return engine.sync(
            sources,
            metadata=metadata_of(tag, meta),
            namespace=namespace,
            include=include or (),
            exclude=exclude or (),
            dry_run=dry_run,
            progress=progress,
        )

    with _writing(library, profile, create=True) as (engine, progress):
        report = once(engine, progress)
    if not watch or dry_run:
        _conclude(report, as_json=json_output, file=report_file, planned=dry_run)
        return
    _show(report, as_json=json_output, file=report_file)
    show_watching(sources)
    for _changes in changes_in(sources, not_in=library):
        with _writing(library, profile) as (engine, progress):
            report = once(engine, progress)
        _show(report, as_json=json_output, file=report_file)


@app.command()
def ask(
    question: Annotated[Words, typer.Argument(help="The question, best in quotes.")],
    mode: Annotated[
        Mode,
        typer.Option(help="local: passages; global: the whole; auto: as it needs."),
    ] = Mode.AUTO,
    explain: Annotated[bool, typer.Option("--explain", help="Show how it was found.")] = False,
    where: WhereOption = None,
    namespace: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Ask a question; the answer names its sources."""
    from .draw import show_answer

    with _reading(library, profile) as engine:
        answer = engine.ask(" ".join(question), mode=mode.value, filters=where, namespace=namespace)
    show_answer(answer, explain=explain, as_json=json_output)


@app.command()
def search(
    question: Annotated[Words, typer.Argument(help="What to look for.")],
    top: Annotated[int, typer.Option(help="How many passages.", min=1, max=1000)] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show each list's score.")] = False,
    where: WhereOption = None,
    namespace: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show the passages that a question finds."""
    from .draw import show_passages

    with _reading(library, profile) as engine:
        passages = engine.retrieve(
            " ".join(question), top_k=top, filters=where, namespace=namespace
        )
    show_passages(passages, explain=explain, as_json=json_output)


@app.command()
def remove(
    documents: Annotated[list[str], typer.Argument(help="Document ids (see `stats --documents`).")],
    namespace: NamespaceOption = "",
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Remove documents and all that only they said."""
    with _writing(library, profile) as (engine, progress):
        report = engine.remove(documents, namespace=namespace, progress=progress)
    _conclude(report, as_json=json_output)


@graph_app.command()
def export(
    target: Annotated[Path, typer.Argument(help="A file ending in .html, .graphml or .json.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    max_nodes: Annotated[int, typer.Option(help="Entities on the page at most.", min=1)] = 2000,
) -> None:
    """Write the graph: an offline page, GraphML or JSON."""
    with _reading(library, profile) as engine:
        engine.export_graph(target, max_nodes=max_nodes)
    typer.echo(f"{target} written ({target.stat().st_size / 1e6:.1f} MB)")


@app.command()
def stats(
    documents: Annotated[bool, typer.Option("--documents", help="List every document.")] = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Count what the library holds."""
    from .draw import show_stats

    with _open(library, profile) as engine:
        counts, listed = engine.stats(), engine.documents() if documents else None
    show_stats(counts, listed, as_json=json_output)


@app.command()
def doctor(library: LibraryOption = DEFAULT_LIBRARY, profile: ProfileOption = None) -> None:
    """Check what is installed, and the library."""
    from .doctor import examine
    from .draw import show_findings

    findings = examine(library, _settings(profile))
    show_findings(findings)
    if any(finding.is_problem for finding in findings):
        raise typer.Exit(1)


@config_app.command("show")
def config_show(profile: ProfileOption = None) -> None:
    """Print the settings in force as YAML, secrets left out."""
    import yaml

    typer.echo(yaml.safe_dump(_settings(profile).model_dump(), sort_keys=False), nl=False)


@app.command()
def demo(
    corpus: Annotated[Path, typer.Option(help="The documents to index.")] = Path("data/corpus"),
    library: LibraryOption = Path("demo-library"),
    page: Annotated[Path, typer.Option(help="Where the graph page goes.")] = Path("graph.html"),
) -> None:
    """Index the sample corpus, ask two questions, draw the graph."""
    from .draw import show_answer, show_question, show_report

    if not corpus.exists():
        raise SourceError(
            f"no sample corpus at {str(corpus)!r}: run it in the folder of the loregraph sources, "
            "or name a folder with --corpus"
        )
    with _writing(library, None, create=True) as (engine, progress):
        report = engine.add([corpus], progress=progress)
    show_report(report, as_json=False, planned=False)
    with _reading(library, None) as engine:
        for question in DEMO_QUESTIONS:
            show_question(question)
            show_answer(engine.ask(question), explain=False, as_json=False)
        engine.export_graph(page)
    command = "loregraph" if shutil.which("loregraph") else sys.argv[0]
    typer.echo(f"\nThe graph of the sample corpus: {page.resolve()} (open it in a browser)")
    typer.echo(f'Ask more: {command} ask "…" --library {library}')


def main() -> None:
    """The console script: errors that are meant to be read come out as one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Chinese shows question marks
    try:
        app()
    except EngineError as error:
        _fail(str(error))
    except OSError as error:
        place = f"{str(error.filename)!r}: " if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "; make room and run the same command again" if full else ""
        _fail(f"{place}{error.strerror or error}{advice}")


def _fail(message: str) -> None:
    from .draw import show_error

    show_error(message)
    sys.exit(1)


def _conclude(
    report: IngestReport, *, as_json: bool, file: Path | None = None, planned: bool = False
) -> None:
    """Show what was done; the exit code tells whether all, some or nothing of it went well."""
    _show(report, as_json=as_json, file=file, planned=planned)
    if report.failed:
        done = report.added or report.changed or report.unchanged or report.removed
        raise typer.Exit(SOME_FAILED if done else 1)


def _show(report: IngestReport, *, as_json: bool, file: Path | None, planned: bool = False) -> None:
    from .draw import report_by_source, show_report

    if file is not None:
        file.write_text(report_by_source(report), encoding="utf8")
    show_report(report, as_json=as_json, planned=planned)


def _settings(profile: Path | None) -> Settings:
    from ..settings import Settings

    return Settings.load(profile)


def _open(library: Path, profile: Path | None, *, create: bool = False) -> KnowledgeEngine:
    settings = _settings(profile)  # before the slow imports: a typo in a profile shows at once
    from ..facade import KnowledgeEngine

    return KnowledgeEngine.open(library, settings=settings, create=create)


@contextmanager
def _reading(library: Path, profile: Path | None) -> Iterator[KnowledgeEngine]:
    """An engine to ask; a library without a document answers nothing, and says why."""
    with _open(library, profile) as engine:
        if not engine.stats()["documents"]:
            raise LibraryNotFound(
                f"the library at {str(library)!r} is empty; `loregraph add <files>` fills it"
            )
        yield engine


@contextmanager
def _writing(
    library: Path, profile: Path | None, *, create: bool = False
) -> Iterator[tuple[KnowledgeEngine, Callable[[str, int, int], None]]]:
    """An engine to write with, and bars that show how far it is."""
    from .draw import progress_bars, show_error

    try:
        with _open(library, profile, create=create) as engine, progress_bars() as progress:
            yield engine, progress
    except KeyboardInterrupt:
        show_error("interrupted; what was stored is kept: the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
