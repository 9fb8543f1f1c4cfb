"""Names given by a model: their occurrences and types.

A name that does not stand in the text is none, whatever is said of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..model import Description, Mention
from ..sentences import sentence_spans
from .candidates import is_name
from .labels import looks_like, open_type
from .model_places import FoldedText, fold, key_of
from .model_records import RawEntity
from .model_schema import ExtractionSchema

NOT_IN_TEXT = "name that is not in the text"
NO_NAME = "word that names nothing"
OTHER_TYPE = "type outside the schema"
_VAGUE = ("NAME", "CONCEPT")


@dataclass(frozen=True, slots=True, order=True)
class NameMatch:
    """One occurrence of a name: where, in which sentence, under which name key."""

    start: int
    end: int
    sentence: int
    key: str


@dataclass(frozen=True, slots=True)
class Found:
    """A name that stands in the text, with its places in order: one at the least."""

    type: str
    places: tuple[NameMatch, ...]

    @property
    def key(self) -> str:
        """The key of its first place."""
        return self.places[0].key

    def by_sentence(self) -> Mapping[int, str]:
        """Return the sentences of a name with its first key in each."""
        keys: dict[int, str] = {}
        for place in self.places:
            keys.setdefault(place.sentence, place.key)
        return keys


class Sentences:
    """A text and its sentences, which can be found by an offset."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans = sentence_spans(text)
        self._starts = [start for start, _ in self.spans]

    def at(self, offset: int) -> int:
        """Return the sentence at a character, or the next one."""
        place = max(bisect_right(self._starts, offset) - 1, 0)
        inside = offset < self.spans[place][1]
        return place if inside else min(place + 1, len(self.spans) - 1)


class NameMatches:
    """Names given by a model that occur in the text; `dropped` counts others by reason."""

    def __init__(
        self, sentences: Sentences, schema: ExtractionSchema, said: Iterable[RawEntity]
    ) -> None:
        self._sentences = sentences
        self._text = sentences.text
        self._schema = schema
        self._folded = FoldedText(sentences.text)
        self._said = list(said)
        self._found: dict[str, Found | None] = {}
        self.dropped: Counter[str] = Counter()
        for entity in sorted(self._said, key=lambda one: self._type(one) in _VAGUE):
            form = fold(entity.name)
            if self._found.get(form) is None:
                found, why = self._look_for(entity)
                self.dropped[why] += found is None and form not in self._found
                self._found[form] = found
        self.given = len(self._found)
        self.standing = self.given - self.dropped[NOT_IN_TEXT]

    def _type(self, entity: RawEntity) -> str:
        return open_type(entity.type, entity.name, listed=self._schema.entity_types)

    def _look_for(self, entity: RawEntity) -> tuple[Found | None, str]:
        kind = self._type(entity)
        places = self._places(entity.name) or self._surname_places(entity.name, kind)
        if not places:
            return None, NOT_IN_TEXT
        if not self._names_something(places[0]):
            return None, NO_NAME
        if self._schema.strict and kind not in self._schema.entity_types:
            return None, OTHER_TYPE
        return Found(kind, places), ""

    def _places(self, name: str) -> tuple[NameMatch, ...]:
        return tuple(self._placed(self._folded.places(name)))

    def _placed(self, spans: Iterable[tuple[int, int]]) -> Iterator[NameMatch]:
        for begin, end in spans:
            start = _without_article(self._text, begin, end)
            key = key_of(self._text[start:end])
            if key:
                yield NameMatch(start, end, self._sentences.at(start), key)

    def _surname_places(self, name: str, kind: str) -> tuple[NameMatch, ...]:
        """Find a person's surname, for models that complete names from other texts."""
        words = name.split()
        if kind != "PERSON" or len(words) < 2 or len(words[-1]) < 3:
            return ()
        return tuple(
            place
            for place in self._places(words[-1])
            if self._text[place.start : place.start + 1].isupper()
        )

    def _names_something(self, place: NameMatch) -> bool:
        return is_name(self._text[place.start : place.end], place.key)

    def end(self, name: str) -> Found | None:
        """Return a relation's end: a given name, or a name found in the text."""
        form = fold(name)
        if form not in self._found:
            self._found[form] = self._unlisted(name)
        return self._found[form]

    def _unlisted(self, name: str) -> Found | None:
        places = self._places(name)
        if not places:
            return None
        for known in self._found.values():
            if known and known.key == places[0].key:
                return known
        surface = self._text[places[0].start : places[0].end]
        if self._schema.strict or looks_like(surface) != "NAME":
            return None
        return Found("NAME", places) if self._names_something(places[0]) else None

    def mentions(self) -> tuple[Mention, ...]:
        """Return all mentions, sorted; nested ones only without any other.

        A key has one type: the first that says more than that it is a name. A surname alone is its
        person.
        """
        types = self._types()
        places = sorted(
            {place for found in self._found.values() if found for place in found.places}
        )
        free = set(_uncovered(places))
        free_keys = {place.key for place in free}
        return tuple(
            sorted(
                Mention(
                    start=place.start,
                    end=place.end,
                    surface=self._text[place.start : place.end],
                    key=place.key,
                    type=types[place.key],
                )
                for place in places
                if place in free or place.key not in free_keys
            )
        )

    def _types(self) -> dict[str, str]:
        types: dict[str, str] = {}
        names = [found for found in self._found.values() if found]
        for found in sorted(names, key=lambda one: one.type in _VAGUE):
            for place in found.places:
                types.setdefault(place.key, found.type)
        surnames = {key.split()[-1] for key, kind in types.items() if kind == "PERSON"}
        persons = {key for key in surnames if types.get(key) == "NAME"}
        return {**types, **dict.fromkeys(persons, "PERSON")}

    def descriptions(self) -> tuple[Description, ...]:
        """Return the longest description of each anchored name."""
        longest: dict[str, str] = {}
        for entity in self._said:
            found = self._found.get(fold(entity.name))
            if found and entity.description:
                known = longest.get(found.key, "")
                longest[found.key] = max(
                    known, entity.description, key=lambda text: (len(text), text)
                )
        return tuple(Description(key=key, text=longest[key]) for key in sorted(longest))


_ARTICLE = re.compile(r"(?:the|an?)\s+(?=\S)", re.IGNORECASE)


def _without_article(text: str, start: int, end: int) -> int:
    """Return the start of a name behind its article, unless the article is needed."""
    article = _ARTICLE.match(text, start, end)
    rest = text[article.end() : end] if article else ""
    return article.end() if article and is_name(rest, key_of(rest)) else start


def _uncovered(places: Iterable[NameMatch]) -> Iterator[NameMatch]:
    """Places around which no longer one stands; no two have the same span."""
    reach = -1
    for place in sorted(places, key=lambda one: (one.start, -one.end)):
        if place.end > reach:
            yield place
            reach = place.end
