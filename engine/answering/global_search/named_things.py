"""Things of a kind that documents name: people, organisations, places, products.

Those named in most places, each with the sentence that says best what it is, else where it is named
and with whom; and what they are to each other. Names come from the graph of the visible documents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations

from graph.text.cjk import has_han

from ...storage.graph_api import Chunk, Entity, sentence_spans
from ...storage.tokenization import tokens_of
from ..introductions import introduction
from ..packing import Draft
from .books import Book, books_in
from .page_writer import PageWriter
from .people import PLAINLY, Named, introduce, is_person, tell_pairs, without_title
from .sentences import Said, is_spoken
from .topics import Unit, spread_evenly, units_of

_KINDS = {"PERSON", "ORGANISATION", "PLACE", "PRODUCT", "WORK", "EVENT"}
_COMMON = 0.3
"""A capitalised word is no name where it stands in small letters more often than this share."""
_NO_PERSON = re.compile(r"^[A-Z]{2}|\d|[A-Z]{3}")
_NO_NAME = re.compile(
    r"[,/，、]|\bet\b|^(?:何[故不以如能人处事日必用足为敢况]|参[见阅考]|[详请]见|少顷)$"
)
_SELDOM_READ = 3
"""Passages for each mention that extraction reads, from which Chinese characters are a word that a
tagger once took for a name: 三千 stands in 97 passages and is one in 1."""
_SPREADS = 3
"""A document that names a thing counts as so many passages."""
_MOST, _FEW, _RANKED, _FURTHER, _PAIRS = 8, 3, 24, 12, 6
"""Most things of a kind that are told of, beside other things, and looked at; further names, and
pairs of things, that are told at most."""
NAMES_IN_LINE = 5
"""Names in the line above a part, at most."""
_READ_OF = 6
"""People, of those named most, of whom a reader looks for what they are."""
_HEARD = 600
"""Passages of one document in which what introduces a person is looked for."""
_OFTEN = 5
"""Documents or sections that name a person of whom nothing says who that is."""
_MUCH = 50
"""Mentions of such a person."""
_NAMED = 10
"""Mentions from which a single word is a person's name in several documents."""
_LEADS = {
    "PERSON": ("The people named most:", "提到最多的人物："),
    "ORGANISATION": ("The organisations named most:", "提到最多的机构："),
    "PLACE": ("The places named most:", "提到最多的地方："),
    "PRODUCT": ("The products and programs named most:", "提到最多的产品和软件："),
}

_STORY = "story tale plot novel book course beginning end life fate development happen become"
"""Words beside a person in a question for what happens to that person."""
_STORY_ZH = re.compile(
    r"这个|这位|人物|[这全本]书里?|故事|小说|这?部分|里面?|中|讲|说|介绍|一下|经历|做|遇到|发生|什么|哪些|怎样|如何|事情?"
    r"|命运|生平|事迹|一生|结局|经过|主要|都|了|过|的|在|有|请|概括|总结|和|与|是|被?写|情节"
)
"""The same in Chinese."""


def _says_who(one: Named) -> bool:
    """Check for a sentence that begins with a person's name, or introduces that person."""
    text = one.said.text
    return one.called.match(text) is not None or introduction(text, one.name) > 0


@dataclass(frozen=True)
class _Thing:
    """A name as it is shown, its entity, and the sentence that says best what it is."""

    name: str
    entity: Entity
    named: Named

    @property
    def is_told(self) -> bool:
        return self.named.is_told


@dataclass
class NamedThings(PageWriter):
    """Pages and lines on what the passages name."""

    @cached_property
    def units(self) -> list[Unit]:
        """The documents, or the sections of a single one."""
        return units_of(self.chunks)

    @cached_property
    def of_chunk(self) -> dict[str, tuple[Entity, ...]]:
        """The entities named in each chunk, as the visible documents give them."""
        seen, labels = self.scene.seen(), self.scene.places.labels
        return {
            chunk.id: tuple(
                seen.entities[number]
                for label in labels.get(chunk.id, ())
                for number in seen.seen_as.get(label, ())
            )
            for chunk in self.chunks
        }

    @cached_property
    def spread(self) -> Counter[Entity]:
        """The number of units that name each entity."""
        return Counter(
            one
            for unit in self.units
            for one in {one.id: one for c in unit.chunks for one in self.of_chunk[c.id]}.values()
        )

    @cached_property
    def _held(self) -> Counter[Entity]:
        """The number of passages that name each entity."""
        return Counter(one for some in self.of_chunk.values() for one in some)

    @cached_property
    def _written(self) -> Counter[str]:
        """The number of times that each word stands as it is written."""
        return Counter(
            word for chunk in self.chunks for word in re.findall(r"[A-Za-z][\w’'-]+", chunk.text)
        )

    def _proper(self, counted: Mapping[Entity, float]) -> list[tuple[str, Entity]]:
        """Return the entities that read as names, the most frequent first, as they are shown."""
        ranked = sorted(counted, key=lambda one: (-counted[one], -one.mention_count, one.name))
        shown: list[tuple[str, Entity]] = []
        for entity in ranked:
            if len(shown) == _RANKED:
                break
            if entity.type in _KINDS and self._is_name(entity):
                name = self._shown(entity)
                if name and not any(_overlap(name, one) for one, _ in shown):
                    shown.append((name, entity))
        return shown

    def _is_name(self, entity: Entity) -> bool:
        """Check that a name's words are seldom written in small letters, of an institution one.

        Chinese ones are read as a name in some of the passages that have them.
        """
        name = without_title(entity.name)
        if _NO_NAME.search(name):
            return False
        words = [word for word in re.findall(r"[A-Za-z][\w’'-]+", name) if word[0].isupper()]
        proper = [
            self._written[word.lower()] <= _COMMON * (self._written[word] + 1) for word in words
        ]
        is_one = any(proper) if entity.type == "ORGANISATION" else all(proper)
        if words:
            return is_one
        return has_han(name) and entity.mention_count * _SELDOM_READ >= self._held[entity]

    def _shown(self, entity: Entity) -> str:
        """Return the entity's name in the question's language that stands in one of the chunks."""
        names = (entity.name, *entity.aliases)
        fitting = [name for name in names if has_han(name) == self.chinese] or [entity.name]
        for name in fitting[:4]:
            folded = name.casefold()
            if any(folded in " ".join(chunk.text.split()).casefold() for chunk in self.chunks):
                return " ".join(name.split())
        return ""

    # --- things of a kind -------------------------------------------------------------------

    def named(self) -> Draft | None:
        """Return the things of the kinds asked for that are named most, and say what they are.

        None where none is named.
        """
        kinds = [one.kind for one in self.asked.kinds or [self.asked.aspect] if one]
        blocks: list[str] = []
        every: list[_Thing] = []
        for kind in kinds:
            some = self._things(kind, _MOST)
            lines = [self._line(one) for one in some]
            if names := self._further(kind, some):
                also = self.say("Also: ", "另有：") if lines else ""
                lines.append(f"- {also}{self.listed(names)}")
            if lines:
                blocks.append("\n".join((self.say(*_LEADS[kind]), *lines)))
            every += some
        if not blocks:
            return None
        if self.asked.relates and len(every) > 1:
            blocks.append("\n".join((self.say("Among them:", "他们之间："), *self._among(every))))
        return self.made("", blocks)

    def people(self, most: int = _FEW) -> str:
        """Return lines that say who the people named most are, but those told of already.

        What one person of a Chinese story says of another is left out.
        """
        lines = [
            self._line(one)
            for one in self._things("PERSON", most, among=_RANKED)
            if one.is_told and not (self.chinese and self._is_hearsay(one))
        ]
        return "\n".join((self.say("People:", "人物："), *lines)) if lines else ""

    def standing_out(self, units: Sequence[Unit]) -> list[str]:
        """Return the names that these parts name often, Chinese ones thrice, and others seldom."""
        inside = Counter(one for unit in units for c in unit.chunks for one in self.of_chunk[c.id])
        often = {one: count for one, count in inside.items() if count > 1 + self.chinese}
        own = {one: count * count / self._held[one] for one, count in often.items()}
        text = " ".join(c.text for unit in units for c in unit.chunks).casefold()
        names = [name for name, _ in self._proper(own) if name.casefold() in text]
        return names[:NAMES_IN_LINE]

    def in_brackets(self, names: Sequence[str]) -> str:
        """Return names in brackets; nothing of none."""
        listed = self.listed(names)
        return self.say(f" ({listed})", f"（{listed}）") if names else ""

    def asked_by(self, asked: str, names: Set[str]) -> frozenset[str]:
        """Return the names of a person whom a question names by one of them; none of another."""
        if self.chinese:
            is_asked = any(each in asked for each in names)
        else:
            is_asked = bool(tokens_of(asked) & tokens_of(*names))
        return frozenset(names if is_asked else ())

    def asks_else(self, asked: str, names: Set[str]) -> bool:
        """Check for a question that asks for more than what happens to some persons."""
        if not self.chinese:
            return bool(frozenset(self.asked.subject) - tokens_of(*names, _STORY))
        for name in sorted(names, key=len, reverse=True):
            asked = asked.replace(name, "")
        return len(re.findall(r"\w", _STORY_ZH.sub("", asked))) > 1

    def _is_hearsay(self, one: _Thing) -> bool:
        """Check for what a person says that does not tell how one is called: 姓关，名羽."""
        said = one.named.said
        return is_spoken(said) and introduction(said.text, one.name) < PLAINLY

    def introduced(self, names: Set[str]) -> list[str]:
        """Return lines that say who persons of these names are."""
        some = [pair for pair in self._named_of("PERSON") if pair[0] in names]
        found = (self._introduced_as(name, one, is_person=True) for name, one in some)
        told = (one for one in found if one and one.is_told)
        return [self.cited.line(one.said, self.chinese) for one in told if _says_who(one)]

    def _introduced_as(
        self, name: str, entity: Entity, *, is_person: bool, reads: bool = True
    ) -> Named | None:
        """Return a thing with the sentence that introduces it, of the other language as well."""
        introduced = partial(
            introduce,
            name,
            {name, entity.name, *entity.aliases},
            self._naming(entity, is_person=is_person),
            is_person=is_person,
        )
        said = introduced(chinese=self.chinese, read=self.scene.reader if reads else None)
        if said is None or not said.is_told:
            foreign = introduced(chinese=not self.chinese)
            said = foreign if foreign is not None and foreign.is_told else said
        return said

    def _things(self, kind: str, most: int, *, among: int | None = None) -> list[_Thing]:
        """Return the things of a kind named most of which something can be told.

        `among`: so many of them are looked at.

        Of others than people that is what they are, unless nothing says so of any.
        """
        told = [frozenset(tokens_of(one.quote)) for one in self.cited.found.values()]
        found: list[_Thing] = []
        for row, (name, entity) in enumerate(self._named_of(kind)[:among]):
            if len([one for one in found if one.is_told]) == most:
                break
            is_person = kind == "PERSON"
            said = self._introduced_as(name, entity, is_person=is_person, reads=row < _READ_OF)
            if said and not any(said.said.words <= one for one in told):
                found.append(_Thing(name, entity, said))
                told.append(said.said.words)
        if kind != "PERSON":
            found = [one for one in found if one.is_told] or found
        return found[:most]

    def _naming(self, entity: Entity, *, is_person: bool) -> list[Chunk]:
        """Return the passages that name an entity; of one document also those that are not read.

        A long one says only once who a person is.
        """
        own = [chunk for chunk in self.chunks if entity in self.of_chunk[chunk.id]]
        documents = {chunk.document_id for chunk in own}
        if not is_person or len(documents) > 1:
            return own
        seen, places = self.scene.seen(), self.scene.places
        number = seen.number_of[entity.id]
        called = {label for label, numbers in seen.seen_as.items() if number in numbers}
        keys = [
            key
            for key, labels in places.labels.items()
            if places.document_of[key] in documents and not called.isdisjoint(labels)
        ]
        return self.scene.ordered(spread_evenly(keys, _HEARD))

    def _named_of(self, kind: str) -> list[tuple[str, Entity]]:
        """Return the entities of a kind, by passages and documents that name them."""
        counted = {
            one: self._held[one] + _SPREADS * count
            for one, count in self.spread.items()
            if one.type == kind
        }
        return [pair for pair in self._proper(counted) if self._is_of(kind, *pair)]

    def _is_of(self, kind: str, name: str, entity: Entity) -> bool:
        """Check that a name has the form of its kind.

        A single word that is named often, as the graph takes none for a person that no text calls
        one, is a person's; a rarer one where a single document names it.
        """
        if kind != "PERSON":
            return True
        things = frozenset(one.name.casefold() for one in self.spread if one.type == "PRODUCT")
        is_thing = not things.isdisjoint(name.casefold().split())
        is_known = self._is_single or (entity.mention_count >= _NAMED and not has_han(name))
        return not _NO_PERSON.search(name) and (
            is_person(name, things=things) or (is_known and not is_thing)
        )

    @cached_property
    def books(self) -> tuple[list[Book], list[Unit]]:
        """The books of what may be seen, and the other documents."""
        return books_in(self.units)

    @property
    def is_book(self) -> bool:
        """Check that what may be seen are the chapters of one book."""
        return len(self.books[0]) == 1 and not self.books[1]

    @cached_property
    def _is_single(self) -> bool:
        return len({one.document_id for one in self.chunks}) == 1

    def _further(self, kind: str, told: Sequence[_Thing]) -> list[str]:
        """Return further names of a kind, each with the mark of a place where it stands.

        Those that several documents or sections hold, unless there are few.
        """
        known = {one.entity for one in told}
        ranked = [(name, one) for name, one in self._named_of(kind) if one not in known]
        often = [pair for pair in ranked if self.spread[pair[1]] > 1]
        some = often if len(often) + len(told) >= _FEW else ranked
        return [f"{name}{self._mark_of(name, one)}" for name, one in some[:_FURTHER]]

    def _mark_of(self, name: str, entity: Entity) -> str:
        """Return the mark of the first sentence with a name, "" where it is written otherwise."""
        for chunk in self.chunks:
            if entity in self.of_chunk[chunk.id]:
                for start, end in sentence_spans(chunk.text):
                    if name in chunk.text[start:end]:
                        return f" {self.cited.mark(Said(chunk, start, end))}"
        return ""

    def _line(self, thing: _Thing) -> str:
        """Return what a thing is; of whom much is told and nothing says so, where and with whom."""
        mark = self.cited.mark(thing.named.said)
        told = thing.named.said.text
        is_often = self.spread[thing.entity] >= _OFTEN or thing.entity.mention_count >= _MUCH
        if not thing.is_told and is_often and thing.entity.type == "PERSON":
            told = self._whereabouts(thing.entity)
        return f"- {thing.name}{self.say(': ', '：')}{told} {mark}"

    def _whereabouts(self, entity: Entity) -> str:
        """Return in how many documents or sections a person is named, and with whom mostly."""
        count, single = self.spread[entity], self._is_single
        english = f"named in {count} {'section' if single else 'document'}{'s' * (count > 1)}"
        chinese = f"见于 {count} {'节' if single else '份文档'}"
        ranked = [pair for pair in self._named_of(entity.type) if pair[1] != entity]
        with_it = [some for some in self.of_chunk.values() if entity in some]
        company = Counter(
            name for some in with_it for name, one in ranked if one in some
        ).most_common(_FEW)
        if company:
            names = self.listed(name for name, _ in company)
            english += f", mostly with {names}"
            chinese += f"，多与{names}一起提到"
        return self.say(english, chinese)

    def _among(self, some: Sequence[_Thing]) -> list[str]:
        """Return what these are to each other, and which are named together most."""
        told = tell_pairs([one.named for one in some], self.chunks, chinese=self.chinese)
        lines = [self.cited.line(one, self.chinese) for one in told[:_PAIRS]]
        counts = Counter(
            pair
            for held in self.of_chunk.values()
            for pair in combinations([one for one in some if one.entity in held], 2)
        )
        pairs = [
            f"{one.name}{self.say(' and ', '与')}{other.name}{self.say(f' ({n})', f'（{n}）')}"
            for (one, other), n in counts.most_common(_PAIRS)
        ]
        if pairs:
            often = self.say("Named together most, by passages: ", "同一段落里一起提到最多：")
            lines.append(f"- {often}{self.say('; ', '；').join(pairs)}")
        return lines


def _overlap(one: str, other: str) -> bool:
    """Check for names of which one holds the words of the other in order (*Jo B. Vale*)."""
    first, second = sorted((one.casefold(), other.casefold()), key=len)
    words = iter(second.split())
    return first in second or all(word in words for word in first.split())
