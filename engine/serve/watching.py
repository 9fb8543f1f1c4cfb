"""Watch mode: synchronise at the start and after every change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from ..errors import EngineError, SourceError

TICK_MILLISECONDS = 500
RETRY_TICKS = 20
"""A round that failed is tried again after so many ticks without a change."""
_NEVER_READ = ("node_modules", "__pycache__")


def follow(
    sources: Sequence[str],
    run: Callable[[], None],
    *,
    pass_over: Collection[Path],
    started: Callable[[], None],
    failed: Callable[[EngineError | OSError], None],
) -> None:
    """Call `run`, then again after every change, until interrupted.

    Watching begins before the first round, so that what changes during it is not missed. An error
    ends the first round and all; one in a later round is told to `failed`, once as long as it
    stays the same, and the round is tried again.

    Args:
        sources: folders and files; others (addresses, databases) are not watched.
        run: one round.
        pass_over: files and folders in which changes do not count.
        started: called after the first round.
        failed: what came of a later round.

    Raises:
        SourceError: none of the sources is a folder or file that is there.
    """
    changes = changes_in(sources, pass_over=pass_over)
    next(changes)
    run()
    started()
    try:
        _go_on(changes, run, failed)
    except KeyboardInterrupt:
        return


def _go_on(
    changes: Iterator[bool],
    run: Callable[[], None],
    failed: Callable[[EngineError | OSError], None],
) -> None:
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
                failed(error)
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
        raise SourceError("--watch needs a folder that is there")
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
