"""The command line: parses arguments, calls `KnowledgeEngine`, shows the result.

Exit codes: 0 done, 1 an error (one line says which), 2 invalid arguments, 3 some of many failed,
130 interrupted. Heavy imports wait until a command needs them, so that `--help` is quick.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import EngineError
from ..shipped import copy_sample_corpus
from . import graph, server
from .chat import HistoryOption, chat, read_turns, turn_of, write_turns
from .evaluate import eval_app
from .graph import entities_app
from .init import init
from .memory import memory_app
from .models import models_app
from .server import demo, token_app
from .session import (
    DEFAULT_LIBRARY,
    EffortOption,
    ExcludeOption,
    FiltersOption,
    IncludeOption,
    JsonOption,
    LevelOption,
    LibraryOption,
    MetaOption,
    ModeOption,
    NamespaceOption,
    ProfileOption,
    ReportOption,
    Selection,
    StrictOption,
    TableOption,
    TagOption,
    WithinOption,
    YesOption,
    command_group,
    exit_code,
    finish,
    library_or_none,
    metadata_of,
    opened,
    pattern_of,
    reading,
    selection,
    settings_of,
    show,
    start_logging,
    writing,
)

if TYPE_CHECKING:
    from ..types import IngestReport


app = command_group("loregraph")
graph_app = command_group()
config_app = command_group()
app.add_typer(graph_app, name="graph", help="The knowledge graph: looked at, or as a file.")
graph_app.command("show")(graph.show)
graph_app.command("path")(graph.path)
graph_app.command("communities")(graph.communities)
app.add_typer(entities_app, name="entities", help="What is taken for one thing.")
app.add_typer(eval_app, name="eval", help="How well documents are found.")
app.add_typer(config_app, name="config", help="The settings in force.")
app.add_typer(models_app, name="models", help="The model files.")
app.add_typer(memory_app, name="memory", help="What users said.")
app.add_typer(token_app, name="token", help="Who may call the server.")

Words = list[str]
"""Question words as typed in the shell, quoted or not."""


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"loregraph {version('loregraph')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[  # noqa: ARG001 - its callback ends the program
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log what is done, on standard error.")
    ] = False,
    log_file: Annotated[
        Path | None, typer.Option("--log-file", help="Append the log to this file.")
    ] = None,
    log_level: LevelOption = None,
) -> None:
    """Documents in, cited answers out: with no key and no network."""
    if verbose or log_file or log_level:
        start_logging(log_level or "info", log_file, to_terminal=verbose or log_file is None)


@app.command()
def add(
    sources: Annotated[
        list[str], typer.Argument(help="Files, folders, web addresses, database URLs.")
    ],
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    table: TableOption = None,
    tag: TagOption = None,
    meta: MetaOption = None,
    namespace: NamespaceOption = "",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what language models would cost.")
    ] = False,
    strict: StrictOption = False,
    yes: YesOption = False,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="Ask the model again about what it could not answer before."),
    ] = False,
    report_file: ReportOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Add documents; unchanged ones cost nothing."""
    if copy_sample_corpus(sources):
        typer.echo("data/corpus is the sample corpus, copied here", err=True)
    metadata = metadata_of(tag, meta)
    excluded = [*(exclude or ()), *pattern_of(report_file, sources)]
    wanted = selection(namespace, include, excluded, tables=table)
    if estimate:
        _estimate(sources, wanted, library=library, profile=profile, as_json=json_output)
        return
    with writing(library, profile, create=True) as (engine, progress):
        if retry:
            engine.retry_unanswered()
        report = engine.add(
            sources,
            metadata=metadata,
            **wanted,
            strict=strict,
            remove_many=yes,
            progress=progress,
        )
    finish(report, as_json=json_output, file=report_file)


def _estimate(
    sources: Sequence[str],
    wanted: Selection,
    *,
    library: Path,
    profile: Path | None,
    as_json: bool,
) -> None:
    """Show what language models would cost; write nothing."""
    from .rendering import show_estimate

    with (
        library_or_none(library, planned=True) as place,
        writing(place, profile, create=True, asks_models=False) as (engine, progress),
    ):
        forecast = engine.estimate(sources, **wanted, progress=progress)
    show_estimate(forecast, as_json=as_json)
    exit_code(forecast.failed, done=forecast.documents > 0)


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
    table: TableOption = None,
    tag: TagOption = None,
    meta: MetaOption = None,
    namespace: NamespaceOption = "",
    strict: StrictOption = False,
    yes: YesOption = False,
    report_file: ReportOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Add what is new, replace what changed, remove what is gone from a folder.

    While it watches, --yes is for the first round alone: a disk may go away later.
    """
    from .server import follow

    metadata = metadata_of(tag, meta)
    excluded = [*(exclude or ()), *pattern_of(report_file, sources)]
    wanted = selection(namespace, include, excluded, tables=table)
    agreed = [yes]

    def once() -> IngestReport:
        with (
            library_or_none(library, planned=dry_run) as place,
            writing(place, profile, create=True, asks_models=not dry_run) as (engine, progress),
        ):
            return engine.sync(
                sources,
                metadata=metadata,
                **wanted,
                dry_run=dry_run,
                strict=strict,
                remove_many=bool(agreed) and agreed.pop(),
                progress=progress,
            )

    if not watch or dry_run:
        finish(once(), as_json=json_output, file=report_file, planned=dry_run)
        return
    follow(
        sources,
        lambda: show(once(), as_json=json_output, file=report_file),
        pass_over=[library, *([report_file] if report_file else ())],
    )


@app.command()
def ask(
    question: Annotated[Words, typer.Argument(help="The question, best in quotes.")],
    mode: ModeOption = "auto",
    effort: EffortOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how it was found.")] = False,
    history: HistoryOption = None,
    user: Annotated[str, typer.Option("--user", "-u", help="Use this user's memory.")] = "",
    session: Annotated[str, typer.Option(help="The conversation, with --user.")] = "default",
    filters: FiltersOption = None,
    namespace: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Ask a question; the answer names its sources.

    With --history the question is understood from the conversation in a file, and added to it;
    with --user from that user's memory, which takes in question and answer.
    """
    from .rendering import render_stream, show_answer, stderr_is_tty

    memory = None
    if user:
        from ..memory.records import Memory

        memory = Memory(user, session)
    turns = read_turns(history) if history else []
    with reading(library, profile) as engine:
        events = engine.stream(
            " ".join(question),
            mode=mode,
            effort=effort,
            filters=filters,
            namespace=namespace,
            history=turns,
            memory=memory,
        )
        answer = render_stream(events, visible=stderr_is_tty() and not json_output)
    for warning in answer.warnings:
        typer.echo(f"warning: {warning}", err=True)
    show_answer(answer, explain=explain, as_json=json_output)
    if history:
        write_turns(history, [*turns, turn_of(answer)])


@app.command()
def search(
    question: Annotated[Words, typer.Argument(help="What to look for.")],
    top_k: Annotated[
        int, typer.Option("--top-k", "--top", help="How many passages.", min=1, max=1000)
    ] = 10,
    min_relevance: Annotated[
        float, typer.Option(help="Leave out passages less relevant (0–1).", min=0, max=1)
    ] = 0.0,
    explain: Annotated[bool, typer.Option("--explain", help="Show each list's score.")] = False,
    filters: FiltersOption = None,
    namespace: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show the passages that a question finds."""
    from .rendering import show_passages

    with reading(library, profile) as engine:
        passages = engine.retrieve(
            " ".join(question),
            top_k=top_k,
            min_relevance=min_relevance,
            filters=filters,
            namespace=namespace,
        )
    show_passages(passages, explain=explain, as_json=json_output)


@app.command()
def reembed(
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Embed stored chunks that have no vectors of the present models."""
    with writing(library, profile) as (engine, progress):
        report = engine.reembed(progress=progress)
    if json_output:
        finish(report, as_json=True)
    else:
        typer.echo(f"{report.embedded} texts embedded")


@app.command()
def remove(
    documents: Annotated[list[str], typer.Argument(help="Document ids (see `stats --documents`).")],
    namespace: Annotated[str, typer.Option(help="The namespace that they are in.")] = "",
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Remove documents and all that only they said."""
    with writing(library, profile, asks_models=False) as (engine, progress):
        report = engine.remove(documents, namespace=namespace, progress=progress)
    finish(report, as_json=json_output)


@graph_app.command()
def export(
    target: Annotated[
        Path, typer.Argument(help="A file ending in .html, .svg, .png, .graphml or .json.")
    ],
    focus: Annotated[str, typer.Option(help="Only what is around this entity.")] = "",
    hops: Annotated[
        int | None, typer.Option(help="How many relations away from it (1).", min=0)
    ] = None,
    community: Annotated[str, typer.Option(help="Only this one: an id, number or title.")] = "",
    question: Annotated[
        str,
        typer.Option("--question", "--query", help="Ask, and show what the answer rests on."),
    ] = "",
    filters: FiltersOption = None,
    namespace: WithinOption = None,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    max_nodes: Annotated[int, typer.Option(help="Entities on the page at most.", min=1)] = 50_000,
    language: Annotated[
        Literal["en", "zh"] | None,
        typer.Option(
            metavar="<language>", help="Names in English (en) or Chinese (zh); else as most are."
        ),
    ] = None,
) -> None:
    """Write the graph or a part of it: a page, a picture, GraphML or JSON."""
    from .rendering import size_in_words

    if hops is not None and not focus:
        raise typer.BadParameter("needs --focus: give that option too", param_hint="--hops")
    with reading(library, profile, asks_models=bool(question)) as engine:
        engine.export_graph(
            target,
            focus=focus,
            hops=1 if hops is None else hops,
            community=community or None,
            question=question,
            max_nodes=max_nodes,
            filters=filters,
            namespace=namespace,
            language=language or "",
        )
    typer.echo(f"{target} written ({size_in_words(target.stat().st_size)})")


@app.command()
def stats(
    documents: Annotated[bool, typer.Option("--documents", help="List every document.")] = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Count what the library holds."""
    from .rendering import show_stats

    with opened(library, profile, asks_models=False) as engine:
        counts, listed = engine.stats(), engine.documents() if documents else None
    show_stats(counts, listed, as_json=json_output)


@app.command()
def usage(
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
    json_output: JsonOption = False,
) -> None:
    """Print LLM usage by day, stage and model."""
    from .rendering import show_usage

    with opened(library, profile, asks_models=False) as engine:
        rows = engine.usage()
    show_usage(rows, as_json=json_output)


@app.command()
def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Bring what is derived up to the library.")
    ] = False,
    library: LibraryOption = DEFAULT_LIBRARY,
    profile: ProfileOption = None,
) -> None:
    """Check what is installed, the models (asked for one word), the library."""
    from .doctor import examine
    from .rendering import show_findings

    if repair:
        with opened(library, profile, asks_models=False) as engine:
            for line in engine.repair() or ["nothing to repair"]:
                typer.echo(line)
    findings = examine(library, settings_of(profile))
    show_findings(findings)
    if any(finding.is_problem for finding in findings):
        raise typer.Exit(1)


@config_app.command("show")
def config_show(profile: ProfileOption = None) -> None:
    """Print the settings in force as YAML, secrets left out."""
    import yaml

    values = settings_of(profile).model_dump(mode="json")
    typer.echo(yaml.safe_dump(values, sort_keys=False), nl=False)


app.command("init")(init)
app.command("chat")(chat)
app.command("serve")(server.serve)
app.command("mcp")(server.mcp)
app.command("demo")(demo)


def main() -> None:
    """Run the console script; user errors print one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Chinese shows question marks
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    try:
        app(list(arguments), prog_name="loregraph")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except (EngineError, OSError) as error:
        from .rendering import show_failure

        show_failure(error)
        return 1
    return 0


if __name__ == "__main__":
    main()
