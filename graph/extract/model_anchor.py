"""Anchoring of model output in the chunk's text; unsupported items are dropped.

Names become mentions at every place where they stand; relations and claims are tied to the
sentence that speaks of them. What the text does not hold, or the schema does not allow, is counted
and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..model import Claim, Extraction, Statement
from ..name_words import FUNCTION_WORDS
from ..passages import tokens
from .labels import normalised_type
from .model_names import Found, NameMatches, Sentences
from .model_records import RawClaim, RawExtraction, RawRelation
from .model_schema import ExtractionSchema
from .model_values import date_of, predicate_of, scale_of, stands_in, status_of, strength_of

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


def anchored(said: RawExtraction, text: str, schema: ExtractionSchema) -> Anchored:
    """Anchor records in the text; deterministic."""
    sentences = Sentences(text)
    names = NameMatches(sentences, schema, said.entities)
    reader = _Reader(sentences, schema, names=names)
    statements = reader.statements(said.relations)
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
        self._words = [tokens(sentences.text[start:end]) for start, end in sentences.spans]
        self.dropped: Counter[str] = Counter()

    def statements(self, relations: Iterable[RawRelation]) -> tuple[Statement, ...]:
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
        return tuple(sorted(best.values()))

    def _statement(self, said: RawRelation, *, scale: float) -> Statement | str:
        """Return a relation with its sentence, or the reason against it."""
        source, target = self._names.end(said.source), self._names.end(said.target)
        if source is None or target is None:
            return NO_ENDS
        stated = self._shared(source, target, f"{said.predicate} {said.description}")
        span = stated or _nearest(source, target)
        if span is None:
            return TO_ITSELF
        if stated is None and self._schema.inferred == "drop":
            return INFERRED
        predicate = predicate_of(said.predicate, inferred=stated is None)
        if self._schema.strict and not self._schema.allows(source.type, predicate, target.type):
            return OTHER_RELATION
        return Statement(
            start=self._sentences.spans[span.first][0],
            end=self._sentences.spans[span.last][1],
            subject=span.subject,
            predicate=predicate,
            object=span.object,
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

    def _closest(self, sentences: Iterable[int], about: str) -> int:
        words = tokens(about) - FUNCTION_WORDS
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
            status=status_of(said.status),
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
