"""Chunks of one document that touch or overlap, as one span.

What two chunks share is shown once, and a sentence that a cut went through reads whole. Pure but
for the text between two chunks, which comes by function.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...types import Citation, Passage

TextAt = Callable[[str, int, int], str]
"""A document's id, a start and an end to its characters between them."""

_WIDEST_GAP = 8
"""Chunks that so few characters of white space keep apart are neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of one document: one chunk, or neighbours.

    `passage` reads as a passage of its own (`document_text[start:end] == text`) with the scores,
    the chunk id and the path of its best part; `parts` are the chunks, by place. `rank` is the
    place of the best part among all passages, from 0.
    """

    passage: Passage
    parts: tuple[Passage, ...]
    rank: int


def to_span(passages: Sequence[Passage]) -> list[Span]:
    """Every passage by itself."""
    return [Span(passage=one, parts=(one,), rank=rank) for rank, one in enumerate(passages)]


def merge_spans(passages: Sequence[Passage], text: TextAt) -> list[Span]:
    """Merge adjacent passages (best first), ranked by their best part."""
    by_document: dict[str, list[Span]] = defaultdict(list)
    for span in to_span(passages):
        by_document[span.passage.document_id].append(span)
    joined: list[Span] = []
    for spans in by_document.values():
        open_: Span | None = None
        for span in sorted(spans, key=lambda one: (one.passage.start, one.passage.end)):
            between = _between(open_.passage, span.passage, text) if open_ is not None else None
            if open_ is None or between is None:
                open_ = span
                joined.append(open_)
            else:
                open_ = _together(open_, span, between)
                joined[-1] = open_
    return sorted(joined, key=lambda span: span.rank)


def to_document_offsets(
    citations: Sequence[Citation], spans: Sequence[Span]
) -> tuple[Citation, ...]:
    """Return the citations with the id of the chunk that holds most of the quote."""
    parts = [part for span in spans if len(span.parts) > 1 for part in span.parts]
    return tuple(_at_home(citation, parts) for citation in citations)


def _at_home(citation: Citation, parts: Sequence[Passage]) -> Citation:
    shared = [
        (min(part.end, citation.end) - max(part.start, citation.start), part)
        for part in parts
        if part.document_id == citation.document_id
    ]
    best = max(shared, key=lambda one: one[0], default=None)
    if best is None or best[0] <= 0:
        return citation
    as_good = {part.chunk_id for length, part in shared if length == best[0]}
    if citation.chunk_id in as_good:
        return citation
    return replace(citation, chunk_id=best[1].chunk_id)


def _between(first: Passage, second: Passage, text: TextAt) -> str | None:
    """Return the text between two passages of a document; None if not adjacent."""
    gap = second.start - first.end
    if gap <= 0:
        return ""
    if gap > _WIDEST_GAP:
        return None
    found = text(first.document_id, first.end, second.start)
    return found if len(found) == gap and not found.strip() else None


def _together(first: Span, second: Span, between: str) -> Span:
    one, other = first.passage, second.passage
    best = one if first.rank < second.rank else other
    tail = other.text[max(0, one.end - other.start) :]
    passage = replace(
        best,
        text=one.text + between + tail,
        start=one.start,
        end=max(one.end, other.end),
        page=one.page,
        headings=one.headings,
    )
    return Span(
        passage=passage,
        parts=(*first.parts, *second.parts),
        rank=min(first.rank, second.rank),
    )
