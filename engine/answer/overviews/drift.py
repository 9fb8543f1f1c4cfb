"""DRIFT search: the best reports first, then searches for open questions.

After DRIFT search (microsoft/graphrag, 2024): a primer over reports gives first points and further
questions, each is looked up by local search, and its answer may lead on. Without a language model
the further questions are names of the best points that the question does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import ModelError
from ...index.door import (
    Chunk,
    Evidence,
    Finding,
    Point,
    Report,
    content_terms,
    follow_up_terms,
    map_points,
)
from ...retrieve.stopwatch import Tracer
from ...retrieve.tokens import tokens
from ...types import Usage
from ..language import language_of
from ..packing.pack import pack_context
from .asking import BatchLLM
from .from_reports import best_reports, fitting
from .mapping import (
    MAP_OUTPUT_TOKENS,
    MapBatch,
    Mapped,
    map_batches,
    map_reports,
)
from .points import (
    CandidatePoints,
    LocalPoints,
    best_of,
    document_of,
    found_sentences,
    points_from_local_search,
)
from .replies import read_questions
from .scene import GlobalContext

_FREE_PRIMER = 4
"""Multiplier of primer reports without a model, where reading is free."""

_SENTENCES, _PASSAGES = 4, 6
"""Sentences and passages taken from each follow-up search without a model."""

_FOLLOW_UP = {"en": "Now look for: {0}", "zh": "现在查找：{0}"}


def from_drift(scene: GlobalContext, watch: Tracer) -> CandidatePoints:
    """Points of the best reports and of what was looked up from there on."""
    free = scene.ask_many is None
    limit = scene.plan.primer_reports * (_FREE_PRIMER if free else 1)
    reports = best_reports(scene, limit=limit)
    watch.record("select", f"the {len(reports)} best report(s)",
              "; ".join(report.title for report in reports), reports=len(reports))  # fmt: skip
    if scene.ask_many is None:
        return _by_names(scene, reports, watch)
    drift = _Drift(scene, scene.ask_many)
    drift.primer(reports, watch)
    for depth in range(scene.plan.depth):
        drift.follow(depth, watch)
    return CandidatePoints(points=drift.points, chunks=drift.chunks, usage=drift.usage)


def _by_names(scene: GlobalContext, reports: Sequence[Report], watch: Tracer) -> CandidatePoints:
    """Follow names: sentences of the best reports, then searches for their names."""
    chunks = scene.chunks_of(reports)
    given = points_from_local_search(
        scene, reports, chunks, limit=scene.parts.settings.global_points
    )
    chunks = {**chunks, **given.chunks}
    read = list(reports)
    newest: Sequence[Point] = [*given.points, *_mapped(scene, read, chunks)]
    watch.record("primer", f"{len(newest)} sentence(s) bear on the question", best_of(newest),
              points=len(newest))  # fmt: skip
    looked_up: list[str] = []
    for depth in range(scene.plan.depth):
        names = follow_up_terms(
            scene.question,
            newest,
            names_in=lambda text: _names_in(scene, text),
            tokens=tokens,
            limit=scene.plan.follow_ups,
            known=looked_up,
        )
        looked_up += names
        newest = []
        for name in names:
            said = _looked_up(scene, name)
            chunks = {**chunks, **said.chunks}
            newest = [*newest, *said.points]
        read += _as_sheets(newest)
        watch.record("follow", f"round {depth + 1}: {', '.join(names) or 'nothing leads on'}",
                  searches=len(names), points=len(newest))  # fmt: skip
    points = _mapped(scene, read, chunks)
    watch.record("map", f"{len(points)} sentence(s) bear on the question", best_of(points),
              points=len(points))  # fmt: skip
    return CandidatePoints(points=points, chunks=chunks, given=given.points)


def _mapped(
    scene: GlobalContext, read: Sequence[Report], chunks: Mapping[str, Chunk]
) -> list[Point]:
    return map_points(
        scene.question,
        read,
        match=scene.match(read, chunks),
        tokens=tokens,
        document_of=document_of(chunks),
    )


def _looked_up(scene: GlobalContext, name: str) -> LocalPoints:
    """Search locally for a name in the context of the question."""
    subject = " ".join(content_terms(scene.question, tokens=tokens))
    return found_sentences(
        scene,
        f"{name} {subject}".strip(),
        owner=lambda _: lambda chunk_id: scene.places.homes.get(chunk_id, ""),
        passages=_PASSAGES,
        limit=_SENTENCES,
    )


def _as_sheets(points: Sequence[Point]) -> list[Report]:
    """Sentences found as reports are read, one a community."""
    findings: dict[str, list[Finding]] = {}
    for point in points:
        found = findings.setdefault(point.community_id, [])
        found.append(Finding(text=point.text, evidences=point.evidences))
    return [
        Report(
            community_id=key,
            level=0,
            title="",
            summary="",
            rating=1.0,
            findings=tuple(findings[key]),
            fingerprint="",
        )
        for key in sorted(findings)
    ]


def _names_in(scene: GlobalContext, text: str) -> list[str]:
    """Return entity names in a text, as labelled in the library."""
    names = scene.places.names
    return [
        names[label]
        for label in sorted(
            {place.label for place in scene.parts.retriever.find_entities(text, scene.within)}
        )
        if label in names
    ]


@dataclass(slots=True)
class _Drift:
    """State of a DRIFT search by a model: points and questions so far."""

    scene: GlobalContext
    ask_many: BatchLLM
    points: list[Point] = field(default_factory=list)
    chunks: dict[str, Chunk] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    open: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def primer(self, reports: Sequence[Report], watch: Tracer) -> None:
        """Collect the first points and questions from reports."""
        scene = self.scene
        written = fitting(
            scene.written(reports), budget_tokens=scene.plan.primer_tokens, count=scene.count
        )
        self.chunks.update(scene.chunks_of(written))
        batches = map_batches(
            written,
            budget_tokens=scene.call_tokens(output_tokens=MAP_OUTPUT_TOKENS),
            count=scene.count,
        )
        mapped = map_reports(
            scene.question, batches, ask_many=self.ask_many, questions=scene.plan.follow_ups
        )
        self._take(mapped)
        watch.record("primer", f"{mapped.detail}, {len(self.open)} open question(s)",
                  "; ".join(self.open), **mapped.figures, open=len(self.open))  # fmt: skip

    def follow(self, depth: int, watch: Tracer) -> None:
        """Run one round: search every open question and map its passages, in parallel."""
        scene = self.scene
        questions = self.open[: scene.plan.follow_ups]
        if not questions:
            watch.record("follow", f"round {depth + 1}: nothing is open")
            return
        self.asked += questions
        self.open = []
        batches = [self._batch(question) for question in questions]
        read = [(q, batch) for q, batch in zip(questions, batches, strict=True) if batch.findings]
        try:
            mapped = map_reports(
                [f"{scene.question}\n{self._line(question)}" for question, _ in read],
                [batch for _, batch in read],
                ask_many=self.ask_many,
                questions=scene.plan.follow_ups,
            )
        except ModelError as error:
            if not self.points:
                raise
            watch.record(
                "follow", f"round {depth + 1}: every call failed: {error}", failed=len(read)
            )
            return
        self._take(mapped)
        watch.record("follow", f"round {depth + 1}: {mapped.detail} for {'; '.join(questions)}",
                  best_of(mapped.points), "; ".join(questions),
                  **mapped.figures, open=len(self.open))  # fmt: skip

    def _line(self, question: str) -> str:
        return _FOLLOW_UP[language_of(self.scene.question)].format(question)

    def _take(self, mapped: Mapped) -> None:
        self.usage = self.usage + mapped.usage
        self.points += mapped.points
        for reply in mapped.replies:
            known = [self.scene.question, *self.asked, *self.open]
            self.open += read_questions(reply or "", limit=self.scene.plan.follow_ups, known=known)

    def _batch(self, question: str) -> MapBatch:
        """Build a question's batch: numbered lines, each citing its chunk."""
        scene = self.scene
        search = scene.parts.retriever.search(question, within=scene.within)
        budget = scene.follow_tokens(output_tokens=MAP_OUTPUT_TOKENS)
        packed = pack_context(search.passages, budget_tokens=budget, count=scene.count)
        held = scene.chunks(passage.chunk_id for passage in packed.passages)
        self.chunks.update(held)
        findings: dict[int, tuple[str, Finding]] = {}
        lines: list[str] = []
        for passage in packed.passages:
            chunk = held.get(passage.chunk_id)
            if chunk is None:
                continue
            place = Evidence(chunk_id=chunk.id, start=0, end=len(chunk.text))
            home = scene.places.homes.get(chunk.id, "")
            number = len(findings) + 1
            findings[number] = (home, Finding(text=chunk.text, evidences=(place,)))
            lines.append(f"[{number}] {chunk.title}: {' '.join(chunk.text.split())}")
        return MapBatch(context="\n".join(lines), findings=findings)
