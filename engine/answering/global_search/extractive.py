"""Global answers without a language model: points from local search, rendered by theme.

A question with a subject is first answered by sentences found for it, since reports are written
without a question in sight. The overview is a lead line, then points by theme; citations lead
through spans of chunks to the documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graph.text.cjk import in_script_of

from ...prompts import Language, language_of
from ...retrieval.passages import strip_markdown
from ...storage.graph_api import (
    Chunk,
    Evidence,
    Point,
    Report,
    community_of_chunks,
)
from ...types import Citation, Passage, Usage
from ..extractive.answer import extractive_answer
from ..packing import Draft, abstain
from .context import GlobalContext

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
    passages = scene.settings.global_passages
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
    found = scene.retriever.search(query, top_k=4 * passages, within=scene.within)
    best = _spread(found.passages)[:passages]
    draft = extractive_answer(
        query,
        best,
        weight=scene.weight,
        max_sentences=limit,
        sure=2.0,  # all that there is room for: no one sentence answers
        min_evidence=scene.settings.min_evidence / 2,  # a beginning, not yet an answer
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


def chunk_documents(chunks: Mapping[str, Chunk]) -> dict[str, str]:
    """Return the document id of each chunk id that community evidence names."""
    return {key: chunk.document_id for key, chunk in chunks.items()}


CITATIONS_PER_POINT = 2
MOST_FURTHER = 5
"""Maximum points without a theme, listed after the themes."""

LineOf = Callable[[str], Sequence[str]]
"""A community's id to itself and those that it is a part of, the nearest first."""


def _alone(community_id: str) -> Sequence[str]:
    return (community_id,)


class EvidenceLocation(Protocol):
    """A span of a chunk's text."""

    @property
    def chunk_id(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102


class OverviewPoint(Protocol):
    """A statement, how much it bears on the question (0–100), and where it was read."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def score(self) -> float: ...  # noqa: D102
    @property
    def evidences(self) -> Sequence[EvidenceLocation]: ...  # noqa: D102
    @property
    def community_id(self) -> str: ...  # noqa: D102


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


def render_overview(
    question: str,
    points: Sequence[OverviewPoint],
    *,
    titles: Mapping[str, str],
    chunks: Mapping[str, SourceChunk],
    line_of: LineOf = _alone,
) -> Draft:
    """Render the points in the question's language, or abstain without any.

    `titles` maps community ids to what they are called, `chunks` chunk ids to chunks; `line_of`
    gives a community and those that it is a part of, the nearest first. Themes come in the order of
    their first point, so `points` best first put the best theme first; behind them stand the best
    of those that belong to none. A point whose evidence is gone from `chunks` is not told: a claim
    without a source is none.
    """
    language = language_of(question)
    cited = _Citations(chunks)
    told = [p for p in points if any(place.chunk_id in chunks for place in p.evidences)]
    themes, single = _by_theme(told, titles, line_of)
    shown = single[:MOST_FURTHER] if themes else single
    written = [
        (title, [line for point in some if (line := cited.line(point))]) for title, some in themes
    ]
    further = [line for point in shown if (line := cited.line(point))]
    if not any(lines for _, lines in written) and not further:
        return abstain(language, detail="no point is relevant to the question")
    citations = tuple(cited.found.values())
    documents = len({citation.document_id for citation in citations})
    count = sum(len(lines) for _, lines in written) + len(further)
    left_out = len(single) - len(shown)
    return Draft(
        text=_write(written, further, documents=documents, question=question),
        citations=citations,
        detail=f"{count} point(s) of {len(themes) + len(further)} theme(s)"
        f" from {documents} document(s)"
        + (f", {left_out} without a theme left out" if left_out else ""),
        figures={
            "points": float(count),
            "themes": float(len(themes) + len(further)),
            "documents": float(documents),
            "left_out": float(left_out),
        },
    )


@dataclass(slots=True)
class _Citations:
    """Citations in order of first use; the same span is cited under one number."""

    chunks: Mapping[str, SourceChunk]
    found: dict[tuple[str, int, int], Citation]

    def __init__(self, chunks: Mapping[str, SourceChunk]) -> None:
        self.chunks = chunks
        self.found = {}

    def line(self, point: OverviewPoint) -> str:
        """Render a point as a list line with marks; empty if nothing can be cited."""
        numbers = self.numbers(point.evidences)
        marks = "".join(f"[{number}]" for number in numbers)
        return f"- {strip_markdown(point.text)} {marks}" if numbers else ""

    def numbers(self, evidences: Sequence[EvidenceLocation]) -> list[int]:
        """Return the numbers of a few evidences, from different documents if possible."""
        numbers: list[int] = []
        documents: set[str] = set()
        for evidence in evidences:
            chunk = self.chunks.get(evidence.chunk_id)
            if chunk is None or chunk.document_id in documents:
                continue
            if len(numbers) == CITATIONS_PER_POINT:
                break
            documents.add(chunk.document_id)
            numbers.append(self._number(chunk, evidence))
        return numbers

    def _number(self, chunk: SourceChunk, evidence: EvidenceLocation) -> int:
        start, end = chunk.start + evidence.start, chunk.start + evidence.end
        key = (chunk.document_id, start, end)
        if key not in self.found:
            self.found[key] = Citation(
                number=len(self.found) + 1,
                document_id=chunk.document_id,
                chunk_id=evidence.chunk_id,
                title=chunk.title,
                quote=chunk.text[evidence.start : evidence.end],
                start=start,
                end=end,
                page=chunk.page,
            )
        return self.found[key].number


def _by_theme(
    points: Sequence[OverviewPoint], titles: Mapping[str, str], line_of: LineOf
) -> tuple[list[tuple[str, list[OverviewPoint]]], list[OverviewPoint]]:
    """Group points by title in first-seen order; return the rest separately.

    A theme is a community of several points. A point alone in its community makes one with those
    of the nearest wider community that holds others; these are then told under its title.
    """
    sizes = Counter(point.community_id for point in points)
    lines = {key: list(line_of(key)) or [key] for key in sizes}
    inside = Counter(wider for point in points for wider in lines[point.community_id])
    widened = {
        next((wider for wider in lines[key] if inside[wider] > 1), key)
        for key, size in sizes.items()
        if size == 1
    }
    groups: dict[str, list[OverviewPoint]] = {}
    for point in points:
        line = lines[point.community_id]
        theme = next((wider for wider in reversed(line) if wider in widened), line[0])
        groups.setdefault(theme, []).append(point)
    themes: list[tuple[str, list[OverviewPoint]]] = []
    single: list[OverviewPoint] = []
    for key, some in groups.items():
        title = titles.get(key, "").strip()
        if title and len(some) > 1:
            themes.append((title, some))
        else:  # a heading for one point would take more room than it gives order
            single += some
    return themes, single


def _write(
    themes: Sequence[tuple[str, Sequence[str]]],
    further: Sequence[str],
    *,
    documents: int,
    question: str,
) -> str:
    language = language_of(question)
    blocks = [in_script_of(question, _lead(documents=documents, language=language))]
    colon = "：" if language == "zh" else ":"
    blocks.extend("\n".join((f"{title}{colon}", *lines)) for title, lines in themes if lines)
    if further:
        heading = ["此外：" if language == "zh" else "Further:"] if len(blocks) > 1 else []
        blocks.append("\n".join((*heading, *further)))
    return "\n\n".join(blocks)


def _lead(*, documents: int, language: Language) -> str:
    if language == "zh":
        return f"综合 {documents} 份文档："
    return f"From {documents} document{'s' if documents != 1 else ''}:"
