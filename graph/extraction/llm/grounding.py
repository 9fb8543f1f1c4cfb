"""Grounding of model output in the chunk's text; unsupported items are dropped.

Names become mentions at every place where they stand; relations and claims are tied to the sentence
that speaks of them. Matching ignores case, accents, width, Chinese script variants, curly quotes,
dashes and white space; where that finds nothing, an article, a possessive, a plural, brackets or
spaces around marks may differ. What the text does not hold or the schema does not allow is counted.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from ...model import ALSO_KNOWN_AS, Claim, Description, Extraction, Mention, Statement
from ...resolution.name_parsing import is_bare_title
from ...resolution.relational_names import owners_of
from ...text.cjk import HAN, has_han, simplified
from ...text.names import FUNCTION_WORDS, WORD_CHARACTERS, name_key
from ...text.sentences import sentence_spans, sentence_words
from ..aliases import is_name
from ..protocol import looks_like, normalised_type, open_type
from .parsing import (
    RawClaim,
    RawEntity,
    RawExtraction,
    RawRelation,
    claim_status_of,
    date_of,
    is_turned,
    names_alias,
    predicate_of,
    scale_of,
    stands_in,
    strength_of,
)
from .prompts import ExtractionSchema, fold_predicate, normalised_predicate

MAX_PLACES = 50
"""Of one name in one chunk."""
_ALIKE = str.maketrans("’‘ʼ`´“”„«»‐‑‒–—−•・‧", "'''''\"\"\"\"\"------···")
_EDGES = " \t\n.,;:!?'\"《》「」『』【】〈〉()[]*#~|<>·、，。；：！？"
_HAN_GAP = re.compile(rf"(?<=[{HAN}])\s+(?=[{HAN}])")
_PARTS = re.compile(r"[^\W_]+|[^\w\s]|_")
_WORD = re.compile(rf"[{WORD_CHARACTERS}]")


class FoldedText:
    """A text and its folded form, each character of which knows where it came from."""

    def __init__(self, text: str) -> None:
        self.text = text
        gaps = {place for gap in _HAN_GAP.finditer(text) for place in range(*gap.span())}
        folded: list[str] = []
        self._origins: list[int] = []
        for place, character in enumerate(text):
            new = "" if place in gaps else _folded(character)
            if new == " " and folded and folded[-1] == " ":
                continue
            folded.extend(new)
            self._origins.extend([place] * len(new))
        self._origins.append(len(text))
        self.folded = "".join(folded)

    def places(self, name: str) -> list[tuple[int, int]]:
        """Find the spans of a name, else of its variants, in order."""
        for form in dict.fromkeys(_forms(FoldedText(name).folded)):
            found = self._places_of(form)
            if found:
                return found
        return self._loosely(fold_name(name))

    def _loosely(self, folded_name: str) -> list[tuple[int, int]]:
        """Match with differing spaces around marks ("Hispano - Suiza")."""
        parts = _PARTS.findall(folded_name)
        if not any(part.isalnum() for part in parts) or all(part.isalnum() for part in parts):
            return []
        pattern = re.escape(parts[0])
        for before, part in pairwise(parts):
            both = before.isalnum() and part.isalnum()
            pattern += (" " if both else " ?") + re.escape(part)
        found = [
            self._span(*match.span())
            for match in re.finditer(pattern, self.folded)
            if not self._cuts_word(match.start()) and not self._cuts_word(match.end())
        ]
        return found[:MAX_PLACES]

    def _places_of(self, folded_name: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        start = self.folded.find(folded_name)
        while start != -1 and len(found) < MAX_PLACES:
            end = start + len(folded_name)
            if self._cuts_word(start) or self._cuts_word(end):
                start = self.folded.find(folded_name, start + 1)
                continue
            found.append(self._span(start, end))
            start = self.folded.find(folded_name, end)
        return found

    def _cuts_word(self, place: int) -> bool:
        around = self.folded[max(0, place - 1) : place + 1]
        if len(around) < 2 or place == 0:
            return False
        if self._origins[place] == self._origins[place - 1]:
            return True  # inside of what was one character, such as ½
        return all(map(_WORD.match, around))

    def _span(self, start: int, end: int) -> tuple[int, int]:
        first, last = self._origins[start], self._origins[end]
        return first, first + len(self.text[first:last].rstrip())


def _folded(character: str) -> str:
    if character.isascii():
        return " " if character.isspace() else character.lower().translate(_ALIKE)
    wide = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character))
    kept = "".join(c for c in wide if not unicodedata.combining(c)).casefold()
    kept = simplified(unicodedata.normalize("NFC", kept)).translate(_ALIKE)
    return " " if character.isspace() or kept.isspace() else kept


_LEADING_ARTICLE = re.compile(r"(?:the|an?) ")
_BRACKETS = re.compile(r" ?[(\[]([^()\[\]]*)[)\]]$")


def _forms(folded: str) -> Iterator[str]:
    """Return the folded name and its variants, nearest first; never empty."""
    bare = folded.strip()
    plain = _BRACKETS.sub("", bare).strip(_EDGES)
    short = _LEADING_ARTICLE.sub("", plain, count=1)
    owned = re.sub(r"'s?$", "", short)
    for form in (bare, plain, short, owned):
        if form:
            yield form
    if len(owned) > 3 and not has_han(owned):
        yield owned + "s"
        if owned.endswith("s") and not owned.endswith("ss"):
            yield owned[:-1]
        if owned.endswith("y"):
            yield owned[:-1] + "ies"
        if owned.endswith("ies"):
            yield owned[:-3] + "y"
    if "-" in owned:
        yield owned.replace("-", " ")
    if owned.count(", ") == 1:  # Brine, Ada
        yield " ".join(reversed(owned.split(", ")))
    bracketed = _BRACKETS.search(bare)
    if bracketed and bracketed[1].strip(_EDGES):  # United Nations (UN)
        yield bracketed[1].strip(_EDGES)


def fold_name(name: str) -> str:
    """Return the folded form of an extracted name for matching it in the text."""
    return FoldedText(name).folded.strip()


def key_of(surface: str) -> str:
    """Return the name key of a surface, without line breaks inside Chinese words."""
    return name_key(_HAN_GAP.sub("", surface))


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
            form = fold_name(entity.name)
            if self._found.get(form) is None:
                found, why = self._look_for(entity)
                self.dropped[why] += found is None and form not in self._found
                self._found[form] = found
        self.given = len(self._found)
        self.standing = self.given - self.dropped[NOT_IN_TEXT]
        self.aliases = tuple(self._aliases())

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

    def _aliases(self) -> Iterator[tuple[Found, Found]]:
        """Yield names with their second names, as far as both stand in the text."""
        for entity in self._said:
            name = self._found.get(fold_name(entity.name))
            for alias in entity.aliases:
                found = self._alias(alias, entity, name)
                if found is None:
                    continue
                if name is None:  # only the second name stands in the text
                    name = self._found[fold_name(entity.name)] = found
                    self._found.setdefault(fold_name(alias), found)
                elif found.key != name.key:
                    self._found[fold_name(alias)] = found
                    yield name, found

    def _alias(self, alias: str, entity: RawEntity, name: Found | None) -> Found | None:
        """Return a second name that stands in the text outside of the first, as a name does.

        A bare title ("the Director") names many.
        """
        known = self._found.get(fold_name(alias))
        if known is not None:
            return known
        places = self._places(alias)
        inside = [(place.start, place.end) for place in (name.places if name else ())]
        free = [p for p in places if not any(a <= p.start and p.end <= b for a, b in inside)]
        if not free or not self._names_something(free[0]):
            return None
        surface = self._text[free[0].start : free[0].end]
        if surface[:1].islower() or is_bare_title(free[0].key):
            return None
        kind = self._type(entity)
        if self._schema.strict and kind not in self._schema.entity_types:
            return None
        return Found(kind, places)

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
        if kind != "PERSON" or len(words) < 2 or len(words[-1]) < 3 or owners_of([name]):
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
        form = fold_name(name)
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
            found = self._found.get(fold_name(entity.name))
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


_PERSONAL = r"\b(?:he|she|him|her|his|hers|they|them|their)\b|[他她]|其(?![中他它余实次])"
_IMPERSONAL = (
    r"\b(?:it|its|they|them|their|this|these|there|here)\b|[它该此]|其(?![中他它余实次])|这(?!样)"
)
_OF_PERSONS = re.compile(_PERSONAL, re.IGNORECASE)
_OF_THINGS = re.compile(_IMPERSONAL, re.IGNORECASE)
_PRONOUNS = re.compile(f"{_PERSONAL}|{_IMPERSONAL}", re.IGNORECASE)

NO_ENDS = "relation without both ends in the text"
TO_ITSELF = "relation of a name to itself"
OTHER_RELATION = "relation outside the schema"
INFERRED = "relation that no sentence states"
NO_SUBJECT = "claim about a name that is not in the text"
OTHER_DATE = "date that is not in the text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """An extraction whose spans are verified, and what was left out, counted by why.

    `named` is how many names were given, `placed` how many of them stand in the text.
    """

    extraction: Extraction
    dropped: Counter[str]
    named: int
    placed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """The sentences from `first` to `last`, and the keys that two names have there."""

    first: int
    last: int
    subject: str
    object: str


def anchor_records(said: RawExtraction, text: str, schema: ExtractionSchema) -> Anchored:
    """Anchor the records that a model extracted in the chunk's text; deterministic."""
    sentences = Sentences(text)
    names = NameMatches(sentences, schema, said.entities)
    reader = _Reader(sentences, schema, names=names)
    statements = reader.statements(said.relations, aliases=names.aliases)
    claims = reader.claims(said.claims) if schema.claims else ()
    return Anchored(
        extraction=Extraction(
            mentions=names.mentions(),
            statements=statements,
            descriptions=names.descriptions(),
            claims=claims,
        ),
        dropped=names.dropped + reader.dropped,
        named=names.given,
        placed=names.standing,
    )


class _Reader:
    """Binder of relations and claims to sentences; `dropped` counts unsupported ones."""

    def __init__(
        self, sentences: Sentences, schema: ExtractionSchema, *, names: NameMatches
    ) -> None:
        self._sentences = sentences
        self._schema = schema
        self._names = names
        self._words = [sentence_words(sentences.text[start:end]) for start, end in sentences.spans]
        self.dropped: Counter[str] = Counter()

    def statements(
        self, relations: Iterable[RawRelation], *, aliases: Iterable[tuple[Found, Found]] = ()
    ) -> tuple[Statement, ...]:
        """Sorted; of those that differ in their description alone the one that says most."""
        said = list(relations)
        scale = scale_of(relation.strength for relation in said)
        best: dict[tuple[int, int, str, str, str], Statement] = {}
        for relation in said:
            made = self._statement(relation, scale=scale)
            if isinstance(made, str):
                self.dropped[made] += 1
                continue
            key = (made.start, made.end, made.subject, made.predicate, made.object)
            best[key] = max(best.get(key, made), made, key=_says)
        for name, second in aliases:
            span = self._shared(name, second, "") or _nearest(name, second)
            if span is not None:
                made = self._made(span, ALSO_KNOWN_AS)
                key = (made.start, made.end, made.subject, made.predicate, made.object)
                best.setdefault(key, made)
        return tuple(sorted(best.values()))

    def _made(self, span: _Span, predicate: str) -> Statement:
        return Statement(
            start=self._sentences.spans[span.first][0],
            end=self._sentences.spans[span.last][1],
            subject=span.subject,
            predicate=predicate,
            object=span.object,
        )

    def _statement(self, said: RawRelation, *, scale: float) -> Statement | str:
        """Return a relation with its sentence, or the reason against it."""
        source, target = self._names.end(said.source), self._names.end(said.target)
        if source is None or target is None:
            return NO_ENDS
        is_alias = names_alias(said.predicate) and not self._is_listed(said.predicate)
        if is_alias and is_turned(said.predicate):
            source, target = target, source
        about = f"{said.predicate} {said.description}"
        stated = self._shared(source, target, about) or self._adjoining(source, target, about)
        span = stated or _nearest(source, target)
        if span is None:
            return TO_ITSELF
        if stated is None and self._schema.inferred == "drop":
            return INFERRED
        predicate = ALSO_KNOWN_AS if is_alias else said.predicate
        predicate = predicate_of(predicate, inferred=stated is None)
        if self._schema.strict and not self._schema.allows(source.type, predicate, target.type):
            return OTHER_RELATION
        return replace(
            self._made(span, predicate),
            description=said.description,
            strength=strength_of(said.strength, scale=scale),
            inferred=stated is None,
        )

    def _shared(self, source: Found, target: Found, about: str) -> _Span | None:
        """Return the sentence with both ends that shares most with `about`.

        The first of equals.
        """
        keys, others = source.by_sentence(), target.by_sentence()
        shared = [place for place in keys if place in others and keys[place] != others[place]]
        if not shared:
            return None
        best = self._closest(shared, about)
        return _Span(first=best, last=best, subject=keys[best], object=others[best])

    def _is_listed(self, predicate: str) -> bool:
        """Check whether the schema wants this predicate for a relation of its own."""
        said = fold_predicate(normalised_predicate(predicate))
        return any(fold_predicate(one.predicate) == said for one in self._schema.relation_types)

    def _adjoining(self, source: Found, target: Found, about: str) -> _Span | None:
        """Return two adjoining sentences, one end in each, where a pronoun stands for the first.

        Of several the pair that shares most with `about`, the first of equals.
        """
        keys, others = source.by_sentence(), target.by_sentence()
        spans = [
            _Span(first=place, last=place + 1, subject=keys[one], object=others[other])
            for first, one_off, other_off in ((source, 0, 1), (target, 1, 0))
            for place in first.by_sentence()
            for one, other in [(place + one_off, place + other_off)]
            if one in keys
            and other in others
            and keys[one] != others[other]
            and self._has_pronoun(place + 1, first.type)
        ]
        words = sentence_words(about) - FUNCTION_WORDS
        shared = {s: len(words & (self._words[s.first] | self._words[s.last])) for s in spans}
        return min(spans, key=lambda span: (-shared[span], span.first), default=None)

    def _has_pronoun(self, sentence: int, kind: str) -> bool:
        start, end = self._sentences.spans[sentence]
        pattern = _PRONOUNS if kind in _VAGUE else _OF_PERSONS if kind == "PERSON" else _OF_THINGS
        return pattern.search(self._sentences.text, start, end) is not None

    def _closest(self, sentences: Iterable[int], about: str) -> int:
        words = sentence_words(about) - FUNCTION_WORDS
        return min(sentences, key=lambda place: (-len(words & self._words[place]), place))

    def claims(self, claims: Iterable[RawClaim]) -> tuple[Claim, ...]:
        """Sorted; of those with one span, subject, object and type the longest."""
        best: dict[tuple[int, int, str, str, str], Claim] = {}
        for said in claims:
            subject = self._names.end(said.subject)
            if subject is None:
                self.dropped[NO_SUBJECT] += 1
                continue
            made = self._claim(said, subject)
            key = (made.start, made.end, made.subject, made.object, made.type)
            best[key] = max(best.get(key, made), made, key=lambda one: (len(one.text), one))
        return tuple(sorted(best.values()))

    def _claim(self, said: RawClaim, subject: Found) -> Claim:
        target = self._names.end(said.object) if said.object else None
        span = self._shared(subject, target, said.text) if target else None
        if span is None:
            keys = subject.by_sentence()
            best = self._closest(keys, said.text)
            beside = target.key if target and target.key != keys[best] else ""
            span = _Span(first=best, last=best, subject=keys[best], object=beside)
        return Claim(
            start=self._sentences.spans[span.first][0],
            end=self._sentences.spans[span.last][1],
            subject=span.subject,
            object=span.object,
            type=normalised_type(said.type) or "CLAIM",
            status=claim_status_of(said.status),
            start_date=self._date(said.start),
            end_date=self._date(said.end),
            text=said.text,
        )

    def _date(self, said: str) -> str:
        date = date_of(said)
        if date and not stands_in(date, self._sentences.text):
            self.dropped[OTHER_DATE] += 1
            return ""
        return date


def _nearest(source: Found, target: Found) -> _Span | None:
    """From a sentence of the one to the nearest of the other, the first of equals."""
    spans = [
        _Span(
            first=min(one.sentence, other.sentence),
            last=max(one.sentence, other.sentence),
            subject=one.key,
            object=other.key,
        )
        for one in source.places
        for other in target.places
        if one.key != other.key
    ]
    return min(spans, key=lambda span: (span.last - span.first, span.first), default=None)


def _says(statement: Statement) -> tuple[int, float, str]:
    return len(statement.description), statement.strength, statement.description
