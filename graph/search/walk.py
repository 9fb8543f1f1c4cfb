"""Local search: a short walk over passages, titles and shared names.

The sparse graph has one node a passage and one a name that at least two passages share; a mention
of a name leads to its homes above all. Works on labels, rows and weights; first scores, the names
of labels and texts come by argument.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import GraphInputError
from .packed_rows import Rows, SortedMapping, find_string, first_or_empty, pack_rows

FloatArray = npt.NDArray[np.float32]


Flow = tuple[npt.NDArray[np.integer], npt.NDArray[np.floating]]
"""Nodes, repeated or not, and what each is given; in a fixed order."""


def walk_step(matrix: sparse.csr_array, nodes: npt.NDArray[np.integer], mass: FloatArray) -> Flow:
    """Return what the rows `nodes` of `matrix` pass on of their `mass`, and to which columns."""
    starts = matrix.indptr[nodes]
    counts = matrix.indptr[nodes + 1] - starts
    ends = np.cumsum(counts)
    places = np.arange(ends[-1] if ends.size else 0) + np.repeat(starts - ends + counts, counts)
    return matrix.indices[places], matrix.data[places] * np.repeat(mass, counts)


LEAST_PASSED_ON = 1e-6
"""Mass below which a node passes nothing on: in large libraries most have less after five steps."""
FOLLOWED_WHOLE = 400_000
"""Number of nodes up to which a node with many links passes its mass on like others."""
LEAST_A_LINK = 1e-6
"""Mass for each of its links below which a node of a larger graph passes nothing on.

So one step follows a million links at most (the push rule of Andersen, Chung and Lang, 2006).
"""


def random_walk(
    matrix: sparse.csr_array,
    restart: FloatArray,
    *,
    steps: int = 5,
    damping: float = 0.5,
    also: Callable[[npt.NDArray[np.integer], FloatArray], Flow] | None = None,
) -> FloatArray:
    """Run the graph walk: `steps` times x ← damping · Pᵀx + (1 − damping) · r, from x = r.

    Personalised PageRank (Page et al. 1999; Haveliwala 2002) cut off after a few steps: with
    damping 0.5 what is missing of the limit is 0.5**steps. Of a large graph only nodes are followed
    that have something to give to each of their neighbours. `matrix` is P, rows summing to one
    or less (mass at a dead end is lost, which leaves the order of the others as it is); `restart`
    is r, of length n. `also` is what moves by other rules than P: nodes and their x to a flow.
    Only nodes that x has reached are looked at. Returns x, float32, n. Deterministic.

    Raises:
        GraphInputError: the shapes do not fit.
    """
    if matrix.shape != (restart.size, restart.size):
        raise GraphInputError(
            f"restart vector has {restart.size} entries for a matrix of shape {matrix.shape}"
        )
    start = restart.astype(np.float32)
    reached, given = np.zeros(start.size, dtype=bool), np.zeros(start.size, dtype=np.float32)
    by_others = np.zeros(start.size if also is not None else 0)
    nodes = np.flatnonzero(start)
    reached[nodes], mass = True, start[nodes]
    for _ in range(steps):
        gives = mass >= _least_passed_on(matrix, nodes)
        nodes, mass = nodes[gives], mass[gives]
        targets, shares = walk_step(matrix, nodes, mass)
        np.add.at(given, targets, shares)
        reached[targets] = True
        if also is not None:
            targets, shares = also(nodes, mass)
            np.add.at(by_others, targets, shares)
            reached[targets] = True
        nodes = np.flatnonzero(reached)
        moved = given[nodes]
        given[nodes] = 0
        if also is not None:
            moved = moved + by_others[nodes].astype(np.float32)
            by_others[nodes] = 0
        mass = np.float32(damping) * moved + np.float32(1 - damping) * start[nodes]
    walked = np.zeros(start.size, dtype=np.float32)
    walked[nodes] = mass
    return walked


def _least_passed_on(
    matrix: sparse.csr_array, nodes: npt.NDArray[np.integer]
) -> float | npt.NDArray[np.float64]:
    """Return the mass from which each node passes something on."""
    if matrix.shape[0] <= FOLLOWED_WHOLE:
        return LEAST_PASSED_ON
    links = matrix.indptr[nodes + 1] - matrix.indptr[nodes]
    return np.asarray(np.maximum(LEAST_PASSED_ON, LEAST_A_LINK * links))


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


Places = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
Homes = tuple[int, ...]
"""Passages under a name as a title, or that introduce it."""

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
    titles: Sequence[str]
    labels: Sequence[frozenset[str]]
    introduced: Sequence[tuple[str, ...]]
    names: Sequence[str]
    homes: Mapping[str, Homes]

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
        place = find_string(self.names, label)
        if place < 0:
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
        none: Sequence[Collection[str]] = ((),) * len(titles)
        named = [(title,) for title in titles]
        return cls.of_rows(*pack_rows(named, links, introduced or none, shortened or none))

    @classmethod
    def of_rows(
        cls,
        titles: Rows[tuple[str, ...]],
        links: Rows[tuple[str, ...]],
        introduced: Rows[tuple[str, ...]],
        shortened: Rows[tuple[str, ...]],
    ) -> WalkGraph:
        """Build the graph of packed rows over one sorted table (see `build`)."""
        size, table = len(titles), titles.table
        held = _Pairs.of(links, len(table))
        home = _homes(_Pairs.of(titles, len(table)), introduced, shortened, held, size)
        homed = np.flatnonzero(home.counts)
        there, back = _mention_edges(held, home, homed)
        named, name_edges = _name_edges(held, home, size)
        nodes = size + len(named)
        to_homes = _matrix(there, (nodes, len(homed)))
        fixed = _with_names(_matrix(back, (size, size)), name_edges)
        factors = _inverse(fixed.sum(axis=1) + to_homes.sum(axis=1))
        number = _numbered(homed, len(table))[home.labels]
        here = Edges(number, home.rows, np.ones(len(number), dtype=np.float32))
        homes_of = _matrix(here, (len(homed), nodes))
        return cls(
            links=_scaled(fixed, factors),
            mentions=_scaled(to_homes, factors),
            homes_of=homes_of,
            titles=titles.shaped(first_or_empty),
            labels=links.shaped(frozenset[str]),
            introduced=introduced,
            names=_one_each(named, table),
            homes=homes_by_label(_one_each(homed, table), homes_of),
        )

    def to_homes(
        self, scores: npt.NDArray[np.floating]
    ) -> Callable[[npt.NDArray[np.integer], FloatArray], Flow]:
        """Return what nodes pass to the homes of names, for passage scores: (n), 0–1."""

        def step(nodes: npt.NDArray[np.integer], mass: FloatArray) -> Flow:
            named, parts = walk_step(self.mentions, nodes, mass)
            reached, places = np.unique(named, return_inverse=True)
            given = np.zeros(reached.size, dtype=np.float32)
            np.add.at(given, places, parts)
            chosen = self.homes_of[reached]
            if not chosen.nnz:
                return chosen.indices, chosen.data
            weights = 1.0 + HOME_PULL * scores[chosen.indices]
            sums = np.add.reduceat(weights, chosen.indptr[:-1])  # every homed name has a home
            return chosen.indices, weights * np.repeat(given / sums, np.diff(chosen.indptr))

        return step


def homes_by_label(labels: Sequence[str], homes_of: sparse.csr_array) -> Mapping[str, Homes]:
    """Map sorted labels to their homes, row by row of a matrix."""
    starts, rows = homes_of.indptr, homes_of.indices
    return SortedMapping(labels, lambda at: tuple(rows[starts[at] : starts[at + 1]].tolist()))


def _one_each(numbers: npt.NDArray[np.int64], table: Sequence[str]) -> Rows[str]:
    starts = np.arange(len(numbers) + 1, dtype=np.int64)
    return Rows(starts, numbers, table=table, shape=first_or_empty)


class Edges(NamedTuple):
    """Edges of a matrix: sources, targets and weights."""

    sources: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]


class _Pairs(NamedTuple):
    """Passages and labels that belong together, sorted; and how many passages each label has."""

    rows: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows[tuple[str, ...]], size: int) -> _Pairs:
        return cls.made(rows.owners, rows.numbers, size)

    @classmethod
    def made(cls, rows: npt.NDArray[np.int64], labels: npt.NDArray[np.int64], size: int) -> _Pairs:
        return cls(rows, labels, np.bincount(labels, minlength=size))

    @property
    def keys(self) -> npt.NDArray[np.int64]:
        """Return one number for each pair: its label in the last bits, before these its row."""
        return (self.rows << self._bits) | self.labels

    @property
    def _bits(self) -> int:
        return len(self.counts).bit_length()

    def where(self, chosen: npt.NDArray[np.bool_]) -> _Pairs:
        """Return some of the pairs; the counts stay those of all."""
        places = np.flatnonzero(chosen)
        return _Pairs(self.rows[places], self.labels[places], self.counts)

    def joined(self, *others: _Pairs) -> _Pairs:
        """Return the pairs of all, each once, sorted."""
        every = np.concatenate([self.keys, *(each.keys for each in others)])
        every.sort(kind="stable")  # merges runs
        every = every[np.flatnonzero(np.append(True, every[1:] != every[:-1])[: every.size])]
        labels = every & ((1 << self._bits) - 1)
        return _Pairs.made(every >> self._bits, labels, len(self.counts))

    def within(self, others: _Pairs) -> npt.NDArray[np.bool_]:
        """Return which of these pairs, which are sorted, are among the others."""
        known, wanted = self.keys, others.keys
        found = np.zeros(len(known), dtype=bool)
        if len(known):
            places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            found[places[known[places] == wanted]] = True
        return found


def _homes(
    titled: _Pairs,
    introduced: Rows[tuple[str, ...]],
    shortened: Rows[tuple[str, ...]],
    held: _Pairs,
    size: int,
) -> _Pairs:
    """Return the homes of names (see `WalkGraph`).

    A name that so many passages have that none of them is about it more than others has none but
    those that it titles: all that names it would lead to one passage, whatever is asked.
    """
    labels = len(held.counts)
    common = held.counts > max(COMMON_LEAST, COMMON_SHARE * size)
    told = _Pairs.of(introduced, labels)
    homes = titled.joined(told.where(~(common | (titled.counts > 0))[told.labels]))
    likely = _Pairs.of(shortened, labels)
    homeless = (held.counts > 0) & ~common & (homes.counts == 0)
    likely = likely.where(homeless[likely.labels])
    return homes.joined(likely.where(likely.counts[likely.labels] <= MOST_LIKELY_HOMES))


def _mention_edges(held: _Pairs, home: _Pairs, homed: npt.NDArray[np.int64]) -> tuple[Edges, Edges]:
    """Return edges from mentions to homed names, and from homes to what mentions their names.

    A home has none to the other homes of its name.
    """
    told = held.where((home.counts > 0)[held.labels])
    told = told.where(~told.within(home))
    number = _numbered(homed, len(home.counts))[told.labels]
    weights = _floats(HOME_WEIGHT / np.log(np.e + held.counts[homed]))
    there = Edges(told.rows, number, weights[number])
    by_label = home.rows[np.argsort(home.labels, kind="stable")]
    ends = np.cumsum(home.counts)
    counts = home.counts[told.labels]
    mention = np.repeat(np.arange(len(counts)), counts)
    steps = np.arange(len(mention)) - np.repeat(np.cumsum(counts) - counts, counts)
    homes = by_label[(ends - home.counts)[told.labels][mention] + steps]
    return there, Edges(homes, told.rows[mention], _floats(BACK_WEIGHT / counts[mention]))


def _name_edges(
    held: _Pairs, home: _Pairs, size: int
) -> tuple[npt.NDArray[np.int64], sparse.csr_array]:
    """Return names found, or at home, in two passages or more, and the edges of passages to these.

    Edges are by the number of the name among those found, and the same back.
    """
    present = held.joined(home)
    named = np.flatnonzero(present.counts > 1)
    present = present.where((present.counts > 1)[present.labels])
    number = _numbered(named, len(present.counts))[present.labels]
    weights = _floats(NAME_WEIGHT / np.sqrt(np.log(np.e + present.counts[named])))[number]
    weights[present.within(home)] *= np.float32(OWN_NAME_FACTOR)
    starts = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(np.bincount(present.rows, minlength=size), out=starts[1:])
    places = (number.astype(np.int32), starts)
    return named, sparse.csr_array((weights, *places), shape=(size, len(named)))


def _with_names(back: sparse.csr_array, names: sparse.csr_array) -> sparse.csr_array:
    """Return edges between passages, to the names behind them, and from these back."""
    rows = sparse.hstack([back, names], format="csr")
    return sparse.vstack([rows, _widened(names.T.tocsr(), rows.shape[1])], format="csr")


def _widened(matrix: sparse.csr_array, columns: int) -> sparse.csr_array:
    return sparse.csr_array((matrix.data, *_places(matrix)), shape=(matrix.shape[0], columns))


def _numbered(chosen: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Return the place of each of `size` labels among those chosen."""
    places = np.full(size, -1, dtype=np.int64)
    places[chosen] = np.arange(len(chosen))
    return places


def _floats(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    return values.astype(np.float32)


def _matrix(edges: Edges, shape: tuple[int, int]) -> sparse.csr_array:
    places = (edges.sources.astype(np.int32), edges.targets.astype(np.int32))
    matrix = sparse.coo_array((edges.weights, places), shape=shape).tocsr()
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
    order: Places
    seeds: Places
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


def _best(scores: Weights, limit: int) -> Places:
    """Return the `limit` best rows above zero, best first, ties by row."""
    rows = np.flatnonzero(scores > 0)
    if rows.size > limit:
        cut = np.partition(scores[rows], rows.size - limit)[rows.size - limit]
        rows = rows[scores[rows] >= cut]
    return rows[np.lexsort((rows, -scores[rows]))][:limit]


MOST_ORDERED = 10_000
"""Number of rows with mass that are put in order; what comes after them stands by row."""


def _order(mass: FloatArray, scores: Weights) -> Places:
    """Order rows by mass, score, row; neither zeros nor the rear of very many are sorted."""
    alive = (mass > 0) | (scores > 0)
    rows = np.flatnonzero(alive)
    is_first = np.ones(rows.size, dtype=bool)
    if rows.size > MOST_ORDERED:
        here = mass[rows]
        is_first = here >= np.partition(here, rows.size - MOST_ORDERED)[rows.size - MOST_ORDERED]
    first = rows[is_first]
    first = first[np.lexsort((first, -scores[first], -mass[first]))]
    return np.concatenate([first, rows[~is_first], np.flatnonzero(~alive)])
