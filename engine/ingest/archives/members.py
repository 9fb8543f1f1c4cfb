"""The files inside a file under names that can be told apart. Knows no format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from ..content import Member
from .zipped_names import safe_path


def distinct(members: Iterable[Member]) -> tuple[Member, ...]:
    """The members in their order, each under a safe relative path of its own: a repeated one gets
    a number before its suffix."""
    taken: set[str] = set()
    kept: list[Member] = []
    for position, member in enumerate(members, start=1):
        path = PurePosixPath(safe_path(member.name) or f"entry {position}")
        candidate, number = path, 1
        while str(candidate) in taken:
            number += 1
            candidate = path.with_name(f"{path.stem} ({number}){path.suffix}")
        taken.add(str(candidate))
        kept.append(replace(member, name=str(candidate)))
    return tuple(kept)
