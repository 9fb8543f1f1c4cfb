"""Passages nearest to a question that the library does not answer.

First what would have been told. Then of the best passages, one of each section,
the sentence that shares most with the question and what follows it, so that a reader sees what is
there instead, and the answer where it is there after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from graph.text.cjk import count_han

from ..retrieval.lexical_variants import lexical_variants
from ..retrieval.passages import Sentence, split_passages
from ..storage.tokenization import TokenWeight, tokens
from ..types import Citation, NearestPassage, Passage
from .extractive.question_type import strip_question_words

NEAREST = 3
"""Passages shown."""
ENOUGH_CHARACTERS = 300
"""Below these a sentence is shown with the next ones of its section; one of Han counts as three."""
LONGEST_CHARACTERS = 600


def nearest_passages(
    question: str, passages: Sequence[Passage], *, weight: TokenWeight
) -> tuple[NearestPassage, ...]:
    """Return the nearest texts of `passages` (best first), each of another section."""
    wanted = {term: max(weight(term), 0.0) for term in tokens(strip_question_words(question))}
    sections: dict[tuple[str, tuple[str, ...]], list[Sentence]] = {}
    for each in split_passages(passages):
        passage = passages[each.passage]
        sections.setdefault((passage.document_id, passage.headings), []).append(each)
    found = (_nearest(some, passages, wanted) for some in sections.values())
    return tuple(islice(found, NEAREST))


def quoted_passages(
    quotes: Sequence[Citation], passages: Sequence[Passage]
) -> tuple[NearestPassage, ...]:
    """Return quotes from `passages` in their order, the end of long ones left out."""
    by_chunk = {passage.chunk_id: passage for passage in passages}
    found = []
    for quote in quotes[:NEAREST]:
        passage = by_chunk.get(quote.chunk_id)
        text = quote.quote[:LONGEST_CHARACTERS]
        found.append(
            NearestPassage(
                document_id=quote.document_id,
                chunk_id=quote.chunk_id,
                title=quote.title,
                heading=passage.headings[-1] if passage and passage.headings else "",
                text=text,
                start=quote.start,
                end=quote.start + len(text),
                score=passage.relevance if passage else 0.0,
                page=quote.page,
                origin=quote.origin,
            )
        )
    return tuple(found)


def apart(
    found: Sequence[NearestPassage], shown: Sequence[Citation | NearestPassage]
) -> tuple[NearestPassage, ...]:
    """Return those that share no character with what is shown."""
    return tuple(
        one
        for one in found
        if not any(
            each.document_id == one.document_id and each.start < one.end and one.start < each.end
            for each in shown
        )
    )


def _nearest(
    sentences: Sequence[Sentence], passages: Sequence[Passage], wanted: dict[str, float]
) -> NearestPassage:
    """Return the sentence of a section with most of the question's weight, earlier ones first."""
    best = max(sentences, key=lambda each: (_shared(each, wanted), -each.order))
    passage = passages[best.passage]
    end = best.end
    for following in sorted(sentences, key=lambda each: each.start):
        is_behind = following.passage == best.passage and following.start >= end
        if is_behind and _width(passage.text[best.start : end]) < ENOUGH_CHARACTERS:
            end = following.end
    end = min(end, best.start + LONGEST_CHARACTERS)
    return NearestPassage(
        document_id=passage.document_id,
        chunk_id=passage.chunk_id,
        title=passage.title,
        heading=best.heading or (passage.headings[-1] if passage.headings else ""),
        text=passage.text[best.start : end],
        start=passage.start + best.start,
        end=passage.start + end,
        score=passage.relevance,
        page=passage.page,
        origin=passage.origin,
    )


def _width(text: str) -> int:
    return len(text) + 2 * count_han(text)


def _shared(sentence: Sentence, wanted: dict[str, float]) -> float:
    held = sentence.terms | sentence.tells
    return sum(w for term, w in wanted.items() if not held.isdisjoint(lexical_variants(term)))
