"""Clusters of name keys: links carried out where nothing speaks against them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .name_parsing import NameParts
from .rules import Link, Profiles, is_owner, types_conflict

MERGED_BY_HAND = "merged by hand"


@dataclass(slots=True)
class _Facts:
    """Constraints against merging clusters."""

    genders: set[str]
    numbers: set[tuple[str, ...]]
    types: Counter[str]
    keys: list[str]
    relational: list[str]
    """Those of the keys that are relational names."""


@dataclass(slots=True)
class Clusters:
    """Union-find over keys; joins what no member speaks against, and remembers why."""

    profiles: Profiles
    apart: frozenset[str] = frozenset()
    """Keys a user split off; rules never rejoin them."""
    demoted: set[str] = field(default_factory=set)
    """Keys that a rule knows to be the lesser name of their entity."""
    _parent: dict[str, str] = field(default_factory=dict)
    _facts: dict[str, _Facts] = field(default_factory=dict)
    _links: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, profile in self.profiles.items():
            self._parent[key] = key
            parts: NameParts = profile.parts
            genders = {parts.gender} if parts.gender else set()
            types = Counter(profile.name.types)
            relational = [key] if profile.is_relational else []
            self._facts[key] = _Facts(genders, {parts.numbers}, types, [key], relational)

    def root(self, key: str) -> str:
        """Return the key that represents the cluster of `key`."""
        while self._parent[key] != key:
            self._parent[key] = self._parent[self._parent[key]]
            key = self._parent[key]
        return key

    def carry_out(self, links: Iterable[Link]) -> None:
        """Apply links in sorted order where nothing forbids them."""
        for link in sorted(links):
            if not self.apart.isdisjoint((link.key, link.other)):
                continue
            one, other = self.root(link.key), self.root(link.other)
            if one != other and not self._join(one, other, link):
                continue
            self._remember(link.key, link.other, link.reason)
            if link.lesser:
                self.demoted.add(link.lesser)

    def join_by_hand(self, groups: Iterable[Sequence[str]]) -> None:
        """Join the keys of each group regardless of constraints; the first gives the label."""
        for group in groups:
            present = [key for key in group if key in self.profiles]
            for key in present[1:]:
                one, other = self.root(present[0]), self.root(key)
                if one != other:
                    self.demoted.update(self._facts[other].keys)
                    self._unite(one, other)
                self._remember(present[0], key, MERGED_BY_HAND)

    def _remember(self, one: str, other: str, reason: str) -> None:
        self._links.setdefault(one, []).append((other, reason))
        self._links.setdefault(other, []).append((one, reason))

    def _join(self, one: str, other: str, link: Link) -> bool:
        first, second = self._facts[one], self._facts[other]
        if len(first.genders | second.genders) > 1:
            return False
        if first.numbers != second.numbers and not (
            link.stated and () in first.numbers | second.numbers
        ):
            return False
        if not link.any_type and types_conflict(first.types, second.types):
            return False
        if self._joins_owner(first, second) or self._joins_owner(second, first):
            return False
        self._unite(one, other)
        return True

    def _joins_owner(self, first: _Facts, second: _Facts) -> bool:
        """Check whether the second cluster names an owner of a relational name of the first."""
        return any(
            is_owner(self.profiles[key], self.profiles[other])
            for key in first.relational
            for other in second.keys
        )

    def _unite(self, one: str, other: str) -> None:
        keep, gone = sorted((one, other))
        facts, lost = self._facts[keep], self._facts.pop(gone)
        facts.genders |= lost.genders
        facts.numbers |= lost.numbers
        facts.types += lost.types
        facts.keys += lost.keys
        facts.relational += lost.relational
        self._parent[gone] = keep

    def joined(self) -> Iterator[tuple[str, ...]]:
        """Yield the keys of each cluster of several, sorted."""
        for facts in self._facts.values():
            if len(facts.keys) > 1:
                yield tuple(sorted(facts.keys))

    def cluster_of(self, key: str) -> list[str]:
        """Return the keys of a key's cluster, sorted."""
        return sorted(self._facts[self.root(key)].keys)

    def members(self) -> list[list[str]]:
        """Return the clusters, each sorted, by first key."""
        return sorted(sorted(facts.keys) for facts in self._facts.values())

    def reason(self, key: str, canonical: str) -> str:
        """Explain why `key` belongs to `canonical`: the chain of links."""
        before: dict[str, tuple[str, str]] = {key: ("", "")}
        queue = [key]
        for current in queue:
            for other, reason in sorted(self._links.get(current, ())):
                if other not in before:
                    before[other] = (current, reason)
                    queue.append(other)
        steps = []
        place = canonical
        while place != key:
            place, reason = before[place]
            steps.append(reason)
        return "; ".join(dict.fromkeys(reversed(steps)))
