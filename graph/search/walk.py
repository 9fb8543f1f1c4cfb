"""Local search: a short walk over passages, titles and shared names.

The sparse graph has one node a passage and one a name that at least two passages share; a mention
of a name leads to its homes above all. Works on labels, rows and weights; first scores, the names
of labels and texts come by argument.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import GraphInputError

FloatArray = npt.NDArray[np.float32]


SPARSE_SHARE = 0.1
"""Below this share of nodes with any mass, only the edges of these are followed."""


def walk_step(matrix: sparse.csr_array, mass: FloatArray) -> FloatArray:
    """Return Pᵀx for `matrix` P (n, m) and `mass` x (n): one walk step, float32 (m).

    While few nodes hold any, only their rows are read; the sums are the same to the last bit.
    """
    active = np.flatnonzero(mass)
    if active.size < SPARSE_SHARE * mass.size:
        return np.asarray(matrix[active].T @ mass[active], dtype=np.float32)
    return np.asarray(matrix.T @ mass, dtype=np.float32)


def random_walk(
    matrix: sparse.csr_array,
    restart: FloatArray,
    *,
    steps: int = 5,
    damping: float = 0.5,
    also: Callable[[FloatArray], FloatArray] | None = None,
) -> FloatArray:
    """Run the graph walk: `steps` times x ← damping · Pᵀx + (1 − damping) · r, from x = r.

    Personalised PageRank (Page et al. 1999; Haveliwala 2002) cut off after a few steps: with
    damping 0.5 what is missing of the limit is 0.5**steps. `matrix` is P, rows summing to one
    or less (mass at a dead end is lost, which leaves the order of the others as it is); `restart`
    is r, of length n. `also` is what moves by other rules than P: x to where its share of x goes,
    both of length n. Returns x, float32, n. Deterministic.

    Raises:
        GraphInputError: the shapes do not fit.
    """
    if matrix.shape != (restart.size, restart.size):
        raise GraphInputError(
            f"restart vector has {restart.size} entries for a matrix of shape {matrix.shape}"
        )
    start = restart.astype(np.float32)
    mass = start
    for _ in range(steps):
        moved = walk_step(matrix, mass)
        if also is not None:
            moved = moved + also(mass)
        mass = np.float32(damping) * moved + np.float32(1 - damping) * start
    return np.asarray(mass, dtype=np.float32)


REACH = 3
"""Number of neighbouring rows on each side that inform a row."""
LARGEST_SHARE = 0.25
_SHRINK_PAIRS = 20


def with_neighbours(
    scores: npt.NDArray[np.floating], adjacent: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Return scores (n, 0–1) with a share of their neighbours', as far as they correlate.

    `adjacent` (n − 1) tells which rows go on in the next one. The share of rows at a distance is
    how much the scores of rows so far apart correlate for this question, at most a quarter and no
    more than of those nearer, less where there are few such pairs: in a transcript what answers
    goes over many pieces, in a folder of notes the next piece is about something else. The best
    stays 1.
    """
    values = np.asarray(scores, dtype=np.float64)
    lifted = values.copy()
    share = LARGEST_SHARE
    connected = np.asarray(adjacent, dtype=bool)
    for distance in range(1, REACH + 1):
        if distance > 1:
            connected = connected[:-1] & adjacent[distance - 1 :]
        share = min(share, _agreement(values, connected, distance=distance))
        if share <= 0:
            break
        lifted[distance:] += share * values[:-distance] * connected
        lifted[:-distance] += share * values[distance:] * connected
    best, top = values.max(initial=0.0), lifted.max(initial=0.0)
    return np.asarray(lifted / top * best if top > best else lifted)


def _agreement(
    values: npt.NDArray[np.float64], connected: npt.NDArray[np.bool_], *, distance: int
) -> float:
    """Return the correlation of scores `distance` rows apart where `connected`.

    Shrunk for few.
    """
    if values.size <= distance:
        return 0.0
    first, second = values[:-distance][connected], values[distance:][connected]
    if first.size < 3:
        return 0.0
    both = np.concatenate([first, second])
    mean, variance = both.mean(), both.var()
    if not variance > 0:
        return 0.0
    correlation = float(((first - mean) * (second - mean)).mean() / variance)
    return correlation * first.size / (first.size + _SHRINK_PAIRS)


Rows = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]

HOME_WEIGHT = 4.0
"""Weight from a passage to all homes of a mentioned name.

Divided by ln(e + mentioning passages); frequent names lead nowhere.
"""
BACK_WEIGHT = 0.5
NAME_WEIGHT = 0.5
OWN_NAME_FACTOR = 2.0
COMMON_SHARE, COMMON_LEAST = 0.1, 20
"""A name in more than this share of the passages, and more than so many, is introduced nowhere."""
MOST_LIKELY_HOMES = 8
"""Maximum candidate homes of a short name."""
HOME_PULL = 5.0
"""Extra share of the best-scored home of a name."""


@dataclass(frozen=True, kw_only=True)
class WalkGraph:
    """Walk graph: passages 0 … n−1 and names n … with transition shares.

    A name's *homes* are the passages under it as a title or, where it is nobody's title and not
    in very many passages, those that introduce it or, where none does, those that introduce what
    it may be short for. `links` (n + names, n + names) holds the shares whose target is fixed,
    `mentions` (n + names, homed names) what goes to a name's homes, `homes_of` (homed names,
    n + names) which these are: the question decides among them. Rows of `links` and `mentions`
    together sum to one or are empty.
    """

    links: sparse.csr_array
    mentions: sparse.csr_array
    homes_of: sparse.csr_array
    titles: tuple[str, ...]
    labels: tuple[frozenset[str], ...]
    introduced: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    homes: Mapping[str, tuple[int, ...]]

    @cached_property
    def transitions(self) -> sparse.csr_array:
        """Return all transitions as one matrix with equal homes, independent of the question."""
        counts = np.maximum(np.diff(self.homes_of.indptr), 1)
        even = sparse.csr_array(
            (np.repeat(1.0 / counts, counts).astype(np.float32), *_places(self.homes_of)),
            shape=self.homes_of.shape,
        )
        return (self.links + self.mentions @ even).tocsr()

    def frequency(self, label: str) -> int:
        """Return the number of passages that a label stands in or that are its homes."""
        place = bisect_left(self.names, label)
        if place == len(self.names) or self.names[place] != label:
            return 1
        node = len(self.titles) + place
        return int(self.links.indptr[node + 1] - self.links.indptr[node])

    @cached_property
    def incoming(self) -> sparse.csr_array:
        """The transitions by target: row i holds the shares that flow into node i."""
        return self.transitions.T.tocsr()

    @classmethod
    def build(
        cls,
        titles: Sequence[str],
        links: Sequence[Collection[str]],
        introduced: Sequence[Collection[str]] = (),
        shortened: Sequence[Collection[str]] = (),
    ) -> WalkGraph:
        """Build the graph of n passages, independent of label order.

        Args:
            titles: the label of each passage's title, "" for none or a generic one.
            links: labels of the names that stand in each, in any order, repeats meaning nothing.
            introduced: labels that each passage introduces besides its title; none by default.
            shortened: labels that may be short for what it introduces; none by default.

        Raises:
            GraphInputError: not as many titles as link lists.
        """
        known = [links, *(some for some in (introduced, shortened) if some)]
        if any(len(some) != len(titles) for some in known):
            raise GraphInputError(f"{len(titles)} titles for {len(links)} passages")
        labels = tuple(frozenset(some) - {""} for some in links)
        common = _common(labels)
        homes = _homes(titles, introduced, common)
        homes |= _likely_homes(shortened, frozenset().union(*labels) - homes.keys() - common)
        size, homed = len(titles), sorted(homes)
        mention, name = _mention_edges(labels, homes, homed), _name_edges(labels, homes, size)
        nodes = size + len(name.names)
        to_homes = _matrix(mention.there, (nodes, len(homed)))
        fixed = _matrix([*mention.back, *name.edges], (nodes, nodes))
        factors = _inverse(fixed.sum(axis=1) + to_homes.sum(axis=1))
        here = [(place, row, 1.0) for place, label in enumerate(homed) for row in homes[label]]
        return cls(
            links=_scaled(fixed, factors),
            mentions=_scaled(to_homes, factors),
            homes_of=_matrix(here, (len(homed), nodes)),
            titles=tuple(titles),
            labels=labels,
            introduced=tuple(tuple(sorted(some)) for some in introduced) or ((),) * size,
            names=name.names,
            homes={label: tuple(homes[label]) for label in homed},
        )

    def to_homes(self, scores: npt.NDArray[np.floating]) -> Callable[[FloatArray], FloatArray]:
        """Return the mass passed to name homes for passage scores: (n), 0–1."""
        pull = np.ones(self.links.shape[0])
        pull[: scores.size] += HOME_PULL * scores

        def step(mass: FloatArray) -> FloatArray:
            given = walk_step(self.mentions, mass)
            reached = np.flatnonzero(given)
            chosen = self.homes_of[reached]
            if not chosen.nnz:
                return np.zeros_like(mass)
            weights = pull[chosen.indices]
            counts = np.diff(chosen.indptr)
            sums = np.add.reduceat(weights, chosen.indptr[:-1])  # every homed name has a home
            shares = weights * np.repeat(given[reached] / sums, counts)
            return np.bincount(chosen.indices, shares, minlength=mass.size).astype(np.float32)

        return step


Edge = tuple[int, int, float]
_EDGE = np.dtype([("source", np.int64), ("target", np.int64), ("weight", np.float32)])


@dataclass(frozen=True, slots=True)
class _MentionEdges:
    there: list[Edge]  # passage → number of a homed name
    back: list[Edge]  # home → passage that mentions it


@dataclass(frozen=True, slots=True)
class _NameEdges:
    names: tuple[str, ...]
    edges: list[Edge]


def _common(labels: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the names that so many passages have that none of them is about it more than others.

    All that names them would lead to one passage, whatever is asked.
    """
    counts = Counter(label for some in labels for label in some)
    most = max(COMMON_LEAST, COMMON_SHARE * len(labels))
    return frozenset(label for label, count in counts.items() if count > most)


def _homes(
    titles: Sequence[str], introduced: Sequence[Collection[str]], common: frozenset[str]
) -> dict[str, list[int]]:
    homes: dict[str, list[int]] = defaultdict(list)
    for row, title in enumerate(titles):
        if title:
            homes[title].append(row)
    titled = homes.keys() | common | {""}
    others: dict[str, list[int]] = defaultdict(list)
    for row, some in enumerate(introduced):
        for label in frozenset(some) - titled:
            others[label].append(row)
    return dict(homes) | others


def _likely_homes(
    shortened: Sequence[Collection[str]], homeless: frozenset[str]
) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for row, some in enumerate(shortened):
        for label in homeless & frozenset(some):
            found[label].append(row)
    return {label: rows for label, rows in found.items() if len(rows) <= MOST_LIKELY_HOMES}


def _mention_edges(
    labels: Sequence[frozenset[str]], homes: Mapping[str, Sequence[int]], homed: Sequence[str]
) -> _MentionEdges:
    """Return mention edges; a home passage has none to the other homes of its name."""
    number = {label: place for place, label in enumerate(homed)}
    at_home = {label: frozenset(rows) for label, rows in homes.items()}
    counts = Counter(label for some in labels for label in some & number.keys())
    weight_of = {label: HOME_WEIGHT / np.log(np.e + n) for label, n in counts.items()}
    found = _MentionEdges([], [])
    for row, some in enumerate(labels):
        for label in sorted(some & number.keys()):
            if row in at_home[label]:
                continue
            rows = homes[label]
            found.there.append((row, number[label], weight_of[label]))
            found.back.extend((home, row, BACK_WEIGHT / len(rows)) for home in rows)
    return found


def _name_edges(
    labels: Sequence[frozenset[str]], homes: Mapping[str, Sequence[int]], size: int
) -> _NameEdges:
    """Return edges between passages and names found, or at home, in two or more."""
    own: list[set[str]] = [set() for _ in labels]
    for label, rows in homes.items():
        for row in rows:
            own[row].add(label)
    present = [sorted(some | mine) for some, mine in zip(labels, own, strict=True)]
    counts: dict[str, int] = defaultdict(int)
    for some in present:
        for label in some:
            counts[label] += 1
    names = tuple(sorted(label for label, count in counts.items() if count > 1))
    node_of = {name: size + place for place, name in enumerate(names)}
    weight_of = {n: NAME_WEIGHT / np.sqrt(np.log(np.e + counts[n])) for n in names}
    edges: list[Edge] = []
    for row, (some, mine) in enumerate(zip(present, own, strict=True)):
        for label in some:
            if label in node_of:
                weight = weight_of[label] * (OWN_NAME_FACTOR if label in mine else 1.0)
                edges += [(row, node_of[label], weight), (node_of[label], row, weight)]
    return _NameEdges(names, edges)


def _matrix(edges: Sequence[Edge], shape: tuple[int, int]) -> sparse.csr_array:
    found = np.fromiter(edges, dtype=_EDGE, count=len(edges))
    places = (found["source"], found["target"])
    matrix = sparse.coo_array((found["weight"], places), shape=shape).tocsr()
    matrix.sum_duplicates()
    return matrix


def _inverse(sums: npt.ArrayLike) -> Weights:
    values = np.asarray(sums, dtype=np.float64).ravel()
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _scaled(matrix: sparse.csr_array, factors: Weights) -> sparse.csr_array:
    shares = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return sparse.csr_array((shares.astype(np.float32), *_places(matrix)), shape=matrix.shape)


def _places(matrix: sparse.csr_array) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    return matrix.indices, matrix.indptr


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkResult:
    """Walk result: `mass` of each passage (float32, n), row order, and seeds.

    `seeds` are rows, best first; `named` the names with a home that stand in the question, sorted.
    """

    mass: FloatArray
    order: Rows
    seeds: Rows
    named: tuple[str, ...]


def rank_by_walk(
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
    """Rank passages by the mass that a graph walk from the best of them leaves there.

    `scores` (n) are 0–1. Of the homes of each name among `question_labels` the best-scored
    gets `title_bonus` on top, the next half of it, then a third …: a name of many homes must
    not fill all seeds. The `seeds` best restart the walk, weighted score**power. Order: mass, then
    score, then row; without any link this is the order of the scores.
    """
    count = len(graph.titles)
    given = np.asarray(scores, dtype=np.float64)
    if given.shape != (count,):
        raise GraphInputError(f"{given.shape} scores for {count} passages")
    boosted = given.copy()
    named = sorted(label for label in set(question_labels) if label in graph.homes)
    for label in named:
        rows = np.array(graph.homes[label])
        best_first = rows[np.lexsort((rows, -boosted[rows]))]
        boosted[best_first] += title_bonus / np.arange(1, rows.size + 1)
    best = _best(boosted, seeds)
    restart = np.zeros(graph.links.shape[0], dtype=np.float32)
    weights = boosted[best] ** power
    restart[best] = weights / weights.sum() if best.size else weights
    also = graph.to_homes(given)
    mass = random_walk(graph.links, restart, steps=steps, damping=damping, also=also)[:count]
    return WalkResult(mass=mass, order=_order(mass, boosted), seeds=best, named=tuple(named))


def _best(scores: Weights, limit: int) -> Rows:
    """Return the `limit` best rows above zero, best first, ties by row."""
    rows = np.flatnonzero(scores > 0)
    if rows.size > limit:
        cut = np.partition(scores[rows], rows.size - limit)[rows.size - limit]
        rows = rows[scores[rows] >= cut]
    return rows[np.lexsort((rows, -scores[rows]))][:limit]


def _order(mass: FloatArray, scores: Weights) -> Rows:
    """Order rows by mass, score, row; zeros are not sorted."""
    alive = (mass > 0) | (scores > 0)
    rows = np.flatnonzero(alive)
    first = rows[np.lexsort((rows, -scores[rows], -mass[rows]))]
    return np.concatenate([first, np.flatnonzero(~alive)])


_MAX_HOPS = 4
_FRONTIER = 200


def explain_path(
    graph: WalkGraph,
    row: int,
    seeds: Sequence[int] | Rows,
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
