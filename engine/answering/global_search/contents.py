"""Overview without a language model: a table of contents with sources.

Topics by title, with their documents, chief names and one or two sentences that can be read alone;
then years, people and places. A question with a subject is answered from the sections that
retrieval finds for it. Names come from the graph of the visible documents and stand in their text.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from graph.text.cjk import has_han, is_chinese

from ...plain_text import strip_markdown
from ...prompts import language_of
from ...retrieval.passages import Tracer
from ...storage.graph_api import Chunk, Entity
from ...storage.tokenization import tokens
from ...types import Citation
from ..packing import Draft, abstain
from .context import GlobalContext
from .standalone import is_personal, standalone_spans
from .subject import Subject, search_subject
from .topics import Topic, Unit, group_units, plain_title, sample_chunks, units_of

MAX_NAMES = 4
_LISTED = 6
"""Maximum number of people and of places that are listed."""
CHAPTERS = 40
"""Parts of one document that are listed; of more, so many at equal distances."""
_OFTEN = 3
"""Chunks of a part that hold a name that is shown beside its title."""
_SHOWN_TITLES = 4
_READ = 24
"""Maximum number of chunks of a topic whose sentences compete."""
_SENTENCES, _SECOND = 2, 0.7
"""Maximum sentences of a topic, and least share of the first one's score that a second one has."""
_OF_SUBJECT, _NEXT_BEST = 4, 0.4
"""The same for a section that tells of the subject of a question."""
_ALIKE = 0.4
_OTHER_LANGUAGE, _PERSONAL, _UNNAMED = 0.3, 0.5, 0.5
"""Factors for sentences in another script, in the first person, or without the topic's words."""
_FARTHER = 0.85
"""Factor for the title of each unit farther from the centre of its topic."""
_OTHER_TITLE = 0.6
"""Factor for titles in another script than the question's."""
_LEAST = 0.1
"""Worth of a sentence without a word that other parts have, too."""
_OPENING, _DEFINES, _BARE = 1.3, 1.4, 0.4
"""Factors for the first sentence of a chunk, for definitions, and for no word of the title."""
_DEFINITION = re.compile(
    r"(?:The |An? )?[A-Z][^,;:]{2,80}?(?: \([^)]*\))? (?:is|are|was|were)"
    r" (?:an?|the|one|part|[a-z]+ed)\b"
    r"|[^，。；：]{2,40}(?:（[^）]*）)?(?:是|为)"
)
_SHARED, _LIFT, _MANY = 0.4, 1.3, 9
"""A phrase is the title of so many units where this share of them has it, more than elsewhere."""
_KINDS = {
    "PERSON": 1.0,
    "ORGANISATION": 1.0,
    "PLACE": 0.8,
    "PRODUCT": 1.0,
    "WORK": 0.8,
    "EVENT": 0.8,
}
_TITLE_WORDS = 3
_WORD = re.compile(r"[a-z][a-z'-]{2,}|[^\W\da-z的是在了和为于与及也有之其年月日]{2,4}")
_YEAR = re.compile(
    r"(?:\b(?:in|since|until|from|to|by|of|during|between|and|around|about|early|late|after|before"
    r"|January|February|March|April|May|June|July|August|September|October|November|December|spring"
    r"|summer|autumn|winter),? |\(|[–—]\s?|born |\b\d{1,2}, )(1[0-9]\d\d|20\d\d)(?![\d,.:/%-]\d|\d)"
    r"(?! ?(?:bytes|packages|files|people|pages|words|k?m\b|tonnes|pounds))"
    r"|(?<!\d)(1[0-9]\d\d|20\d\d)(?=\s?年)"
)
_FEW_YEARS, _GAP = 3, 150
"""Fewer years are not told, nor one named once so long before all others."""
_PROPER = re.compile(
    r"(?:[^\W\d_a-z][\w.'’-]*|(?:of|de|la|le|du|van|von|der|the|al|and|den|da)\b|\s)+|[^\W\d_a-zA-Z]+[·\w]*"
)


@dataclass(frozen=True)
class _Said:
    """A sentence of a chunk and how well it tells of a topic."""

    chunk: Chunk
    start: int
    end: int
    words: frozenset[str]
    score: float


@dataclass
class _Cited:
    """Citations in order of first use; a span has one number."""

    found: dict[tuple[str, int, int], Citation] = field(default_factory=dict)

    def line(self, said: _Said) -> str:
        """Return a list line with its mark."""
        chunk = said.chunk
        key = (chunk.document_id, chunk.start + said.start, chunk.start + said.end)
        quote = chunk.text[said.start : said.end]
        if key not in self.found:
            self.found[key] = Citation(
                number=len(self.found) + 1,
                document_id=chunk.document_id,
                chunk_id=chunk.id,
                title=chunk.title,
                quote=quote,
                start=key[1],
                end=key[2],
                page=chunk.page,
            )
        return f"- {strip_markdown(quote)} [{self.found[key].number}]"


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

    def within(self, units: Iterable[Unit]) -> Counter[Entity]:
        """Count the units that name each entity."""
        return Counter(
            entity
            for unit in units
            for entity in sorted(
                {one for chunk in unit.chunks for one in self.of_chunk.get(chunk.id, ())},
                key=lambda one: one.id,
            )
        )


def table_of_contents(scene: GlobalContext, watch: Tracer) -> Draft:
    """Return the table of contents of the visible documents, or of what they say of a subject."""
    subject, looked_at = None, 0
    topics: list[Topic] = []
    if scene.generic:
        units, looked_at = _sampled_units(scene)
    else:
        subject, units = search_subject(scene)
    known = _Entities.of(scene, (chunk for unit in units for chunk in unit.chunks))
    if subject is not None:
        topics = [Topic((unit,), subject.words) for unit in units]
    elif units:
        topics = group_units(
            units,
            entities_of=known.ids,
            most=scene.plan.topics,
            chinese=has_han(scene.question),
        )
    watch.record("topics", f"{len(topics)} topic(s) of {len(units)} part(s)",
                 "; ".join(topic.units[0].title for topic in topics),
                 topics=len(topics), parts=len(units))  # fmt: skip
    return _Page(scene, units, known, subject, looked_at).draft(topics)


def _sampled_units(scene: GlobalContext) -> tuple[list[Unit], int]:
    """Return the units of the visible documents, and the number of documents in all."""
    by_document: defaultdict[str, list[str]] = defaultdict(list)
    for key, document in scene.places.document_of.items():
        if scene.admitted is None or document in scene.admitted:
            by_document[document].append(key)
    chunks = scene.chunks(sample_chunks(by_document))
    return units_of(list(chunks.values())), len(by_document)


@dataclass
class _Page:
    """The table of contents in the making."""

    scene: GlobalContext
    units: Sequence[Unit]
    known: _Entities
    subject: Subject | None
    documents: int
    cited: _Cited = field(default_factory=_Cited)

    def draft(self, topics: Sequence[Topic]) -> Draft:
        """Return the page, or abstain where nothing can be cited."""
        spread = self.known.within(self.units)
        titles: list[str] = []
        blocks: list[str] = []
        told: list[frozenset[str]] = []
        blocks += self._chapters(spread)
        parts = len(self.units) if blocks else 0
        for topic in topics if not blocks else ():
            if len(titles) == self.scene.plan.topics:
                break
            title = self._title(topic, spread, titles)
            lines = self._lines(topic, title, told)
            if title and (lines or not self.subject):
                titles.append(title)
                blocks.append(self._block(topic, title, spread, lines))
        citations = tuple(self.cited.found.values())
        language = language_of(self.scene.question)
        if not citations:
            return abstain(language, detail="no sentence tells of a topic")
        shown = self.units if self.subject is None else citations
        documents = len({one.document_id for one in shown})
        lead = self._lead(parts or len(blocks), documents)
        return Draft(
            text="\n\n".join(filter(None, (lead, *blocks, self._facts(spread)))),
            citations=citations,
            detail=f"{len(blocks)} topic(s), {len(citations)} sentence(s)",
            figures={
                "topics": float(len(blocks)),
                "points": float(len(citations)),
                "documents": float(documents),
            },
        )

    @property
    def _chinese(self) -> bool:
        return language_of(self.scene.question) == "zh"

    def _say(self, english: str, chinese: str) -> str:
        return chinese if self._chinese else english

    def _lead(self, topics: int, documents: int) -> str:
        if self.subject:
            these = "One document says" if documents == 1 else f"{documents} documents say"
            return self._say(f"{these} something about it:", f"{documents} 份文档谈到了这个问题：")
        sample = ""
        if self.documents > documents:
            sample = self._say(
                f" (of {self.documents:,}, evenly chosen)",
                f"（从 {self.documents:,} 份中均匀抽取）",
            )
        if documents == 1:
            return self._say(f"The document has {topics} parts:", f"这份文档分为 {topics} 个部分：")
        return self._say(
            f"{documents:,} documents{sample} on {topics} topics:",
            f"{documents:,} 份文档{sample}，{topics} 个主题：",
        )

    def _chapters(self, spread: Counter[Entity]) -> list[str]:
        """Return the parts of one document in order, each with its chief names, cited at its title.

        None where there are no more parts than topics, or where a part has no title.
        """
        many = len(self.units) > self.scene.plan.topics
        if self.subject or self.documents != 1 or not (many and all(u.title for u in self.units)):
            return []
        shown = [
            self.units[at * len(self.units) // CHAPTERS] for at in range(CHAPTERS)
        ] if len(self.units) > CHAPTERS else list(self.units)  # fmt: skip
        lines = []
        for unit in shown:
            topic = Topic((unit,), {})
            names = self._names(topic, unit.title, spread, least=_OFTEN)
            told = self._say(": ", "：") + self._say(", ", "、").join(names) if names else ""
            heading = unit.headings[-1] if unit.headings else unit.title
            places = ((chunk, chunk.text.find(heading)) for chunk in unit.chunks)
            place = next((one for one in places if one[1] >= 0), None)
            mark = ""
            if place is not None:
                said = _Said(place[0], place[1], place[1] + len(heading), frozenset(), 0.0)
                mark = " " + self.cited.line(said).rpartition(" ")[2]
            lines.append(f"- {unit.title}{told}{mark}")
        return ["\n".join(lines)]

    def _block(
        self, topic: Topic, title: str, spread: Counter[Entity], lines: Sequence[str]
    ) -> str:
        colon = self._say(":", "：")
        documents = {unit.document_id for unit in topic.units}
        count = len(documents)
        of_one = self.subject is not None or len({unit.document_id for unit in self.units}) == 1
        told = (
            ""
            if of_one
            else self._say(f" ({count} document{'s' if count > 1 else ''})", f"（{count} 份文档）")
        )
        notes = []
        others = self._others(topic, title) if not self.subject else []
        if others:
            notes.append(self._say("See: ", "见：") + self._say("; ", "；").join(others))
        names = self._names(topic, title, spread)
        if len(names) > 1:
            notes.append(self._say("Names: ", "名称：") + self._say(", ", "、").join(names))
        head = f"{title}{told}" + (colon if lines or notes else "")
        return "\n".join((head, *lines, *(f"- {note}" for note in notes)))

    def _others(self, topic: Topic, title: str) -> list[str]:
        """Return the titles of further units of a topic."""
        titles = list(dict.fromkeys(unit.title for unit in topic.units if unit.title))
        shown = [one for one in titles if one != title]
        more = len(shown) - _SHOWN_TITLES
        rest = [self._say(f"{more} more", f"另有 {more} 份")] if more > 0 else []
        return shown[:_SHOWN_TITLES] + rest

    def _title(self, topic: Topic, spread: Counter[Entity], taken: Sequence[str]) -> str:
        """Return a phrase that many units share, else the title of the central one."""
        if self.subject:
            return _heading(topic.units[0])
        fitting = sorted(
            (-self._title_score(unit, topic), number, unit.title)
            for number, unit in enumerate(topic.units)
            if unit.title and unit.title not in taken
        )
        if fitting and len(topic.units) < _MANY:
            return fitting[0][2]
        phrases = [one for one in self._phrases(topic, spread) if one not in taken][:2]
        shared = self._say(" and ", "与").join(phrases) or self._say(", ", "、").join(
            self._words(topic)
        )
        return shared[:1].upper() + shared[1:] or (fitting[0][2] if fitting else "")

    def _title_score(self, unit: Unit, topic: Topic) -> float:
        """Return how well a unit's title names what the whole topic is about."""
        words = tokens(unit.title)
        value = sum(topic.weights.get(word, 0.0) for word in words) / (len(words) + 1)
        value *= _FARTHER ** topic.units.index(unit)
        return round(value * (1.0 if has_han(unit.title) == self._chinese else _OTHER_TITLE), 6)

    def _phrases(self, topic: Topic, spread: Counter[Entity]) -> list[str]:
        """Return names and noun phrases that more of a topic's units have than of the others."""
        units = topic.units
        inside, every = self.known.within(units), spread
        held = inside
        if len(units) < _MANY:  # few long documents: by chunks
            units = tuple(Unit(u.document_id, u.headings, (c,)) for u in units for c in u.chunks)
            inside = self.known.within(units)
        total = len(self.units)
        scored = []
        for entity, count in inside.items():
            share = count / len(units)
            rare = math.log(1 + total / every[entity])
            is_rare = len(topic.units) >= _MANY and share < _SHARED
            if is_rare or held[entity] * total < _LIFT * every[entity] * len(topic.units):
                continue
            if entity.type == "PLACE" or (len(topic.units) < _MANY and entity.type != "CONCEPT"):
                continue
            shown = self._shown(entity, topic.chunks)
            if shown:
                scored.append((-round(share * rare, 6), shown))
        chosen: list[str] = []
        for _, shown in sorted(scored):
            if not any(_overlap(shown, one) for one in chosen):
                chosen.append(shown)
        return chosen

    def _words(self, topic: Topic) -> list[str]:
        """Return the words that mark a topic best, as they are most often written."""
        ranked = sorted(topic.marks, key=lambda term: (-topic.marks[term], term))
        best = [term for term in ranked if _WORD.fullmatch(term)][:_TITLE_WORDS]
        surfaces: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for chunk in topic.chunks[:_READ]:
            for word in re.findall(r"[^\W\d_]+", chunk.text):
                stem = tokens(word)
                if len(stem) == 1 and stem[0] in best:
                    surfaces[stem[0]][word] += 1
        for term in best:
            if has_han(term):
                surfaces[term][term] += 1
        return [
            min(surfaces[term], key=lambda word: (-surfaces[term][word], word))
            for term in best
            if surfaces[term]
        ]

    def _names(
        self, topic: Topic, title: str, spread: Counter[Entity], *, least: int = 1
    ) -> list[str]:
        """Return the names that mark a topic, in the question's language where there is one."""
        inside = Counter(one for c in topic.chunks for one in self.known.of_chunk.get(c.id, ()))
        least = max(least, 2 if len(topic.chunks) > _READ // 2 else 1)
        scored = [
            (
                -round(_KINDS[entity.type] * count * self._rarity(entity, spread), 6),
                entity.id,
                entity,
            )
            for entity, count in inside.items()
            if entity.type in _KINDS and count >= least and not re.search("[,/，、]", entity.name)
        ]
        chosen: list[str] = []
        for _, _, entity in sorted(scored, key=lambda one: one[:2]):
            shown = self._shown(entity, topic.chunks)
            if shown and not any(_overlap(shown, one) for one in (*chosen, title)):
                chosen.append(shown)
            if len(chosen) == MAX_NAMES:
                break
        return chosen

    @staticmethod
    def _is_proper(entity: Entity, spread: Counter[Entity], named: Mapping[str, Entity]) -> bool:
        """Check that a name reads as one, and is not made of the name of something else."""
        if not _PROPER.fullmatch(entity.name):
            return False
        words = entity.name.split()
        parts = {" ".join(words[:count]) for count in range(1, len(words))} | {words[-1]}
        others = (named[part] for part in sorted(parts) if part in named)
        return not any(
            other.type != entity.type and spread[other] > spread[entity] for other in others
        )

    def _rarity(self, entity: Entity, spread: Counter[Entity]) -> float:
        return math.log(1 + len(self.units) / max(1, spread[entity]))

    def _shown(self, entity: Entity, chunks: Sequence[Chunk]) -> str:
        """Return the entity's name in the question's language that stands in one of the chunks."""
        names = (entity.name, *entity.aliases)
        fitting = [name for name in names if has_han(name) == self._chinese] or [entity.name]
        for name in fitting[:4]:
            folded = name.casefold()
            if any(folded in " ".join(chunk.text.split()).casefold() for chunk in chunks):
                return " ".join(name.split())
        return ""

    def _lines(self, topic: Topic, title: str, told: list[frozenset[str]]) -> list[str]:
        """Return one or two cited sentences, none like those already told."""
        named = frozenset(tokens(title)) | frozenset(self._top_terms(topic))
        ranked = sorted(
            self._sayings(topic, named),
            key=lambda said: (-said.score, said.chunk.document_id, said.chunk.start + said.start),
        )
        chosen: list[_Said] = []
        is_whole = self.subject is None
        most, share = (_SENTENCES, _SECOND) if is_whole else (_OF_SUBJECT, _NEXT_BEST)
        asked = self.subject.words.keys() if self.subject is not None else frozenset()
        for said in ranked:
            if chosen and said.score < share * chosen[0].score:
                break
            words = said.words - asked
            if not any(_is_alike(words, other) for other in told):
                chosen.append(said)
                told.append(words)
            if len(chosen) == most:
                break
        return [self.cited.line(said) for said in chosen]

    def _top_terms(self, topic: Topic) -> list[str]:
        ranked = sorted(topic.weights, key=lambda term: (-topic.weights[term], term))
        return [term for term in ranked if not term.startswith("\0")][:10]

    def _sayings(self, topic: Topic, named: frozenset[str]) -> Iterator[_Said]:
        most = max(topic.weights.values(), default=0.0) or 1.0
        for chunk, turn, heads in _in_turns(topic.units):
            said = _FARTHER**turn
            for number, (start, end) in enumerate(standalone_spans(chunk.text)):
                text = chunk.text[start:end]
                words = frozenset(tokens(text))
                if self.subject is not None:
                    value = self.subject.told_by(words, chunk)
                else:
                    value = _LEAST + sum(topic.weights.get(word, 0.0) for word in words) / most
                    value *= (_BARE + len(words & heads) / (len(heads) or 1)) / math.sqrt(
                        len(words) or 1
                    )
                value *= said * (1.0 if number else _OPENING)
                value *= _DEFINES if _DEFINITION.match(text) else 1.0
                value *= _OTHER_LANGUAGE if is_chinese(text) != self._chinese else 1.0
                value *= _PERSONAL if is_personal(text) else 1.0
                value *= 1.0 if words & named else _UNNAMED
                if value > 0:
                    yield _Said(chunk, start, end, words, round(value, 6))

    def _facts(self, spread: Counter[Entity]) -> str:
        """Return years, people and places, a line each."""
        chunks = [chunk for unit in self.units for chunk in unit.chunks]
        named = {entity.name: entity for entity in spread}
        lines = []
        if years := _years(chunk.text for chunk in chunks):
            lines.append(self._say("Years: ", "时间：") + "–".join(map(str, years)))
        for kind, english, chinese in (
            ("PERSON", "People: ", "人物："),
            ("PLACE", "Places: ", "地点："),
        ):
            some = [one for one in spread if one.type == kind]
            some.sort(key=lambda one: (-spread[one], -one.mention_count, one.name))
            proper = (one for one in some if self._is_proper(one, spread, named))
            names = (self._shown(one, chunks) for one in islice(proper, 2 * _LISTED))
            shown = list(dict.fromkeys(filter(None, names)))[:_LISTED]
            if len(shown) > 1:
                lines.append(self._say(english, chinese) + self._say(", ", "、").join(shown))
        return "\n".join(lines)


def _heading(unit: Unit) -> str:
    """Return the title of a document, and the heading of the section in it."""
    document = plain_title(unit.chunks[0].title)
    if not unit.title or unit.title.casefold() == document.casefold():
        return document
    return f"{document} – {unit.title}"


def _in_turns(units: Sequence[Unit]) -> Iterator[tuple[Chunk, int, frozenset[str]]]:
    """Yield the chunks of units in turns, with the turn and the words of the unit's title."""
    heads = [frozenset(tokens(unit.title)) for unit in units[:_READ]]
    rounds = zip_longest(*(unit.chunks for unit in units[:_READ]))
    turns = (
        (chunk, turn, heads[place])
        for turn, row in enumerate(rounds)
        for place, chunk in enumerate(row)
        if chunk
    )
    for _, one in zip(range(_READ), turns, strict=False):
        yield one


def _years(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the first and last year named, but for the rarest; none where few are."""
    found = sorted(int(match[1] or match[2]) for text in texts for match in _YEAR.finditer(text))
    if len(found) < _FEW_YEARS:
        return ()
    while len(found) > _FEW_YEARS and found[1] - found[0] > _GAP:
        found.pop(0)
    return (found[0], found[-1]) if found[0] < found[-1] else (found[0],)


def _overlap(one: str, other: str) -> bool:
    return one.casefold() in other.casefold() or other.casefold() in one.casefold()


def _is_alike(words: frozenset[str], others: frozenset[str]) -> bool:
    least = min(len(words), len(others))
    return len(words & others) > _ALIKE * least or not least
