"""Composed reports: reports of large communities from their children's.

What thousands of sentences say of a large community has been weighed already where they were read:
in its parts. So a change costs the small communities that it touches, and for each large one above
them a look at its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .model import Community, Entity, Finding, Report, content_id
from .passages import is_near_duplicate, tokens

LARGE = 40
"""Size above which a divided community is reported from its children."""

ORDER_COUNTS = 0.8
"""Discount of each further finding of one child."""

SPOKEN_COUNTS = 0.6
"""Discount of a child each time it contributed."""


def parts_of(communities: Iterable[Community]) -> dict[str, tuple[str, ...]]:
    """For every large community that is divided further the ids of its parts, sorted."""
    found: dict[str, list[str]] = {}
    every = tuple(communities)
    for community in every:
        if community.parent_id is not None:
            found.setdefault(community.parent_id, []).append(community.id)
    return {
        community.id: tuple(sorted(found[community.id]))
        for community in every
        if len(community.entity_ids) > LARGE and community.id in found
    }


def composed_fingerprint(
    community: Community, parts: Sequence[Report], *, title: str, version: str
) -> str:
    """Return the digest of what a composed report is based on."""
    rests_on = sorted(part.fingerprint for part in parts)
    return content_id("f", version, community.id, str(community.level), title, *rests_on)


def child_findings(
    parts: Sequence[Report], *, most: int, mass: Mapping[str, float]
) -> tuple[Finding, ...]:
    """Select the children's best findings, in turns by weight.

    `mass` is each part's weight by community id. A finding in nearly the same words as one that
    was taken is passed over.
    """
    waiting = {
        part.community_id: list(part.findings)
        for part in sorted(parts, key=lambda one: one.community_id)
        if part.findings
    }
    spoken = dict.fromkeys(waiting, 0)
    place = dict.fromkeys(waiting, 0)
    taken: list[tuple[Finding, frozenset[str]]] = []
    while waiting and len(taken) < most:
        best = max(
            waiting,
            key=lambda one: (
                mass[one] * ORDER_COUNTS ** place[one] * SPOKEN_COUNTS ** spoken[one],
                one,
            ),
        )
        finding = waiting[best].pop(0)
        place[best] += 1
        if not waiting[best]:
            del waiting[best]
        words = tokens(finding.text)
        if not any(is_near_duplicate(words, other) for _, other in taken):
            taken.append((finding, words))
            spoken[best] += 1
    return tuple(finding for finding, _ in taken)


def most_mentioned(community: Community, entities: Mapping[str, Entity]) -> list[Entity]:
    """Return the members, most mentioned first; a noun phrase counts half."""
    return sorted(
        (entities[entity_id] for entity_id in community.entity_ids),
        key=lambda e: (-e.mention_count * (0.5 if e.type == "CONCEPT" else 1.0), e.name, e.id),
    )
