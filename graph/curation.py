"""User overrides of names, and their combined effect.

Decisions are facts: they stay when documents go and act again when the names come back. A later
decision beats an earlier one, and all of them beat the rules of `resolve`. Knows no database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MERGE, SPLIT, RENAME, RETYPE = "merge", "split", "rename", "retype"
MERGED_BY_HAND = "merged by hand"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Curation:
    """One decision. `keys` are name keys, `names` the same as they were typed.

    - merge: all keys are one thing; the first one's name is the name of it.
    - split: the keys leave what they belonged to, together; no rule joins them with others again.
    - rename: the thing of the first key is called `value`.
    - retype: the thing of the first key is a `value`.

    `number` counts decisions: the higher, the later.
    """

    number: int
    action: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Combined effect of all overrides.

    `groups` are keys that are one thing, two or more, the one that names it first; `apart` are the
    keys that no rule may join with others; `names` and `types` hold by key (number, text), the
    highest number counts for an entity of several keys.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    apart: frozenset[str] = frozenset()
    names: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    types: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def apply_overrides(curations: Iterable[Curation]) -> Overrides:
    """Apply overrides in numeric order."""
    group_of: dict[str, list[str]] = {}
    apart: set[str] = set()
    names: dict[str, tuple[int, str]] = {}
    types: dict[str, tuple[int, str]] = {}
    for curation in sorted(curations):
        match curation.action:
            case "merge":
                _join(group_of, curation.keys)
            case "split":
                _leave(group_of, curation.keys)
                _join(group_of, curation.keys)
                apart.update(curation.keys)
            case "rename":
                names[curation.keys[0]] = (curation.number, curation.value)
            case "retype":
                types[curation.keys[0]] = (curation.number, curation.value)
            case _:
                raise ValueError(f"no such decision: {curation.action!r}")
    groups = {tuple(group) for group in group_of.values() if len(group) > 1}
    return Overrides(groups=tuple(sorted(groups)), apart=frozenset(apart), names=names, types=types)


def latest(known: Mapping[str, tuple[int, str]], keys: Iterable[str]) -> str | None:
    """Return the last override about any of the keys; None without one."""
    found = [known[key] for key in keys if key in known]
    return max(found)[1] if found else None


def _join(group_of: dict[str, list[str]], keys: Sequence[str]) -> None:
    """Join the groups of all keys, the first key's in front."""
    group = group_of.setdefault(keys[0], [keys[0]])
    for key in keys[1:]:
        other = group_of.get(key, [key])
        if other is group:
            continue
        group.extend(other)
        group_of.update((member, group) for member in other)


def _leave(group_of: dict[str, list[str]], keys: Iterable[str]) -> None:
    for key in keys:
        group = group_of.pop(key, None)
        if group is not None:
            group.remove(key)
