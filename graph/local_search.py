"""Which passages a question reaches: a short walk over passages, their titles and shared names.

The graph has one node a passage and one a name that at least two passages share. It knows labels,
rows and weights only; how passages are scored before the walk, what a label is called and where
texts are stored, others know.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .algorithms import rows_normalised, walk
from .errors import GraphInputError

FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

TITLE_WEIGHT = 4.0
"""From a passage to the passages whose title it mentions: half to the first of them, which is
where a document says what it is about, half shared among all."""
BACK_WEIGHT = 0.5
NAME_WEIGHT = 0.5
OWN_TITLE_FACTOR = 2.0


@dataclass(frozen=True, kw_only=True)
class WalkGraph:
    """Passages 0 … n−1 and names n … as one row-normalised float32 matrix of transitions.

    `labels` are those that stand in each passage, `names` the shared ones that have a node,
    `homes` the rows under each title.
    """

    transitions: sparse.csr_array
    titles: tuple[str, ...]
    labels: tuple[frozenset[str], ...]
    names: tuple[str, ...]
    homes: Mapping[str, tuple[int, ...]]

    @cached_property
    def incoming(self) -> sparse.csr_array:
        """The transitions by target: row i holds the shares that flow into node i."""
        return self.transitions.T.tocsr()

    @classmethod
    def build(cls, titles: Sequence[str], links: Sequence[Collection[str]]) -> WalkGraph:
        """The graph of n passages; the same whatever the order of labels within one passage.

        `titles[row]` is the label of a passage's title, "" for none or a generic one; `links[row]`
        are the labels of the names that stand in it, in any order, repeats meaning nothing.

        Raises:
            GraphInputError: not as many titles as link lists.
        """
        if len(titles) != len(links):
            raise GraphInputError(f"{len(titles)} titles for {len(links)} passages")
        homes: dict[str, list[int]] = defaultdict(list)
        for row, title in enumerate(titles):
            if title:
                homes[title].append(row)
        labels = [frozenset(some) - {""} for some in links]
        edges = _title_edges(labels, homes)
        names = _shared_names(titles, labels)
        edges.extend(_name_edges(titles, labels, names))
        return cls(
            transitions=_matrix(edges, len(titles) + len(names)),
            titles=tuple(titles),
            labels=tuple(labels),
            names=tuple(names),
            homes={title: tuple(rows) for title, rows in sorted(homes.items())},
        )


Edge = tuple[int, int, float]


def _title_edges(
    labels: Sequence[frozenset[str]], homes: Mapping[str, Sequence[int]]
) -> list[Edge]:
    edges: list[Edge] = []
    for row, some in enumerate(labels):
        for label in sorted(some & homes.keys()):
            rows = homes[label]
            for place, home in enumerate(rows):
                share = 0.5 / len(rows) + (0.5 if place == 0 else 0.0)
                if home != row:
                    edges.append((row, home, TITLE_WEIGHT * share))
                    edges.append((home, row, BACK_WEIGHT * share))
    return edges


def _shared_names(titles: Sequence[str], labels: Sequence[frozenset[str]]) -> dict[str, int]:
    """Names of at least two passages, sorted, with the number of passages."""
    counts: dict[str, int] = defaultdict(int)
    for title, some in zip(titles, labels, strict=True):
        for label in some | ({title} if title else set()):
            counts[label] += 1
    return {label: count for label, count in sorted(counts.items()) if count > 1}


def _name_edges(
    titles: Sequence[str], labels: Sequence[frozenset[str]], names: Mapping[str, int]
) -> list[Edge]:
    node_of = {name: len(titles) + place for place, name in enumerate(names)}
    weight_of = {n: NAME_WEIGHT / math.sqrt(math.log(math.e + df)) for n, df in names.items()}
    edges: list[Edge] = []
    for row, (title, some) in enumerate(zip(titles, labels, strict=True)):
        for label in sorted((some | {title}) & node_of.keys()):
            weight = weight_of[label] * (OWN_TITLE_FACTOR if label == title else 1.0)
            edges.append((row, node_of[label], weight))
            edges.append((node_of[label], row, weight))
    return edges


def _matrix(edges: Sequence[Edge], size: int) -> sparse.csr_array:
    sources = np.fromiter((edge[0] for edge in edges), dtype=np.int64, count=len(edges))
    targets = np.fromiter((edge[1] for edge in edges), dtype=np.int64, count=len(edges))
    weights = np.fromiter((edge[2] for edge in edges), dtype=np.float64, count=len(edges))
    matrix = sparse.coo_array((weights, (sources, targets)), shape=(size, size)).tocsr()
    matrix.sum_duplicates()
    return rows_normalised(matrix)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkResult:
    """`mass` of each passage (float32, n), the order of rows (best first), and the seeds used.

    `seeds` are rows, best first; `named` the titles that stand in the question, sorted.
    """

    mass: FloatArray
    order: Rows
    seeds: Rows
    named: tuple[str, ...]


def rank(
    graph: WalkGraph,
    scores: npt.NDArray[np.floating],
    question_labels: Collection[str] = (),
    *,
    seeds: int = 20,
    power: float = 3.0,
    steps: int = 5,
    damping: float = 0.5,
    title_bonus: float = 0.5,
) -> WalkResult:
    """Passages by the mass that a walk from the best of them leaves there.

    `scores` (n) are 0–1. Of the passages whose title is among `question_labels` the best-scored
    gets `title_bonus` on top, the next half of it, then a third …: a title of many passages must
    not fill all seeds. The `seeds` best restart the walk, weighted score**power. Order: mass, then
    score, then row; without any link this is the order of the scores.
    """
    count = len(graph.titles)
    boosted = np.asarray(scores, dtype=np.float64).copy()
    if boosted.shape != (count,):
        raise GraphInputError(f"{boosted.shape} scores for {count} passages")
    named = sorted(label for label in set(question_labels) if label in graph.homes)
    for label in named:
        rows = np.array(graph.homes[label])
        best_first = rows[np.lexsort((rows, -boosted[rows]))]
        boosted[best_first] += title_bonus / np.arange(1, rows.size + 1)
    best = np.lexsort((np.arange(count), -boosted))[:seeds]
    best = best[boosted[best] > 0]
    restart = np.zeros(graph.transitions.shape[0], dtype=np.float32)
    weights = boosted[best] ** power
    restart[best] = weights / weights.sum() if best.size else weights
    mass = walk(graph.transitions, restart, steps=steps, damping=damping)[:count]
    order = np.lexsort((np.arange(count), -boosted, -mass))
    return WalkResult(mass=mass, order=order, seeds=best, named=tuple(named))


_MAX_HOPS = 4
_FRONTIER = 200


def explain(
    graph: WalkGraph,
    row: int,
    seeds: Sequence[int] | Rows,
    *,
    display: Callable[[str], str] = str,
    untitled: str = "an untitled passage",
) -> tuple[str, ...]:
    """How `row` was reached: nodes and kinds of links in turn, from a seed.

    ("seed 'teutberga'", "mentions", "'lothair ii'") – the likeliest of the shortest ways, of at
    most four links, from any of `seeds` (best first; on equal odds the first). A seed's path is
    itself alone; a row that no seed reaches has the empty path. `display` turns a label into what
    is shown.
    """
    rank_of = {int(seed): place for place, seed in reversed([*enumerate(seeds)])}
    if row in rank_of:
        return (f"seed {_node_name(graph, row, display, untitled)}",)
    way = _likeliest_way(graph, row, rank_of)
    if not way:
        return ()
    path = [f"seed {_node_name(graph, way[0], display, untitled)}"]
    for source, target in pairwise(way):
        path += [_link_kind(graph, source, target), _node_name(graph, target, display, untitled)]
    return tuple(path)


def _likeliest_way(graph: WalkGraph, row: int, rank_of: Mapping[int, int]) -> list[int]:
    """From a seed to `row`: of the shortest ways the one with the greatest product of transitions.

    Backwards and breadth first; the `_FRONTIER` likeliest nodes of a step are followed.
    """
    incoming = graph.incoming
    odds = {row: 1.0}
    onward = {row: row}
    frontier = [row]
    for _ in range(_MAX_HOPS):
        reached: dict[int, float] = {}
        for node in frontier:
            span = slice(incoming.indptr[node], incoming.indptr[node + 1])
            sources = incoming.indices[span].tolist()
            for source, share in zip(sources, incoming.data[span].tolist(), strict=True):
                here = odds[node] * share
                if source not in odds and here > reached.get(source, 0.0):
                    reached[source] = here
                    onward[source] = node
        found = [
            (-reached[seed], place, seed) for seed, place in rank_of.items() if seed in reached
        ]
        if found:
            return _way(min(found)[2], onward)
        frontier = sorted(reached, key=lambda node: (-reached[node], node))[:_FRONTIER]
        odds |= {node: reached[node] for node in frontier}
    return []


def _way(start: int, onward: Mapping[int, int]) -> list[int]:
    way = [start]
    while onward[way[-1]] != way[-1]:
        way.append(onward[way[-1]])
    return way


def _node_name(graph: WalkGraph, node: int, display: Callable[[str], str], untitled: str) -> str:
    count = len(graph.titles)
    label = graph.titles[node] if node < count else graph.names[node - count]
    return repr(display(label)) if label else untitled


def _link_kind(graph: WalkGraph, source: int, target: int) -> str:
    count = len(graph.titles)
    if source >= count:
        return "is named in"
    if target >= count:
        return "names"
    return "mentions" if graph.titles[target] in graph.labels[source] else "is mentioned in"
