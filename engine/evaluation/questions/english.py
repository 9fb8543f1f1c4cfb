"""English questions from single sentences, by their dependency parse.

A sentence is used where its subject names something and its main clause can stand alone: the
clause ends at the first comma, conjunction or subordinate clause. A question replaces one part of
it (the subject, a date, a place, a number, a reason); the gold value is that part.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...storage.graph_api import find_english_model

if TYPE_CHECKING:
    from spacy.language import Language as Pipeline
    from spacy.tokens import Doc, Span, Token

MIN_WORDS, MAX_WORDS = 5, 40
"""Words of a sentence that is used."""
MAX_SUBJECT, MAX_PREDICATE = 8, 18
_YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-9]{2}\b")
_MONTHS_WORDS = """
january february march april may june july august september october november december monday
tuesday wednesday thursday friday saturday sunday
"""
_MONTHS = frozenset(_MONTHS_WORDS.split())
_CONTEXTUAL = re.compile(
    r"\b(?:this|that|these|those|such|former|latter|here|there|above|below|following|previous|said"
    r"|same|another|other|others|also|then|however|therefore|thus|too|instead|both|section|chapter"
    r"|figure|sidebar|i|we|you|they|he|she|it|us|our|your|me|my|them|him)\b",
    re.IGNORECASE,
)
_TRAILING_DEPS = frozenset({"advcl", "cc", "conj", "punct", "parataxis", "relcl", "acl", "mark"})
_PEOPLE, _ORGANISATIONS, _PLACES = ("PERSON",), ("ORG",), ("GPE", "LOC", "FAC")
_OF_PEOPLE = re.compile(
    r"\b(?:born|married|died|captain|professor|director|wrote|son|daughter|writer|actor|actress"
    r"|politician|king|queen|footballer|singer|poet|player|composer|painter|dr|mr|mrs|ms|sir|dame"
    r"|bishop|duke|princess|prince|emperor|scientist|developer)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A main clause taken apart into subject, predicate and date.

    `date` is the value of a date in it, with
    `when` the question for it and `event` the predicate's words without it.
    """

    subject: str
    is_person: bool
    lemma: str
    date: str = ""
    when: str = ""
    event: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceQuestion:
    """A question made of one sentence, its kind and its gold value.

    Without `alone` only its document says what is meant.
    """

    text: str
    kind: str
    value: str
    alone: bool = True


@cache
def english_pipeline() -> Pipeline | None:
    """Return the spaCy pipeline with parser and lemmatiser; None where none is installed."""
    found = find_english_model("en_core_web_sm")
    if found is None:
        return None
    import spacy

    if Path(found.location, "meta.json").is_file():
        return spacy.load(found.location)
    pipeline: Pipeline = importlib.import_module(found.location).load()
    return pipeline


def parse_english(sentences: Sequence[str]) -> Iterator[Doc]:
    """Parse sentences in order; nothing without a pipeline."""
    pipeline = english_pipeline()
    if pipeline is None:
        return iter(())
    return pipeline.pipe(sentences, batch_size=64)


def is_usable(sentence: str) -> bool:
    """Check whether a raw sentence is plain prose that could give a question."""
    words = sentence.split()
    return (
        MIN_WORDS <= len(words) <= MAX_WORDS
        and sentence[0].isupper()
        and sentence.rstrip("*_”\"')").endswith(".")
        and re.search(r"[|{}<>=\\#`\[\]…]|\.\.|https?:", sentence) is None
        and sum(word.isupper() for word in words) < len(words) / 3
    )


class Clause:
    """The main clause of a parsed sentence; `is_usable` says whether it can stand alone."""

    def __init__(self, doc: Doc, *, title: str = "", people: Collection[str] = ()) -> None:
        self._doc = doc
        self._people = people
        self._title = title
        self.subject: list[Token] = []
        self.predicate: list[Token] = []
        sentences = list(doc.sents)
        self._root = root = sentences[0].root
        if len(sentences) != 1 or root.pos_ not in ("VERB", "AUX"):
            return
        subject = next((t for t in root.lefts if t.dep_ in ("nsubj", "nsubjpass")), None)
        if subject is None or not self._opens(subject):
            return
        self._head = subject
        self.subject = _noun_phrase(subject)
        begin = subject.right_edge.i + 1
        while begin < len(doc) and doc[begin].text in (",", ")"):
            begin += 1
        self.predicate = self._predicate(begin)

    def _predicate(self, begin: int) -> list[Token]:
        cuts = {t.left_edge.i for t in self._root.rights if t.dep_ in _TRAILING_DEPS}
        found: list[Token] = []
        for token in self._doc[begin:]:
            apart = token.text in ",;:()–—" or (token.text == "-" and token.nbor(-1).whitespace_)
            if token.i > self._root.i and (token.i in cuts or apart):
                break
            found.append(token)
        return found

    def _opens(self, subject: Token) -> bool:
        """Check that nothing but one adverbial phrase stands before the subject."""
        self._opening = list(self._doc[: subject.left_edge.i])
        return not self._opening or any(
            t.head == self._root and t.dep_ == "prep" and t.i == 0 for t in self._opening[:1]
        )

    @property
    def names_itself(self) -> bool:
        """Check whether the subject is a full name; else only its document says what is meant.

        One word is enough where it is the title, or is spelt like no other word.
        """
        words = self._named().removeprefix("the ").split()
        title = re.split(r" ?[(,:]", self._title, maxsplit=1)[0].removeprefix("The ")
        own = words[0] == title or re.search(r".[A-Z\d]", words[0]) is not None
        return bool(self._head.pos_ == "PROPN") and (len(words) > 1 or own)

    @property
    def is_usable(self) -> bool:
        """Check whether the clause names its subject and needs no sentence around it."""
        if not self.subject or not 1 < len(self.predicate) <= MAX_PREDICATE:
            return False
        if self._root not in self.predicate or self.predicate[0].i > self._root.i:
            return False
        if self._root.tag_ not in ("VBD", "VBN", "VBZ") or self._auxiliaries is None:
            return False
        text = _text(self.subject)
        after = self._doc[self.subject[-1].i + 1]
        whole = self.subject[-1].i == self._head.right_edge.i or after.text in (",", "(", "who")
        first_name = self._is(_PEOPLE) and " " not in self._named()
        return (
            whole
            and not first_name
            and len(self.subject) <= MAX_SUBJECT
            and self.predicate[-1].pos_ not in ("ADP", "PART", "SCONJ", "DET", "CCONJ")
            and not (self.predicate[-1].pos_ == "ADJ" and self.predicate[-2].pos_ == "DET")
            and (self.names_itself or self.subject[0].text.casefold() == "the")
            and self._head.pos_ in ("PROPN", "NOUN")
            and (bool(self._opening) or text[0].isupper())
            and text.casefold() not in _MONTHS
            and not _CONTEXTUAL.search(text)
            and not _CONTEXTUAL.search(_text(self.predicate))
            and not any(t.tag_ == "PRP" for t in (*self.subject, *self.predicate))
            and not text.endswith((".", ","))
            and text.count("(") == text.count(")")
        )

    @property
    def _auxiliaries(self) -> list[Token] | None:
        """Return the auxiliaries before the verb; None where something odd stands there."""
        before = [t for t in self.predicate if t.i < self._root.i]
        allowed = ("aux", "auxpass", "advmod", "neg")
        if any(t.dep_ not in allowed for t in before) or any(t.dep_ == "neg" for t in before):
            return None
        helpers = [t for t in before if t.dep_ in ("aux", "auxpass")]
        if not helpers and (self._root.tag_ == "VBN" or self._root.text == "born"):
            return None
        return helpers

    @property
    def is_person(self) -> bool:
        """Check whether the tagger and the words agree that the subject is a person."""
        if self._named() in self._people:
            return True
        return (
            self._is(_PEOPLE)
            and self.subject[0].pos_ != "DET"
            and _OF_PEOPLE.search(self._doc.text) is not None
        )

    @property
    def is_organisation(self) -> bool:
        """Check whether the tagger and the words agree that the subject is an organisation."""
        return self._is(_ORGANISATIONS) and bool(_ORGANISATION.search(_text(self.subject)[4:]))

    def _is(self, labels: Sequence[str]) -> bool:
        return any(e.start <= self._head.i < e.end and e.label_ in labels for e in self._doc.ents)

    def inverted(self, asking: str, dropped: Sequence[Token]) -> str:
        """Return the question: `asking`, auxiliary, subject, and what is not `dropped`."""
        out = {t.i for t in dropped}
        helpers = self._auxiliaries or []
        verb = self._root
        said = [t for t in self.predicate if t.i not in out]
        subject = self._named()
        if verb.lemma_ == "be":
            rest = _text([t for t in said if t != verb])
            return f"{asking} {verb.text} {subject} {rest}".rstrip() + "?"
        if helpers:
            first = helpers[0]
            rest = _text([t for t in said if t != first])
            return f"{asking} {first.text} {subject} {rest}?"
        does = "does" if verb.tag_ == "VBZ" else "did"
        words = _text(said).split()
        at = [t.i for t in said].index(verb.i) if verb in said else 0
        words = [t.text for t in said]
        words[at] = verb.lemma_
        rest = _joined(said, words)
        return f"{asking} {does} {subject} {rest}?"

    def _named(self) -> str:
        """Return the subject as it stands inside a sentence.

        A short name is given as the title gives it whole.
        """
        text = _text(self.subject)
        words = self._title.split()
        short = len(self.subject) == 1 and self._is(_PEOPLE)
        if short and 1 < len(words) <= 4 and text in words:
            return self._title if all(word[:1].isupper() for word in words) else text
        return re.sub(r"^The\b", "the", text)

    def fact(self) -> Fact:
        """Return the clause as a fact that can be joined with others."""
        found = Fact(
            subject=re.sub(r"^the\b", "The", self._named()),
            is_person=self.is_person,
            lemma=self._root.lemma_,
        )
        for phrase, value in self._dates():
            bare = [t for t in self.predicate if t not in phrase]
            return Fact(
                subject=found.subject,
                is_person=found.is_person,
                lemma=found.lemma,
                date=value,
                when=self.inverted("When", phrase),
                event=_text(bare),
            )
        return found

    def _dates(self) -> Iterator[tuple[list[Token], str]]:
        for entity in self._doc.ents:
            if entity.label_ == "DATE" and _YEAR.search(entity.text):
                phrase = self._phrase(entity, ("in", "on"))
                opens = self._opening and self._opening[-1].i + 1 >= entity.end > entity.start > 0
                if opens and self._doc[entity.start - 1].text in ("In", "On"):
                    yield [], entity.text
                elif phrase and not self._opening:
                    yield phrase, entity.text

    def _phrase(self, entity: Span, prepositions: Sequence[str]) -> list[Token]:
        """Return a preposition with an entity that ends the clause or stands whole in it."""
        before = self._doc[entity.start - 1] if entity.start else None
        if before is None or before.text.casefold() not in prepositions:
            return []
        if before.head != self._root or before not in self.predicate:
            return []
        phrase = [before, *entity]
        return phrase if all(t in self.predicate for t in phrase) else []

    def questions(self) -> Iterator[SentenceQuestion]:
        """Yield the questions that the clause answers."""
        for asked in self._asked():
            yield replace(asked, alone=self.names_itself)

    def _asked(self) -> Iterator[SentenceQuestion]:
        verb, subject = self._root, self._named()
        for phrase, value in self._dates():
            if len(self.predicate) - len(phrase) >= 1 and verb.dep_ == "ROOT":
                yield SentenceQuestion(text=self.inverted("When", phrase), kind="when", value=value)
        if self._opening:
            return
        names_other = any(
            t.pos_ == "PROPN" and t.text.casefold() not in _MONTHS for t in self.predicate
        )
        possessive = any(t.tag_ == "PRP$" for t in self.predicate)
        if verb.lemma_ != "be" and names_other and not possessive:
            said = _text(self.predicate)
            if self.is_person and verb.lemma_ not in _OF_THINGS:
                yield SentenceQuestion(text=f"Who {said}?", kind="who", value=subject)
            elif self.is_organisation:
                yield SentenceQuestion(
                    text=f"Which organisation {said}?", kind="which", value=subject
                )
        yield from self._things()
        yield from self._places()
        yield from self._numbers()
        yield from self._amounts()
        yield from self._definitions()
        yield from self._reasons()

    def _things(self) -> Iterator[SentenceQuestion]:
        """Ask for a thing that is named before its kind: *the apt-cache command*."""
        names = self.subject[1:-1]
        kind, said = self.subject[-1], _text(self.predicate)
        name = _text(names)
        if (
            not name[-1:].isalnum()
            or " " in name
            or kind != self._head
            or kind.tag_ != "NN"
            or self._auxiliaries
        ):
            return
        named = re.search(r"[A-Z\d_/.-]", name) or kind.text in _OF_PROGRAMS
        common = names[-1].pos_ == "ADJ" or name.endswith(("tion", "ment", "ing"))
        if self._root.lemma_ != "be" and named and not common and len(said.split()) >= MIN_WORDS:
            yield SentenceQuestion(text=f"Which {kind.text} {said}?", kind="which", value=name)

    def _places(self) -> Iterator[SentenceQuestion]:
        for entity in self._doc.ents:
            if entity.label_ in _PLACES and (phrase := self._phrase(entity, ("in", "at", "near"))):
                tail = entity.end < len(self._doc) and self._doc[entity.end] in self.predicate
                if self._root.lemma_ in _OF_PLACES and not (
                    tail and self._doc[entity.end].pos_ == "PROPN"
                ):
                    yield SentenceQuestion(
                        text=self.inverted("Where", phrase), kind="where", value=entity.text
                    )

    def _numbers(self) -> Iterator[SentenceQuestion]:
        for number in self.predicate:
            noun = number.head
            if (
                number.dep_ != "nummod"
                or noun.tag_ != "NNS"
                or noun.dep_ not in ("dobj", "nsubjpass")
                or noun.head != self._root
                or noun.left_edge != number.left_edge
                or self._auxiliaries
                or self._root.lemma_ == "be"
            ):
                continue
            last = max([noun.i, *(c.right_edge.i for c in noun.rights if c.text == "of")])
            phrase = [t for t in self.predicate if number.left_edge.i <= t.i <= last]
            counted = _text([t for t in phrase if t.i > number.i])
            value = _text([t for t in phrase if t.i <= number.i])
            if any(t.dep_ == "relcl" for t in noun.rights):
                continue
            if re.fullmatch(r"[\w,. ]+", value):
                yield SentenceQuestion(
                    text=self.inverted(f"How many {counted}", phrase), kind="how many", value=value
                )

    def _amounts(self) -> Iterator[SentenceQuestion]:
        for entity in self._doc.ents:
            head = entity.root
            inside = all(t in self.predicate for t in entity)
            if (
                entity.label_ == "MONEY"
                and inside
                and head.dep_ == "dobj"
                and head.head == self._root
            ):
                phrase = [t for t in self.predicate if head.left_edge.i <= t.i < entity.end]
                if self._root.lemma_ in _OF_MONEY:
                    yield SentenceQuestion(
                        text=self.inverted("How much", phrase), kind="how much", value=_text(phrase)
                    )
            measured = head.head if head.dep_ == "npadvmod" else None
            if measured is not None and measured.text in _MEASURES and measured.head == self._root:
                dropped = [t for t in self.predicate if entity.start <= t.i <= measured.i]
                yield SentenceQuestion(
                    text=self.inverted(f"How {measured.text}", dropped),
                    kind="how much",
                    value=f"{entity.text} {measured.text}",
                )

    def _definitions(self) -> Iterator[SentenceQuestion]:
        if self._root.lemma_ != "be" or self._auxiliaries:
            return
        said = [t for t in self.predicate if t.i > self._root.i]
        if not any(t.dep_ == "attr" and t.head == self._root for t in said):
            return
        if not self.names_itself or len(said) < 3 or said[0].text not in ("a", "an", "the", "one"):
            return
        if self._because is not None:
            return  # an opinion with its reason, not a definition
        tagged = self._is(_PEOPLE)
        told = any(t.pos_ in ("ADP", "PROPN", "NUM") or t.dep_ in ("acl", "relcl") for t in said)
        if not (told or tagged or self.is_person):
            return  # "a popular tool" says nothing
        asking = "Who" if self.is_person else "Who or what" if tagged else "What"
        yield SentenceQuestion(
            text=f"{asking} {self._root.text} {self._named()}?", kind="what is", value=_text(said)
        )

    @property
    def _because(self) -> Token | None:
        """The verb of a clause that gives the reason; None without one."""
        clauses = (t for t in self._root.rights if t.dep_ == "advcl")
        return next(
            (t for t in clauses if any(c.dep_ == "mark" and c.text == "because" for c in t.lefts)),
            None,
        )

    def _reasons(self) -> Iterator[SentenceQuestion]:
        reason = self._because
        if reason is None or not (self.names_itself or len(self.subject) > _BARE):
            return
        because = [t for t in self._doc if t.i >= reason.left_edge.i and t.i <= reason.right_edge.i]
        if len(because) >= 4 and because[0].text == "because":
            kept = [t for t in self.predicate if t.i < because[0].i]
            dropped = [t for t in self.predicate if t not in kept]
            yield SentenceQuestion(
                text=self.inverted("Why", dropped), kind="why", value=_text(because[1:])
            )


_BARE = 2
"""Words of a subject that does not say which one is meant: *the procedure*."""
_OF_PROGRAMS = frozenset(("command", "package", "program", "utility", "tool", "daemon", "option"))
_ORGANISATION = re.compile(
    r"\b(?:Company|Institute|University|Station|Council|Society|Trust|Foundation|Association|Inc|Ltd"
    r"|Corporation|Museum|College|School|Committee|Commission|Ministry|Agency|Bank|Project|Club"
    r"|Studios?|Pictures|Records|Party|Union|Laborator(?:y|ies)|Assembly|Parliament|Band)\b"
)
_MEASURES = ("long", "high", "tall", "deep", "wide", "old", "thick", "heavy")
_OF_THINGS_WORDS = """
include contain provide support offer allow require use run
"""
_OF_THINGS = frozenset(_OF_THINGS_WORDS.split())
"""Verbs of programs and devices, which a tagger takes for people."""
_OF_MONEY_WORDS = """
cost pay receive contribute raise spend charge earn give lend owe collect bring total
"""
_OF_MONEY = frozenset(_OF_MONEY_WORDS.split())
_OF_PLACES_WORDS = """
bear die marry found establish locate situate be live work study bury open build hold sign
stand begin start end lie sit grow raise educate premiere take meet set land settle film
produce kill arrest bore dock moor sink discover return move serve teach base manufacture
"""
_OF_PLACES = frozenset(_OF_PLACES_WORDS.split())


def _noun_phrase(head: Token) -> list[Token]:
    """Return the head with what stands before it and its *of* or *in* phrases."""
    last = head.i
    for child in head.rights:
        if child.dep_ != "prep" or child.text not in ("of", "for", "de"):
            break
        if child.right_edge.i - child.i > 4:
            break
        last = child.right_edge.i
    return [t for t in head.doc if head.left_edge.i <= t.i <= last]


def _text(tokens: Sequence[Token]) -> str:
    return _joined(tokens, [t.text for t in tokens])


def _joined(tokens: Sequence[Token], words: Sequence[str]) -> str:
    """Join words as their tokens stood, without marks of Markdown."""
    pieces: list[str] = []
    for place, (token, word) in enumerate(zip(tokens, words, strict=True)):
        adjacent = place + 1 < len(tokens) and tokens[place + 1].i == token.i + 1
        pieces.append(word + (token.whitespace_ if adjacent else " "))
    return " ".join(re.sub(r"[*_`]", "", "".join(pieces)).split())
