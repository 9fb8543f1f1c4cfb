"""Draft of an answer: text, citations and self-reported figures.

The façade makes an `Answer` of it, adding passages, trace and times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..types import Citation, Claim, Passage, ShortAnswer, Usage
from .language import ABSTENTION, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An answer in the making. `figures` are for the trace, `detail` is its line.

    `evidence` is the probability, 0–1, that what was found holds the answer; None where nobody
    measured it.
    `claims`, `grounding` and `unchecked` are as those of `Answer`.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    grounding: float | None = None
    unchecked: str = ""
    abstained: bool = False
    evidence: float | None = None
    short: ShortAnswer | None = None
    detail: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


def abstain(
    language: Language,
    *,
    detail: str,
    evidence: float = 0.0,
    figures: Mapping[str, float] | None = None,
    usage: Usage | None = None,
) -> Draft:
    """Return the draft that says the library does not hold the answer."""
    return Draft(
        text=ABSTENTION[language],
        abstained=True,
        evidence=evidence,
        detail=detail,
        figures=figures or {},
        usage=usage or Usage(),
    )


def cite_span(passage: Passage, start: int, end: int, *, number: int) -> Citation:
    """Cite `passage.text[start:end]` with document offsets."""
    return Citation(
        number=number,
        document_id=passage.document_id,
        chunk_id=passage.chunk_id,
        title=passage.title,
        quote=passage.text[start:end],
        start=passage.start + start,
        end=passage.start + end,
        page=passage.page,
        origin=passage.origin,
    )


def as_passage(citation: Citation) -> Passage:
    """Convert a citation to a passage for display."""
    return Passage(
        text=citation.quote,
        score=1.0,
        relevance=1.0,
        document_id=citation.document_id,
        chunk_id=citation.chunk_id,
        title=citation.title,
        start=citation.start,
        end=citation.end,
        page=citation.page,
    )


def on_pages(
    citations: Sequence[Citation], starts: Mapping[str, Sequence[int]]
) -> tuple[Citation, ...]:
    """Return each citation with the page on which its quote begins.

    `starts` maps document ids to page offsets; others have none.
    """
    return tuple(
        replace(citation, page=bisect_right(starts[citation.document_id], citation.start))
        if starts.get(citation.document_id)
        else citation
        for citation in citations
    )
