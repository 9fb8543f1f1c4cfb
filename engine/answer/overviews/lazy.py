"""Lazy search: points from chunks tested for relevance by community; needs no reports.

Without a language model a test is a match of words and vectors. With one, a call shows the best
sentences of several chunks and asks for points: a chunk is relevant where a point rests on it, so
that testing and collecting are one reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import ModelError
from ...index.door import (
    Chunk,
    Finding,
    Point,
    Report,
    TestBudget,
    by_community,
    chunk_match,
    chunk_reports,
    content_terms,
    informativeness,
    map_points,
    relevant_chunks,
)
from ...retrieve.stopwatch import Tracer
from ...retrieve.tokens import tokens
from ...types import Usage
from .asking import BatchLLM
from .from_reports import from_one_level
from .mapping import MAP_OUTPUT_TOKENS, Mapped, map_batches, map_reports
from .points import CandidatePoints, best_of, document_of, points_from_local_search
from .scene import GlobalContext

RELEVANT_SHARE = 0.15
"""A chunk that matches less than this share of the best match is not relevant."""

_OF_COMMUNITY, _AT_ONCE, _PATIENCE = 3, 16, 3
_FREE_PATIENCE = 6
"""Test budget multiplier without a model, where matching is free."""


def from_tested_chunks(scene: GlobalContext, watch: Tracer) -> CandidatePoints:
    """Points from the chunks that pass a test, spread over communities.

    A question that names no subject tells no chunk from another: it is answered from one level's
    reports as they are, and from the chunks that bring most names together where there are none.
    """
    if scene.generic and scene.reports:
        return from_one_level(scene, watch, write=False)
    promising = _promising(scene)
    chunks = scene.chunks(promising)
    scores = {key: value for key, value in promising.items() if key in chunks}
    best = (chunks[key].title for key in sorted(scores, key=lambda key: (-scores[key], key))[:3])
    watch.record("rank", f"{len(scores)} chunk(s) to test", "; ".join(best),
              scene.question, chunks=len(scores))  # fmt: skip
    if scene.ask_many is None:
        return _by_match(scene, scores, chunks, watch)
    reader = Reader(scene, scene.ask_many, chunks)
    _tested(scene, scores, reader.test, watch)
    watch.record("map", reader.detail, best_of(reader.points), **reader.figures)
    return CandidatePoints(points=reader.points, chunks=chunks, usage=reader.usage)


def _promising(scene: GlobalContext) -> dict[str, float]:
    """Rank chunks by search score, or by the number of names they connect.

    Of a community's chunks the n-th best counts an n-th where nothing is asked for, so that all
    communities are heard.
    """
    pool = scene.plan.pool
    if not scene.generic:
        found = scene.parts.retriever.search(scene.question, top_k=pool, within=scene.within)
        top = max((passage.score for passage in found.passages), default=0.0) or 1.0
        return {passage.chunk_id: passage.score / top for passage in found.passages}
    places = scene.places
    weights = {
        key: value
        for key, value in places.weights.items()
        if scene.admitted is None or places.document_of[key] in scene.admitted
    }
    heard: Counter[str] = Counter()
    scores: dict[str, float] = {}
    for key in sorted(weights, key=lambda key: (-weights[key], key)):
        home = places.homes.get(key, "")
        heard[home] += 1
        scores[key] = (1.0 + weights[key]) / heard[home]
    best = sorted(scores, key=lambda key: (-scores[key], key))[:pool]
    return {key: scores[key] for key in best}


def _tested(
    scene: GlobalContext,
    scores: Mapping[str, float],
    test: Callable[[Sequence[str]], Mapping[str, float]],
    watch: Tracer,
) -> Mapping[str, float]:
    free = scene.ask_many is None
    sifted = relevant_chunks(
        scene.places.tree,
        scene.places.homes,
        scores,
        test=test,
        allowed=TestBudget(
            chunks=scene.plan.pool if free else scene.plan.tests,
            of_community=_OF_COMMUNITY,
            at_once=_AT_ONCE,
            patience=_FREE_PATIENCE if free else _PATIENCE,
        ),
    )
    watch.record(
        "test",
        f"{len(sifted.relevant)} of {sifted.tested} chunk(s) relevant,"
        f" in {len(sifted.rounds)} round(s)",
        tested=sifted.tested,
        relevant=len(sifted.relevant),
        rounds=len(sifted.rounds),
        left=sifted.left,
    )
    return sifted.relevant


def _by_match(
    scene: GlobalContext, scores: Mapping[str, float], chunks: Mapping[str, Chunk], watch: Tracer
) -> CandidatePoints:
    fits = _fits(scene, chunks)
    least = RELEVANT_SHARE * max(fits.values(), default=0.0)

    def test(chunk_ids: Sequence[str]) -> Mapping[str, float]:
        return {key: fits[key] for key in chunk_ids if fits[key] >= least}

    relevant = _tested(scene, scores, test, watch)
    read = chunk_reports(
        by_community(list(relevant), scene.places.homes),
        chunks,
        titles=scene.titles,
        tokens=tokens,
    )
    limit = scene.parts.settings.global_points
    given = points_from_local_search(scene, read, chunks, limit=limit)
    held = {**chunks, **given.chunks}
    points = map_points(
        scene.question,
        read,
        match=scene.match(read, chunks),
        tokens=tokens,
        document_of=document_of(held),
    )
    watch.record("map", f"{len(points)} sentence(s) bear on the question", best_of(points),
              points=len(points))  # fmt: skip
    return CandidatePoints(points=points, chunks=held, given=given.points)


def _fits(scene: GlobalContext, chunks: Mapping[str, Chunk]) -> dict[str, float]:
    """Score how well each chunk answers the question; equal for generic questions."""
    ids = sorted(chunks)
    if scene.generic:
        return dict.fromkeys(ids, 1.0)
    match = chunk_match(
        scene.question,
        places={key: [key] for key in ids},
        chunks=chunks,
        near=scene.near(ids),
        tokens=tokens,
        weight=scene.parts.idf(scene.within),
    )
    return dict(zip(ids, match(scene.question, ids).tolist(), strict=True))


@dataclass(slots=True)
class Reader:
    """A language model that tests chunks by making points of them.

    A call that fails leaves its chunks irrelevant, and is counted; where every call failed so far,
    the error comes out.
    """

    scene: GlobalContext
    ask_many: BatchLLM
    chunks: Mapping[str, Chunk]
    points: list[Point] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    failed: int = 0
    unusable: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def detail(self) -> str:
        """Summary for the trace."""
        line = f"{len(self.points)} point(s) from {self.calls} call(s)"
        failed = f"{self.failed} failed: {'; '.join(dict.fromkeys(self.failures))}"
        return f"{line}; {failed}" if self.failed else line

    @property
    def figures(self) -> dict[str, float]:
        """Figures for the trace."""
        return {
            "points": float(len(self.points)),
            "calls": float(self.calls),
            "failed": float(self.failed),
            "unusable": float(self.unusable),
            "prompt_tokens": float(self.usage.prompt_tokens),
        }

    def test(self, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        """Chunks that points rest on, with the best point's score, 0–1."""
        shown = chunk_reports(
            by_community(chunk_ids, self.scene.places.homes),
            self.chunks,
            titles=self.scene.titles,
            tokens=tokens,
            choose=self._excerpt,
        )
        relevant: dict[str, float] = {}
        for point in self._read(shown).points:
            self.points.append(point)
            for place in point.evidences:
                best = max(relevant.get(place.chunk_id, 0.0), point.score / 100)
                relevant[place.chunk_id] = best
        return relevant

    def _read(self, shown: Sequence[Report]) -> Mapped:
        batches = map_batches(
            shown,
            budget_tokens=self.scene.call_tokens(output_tokens=MAP_OUTPUT_TOKENS),
            count=self.scene.count,
        )
        self.calls += len(batches)
        try:
            mapped = map_reports(self.scene.question, batches, ask_many=self.ask_many)
        except ModelError as error:
            if self.calls == self.failed + len(batches):
                raise
            self.failed += len(batches)
            self.failures.append(str(error))
            return Mapped()
        self.usage = self.usage + mapped.usage
        self.failed += mapped.failed
        self.unusable += mapped.unusable
        self.failures.extend(mapped.failures)
        return mapped

    def _excerpt(self, sentences: Sequence[Finding]) -> list[Finding]:
        """Return the best sentences of a chunk in order, within the budget."""
        weight = self.scene.parts.idf(self.scene.within)
        wanted = {
            term: max(weight(term), 0.0)
            for term in content_terms(self.scene.question, tokens=tokens)
        }
        total = sum(wanted.values()) or 1.0

        def value(finding: Finding) -> float:
            held = sum(wanted.get(term, 0.0) for term in set(tokens(finding.text)))
            return 2 * held / total + informativeness(finding.text)

        left = self.scene.plan.test_tokens
        kept: set[int] = set()
        order = sorted(range(len(sentences)), key=lambda n: (-value(sentences[n]), n))
        for number in order:
            size = self.scene.count(sentences[number].text) + 4  # its number and the line's end
            if size <= left or not kept:
                kept.add(number)
                left -= size
        return [sentences[number] for number in sorted(kept)]
