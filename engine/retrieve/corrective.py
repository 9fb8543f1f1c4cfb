"""Corrective retrieval (CRAG): grade passages as right, ambiguous or wrong.

After CRAG (Yan et al., "Corrective Retrieval Augmented Generation", 2024): what is right is refined
to its key sentences, what is doubtful is looked for more widely, also outside of the library where
a tool for that is given, and what is wrong is not used. Judged by the calibrated relevance of the
best passages, or by a model's grades. Pure; the search tool is its maker's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol
from urllib.parse import urlsplit

from ..types import Passage
from .relevance import RelevanceFeatures, question_tokens, relevance
from .tokens import tokens

Verdict = Literal["right", "doubtful", "wrong"]
Grade = Literal["yes", "partly", "no"]
SentenceSpans = Callable[[str], Sequence[tuple[int, int]]]

MAX_WEB_RESULTS = 5
MAX_WEB_CHARACTERS = 4_000
_MAX_ADDRESS_CHARACTERS = 500

KEY_SHARE = 0.5
"""Minimum share of the passage's best sentence score for a sentence to stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """Web page: plain text, of which only the beginning is used."""

    address: str
    title: str
    text: str


class WebSearch(Protocol):
    """A search outside of the library.

    What it raises as `OSError` or `ValueError` (as network libraries do) is noted in the trace and
    the answer goes on without it; anything else is a fault of the tool and comes through.
    """

    def search(self, query: str, *, limit: int) -> Sequence[WebResult]:
        """Return the best pages for a query, at most `limit`."""
        ...


def verdict_of(
    passages: Sequence[Passage],
    *,
    wrong_below: float,
    right_from: float,
    grades: Mapping[int, Grade] | None = None,
) -> Verdict:
    """Grade the passages; `grades` are a model's, by number from 1."""
    if grades:
        said = set(grades.values())
        if "yes" in said:
            return "right"
        return "doubtful" if "partly" in said else "wrong"
    best = max((passage.relevance for passage in passages), default=0.0)
    if best < wrong_below:
        return "wrong"
    return "right" if best >= right_from else "doubtful"


def without_refused(
    passages: Sequence[Passage], grades: Mapping[int, Grade] | None
) -> list[Passage]:
    """Drop passages that a model rejects, unless none would remain."""
    kept = [
        passage
        for number, passage in enumerate(passages, start=1)
        if (grades or {}).get(number) != "no"
    ]
    return kept or list(passages)


def refined(
    question: str,
    passages: Sequence[Passage],
    *,
    idf: Callable[[str], float],
    sentence_spans: SentenceSpans,
) -> list[Passage]:
    """Trim each passage to its relevant run of sentences plus one on each side.

    `document_text[start:end] == text` still holds. A passage in which nothing stands out stays.
    """
    wanted = {token: max(idf(token), 0.0) for token in question_tokens(question)}
    return [_refined(passage, wanted, sentence_spans) for passage in passages]


def _refined(
    passage: Passage, wanted: Mapping[str, float], sentence_spans: SentenceSpans
) -> Passage:
    spans = sentence_spans(passage.text)
    carried = [
        sum(wanted[token] for token in set(tokens(passage.text[start:end])) & wanted.keys())
        for start, end in spans
    ]
    best = max(carried, default=0.0)
    if best <= 0.0:
        return passage
    key = [n for n, weight in enumerate(carried) if weight >= KEY_SHARE * best]
    first, last = max(0, key[0] - 1), min(len(spans) - 1, key[-1] + 1)
    start, end = spans[first][0], spans[last][1]
    return replace(
        passage,
        text=passage.text[start:end],
        start=passage.start + start,
        end=passage.start + end,
    )


def merged_passages(
    first: Sequence[Passage], second: Sequence[Passage], *, limit: int
) -> list[Passage]:
    """Both lists by relevance, each passage once, at its better place; ties as given."""
    best: dict[str, Passage] = {}
    for passage in (*first, *second):
        held = best.get(passage.chunk_id)
        if held is None or passage.relevance > held.relevance:
            best[passage.chunk_id] = passage
    return sorted(best.values(), key=lambda passage: -passage.relevance)[:limit]


def web_passages(
    question: str,
    results: Sequence[WebResult],
    *,
    idf: Callable[[str], float],
) -> list[Passage]:
    """Convert web results to passages.

    The URL is the document, offsets count in the used text. Scored by words with the
    library's idf.

    Results without a text, or whose address is not of the web, are left out.
    """
    usable = [each for each in results[:MAX_WEB_RESULTS] if each.text.strip() and _is_web(each)]
    texts = [each.text[:MAX_WEB_CHARACTERS] for each in usable]
    wanted = {token: max(idf(token), 0.0) for token in question_tokens(question)}
    total = sum(wanted.values()) or 1.0
    held = [
        wanted.keys() & set(tokens(f"{each.title}\n{text}"))
        for each, text in zip(usable, texts, strict=True)
    ]
    covered = [sum(wanted[token] for token in found) / total for found in held]
    judged = relevance(
        [
            RelevanceFeatures(covered=share, share=1.0 / place, readable=0.0)
            for place, share in enumerate(covered, start=1)
        ]
    )
    return [
        Passage(
            text=text,
            score=share,
            relevance=share,
            document_id=result.address,
            chunk_id=_web_id(result.address, text),
            title=" ".join(result.title.split())[:200] or result.address,
            start=0,
            end=len(text),
            path=("found on the web",),
            origin="web",
        )
        for result, text, share in zip(usable, texts, judged, strict=True)
    ]


def _web_id(address: str, text: str) -> str:
    said = f"{address}\x1f{text}".encode("utf8", "surrogatepass")
    return f"web:{hashlib.sha256(said).hexdigest()[:16]}"


def _is_web(result: WebResult) -> bool:
    if len(result.address) > _MAX_ADDRESS_CHARACTERS or not result.address.isprintable():
        return False
    try:
        parts = urlsplit(result.address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
