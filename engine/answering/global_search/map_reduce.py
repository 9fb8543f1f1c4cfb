"""Map-reduce with a language model: reports to scored points, points to a cited text.

The map prompt shows numbered findings and asks for points that name the numbers they rest on, so
every point keeps its evidences; all calls of a round go out at once. The reduce prompt shows
numbered points, and the marks of its reply lead back to spans. Replies are JSON, wrapped in prose,
cut off or half wrong: what cannot be used is dropped and counted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ...embeddings.tokenizer import TokenCount
from ...errors import ModelInputTooLong
from ...events import Listener, PassagesEvent, null_listener
from ...prompts import language_of, stage_prompt
from ...storage.graph_api import Finding, Point, Prompt, Report
from ...types import Passage, Usage
from ...verification.claims import without_markers
from ..packing import Draft, abstain, expand_marks
from ..synthesis import TokenStreamer, is_abstention
from .context import BatchLLM, BatchResult, SourceSheet, call_batch

_POINTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "score": {"type": "integer"},
            "sources": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["text", "score", "sources"],
        "additionalProperties": False,
    },
}
_RATINGS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"report": {"type": "integer"}, "rating": {"type": "integer"}},
        "required": ["report", "rating"],
        "additionalProperties": False,
    },
}


class SourceChunk(Protocol):
    """A chunk as far as a citation needs it; `start` is its offset in the document."""

    @property
    def document_id(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def page(self) -> int | None: ...  # noqa: D102


def _object(**properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


POINTS_SCHEMA = _object(points=_POINTS)
RATINGS_SCHEMA = _object(ratings=_RATINGS)
EXPLORE_SCHEMA = _object(points=_POINTS, questions={"type": "array", "items": {"type": "string"}})

MAX_QUESTION_CHARACTERS = 300


def read_rows(reply: str, key: str) -> list[object] | None:
    """Return the list under `key`, however wrapped; complete objects of a truncated one."""
    for opening, closing in (("{", "}"), ("[", "]")):
        begin, end = reply.find(opening), reply.rfind(closing)
        if begin < 0 or end <= begin:
            continue
        try:
            data = json.loads(reply[begin : end + 1])
        except (json.JSONDecodeError, RecursionError):
            continue
        rows = data.get(key) if isinstance(data, dict) else data
        if isinstance(rows, list):
            return rows
    rows = []
    for match in re.finditer(r"\{[^{}]*\}", reply):
        try:
            rows.append(json.loads(match.group()))
        except json.JSONDecodeError:
            rows.append(None)
    return rows or None


def read_ratings(reply: str, *, count: int) -> dict[int, float] | None:
    """Map report numbers (1 to `count`) to ratings, 0–1; None if unreadable.

    An empty list is a rating: nothing helps.
    """
    rows = read_rows(reply, "ratings")
    if rows is None:
        return None
    found: dict[int, float] = {}
    for row in rows:
        if not isinstance(row, dict):
            continue
        number = re.search(r"\d+", str(row.get("report")))
        if number is not None and 1 <= int(number.group()) <= count:
            found[int(number.group())] = score_of(row.get("rating")) / 100
    return found if found or not rows else None


def read_questions(reply: str, *, limit: int, known: Collection[str] = ()) -> list[str]:
    """Return distinct follow-up questions, at most `limit`, bounded in length."""
    match = re.search(r'"questions"\s*:\s*(\[.*?\])', reply, re.DOTALL)
    if match is None:
        return []
    try:
        rows = json.loads(match.group(1))
    except json.JSONDecodeError:
        return []
    seen = {question.casefold() for question in known}
    found: list[str] = []
    for row in rows:
        text = " ".join(row.split()) if isinstance(row, str) else ""
        if re.search(r"\w", text) and len(text) <= MAX_QUESTION_CHARACTERS:
            if text.casefold() not in seen and len(found) < limit:
                found.append(text)
            seen.add(text.casefold())
    return found


def score_of(value: object) -> float:
    """Parse a score (number, text or percentage), 0–100; 0 if invalid."""
    try:
        score = float(str(value).strip().rstrip("%"))
    except ValueError:
        return 0.0
    return 0.0 if math.isnan(score) else min(100.0, max(0.0, score))


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
    reports: Sequence[Report], *, budget_tokens: int, count: TokenCount
) -> list[MapBatch]:
    """Pack reports in order into as few batches as the call budget allows.

    Numbers run through all batches. A model's summary stands above its findings where it fits. A
    report above the budget is divided between its findings; a single finding above it makes a batch
    of its own.
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


def _parts(report: Report, number: int, *, budget_tokens: int, count: TokenCount) -> list[MapBatch]:
    """Split a report into blocks that fit; findings are numbered from `number`."""
    heading = f"# {' '.join(report.title.split())}"
    parts: list[MapBatch] = []
    lines: list[str] = []
    findings: dict[int, tuple[str, Finding]] = {}
    size = count(heading)
    summary = " ".join(report.summary.split()) if report.written_by else ""
    if summary and size + count(summary + "\n") <= budget_tokens // 2:
        lines.append(summary)
        size += count(summary + "\n")
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
    """Build the map prompt of a batch of community reports."""
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


REDUCE_OUTPUT_TOKENS = 1_000

EVIDENCES_PER_POINT = 8
"""Evidences of a point that its claims are checked against; the check shows a few of them."""

Check = Callable[[str, Sequence[Passage], Usage], Draft]
"""Builder of a draft from a reply, the passages its marks name, and its usage."""


def sheet_of_batch(batch: MapBatch) -> SourceSheet:
    """Return a batch's lines as they are, each with its finding's evidences."""
    return SourceSheet(
        context=batch.context,
        evidences={n: finding.evidences for n, (_, finding) in batch.findings.items()},
    )


def sheet_of_points(points: Sequence[Point]) -> SourceSheet:
    """Return points as numbered lines, in order."""
    numbered = list(enumerate(points, start=1))
    return SourceSheet(
        context="\n".join(f"[{n}] {' '.join(point.text.split())}" for n, point in numbered),
        evidences={n: point.evidences for n, point in numbered},
    )


def reduce_prompt(question: str, sheet: SourceSheet, *, earlier: str = "") -> Prompt:
    """Build the prompt that the answer is written from."""
    return stage_prompt(
        "reduce",
        language=language_of(question),
        context=sheet.context,
        question=question,
        earlier=earlier,
        max_output_tokens=REDUCE_OUTPUT_TOKENS,
    )


def reduce_with_model(
    question: str,
    sheet: SourceSheet,
    *,
    ask_many: BatchLLM,
    chunks: Mapping[str, SourceChunk],
    check: Check,
    earlier: str = "",
    on_event: Listener = null_listener,
) -> Draft:
    """Write the answer from numbered lines in one call; no call without any.

    `check` makes the reply a draft, its claims held to the passages that the lines rest on.
    `earlier` is what was said before, which the model is shown but cannot cite. `on_event` hears
    these passages and the text as it is written. The figure `unmarked` says that the reply names
    no line.

    Raises:
        ModelError: the call failed.
    """
    figures = {"lines": float(len(sheet.evidences))}
    numbers, passages = _evidences(sheet, chunks)
    on_event(PassagesEvent(passages=tuple(passages)))
    spoken = TokenStreamer(on_event, passages, numbers=numbers)
    if not sheet.evidences:
        detail = "the model found no point relevant to the question"
        draft = abstain(language_of(question), detail=detail, figures=figures)
    else:
        prompt = reduce_prompt(question, sheet, earlier=earlier)
        answered = call_batch(ask_many, "answers", [prompt], on_event=spoken.piece)
        figures["prompt_tokens"] = float(answered.usage.prompt_tokens)
        reply = answered.texts[0] or ""
        if reply.strip() and not is_abstention(reply):
            figures["unmarked"] = float(without_markers(reply).strip() == reply.strip())
            draft = check(expand_marks(reply, numbers), passages, answered.usage)
            if _unsupported(draft):  # a name often stands in the sentence before
                numbers, passages = _evidences(sheet, chunks, whole=True)
                wide = check(expand_marks(reply, numbers), passages, answered.usage)
                draft = wide if _unsupported(wide) < _unsupported(draft) else draft
            draft = _cited(draft, figures)
        else:
            detail = "the model found no answer in the sources"
            draft = abstain(
                language_of(question), detail=detail, figures=figures, usage=answered.usage
            )
    spoken.end(draft)
    return draft


def _unsupported(draft: Draft) -> int:
    return sum(not claim.supported for claim in draft.claims)


def _cited(draft: Draft, figures: Mapping[str, float]) -> Draft:
    lines = int(figures["lines"])
    return replace(
        draft,
        detail=f"{lines} line(s), {len(draft.citations)} citation(s); {draft.detail}",
        figures={**figures, **draft.figures, "citations": float(len(draft.citations))},
    )


def best_points(
    points: Sequence[Point], *, limit: int, budget_tokens: int, count: TokenCount
) -> list[Point]:
    """Return the best points within the budget, without repeated wording."""
    kept: list[Point] = []
    seen: set[str] = set()
    left = budget_tokens
    for point in sorted(points, key=lambda point: (-point.score, point.text, point.community_id)):
        size = count(f"[{len(kept) + 1}] {point.text}\n")
        if len(kept) < limit and size <= left and point.text.casefold() not in seen:
            kept.append(point)
            seen.add(point.text.casefold())
            left -= size
    return kept


def _evidences(
    sheet: SourceSheet, chunks: Mapping[str, SourceChunk], *, whole: bool = False
) -> tuple[dict[int, list[int]], list[Passage]]:
    """Each line's number to those of its evidences or their chunks, and these as passages."""
    passages: list[Passage] = []
    places: dict[tuple[str, int, int], int] = {}
    numbers: dict[int, list[int]] = {}
    for number, evidences in sheet.evidences.items():
        known = [(each, chunks[each.chunk_id]) for each in evidences if each.chunk_id in chunks]
        spans = [
            (each.chunk_id, 0, len(chunk.text)) if whole else (each.chunk_id, each.start, each.end)
            for each, chunk in known
        ]
        spans = list(dict.fromkeys(spans))[:EVIDENCES_PER_POINT]
        for span in spans:
            if span not in places:
                passages.append(_passage(chunks[span[0]], *span))
                places[span] = len(passages)
        numbers[number] = [places[span] for span in spans]
    return numbers, passages


def _passage(chunk: SourceChunk, chunk_id: str, start: int, end: int) -> Passage:
    return Passage(
        text=chunk.text[start:end],
        score=1.0,
        relevance=1.0,
        document_id=chunk.document_id,
        chunk_id=chunk_id,
        title=chunk.title,
        start=chunk.start + start,
        end=chunk.start + end,
        page=chunk.page,
    )
