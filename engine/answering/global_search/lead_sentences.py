"""Sentences that introduce a document, a section or a topic, to be read alone and cited.

Candidates are ranked by the words that mark the part, by its title and by their place; of the best
those stand first that are nearest to all of them (centroid of an embedding model, where one is).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import is_chinese

from ...plain_text import strip_markdown
from ...storage.graph_api import Chunk
from ...storage.tokenization import tokens
from .standalone import introduces, is_personal, standalone_spans
from .topics import Topic, is_telling, spread_evenly

Encode = Callable[[Sequence[str]], NDArray[np.float32] | None]
"""Unit vectors of texts, a row each; None where no model reads them."""

_CANDIDATES = 10
"""Sentences of a part that are compared by meaning."""
_UNITS, _OPENING_CHUNKS, _SECTION_CHUNKS = 6, 3, 24
"""Documents of a topic that are read, and chunks of a document (of several) and of a section."""
_WHOLE = 2
"""Maximum number of sentences on the whole of a document."""
_SECOND = 0.6
"""Least share of the first sentence's score that a second one has."""
_ALIKE = 0.4
_FARTHER, _LATER = 0.8, 0.93
"""Factor for each document farther from the centre of its topic, and for each later sentence."""
_OTHER_LANGUAGE, _PERSONAL, _RIGHTS_WORTH = 0.1, 0.2, 0.2
_LEAST, _BARE = 0.1, 0.4
"""Worth of a sentence without a word of the part, and factor for no word of its title."""
_INTRODUCES, _DEFINES, _STATES = 5.0, 1.8, 1.2
"""Factors: "This book …", a definition of what the title names, another definition."""
_BEGINS, _BEGINNING = 2.0, 24
"""Factor for a sentence of a chapter that begins with its names, and characters that begin it."""
_MEANING = 4
"""Power of the likeness to all candidates."""
_RIGHTS = re.compile(r"^\d|licen[cs]e|copyright|trademark|许可|版权", re.IGNORECASE)
"""Rights, and lines of a log or table that begin with a figure."""
_DEFINITION = re.compile(
    r"(?P<subject>(?:The |An? )?[A-Z][^,;:]{2,80}?)(?: \([^)]*\))?,? (?:is|are|was|were)"
    r" (?:an?|the|one|part|[a-z]+ed)\b"
    r"|(?P<han>[^，。；：]{2,40})(?:（[^）]*）)?(?:是|为)"
)


@dataclass(frozen=True)
class Said:
    """A sentence of a chunk and how well it introduces a part."""

    chunk: Chunk
    start: int
    end: int
    score: float = 0.0
    form: float = 1.0

    @property
    def defines(self) -> bool:
        """Check that it introduces its document, or defines what the title names."""
        return self.form >= _DEFINES

    @property
    def text(self) -> str:
        """Its words on one line."""
        return " ".join(strip_markdown(self.chunk.text[self.start : self.end]).split())


def leading_sentences(
    topics: Sequence[tuple[Topic, str]],
    encode: Encode,
    *,
    chinese: bool,
    most: int,
    chapters: bool = False,
) -> tuple[list[Said], list[list[Said]]]:
    """Return sentences on the whole, and at most `most` for each topic, none told twice.

    Args:
        topics: with their titles.
        encode: compares by meaning.
        chinese: whether sentences in Chinese are preferred, or those that are not.
        most: maximum number of sentences of a topic.
        chapters: whether units are chapters, which are read whole, and of which the sentences on
            the whole are chosen; of documents the beginnings are read.
    """
    ranked = [_candidates(topic, title, chinese, chapters) for topic, title in topics]
    every = [said for some in ranked for said in some]
    vectors = encode([said.text for said in every]) if every else None
    told: list[frozenset[str]] = []
    whole: list[Said] = []
    if chapters and vectors is not None:
        whole = _chosen(_by_meaning([_plain(said) for said in every], vectors), told, _WHOLE)
    shown = []
    at = 0
    for some in ranked:
        if vectors is not None and some:
            some = _by_meaning(some, vectors[at : at + len(some)])
        at += len(some)
        shown.append(_chosen(some, told, most))
    return whole, shown


def _plain(said: Said) -> Said:
    """Return a sentence that likeness alone ranks."""
    return replace(said, score=1.0)


def _candidates(topic: Topic, title: str, chinese: bool, chapters: bool) -> list[Said]:
    """Return the best sentences by words, form and place, each text once."""
    scored: dict[str, Said] = {}
    for said in _scored(topic, title, chinese, chapters):
        known = scored.get(said.text)
        if known is None or said.score > known.score:
            scored[said.text] = said
    ranked = sorted(
        scored.values(),
        key=lambda said: (-said.score, said.chunk.document_id, said.chunk.start, said.start),
    )
    return ranked[:_CANDIDATES]


def _scored(topic: Topic, title: str, chinese: bool, chapters: bool) -> Iterator[Said]:
    """Yield sentences that can be read alone, with their scores."""
    top = max(topic.weights.values(), default=0.0) or 1.0
    for turn, unit in enumerate(topic.units[:_UNITS]):
        heads = frozenset(tokens(title)) | frozenset(tokens(unit.title))
        if chapters and not is_telling(unit.title):
            heads = frozenset()
        most = _SECTION_CHUNKS if chapters else _OPENING_CHUNKS
        chunks = spread_evenly(unit.chunks, most) if chapters else unit.chunks[:most]
        places = (
            (chunk, *span)
            for chunk in chunks
            for span in standalone_spans(chunk.text, introductions=not chapters)
        )
        for number, (chunk, start, end) in enumerate(places):
            text = chunk.text[start:end]
            if is_personal(text) and not (chapters or introduces(text)):
                continue
            words = frozenset(tokens(text))
            form = _form(text, heads)
            value = _FARTHER**turn * form * (_BARE + len(words & heads) / (len(heads) or 1))
            if chapters and heads:
                value *= _BEGINS if heads & set(tokens(text[:_BEGINNING])) else 1.0
            else:
                told = _LEAST + sum(topic.weights.get(word, 0.0) for word in words) / top
                value *= told / math.sqrt(len(words) or 1) * (1.0 if chapters else _LATER**number)
            yield Said(chunk, start, end, round(value * _fitness(text, chinese), 6), form)


def _fitness(text: str, chinese: bool) -> float:
    """Return a factor for sentences that fit a reader badly."""
    value = _OTHER_LANGUAGE if is_chinese(text) != chinese else 1.0
    value *= _RIGHTS_WORTH if _RIGHTS.search(text) else 1.0
    return value * (_PERSONAL if is_personal(text) and not introduces(text) else 1.0)


def _form(text: str, heads: Set[str]) -> float:
    """Return a factor for sentences that introduce or define."""
    if introduces(text):
        return _INTRODUCES
    found = _DEFINITION.match(text)
    if found is None:
        return 1.0
    return _DEFINES if heads & set(tokens(found["subject"] or found["han"])) else _STATES


def _by_meaning(some: Sequence[Said], vectors: NDArray[np.float32]) -> list[Said]:
    """Return candidates ranked by likeness to all of them, too."""
    near = vectors @ vectors.mean(axis=0)
    near = np.maximum(near / max(near.max(), 1e-6), 0.0) ** _MEANING
    scored = [
        replace(said, score=round(said.score * float(one), 5))
        for said, one in zip(some, near, strict=True)
    ]
    return sorted(scored, key=lambda said: (said.form < _INTRODUCES, -said.score))


def _chosen(ranked: Sequence[Said], told: list[frozenset[str]], most: int) -> list[Said]:
    """Return the best sentences unlike those told before, which they join."""
    chosen: list[Said] = []
    for said in ranked:
        if len(chosen) == most or (chosen and said.score < _SECOND * chosen[0].score):
            break
        words = frozenset(tokens(said.text))
        if not any(is_alike(words, other) for other in told):
            chosen.append(said)
            told.append(words)
    return chosen


def is_alike(words: frozenset[str], others: frozenset[str]) -> bool:
    """Check whether two sentences share much of the shorter one's words."""
    least = min(len(words), len(others))
    return len(words & others) > _ALIKE * least or not least
