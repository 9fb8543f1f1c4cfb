"""Page on a subject, or on an aspect such as conflicts: what tells of it, by document and section.

Parts about the subject come first, section by section, then the best windows of sentences of the
other documents (see `windows`), or where nothing reads the sentences whose words tell most.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...storage.graph_api import Chunk
from ...storage.tokenization import tokens_of
from ..packing import Draft
from .about import is_named, outline
from .asked import Found
from .books import books_of
from .named_things import NamedThings
from .people import introduce
from .sentences import (
    Said,
    Telling,
    central_words,
    early_first,
    is_in,
    sentences_of,
    shared_words,
)
from .topics import Unit, plain_title, sections, shared_path, titled, units_of
from .windows import best_windows, read_windows, sure_windows, widened

_PER_DOCUMENT, POINTS, _FEW, _COMPARED = 2, 14, 6, 100
"""Sentences of a document about a subject and of all; fewer are filled up with those in another
language; those compared with the question."""
NEXT_BEST, _WORTH = 0.2, 0.5
"""Least share of the best value that a further sentence has, and what every sentence is worth."""
_WINDOWS, _FEW_WINDOWS = 8, 3
"""Windows of sentences about a subject, and those beside parts that are about it."""
_ABOUT, _LEAST_ABOUT = 8, 2
"""Sentences of all parts about a subject, and the fewest of one."""
_TOLD, _SECTIONS, _PAGES = 6, 12, 2_000
"""Most sections of a part that are told, and that are listed beside them; and documents of a folder
among which those of a chapter are looked for."""
_LEADING, _OF_LEADING, _TELLING = 5, 3, 60
"""First windows; so many of them of one document tell that it is about the subject, where it has no
more passages than that."""
_ASPECT, _WELL = 0.5, 1.4
"""Part of an aspect beside a subject, and the most that form and place are worth."""
_ARTICLE = re.compile(r"\s*(?:the|an?)\s+", re.IGNORECASE)
_UNNAMED = 0.25
"""Factor for words that stand in no name."""


def _by_document(groups: Iterable[list[Said]], told: Iterable[str]) -> list[list[Said]]:
    """Return groups of windows, those of a document behind each other, of those told of first."""
    found = list(groups)
    names = (*told, *(some[0].chunk.document_id for some in found))
    rank = {name: row for row, name in reversed([*enumerate(names)])}
    return sorted(found, key=lambda some: rank[some[0].chunk.document_id])


def _best_told(
    told: Sequence[tuple[str, Said | None]], read: Sequence[Said], most: int
) -> list[tuple[str, Said]]:
    """Return at most so many sections in their order, those that were read before the others."""
    found = [(name, one) for name, one in told if one]
    worth = [one.worth if one in read else -math.inf for _, one in found]
    rows = sorted(range(len(found)), key=lambda row: (-worth[row], row))[:most]
    return [found[row] for row in sorted(rows)]


@dataclass
class SubjectPage(NamedThings):
    """Page on what some documents tell of a subject or an aspect.

    Attributes:
        found: the passages that tell of the subject.
        documents: how many documents may be seen.
        about: the parts that have the subject for their title.
    """

    found: Found
    documents: int
    about: Sequence[Unit]

    def points(self) -> Draft:
        """Return what is told of it, by document and section, each with its best sentences.

        The figure `titled` is 1 where a part is about the subject, `worded` is 1 where the
        documents have its words, or a reader finds what tells of it.
        """
        introduced = self._introduction()
        is_mostly = not self.about
        if is_mostly:
            self.about = self._mostly_told()
        inside = {chunk.id for unit in self.about for chunk in unit.chunks}
        blocks, tellers = [], dict[str, None]()
        of_sections = self._told_about(read_alone=is_mostly)
        for unit, (telling, others) in zip(self.about, of_sections, strict=True):
            if not telling:
                continue
            blocks.append(self.block(self._head(unit.chunks[0], unit.headings), telling))
            others = [*others, *self._pages_below(unit)]
            if others:
                shown = others[:_SECTIONS] + ["…"] * (len(others) > _SECTIONS)
                names = self.say("; ", "；").join(shown)
                blocks[-1] += f"\n- {self.say('Further sections: ', '其他各节：')}{names}"
            tellers[unit.document_id] = None
        sure = sure_windows(self._windows, chinese=self.chinese)
        read = sure if blocks or len(sure) >= _FEW_WINDOWS else self._windows
        ranked = [one for one in read or self._ranked() if one.chunk.id not in inside]
        own = [one for one in ranked if self._windows or is_in(one.text, self.chinese)]
        documents = len({one.document_id for one in self.chunks})
        room = _PER_DOCUMENT if documents > 2 else POINTS
        most = max(_FEW_WINDOWS, POINTS - len(self.cited.found))
        if self._windows:
            most = max(_FEW_WINDOWS, _WINDOWS - len(self.cited.found))
            chosen = best_windows(own, most, said=self.telling.said)
        else:
            chosen = self.telling.choose(own, most, least=NEXT_BEST, per_document=room)
        if len(chosen) + len(blocks) < (1 if self.asked.subject else _FEW):
            foreign = [one for one in ranked if one not in own]
            chosen += self.telling.choose(foreign, _FEW - len(chosen), per_document=room)
        held: defaultdict[tuple[str, tuple[str, ...]], list[Said]] = defaultdict(list)
        for said in chosen:
            held[said.chunk.document_id, said.chunk.headings].append(said)
        last = next(reversed(tellers), "")
        for some in _by_document(held.values(), tellers):
            some.sort(key=lambda one: one.place)
            chunk = some[0].chunk
            is_next = chunk.document_id == last and chunk.headings
            head, last = plain_title(chunk.headings[-1]) if is_next else "", chunk.document_id
            blocks.append(self.block(head or self._head(chunk, chunk.headings), some))
            tellers[chunk.document_id] = None
        count = len({*tellers, *(one.chunk.document_id for one in introduced)})
        told = "One document tells" if count == 1 else f"{count} documents tell"
        lead = self.say(f"{told} of this:", f"{count} 份文档谈到了这个问题：")
        first = [self.cited.line(one, self.chinese) for one in introduced]
        draft = self.made("\n".join((lead, *first)), blocks)
        is_worded = bool(self.found.words or self._windows)
        signs = {"titled": float(bool(self.about)), "worded": float(is_worded)}
        return replace(draft, figures={**draft.figures, **signs})

    def _introduction(self) -> list[Said]:
        """Return the sentence that says what the subject is; none where none does."""
        topic = _ARTICLE.sub("", self.asked.topic)
        names = {topic, topic[:1].upper() + topic[1:]}
        subject, is_person = frozenset(self.asked.subject), False
        if not subject or tokens_of(topic) != subject:
            return []
        for name, one in self._proper(self.spread):
            if subject in map(tokens_of, (name, one.name, *one.aliases)):
                names, is_person = {name, one.name, *one.aliases}, one.type == "PERSON"
                break
        told = introduce(
            max(names, key=lambda one: (len(one), one)), names, self.chunks,
            chinese=self.chinese, is_person=is_person, read=self.scene.reader,
        )  # fmt: skip
        if told is None or not told.is_told or not is_in(told.said.text, self.chinese):
            return []
        self.telling.said.append(told.said.words)
        self.cited.mark(told.said)
        return [told.said]

    def _mostly_told(self) -> list[Unit]:
        """Return the document, or its section, that tells most of the subject, whatever its title.

        None where several tell as much, or where there is but one.
        """
        if self.documents < 2:
            return []
        first = list({one.place: one for one in reversed(self._windows[:_LEADING])}.values())[::-1]
        own = [one.chunk for one in first if one.chunk.document_id == first[0].chunk.document_id]
        if len(own) < _OF_LEADING:
            return []
        document, above = own[0].document_id, shared_path([one.headings for one in own])
        places = self.scene.places.document_of
        keys = [key for key, name in places.items() if name == document]
        whole = self.scene.ordered(keys) if len(keys) <= _TELLING else ()
        below = [one for one in whole if one.headings[: len(above)] == above]
        return [Unit(document, above, tuple(below))] if below else []

    def _pages_below(self, unit: Unit) -> list[str]:
        """Return the titles of the other documents of the chapter that a document begins."""
        folder = unit.document_id.rpartition("/")[0]
        if unit.headings[1:]:
            return []
        first: dict[str, str] = {}
        for key, document in self.scene.places.document_of.items():
            if document.rpartition("/")[0] == folder and self._is_seen(document):
                first.setdefault(document, key)
        if len(first) > _PAGES:
            return []
        books, _ = books_of(units_of(list(self.scene.chunks(first.values()).values())))
        chapters = (one for book in books for one in book.chapters)
        chapter = next((one for one in chapters if one.document_id == unit.document_id), None)
        told = {chunk.document_id for one in self.about for chunk in one.chunks}
        pages = chapter.chunks if chapter else ()
        below = {one.document_id: one.title for one in pages if one.document_id not in told}
        ordered = sorted(below.values(), key=lambda title: [*map(int, re.findall(r"\d+", title))])
        return [re.sub(r"^(?:[A-Z]\.)?[\d.]+\s+", "", plain_title(title)) for title in ordered]

    def _is_seen(self, document: str) -> bool:
        return self.scene.admitted is None or document in self.scene.admitted

    def _told_about(self, *, read_alone: bool) -> list[tuple[list[Said], list[str]]]:
        """Return what tells most of each part about the subject, and its sections left out.

        `read_alone`: of sections in which nothing was read only the names are told.
        """
        own = {unit.document_id for unit in self.about}
        others = sections([one for one in self.chunks if one.document_id not in own], depth=0)
        parts = [unit.chunks for unit in (*self.about, *others)]
        most = max(_LEAST_ABOUT, _ABOUT // max(1, len(self.about)))
        told: list[tuple[list[Said], list[str]]] = []
        count = 0
        for unit, weights in zip(self.about, central_words(parts), strict=False):
            ids = {chunk.id for chunk in unit.chunks}
            read = [one for one in self._windows if one.chunk.id in ids]
            if self._windows and not read and not is_named(unit, self.found):
                told.append(([], []))  # its title has but some words of the subject
                continue
            known, room = self.telling.said, max(_LEAST_ABOUT, POINTS - _FEW_WINDOWS - count)
            is_own = is_named(unit, self.found)  # each of its sections is about the subject
            parts_told = outline(
                unit, read,
                chinese=self.chinese, is_own=is_own, read_alone=read_alone, said=known,
            )  # fmt: skip
            by_section = _best_told(parts_told, () if is_own else read, min(_TOLD, room))
            chosen = (
                [
                    replace(one, speaker=": ".join(filter(None, (name, one.speaker))))
                    for name, one in by_section
                ]
                or self._from_opening(
                    () if read_alone else unit.chunks,
                    best_windows(read, min(most, _WINDOWS // 2), said=known),
                )
                or self._central_sentences(unit, weights, most)
            )
            count += len(chosen)
            self.telling.said += [one.words for one in chosen]
            names = [name for name, one in parts_told if name and (name, one) not in by_section]
            told.append((chosen, names))
        return told

    def _from_opening(self, chunks: Sequence[Chunk], told: Sequence[Said]) -> list[Said]:
        """Return what a part begins with, where that can be read alone, and what tells of it."""
        opening = [widened(one) for one in sentences_of(chunks[:1], chinese=self.chinese)[:1]]
        if not told or not opening or opening[0].repeats(told):
            return list(told)
        return [*opening, *told]

    @cached_property
    def _windows(self) -> list[Said]:
        """Windows of sentences about the subject, by a reader; none without one."""
        reader = self.scene.reader
        if reader is None or not self.asked.subject:
            return []
        return read_windows(
            self.asked.topic, self.found, reader,
            chinese=self.chinese, headed=lambda one: self._head(one, one.headings),
        )  # fmt: skip

    def _head(self, chunk: Chunk, headings: Sequence[str]) -> str:
        """Return the title of a document and the last heading, with its language if another."""
        language = "" if is_in(chunk.text, self.chinese) else self.say(" (in Chinese)", "（英文）")
        return titled(chunk.title, headings) + language

    def _ranked(self) -> list[Said]:
        """Return sentences worth what they tell of what is asked, by words and by meaning."""
        scored = [
            replace(said, worth=round(self._by_words(said), 6))
            for said in sentences_of(self.chunks, chinese=self.chinese)
        ]
        scored = [one for one in scored if one.worth > 0]
        scored.sort(
            key=lambda one: (-one.worth * self.telling.value(replace(one, worth=1.0)), one.place)
        )
        scored = scored[:_COMPARED]
        vectors = self.scene.retriever.text_vectors([self.asked.query, *(s.text for s in scored)])
        if vectors is None or len(scored) < 2:
            return scored
        near = vectors[1:] @ vectors[0]
        near = (near - near.min()) / max(float(np.ptp(near)), 1e-6)
        return [
            replace(said, worth=round(said.worth * (_WORTH + float(like)), 6))
            for said, like in zip(scored, near, strict=True)
        ]

    def _by_words(self, said: Said) -> float:
        """Return how far a sentence tells of what is asked, by its words and its passage's rank."""
        told = self.asked.aspect.words if self.asked.aspect else frozenset()
        value = min(2.0, len(said.words & told))
        if self.found.scores:  # a part that the question names was not searched for
            value = _ASPECT * value + self.found.scores[said.chunk.id] / max(
                self.found.scores.values()
            )
            value += 2 * self.found.weight(said.words) if self.found.words else 0.0
        return value * min(said.worth, _WELL)

    @cached_property
    def telling(self) -> Telling:
        """Coverage so far; words in names of the graph count most."""
        weights = shared_words([unit.chunks for unit in self.units])
        named = tokens_of(*(one.name for one, count in self.spread.items() if count > 1))
        return Telling(
            {word: value * (1.0 if word in named else _UNNAMED) for word, value in weights.items()},
            power=0.5 if self.asked.subject or self.asked.aspect else 1.0,
        )

    def _central_sentences(self, unit: Unit, weights: Mapping[str, float], most: int) -> list[Said]:
        found = early_first(sentences_of(unit.chunks, chinese=self.chinese))
        own = [one for one in found if is_in(one.text, self.chinese)]
        telling = replace(self.telling, weights=weights, told=set())
        chosen = telling.choose(own or found, most, least=NEXT_BEST)
        return sorted(chosen, key=lambda one: one.place)
