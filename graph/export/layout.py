"""Layout of the graph page: groups apart, members close, no overlaps.

Discs are drawn to what they are linked with and to the middle, and pushed out of one another until
none overlap; discs of discs make the hierarchy. No randomness: the start is a sunflower spiral. The
overview shows the coarsest communities as bubbles by weight, in the page and in pictures alike.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..communities.leiden import partition_at_level
from ..model import Community, GraphExport
from .subgraph import entity_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

if TYPE_CHECKING:
    Points = NDArray[np.float64]

GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
STEPS = 60
DENSE = 90
"""Maximum discs compared pairwise, which is faster than a tree."""

TOLERANCE = 0.05
"""Discs that overlap by less count as touching; the gap around them is far wider."""

PUSHES = 300
"""Passes that push overlapping discs apart before the whole is spread instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Layout: `positions[i]` is node i's centre.

    `discs[g]` is (x, y, radius) around group g.
    """

    positions: list[tuple[float, float]]
    discs: dict[tuple[int, ...], tuple[float, float, float]]


def layout_graph(
    radii: Sequence[float],
    paths: Sequence[tuple[int, ...]],
    *,
    edges: Mapping[tuple[int, int], float],
    gap: float = 8.0,
    aspect: float = 1.0,
) -> Layout:
    """Compute positions for the nodes of a drawn graph in nested groups.

    Args:
        radii: the room each node needs around its centre.
        paths: the groups each node is in, outermost first, all of one length; groups of the same
            path are packed together.
        edges: weights by pair of node numbers; linked things are drawn to one another.
        gap: least distance between two nodes; inner groups keep twice, outermost six times as much.
        aspect: how much wider than high the outermost groups lie.

    Returns:
        Positions in which no two discs of one parent overlap, the same for the same arguments.
    """
    levels = len(paths[0]) if paths else 0
    inside: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for node, path in enumerate(paths):
        inside[path].append(node)
    offsets: dict[tuple[int, ...], tuple[float, float]] = {}
    extent: dict[tuple[int, ...], float] = {}
    children: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    leaves = {(*path, node): radii[node] for path, nodes in inside.items() for node in nodes}
    extent.update(leaves)
    for level in range(levels, -1, -1):
        for key in sorted(key for key in extent if len(key) == level + 1):
            children[key[:-1]].append(key)
        links = _links(paths, edges, level)
        for parent in sorted(key for key in children if len(key) == level):
            members = children[parent]
            room = gap / 2 * (1 if level == levels else 2 if level else 6)
            sizes = [extent[member] + room for member in members]
            shape = aspect if level == 0 else 1.0
            found = pack_discs(sizes, links.get(parent, {}), names=members, aspect=shape)
            offsets.update(zip(members, found, strict=True))
            extent[parent] = max(
                math.hypot(x, y) + size for (x, y), size in zip(found, sizes, strict=True)
            )
    return _absolute(paths, offsets, extent)


def _links(
    paths: Sequence[tuple[int, ...]], edges: Mapping[tuple[int, int], float], level: int
) -> dict[tuple[int, ...], dict[tuple[tuple[int, ...], tuple[int, ...]], float]]:
    """Return summed weights between the children of each group of a level."""
    found: dict[tuple[int, ...], dict[tuple[tuple[int, ...], tuple[int, ...]], float]] = {}
    for (a, b), weight in sorted(edges.items()):
        left, right = (*paths[a], a)[: level + 1], (*paths[b], b)[: level + 1]
        if left != right and left[:-1] == right[:-1]:
            pair = (left, right) if left < right else (right, left)
            sums = found.setdefault(left[:-1], {})
            sums[pair] = sums.get(pair, 0.0) + weight
    return found


def _absolute(
    paths: Sequence[tuple[int, ...]],
    offsets: Mapping[tuple[int, ...], tuple[float, float]],
    extent: Mapping[tuple[int, ...], float],
) -> Layout:
    discs: dict[tuple[int, ...], tuple[float, float, float]] = {(): (0.0, 0.0, extent.get((), 0.0))}
    for key in sorted(offsets, key=len):
        x, y, _ = discs[key[:-1]]
        discs[key] = (x + offsets[key][0], y + offsets[key][1], extent[key])
    positions = [discs[(*path, node)][:2] for node, path in enumerate(paths)]
    longest = len(paths[0]) if paths else 0
    return Layout(
        positions=positions, discs={key: disc for key, disc in discs.items() if len(key) <= longest}
    )


def pack_discs(
    sizes: Sequence[float],
    links: Mapping[tuple[tuple[int, ...], tuple[int, ...]], float],
    *,
    names: Sequence[tuple[int, ...]],
    aspect: float = 1.0,
) -> list[tuple[float, float]]:
    """Return centres for discs of a drawn graph around (0, 0), linked ones near, without overlap.

    With an `aspect` above 1 the whole is wider than high.
    """
    import numpy as np

    if len(sizes) == 1:
        return [(0.0, 0.0)]
    radius = np.asarray(sizes, dtype=np.float64)
    points = _spiral(radius) * [math.sqrt(aspect), 1 / math.sqrt(aspect)]
    number = {name: index for index, name in enumerate(names)}
    if links:
        ends = np.array([(number[a], number[b]) for a, b in links], dtype=np.int64)
        weight = np.sqrt(np.array(list(links.values()), dtype=np.float64))
        points = _drawn(points, radius, ends=ends, weight=weight, aspect=aspect)
    else:
        points = _pushed(points, radius, passes=PUSHES // 4)
    points = _free(points, radius)
    middle = np.average(points, axis=0, weights=radius**2)
    return [(float(x), float(y)) for x, y in points - middle]


def _spiral(radius: Points) -> Points:
    """Largest in the middle, the others around it, each where its area has room."""
    import numpy as np

    order = np.lexsort((np.arange(len(radius)), -radius))
    area = np.cumsum(radius[order] ** 2)
    distance = np.sqrt(area - area[0] / 2) * 1.15
    distance[0] = 0.0
    angle = np.arange(len(radius)) * GOLDEN_ANGLE
    points = np.empty((len(radius), 2))
    points[order] = np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])
    return points


def _drawn(
    points: Points, radius: Points, *, ends: NDArray[np.int64], weight: Points, aspect: float
) -> Points:
    """Iterate towards linked discs and the centre, and out of overlaps."""
    import numpy as np

    count = len(points)
    degree = np.bincount(ends[:, 0], weight, count) + np.bincount(ends[:, 1], weight, count)
    touching = radius[ends[:, 0]] + radius[ends[:, 1]]
    middle = np.array([0.03 / aspect, 0.03 * aspect])
    for step in range(STEPS):
        cooling = 1 - step / STEPS
        apart = points[ends[:, 1]] - points[ends[:, 0]]
        distance = np.maximum(np.hypot(apart[:, 0], apart[:, 1]), 1e-9)
        slack = weight * np.maximum(0.0, 1 - touching / distance)
        pull = np.zeros_like(points)
        for axis in (0, 1):
            amount = apart[:, axis] * slack
            pull[:, axis] += np.bincount(ends[:, 0], amount, count)
            pull[:, axis] -= np.bincount(ends[:, 1], amount, count)
        pull /= np.maximum(degree, 1e-9)[:, None]
        points = points + cooling * (0.5 * pull - middle * points)
        points = _pushed(points, radius, passes=3)
    return points


def _pushed(points: Points, radius: Points, *, passes: int) -> Points:
    """Overlapping discs moved apart, the smaller one farther; up to `passes` times."""
    import numpy as np

    count = len(points)
    for _ in range(passes):
        a, b, overlap, apart = _overlaps(points, radius)
        if not len(a):
            break
        share = radius[b] ** 2 / (radius[a] ** 2 + radius[b] ** 2)
        step = apart * (overlap * 0.6)[:, None]
        crowd = np.sqrt(np.bincount(a, minlength=count) + np.bincount(b, minlength=count))
        moved = np.zeros_like(points)
        for axis in (0, 1):
            moved[:, axis] -= np.bincount(a, step[:, axis] * share, count)
            moved[:, axis] += np.bincount(b, step[:, axis] * (1 - share), count)
        points = points + moved / np.maximum(crowd, 1.0)[:, None]
    return points


def _overlaps(
    points: Points, radius: Points
) -> tuple[NDArray[np.int64], NDArray[np.int64], Points, Points]:
    """Return overlapping pairs with depth and direction.

    Discs on one spot are parted along an angle of their own numbers.
    """
    import numpy as np
    from scipy.spatial import cKDTree

    if len(points) <= DENSE:
        a, b = np.triu_indices(len(points), 1)
    else:
        reach = 2 * float(radius.max())
        pairs = cKDTree(points).query_pairs(reach, output_type="ndarray").astype(np.int64)
        a, b = pairs[:, 0], pairs[:, 1]
    apart = points[b] - points[a]
    distance = np.hypot(apart[:, 0], apart[:, 1])
    overlap = radius[a] + radius[b] - distance
    hit = overlap > TOLERANCE
    a, b, apart, distance, overlap = a[hit], b[hit], apart[hit], distance[hit], overlap[hit]
    same = distance < 1e-9
    angle = (a * 7 + b) * GOLDEN_ANGLE
    apart[same] = np.column_stack([np.cos(angle), np.sin(angle)])[same]
    return a, b, overlap, apart / np.where(same, 1.0, distance)[:, None]


def _free(points: Points, radius: Points) -> Points:
    """Resolve the remaining overlaps by pushing, else by scaling."""
    points = _pushed(points, radius, passes=PUSHES)
    while len(_overlaps(points, radius)[0]):
        points = _pushed(points * 1.05, radius, passes=20)
    return points


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


def heaviest_communities(export: GraphExport, *, limit: int = MAX_BUBBLES) -> Overview:
    """Return the heaviest communities of the coarsest level for drawing, at most `limit`."""
    weight = entity_weights(export)
    sums = {
        one.id: math.fsum(weight.get(entity_id, 0.0) for entity_id in one.entity_ids)
        for one in partition_at_level(export.communities, 0)
        if len(one.entity_ids) > 1
    }
    several = [one for one in partition_at_level(export.communities, 0) if one.id in sums]
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
    weight = entity_weights(export)
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
    return pack_discs([radius + GAP for radius in radii], pull, names=names, aspect=ASPECT)
