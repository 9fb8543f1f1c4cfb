"""Waiting for changes in folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import SourceError


def changes_in(sources: Sequence[str], *, not_in: Path) -> Iterator[object]:
    """Each time something changed in these folders; ends where it is interrupted."""
    from watchfiles import DefaultFilter, watch

    folders = [source for source in sources if Path(source).exists()]
    if not folders:
        raise SourceError("--watch needs a folder that is there")
    passed_over = DefaultFilter(ignore_paths=[str(not_in.resolve())])
    yield from watch(*folders, watch_filter=passed_over, debounce=1_000, step=200)
