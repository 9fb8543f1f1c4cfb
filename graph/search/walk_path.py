"""Paths that explain a walk: how it came from a seed to a passage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from .walk import Places, WalkGraph, Weights

_MAX_HOPS = 4
_FRONTIER = 200


def explain_path(
    graph: WalkGraph,
    row: int,
    seeds: Sequence[int] | Places,
    *,
    display: Callable[[str], str] = str,
    titles: Mapping[int, str] | None = None,
) -> tuple[str, ...]:
    """Explain how the walk reached passage `row`: alternating nodes and link kinds from a seed.

    ("seed 'teutberga'", "mentions", "'lothair ii'") – the likeliest of the shortest ways, of at
    most four links, from any of `seeds` (best first; on equal odds the first). A seed's path is
    itself alone; a row that no seed reaches has the empty path. `display` turns a label into what
    is shown; `titles` are those of passages, shown where a title is no name.
    """
    known = titles or {}
    rank_of = {int(seed): place for place, seed in reversed([*enumerate(seeds)])}
    if row in rank_of:
        return (f"seed {_node_name(graph, row, display, known)}",)
    way = _likeliest_way(graph, row, rank_of)
    if not way:
        return ()
    path = [f"seed {_node_name(graph, way[0], display, known)}"]
    for source, target in pairwise(way):
        path += [_link_kind(graph, source, target), _node_name(graph, target, display, known)]
    return tuple(path)


def _likeliest_way(graph: WalkGraph, row: int, rank_of: Mapping[int, int]) -> list[int]:
    """Return the shortest path from a seed to `row` with the greatest product of transitions.

    Backwards and breadth first; the `_FRONTIER` likeliest nodes of a step are followed.
    """
    odds, onward, frontier = {row: 1.0}, {row: row}, [row]
    for _ in range(_MAX_HOPS):
        if not frontier:
            break
        sources, shares, targets = _led_from(graph.incoming, frontier, odds)
        found = np.isin(sources, [*rank_of])
        reached = _likeliest(sources[found], shares[found], targets[found])
        if reached:
            best = min((-share, rank_of[seed], seed) for seed, (share, _) in reached.items())
            onward[best[2]] = reached[best[2]][1]
            return _way(best[2], onward)
        most = _FRONTIER * len(frontier)  # a source is there once for each of the frontier
        if shares.size > most:
            kept = shares >= np.partition(shares, shares.size - most)[shares.size - most]
            sources, shares, targets = sources[kept], shares[kept], targets[kept]
        reached = _likeliest(sources, shares, targets)
        frontier = sorted(reached, key=lambda node: (-reached[node][0], node))[:_FRONTIER]
        odds |= {node: reached[node][0] for node in frontier}
        onward |= {node: reached[node][1] for node in frontier}
    return []


def _led_from(
    incoming: sparse.csr_array, frontier: Sequence[int], odds: Mapping[int, float]
) -> tuple[Places, Weights, Places]:
    """Return all ways into the nodes of `frontier` from where there are no odds yet.

    Sources, their odds and where each leads, in the order of the frontier.
    """
    bounds = incoming.indptr
    rows = [slice(bounds[node], bounds[node + 1]) for node in frontier]
    sizes = [row.stop - row.start for row in rows]
    sources = np.concatenate([incoming.indices[row] for row in rows])
    shares = np.concatenate([incoming.data[row] for row in rows])
    shares = shares * np.repeat([odds[node] for node in frontier], sizes)
    is_new = np.isin(sources, [*odds], invert=True)
    targets = np.repeat(np.array(frontier, dtype=np.int64), sizes)
    return sources[is_new], shares[is_new], targets[is_new]


def _likeliest(sources: Places, shares: Weights, targets: Places) -> dict[int, tuple[float, int]]:
    """Return the greatest share of each source and the first target that it is for."""
    ordered = np.lexsort((np.arange(sources.size), -shares, sources))
    ordered = ordered[np.diff(sources[ordered], prepend=-1) > 0]
    pairs = zip(shares[ordered].tolist(), targets[ordered].tolist(), strict=True)
    return dict(zip(sources[ordered].tolist(), pairs, strict=True))


def _way(start: int, onward: Mapping[int, int]) -> list[int]:
    way = [start]
    while onward[way[-1]] != way[-1]:
        way.append(onward[way[-1]])
    return way


def _node_name(
    graph: WalkGraph, node: int, display: Callable[[str], str], titles: Mapping[int, str]
) -> str:
    count = len(graph.titles)
    if node >= count:
        return repr(display(graph.names[node - count]))
    label = graph.titles[node] or next(iter(graph.introduced[node]), "")
    shown = display(label) if label else titles.get(node, "")
    return repr(shown) if shown else "an untitled passage"


def _link_kind(graph: WalkGraph, source: int, target: int) -> str:
    count = len(graph.titles)
    if source >= count:
        return "is named in"
    if target >= count:
        return "names"
    mentioned = any(target in graph.homes.get(label, ()) for label in graph.labels[source])
    return "mentions" if mentioned else "is mentioned in"
