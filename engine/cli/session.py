"""Shared parts of commands: options, command groups, and a library opened and closed in order."""

from __future__ import annotations

import gc
import logging
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import typer
from typer.core import TyperGroup

from ..errors import LibraryNotFound, SourceError, plain_reason
from ..types import MetaValue
from .served import SERVED

if TYPE_CHECKING:
    from ..config import Settings
    from ..engine import KnowledgeEngine
    from ..types import IngestReport, SourceFailure

DEFAULT_LIBRARY = Path("library")
ModeOption = Annotated[
    Literal["auto", "local", "global", "both", "agent"],
    typer.Option(
        metavar="<mode>",
        help="auto, local (passages), global (the whole), both, or agent (in rounds).",
    ),
]
EffortOption = Annotated[
    Literal["low", "medium"] | None,
    typer.Option(metavar="<effort>", help="How much an overview may cost: low or medium."),
]
LevelOption = Annotated[
    Literal["debug", "info", "warning", "error"] | None,
    typer.Option(metavar="<level>", help="debug, info, warning or error."),
]
LibraryOption = Annotated[Path, typer.Option("--library", "-l", help="The library's folder.")]
ProfileOption = Annotated[
    Path | None,
    typer.Option("--profile", "-p", help="A YAML file, or a shipped profile such as openai."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(help="Of folders only what matches, as in .gitignore."),
]
TableOption = Annotated[list[str] | None, typer.Option(help="Of databases only these tables.")]
ExcludeOption = Annotated[list[str] | None, typer.Option(help="Pass over what matches.")]
TagOption = Annotated[list[str] | None, typer.Option(help="A tag for these documents.")]
MetaOption = Annotated[
    list[str] | None, typer.Option(help="Metadata for these documents, such as date=2024-05-01.")
]
NamespaceOption = Annotated[str, typer.Option(help="Keeps documents apart from others.")]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Remove documents whose file can no longer be read.")
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Agree to remove more than a fifth of the documents.")
]
ReportOption = Annotated[
    Path | None, typer.Option("--report", help="Write what came of every file, as JSON.")
]
FiltersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        "--where",
        help="Only documents that fit: tags=red, date>=2024-01-01, title~plan, type!=pdf.",
    ),
]
WithinOption = Annotated[
    str | None, typer.Option("--namespace", help="Only documents of this namespace.")
]


class Selection(TypedDict):
    """Parts of the sources that are taken, and the namespace that they go to."""

    namespace: str
    include: Sequence[str]
    exclude: Sequence[str]
    tables: Sequence[str]


def selection(
    namespace: str,
    include: Sequence[str] | None,
    exclude: Sequence[str],
    *,
    tables: Sequence[str] | None,
) -> Selection:
    """Gather the options that select of the sources."""
    return Selection(
        namespace=namespace, include=include or (), exclude=exclude, tables=tables or ()
    )


def metadata_of(tags: list[str] | None, pairs: list[str] | None) -> dict[str, MetaValue] | None:
    """Parse `--tag` and `--meta`; None without either."""
    if tags is None and pairs is None:
        return None
    metadata: dict[str, MetaValue] = {}
    for pair in pairs or ():
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise SourceError(f"--meta {pair!r}: write key=value")
        metadata[key.strip()] = value.strip()
    if tags:
        metadata["tags"] = tuple(sorted(set(tags)))
    return metadata


def pattern_of(report: Path | None, sources: Sequence[str]) -> list[str]:
    """Return a pattern that excludes the report's own file."""
    if report is None:
        return []
    place = report.resolve()
    folders = sorted({Path(source).resolve() for source in sources})
    inside = [place.relative_to(each) for each in folders if place.is_relative_to(each)]
    return ["/" + re.sub(r"([\\*?\[\] !#])", r"\\\1", each.as_posix()) for each in inside]


def start_logging(level: str, file: Path | None, *, to_terminal: bool) -> None:
    """Log what the product does, to a file, to standard error, or both."""
    logger = logging.getLogger("loregraph")
    logger.setLevel(level.upper())
    handlers: list[logging.Handler] = [logging.StreamHandler()] if to_terminal else []
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(file, encoding="utf8"))
    for handler in handlers:
        handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(handler)


class _OneLine(logging.Formatter):
    """Formatter whose messages hold no control character; a traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        from .rendering import safe_text

        return safe_text(super().formatMessage(record))


class _WholeHelp(TyperGroup):
    """Help formatter that wraps a command's line instead of truncating it."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.commands.values():
            told = command.short_help or (command.help or "").partition("\n\n")[0]
            command.short_help = " ".join(told.split())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the group's own options."""
        with _plain_refusals():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command of the group."""
        with _plain_refusals():
            return super().invoke(ctx)


@contextmanager
def _plain_refusals() -> Iterator[None]:
    """Word the refusal of an option for the user."""
    try:
        yield
    except typer.BadParameter as error:
        error.message = plain_reason(error.message)
        raise


def command_group(name: str | None = None) -> typer.Typer:
    """Create a plain-text group; rich boxes double the start-up time."""
    return typer.Typer(
        name=name,
        cls=_WholeHelp,
        no_args_is_help=True,
        add_completion=name is not None,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


SOME_FAILED = 3
INTERRUPTED = 130


def finish(
    report: IngestReport, *, as_json: bool, file: Path | None = None, planned: bool = False
) -> None:
    """Print the outcome; the exit code tells whether all, some or nothing succeeded.

    Empty sources beside others have gone well: there is nothing in them to be found.
    """
    show(report, as_json=as_json, file=file, planned=planned)
    done = report.added or report.changed or report.unchanged or report.removed
    exit_code(report.failed, done=bool(done))
    if report.partial or report.pending or report.postponed:
        raise typer.Exit(SOME_FAILED)


def exit_code(failures: Sequence[SourceFailure], *, done: bool) -> None:
    """Exit non-zero if sources failed: all of them, or some besides `done`."""
    if failures and not done:
        raise typer.Exit(1)
    if not all(failure.is_empty for failure in failures):
        raise typer.Exit(SOME_FAILED)


def show(report: IngestReport, *, as_json: bool, file: Path | None, planned: bool = False) -> None:
    """Show what was done, and write it of every source where a file is named."""
    from .rendering import report_by_source, show_report

    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(report_by_source(report), encoding="utf8")
    show_report(report, as_json=as_json, planned=planned)


def settings_of(profile: Path | None) -> Settings:
    """Load the settings of a profile or the defaults, with environment overrides."""
    from ..config import Settings

    return Settings.load(profile)


def opened(
    library: Path, profile: Path | None, *, create: bool = False, asks_models: bool = True
) -> AbstractContextManager[KnowledgeEngine]:
    """Open an engine, or take the server's; without model calls no key is needed."""
    if (served := SERVED.get()) is not None:
        return nullcontext(served)
    settings = settings_of(profile)  # before the slow imports: a typo in a profile shows at once
    gc.disable()  # nothing of what is imported is garbage: looking for it is a tenth of the start
    try:
        from ..engine import KnowledgeEngine

        return KnowledgeEngine.open(
            library, settings=settings, create=create, asks_models=asks_models
        )
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def library_or_none(library: Path, *, planned: bool) -> Iterator[Path]:
    """Open the library; a plan uses an empty one and writes nothing."""
    if not planned or library.exists():
        yield library
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "library"


@contextmanager
def reading(
    library: Path, profile: Path | None, *, asks_models: bool = True
) -> Iterator[KnowledgeEngine]:
    """Open an engine to query; refuses an empty library with a reason."""
    with opened(library, profile, asks_models=asks_models) as engine:
        if not engine.stats()["documents"]:
            raise LibraryNotFound(
                f"library is empty: {str(library)!r}; add documents with `loregraph add <files>`"
            )
        yield engine


@contextmanager
def writing(
    library: Path, profile: Path | None, *, create: bool = False, asks_models: bool = True
) -> Iterator[tuple[KnowledgeEngine, Callable[[str, int, int], None]]]:
    """Open an engine to write, with progress bars.

    A library that is made for it and in which nothing is stored goes again.
    """
    from .rendering import progress_bars, show_error

    is_new = create and not library.exists()
    try:
        with (
            opened(library, profile, create=create, asks_models=asks_models) as engine,
            tracebacks_hidden(),
            progress_bars() as progress,
        ):
            yield engine, progress
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interruption(error):
            raise
        show_error("interrupted; what was stored is kept: the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        if is_new and library.exists():
            from ..storage.library import delete_if_empty

            delete_if_empty(library)


@contextmanager
def tracebacks_hidden() -> Iterator[None]:
    """Keep log records with a traceback from a terminal: the report says what they are about.

    Where standard error goes to a file or a pipe they stay.
    """
    from .rendering import stderr_is_tty

    if not stderr_is_tty():
        yield
        return
    handler, logger = logging.StreamHandler(), logging.getLogger("loregraph")
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: record.exc_info is None)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def is_interruption(error: BaseException | None) -> bool:
    """Check whether an exception stands for Ctrl-C on the command line."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
