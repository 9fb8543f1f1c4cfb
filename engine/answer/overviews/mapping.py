"""Reports to scored points with a language model: the map half of an overview.

The prompt shows numbered findings and asks for points that name the numbers they rest on; so every
point keeps its evidences. All calls of a round go out at once. What is shown as a report may be any
sheet of sentences with their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import ModelInputTooLong
from ...index.door import Finding, Point, Prompt, Report
from ...types import Usage
from ..language import language_of
from ..prompts import stage_prompt
from .asking import BatchLLM, BatchResult, call_batch
from .replies import EXPLORE_SCHEMA, POINTS_SCHEMA, read_rows, score_of

MAP_OUTPUT_TOKENS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBatch:
    """Batch of reports for one map call: context, and the finding behind each number."""

    context: str
    findings: Mapping[int, tuple[str, Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """Result of the map round; `unusable` counts unreadable items.

    `replies` holds the texts, None for a call that failed; `failed` counts those calls and
    `failures` says why.
    """

    points: tuple[Point, ...] = ()
    unusable: int = 0
    replies: tuple[str | None, ...] = ()
    failed: int = 0
    failures: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def detail(self) -> str:
        """Summary of the round."""
        line = f"{len(self.points)} point(s) from {len(self.replies)} call(s)"
        failed = f"{self.failed} failed: {'; '.join(self.failures)}" if self.failed else ""
        return "; ".join(filter(None, (line, failed)))

    @property
    def figures(self) -> dict[str, float]:
        """Figures of the round."""
        return {
            "points": float(len(self.points)),
            "calls": float(len(self.replies)),
            "failed": float(self.failed),
            "unusable": float(self.unusable),
            "prompt_tokens": float(self.usage.prompt_tokens),
        }


def map_batches(
    reports: Sequence[Report], *, budget_tokens: int, count: Callable[[str], int]
) -> list[MapBatch]:
    """Pack reports in order into as few batches as the call budget allows.

    Numbers run through all batches. A report above the budget is divided between its findings; a
    single finding above it makes a batch of its own.
    """
    batches: list[MapBatch] = []
    blocks: list[str] = []
    findings: dict[int, tuple[str, Finding]] = {}
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
    report: Report, number: int, *, budget_tokens: int, count: Callable[[str], int]
) -> list[MapBatch]:
    """Split a report into blocks that fit; findings are numbered from `number`."""
    heading = f"# {' '.join(report.title.split())}"
    parts: list[MapBatch] = []
    lines: list[str] = []
    findings: dict[int, tuple[str, Finding]] = {}
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
    ask_many: BatchLLM,
    questions: int = 0,
) -> Mapped:
    """Map every batch in parallel; with `questions`, also request follow-up questions.

    `question` is the same for all batches, or there is one for each. What does not fit into the
    model's window is asked again in halves, once.

    Raises:
        ModelError: every call failed.
    """
    asked = [question] * len(batches) if isinstance(question, str) else list(question)
    prompts = [
        map_prompt(one, batch, questions=questions)
        for one, batch in zip(asked, batches, strict=True)
    ]
    answered = call_batch(ask_many, "map", prompts, divisible=True)
    whole = _read(answered, batches)
    halves = [(asked[n], half) for n in answered.too_long for half in _halves(batches[n])]
    if not halves:
        if len(answered.too_long) == len(batches) > 0:
            raise ModelInputTooLong(answered.failures[0])
        return whole
    smaller = [map_prompt(one, half, questions=questions) for one, half in halves]
    again = call_batch(ask_many, "map", smaller)
    if again.texts and not any(text is not None for text in (*again.texts, *answered.texts)):
        raise ModelInputTooLong(again.failures[0])
    return _together(whole, _read(again, [half for _, half in halves]))


def _halves(batch: MapBatch) -> list[MapBatch]:
    """Split a batch into halves; empty if indivisible."""
    numbers = sorted(batch.findings)
    middle = len(numbers) // 2
    if not middle:
        return []
    halves = []
    for part in (numbers[:middle], numbers[middle:]):
        lines = (f"[{n}] {' '.join(batch.findings[n][1].text.split())}" for n in part)
        findings = {number: batch.findings[number] for number in part}
        halves.append(MapBatch(context="\n".join(lines), findings=findings))
    return halves


def _read(answered: BatchResult, batches: Sequence[MapBatch]) -> Mapped:
    """Collect the points of all replies, in batch order."""
    points: list[Point] = []
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


def _together(first: Mapped, second: Mapped) -> Mapped:
    return Mapped(
        points=first.points + second.points,
        unusable=first.unusable + second.unusable,
        replies=first.replies + second.replies,
        failed=first.failed + second.failed,
        failures=tuple(dict.fromkeys(first.failures + second.failures)),
        usage=first.usage + second.usage,
    )


def map_prompt(question: str, batch: MapBatch, *, questions: int = 0) -> Prompt:
    """Build the map prompt of a batch."""
    return stage_prompt(
        "explore" if questions else "map",
        language=language_of(question),
        context=batch.context,
        question=question,
        max_output_tokens=MAP_OUTPUT_TOKENS,
        schema=EXPLORE_SCHEMA if questions else POINTS_SCHEMA,
        questions=str(questions),
    )


def read_points(reply: str, batch: MapBatch) -> tuple[list[Point], int]:
    """Parse the usable points of a reply and count the rest; invalid JSON counts as one."""
    rows = read_rows(reply, "points")
    if rows is None:
        return [], 1
    points = [_point(row, batch) for row in rows]
    zero = sum(1 for point in points if point is not None and point.score <= 0)
    usable = [point for point in points if point is not None and point.score > 0]
    return usable, len(points) - len(usable) - zero


def _point(row: object, batch: MapBatch) -> Point | None:
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
    return Point(
        text=re.sub(r"\s*\[\d+(?:\s*,\s*\d+)*\]", "", " ".join(text.split())),
        score=score_of(score),
        evidences=evidences,
        community_id=known[0][0],
    )
