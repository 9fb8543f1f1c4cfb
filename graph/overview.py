"""Overview of a graph: coarsest communities as bubbles by weight, linked ones near.

Page and drawings show the same bubbles in the same places.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .communities import partition
from .layout import pack
from .model import Community, GraphExport
from .subgraph import weights

PALETTE = (
    "#4477aa", "#d9722b", "#228833", "#aa4499", "#2b93b3", "#cc3d4f", "#a08a1f", "#009988",
)  # fmt: skip
"""Colours after Paul Tol's colour-blind-safe schemes, for light and dark backgrounds."""

ALONE = "#8a94a6"
"""Label of entities outside communities of several."""

MAX_BUBBLES = 72
LINKS_PER_BUBBLE = 3
SMALLEST, LARGEST = 13.0, 128.0
"""Radii of bubbles; between them the area goes by weight."""

GAP = 5.0
ASPECT = 1.35
"""Aspect ratio of the drawing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityBubble:
    """One community, its centre at (x, y)."""

    community: Community
    title: str
    weight: float
    colour: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Overview: `bubbles` by weight, `links` as (number, number, weight), strongest first.

    Counts of further communities and unclustered entities.
    """

    bubbles: tuple[CommunityBubble, ...]
    links: tuple[tuple[int, int, float], ...]
    further: int
    alone: int


def overview(export: GraphExport, *, limit: int = MAX_BUBBLES) -> Overview:
    """Return the heaviest communities of the coarsest level, at most `limit`."""
    weight = weights(export)
    sums = {
        one.id: math.fsum(weight.get(entity_id, 0.0) for entity_id in one.entity_ids)
        for one in partition(export.communities, 0)
        if len(one.entity_ids) > 1
    }
    several = [one for one in partition(export.communities, 0) if one.id in sums]
    several.sort(key=lambda one: (-sums[one.id], one.id))
    drawn = several[:limit]
    links = links_between(export, [one.entity_ids for one in drawn])
    radii = radii_of([sums[one.id] for one in drawn])
    places = _places(radii, links)
    colours = colours_of(len(drawn), links)
    titles = titles_of(export)
    grouped = sum(len(one.entity_ids) for one in several)
    return Overview(
        bubbles=tuple(
            CommunityBubble(
                community=one,
                title=titles[one.id],
                weight=sums[one.id],
                colour=colour,
                x=x,
                y=y,
                radius=radius,
            )
            for one, colour, (x, y), radius in zip(drawn, colours, places, radii, strict=True)
        ),
        links=tuple(links[: LINKS_PER_BUBBLE * len(drawn)]),
        further=len(several) - len(drawn),
        alone=len(export.entities) - grouped,
    )


def radii_of(weights: Sequence[float]) -> list[float]:
    """Return radii with area by weight, large enough to hit."""
    heaviest = max(weights, default=0.0) or 1.0
    most = LARGEST if len(weights) < 40 else LARGEST * 0.85
    return [max(SMALLEST, most * math.sqrt(weight / heaviest)) for weight in weights]


def links_between(
    export: GraphExport, groups: Sequence[Sequence[str]]
) -> list[tuple[int, int, float]]:
    """Return summed relations between groups, strongest first."""
    home = {entity_id: number for number, ids in enumerate(groups) for entity_id in ids}
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for relation in sorted(export.relations, key=lambda r: r.id):
        a, b = home.get(relation.source_id), home.get(relation.target_id)
        if a is not None and b is not None and a != b:
            sums[min(a, b), max(a, b)] += relation.weight
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [(a, b, weight) for (a, b), weight in ordered]


def titles_of(export: GraphExport) -> dict[str, str]:
    """By community id its report's title, or else the names of its heaviest members."""
    titles = {report.community_id: report.title for report in export.reports if report.title}
    weight = weights(export)
    names = {entity.id: entity.name for entity in export.entities}
    for community in export.communities:
        if community.id not in titles:
            best = sorted(
                (one for one in community.entity_ids if one in names),
                key=lambda one: (-weight[one], one),
            )
            titles[community.id] = ", ".join(names[one] for one in best[:3])
    return titles


def colours_of(count: int, links: Sequence[tuple[int, int, float]]) -> list[str]:
    """Assign palette colours, the least used among linked groups."""
    beside: dict[int, Counter[str]] = defaultdict(Counter)
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for a, b, weight in links:
        near[a].append((b, weight))
        near[b].append((a, weight))
    colours: list[str] = []
    for group in range(count):
        turn = PALETTE[group % len(PALETTE) :] + PALETTE[: group % len(PALETTE)]
        best = min(turn, key=lambda colour: beside[group][colour])
        colours.append(best)
        for other, _ in near[group]:
            beside[other][best] += 1
    return colours


def _places(
    radii: Sequence[float], links: Sequence[tuple[int, int, float]]
) -> list[tuple[float, float]]:
    if not radii:
        return []
    names: list[tuple[int, ...]] = [(number,) for number in range(len(radii))]
    pull = {(names[a], names[b]): weight for a, b, weight in links}
    return pack([radius + GAP for radius in radii], pull, names=names, aspect=ASPECT)
