"""Search outside of the library: pages of the web as passages of origin `web`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from ..retrieval.fusion import RelevanceFeatures, question_tokens, relevance_probability
from ..storage.tokenization import TokenWeight, tokens
from ..types import Passage

MAX_WEB_RESULTS = 5
MAX_WEB_CHARACTERS = 4_000
_MAX_ADDRESS_CHARACTERS = 500


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


def search_web(web: WebSearch, query: str, *, idf: TokenWeight) -> tuple[list[Passage], str]:
    """Return the pages found, and why there are none where the search failed."""
    try:
        results = web.search(query, limit=MAX_WEB_RESULTS)
    except (OSError, ValueError) as error:
        return [], f"failed: {error}"
    return web_passages(query, results, idf=idf), ""


def web_passages(question: str, results: Sequence[WebResult], *, idf: TokenWeight) -> list[Passage]:
    """Convert web search results to passages of origin `web`.

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
    judged = relevance_probability(
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
