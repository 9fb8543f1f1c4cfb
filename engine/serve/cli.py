"""The command line. Exit codes: 0 done, 1 an error (one line says which), 3 some of many failed.

Only draws and parses: what commands do, `KnowledgeEngine` does. Heavy imports wait until a
command needs them, so that `--help` is quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import EngineError

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine

SOME_FAILED = 3
_LIBRARY_HELP = "The library's folder."

app = typer.Typer(
    name="loregraph",
    help="Documents in, cited answers out: with no key and no network.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
graph_app = typer.Typer(help="The knowledge graph as a page or a file.", no_args_is_help=True)
config_app = typer.Typer(help="The settings in force.", no_args_is_help=True)
app.add_typer(graph_app, name="graph")
app.add_typer(config_app, name="config")

LibraryOption = Annotated[Path, typer.Option("--library", "-l", help=_LIBRARY_HELP)]
ProfileOption = Annotated[
    Path | None,
    typer.Option("--profile", "-p", help="A YAML profile, such as configs/openai.yaml."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
DEFAULT_LIBRARY = Path("library")


@app.command()
def add(
    sources: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Add files and folders; what is there unchanged already costs nothing."""
    from .draw import progress_bars, show_report

    with progress_bars() as progress, _open(library, profile, create=True) as engine:
        report = engine.add(list(sources), progress=progress)
    show_report(report, as_json=json_output)
    if report.failed:
        done = report.added or report.changed or report.unchanged
        raise typer.Exit(SOME_FAILED if done else 1)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    mode: Annotated[str, typer.Option(help="auto, local or global.")] = "auto",
    explain: Annotated[bool, typer.Option("--explain", help="Show how it was found.")] = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Ask a question; the answer names its sources."""
    from .draw import show_answer

    with _open(library, profile) as engine:
        answer = engine.ask(question, mode=mode)
    show_answer(answer, explain=explain, as_json=json_output)


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    top: Annotated[int, typer.Option(help="How many passages.", min=1, max=1000)] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show each list's score.")] = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show the passages that a question finds."""
    from .draw import show_passages

    with _open(library, profile) as engine:
        passages = engine.retrieve(question, top_k=top)
    show_passages(passages, explain=explain, as_json=json_output)


@app.command()
def remove(
    documents: Annotated[list[str], typer.Argument(help="Document ids (see `stats --documents`).")],
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Remove documents and all that only they said."""
    from .draw import progress_bars, show_report

    with progress_bars() as progress, _open(library, profile) as engine:
        report = engine.remove(documents, progress=progress)
    show_report(report, as_json=False)
    if report.failed:
        raise typer.Exit(SOME_FAILED if report.removed else 1)


@graph_app.command()
def export(
    target: Annotated[Path, typer.Argument(help="A file ending in .html, .graphml or .json.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    max_nodes: Annotated[int, typer.Option(help="Entities on the page at most.", min=1)] = 2000,
) -> None:
    """Write the graph as one offline page, as GraphML or as JSON."""
    with _open(library, profile) as engine:
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
        listed = engine.documents() if documents else []
        show_stats(engine.stats(), listed, as_json=json_output)


@app.command()
def doctor(library: LibraryOption = DEFAULT_LIBRARY, profile: ProfileOption = None) -> None:
    """Check what is installed, and the library if there is one."""
    from .doctor import examine
    from .draw import show_findings

    findings = examine(library, _settings(profile))
    show_findings(findings)
    if any(finding.is_problem for finding in findings):
        raise typer.Exit(1)


@config_app.command("show")
def config_show(profile: ProfileOption = None) -> None:
    """Print the settings in force, as YAML; secrets are never part of them."""
    import yaml

    typer.echo(yaml.safe_dump(_settings(profile).model_dump(), sort_keys=False), nl=False)


@app.command()
def demo(
    corpus: Annotated[Path, typer.Option(help="The documents to index.")] = Path("data/corpus"),
    library: LibraryOption = Path("demo-library"),
    page: Annotated[Path, typer.Option(help="Where the graph page goes.")] = Path("graph.html"),
) -> None:
    """Index the sample corpus, ask a local and a global question, write the graph page."""
    from .draw import progress_bars, show_answer, show_report

    with _open(library, None, create=True) as engine:
        with progress_bars() as progress:
            report = engine.add([corpus], progress=progress)
        show_report(report, as_json=False)
        for question in DEMO_QUESTIONS:
            typer.secho(f"\n? {question}", bold=True)
            show_answer(engine.ask(question), explain=False, as_json=False)
        engine.export_graph(page)
    typer.echo(f"\nThe graph of the sample corpus: {page.resolve()} (open it in a browser)")
    typer.echo(f'Ask more: .venv/bin/loregraph ask "…" --library {library}')


DEMO_QUESTIONS = (
    "Who founded Tolland Marine Station, and when?",
    "What conflicts run through these documents, and over what?",
)


def main() -> None:
    """The console script: errors that are meant to be read come out as one line."""
    try:
        app()
    except EngineError as error:
        typer.secho(f"loregraph: {error}", err=True, fg=typer.colors.RED)
        sys.exit(1)


def _settings(profile: Path | None) -> Any:
    from ..settings import Settings

    return Settings.load(profile)


def _open(library: Path, profile: Path | None, *, create: bool = False) -> KnowledgeEngine:
    from ..facade import KnowledgeEngine

    return KnowledgeEngine.open(library, settings=_settings(profile), create=create)
