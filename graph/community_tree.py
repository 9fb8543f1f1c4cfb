"""Community hierarchy as a tree, and the home community of each chunk.

Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .model import Community


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityTree:
    """Communities by id, the children of each, and the roots; ids sorted.

    A community whose parent is not there is a root: what is dirty is not read.
    """

    by_id: Mapping[str, Community]
    children: Mapping[str, tuple[str, ...]]
    roots: tuple[str, ...]

    @classmethod
    def build(cls, communities: Iterable[Community]) -> CommunityTree:
        """Build the tree of these communities, in any order."""
        by_id = {community.id: community for community in sorted(communities, key=lambda c: c.id)}
        below: dict[str, list[str]] = defaultdict(list)
        roots: list[str] = []
        for community in by_id.values():
            if community.parent_id in by_id:
                below[str(community.parent_id)].append(community.id)
            else:
                roots.append(community.id)
        children = {key: tuple(below[key]) for key in sorted(below)}
        return cls(by_id=by_id, children=children, roots=tuple(roots))

    def homes(self, entities: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Map chunk ids to the finest community holding most of their entities.

        Ties go to the lower id; a chunk that names no member of any community has no home.
        """
        finest: dict[str, str] = {}
        for community in sorted(self.by_id.values(), key=lambda c: (c.level, c.id)):
            finest.update(dict.fromkeys(community.entity_ids, community.id))
        found: dict[str, str] = {}
        for chunk_id in sorted(entities):
            held = Counter(finest[one] for one in entities[chunk_id] if one in finest)
            if held:
                found[chunk_id] = min(held, key=lambda key: (-held[key], key))
        return found

    def chunks_inside(self, homes: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Community id → the chunks at home in it or in a community below it; sorted."""
        inside: dict[str, list[str]] = defaultdict(list)
        for chunk_id in sorted(homes):
            for key in self.line(homes[chunk_id]):
                inside[key].append(chunk_id)
        return {key: tuple(inside[key]) for key in sorted(inside)}

    def line(self, community_id: str) -> list[str]:
        """Return a community and its ancestors up to a root; empty for an unknown id."""
        found: list[str] = []
        key: str | None = community_id
        while key is not None and key in self.by_id:
            found.append(key)
            key = self.by_id[key].parent_id
        return found
