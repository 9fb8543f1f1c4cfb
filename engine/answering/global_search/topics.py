"""Topics of a collection: its documents, or the sections of a few, grouped around central ones.

Units (documents, or sections where there are few documents) are compared by their words and by the
entities of the graph, which join languages. Central units are chosen one by one so that all units
are as near as possible to one of them (facility location, Nemhauser et al. 1978: within 1 - 1/e of
the best); every unit belongs to the nearest. Pure, deterministic and bounded by `MAX_CHUNKS`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import has_han, is_chinese

from ...storage.graph_api import Chunk, bare_heading
from ...storage.tokenization import tokens
from .standalone import is_unpaired

MAX_DOCUMENTS, MAX_CHUNKS = 600, 1200
"""Maximum number of documents and of chunks that are read; larger libraries are sampled evenly."""
FEW_DOCUMENTS = 5
"""Fewer documents than these are divided into sections."""
MIN_SECTIONS, MAX_DEPTH = 4, 3
_PARTS = 8
"""Number of parts of documents without headings."""
_HEAD_COUNTS = 3
"""A word of a title or heading counts as much as in so many places of the text."""
_MAX_TERMS = 4000
_COMMON = 0.6
"""Terms of more than this share of the units tell none apart."""
_ENTITY_COUNTS = 2
_OTHER_SCRIPT = 0.8
"""Factor for a central unit in another script than the question's."""
_MOST = 0.6
"""A heading that stands over this share of a section is named with the section's own."""
_CODE = re.compile(r"[\w.-]*[\d_.][\w.-]*|.{0,3}")
"""Titles that say nothing: "ES2006b", "notes_final.txt"."""

Texts = Iterable[tuple[str, float]]
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """A document or a section of one, with the chunks of it that were read, in their order."""

    document_id: str
    headings: tuple[str, ...]
    chunks: tuple[Chunk, ...]

    @cached_property
    def title(self) -> str:
        """Its title or heading in plain words; empty where that says nothing."""
        said = plain_title(self.headings[-1] if self.headings else self.chunks[0].title)
        if _CODE.fullmatch(said):
            return ""
        depth = len(self.headings)
        below = Counter(one.headings[depth] for one in self.chunks if len(one.headings) > depth)
        for heading, count in below.most_common(1) if self.headings else ():
            if count >= _MOST * len(self.chunks):
                return f"{_calm(said)}: {_calm(plain_title(heading))}"
        return _calm(said)

    @cached_property
    def is_chinese(self) -> bool:
        """Check for a text mostly in Chinese."""
        return is_chinese(self.chunks[0].text)


@dataclass(frozen=True)
class Topic:
    """Units around the central one, the nearest first.

    `weights` of terms say how much of the topic's words they are, `marks` how much more of its
    units have them than of the others.
    """

    units: tuple[Unit, ...]
    weights: Mapping[str, float]
    marks: Mapping[str, float] = field(default_factory=dict)

    @property
    def chunks(self) -> list[Chunk]:
        """Return the chunks that were read of it."""
        return [chunk for unit in self.units for chunk in unit.chunks]


def sample_chunks(by_document: Mapping[str, Sequence[str]]) -> list[str]:
    """Return at most `MAX_CHUNKS` chunk ids, spread over the documents and over each of them."""
    documents = _spread(sorted(by_document), MAX_DOCUMENTS)
    most = MAX_CHUNKS // max(1, len(documents))
    return [key for name in documents for key in _spread(by_document[name], most)]


def _spread(items: Sequence[str], most: int) -> list[str]:
    """Return at most so many items at equal distances, the first among them."""
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def units_of(chunks: Sequence[Chunk]) -> list[Unit]:
    """Return documents as units, or sections where there are few documents; by place."""
    ordered = sorted(chunks, key=lambda one: (one.document_id, one.position, one.start, one.id))
    documents = len({chunk.document_id for chunk in ordered})
    if documents >= FEW_DOCUMENTS:
        return sections(ordered, depth=0)
    for depth in range(1, MAX_DEPTH + 1):
        found = sections(ordered, depth=depth)
        if len(found) >= MIN_SECTIONS * documents:
            return found
    return _runs(ordered, max(1, math.ceil(len(ordered) / _PARTS)))


def sections(chunks: Sequence[Chunk], *, depth: int) -> list[Unit]:
    """Return the units of chunks in one document under the same headings down to a depth."""
    held: defaultdict[tuple[str, tuple[str, ...]], list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        held[chunk.document_id, chunk.headings[:depth]].append(chunk)
    return [Unit(name, headings, tuple(some)) for (name, headings), some in held.items()]


def _runs(chunks: Sequence[Chunk], size: int) -> list[Unit]:
    parts = [chunks[at : at + size] for at in range(0, len(chunks), size)]
    return [Unit(some[0].document_id, some[0].headings[-1:], tuple(some)) for some in parts]


def group_units(
    units: Sequence[Unit],
    *,
    entities_of: Callable[[str], Iterable[str]],
    most: int,
    chinese: bool,
) -> list[Topic]:
    """Return at most `most` topics, the largest first; sections of one document by place.

    Args:
        units: what is grouped.
        entities_of: the ids of entities named in a chunk.
        most: maximum number of topics.
        chinese: whether central units in Chinese are preferred, or those that are not.
    """
    counts = [_terms(unit, entities_of) for unit in units]
    rows, terms = _vectors(counts)
    near = rows @ rows.T
    np.fill_diagonal(near, 1.0)
    sizes = np.array([math.sqrt(len(unit.chunks)) for unit in units])
    fits = [1.0 if unit.is_chinese == chinese else _OTHER_SCRIPT for unit in units]
    centres = _central(near, sizes, np.array(fits), most=most)
    owner = np.argmax(near[centres], axis=0)
    owner[centres] = np.arange(len(centres))
    every = (rows > 0).mean(axis=0)
    topics = []
    for number, centre in enumerate(centres):
        members = sorted(
            np.flatnonzero(owner == number).tolist(), key=lambda row: (-near[centre, row], row)
        )
        centroid = rows[members].sum(axis=0)
        weights = {terms[at]: float(centroid[at]) for at in np.flatnonzero(centroid > 0)}
        shares = (rows[members] > 0).mean(axis=0)
        marked = shares * np.log(shares / every, where=shares > 0, out=np.zeros_like(shares))
        marks = {terms[at]: round(float(marked[at]), 6) for at in np.flatnonzero(marked > 0)}
        topics.append((members, Topic(tuple(units[row] for row in members), weights, marks)))
    alone = len({unit.document_id for unit in units}) == 1
    topics.sort(key=lambda one: (0 if alone else -len(one[0]), one[0][0]))
    return [topic for _, topic in topics]


def _central(near: Rows, sizes: Rows, fits: Rows, *, most: int) -> list[int]:
    """Return the units that bring the others nearest to one of them, chosen one by one."""
    best = np.zeros(len(near), dtype=np.float64)
    chosen: list[int] = []
    for _ in range(min(most, len(near))):
        gains = (np.maximum(near - best, 0.0) @ sizes * fits).round(6)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        best = np.maximum(best, near[chosen[-1]])
    return chosen


def _terms(unit: Unit, entities_of: Callable[[str], Iterable[str]]) -> Counter[str]:
    """Count a unit's words, those of its headings more, and the entities named in it."""
    counts: Counter[str] = Counter()
    heads = {unit.chunks[0].title, *(head for one in unit.chunks for head in one.headings)}
    for head in sorted(heads):
        counts.update(dict.fromkeys(tokens(head), _HEAD_COUNTS))
    for chunk in unit.chunks:
        counts.update(tokens(chunk.text))
        counts.update({f"\0{entity}": _ENTITY_COUNTS for entity in entities_of(chunk.id)})
    return counts


def _vectors(counts: Sequence[Counter[str]]) -> tuple[Rows, list[str]]:
    """Return unit vectors of tf-idf, a row a unit, and the terms of the columns."""
    held = Counter(term for one in counts for term in one)
    most = _COMMON * len(counts) if len(counts) > FEW_DOCUMENTS else len(counts)
    known = [term for term, found in held.items() if 2 <= found <= most]
    terms = sorted(known, key=lambda term: (-held[term], term))[:_MAX_TERMS]
    column = {term: at for at, term in enumerate(terms)}
    rows = np.zeros((len(counts), len(terms)), dtype=np.float64)
    for number, one in enumerate(counts):
        for term, count in one.items():
            at = column.get(term)
            if at is not None:
                idf = math.log(1 + len(counts) / held[term])
                rows[number, at] = (1 + math.log(count)) * idf
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1), terms


def plain_title(title: str) -> str:
    """Return a title or heading without its number; with it where a quotation mark would go too."""
    bare = bare_heading(title)
    return " ".join(title.split()) if is_unpaired(bare) else bare


def _calm(title: str) -> str:
    """Return a title in capitals with only its first letters in capitals."""
    if title.isupper() and not has_han(title) and " " in title:
        return title.title().replace("’S", "’s").replace("'S", "'s")
    return title
