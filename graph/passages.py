"""Sentences of chunks with their entities and readability.

Sentences that stand in two overlapping chunks are one sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from .model import Chunk, content_id
from .sentences import sentences_at

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_NO_SENTENCE = re.compile(r"#{1,6}\s|\||={3,}|-{3,}|<\w|```|>?\s*$")
_LIST_MARK = re.compile(r"(?:[-*+•·>]|\(?\d{1,3}[.)、])\s*")
_ENDS = re.compile(r"[.!?。！？…][\"'”’)\]）」』》]*$")
_LEANS_BACK = re.compile(
    r"(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Bb]ut|[Aa]nd|[Ss]o|[Hh]is"
    r"|[Hh]er|[Ii]ts|[Tt]heir|[Hh]owever|[Tt]herefore|[Tt]hen|I|[Ww]e|[Yy]ou)\b"
    r"|[他她它这那但并而]|因此|所以|于是|然而"
)
_SPEECH = re.compile(r"[\"“「『‘]")
_PAIRED = re.compile(r"[\"“”「」『』《》（）()[\]]")
GOOD_LENGTH = (8.0, 40.0)
"""Good sentence length in words (two Chinese characters count as one)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Sentence naming entities, at `chunk.text[start:end]`; `text` has single spaces.

    `stated` holds a pair of entity ids for each relation that the sentence states (more than their
    standing together), `quality` is 0–1, `digest` a hash of place and text.
    """

    chunk_id: str
    document_id: str
    start: int
    end: int
    text: str
    entity_ids: tuple[str, ...]
    stated: tuple[tuple[str, str], ...]
    quality: float
    digest: str


def sentences_with_entities(
    chunks: Iterable[Chunk],
    *,
    spans: Iterable[tuple[str, int, tuple[str, ...]]],
    statements: Iterable[tuple[str, int, str, str, bool]],
) -> list[Sentence]:
    """Return sentences naming entities, by document and place.

    Args:
        chunks: in any order; of a sentence in two overlapping chunks the first chunk's is kept.
        spans: (chunk id, offset, entity ids) of mentions.
        statements: (chunk id, offset, source id, target id, whether the relation is typed).

    Raises:
        KeyError: a chunk id that none of `chunks` has.
    """
    naming: dict[str, list[_Naming]] = defaultdict(list)
    for chunk_id, offset, entity_ids in spans:
        naming[chunk_id].append((offset, entity_ids, False))
    for chunk_id, offset, source, target, typed in statements:
        naming[chunk_id].append((offset, (source, target), typed))
    layout = _Layout.of(chunks)
    said: dict[tuple[str, int], _Said] = {}
    while naming:
        chunk_id, some = naming.popitem()
        places = layout.places(chunk_id, {offset for offset, _, _ in some})
        for offset, entity_ids, typed in some:
            place, end = places[offset]
            if place not in said:
                said[place] = _Said(end=end)
            said[place].named.extend(entity_ids)
            if typed:
                said[place].stated.append((entity_ids[0], entity_ids[1]))
    return [layout.sentence(place, said.pop(place)) for place in sorted(said, key=layout.order)]


_Naming = tuple[int, tuple[str, ...], bool]
"""Offset, entities named there, and whether a relation is stated."""

_Place = tuple[str, int]
"""(chunk id, start) of a sentence's first appearance."""


@dataclass(slots=True)
class _Said:
    """Facts of the sentence ending at `end`, with repeats."""

    end: int
    named: list[str] = field(default_factory=list)
    stated: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Positions of chunks in their documents."""

    chunks: Mapping[str, Chunk]
    """In the order of their documents."""
    by_start: Mapping[str, tuple[list[int], list[Chunk]]]
    """For each document where its chunks start, ascending, and these."""
    longest: int

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> _Layout:
        ordered = sorted(chunks, key=_order)
        documents: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in sorted(ordered, key=lambda one: one.start):
            documents[chunk.document_id].append(chunk)
        return cls(
            chunks={chunk.id: chunk for chunk in ordered},
            by_start={key: ([one.start for one in some], some) for key, some in documents.items()},
            longest=max((len(chunk.text) for chunk in ordered), default=0),
        )

    def places(self, chunk_id: str, offsets: Collection[int]) -> dict[int, tuple[_Place, int]]:
        """Return the sentence span of each offset in a chunk."""
        chunk = self.chunks[chunk_id]
        found = sentences_at(chunk.text, offsets)
        if not found:
            return dict.fromkeys(offsets, ((chunk_id, 0), len(chunk.text)))
        first = {span: self._first(chunk, *span) for span in {*found.values()}}
        return {offset: first[span] for offset, span in found.items()}

    def _first(self, chunk: Chunk, start: int, end: int) -> tuple[_Place, int]:
        """Return the first occurrence of a sentence in its document."""
        starts, beside = self.by_start[chunk.document_id]
        where, text = chunk.start + start, chunk.text[start:end]
        near = beside[bisect_left(starts, where - self.longest) : bisect_right(starts, where)]
        near = [one for one in near if one.text.startswith(text, where - one.start)]
        for other in sorted(near, key=_order) if len(near) > 1 else ():
            at = where - other.start
            span = (at, at + len(text))
            if sentences_at(other.text, (at,))[at] == span:
                return (other.id, at), span[1]
        return (chunk.id, start), end

    def order(self, place: _Place) -> tuple[str, int, int, str]:
        chunk = self.chunks[place[0]]
        return chunk.document_id, chunk.position, place[1], chunk.id

    def sentence(self, place: _Place, said: _Said) -> Sentence:
        chunk, start = self.chunks[place[0]], place[1]
        text = " ".join(chunk.text[start : said.end].split())
        return Sentence(
            chunk_id=chunk.id,
            document_id=chunk.document_id,
            start=start,
            end=said.end,
            text=text,
            entity_ids=tuple(sorted({*said.named})),
            stated=tuple(sorted({*said.stated})),
            quality=quality(text),
            digest=content_id("", chunk.id, chunk.document_id, str(start), str(said.end), text),
        )


def _order(chunk: Chunk) -> tuple[int, int, str]:
    """Return a chunk's position in its document."""
    return chunk.position, chunk.start, chunk.id


def quality(text: str) -> float:
    """Return how well a sentence stands alone, 0–1; 0 for headings, table rows and marks."""
    if _NO_SENTENCE.match(text):
        return 0.0
    value = _length_factor(text)
    mark = _LIST_MARK.match(text)
    if mark is not None:
        value *= 0.6
        text = text[mark.end() :]
    if not _ENDS.search(text):
        value *= 0.4
    if text[:1].islower():
        value *= 0.5
    if _LEANS_BACK.match(text):
        value *= 0.7
    if _SPEECH.match(text) or text[-1:] in "?？!！" or _is_torn(text):
        value *= 0.6
    return value


def _is_torn(text: str) -> bool:
    """Check for unbalanced quotation marks or brackets."""
    if not _PAIRED.search(text):
        return False
    return text.count('"') % 2 == 1 or any(
        text.count(opening) != text.count(closing)
        for opening, closing in zip("“「『《（([", "”」』》）)]", strict=True)
    )


def _length_factor(text: str) -> float:
    chinese = len(_CHINESE.findall(text))
    words = len(_TOKEN.findall(text)) - chinese + chinese / 2
    short, long = GOOD_LENGTH
    if words < short:
        return words / short
    return min(1.0, long / words)


def tokens(text: str) -> frozenset[str]:
    """Words in lower case and single Chinese characters."""
    return frozenset(_TOKEN.findall(text.casefold()))


def is_near_duplicate(words: frozenset[str], others: frozenset[str]) -> bool:
    """Check for near-duplicates: four in five words of the shorter are shared."""
    if not words or not others:
        return words == others
    return len(words & others) >= 0.8 * min(len(words), len(others))
