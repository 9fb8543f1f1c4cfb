"""Context packing within a token budget: whole passages, best first, deduplicated.

Neighbouring chunks of a document are one span where a document's text can be looked up. Which
passages are taken is decided by their rank alone; in which order they stand is another matter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ...types import Passage
from .merge import Span, TextAt, merge_spans, to_span

Order = Literal["relevance_first", "edges_first", "document_order"]
Shown = Callable[[Passage], str]
"""A passage to what of it is shown; the passage itself stays whole."""

NEAR_DUPLICATE = 0.9
"""Share of common character 5-grams that makes passages with equal numbers duplicates."""

_SEPARATOR = "\n\n"
_SHINGLE = 5
_LONGEST_DATE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedContext:
    """Packed context; the passage of mark `[n]` is `passages[n - 1]`.

    `text` is the context as a prompt would hold it, `tokens` its count. `spans` are the passages
    with the chunks that they consist of. `left_out` chunks found no room, `duplicates` said
    nothing new.
    """

    passages: tuple[Passage, ...] = ()
    spans: tuple[Span, ...] = ()
    text: str = ""
    tokens: int = 0
    left_out: int = 0
    duplicates: int = 0


def pack_context(
    passages: Sequence[Passage],
    *,
    budget_tokens: int,
    count: Callable[[str], int],
    order: Order = "relevance_first",
    text: TextAt | None = None,
    shown: Shown | None = None,
    dates: Mapping[str, str] | None = None,
) -> PackedContext:
    """Pack as many whole passages as the budget holds, best first.

    A passage that does not fit is left out and smaller ones behind it are still tried. The count
    is taken of the whole rendered context, labels included, so it holds for any tokeniser.

    Args:
        passages: best first.
        budget_tokens: of the context.
        count: tokens of a text.
        order: `edges_first` has the best at both ends and the last in the middle, since models
            read the middle of a long context least (Liu et al. 2023, "Lost in the Middle");
            `document_order` keeps documents together and reads each from its beginning.
        text: looks up what stands between neighbours, which are then joined; None joins nothing.
        shown: what is shown of a passage; None is all of it.
        dates: of documents by id, for labels.
    """
    unique = drop_duplicates(passages)
    text = _once(text)
    page = _Page(count=count, shown=shown or _whole, dates=dates or {})
    chosen: list[Passage] = []
    for passage in unique:
        spans = _spans([*chosen, passage], text)
        if sum(page.size(span.passage) for span in spans) <= budget_tokens:
            chosen.append(passage)
    while True:
        spans = in_order(_spans(chosen, text), order)
        context = page.text(spans)
        tokens = count(context)
        if tokens <= budget_tokens or not chosen:
            break
        chosen.pop()
    return PackedContext(
        passages=tuple(span.passage for span in spans),
        spans=tuple(spans),
        text=context,
        tokens=tokens,
        left_out=len(unique) - len(chosen),
        duplicates=len(passages) - len(unique),
    )


def in_order(spans: Sequence[Span], order: Order) -> list[Span]:
    """Spans that come by rank in the order in which they are to be read."""
    ranked = sorted(spans, key=lambda span: span.rank)
    if order == "edges_first":
        return [*ranked[::2], *ranked[1::2][::-1]]
    if order == "document_order":
        first: dict[str, int] = {}
        for span in ranked:
            first.setdefault(span.passage.document_id, span.rank)
        return sorted(
            ranked, key=lambda span: (first[span.passage.document_id], span.passage.start)
        )
    return ranked


def label(passage: Passage, number: int, *, date: str = "") -> str:
    """Return a passage's source line: `[1] Title › Heading (p. 3, 2019-04-01)`."""
    parts = [_one_line(part) for part in (passage.title, *passage.headings)]
    kept: list[str] = []
    for part in parts:
        if part and (not kept or part.casefold() != kept[-1].casefold()):
            kept.append(part)
    page = f"p. {passage.page}" if passage.page is not None else ""
    if passage.origin == "web":
        page = f"web: {_one_line(passage.document_id)}"
    where = ", ".join(part for part in (page, _one_line(date)[:_LONGEST_DATE]) if part)
    return f"[{number}] {' › '.join(kept) or passage.document_id}{f' ({where})' if where else ''}"


def drop_duplicates(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages without near duplicates of earlier ones.

    A repeat is the same text but for case and white space, a span inside an earlier one of the same
    document, or a near copy. Near copies must hold the same numbers: rows and notices that differ
    in a figure alone are different facts.
    """
    kept: list[tuple[Passage, str, set[str], list[str]]] = []
    for passage in passages:
        text = " ".join(unicodedata.normalize("NFKC", passage.text).casefold().split())
        shingles = {text[i : i + _SHINGLE] for i in range(max(1, len(text) - _SHINGLE + 1))}
        numbers = re.findall(r"\d+", text)
        repeats = any(
            text == other_text
            or _inside(passage, other)
            or (numbers == other_numbers and _jaccard(shingles, other_shingles) >= NEAR_DUPLICATE)
            for other, other_text, other_shingles, other_numbers in kept
        )
        if not repeats:
            kept.append((passage, text, shingles, numbers))
    return [passage for passage, _, _, _ in kept]


class _Page:
    """Context layout with block lengths, each counted once."""

    def __init__(
        self, *, count: Callable[[str], int], shown: Shown, dates: Mapping[str, str]
    ) -> None:
        self._count = count
        self._shown = shown
        self._dates = dates
        self._sizes: dict[tuple[str, int, int], int] = {}

    def size(self, passage: Passage) -> int:
        """Tokens of a passage's block under a number of two digits."""
        key = (passage.document_id, passage.start, passage.end)
        if key not in self._sizes:
            self._sizes[key] = self._count(_SEPARATOR + self._block(passage, 10))
        return self._sizes[key]

    def text(self, spans: Sequence[Span]) -> str:
        """Return the whole context, numbered from 1."""
        blocks = [self._block(span.passage, number) for number, span in enumerate(spans, start=1)]
        return _SEPARATOR.join(blocks)

    def _block(self, passage: Passage, number: int) -> str:
        date = self._dates.get(passage.document_id, "")
        return f"{label(passage, number, date=date)}\n{self._shown(passage)}"


def _once(text: TextAt | None) -> TextAt | None:
    """Memoise a text lookup."""
    return cache(text) if text is not None else None


def _spans(passages: Sequence[Passage], text: TextAt | None) -> list[Span]:
    return to_span(passages) if text is None else merge_spans(passages, text)


def _whole(passage: Passage) -> str:
    return passage.text


def _inside(passage: Passage, other: Passage) -> bool:
    return (
        passage.document_id == other.document_id
        and other.start <= passage.start
        and passage.end <= other.end
    )


def _jaccard(first: set[str], second: set[str]) -> float:
    """Return the Jaccard similarity; 0 if sizes alone rule out duplicates."""
    if min(len(first), len(second)) < NEAR_DUPLICATE * max(len(first), len(second)):
        return 0.0
    return len(first & second) / max(1, len(first | second))


def _one_line(text: str) -> str:
    return " ".join(text.split())
