"""Overview without a language model: what is told, by topic or document, with its sources.

Four kinds of pages. The whole: how many documents there are, what they name most, and their parts
by title (chapters of a document or a book, documents where they are few, else topics of alike
documents), each with the sentences that tell most of it; then who the people are. Things of a kind
(`named_things`). Time: dated sentences in order. A subject, or an aspect such as conflicts: the
sentences that tell of it, by document (`subject`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...retrieval.passages import Tracer
from ...storage.graph_api import Chunk, Entity
from ...storage.tokenization import tokens_of
from ..packing import Draft
from .about import (
    asks_where_to_begin,
    begun_below,
    find_subject,
    part_asked,
    parts_about,
    parts_referred,
)
from .asked import Found
from .books import Book
from .context import GlobalContext
from .named_things import NAMES_IN_LINE
from .page_writer import CitedSentences, without_lines
from .people import introduce
from .sentences import (
    Said,
    central_words,
    dated,
    is_alike,
    is_in,
    is_of_rights,
    is_spoken,
    leads_of,
    narrated,
    opening_of,
    openings_of,
    sentences_of,
    told_date,
    told_in_order,
    year_span,
)
from .standalone import introduces, word_count
from .subject import NEXT_BEST, POINTS, SubjectPage
from .topics import (
    Topic,
    Unit,
    group_units,
    in_groups,
    is_numbered,
    is_picture,
    is_telling,
    joined,
    number_of,
    plain_title,
    sample_chunks,
    shared_path,
    spread_evenly,
    title_of,
)
from .windows import widened

TOLD_PARTS, _CHAPTERS, _GROUPS, _LISTED = 20, 120, 8, 30
"""Parts or documents that are told of one by one, chapters whose titles are listed at most, groups
of them, and chapters of a book with their sections."""
_NEAREST = 240
"""Passages nearest to an aspect that are read."""
_SHOWN_TITLES, _TOLD_UNITS, _FOREIGN, _EVENTS = 6, 6, 2, 14
_FEW_DATED, _NAMES = 3, 0.25
"""Fewest dated sentences that are a page; share of the subject's words that names it."""
_MOST = 0.3
"""Least share of the documents that hold a name in the opening line."""
_NAMES_TOLD = 3
"""Names beside the title of a document that is told without sections, at most."""
_CENTRES = 2
"""Things named most of which the opening says what they are."""
_OF_NAMES = 1.5
"""Weight of a name that stands out in a part, to that of the part's most central word."""
_OF_STORY, _HEROES, _HEARD_OF, _OF_PERSON, _CAST = 0.5, 2, 24, 2, 8
"""Least share of the parts of a story that name a main person, the most of these, and sentences of
a part that a reader reads, and that are told of a person who is asked about; persons who are
introduced."""
_HAPPENINGS, _ALL_HAPPENINGS = (2, 6), 30
"""Sentences that are told of a part of a story, at least and at most, and of all parts."""
_CHAPTER, _OF_CHAPTER = 250, 16
"""Words of a chapter, at least on average, and sentences that are told of one, at most."""
_OF_DOCUMENT, _OF_ONE, _OF_TEXT, _FEW_LEADS = 20, 6, 8, 3
"""Sentences that are told of a document, of each part of a text without sections, and those of its
paragraphs, at most and at least."""
_TOLD_BELOW = 6
"""Parts whose sections are told, at most."""
_BESIDE = 0.02
"""Least share of the documents that is told of beside books."""
_ON_BOOK, _FIRST_CHAPTERS, _SAYS = 3, 3, -2.0
"""Sentences on a book, chapters of a document where they are looked for, and the least logit of an
English sentence that says what a book is about."""
_OPENED = 3
"""Chapters of a group whose beginnings are told, at most."""
_TELLS = 6
"""Words of a chapter's title that tells what happens in it."""
_ABOUT_BOOK = "What is {} about?"
_HAPPENS = re.compile(r"\bwhat (?:happen|becom|became)|一生|一路|经历|遭遇", re.IGNORECASE)
"""Words for what happens to a person, which is no list of dates in a story."""


def table_of_contents(scene: GlobalContext, watch: Tracer) -> Draft:
    """Return the overview that a question asks for, of the documents that may be seen."""
    cited = CitedSentences()
    parts = parts_referred(scene) or [(scene, ())]
    drafts = [_told(one, watch, cited, part) for one, part in parts]
    drafts = [one for one in drafts if not one.abstained] or drafts[:1]
    return replace(drafts[-1], text="\n\n".join(one.text for one in drafts))


def _told(
    scene: GlobalContext, watch: Tracer, cited: CitedSentences, referred: Sequence[Chunk]
) -> Draft:
    """Return the overview that a question asks for of one part, or of the whole."""
    by_document = scene.by_document

    def whole(name: str) -> Sequence[Chunk]:
        return scene.ordered(by_document.get(name, ()))

    asked, part = part_asked(scene, referred)
    found, about = Found({}, {}, {}), list[Unit]()
    chunks: Iterable[Chunk] = part
    told = not part and bool(asked.subject)
    if told:
        found = find_subject(asked, scene)
        chunks = found.chunks.values()
        if asked.aspect is None:
            by_share = scene.reader is not None
            about = parts_about(found, list(chunks), whole, by_share=by_share)
    elif not part:
        keys = sample_chunks(by_document)
        if asked.aspect and asked.aspect.told:
            near = scene.near_to(asked.query, keys)
            keys = sorted(near, key=lambda key: (-near[key], key))[:_NEAREST] or keys[:_NEAREST]
        chunks = scene.chunks(keys).values()
    is_of_life = asked.aspect is not None and (
        asked.aspect.name == "change" or bool(_HAPPENS.search(asked.question))
    )
    if not part and len(by_document) == 1 and (is_of_life or (told and not asked.aspect)):
        keys = sample_chunks(by_document)
        read = sorted(scene.chunks(keys).values(), key=lambda one: (one.position, one.start))
        story = _Page(scene, watch, asked, read, found, 1, (), cited=cited).story()
        if story is not None:
            return story
    ordered = sorted(chunks, key=lambda one: (one.document_id, one.position, one.start))
    seen = {chunk.document_id for chunk in part} or by_document
    documents = sum(not is_picture(name) for name in seen) or len(seen)
    is_part = bool(part)
    page = _Page(
        scene, watch, asked, ordered, found, documents, about, is_part=is_part, cited=cited
    )
    match asked.aspect and asked.aspect.name:
        case _ if asked.aspect and asked.aspect.kind:
            return page.named() or page.whole()
        case "time":
            return page.events()
        case None if not told:
            draft = page.whole()
            return replace(draft, figures={**draft.figures, "titled": 2.0}) if is_part else draft
        case _:
            return page.points()


@dataclass
class _Page(SubjectPage):
    """Pages on some documents, or on what they tell of a subject or an aspect."""

    is_part: bool = False
    """These are the document or section that a question asks for."""

    # --- the whole --------------------------------------------------------------------------

    def whole(self) -> Draft:
        """Return the page of a document, of books, of few documents or of many."""
        if len({one.document_id for one in self.chunks}) == 1:
            return self._of_document()
        documents = len(self.units) if self.asked.subject else self.documents
        books, others = self.books
        of_books = sum(book.documents for book in books), sum(book.length for book in books)
        if 2 * of_books[0] > len(self.units) or 2 * of_books[1] > len(self.chunks):
            is_story = self.is_book and self._heroes
            centre = [] if is_story else self._centre()
            blocks = self._story_of(books[0].chapters) if is_story else []
            blocks = blocks or [self._book(book) for book in books]
            told = f"in {len(books)} books" if len(books) > 1 else "in one book"
            parts = self.say(told, f"分为 {len(books)} 本书" if len(books) > 1 else "合为一本书")
            if len(others) >= _BESIDE * len(self.units):
                beside = self._topics(others, most=max(1, self.scene.plan.topics - len(books)))
                parts += self.say(f" and {len(others)} others", f"和另外 {len(others)} 份")
                blocks += beside
        else:
            centre, few = self._centre(), len(self.units) <= TOLD_PARTS
            blocks = self._topics(self.units, most=TOLD_PARTS if few else self.scene.plan.topics)
            parts = self.say(f"on {len(blocks)} topics", f"分为 {len(blocks)} 个主题")
            parts = self.say("one by one", "逐一列出") if few else parts
        begun = [line for book in books for line in self._begun(book.chapters, book.title)]
        begun = begun or self._begun(self.units)
        opening = "\n".join((self._opening(documents, parts), *centre, *begun))
        return self.made(opening, [without_lines(one, centre) for one in blocks], self._cast())

    def _story_of(self, chapters: Sequence[Unit]) -> list[str]:
        """Return the chapters of a story: the titles that tell what happens, else sentences."""
        telling = sum(word_count(one.title) >= _TELLS for one in chapters)
        if 2 * telling >= len(chapters) > TOLD_PARTS:
            return [*self._chapters(chapters), self._begins_and_ends(chapters)]
        return self._joined(in_groups(chapters, TOLD_PARTS))

    def _begun(self, units: Sequence[Unit], book: str | None = None) -> list[str]:
        """Return lines that say what to read first, of a book, where that is asked."""
        return self.order(units, book) if asks_where_to_begin(self.asked.question) else []

    def _centre(self) -> list[str]:
        """Return lines that say what the things are that most of the units name."""
        lines = []
        for name, entity in self._often[:_CENTRES]:
            is_person = entity.type == "PERSON"
            naming = self._naming(entity, is_person=is_person)
            names = {name, entity.name, *entity.aliases}
            said = (
                introduce(name, names, naming, chinese=chinese, is_person=is_person)
                for chinese in (self.chinese, not self.chinese)
            )
            told = next((one for one in said if one is not None and one.is_told), None)
            if told is not None and not is_spoken(told.said):
                lines.append(self.cited.line(told.said, self.chinese))
        return list(dict.fromkeys(lines))

    def _opening(self, documents: int, parts: str) -> str:
        """Return what the collection is, in a sentence or two."""
        chinese = sum(unit.is_chinese for unit in self.units)
        english = len(self.units) - chinese
        notes = []
        if chinese and english:
            notes.append(self.say(f"{english} in English, {chinese} in Chinese",
                                  f"中文 {chinese} 份，英文 {english} 份"))  # fmt: skip
        if documents > len(self.units):
            notes.append(self.say(f"{len(self.units)} of them read", f"抽取 {len(self.units)} 份"))
        if years := year_span(chunk.text for chunk in self.chunks):
            notes.append("–".join(map(str, years)))
        noted = f" ({'; '.join(notes)})" if notes else ""
        noted_han = f"（{'；'.join(notes)}）" if notes else ""
        head = self.say(f"{documents:,} documents{noted}, {parts}.",
                        f"{documents:,} 份文档{noted_han}，{parts}。")  # fmt: skip
        return head + self._named()

    def _named(self) -> str:
        """Return the names that most of the units hold."""
        often = dict.fromkeys(name for name, _ in self._often)
        names = self.listed(list(often)[:NAMES_IN_LINE])
        return self.say(f" Named most often: {names}.", f"最常提到：{names}。") if names else ""

    @cached_property
    def _often(self) -> list[tuple[str, Entity]]:
        """Return the things that many of the units name, as they are shown, most often first."""
        least = max(2, math.ceil(_MOST * len(self.units)))
        return [(name, one) for name, one in self._proper(self.spread) if self.spread[one] >= least]

    # --- time -------------------------------------------------------------------------------

    def events(self) -> Draft:
        """Return dated sentences in the order of their dates, else of the text."""
        found = dated(
            said
            for chinese in (True, False)
            for said in sentences_of(self.chunks, chinese=chinese)
            if is_in(said.text, chinese)
        )
        if self.asked.subject:
            named = {one: when for one, when in found.items() if self._names_subject(one)}
            found = named if len(named) >= _FEW_DATED else found
        own = {one: when for one, when in found.items() if is_in(one.text, self.chinese)}
        documents = len({one.chunk.document_id for one in found})
        if 2 * len({one.chunk.document_id for one in own}) >= documents:
            found = own
        if len(found) < _FEW_DATED:
            return self.points() if self.asked.subject else self.whole()
        chosen = self.telling.choose(list(found), _EVENTS, least=0.0)
        chosen.sort(key=lambda one: (found[one], one.place))
        lead = self.say("What is told with its date, in order:", "有日期的记述，按时间顺序：")
        dates = [told_date(found[one], chinese=self.chinese) for one in chosen]
        told = [self.cited.line(one, self.chinese)[2:] for one in chosen]
        lines = [f"- {date}{line}" for date, line in zip(dates, told, strict=True)]
        return self.made(lead, ["\n".join(lines)])

    def _names_subject(self, said: Said) -> bool:
        """Check whether a sentence, its heading or its document's title names the subject."""
        heads = tokens_of(said.chunk.title, *said.chunk.headings)
        return self.found.weight(said.words | heads) >= _NAMES

    # --- parts ------------------------------------------------------------------------------

    def _of_document(self) -> Draft:
        """Return the parts of one document in their order, with sentences where they are few."""
        title = self._document_title()
        section = plain_title((self._above or ("",))[-1]) or title
        parts = [one for one in self.units if one.title not in (title, section)] or self.units
        quoted = title if "《" in title else f"《{title}》"
        if section != title:
            opening = self.say(f"{section} ({title}).", f"{section}（{title}）。")
        elif len(parts) == 1:
            opening = self.say(f"{title}.", f"{quoted}。")
        else:
            opening = self.say(
                f"{title}, one document in {len(parts)} parts.",
                f"{quoted}，一份文档，分为 {len(parts)} 个部分。",
            )
        above = [unit for unit in self.units if unit not in parts and len(parts) <= TOLD_PARTS]
        told = [opening_of(unit.chunks, chinese=self.chinese) for unit in above[:1]]
        lines = [self.cited.line(widened(one), self.chinese) for one in told if one]
        if len(parts) <= TOLD_PARTS:
            blocks = self._parts(parts)
        elif 2 * sum(is_telling(one.title) for one in parts) >= len(parts):
            book = Book(title, (), tuple(parts), 1)
            if not self._heroes and any(map(self.sections, parts)):
                lines = [self.cited.line(one, self.chinese) for one in self._on_book(book)]
                blocks = ["\n".join(self._contents(book))]
            else:
                blocks = [*self._chapters(parts), self._begins_and_ends(parts)]
        else:
            front = [chunk for unit in self.units if unit not in parts for chunk in unit.chunks]
            blocks = self._joined(in_groups(parts, TOLD_PARTS // 2), front)
        lines = [*self._begun(parts, ""), *lines]
        return self.made("\n".join((opening + self._named(), *lines)), blocks, self._cast())

    def _cast(self) -> str:
        """Return who the people named most are: more of a story."""
        return self.people(_CAST) if self._heroes else self.people()

    def _parts(self, units: Sequence[Unit]) -> list[str]:
        """Return parts with sentences each, and last the titles of those that have none."""
        is_one = len({unit.title for unit in units}) == 1
        most = max(1, min(_OF_ONE if is_one else 3, _OF_DOCUMENT // max(1, len(units))))
        blocks, bare, seen = list[str](), list[str](), set[tuple[str, int]]()
        leads = self._leads(units) if is_one else []
        if leads:
            return ["\n".join(self.cited.line(one, self.chinese) for one in leads)]
        for unit, weights in zip(units, central_words([one.chunks for one in units]), strict=True):
            told = self._central_sentences if is_one else self._outlined
            persons = self._persons if self._is_narrative else frozenset()
            few = len(units) <= _TOLD_BELOW
            below = begun_below(unit, persons, chinese=self.chinese) if few else []
            end = below[-1:] if persons else []
            below = below[: len(below) - len(end)]
            said = [*spread_evenly(below, _OF_TEXT - len(end)), *end] or self._happenings(unit)
            said = said or told(unit, weights, most)
            if said := [one for one in said if one.place not in seen]:
                seen.update(one.place for one in said)
                names = self.standing_out([unit]) if len(units) > 1 else ()
                if is_one:  # its parts have no titles of their own
                    blocks.append("\n".join(self.cited.line(one, self.chinese) for one in said))
                    continue
                head = unit.title or plain_title(("", *unit.headings)[-1])  # LXC
                block = self.block(f"{head}{self.in_brackets(names)}".strip(), said)
                blocks.append(block if below else self.with_sections(block, unit))
            elif unit.title and not (is_one and blocks):
                bare.append(f"- {unit.title}{self.heading_mark(unit)}")
        return ["\n".join(blocks)] if is_one and blocks else [*blocks, "\n".join(bare)]

    def _leads(self, units: Sequence[Unit]) -> list[Said]:
        """Return the beginnings of the paragraphs of a text that has no sections; none of few.

        Of a chapter of a story those that name a person.
        """
        if self._is_narrative:
            chunks = list(dict.fromkeys(chunk for unit in units for chunk in unit.chunks))
            return told_in_order(chunks, self._persons, _OF_CHAPTER, chinese=self.chinese)
        found = leads_of((chunk for unit in units for chunk in unit.chunks), chinese=self.chinese)
        found.sort(key=lambda one: one.place)
        least = 1 if self.is_part else _FEW_LEADS
        return spread_evenly(found, _OF_TEXT) if len(found) >= least else []

    def _outlined(self, unit: Unit, weights: Mapping[str, float], most: int) -> list[Said]:
        """Return what a section begins with, and what tells most; of a document only that.

        A document with a number in its title is the section of a book.
        """
        central = self._central_sentences(unit, weights, most)
        is_section = bool(unit.headings) or is_numbered(unit.chunks[0].title)
        first = opening_of(unit.chunks, chinese=self.chinese) if is_section else None
        if first is None:
            return central
        longer = widened(first)
        first = longer if most > 1 and longer.text[-1:] not in ":：" else first
        others = [one for one in central if not is_alike(one.words, first.words)]
        return [first, *others[: max(0, most - 2)]]

    @cached_property
    def _above(self) -> tuple[str, ...]:
        """The headings above all passages of a single document."""
        return shared_path([chunk.headings for chunk in self.chunks])

    def _chapters(self, units: Sequence[Unit]) -> list[str]:
        """Return titles of chapters in groups, each group with the names that stand out in it."""
        starts = [len(units) * group // _GROUPS for group in range(_GROUPS + 1)]
        blocks = []
        for at, end in pairwise(starts):
            some = units[at:end]
            numbers = [number_of((unit.title, *unit.headings)[-1]) for unit in some]
            ends = [numbers[0], numbers[-1]] if all(numbers) else [str(at + 1), str(end)]
            head = " – ".join(dict.fromkeys(ends)) + self.in_brackets(self.standing_out(some))
            told = spread_evenly([one for one in some if one.title], _CHAPTERS // _GROUPS)
            titles = (f"{unit.title}{self.heading_mark(unit)}" for unit in told)
            line = self.say("; ", "；").join(titles)
            blocks.append(f"{head}{self.say(':', '：')}\n- {line}")
        return blocks

    def _joined(self, groups: Sequence[Sequence[Unit]], front: Sequence[Chunk] = ()) -> list[str]:
        """Return groups of chapters, each with names that stand out and what tells of them.

        The chapters of a story are told by how they begin: who goes where, and when. `front` is
        what stands before the first of them, where a story may begin.
        """
        blocks, units = list[str](), list(map(joined, groups))
        words = central_words([one.chunks for one in units])
        for some, unit, weights in zip(groups, units, words, strict=True):
            names = self.standing_out([unit])
            if self._is_narrative:
                before = [front] if some is groups[0] else []
                opened = [*before, *(one.chunks for one in spread_evenly(some, _OPENED))]
                is_last = some is groups[-1]
                said = openings_of(opened, self._persons, chinese=self.chinese, ends=is_last)
                said = self._happenings(unit) if len(some) == 1 else said
                blocks.append(self.block(unit.title + self.in_brackets(names), said))
                continue
            most = _OF_NAMES * max(weights.values(), default=0.0)
            told = {**weights, **{word: most for name in names for word in tokens_of(name)}}
            found = sentences_of(unit.chunks, chinese=self.chinese)
            own = [one for one in found if is_in(one.text, self.chinese)]
            telling = replace(self.telling, weights=told, told=set())
            said = sorted(telling.choose(own or found, 2), key=lambda one: one.place)
            blocks.append(self.block(unit.title + self.in_brackets(names), said))
        return blocks

    def _begins_and_ends(self, chapters: Sequence[Unit]) -> str:
        """Return the first and the last sentence of a story; nothing of other texts."""
        if not self._is_narrative:
            return ""
        begun, ended = self._whole(chapters[0]), self._whole(chapters[-1])
        heading, leads = tokens_of(chapters[0].title), leads_of(begun, chinese=self.chinese)
        first = next((one for one in leads if not one.words <= heading), None)
        last = openings_of([ended], self._persons, chinese=self.chinese, ends=True)
        heads = self.say("It begins: ", "开头："), self.say("It ends: ", "结尾：")
        return "\n".join(
            f"- {head}{self.cited.line(one, self.chinese)[2:]}"
            for head, one in zip(heads, (first, *last[-1:]), strict=False)
            if one is not None
        )

    def _whole(self, unit: Unit) -> list[Chunk]:
        """Return all passages of a chapter, also those that are not read.

        With the one before it where its heading stands there, as of a book's first chapter.
        """
        some = self.scene.ordered(self.scene.by_document[unit.document_id])
        depth, number = len(unit.headings), number_of(unit.headings[-1]) if unit.headings else ""
        rows = [row for row, one in enumerate(some) if one.headings[:depth] == unit.headings]
        if rows and rows[0] and number and number in some[rows[0] - 1].text:
            rows.insert(0, rows[0] - 1)
        return [some[row] for row in rows]

    @cached_property
    def _heroes(self) -> list[tuple[str, Entity]]:
        """Return the main persons of a story that a reader can read; none of other texts."""
        if self.scene.reader is None or not (self._is_single or self.is_book):
            return []
        least = _OF_STORY * len(self.units)
        return [pair for pair in self._named_of("PERSON") if self.spread[pair[1]] >= least][
            :_HEROES
        ]

    @cached_property
    def _is_narrative(self) -> bool:
        """True for a story of long parts; those of minutes or of a life are short."""
        words = sum(word_count(chunk.text) for unit in self.units for chunk in unit.chunks)
        return bool(self._heroes) and words >= _CHAPTER * len(self.units)

    def story(self) -> Draft | None:
        """Return what each part of a story tells of the persons asked about; None of no story."""
        asked = self.asked.topic if self.chinese else self.asked.question
        persons = [(name, {name, one.name, *one.aliases}) for name, one in self._named_of("PERSON")]
        named = [(name, called) for name, some in persons if (called := self.asked_by(asked, some))]
        shared = [tokens_of(asked) & tokens_of(*some) for _, some in named]
        named = [one for one, own in zip(named, shared, strict=True)
                 if self.chinese or not any(own < each for each in shared)]  # fmt: skip
        names = {each for _, some in named for each in some}
        if not named or not self._heroes or self.asks_else(asked, names):
            return None
        others = tokens_of(*(each for _, some in persons if not some <= names for each in some))
        words, blocks = tokens_of(*names) - others or tokens_of(*names), list[str]()
        parts = [(unit, narrated(unit.chunks, chinese=self.chinese)) for unit in self.units]
        told = [(unit, [one for one in found if words & one.words]) for unit, found in parts]
        told = [(unit, found) for unit, found in told if found]
        if not told:
            return None
        shown = self.listed([name for name, _ in named[:_HEROES]])
        title = self._document_title()
        lead = self.say(f"{title}, on {shown}, part by part:", f"{title}：{shown}，按章节：")
        begun = self.introduced(dict(named).keys())
        begins = tuple(one for one in names if len(one) > 1)  # 飞马 is not 张飞
        acting = [[one for one in found if one.text.startswith(begins)] for _, found in told]
        acting = [[one for one in found if not is_spoken(one)] for found in acting]
        ranked = sorted(
            range(len(told)), key=lambda row: (-len(acting[row]), -len(told[row][1]), row)
        )
        for row in sorted({0, len(told) - 1, *ranked[: TOLD_PARTS // 2]}):
            unit, found = told[row]
            found = acting[row] or found
            said = self._read_best(self.asked.topic, spread_evenly(found, _HEARD_OF), _OF_PERSON)
            blocks.append(self.block(unit.title, said or found[:_OF_PERSON]))
        return self.made("\n".join((lead, *begun)), [without_lines(one, begun) for one in blocks])

    def _happenings(self, unit: Unit) -> list[Said]:
        """Return what tells of a part of a story in its order; none of other texts."""
        if not self._is_narrative:
            return []
        room = int(np.clip(_ALL_HAPPENINGS // len(self.units), *_HAPPENINGS))
        return told_in_order(unit.chunks, self._persons, room, chinese=self.chinese)

    @cached_property
    def _persons(self) -> frozenset[str]:
        """The words of the names of persons."""
        return tokens_of(*(name for name, _ in self._named_of("PERSON")))

    def _read_best(
        self, question: str, read: Sequence[Said], most: int, least: float = -math.inf
    ) -> list[Said]:
        """Return the sentences that a reader finds to answer best, in their order.

        None below a logit of `least`.
        """
        reader = self.scene.reader
        if reader is None or not read:
            return []
        logits = reader(question, [one.text for one in read])
        told: list[Said] = []
        for row in np.argsort(-logits, kind="stable"):
            is_new = not read[row].repeats(told)
            if len(told) < most and is_new and logits[row] >= least:
                told.append(read[row])
        return sorted(told, key=lambda one: one.place)

    def _document_title(self) -> str:
        """Return the title of the one document; its file's name where that is a chapter's."""
        title = self.units[0].chunks[0].title
        if is_numbered(title) and title not in self._above:
            return self.units[0].document_id.rpartition("/")[2].rpartition(".")[0] or title
        return plain_title(title)

    def _book(self, book: Book) -> str:
        """Return a book with sentences on it and its chapters."""
        many = book.documents > 1
        count = self.say(f" ({book.documents} documents)", f"（{book.documents} 份文档）") * many
        title = book.title or self.say("A book", "一部书")
        return "\n".join((self.block(title + count, self._on_book(book)), *self._contents(book)))

    def _on_book(self, book: Book) -> list[Said]:
        """Return the sentences of a book's beginning that say what it is about."""
        first = 1 if book.documents > 1 else _FIRST_CHAPTERS
        begun = (*book.front, *book.chapters[:first])
        opening = {chunk.id: chunk for unit in begun for chunk in unit.chunks}
        front = sentences_of(opening.values(), chinese=self.chinese)
        front = [one for one in front if not is_of_rights(one.text)] or front
        said = self._best([one for one in front if introduces(one.text)], _ON_BOOK)
        if len(said) < _ON_BOOK and (book.front or book.documents == 1):
            asked = _ABOUT_BOOK.format(book.title or "this book")
            others = [one for one in front if one not in said]
            some, least = spread_evenly(others, _HEARD_OF), -math.inf if self.chinese else _SAYS
            said += self._read_best(asked, some, _ON_BOOK - len(said), least)
            if not said and self.scene.reader is None:
                said = self._best(front, _ON_BOOK)
        said.sort(key=lambda one: not introduces(one.text))
        return [one for row, one in enumerate(said) if not one.repeats(said[:row])]

    def _contents(self, book: Book) -> list[str]:
        """Return the chapters of a book: few with their sections, of many those of each part.

        Many without parts are told in groups, each with the names that stand out in it.
        """
        chapters = book.chapters
        names = [f"{self.chapter_name(unit)}{self.heading_mark(unit)}" for unit in chapters]
        apart = self.say("; ", "；")
        if len(chapters) <= _LISTED:
            lines = []
            for at, (name, unit) in enumerate(zip(names, chapters, strict=True)):
                below = apart.join(self.sections(unit))
                lines += [f"{book.parts[at]}{self.say(':', '：')}"] if at in book.parts else []
                lines.append(f"- {name}{self.say(': ', '：')}{below}" if below else f"- {name}")
            return lines
        size = math.ceil(len(chapters) / (TOLD_PARTS // 2))
        starts = sorted({0, *book.parts}) if book.parts else list(range(0, len(chapters), size))
        lines = []
        for start, end in zip(starts, [*starts[1:], len(names)], strict=True):
            head = book.parts.get(start) or self.listed(self.standing_out(chapters[start:end]))
            head = head or self.say("Chapters", "章节")
            if names[start:end]:
                lines.append(f"- {head}{self.say(': ', '：')}{apart.join(names[start:end])}")
        return lines

    def _topics(self, units: Sequence[Unit], *, most: int) -> list[str]:
        """Return topics of alike documents, or the documents where they are no more than `most`."""
        if not units:
            return []

        def named(key: str) -> list[str]:
            return [one.id for one in self.of_chunk[key]]

        topics = group_units(units, entities_of=named, most=most, chinese=self.chinese)
        titles: list[str] = []
        for topic in topics:
            titles.append(title_of(topic, self.units, titles, chinese=self.chinese))
        return [self._topic(topic, title) for topic, title in zip(topics, titles, strict=True)]

    @cached_property
    def _room(self) -> int:
        """Maximum number of sentences of a document that is told of by itself."""
        return max(1, min(4, POINTS // len(self.units)))

    def _told(self, unit: Unit, most: int) -> list[Said]:
        """Return the sentences that tell best what a unit is about, in their order."""
        return self._outlined(unit, self._central[unit], most)

    @cached_property
    def _central(self) -> Mapping[Unit, Mapping[str, float]]:
        """The words that each unit is about, weighted."""
        return dict(
            zip(self.units, central_words([unit.chunks for unit in self.units]), strict=True)
        )

    def _best(self, found: Sequence[Said], most: int, *, room: int = 2) -> list[Said]:
        """Return the sentences that tell most, in their order, in one language."""
        own = [one for one in found if is_in(one.text, self.chinese)]
        some = self.telling.choose(own or found, most, least=NEXT_BEST, per_document=room)
        return sorted(some, key=lambda one: one.place)

    def _topic(self, topic: Topic, title: str) -> str:
        """Return a topic with a sentence of each of its documents, and the titles of the others."""
        count = len(topic.units)
        if count == 1:
            (unit,) = topic.units
            alone = self._told(unit, self._room)
            mark = "" if alone else self.heading_mark(unit)
            bare = self.block(title + mark, alone)
            if (told := self.with_sections(bare, unit)) != bare:
                return told
            known = [name for name, _ in self._often[:NAMES_IN_LINE]]  # the opening names them
            names = [name for name in self.standing_out([unit]) if name not in title]
            names = [name for name in names if name not in known][:_NAMES_TOLD]
            return self.block(f"{title}{self.in_brackets(names)}{mark}", alone)
        named = self.listed(self.standing_out(topic.units))
        about = self.say(f"; {named}", f"；{named}") if named else ""
        lines = [title + self.say(f" ({count} documents{about}):", f"（{count} 份文档{about}）：")]
        others, foreign = list[str](), 0
        for unit in topic.units:
            said = self._told(unit, 1) if len(lines) <= _TOLD_UNITS else []
            foreign += bool(said) and not is_in(said[0].text, self.chinese)
            if not said or (foreign > _FOREIGN and not is_in(said[0].text, self.chinese)):
                others.append(unit.title)
                continue
            name = "" if unit.title in ("", title) else unit.title + self.say(": ", "：")
            lines.append(f"- {name}{said[0].text} {self.cited.mark(said[0])}")
        if names := list(dict.fromkeys(filter(None, others))):
            more = len(names) - _SHOWN_TITLES
            rest = [self.say(f"{more} more", f"另有 {more} 份")] if more > 0 else []
            shown = self.say("; ", "；").join(names[:_SHOWN_TITLES] + rest)
            lines.append("- " + self.say("Also: ", "另见：") + shown)
        return "\n".join(lines)
