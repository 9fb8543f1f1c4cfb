"""The files inside a file under names that can be told apart. Knows no format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from ..content import Member
from .zipped_names import safe_path


def distinct(members: Iterable[Member]) -> tuple[Member, ...]:
    """Return the members in order under distinct safe relative paths.

    Repeats get a number before the suffix.
    """
    taken: set[str] = set()
    numbers: dict[PurePosixPath, int] = {}  # tried so far: a name that comes often is not slow
    kept: list[Member] = []
    for position, member in enumerate(members, start=1):
        path = PurePosixPath(safe_path(member.name) or f"entry {position}")
        candidate = path
        while str(candidate) in taken:
            numbers[path] = numbers.get(path, 1) + 1
            candidate = path.with_name(f"{path.stem} ({numbers[path]}){path.suffix}")
        taken.add(str(candidate))
        kept.append(replace(member, name=str(candidate)))
    return tuple(kept)
