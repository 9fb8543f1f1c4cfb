"""Points to a cited text with a language model: the reduce half of an overview.

The prompt shows numbered points; the marks of the reply lead through them back to spans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...events import Listener, PassagesEvent, null_listener
from ...types import Passage, Usage
from ..checks.marks import expand_marks
from ..draft import Draft, abstain
from ..language import language_of
from ..prompts import stage_prompt
from ..spoken import TokenStreamer
from ..synthesise import is_abstention
from .asking import BatchLLM, call_batch
from .told import CITATIONS_PER_POINT, EvidenceLocation, OverviewPoint, SourceChunk

if TYPE_CHECKING:
    from ...index.door import Prompt

REDUCE_OUTPUT_TOKENS = 1_000

Check = Callable[[str, Sequence[Passage], Usage], Draft]
"""Builder of a draft from a reply, the passages its marks name, and its usage."""


def reduce_prompt(question: str, points: Sequence[OverviewPoint], *, earlier: str = "") -> Prompt:
    """Build the reduce prompt: the points, numbered in order."""
    lines = (f"[{n}] {' '.join(point.text.split())}" for n, point in enumerate(points, start=1))
    return stage_prompt(
        "reduce",
        language=language_of(question),
        context="\n".join(lines),
        question=question,
        earlier=earlier,
        max_output_tokens=REDUCE_OUTPUT_TOKENS,
    )


def reduce_with_model(
    question: str,
    points: Sequence[OverviewPoint],
    *,
    ask_many: BatchLLM,
    chunks: Mapping[str, SourceChunk],
    budget_tokens: int,
    count: Callable[[str], int],
    limit: int,
    check: Check,
    earlier: str = "",
    on_event: Listener = null_listener,
) -> Draft:
    """Write the answer from the best points in one call; no call without points.

    `limit` is how many points the prompt may hold at most, `budget_tokens` how long they may be;
    the best by score are kept, and of points in the same words one. `check` makes the reply a
    draft, its claims held to the passages that the points rest on. `earlier` is what was said
    before, which the model is shown but cannot cite. `on_event` hears these passages and the text as it
    is written.

    Raises:
        ModelError: the call failed.
    """
    kept = best_points(points, limit=limit, budget_tokens=budget_tokens, count=count)
    figures = {"points": float(len(points)), "used": float(len(kept))}
    numbers, passages = _evidences(kept, chunks)
    on_event(PassagesEvent(passages=tuple(passages)))
    spoken = TokenStreamer(on_event, passages, numbers=numbers)
    if not kept:
        detail = "the model found no point that bears on the question"
        draft = abstain(language_of(question), detail=detail, figures=figures)
    else:
        prompt = reduce_prompt(question, kept, earlier=earlier)
        answered = call_batch(ask_many, "answers", [prompt], on_event=spoken.piece)
        figures["prompt_tokens"] = float(answered.usage.prompt_tokens)
        reply = answered.texts[0] or ""
        if reply.strip() and not is_abstention(reply):
            reply = expand_marks(reply, numbers)
            draft = _cited(check(reply, passages, answered.usage), figures)
        else:
            detail = "the model found no answer in the points"
            draft = abstain(
                language_of(question), detail=detail, figures=figures, usage=answered.usage
            )
    spoken.end(draft)
    return draft


def _cited(draft: Draft, figures: Mapping[str, float]) -> Draft:
    points, used = int(figures["points"]), int(figures["used"])
    return replace(
        draft,
        detail=f"{used} of {points} point(s), {len(draft.citations)} citation(s); {draft.detail}",
        figures={**figures, **draft.figures, "citations": float(len(draft.citations))},
    )


def best_points(
    points: Sequence[OverviewPoint], *, limit: int, budget_tokens: int, count: Callable[[str], int]
) -> list[OverviewPoint]:
    """Return the best points within the budget, without repeated wording."""
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


def _evidences(
    points: Sequence[OverviewPoint], chunks: Mapping[str, SourceChunk]
) -> tuple[dict[int, list[int]], list[Passage]]:
    """Each point's number to those of its evidences, and these as passages."""
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
    return numbers, passages


def _passage(chunk: SourceChunk, evidence: EvidenceLocation) -> Passage:
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
