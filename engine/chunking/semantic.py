"""Chunks that end where the subject changes, as an embedding sees it.

Only sections that do not fit in one chunk are embedded, a few sentences at a time and each text
once.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from zlib import crc32

import numpy as np
from llama_index.core.bridge.pydantic import Field
from numpy.typing import NDArray

from ..errors import ModelOutputError
from .merging import SemanticUnit, merge_small, pack_section, semantic_units, spans_between
from .span_parser import ContextSource, Measure, Span, SpanNodeParser
from .structure import Section, sections

_LOGGER = logging.getLogger("loregraph.chunk")
_DECIMALS = 3
"""Decimals of a distance; further bits differ between machines."""
_SMALLEST_SHARE = 4
"""No cut leaves less than this fraction (1/4) of a chunk on either side."""

_TERM_DIMENSION = 1024

Embed = Callable[[Sequence[str]], list[list[float]]]


class SemanticNodeParser(SpanNodeParser):
    """Node parser that cuts at the largest semantic distances (Kamradt's breakpoints).

    The distance at a gap is one minus the cosine of the mean vectors of the atoms before and behind
    it. Gaps above the `percentile` of their document become boundaries, the widest first, as long
    as no chunk gets smaller than a quarter of `size_tokens`; what is still too long is cut at its
    widest gap, whatever that is. Chunks overlap only where no gap could be used.

    Attributes:
        embed: texts to vectors of one length, in their order; a text's vector must depend on the
            text alone. Called once a document. `term_vectors` is one without a model.
        atom_tokens: how many tokens of whole sentences are embedded together.
        window_atoms: how many atoms on either side of a gap are compared.
        percentile: which share of the gaps is too narrow to be a boundary, 0–100.
        max_embedded_tokens: a document with more in long sections is cut without embedding, and
            the log says so.
    """

    embed: Embed = Field(exclude=True)
    atom_tokens: int = Field(default=48, ge=1)
    window_atoms: int = Field(default=2, ge=1)
    percentile: float = Field(default=80.0, ge=0, le=100)
    max_embedded_tokens: int = Field(default=400_000, ge=0)

    def spans(self, subject: ContextSource) -> list[Span]:
        """One section after the other; what is too small is joined with its neighbour."""
        text = subject.text
        measure = Measure(text, self.tokeniser)
        parts = sections(text, markdown=subject.shape == "markdown")
        long = self._long(text, parts, measure)
        gaps = self._gaps(text, long)
        threshold = _percentile([gap for found in gaps.values() for gap in found], self.percentile)
        found: list[Span] = []
        for number, section in enumerate(parts):
            if number in long:
                found += self._cut(
                    text, section, long[number], gaps[number], threshold=threshold, measure=measure
                )
            else:
                found += pack_section(
                    text,
                    section,
                    measure=measure,
                    size_tokens=self.size_tokens,
                    overlap_tokens=self._overlap,
                )
        return merge_small(found, measure=measure, size_tokens=self.size_tokens)

    @property
    def _overlap(self) -> int:
        return min(self.overlap_tokens, self.size_tokens // 2)

    def _long(
        self, text: str, parts: Sequence[Section], measure: Measure
    ) -> dict[int, list[SemanticUnit]]:
        """Return the units of sections to embed, by section number."""
        long = {
            number: semantic_units(
                text,
                section,
                measure=measure,
                size_tokens=self.size_tokens,
                atom_tokens=min(self.atom_tokens, self.size_tokens),
            )
            for number, section in enumerate(parts)
            if measure.tokens(section.blocks[0].start, section.blocks[-1].end) > self.size_tokens
        }
        total = sum(atom.tokens for inside in long.values() for atom in inside)
        if total <= self.max_embedded_tokens:
            return long
        _LOGGER.warning(
            "%d tokens are more than max_embedded_tokens=%d: cut without embedding",
            total,
            self.max_embedded_tokens,
        )
        return {}

    def _cut(
        self,
        text: str,
        section: Section,
        inside: Sequence[SemanticUnit],
        gaps: Sequence[float],
        *,
        threshold: float,
        measure: Measure,
    ) -> list[Span]:
        cuts = semantic_boundaries(
            [atom.tokens for atom in inside],
            gaps,
            size_tokens=self.size_tokens,
            smallest_tokens=self.size_tokens // _SMALLEST_SHARE,
            threshold=threshold,
        )
        return spans_between(
            text,
            section,
            inside,
            cuts,
            measure=measure,
            size_tokens=self.size_tokens,
            overlap_tokens=self._overlap,
        )

    def _gaps(self, text: str, long: dict[int, list[SemanticUnit]]) -> dict[int, list[float]]:
        """Return the distance between adjacent units, by section."""
        texts = [text[atom.start : atom.end] for inside in long.values() for atom in inside]
        if not texts:
            return {}
        vectors = np.asarray(self.embed(texts), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelOutputError(
                f"embedding {len(texts)} texts gave an array {vectors.shape}: one vector a text, "
                "all of one length, is needed"
            )
        gaps: dict[int, list[float]] = {}
        first = 0
        for number, inside in long.items():
            after = first + len(inside)
            gaps[number] = gap_distances(vectors[first:after], window=self.window_atoms)
            first = after
        return gaps


def term_vectors(terms: Callable[[str], Sequence[str]]) -> Embed:
    """Vectors without a model: the square roots of how often a text has each term.

    The lexical cohesion of Hearst's TextTiling (Computational Linguistics 23(1), 1997) under the
    same protocol: some twenty times as fast as MiniLM, and the better choice for what MiniLM cannot
    read, Chinese above all. Terms are hashed to a fixed length.
    """

    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors = np.zeros((len(texts), _TERM_DIMENSION))
        for row, text in enumerate(texts):
            for term in terms(text):
                vectors[row, crc32(term.encode("utf8", "surrogatepass")) % _TERM_DIMENSION] += 1
        rows: list[list[float]] = np.sqrt(vectors).tolist()
        return rows

    return embed


def gap_distances(vectors: NDArray[np.float64], *, window: int) -> list[float]:
    """Return one minus cosine of the sentence vectors around each gap, for semantic chunking.

    `(n, dimension)` gives `n − 1` values, 0–2, with three decimals. A zero vector is as far as can
    be told: 1.
    """
    found = []
    for gap in range(1, len(vectors)):
        before = vectors[max(0, gap - window) : gap].sum(axis=0)
        behind = vectors[gap : gap + window].sum(axis=0)
        norm = math.sqrt(float(before @ before) * float(behind @ behind))
        cosine = float(before @ behind) / norm if norm > 0 else 0.0
        found.append(round(1.0 - cosine, _DECIMALS))
    return found


def semantic_boundaries(
    tokens: Sequence[int],
    gaps: Sequence[float],
    *,
    size_tokens: int,
    smallest_tokens: int,
    threshold: float,
) -> list[int]:
    """Return the units to cut before, ascending; `gaps[i]` lies between units i and i + 1.

    The widest gap first (of equals the first), where it is above `threshold` or its stretch is too
    long for a chunk, and both sides keep `smallest_tokens`. One pass is enough: a stretch only ever
    gets shorter, so a gap that was refused would be refused again.
    """
    before = [0, *accumulate(tokens)]
    cuts = [0, len(tokens)]
    for gap in sorted(range(len(gaps)), key=lambda number: (-gaps[number], number)):
        at = gap + 1
        place = bisect_left(cuts, at)
        left, right = cuts[place - 1], cuts[place]
        sides = min(before[at] - before[left], before[right] - before[at])
        too_long = before[right] - before[left] > size_tokens
        if sides >= smallest_tokens and (too_long or gaps[gap] > threshold):
            cuts.insert(place, at)
    return cuts[1:-1]


def _percentile(values: Sequence[float], percentile: float) -> float:
    """Return the value at that rank, without interpolation."""
    if not values:
        return math.inf
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percentile / 100))]
