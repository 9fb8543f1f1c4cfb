"""Points to a cited text with a language model: the reduce half of an overview.

The prompt shows numbered points; the marks of the reply lead through them back to spans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..types import Passage
from .asking import AskMany, ask_round
from .cite import Embed, expand_marks, resolve_marks
from .draft import Draft, abstain
from .language import language_of
from .overview import CITATIONS_PER_POINT, EvidencePlace, OverviewPoint, SourceChunk
from .prompts import stage_prompt
from .sentences import SentenceSpans, Tokens
from .synthesise import is_abstention

if TYPE_CHECKING:
    from ..index.door import Prompt

REDUCE_OUTPUT_TOKENS = 1_000


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
