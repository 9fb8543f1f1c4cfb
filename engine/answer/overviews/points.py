"""Points common to all selections, and points from local search.

Without a language model a question with a subject is first answered by sentences found for it:
reports are written without a question in sight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...index.door import (
    Chunk,
    Evidence,
    Point,
    Report,
    capitalised_names,
    community_of_chunks,
    sentence_spans,
)
from ...retrieve.tokens import tokens
from ...types import Passage, Usage
from ..extracts.extractive import extractive_answer
from .scene import GlobalContext

PASSAGES_OF_ONE_DOCUMENT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePoints:
    """Points that bear on a question, and the chunks that they rest on.

    `given` points are told first, in their order. `usage` is what gathering cost.
    """

    points: Sequence[Point] = ()
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    given: Sequence[Point] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPoints:
    """Sentences found for a question as points, best first, and their chunks."""

    points: Sequence[Point] = ()
    chunks: Mapping[str, Chunk] = field(default_factory=dict)


def points_from_local_search(
    scene: GlobalContext, reports: Sequence[Report], chunks: Mapping[str, Chunk], *, limit: int
) -> LocalPoints:
    """Return sentences that answer a question with a subject, from several documents.

    A generic question ("the main themes") has nothing to be found by. `reports` and their `chunks`
    say which community each sentence belongs to.
    """
    passages = scene.parts.settings.global_passages
    if not passages or scene.generic:
        return LocalPoints()
    return found_sentences(
        scene,
        scene.question,
        owner=lambda known: community_of_chunks(reports, {**chunks, **known}),
        passages=passages,
        limit=limit,
    )


def found_sentences(
    scene: GlobalContext,
    query: str,
    *,
    owner: Callable[[Mapping[str, Chunk]], Callable[[str], str]],
    passages: int,
    limit: int,
) -> LocalPoints:
    """Search locally; return at most `limit` sentences from as many passages.

    `owner` makes a function from chunk ids to communities out of the chunks that were found.
    """
    found = scene.parts.retriever.search(query, top_k=4 * passages, within=scene.within)
    best = _spread(found.passages)[:passages]
    draft = extractive_answer(
        query,
        best,
        tokens=tokens,
        weight=scene.parts.idf(scene.within),
        sentence_spans=sentence_spans,
        names=capitalised_names,
        max_sentences=limit,
        sure=2.0,  # all that there is room for: no one sentence answers
        min_evidence=scene.parts.settings.min_evidence / 2,  # a beginning, not yet an answer
    )
    chunks = scene.chunks(passage.chunk_id for passage in best)
    owner_of = owner(chunks)
    points = [
        Point(
            text=" ".join(citation.quote.split()),
            score=100.0,
            evidences=(
                Evidence(
                    chunk_id=citation.chunk_id,
                    start=citation.start - chunks[citation.chunk_id].start,
                    end=citation.end - chunks[citation.chunk_id].start,
                ),
            ),
            community_id=owner_of(citation.chunk_id),
        )
        for citation in draft.citations
        if _inside(citation.start, citation.end, chunks.get(citation.chunk_id))
    ]
    return LocalPoints(points=points, chunks=chunks)


def _inside(start: int, end: int, chunk: Chunk | None) -> bool:
    """Check whether a document span lies in the chunk."""
    return chunk is not None and chunk.start <= start and end <= chunk.start + len(chunk.text)


def _spread(passages: Sequence[Passage]) -> list[Passage]:
    """Keep at most three passages of each document, in order."""
    taken: Counter[str] = Counter()
    kept = []
    for passage in passages:
        taken[passage.document_id] += 1
        if taken[passage.document_id] <= PASSAGES_OF_ONE_DOCUMENT:
            kept.append(passage)
    return kept


def best_of(points: Sequence[Point], *, count: int = 3) -> str:
    """Return the best points with scores, for the trace."""
    best = sorted(points, key=lambda point: (-point.score, point.text))[:count]
    return "; ".join(f"{' '.join(point.text.split())[:90]} {point.score:.3g}" for point in best)


def document_of(chunks: Mapping[str, Chunk]) -> dict[str, str]:
    """Chunk id → document id."""
    return {key: chunk.document_id for key, chunk in chunks.items()}
