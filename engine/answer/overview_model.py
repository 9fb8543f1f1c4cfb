"""An overview with a language model: reports to scored points, points to a cited text.

The map prompt shows numbered findings and asks for points that name the numbers they rest on; so
every point keeps its evidences, and the reduce prompt's marks lead back to spans. All calls of the
map round go out at once. What is shown as a report may be any sheet of sentences with their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..types import Passage, Usage
from .asking import AskMany, Round, ask_round
from .cite import Embed, expand_marks, resolve_marks
from .draft import Draft, abstain
from .language import language_of
from .overview import CITATIONS_PER_POINT, EvidencePlace, OverviewPoint, SourceChunk
from .overview_replies import EXPLORE_SCHEMA, POINTS_SCHEMA, read_rows, score_of
from .prompts import stage_prompt
from .sentences import SentenceSpans, Tokens
from .synthesise import is_abstention

if TYPE_CHECKING:
    from ..index.door import Prompt

MAP_OUTPUT_TOKENS = 1_000
REDUCE_OUTPUT_TOKENS = 1_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """The points of a map round; `unusable` counts what could not be read of the replies.

    `replies` holds the texts, None for a call that failed; `failed` counts those calls and
    `failures` says why.
    """

    points: tuple[ModelPoint, ...] = ()
    unusable: int = 0
    replies: tuple[str | None, ...] = ()
    failed: int = 0
    failures: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def detail(self) -> str:
        """What the round brought, in a line."""
        line = f"{len(self.points)} point(s) from {len(self.replies)} call(s)"
        failed = f"{self.failed} failed: {'; '.join(self.failures)}" if self.failed else ""
        return "; ".join(filter(None, (line, failed)))

    @property
    def figures(self) -> dict[str, float]:
        """What the round brought, in numbers."""
        return {
            "points": float(len(self.points)),
            "calls": float(len(self.replies)),
            "failed": float(self.failed),
            "unusable": float(self.unusable),
            "prompt_tokens": float(self.usage.prompt_tokens),
        }


def map_batches(
    reports: Sequence[CommunityReport], *, budget_tokens: int, count: Callable[[str], int]
) -> list[MapBatch]:
    """The reports in order, in as few batches as the budget of one call allows.

    Numbers run through all batches. A report above the budget is divided between its findings; a
    single finding above it makes a batch of its own.
    """
    batches: list[MapBatch] = []
    blocks: list[str] = []
    findings: dict[int, tuple[str, ReportFinding]] = {}
    size = number = 0
    for report in reports:
        for part in _parts(report, number, budget_tokens=budget_tokens, count=count):
            new = count(part.context + "\n\n")
            if blocks and size + new > budget_tokens:
                batches.append(MapBatch(context="\n\n".join(blocks), findings=findings))
                blocks, findings, size = [], {}, 0
            blocks.append(part.context)
            findings = findings | dict(part.findings)
            size += new
        number += len(report.findings)
    if findings:
        batches.append(MapBatch(context="\n\n".join(blocks), findings=findings))
    return batches


def _parts(
    report: CommunityReport, number: int, *, budget_tokens: int, count: Callable[[str], int]
) -> list[MapBatch]:
    """A report as one block or, where it is too long, several; its findings count on `number`."""
    heading = f"# {' '.join(report.title.split())}"
    parts: list[MapBatch] = []
    lines: list[str] = []
    findings: dict[int, tuple[str, ReportFinding]] = {}
    size = count(heading)
    for place, finding in enumerate(report.findings, start=number + 1):
        line = f"[{place}] {' '.join(finding.text.split())}"
        new = count(line + "\n")
        if findings and size + new > budget_tokens:
            parts.append(MapBatch(context="\n".join((heading, *lines)), findings=findings))
            lines, findings, size = [], {}, count(heading)
        lines.append(line)
        findings[place] = (report.community_id, finding)
        size += new
    if findings:
        parts.append(MapBatch(context="\n".join((heading, *lines)), findings=findings))
    return parts


def map_reports(
    question: str | Sequence[str],
    batches: Sequence[MapBatch],
    *,
    ask_many: AskMany,
    questions: int = 0,
) -> Mapped:
    """One call a batch, all at once; with `questions`, so many further ones are asked for too.

    `question` is the same for all batches, or there is one for each.

    Raises:
        ModelError: every call failed.
    """
    asked = [question] * len(batches) if isinstance(question, str) else question
    prompts = [
        map_prompt(one, batch, questions=questions)
        for one, batch in zip(asked, batches, strict=True)
    ]
    return read_round(ask_round(ask_many, "map", prompts), batches)


def read_round(answered: Round, batches: Sequence[MapBatch]) -> Mapped:
    """The points of all replies, in the order of the batches."""
    points: list[ModelPoint] = []
    unusable = 0
    for text, batch in zip(answered.texts, batches, strict=True):
        if text is not None:
            found, bad = read_points(text, batch)
            points += found
            unusable += bad
    return Mapped(
        points=tuple(points),
        unusable=unusable,
        replies=answered.texts,
        failed=answered.failed,
        failures=answered.failures,
        usage=answered.usage,
    )


def map_prompt(question: str, batch: MapBatch, *, questions: int = 0) -> Prompt:
    """What the model is shown of one batch."""
    return stage_prompt(
        "explore" if questions else "map",
        language=language_of(question),
        context=batch.context,
        question=question,
        max_output_tokens=MAP_OUTPUT_TOKENS,
        schema=EXPLORE_SCHEMA if questions else POINTS_SCHEMA,
        questions=str(questions),
    )


def read_points(reply: str, batch: MapBatch) -> tuple[list[ModelPoint], int]:
    """The usable points of a reply, and how many were not: no JSON at all counts as one."""
    rows = read_rows(reply, "points")
    if rows is None:
        return [], 1
    points = [_point(row, batch) for row in rows]
    zero = sum(1 for point in points if point is not None and point.score <= 0)
    usable = [point for point in points if point is not None and point.score > 0]
    return usable, len(points) - len(usable) - zero


def reduce_prompt(question: str, points: Sequence[OverviewPoint]) -> Prompt:
    """What the model is shown to write the overview: the points, numbered in their order."""
    lines = (f"[{n}] {' '.join(point.text.split())}" for n, point in enumerate(points, start=1))
    return stage_prompt(
        "reduce",
        language=language_of(question),
        context="\n".join(lines),
        question=question,
        max_output_tokens=REDUCE_OUTPUT_TOKENS,
    )


def reduce_with_model(
    question: str,
    points: Sequence[OverviewPoint],
    *,
    ask_many: AskMany,
    chunks: Mapping[str, SourceChunk],
    budget_tokens: int,
    count: Callable[[str], int],
    limit: int,
    tokens: Tokens,
    sentence_spans: SentenceSpans,
    embed: Embed | None = None,
) -> Draft:
    """One call that writes the answer from the best points; without points nobody is asked.

    `limit` is how many points the prompt may hold at most, `budget_tokens` how long they may be;
    the best by score are kept, and of points in the same words one.

    Raises:
        ModelError: the call failed.
    """
    language = language_of(question)
    kept = best_points(points, limit=limit, budget_tokens=budget_tokens, count=count)
    figures = {"points": float(len(points)), "used": float(len(kept))}
    if not kept:
        detail = "the model found no point that bears on the question"
        return abstain(language, detail=detail, figures=figures)
    answered = ask_round(ask_many, "answers", [reduce_prompt(question, kept)])
    reply = answered.texts[0] or ""
    figures["prompt_tokens"] = float(answered.usage.prompt_tokens)
    if not reply.strip() or is_abstention(reply):
        detail = "the model found no answer in the points"
        return abstain(language, detail=detail, figures=figures, usage=answered.usage)
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
        usage=answered.usage,
    )


def best_points(
    points: Sequence[OverviewPoint], *, limit: int, budget_tokens: int, count: Callable[[str], int]
) -> list[OverviewPoint]:
    """The best by score that fit, none in the same words as a better one."""
    kept: list[OverviewPoint] = []
    seen: set[str] = set()
    left = budget_tokens
    for point in sorted(points, key=lambda point: (-point.score, point.text, point.community_id)):
        size = count(f"[{len(kept) + 1}] {point.text}\n")
        if len(kept) < limit and size <= left and point.text.casefold() not in seen:
            kept.append(point)
            seen.add(point.text.casefold())
            left -= size
    return kept


def _point(row: object, batch: MapBatch) -> ModelPoint | None:
    if not isinstance(row, dict):
        return None
    text, score, sources = row.get("text"), row.get("score"), row.get("sources")
    if not isinstance(text, str) or not text.strip():
        return None
    numbers = [int(digits) for digits in re.findall(r"\d{1,9}", str(sources))]
    known = [
        batch.findings[number] for number in dict.fromkeys(numbers) if number in batch.findings
    ]
    if not known:
        return None
    evidences = tuple(dict.fromkeys(e for _, finding in known for e in finding.evidences))
    return ModelPoint(
        text=re.sub(r"\s*\[\d+(?:\s*,\s*\d+)*\]", "", " ".join(text.split())),
        score=score_of(score),
        evidences=evidences,
        community_id=known[0][0],
    )


def _as_passages(
    reply: str, points: Sequence[OverviewPoint], chunks: Mapping[str, SourceChunk]
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
