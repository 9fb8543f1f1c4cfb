"""Context packing: whole passages, best first, deduplicated, within a token budget.

Chunks of one document that touch or overlap are shown as one span. Which passages are taken is
decided by their rank alone; their order is another setting. `Draft` is an answer in the making:
text, citations and figures. `window_budget_tokens` leaves room in a model's window for
instructions, history, question and answer, and a share for the difference between tokenisers.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Literal

from ..embeddings.tokenizer import TokenCount
from ..prompts import ABSTENTION, Language
from ..types import Citation, Claim, Passage, ShortAnswer, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An answer in the making. `figures` are for the trace, `detail` is its line.

    `evidence` is the probability, 0–1, that what was found holds the answer; None where nobody
    measured it.
    `claims`, `grounding` and `unchecked` are as those of `Answer`; `nearest` is what would be told
    where nothing is told.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    nearest: tuple[Citation, ...] = ()
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
    """Return the draft answer that says the library does not hold enough evidence."""
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


_MARK_NUMBERS = r"\d{1,4}(?:\s*[,，、;；–—-]\s*\d{1,4})*"
_WRITTEN_MARK = re.compile(rf"(?<![ \t])[ \t]*+[\[【［]\^?\s*({_MARK_NUMBERS})\s*[\]】］](?!\()")
_LONGEST_RANGE = 20


def expand_marks(
    text: str, numbers: Mapping[int, Sequence[int]], *, unknown: Sequence[int] = (0,)
) -> str:
    """Replace each mark's number by the numbers it stands for.

    A number that is no key of `numbers` becomes 0, which no source has.
    """

    def expanded(match: re.Match[str]) -> str:
        new = [n for old in _numbers(match.group(1)) for n in numbers.get(old, unknown)]
        blank = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{blank}[{', '.join(map(str, new))}]" if new else ""

    return _WRITTEN_MARK.sub(expanded, text)


def _numbers(inside: str) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r"[,，、;；]", inside):
        ends = [int(digits) for digits in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LONGEST_RANGE:
            numbers.extend(range(ends[0], ends[1] + 1))
        else:
            numbers.extend(ends)
    return numbers


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


def one_span_each(passages: Sequence[Passage]) -> list[Span]:
    """Return every passage as a span of its own, for packing without parents."""
    return [Span(passage=one, parts=(one,), rank=rank) for rank, one in enumerate(passages)]


def merge_spans(passages: Sequence[Passage], text: TextAt) -> list[Span]:
    """Merge adjacent passages (best first), ranked by their best part."""
    by_document: dict[str, list[Span]] = defaultdict(list)
    for span in one_span_each(passages):
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


Order = Literal["relevance_first", "edges_first", "document_order"]
Shown = Callable[[Passage], str]
"""A passage to what of it is shown; the passage itself stays whole."""

NEAR_DUPLICATE = 0.9
"""Share of common character 5-grams that makes passages with equal numbers duplicates."""

_SEPARATOR = "\n\n"
_SHINGLE = 5
_DIGITS = re.compile(r"\d+")
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
    count: TokenCount,
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


def source_label(passage: Passage, number: int, *, date: str = "") -> str:
    """Return a passage's source line in a prompt: `[1] Title › Heading (p. 3, 2019-04-01)`."""
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
    kept: list[_Candidate] = []
    for passage in passages:
        one = _Candidate(passage)
        if not any(one.repeats(other) for other in kept):
            kept.append(one)
    return [each.passage for each in kept]


class _Candidate:
    """Passage with what tells it from a repeat; its 5-grams are made where they decide."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        folded = unicodedata.normalize("NFKC", passage.text).casefold()
        self._text = " ".join(folded.split())
        self._numbers = _DIGITS.findall(self._text)

    @cached_property
    def _shingles(self) -> set[str]:
        text = self._text
        return {text[i : i + _SHINGLE] for i in range(max(1, len(text) - _SHINGLE + 1))}

    def repeats(self, other: _Candidate) -> bool:
        """Check for a repeat of an earlier passage."""
        if self._text == other._text or _inside(self.passage, other.passage):
            return True
        is_like = self._numbers == other._numbers
        return is_like and _jaccard(self._shingles, other._shingles) >= NEAR_DUPLICATE


class _Page:
    """Context layout with block lengths, each counted once."""

    def __init__(self, *, count: TokenCount, shown: Shown, dates: Mapping[str, str]) -> None:
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
        return f"{source_label(passage, number, date=date)}\n{self._shown(passage)}"


def _once(text: TextAt | None) -> TextAt | None:
    """Memoise a text lookup."""
    return cache(text) if text is not None else None


def _spans(passages: Sequence[Passage], text: TextAt | None) -> list[Span]:
    return one_span_each(passages) if text is None else merge_spans(passages, text)


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


SMALLEST = 256
"""Minimum source tokens; smaller windows overflow and the server reports it."""

_OUR_COUNT = 0.9
"""Of a window this share is filled by our count."""


def window_budget_tokens(
    window_tokens: int,
    *,
    answer_tokens: int,
    instruction_tokens: int,
    question_tokens: int,
    history_tokens: int = 0,
    cap_tokens: int | None = None,
) -> int:
    """Return the tokens that a model's window leaves for packed sources.

    Args:
        window_tokens: all that the model reads and writes at a time.
        answer_tokens: kept for the longest answer.
        instruction_tokens: of the system prompt, and of the frame around sources and question.
        question_tokens: of the question.
        history_tokens: of what was said before.
        cap_tokens: not more than this; None is no limit but the window.
    """
    read = int((window_tokens - answer_tokens) * _OUR_COUNT)
    free = read - instruction_tokens - question_tokens - history_tokens
    return max(SMALLEST, free if cap_tokens is None else min(free, cap_tokens))
