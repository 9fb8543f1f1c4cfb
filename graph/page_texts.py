"""Long texts of the graph page: selection and blocks.

A page of 50,000 entities cannot hold every sentence at once in a browser's memory, so texts lie in
blocks of which only those are unpacked that a reader opens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .model import Chunk, Evidence, GraphExport, Relation

MAX_CHARACTERS = 24_000_000
"""Maximum characters of evidence on a page; omissions are reported."""

MAX_PLACES = 12
"""Sentences kept for one relation at most."""

MAX_SENTENCE_CHARACTERS = 420
BLOCK_CHARACTERS = 240_000

_EMPHASIS = re.compile(r"(\*{1,3}|`+|__)(?=\S)(.+?)(?<=\S)\1")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKED = re.compile(r"[*`_\[]|^[-+>]")
_LIST_MARK = re.compile(r"^(?:[-*+>]\s+)+")


def readable(text: str) -> str:
    """Text as a reader wants it: even white space, no marks of Markdown around words."""
    text = " ".join(text.split())
    if not _MARKED.search(text):
        return text
    text = _LINK.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", _LIST_MARK.sub("", text))


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, the last an ellipsis where something was left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def evidence_spans(
    relations: Sequence[Relation], *, max_characters: int = MAX_CHARACTERS
) -> dict[str, list[Evidence]]:
    """By relation id the evidences that are taken along, at most `MAX_PLACES` each.

    The first evidence of every relation comes before the second of any, heavier relations before
    lighter ones, until `max_characters` are spent; a sentence is paid for once.
    """
    order = sorted(relations, key=lambda r: (-r.weight, r.id))
    kept: dict[str, list[Evidence]] = {relation.id: [] for relation in order}
    paid: set[Evidence] = set()
    left = max_characters
    for turn in range(MAX_PLACES):
        order = [relation for relation in order if len(relation.evidences) > turn]
        for relation in order:
            place = relation.evidences[turn]
            cost = 0 if place in paid else min(place.end - place.start, MAX_SENTENCE_CHARACTERS)
            if cost <= left:
                left -= cost
                paid.add(place)
                kept[relation.id].append(place)
    return kept


@dataclass
class TextBlock:
    """Texts with document and page numbers; −1 and 0 for none."""

    texts: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    characters: int = 0


class Texts:
    """Gathers texts, each once, and numbers them."""

    def __init__(self, export: GraphExport) -> None:
        self.blocks: list[TextBlock] = []
        self.starts: list[int] = []
        self._chunks = export.chunks
        self._count = 0
        self._numbers: dict[tuple[str, int, int], int] = {}
        self.documents = _documents(export.chunks.values())
        self._document_numbers = {key: number for number, (key, _) in enumerate(self.documents)}

    def document(self, chunk: Chunk) -> int:
        """Return the number of a chunk's document."""
        return self._document_numbers[chunk.document_id]

    def said(self, text: str) -> int:
        """Return the number of a text outside documents; −1 if empty."""
        text = readable(text)
        return self._put(text, document=-1, page=0) if text else -1

    def sentence(self, place: Evidence) -> int:
        """Return the number of the sentence at a place; −1 without one."""
        key = (place.chunk_id, place.start, place.end)
        if key not in self._numbers:
            chunk = self._chunks.get(place.chunk_id)
            text = readable(chunk.text[place.start : place.end]) if chunk else ""
            if chunk is None or not text:
                self._numbers[key] = -1
            else:
                self._numbers[key] = self._put(
                    cut(text, MAX_SENTENCE_CHARACTERS),
                    document=self.document(chunk),
                    page=chunk.page or 0,
                )
        return self._numbers[key]

    def _put(self, text: str, *, document: int, page: int) -> int:
        if not self.blocks or self.blocks[-1].characters > BLOCK_CHARACTERS:
            self.blocks.append(TextBlock())
            self.starts.append(self._count)
        block = self.blocks[-1]
        block.texts.append(text)
        block.documents.append(document)
        block.pages.append(page)
        block.characters += len(text)
        self._count += 1
        return self._count - 1


def _documents(chunks: Iterable[Chunk]) -> list[tuple[str, str]]:
    """Every document's id and title, sorted by title."""
    titles: dict[str, tuple[int, str, str]] = {}
    for chunk in chunks:
        first = (chunk.start, chunk.id, chunk.title)
        titles[chunk.document_id] = min(titles.get(chunk.document_id, first), first)
    return sorted(
        ((key, title) for key, (_, _, title) in titles.items()), key=lambda one: (one[1], one[0])
    )
