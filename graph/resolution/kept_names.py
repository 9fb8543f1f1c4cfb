"""Kept aggregates of names, and the blocks by which rules find them.

A row holds what resolution knows of a name, so that it is read without its mentions, and the ids of
its blocks. A block is a form that names share, hashed; a row of `name_blocks` says whether a rule
reads the name there (MEMBER), or looks there for what it says of the name (READER).
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, bindparam, delete, func, insert, select

from ..model import Name
from ..storage.facts import in_batches
from ..storage.schema import kept_names, name_blocks, proposed_links
from .name_forms import as_person, with_plain_parts
from .rules import CROWD, MEMBER, READER, Link, Profile, name_profile

T = TypeVar("T")
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptName:
    """All that is kept of a key; without `base`, it is no name, and only has blocks.

    Args:
        base: the name's profile, before other names show it to be a person's.
        is_turned: it is a register form of a person's name.
        is_person: other names show that it is a person's.
        blocks: the part it has in each block, by id.
        reads: blocks that rules read when they last ran, besides those.
    """

    base: Profile | None = None
    is_turned: bool = False
    is_person: bool = False
    blocks: Mapping[int, int] = field(default_factory=dict)
    reads: frozenset[int] = frozenset()

    @property
    def profile(self) -> Profile | None:
        """The profile that rules read."""
        found = self.base
        if found is not None and self.is_turned:
            found = with_plain_parts(found)
        return as_person(found) if found is not None and self.is_person else found

    def held(self) -> Iterator[int]:
        """Yield the blocks in which rules read it."""
        return (block for block, part in self.blocks.items() if part & MEMBER)

    def read(self) -> Iterator[int]:
        """Yield the blocks that rules read for it, but those of documents and neighbours."""
        return (block for block, part in self.blocks.items() if part & READER)


NOTHING = KeptName()


class KeptNames:
    """The kept names of a library, loaded as they are asked for; one transaction long."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[str, KeptName] = {}
        self._profiles: dict[str, Profile | None] = {}

    def load(self, keys: Iterable[str]) -> None:
        """Read these keys at once, where they are not yet."""
        wanted = {*keys} - self._known.keys()
        self._known.update(dict.fromkeys(wanted, NOTHING))
        for batch in in_batches(wanted):
            rows = self._connection.execute(select(kept_names).where(kept_names.c.key.in_(batch)))
            self._known.update((key, _of_row(key, *row)) for key, *row in rows)

    def __getitem__(self, key: str) -> KeptName:
        """Return what is kept of a key, `NOTHING` where that is nothing."""
        if key not in self._known:
            self.load((key,))
        return self._known[key]

    def profile(self, key: str) -> Profile | None:
        """Return the profile of a key, if it is a name."""
        if key not in self._profiles:
            self._profiles[key] = self[key].profile
        return self._profiles[key]

    def counts_in(self, blocks: Iterable[int]) -> Counter[int]:
        """Return how many members each of the blocks has."""
        table = name_blocks.c
        found: Counter[int] = Counter()
        for batch in _batches(sorted(set(blocks))):
            query = select(table.block, func.count()).group_by(table.block)
            query = query.where(table.block.in_(batch), table.part.op("&")(MEMBER) != 0)
            found.update(dict(map(tuple, self._connection.execute(query))))
        return found

    def keys_in(self, blocks: Iterable[int], part: int) -> set[str]:
        """Return the keys that have this part in one of the blocks."""
        table = name_blocks.c
        found: set[str] = set()
        for batch in _batches(sorted(set(blocks))):
            query = select(table.key).where(table.block.in_(batch), table.part.op("&")(part) != 0)
            found.update(self._connection.execute(query).scalars())
        return found

    def members_of(self, blocks: Iterable[int]) -> set[str]:
        """Return the members of blocks; of a crowd only so many that it is seen to be one."""
        counts = self.counts_in(blocks)
        crowds = [block for block in sorted(counts) if counts[block] > CROWD]
        found = self.keys_in(counts.keys() - {*crowds}, MEMBER)
        table = name_blocks.c
        for block in crowds:
            query = select(table.key).where(table.block == block, table.part.op("&")(MEMBER) != 0)
            found.update(self._connection.execute(query.limit(CROWD + 1)).scalars())
        return found

    def write(self, changed: Mapping[str, KeptName]) -> None:
        """Replace what is kept of these keys."""
        self.load(changed)
        before = {key: _row(key, self._known[key]) for key in changed}
        after = {key: _row(key, value) for key, value in changed.items()}
        other = [key for key in sorted(changed) if before[key] != after[key]]
        _replace(
            self._connection,
            kept_names,
            gone=[{"at_key": key} for key in other if before[key]],
            come=[row for key in other if (row := after[key])],
        )
        old = {(b, k, p) for k in other for b, p in _parts(self._known[k])}
        new = {(b, k, p) for k in other for b, p in _parts(changed[k])}
        _replace(
            self._connection,
            name_blocks,
            gone=[{"at_block": block, "at_key": key} for block, key, _ in sorted(old - new)],
            come=[{"block": b, "key": k, "part": p} for b, k, p in sorted(new - old)],
        )
        self._known.update(changed)
        for key in changed:
            self._profiles.pop(key, None)

    def forget(self) -> None:
        """Delete everything that is kept."""
        for table in (kept_names, name_blocks, proposed_links):
            self._connection.execute(delete(table))
        self._known.clear()
        self._profiles.clear()


def _parts(kept: KeptName) -> Iterator[tuple[int, int]]:
    return chain(kept.blocks.items(), ((block, READER) for block in kept.reads))


def _replace(
    connection: Connection,
    table: Table,
    *,
    gone: Sequence[dict[str, Any]],
    come: Sequence[dict[str, Any]],
) -> None:
    if gone:
        place = [table.c[name.removeprefix("at_")] == bindparam(name) for name in gone[0]]
        connection.execute(delete(table).where(*place), gone)
    if come:
        connection.execute(insert(table), come)


def _row(key: str, kept: KeptName) -> dict[str, Any] | None:
    if kept.base is None and not kept.blocks and not kept.reads:
        return None
    return {
        "key": key,
        "name": "" if kept.base is None else _text(kept.base.name, kept),
        "blocks": array("q", sorted(b << 2 | part for b, part in kept.blocks.items())).tobytes(),
        "reads": array("q", sorted(kept.reads)).tobytes(),
    }


def _text(name: Name, kept: KeptName) -> str:
    value = [
        name.surfaces,
        name.types,
        sorted(name.documents),
        sorted(name.titles),
        int(kept.is_turned),
        int(kept.is_person),
    ]
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _of_row(key: str, text: str, blocks: bytes, reads: bytes) -> KeptName:
    base, turned, person = None, 0, 0
    if text:
        surfaces, types, documents, titles, turned, person = json.loads(text)
        name = Name(
            key=key,
            surfaces=surfaces,
            types=types,
            documents=frozenset(documents),
            titles=frozenset(titles),
        )
        base = name_profile(name)
    return KeptName(
        base=base,
        is_turned=bool(turned),
        is_person=bool(person),
        blocks={value >> 2: value & 3 for value in array("q", blocks)},
        reads=frozenset(array("q", reads)),
    )


Proposals = dict[str, dict[str, set[Link]]]
"""Links by stage and owner."""


def read_proposals(connection: Connection, keys: Iterable[str]) -> tuple[Proposals, set[str]]:
    """Read the links between these keys and all that links lead to; return those, too."""
    found: Proposals = defaultdict(lambda: defaultdict(set))
    reached, fresh = set[str](), {*keys}
    while fresh:
        reached |= fresh
        ends: set[str] = set()
        for column in (proposed_links.c.key, proposed_links.c.other):
            for batch in in_batches(fresh):
                for stage, owner, *row in connection.execute(
                    select(proposed_links).where(column.in_(batch))
                ):
                    link = Link(**dict(zip(_LINK, row, strict=True)))
                    found[stage][owner].add(link)
                    ends |= {link.key, link.other}
        fresh = ends - reached
    return found, reached


def links_of_stage(connection: Connection, stage: str) -> set[Link]:
    """Read all links of a stage."""
    query = select(*(proposed_links.c[name] for name in _LINK))
    rows = connection.execute(query.where(proposed_links.c.stage == stage))
    return {Link(**dict(zip(_LINK, row, strict=True))) for row in rows}


_LINK = ("key", "other", "reason", "lesser", "stated", "any_type")


def write_proposals(
    connection: Connection, *, before: Collection[tuple[str, str, Link]], after: Collection[Any]
) -> None:
    """Replace links, each with its stage and owner."""
    old, new = {*before}, {*after}
    _replace(
        connection,
        proposed_links,
        gone=[
            {
                "at_stage": stage,
                "at_owner": owner,
                "at_key": link.key,
                "at_other": link.other,
                "at_reason": link.reason,
            }
            for stage, owner, link in sorted(old - new)
        ],
        come=[
            {"stage": stage, "owner": owner, **{name: getattr(link, name) for name in _LINK}}
            for stage, owner, link in sorted(new - old)
        ],
    )


def _batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _BATCH):
        yield values[start : start + _BATCH]
