"""One command's work on a library: opened, shown, and left in order.

Exit codes stand in `cli`.
"""

from __future__ import annotations

import gc
import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import LibraryNotFound

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine
    from ..settings import Settings
    from ..types import IngestReport, SourceFailure

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
    from .draw_adding import report_by_source, show_report

    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(report_by_source(report), encoding="utf8")
    show_report(report, as_json=as_json, planned=planned)


def settings_of(profile: Path | None) -> Settings:
    """Load the settings of a profile or the defaults, with environment overrides."""
    from ..settings import Settings

    return Settings.load(profile)


def opened(
    library: Path, profile: Path | None, *, create: bool = False, asks_models: bool = True
) -> KnowledgeEngine:
    """Open an engine; without model calls no key is needed."""
    settings = settings_of(profile)  # before the slow imports: a typo in a profile shows at once
    gc.disable()  # nothing of what is imported is garbage: looking for it is a tenth of the start
    try:
        from ..facade import KnowledgeEngine

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
                f"the library at {str(library)!r} is empty; `loregraph add <files>` fills it"
            )
        yield engine


@contextmanager
def writing(
    library: Path, profile: Path | None, *, create: bool = False, asks_models: bool = True
) -> Iterator[tuple[KnowledgeEngine, Callable[[str, int, int], None]]]:
    """Open an engine to write, with progress bars.

    A library that is made for it and in which nothing is stored goes again.
    """
    from .draw import progress_bars, show_error

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
            from ..index.unbegun import delete_if_empty

            delete_if_empty(library)


@contextmanager
def tracebacks_hidden() -> Iterator[None]:
    """Keep log records with a traceback from a terminal: the report says what they are about.

    Where standard error goes to a file or a pipe they stay.
    """
    from .live import stderr_is_tty

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
    """Check for Ctrl-C, also as "release unlocked lock" from an interrupted Python lock."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
