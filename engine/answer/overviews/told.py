"""Points about the whole corpus to an answer: a lead line, then the points by theme, each cited.

Points come from community reports and rest on spans of chunks; citations lead through them to the
documents. Knows no graph: anything with a text, a score, evidences and a community id is a point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...types import Citation
from ..draft import Draft, abstain
from ..language import Language, language_of
from ..sentences import plain

CITATIONS_PER_POINT = 2


class EvidencePlace(Protocol):
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
    def evidences(self) -> Sequence[EvidencePlace]: ...  # noqa: D102
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


def overview(
    question: str,
    points: Sequence[OverviewPoint],
    *,
    titles: Mapping[str, str],
    chunks: Mapping[str, SourceChunk],
) -> Draft:
    """The points as an answer in the question's language, or an abstention where there are none.

    `titles` maps community ids to what they are called, `chunks` chunk ids to chunks. Themes come
    in the order of their first point, so `points` best first put the best theme first. A point
    whose evidence is gone from `chunks` is not told: a claim without a source is none.
    """
    language = language_of(question)
    cited = _Citations(chunks)
    groups: dict[str, list[str]] = {}
    told = [p for p in points if any(place.chunk_id in chunks for place in p.evidences)]
    for point in _grouped(told, titles):
        numbers = cited.numbers(point.evidences)
        if numbers:
            marks = "".join(f"[{number}]" for number in numbers)
            groups.setdefault(point.community_id, []).append(f"- {plain(point.text)} {marks}")
    if not groups:
        return abstain(language, detail="no point bears on the question")
    citations = tuple(cited.found.values())
    documents = len({citation.document_id for citation in citations})
    themes = [(titles.get(key, "").strip(), lines) for key, lines in groups.items()]
    return Draft(
        text=_write(themes, documents=documents, language=language),
        citations=citations,
        detail=f"{sum(map(len, groups.values()))} point(s) of {len(groups)} theme(s)"
        f" from {documents} document(s)",
        figures={
            "points": float(sum(map(len, groups.values()))),
            "themes": float(len(groups)),
            "documents": float(documents),
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

    def numbers(self, evidences: Sequence[EvidencePlace]) -> list[int]:
        """The numbers of a few evidences, of different documents where there are any."""
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

    def _number(self, chunk: SourceChunk, evidence: EvidencePlace) -> int:
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


def _grouped(points: Sequence[OverviewPoint], titles: Mapping[str, str]) -> list[OverviewPoint]:
    """In the order of the text: themes of several points by their first, then single points."""
    sizes = Counter(point.community_id for point in points)
    order = {key: place for place, key in enumerate(sizes)}

    def place(point: OverviewPoint) -> tuple[bool, int]:
        key = point.community_id
        return sizes[key] == 1 or not titles.get(key, "").strip(), order[key]

    return sorted(points, key=place)


def _write(
    themes: Sequence[tuple[str, Sequence[str]]], *, documents: int, language: Language
) -> str:
    blocks = [_lead(documents=documents, language=language)]
    colon = "：" if language == "zh" else ":"
    blocks.extend(
        "\n".join((f"{title}{colon}", *lines))
        for title, lines in themes
        if title and len(lines) > 1
    )
    # A heading for a single point would take more room than it gives order.
    single = [line for title, lines in themes if not title or len(lines) == 1 for line in lines]
    if single and len(blocks) > 1:
        single.insert(0, "此外：" if language == "zh" else "Further:")
    blocks.extend(["\n".join(single)] if single else [])
    return "\n\n".join(blocks)


def _lead(*, documents: int, language: Language) -> str:
    if language == "zh":
        return f"综合 {documents} 份文档："
    return f"From {documents} document{'s' if documents != 1 else ''}:"
