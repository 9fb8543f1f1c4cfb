"""The sentences of chunks, each with the entities it names and how well it reads alone.

Sentences that stand in two overlapping chunks are one sentence. Knows nothing of communities.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .model import Chunk, content_id
from .sentences import sentence_spans

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_NO_SENTENCE = re.compile(r"#{1,6}\s|\||={3,}|-{3,}|<\w|```|>?\s*$")
_LIST_MARK = re.compile(r"(?:[-*+•·>]|\(?\d{1,3}[.)、])\s*")
_ENDS = re.compile(r"[.!?。！？…][\"'”’)\]）」』》]*$")
_LEANS_BACK = re.compile(
    r"(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Bb]ut|[Aa]nd|[Ss]o|[Hh]is"
    r"|[Hh]er|[Ii]ts|[Tt]heir|[Hh]owever|[Tt]herefore|[Tt]hen|I|[Ww]e|[Yy]ou)\b"
    r"|[他她它这那但并而]|因此|所以|于是|然而"
)
_SPEECH = re.compile(r"[\"“「『‘]")
GOOD_LENGTH = (8.0, 40.0)
"""In words, two Chinese characters counting as one: shorter says little, longer is hard to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence that names entities, at `chunk.text[start:end]`; `text` has even white space.

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
    """The sentences that name an entity, by document and place.

    Args:
        chunks: in any order; of a sentence in two overlapping chunks the first chunk's is kept.
        spans: (chunk id, offset, entity ids) of mentions.
        statements: (chunk id, offset, source id, target id, whether the relation is typed).

    Raises:
        KeyError: a chunk id that none of `chunks` has.
    """
    named: dict[tuple[str, int], set[str]] = defaultdict(set)
    stated: dict[tuple[str, int], set[tuple[str, str]]] = defaultdict(set)
    layout = _Layout.of(chunks)
    for chunk_id, offset, entity_ids in spans:
        named[layout.place(chunk_id, offset)].update(entity_ids)
    for chunk_id, offset, source, target, typed in statements:
        place = layout.place(chunk_id, offset)
        named[place].update((source, target))
        if typed:
            stated[place].add((source, target))
    return [
        layout.sentence(place, named[place], stated.get(place, set()))
        for place in sorted(named, key=layout.order)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where sentences lie. A place is (chunk id, start) of a sentence's first appearance."""

    chunks: dict[str, Chunk]
    starts: dict[str, list[int]]
    ends: dict[tuple[str, int], int]
    first: dict[tuple[str, int], tuple[str, int]]

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> _Layout:
        ordered = sorted(chunks, key=lambda c: (c.document_id, c.position, c.start, c.id))
        layout = cls(chunks={chunk.id: chunk for chunk in ordered}, starts={}, ends={}, first={})
        seen: dict[tuple[str, int, str], tuple[str, int]] = {}
        for chunk in ordered:
            spans = sentence_spans(chunk.text)
            layout.starts[chunk.id] = [start for start, _ in spans]
            for start, end in spans:
                place = (chunk.id, start)
                where = (chunk.document_id, chunk.start + start, chunk.text[start:end])
                layout.first[place] = seen.setdefault(where, place)
                layout.ends[place] = end
        return layout

    def place(self, chunk_id: str, offset: int) -> tuple[str, int]:
        starts = self.starts[chunk_id]
        index = max(0, bisect_right(starts, offset) - 1)
        return self.first[chunk_id, starts[index]] if starts else (chunk_id, 0)

    def order(self, place: tuple[str, int]) -> tuple[str, int, int, str]:
        chunk = self.chunks[place[0]]
        return chunk.document_id, chunk.position, place[1], chunk.id

    def sentence(
        self, place: tuple[str, int], named: set[str], stated: set[tuple[str, str]]
    ) -> Sentence:
        chunk, start = self.chunks[place[0]], place[1]
        end = self.ends.get(place, len(chunk.text))
        text = " ".join(chunk.text[start:end].split())
        return Sentence(
            chunk_id=chunk.id,
            document_id=chunk.document_id,
            start=start,
            end=end,
            text=text,
            entity_ids=tuple(sorted(named)),
            stated=tuple(sorted(stated)),
            quality=quality(text),
            digest=content_id("", chunk.id, chunk.document_id, str(start), str(end), text),
        )


def quality(text: str) -> float:
    """0–1: how well a sentence stands alone. 0 for headings, table rows and bare marks."""
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
    """Whether quotation marks or brackets open that do not close, or the other way round."""
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
    """Whether most of one's words are the other's: of the shorter's words, four in five."""
    if not words or not others:
        return words == others
    return len(words & others) >= 0.8 * min(len(words), len(others))
