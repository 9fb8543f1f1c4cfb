"""Overview without a language model: a table of contents with sources.

First what the collection is: how many documents, in which languages, and what most of them name.
Then its parts by title: chapters of a document or a book, documents where they are few, else topics
of alike documents; each with sentences that introduce it. Then years, people and places. A question
with a subject is answered from the sections that retrieval finds for it. Names come from the graph
of the visible documents and stand in their text.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from graph.text.cjk import has_han, is_chinese

from ...plain_text import strip_markdown
from ...prompts import language_of
from ...retrieval.passages import Tracer
from ...storage.graph_api import Chunk, Entity, sentence_spans
from ...storage.tokenization import tokens
from ...types import Citation
from ..packing import Draft, abstain
from .context import GlobalContext
from .lead_sentences import Said, is_alike, leading_sentences
from .standalone import standalone_spans
from .subject import Subject, search_subject
from .topics import (
    Book,
    Topic,
    Unit,
    books_of,
    group_units,
    is_numbered,
    is_telling,
    key_phrases,
    key_words,
    plain_title,
    sample_chunks,
    spread_evenly,
    units_of,
)

MAX_NAMES, _LISTED = 4, 6
"""Maximum number of names of a part, and of people and of places that are listed."""
CHAPTERS, TOLD_PARTS = 40, 20
"""Parts of one document that are listed, and parts or documents that are told of one by one."""
_OF_SUBJECT, _ON_SUBJECT, _COMPARED = 3, 14, 60
"""Sentences of a section about a subject and of all, and those compared with the question."""
_NEXT_BEST, _ELSEWHERE = 0.5, 0.35
"""Least share of the best score that a further sentence has, and the first one of a section."""
_OPENS = 1.3
"""Factor for the first sentence of a section."""
_OFTEN = 3
"""Chunks of a part that hold a name that is shown beside its title."""
_SHOWN_TITLES = 6
_OTHER_TITLE, _UNTOLD, _FARTHER, _MANY = 0.5, 0.2, 0.85, 9
"""Factors for titles in another script, for those that say nothing, and for each unit farther from
the centre; so many units are named by the phrases that they share."""
_MOST, _OPENING_NAMES = 0.3, 5
"""Least share of the documents that hold a name in the opening line, and number of those names."""
_KINDS = {
    "PERSON": 1.0,
    "ORGANISATION": 1.0,
    "PLACE": 0.8,
    "PRODUCT": 1.0,
    "WORK": 0.8,
    "EVENT": 0.8,
}
_YEAR = re.compile(
    r"(?:\b(?:in|since|until|from|to|by|of|during|between|and|around|about|early|late|after|before"
    r"|January|February|March|April|May|June|July|August|September|October|November|December|spring"
    r"|summer|autumn|winter),? |\(|[–—]\s?|born |\b\d{1,2}, )(1[0-9]\d\d|20\d\d)(?![\d,.:/%-]\d|\d)"
    r"(?! ?(?:bytes|packages|files|people|pages|words|k?m\b|tonnes|pounds))"
    r"|(?<!\d)(1[0-9]\d\d|20\d\d)(?=\s?年)"
)
_FEW_YEARS, _OUTER, _GAP = 3, 0.02, 100
"""Fewer years are not told; share of the years left out at either end, and years between the
first one told and the next."""
_COMMON = 0.3
"""A capitalised word is no name where it stands in small letters more often than this share."""
_PERSON_ZH = re.compile(r"[^\W\da-zA-Z]{2,4}|[^\W\da-zA-Z]+·[^\W\da-zA-Z]+")


@dataclass
class _Cited:
    """Citations in order of first use; a span has one number."""

    found: dict[tuple[str, int, int], Citation] = field(default_factory=dict)

    def mark(self, said: Said) -> str:
        """Return the mark of a sentence, cited from now on."""
        chunk = said.chunk
        key = (chunk.document_id, chunk.start + said.start, chunk.start + said.end)
        if key not in self.found:
            self.found[key] = Citation(
                number=len(self.found) + 1,
                document_id=chunk.document_id,
                chunk_id=chunk.id,
                title=chunk.title,
                quote=chunk.text[said.start : said.end],
                start=key[1],
                end=key[2],
                page=chunk.page,
            )
        return f"[{self.found[key].number}]"

    def quote(self, said: Said) -> str:
        """Return a sentence with its mark."""
        return f"{strip_markdown(said.chunk.text[said.start : said.end])} {self.mark(said)}"


@dataclass(frozen=True)
class _Entities:
    """Entities named in chunks, as the visible documents give them."""

    of_chunk: Mapping[str, tuple[Entity, ...]]

    @classmethod
    def of(cls, scene: GlobalContext, chunks: Iterable[Chunk]) -> _Entities:
        """Read the entities of these chunks."""
        seen, labels = scene.seen(), scene.places.labels
        return cls(
            {
                chunk.id: tuple(
                    seen.entities[number]
                    for label in labels.get(chunk.id, ())
                    for number in seen.seen_as.get(label, ())
                )
                for chunk in chunks
            }
        )

    def ids(self, chunk_id: str) -> list[str]:
        """Return the ids of the entities in a chunk."""
        return [entity.id for entity in self.of_chunk.get(chunk_id, ())]

    def within(self, chunks: Iterable[Chunk]) -> Counter[Entity]:
        """Count the chunks that name each entity."""
        return Counter(one for chunk in chunks for one in self.of_chunk.get(chunk.id, ()))


def table_of_contents(scene: GlobalContext, watch: Tracer) -> Draft:
    """Return the table of contents of the visible documents, or of what they say of a subject."""
    if not scene.generic:
        subject, units = search_subject(scene)
        return _SubjectPage(scene, watch, units, subject).draft()
    by_document: defaultdict[str, list[str]] = defaultdict(list)
    for key, document in scene.places.document_of.items():
        if scene.admitted is None or document in scene.admitted:
            by_document[document].append(key)
    chunks = scene.chunks(sample_chunks(by_document))
    units = units_of(list(chunks.values()))
    return _Page(scene, watch, units, documents=len(by_document)).draft()


@dataclass
class _Writer:
    """Parts that both kinds of pages are made with."""

    scene: GlobalContext
    watch: Tracer
    units: Sequence[Unit]
    cited: _Cited = field(default_factory=_Cited, kw_only=True)

    @cached_property
    def chinese(self) -> bool:
        """Check for a question in Chinese."""
        return language_of(self.scene.question) == "zh"

    def say(self, english: str, chinese: str) -> str:
        """Return what is said in the question's language."""
        return chinese if self.chinese else english

    def listed(self, names: Iterable[str]) -> str:
        """Return names in a row."""
        return self.say(", ", "、").join(names)

    def page(self, lead: str, blocks: Sequence[str], rest: str = "") -> Draft:
        """Return the page, or abstain where nothing can be cited."""
        citations = tuple(self.cited.found.values())
        self.watch.record("topics", f"{len(blocks)} topic(s) of {len(self.units)} part(s)",
                          "; ".join(one.partition("\n")[0] for one in blocks),
                          topics=len(blocks), parts=len(self.units))  # fmt: skip
        if not citations:
            language = language_of(self.scene.question)
            return abstain(language, detail="no sentence tells of a topic")
        return Draft(
            text="\n\n".join(filter(None, (lead, *blocks, rest))),
            citations=citations,
            detail=f"{len(blocks)} topic(s), {len(citations)} sentence(s)",
            figures={
                "topics": float(len(blocks)),
                "points": float(len(citations)),
                "documents": float(len({one.document_id for one in citations})),
            },
        )


@dataclass
class _SubjectPage(_Writer):
    """Page on the subject of a question, by document and section."""

    subject: Subject

    def draft(self) -> Draft:
        """Return the sections that tell of it, each with its best sentences."""
        chosen: dict[int, list[Said]] = {}
        told: list[frozenset[str]] = []
        ranked = self._ranked()
        for place, said in ranked:
            least = (_NEXT_BEST if place in chosen else _ELSEWHERE) * ranked[0][1].score
            if said.score < least or len(told) == _ON_SUBJECT:
                continue
            words = frozenset(tokens(said.text)) - self.subject.words.keys()
            is_room = place in chosen or len(chosen) < self.scene.plan.topics
            is_room = is_room and len(chosen.get(place, ())) < _OF_SUBJECT
            if is_room and not any(is_alike(words, other) for other in told):
                chosen.setdefault(place, []).append(said)
                told.append(words)
        blocks = []
        for place, some in sorted(chosen.items()):
            some.sort(key=lambda one: one.chunk.start + one.start)
            lines = [f"- {self.cited.quote(said)}" for said in some]
            blocks.append("\n".join((_heading(self.units[place]) + self.say(":", "："), *lines)))
        documents = len({one.document_id for one in self.cited.found.values()})
        these = "One document says" if documents == 1 else f"{documents} documents say"
        lead = self.say(f"{these} something about it:", f"{documents} 份文档谈到了这个问题：")
        return self.page(lead, blocks)

    def _ranked(self) -> list[tuple[int, Said]]:
        """Return sentences with the place of their unit, by the subject's words and by meaning."""
        found: list[tuple[int, Said]] = []
        for place, unit in enumerate(self.units):
            for chunk in unit.chunks:
                for number, (start, end) in enumerate(standalone_spans(chunk.text)):
                    text = chunk.text[start:end]
                    value = self.subject.told_by(frozenset(tokens(text)), chunk)
                    value *= _FARTHER ** min(place, _MANY) * (1.0 if number else _OPENS)
                    value *= _OTHER_TITLE if is_chinese(text) != self.chinese else 1.0
                    found.append((place, Said(chunk, start, end, round(value, 6))))
        found.sort(key=lambda one: (-one[1].score, one[0], one[1].chunk.start + one[1].start))
        worded = [one for one in found if one[1].score > 0]
        return self._by_meaning((worded if len(worded) > _OF_SUBJECT else found)[:_COMPARED])

    def _by_meaning(self, found: Sequence[tuple[int, Said]]) -> list[tuple[int, Said]]:
        """Return sentences ranked by their likeness to the question, too."""
        texts = [said.text for _, said in found]
        vectors = self.scene.retriever.text_vectors([self.scene.question, *texts])
        if vectors is None or len(found) < 2:
            return [one for one in found if one[1].score > 0]
        near = vectors[1:] @ vectors[0]
        near = (near - near.min()) / max(float(np.ptp(near)), 1e-6)
        top = found[0][1].score or 1.0
        scored = []
        for (place, said), like in zip(found, near, strict=True):
            fits = 1.0 if is_chinese(said.text) == self.chinese else _OTHER_TITLE
            scored.append(
                (place, replace(said, score=round(fits * (said.score / top + float(like)), 5)))
            )
        return sorted(scored, key=lambda one: -one[1].score)


@dataclass
class _Page(_Writer):
    """The table of contents of the documents."""

    documents: int

    def draft(self) -> Draft:
        """Return the page of a document, of books, of few documents or of many."""
        if self.documents == 1:
            return self._of_document()
        books, others = books_of(self.units)
        if sum(book.documents for book in books) * 2 > len(self.units):
            blocks = [self._book(book) for book in books]
            blocks += self._topics(others, most=max(1, self.scene.plan.topics - len(books)))
            books_told = f"in {len(books)} books" if len(books) > 1 else "in one book"
            parts = self.say(books_told, f"分为 {len(books)} 本书")
        elif len(self.units) <= TOLD_PARTS:
            blocks = self._topics(self.units, most=TOLD_PARTS)
            parts = self.say("one by one", "逐一列出")
        else:
            blocks = self._topics(self.units, most=self.scene.plan.topics)
            parts = self.say(f"on {len(blocks)} topics", f"分为 {len(blocks)} 个主题")
        return self.page(self._opening(parts), blocks, self._facts())

    # --- what is known of the whole ---------------------------------------------------------

    @cached_property
    def known(self) -> _Entities:
        """The entities of all chunks that were read."""
        return _Entities.of(self.scene, self._chunks)

    @cached_property
    def _chunks(self) -> list[Chunk]:
        return [chunk for unit in self.units for chunk in unit.chunks]

    @cached_property
    def spread(self) -> Counter[Entity]:
        """The number of units that name each entity."""
        return Counter(one for unit in self.units for one in sorted(
            self.known.within(unit.chunks), key=lambda entity: entity.id))  # fmt: skip

    @cached_property
    def _written(self) -> Counter[str]:
        """The number of times that each word stands as it is written."""
        return Counter(
            word for chunk in self._chunks for word in re.findall(r"[A-Za-z][\w’'-]+", chunk.text)
        )

    def _opening(self, parts: str) -> str:
        """Return what the collection is, in a sentence or two."""
        sample = ""
        if self.documents > len(self.units):
            sample = self.say(
                f", of which {len(self.units)} were read", f"，抽取其中 {len(self.units)} 份"
            )
        chinese = sum(unit.is_chinese for unit in self.units)
        english = len(self.units) - chinese
        languages = ""
        if chinese and english:
            languages = self.say(f" ({english} in English, {chinese} in Chinese)",
                                 f"（中文 {chinese} 份，英文 {english} 份）")  # fmt: skip
        head = self.say(
            f"{self.documents:,} documents{languages}{sample}, {parts}.",
            f"{self.documents:,} 份文档{languages}{sample}，{parts}。",
        )
        return head + self._named()

    def _named(self) -> str:
        """Return the names that most of the units hold."""
        least = max(2, math.ceil(_MOST * len(self.units)))
        often = [
            one for one in self._proper(self.spread, self._chunks) if self.spread[one[1]] >= least
        ]
        names = list(dict.fromkeys(name for name, _ in often))[:_OPENING_NAMES]
        told = (
            self.say(" Named most often: ", "最常提到：") + self.listed(names) + self.say(".", "。")
        )
        return told if names else ""

    def _proper(
        self, counted: Counter[Entity], chunks: Sequence[Chunk]
    ) -> list[tuple[str, Entity]]:
        """Return the entities that read as names, the most frequent first, as they are shown."""
        ranked = sorted(counted, key=lambda one: (-counted[one], -one.mention_count, one.name))
        shown: list[tuple[str, Entity]] = []
        for entity in ranked:
            if len(shown) == 4 * _LISTED:
                break
            if entity.type in _KINDS and self._is_name(entity.name):
                name = self._shown(entity, chunks)
                if name and not any(_overlap(name, one) for one, _ in shown):
                    shown.append((name, entity))
        return shown

    def _is_name(self, name: str) -> bool:
        """Check that a name's words are seldom written in small letters."""
        if re.search(r"[,/，、]|\bet\b", name):
            return False
        words = [word for word in re.findall(r"[A-Za-z][\w’'-]+", name) if word[0].isupper()]
        return (bool(words) or has_han(name)) and all(
            self._written[word.lower()] <= _COMMON * (self._written[word] + 1) for word in words
        )

    def _facts(self) -> str:
        """Return years, people and places, a line each."""
        lines: list[str] = []
        told: list[str] = []
        if years := _years(chunk.text for chunk in self._chunks):
            lines.append(self.say("Years: ", "时间：") + "–".join(map(str, years)))
        for kind, head in (("PERSON", self.say("People: ", "人物：")),
                           ("PLACE", self.say("Places: ", "地点："))):  # fmt: skip
            some = Counter({one: n for one, n in self.spread.items() if one.type == kind and n > 1})
            names = [
                name
                for name, _ in self._proper(some, self._chunks)
                if kind == "PLACE" or self.documents == 1 or _is_person(name)
            ]
            names = [
                name
                for name in names
                if not re.search(r"[A-Z]{2}|\d", name)
                and not any(_overlap(name, one) for one in told)
            ]
            if len(names) > 1:
                told += names
                lines.append(head + self.listed(names[:_LISTED]))
        return "\n".join(lines)

    def _shown(self, entity: Entity, chunks: Sequence[Chunk]) -> str:
        """Return the entity's name in the question's language that stands in one of the chunks."""
        names = (entity.name, *entity.aliases)
        fitting = [name for name in names if has_han(name) == self.chinese] or [entity.name]
        for name in fitting[:4]:
            folded = name.casefold()
            if any(folded in " ".join(chunk.text.split()).casefold() for chunk in chunks):
                return " ".join(name.split())
        return ""

    # --- parts ------------------------------------------------------------------------------

    def _of_document(self) -> Draft:
        """Return the parts of one document in their order, with sentences where they are few."""
        units = spread_evenly(self.units, CHAPTERS)
        order = {unit: place for place, unit in enumerate(units)}
        topics = group_units(
            units, entities_of=self.known.ids, most=len(units), chinese=self.chinese
        )
        topics.sort(key=lambda topic: order[topic.units[0]])
        title = self._document_title()
        topics = [
            topic for topic in topics if topic.units[0].title != title or len(topics) < _MANY // 2
        ]
        titles = [topic.units[0].title for topic in topics]
        names = [
            self._names(topic, name, least=_OFTEN)
            for topic, name in zip(topics, titles, strict=True)
        ]
        whole: list[Said] = []
        told: list[list[Said]] = [[] for _ in topics]
        if len(topics) <= TOLD_PARTS:
            heads = [" ".join((one, *some)) for one, some in zip(titles, names, strict=True)]
            whole, told = self._sentences(topics, heads, most=1, chapters=True)
        silent = sum(not is_telling(one) for one in titles) * 2 > len(titles)
        lead = [self.cited.quote(said) for said in whole if silent]
        lines = []
        for topic, head, some, said in zip(topics, titles, names, told, strict=True):
            shown = head or self.listed(key_words(topic, MAX_NAMES))
            shown += "" if said else self._heading_mark(topic.units[0])
            lines.append("- " + self.say(": ", "：").join(filter(None, (shown, self.listed(some)))))
            lines += [f"  {self.cited.quote(one)}" for one in said]
        opening = self.say(
            f"{title}, one document in {len(topics)} parts.",
            f"《{title.strip('《》')}》，一份文档，分为 {len(topics)} 个部分。",
        )
        blocks = [*(["\n".join(lead)] if lead else []), "\n".join(lines)]
        return self.page(opening + self._named(), blocks, self._facts())

    def _document_title(self) -> str:
        """Return the title of the one document; its file's name where that is a chapter's."""
        title = self.units[0].chunks[0].title
        if is_numbered(title):
            return self.units[0].document_id.rpartition("/")[2].rpartition(".")[0] or title
        return plain_title(title)

    def _heading_mark(self, unit: Unit) -> str:
        """Return a mark that cites the heading of a unit, else its first words."""
        heading = unit.headings[-1] if unit.headings else unit.chunks[0].title
        for chunk in unit.chunks[:3]:
            at = chunk.text.find(heading)
            if at >= 0:
                return " " + self.cited.mark(Said(chunk, at, at + len(heading)))
        spans = sentence_spans(unit.chunks[0].text)
        return " " + self.cited.mark(Said(unit.chunks[0], *spans[0])) if spans else ""

    def _book(self, book: Book) -> str:
        """Return a book with a sentence on it and its chapters."""
        front = (*book.front, *book.chapters[:1])
        topic = group_units(front, entities_of=self.known.ids, most=1, chinese=self.chinese)[0]
        topic = Topic(front, topic.weights)
        _, [said] = self._sentences([topic], [book.title], most=2)
        count = self.say(f" ({book.documents} documents):", f"（{book.documents} 份文档）：")
        lines = [f"- {self.cited.quote(one)}" for one in said]
        parts = [f"{unit.title}{self._heading_mark(unit)}" for unit in book.chapters]
        chapters = self.say("Chapters: ", "章节：") + self.say("; ", "；").join(parts)
        return "\n".join((book.title + count, *lines, f"- {chapters}"))

    def _topics(self, units: Sequence[Unit], *, most: int) -> list[str]:
        """Return topics of alike documents, or the documents where they are no more than `most`."""
        if not units:
            return []
        topics = group_units(units, entities_of=self.known.ids, most=most, chinese=self.chinese)
        titles: list[str] = []
        for topic in topics:
            titles.append(self._title(topic, titles))
        alone = len(topics) > self.scene.plan.topics
        _, told = self._sentences(topics, titles, most=1 if alone else 2)
        return [
            self._block(topic, title, said)
            for topic, title, said in zip(topics, titles, told, strict=True)
        ]

    def _sentences(
        self,
        topics: Sequence[Topic],
        titles: Sequence[str],
        *,
        most: int,
        chapters: bool = False,
    ) -> tuple[list[Said], list[list[Said]]]:
        return leading_sentences(
            list(zip(topics, titles, strict=True)),
            self.scene.retriever.text_vectors,
            chinese=self.chinese,
            most=most,
            chapters=chapters,
        )

    def _block(self, topic: Topic, title: str, said: Sequence[Said]) -> str:
        count = len(topic.units)
        told = self.say(f" ({count} documents)", f"（{count} 份文档）") if count > 1 else ""
        lines = [f"- {self.cited.quote(one)}" for one in said]
        told += "" if said else self._heading_mark(topic.units[0])
        others = [unit.title for unit in topic.units if unit.title not in ("", title)]
        others = list(dict.fromkeys(others))
        if others and count > 1:
            more = len(others) - _SHOWN_TITLES
            rest = [self.say(f"{more} more", f"另有 {more} 份")] if more > 0 else []
            shown = self.say("; ", "；").join(others[:_SHOWN_TITLES] + rest)
            lines.append("- " + self.say("Also: ", "另见：") + shown)
        if not said and count == 1:
            words = self.listed(key_words(topic, _LISTED))
            lines.append("- " + self.say("Words: ", "词语：") + words)
        names = self._names(topic, title)
        if len(names) > 1:
            lines.append("- " + self.say("Names: ", "名称：") + self.listed(names))
        return "\n".join((title + told + (self.say(":", "：") if lines else ""), *lines))

    def _title(self, topic: Topic, taken: Sequence[str]) -> str:
        """Return phrases that many units share, else the title that fits the whole topic best."""
        if len(topic.units) >= _MANY:
            phrases = self.listed(key_phrases(topic.units, self.units))
            if phrases and phrases not in taken:
                return phrases[:1].upper() + phrases[1:]
        fitting = sorted(
            (-self._title_score(unit, place, topic), place, unit.title)
            for place, unit in enumerate(topic.units)
            if unit.title and unit.title not in taken
        )
        if fitting:
            return fitting[0][2]
        first = topic.units[0]
        document = plain_title(first.chunks[0].title)
        return document if document not in taken else f"{document} ({first.document_id})"

    def _title_score(self, unit: Unit, place: int, topic: Topic) -> float:
        """Return how well a unit's title names what the whole topic is about."""
        words = tokens(unit.title)
        value = sum(topic.weights.get(word, 0.0) for word in words) / (len(words) + 1)
        value *= _FARTHER**place * (1.0 if is_telling(unit.title) else _UNTOLD)
        return round(value * (1.0 if has_han(unit.title) == self.chinese else _OTHER_TITLE), 6)

    def _names(self, topic: Topic, title: str, *, least: int = 1) -> list[str]:
        """Return the names that mark a topic, in the question's language where there is one."""
        inside = self.known.within(topic.chunks)
        least = max(least, 2 if len(topic.chunks) > 12 else 1)
        worth = Counter(
            {
                one: round(
                    1000
                    * _KINDS[one.type]
                    * count
                    * math.log(1 + len(self.units) / self.spread[one])
                )
                for one, count in inside.items()
                if one.type in _KINDS and count >= least
            }
        )
        names = (name for name, _ in self._proper(worth, topic.chunks))
        return [name for name in names if not _overlap(name, title)][:MAX_NAMES]


def _is_person(name: str) -> bool:
    return bool(_PERSON_ZH.fullmatch(name)) if has_han(name) else " " in name


def _heading(unit: Unit) -> str:
    """Return the title of a document, and the heading of the section in it."""
    document = plain_title(unit.chunks[0].title)
    if not unit.title or unit.title.casefold() == document.casefold():
        return document
    return f"{document} – {unit.title}"


def _years(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the first and last year named, but for the outermost; none where few are."""
    found = sorted(int(match[1] or match[2]) for text in texts for match in _YEAR.finditer(text))
    if len(found) < _FEW_YEARS:
        return ()
    outer = round(_OUTER * len(found))
    found = found[outer : len(found) - outer]
    while len(found) > _FEW_YEARS and found[1] - found[0] > _GAP:
        found.pop(0)
    return (found[0], found[-1]) if found[0] < found[-1] else (found[0],)


def _overlap(one: str, other: str) -> bool:
    return one.casefold() in other.casefold() or other.casefold() in one.casefold()
