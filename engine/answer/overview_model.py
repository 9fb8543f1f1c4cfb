"""An overview with a language model: reports to scored points, points to a cited text.

The map prompt shows numbered findings and asks for points that name the numbers they rest on; so
every point keeps its evidences, and the reduce prompt's marks lead back to spans. What the model
sends is read tolerantly and trusted in nothing: unknown numbers, missing texts and zero scores
are dropped and counted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..types import Passage, Usage
from .cite import Embed, expand_marks, resolve_marks
from .draft import Draft, abstain
from .language import language_of
from .overview import CITATIONS_PER_POINT, EvidencePlace, OverviewPoint, SourceChunk
from .prompts import chat_messages
from .sentences import SentenceSpans, Tokens
from .synthesise import Complete, is_abstention

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage


class ReportFinding(Protocol):
    """One thing a report says and where it was read."""

    @property
    def text(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def evidences(self) -> Sequence[EvidencePlace]: ...  # noqa: D102


class CommunityReport(Protocol):
    """What a community is about."""

    @property
    def community_id(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def summary(self) -> str: ...  # noqa: D102
    @property
    def findings(self) -> Sequence[ReportFinding]: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPoint:
    """A point that a model made out of findings; `evidences` are those of the findings it named."""

    text: str
    score: float
    evidences: tuple[EvidencePlace, ...]
    community_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBatch:
    """Reports that are shown together: the context and which finding each number means."""

    context: str
    findings: Mapping[int, tuple[str, ReportFinding]]


def map_batches(
    reports: Sequence[CommunityReport], *, budget_tokens: int, count: Callable[[str], int]
) -> list[MapBatch]:
    """The reports in order, in as few batches as the budget of one call allows.

    Numbers run through all batches. A single report above the budget makes a batch of its own.
    """
    batches: list[MapBatch] = []
    blocks: list[str] = []
    findings: dict[int, tuple[str, ReportFinding]] = {}
    number = 0
    for report in reports:
        numbered = {number + place: f for place, f in enumerate(report.findings, start=1)}
        number += len(numbered)
        lines = (f"[{key}] {' '.join(finding.text.split())}" for key, finding in numbered.items())
        block = "\n".join((f"# {report.title}", *lines))
        if blocks and count("\n\n".join((*blocks, block))) > budget_tokens:
            batches.append(MapBatch(context="\n\n".join(blocks), findings=findings))
            blocks, findings = [], {}
        blocks.append(block)
        findings = findings | {key: (report.community_id, f) for key, f in numbered.items()}
    if findings:
        batches.append(MapBatch(context="\n\n".join(blocks), findings=findings))
    return batches


def map_messages(question: str, batch: MapBatch) -> tuple[ChatMessage, ...]:
    """What the model is shown of one batch."""
    return chat_messages(
        "map", language=language_of(question), context=batch.context, question=question
    )


def read_points(reply: str, batch: MapBatch) -> tuple[list[ModelPoint], int]:
    """The usable points of a reply, and how many were not: no JSON at all counts as one."""
    rows = _rows(reply)
    if rows is None:
        return [], 1
    points = [_point(row, batch) for row in rows]
    zero = sum(1 for point in points if point is not None and point.score <= 0)
    usable = [point for point in points if point is not None and point.score > 0]
    return usable, len(points) - len(usable) - zero


def reduce_messages(
    question: str,
    points: Sequence[OverviewPoint],
) -> tuple[ChatMessage, ...]:
    """What the model is shown to write the overview: the points, numbered in their order."""
    lines = (f"[{n}] {' '.join(point.text.split())}" for n, point in enumerate(points, start=1))
    return chat_messages(
        "reduce", language=language_of(question), context="\n".join(lines), question=question
    )


def overview_with_model(
    question: str,
    reports: Sequence[CommunityReport],
    *,
    complete: Complete,
    chunks: Mapping[str, SourceChunk],
    budget_tokens: int,
    count: Callable[[str], int],
    limit: int,
    tokens: Tokens,
    sentence_spans: SentenceSpans,
    embed: Embed | None = None,
) -> Draft:
    """Map over all reports, one call a batch, then one call that writes the answer.

    `limit` is how many points the reduce prompt may hold at most; the best by score are kept.
    Errors of `complete` pass through unchanged.
    """
    language = language_of(question)
    usage = Usage()
    points: list[ModelPoint] = []
    unusable = 0
    for batch in map_batches(reports, budget_tokens=budget_tokens, count=count):
        reply, cost = complete(map_messages(question, batch))
        usage = add_usage(usage, cost)
        found, bad = read_points(reply, batch)
        points.extend(found)
        unusable += bad
    kept = _within(points, limit=limit, budget_tokens=budget_tokens, count=count)
    figures = {"points": float(len(points)), "used": float(len(kept)), "unusable": float(unusable)}
    if not kept:
        detail = "the model found no point that bears on the question"
        return abstain(language, detail=detail, figures=figures, usage=usage)
    reply, cost = complete(reduce_messages(question, kept))
    usage = add_usage(usage, cost)
    if not reply.strip() or is_abstention(reply):
        detail = "the model found no answer in the points"
        return abstain(language, detail=detail, figures=figures, usage=usage)
    text, passages = _as_passages(reply, kept, chunks)
    cited = resolve_marks(text, passages, tokens=tokens, sentence_spans=sentence_spans, embed=embed)
    figures |= {
        "citations": float(len(cited.citations)),
        "unknown_marks": float(cited.unknown),
        "unmarked_statements": float(cited.unmarked),
    }
    return Draft(
        text=cited.text,
        citations=cited.citations,
        detail=f"{len(kept)} of {len(points)} point(s), {len(cited.citations)} citation(s)",
        figures=figures,
        usage=usage,
    )


def add_usage(first: Usage, second: Usage) -> Usage:
    """The sum of two costs."""
    return Usage(
        calls=first.calls + second.calls,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
    )


def _within(
    points: Sequence[ModelPoint], *, limit: int, budget_tokens: int, count: Callable[[str], int]
) -> list[ModelPoint]:
    kept: list[ModelPoint] = []
    left = budget_tokens
    for point in sorted(points, key=lambda point: (-point.score, point.text)):
        size = count(point.text)
        if len(kept) < limit and size <= left:
            kept.append(point)
            left -= size
    return kept


def _rows(reply: str) -> list[object] | None:
    """The list of points in a reply, however it is wrapped; whole objects of a cut-off one."""
    for opening, closing in (("{", "}"), ("[", "]")):
        begin, end = reply.find(opening), reply.rfind(closing)
        if begin < 0 or end <= begin:
            continue
        try:
            data = json.loads(reply[begin : end + 1])
        except json.JSONDecodeError:
            continue
        rows = data.get("points") if isinstance(data, dict) else data
        if isinstance(rows, list):
            return rows
    rows = []
    for match in re.finditer(r"\{[^{}]*\}", reply):
        try:
            rows.append(json.loads(match.group()))
        except json.JSONDecodeError:
            rows.append(None)
    return rows or None


def _point(row: object, batch: MapBatch) -> ModelPoint | None:
    if not isinstance(row, dict):
        return None
    text, score, sources = row.get("text"), row.get("score"), row.get("sources")
    if not isinstance(text, str) or not text.strip():
        return None
    numbers = [int(digits) for digits in re.findall(r"\d+", str(sources))]
    known = [
        batch.findings[number] for number in dict.fromkeys(numbers) if number in batch.findings
    ]
    if not known:
        return None
    evidences = tuple(dict.fromkeys(e for _, finding in known for e in finding.evidences))
    return ModelPoint(
        text=re.sub(r"\s*\[\d+(?:\s*,\s*\d+)*\]", "", " ".join(text.split())),
        score=_clamped(score),
        evidences=evidences,
        community_id=known[0][0],
    )


def _clamped(score: object) -> float:
    try:
        value = float(str(score).strip().rstrip("%"))
    except ValueError:
        return 0.0
    return 0.0 if math.isnan(value) else min(100.0, max(0.0, value))


def _as_passages(
    reply: str, points: Sequence[ModelPoint], chunks: Mapping[str, SourceChunk]
) -> tuple[str, list[Passage]]:
    """The reply with marks that name evidences in place of points, and those evidences."""
    passages: list[Passage] = []
    numbers: dict[int, list[int]] = {}
    for number, point in enumerate(points, start=1):
        numbers[number] = []
        for evidence in point.evidences:
            chunk = chunks.get(evidence.chunk_id)
            if chunk is None or len(numbers[number]) == CITATIONS_PER_POINT:
                continue
            passages.append(_passage(chunk, evidence))
            numbers[number].append(len(passages))
    return expand_marks(reply, numbers), passages


def _passage(chunk: SourceChunk, evidence: EvidencePlace) -> Passage:
    return Passage(
        text=chunk.text[evidence.start : evidence.end],
        score=1.0,
        relevance=1.0,
        document_id=chunk.document_id,
        chunk_id=evidence.chunk_id,
        title=chunk.title,
        start=chunk.start + evidence.start,
        end=chunk.start + evidence.end,
        page=chunk.page,
    )
