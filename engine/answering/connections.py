"""Connections: the way in the graph between two things that a question names, with its sources.

"How are X and Y connected?" is answered, without a language model, by the shortest way whose steps
texts state, a line a step with the sentence that says it; then by what else both are related to
and the documents that name both. Where one of the two is not in the graph, or no way leads from
one to the other, the answer says so and shows what is nearest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from graph.text.cjk import has_han, is_chinese

from ..plain_text import strip_markdown
from ..prompts import Language, language_of
from ..storage.graph_api import (
    OCCURS_WITH,
    Chunk,
    EntityView,
    Explorer,
    SourceQuote,
    graph_errors,
)
from ..storage.graph_views import GraphViewCache
from ..storage.library import Library
from ..storage.schema import DocumentFilter
from ..types import Citation, Passage
from .connection_questions import ARTICLE, CLASS, TIE, connection_pairs
from .connection_steps import (
    PRONOUN,
    PassageStep,
    disjoint_steps,
    first_naming,
    place_of,
    steps_of_chunk,
)
from .extractive.block_candidates import Reader
from .global_search.topics import is_numbered
from .packing import Draft

MAX_HOPS = 3
_WAYS, _EVIDENCES, _NEIGHBOURS = 8, 6, 12
"""Ways that are compared, sentences for a relation, and neighbours that may stand between."""
_DIRECT, _SHARED, _NEAREST, _TITLES = 4, 2, 3, 4
"""Maximum sentences of a direct connection, shared entities, nearest names and titles shown."""
_STATED, _TIED, _TIED_BESIDE = 0.4, 0.3, 0.15
"""Length taken off where the graph has a predicate, and, of the two that are asked about, where a
sentence speaks of a tie, or one beside it."""
_HUB = 0.15
"""Length added for each doubling of the relations of a thing on the way."""
_PLACE = 0.5
"""Length added for a place on the way: that two were there says little."""
_FOREIGN = 0.4
"""Length added for a sentence in another language than the question."""
_NEAR, _GOOD = 1.0, 1.7
"""Further sentences are so near to the first one; greatest length of a step to a shared entity."""
_BETTER = 4
"""Steps for each one that is told, among which the first and the last of a story are."""
_FOUND = 0.2
"""Length taken off in a passage that the question finds, times its fused score."""
_READ, _READING, _LOGITS = 14, 0.7, 5.0
"""Sentences that a reader orders, and the length that it adds to those so many logits below."""
_LOOKED_AT = 14
"""Chunks of documents that name both in which a sentence on one is looked for."""
_OFTEN = 3
"""Times that a longer name is said for each passage with a shorter one that stands for it."""
_PART, _WORD, _LONGEST_NAME = 3, 2, 6
"""Characters of a part of a Chinese name, and of a word of a description, which is longer than most
names: 管辂给曹操算的卦."""
_NAMED = ("PERSON", "ORGANISATION", "PRODUCT", "WORK", "EVENT")
_TITLED_BY = (
    "Mr.",
    "Mr",
    "Mrs.",
    "Mrs",
    "Miss",
    "Lady",
    "Sir",
    "Master",
    "Dr.",
    "Colonel",
    "Captain",
)


class ConnectionAnswerer:
    """Answers how two things are connected.

    Args:
        library: what is read.
        views: the graph as documents that may be seen give it.
        reader: says how well an English text answers a question; None: rules decide.
    """

    def __init__(
        self,
        library: Library,
        views: GraphViewCache,
        reader: Reader | None = None,
    ) -> None:
        self._library = library
        self._views = views
        self._reader = reader

    def answer(
        self,
        question: str,
        *,
        within: DocumentFilter | None,
        find: Callable[[], Sequence[Passage]] = tuple,
    ) -> Draft | None:
        """Return the connection; None where none is asked for, or neither thing is known.

        None, too, where nothing connects what is known with what is only described.

        `find` gives the passages that retrieval finds for the question.
        """
        pairs = connection_pairs(question)
        if not pairs:
            return None
        language = language_of(question)
        with self._library.read() as connection, graph_errors():
            seen = self._views.current(connection, within)
            explorer = Explorer(
                connection, seen, page_of=lambda _document, _offset: None, language=language
            )
            return _Connection(explorer, language, find, self._reader).draft(pairs)


def _place_in_order(step: PassageStep) -> tuple[list[tuple[int, str]], int]:
    """Return the place of a step; *chapter-10* stands behind *chapter-9*."""
    parts = re.split(r"(\d+)", step.quote.document_id)
    return [(int(part) if part.isdecimal() else -1, part) for part in parts], step.quote.start


def _in_order(steps: Sequence[PassageStep], most: int) -> list[PassageStep]:
    """Return so many of the steps, which come best first, in the order of their documents.

    Of a story one more: among them the first and the last of the better ones, how it began and
    ended.
    """
    ordered = sorted(steps[: _BETTER * most], key=_place_in_order)
    chosen = list(steps[:most])
    is_story = len({step.quote.document_id for step in ordered}) == 1 or all(
        is_numbered(step.quote.title) for step in ordered
    )
    if is_story:
        chosen = list(dict.fromkeys((*steps[: most - 1], *ordered[:1], *ordered[-1:], *steps)))
        chosen = chosen[: most + 1]
    return sorted(chosen, key=_place_in_order)


@dataclass(frozen=True)
class _End:
    """One of two things: an entity, or words of the documents that no entity is called by."""

    name: str
    id: str
    view: EntityView | None = None


@dataclass
class _Connection:
    """An answer in the making, with its citations in order."""

    explorer: Explorer
    language: Language
    find: Callable[[], Sequence[Passage]]
    reader: Reader | None = None
    citations: list[Citation] = field(default_factory=list)
    known: dict[tuple[str, str], list[PassageStep]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    @cached_property
    def near(self) -> Mapping[str, float]:
        """The passages that retrieval finds for the question, with their fused scores."""
        return {each.chunk_id: each.scores.get("fused", 0.0) for each in self.find()}

    def draft(self, pairs: Sequence[tuple[str, str]]) -> Draft | None:
        """Answer for the first pair of which both are known, else of which one is.

        None where what is unknown is described by words of the documents: search finds more.
        """
        found = [(pair, [self._find(name) for name in pair]) for pair in pairs]
        for _, (one, other) in found:
            if one and other and one.id != other.id and (one.view or other.view):
                return self._connected(one, other)
        for (first, second), (one, other) in found:
            name = first if one is None else second
            if (one is None) != (other is None) and not self._is_partly_said(name):
                return self._unknown(name, one or other)
        return None

    def _is_partly_said(self, name: str) -> bool:
        """Check whether a part of an unknown name stands in the documents, as of a description."""
        parts = re.findall(r"\w{4,}", name)
        if has_han(name):
            size = _WORD if len(name) > _LONGEST_NAME else _PART
            parts = [name[start : start + size] for start in range(len(name) - size + 1)]
        return any(self.explorer.times_said(part) for part in parts)

    def _find(self, name: str) -> _End | None:
        """Return the entity called so, else the most mentioned one whose name holds these words.

        Else the words themselves, where they stand in the documents.
        """
        bare = ARTICLE.sub("", name)
        proper = CLASS.sub("", bare)
        known = [view for called in (name, bare, proper) if (view := self._called(called))]
        if known:
            usual = known[-1].mention_count > known[0].mention_count  # Grey Gull, not its barge
            return _end(known[-1] if usual else known[0])
        whole = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)", re.IGNORECASE)
        found = self.explorer.entities(bare, limit=10, offset=0).items
        said = self.explorer.times_said(bare)
        for view in found:
            is_it = any(whole.search(each) for each in (view.name, *view.aliases))
            if is_it and said <= _OFTEN * max(view.mention_count, 1):
                return _end(view)
        fuller = self._fuller(bare, least=_OFTEN * said)
        if fuller is not None:
            return _end(fuller)
        if said:
            return _End(bare, bare)
        return self._inside(bare) if has_han(bare) else None

    def _called(self, name: str) -> EntityView | None:
        numbers = self.explorer.called(name)
        return self.explorer.entity_at(numbers[0]) if len(numbers) == 1 else None

    def _fuller(self, name: str, *, least: int) -> EntityView | None:
        """Return the thing whose name has others between these words: *Hudson company*.

        It is named so often at least.
        """
        asked = name.casefold().split()
        if len(asked) < 2:
            return None
        for view in self.explorer.entities(asked[0], limit=10, offset=0).items:
            words = view.name.casefold().split()
            is_same = (words[0], words[-1]) == (asked[0], asked[-1])
            if is_same and set(asked) < set(words) and view.mention_count >= least:
                return view
        return None

    def _inside(self, name: str) -> _End | None:
        """Return the entity whose name is the longest part, half at least, of a Chinese name."""
        for size in range(len(name) - 1, max(1, (len(name) - 1) // 2), -1):
            for start in range(len(name) - size + 1):
                if view := self._called(name[start : start + size]):
                    return _end(view)
        return None

    def _connected(self, one: _End, other: _End) -> Draft | None:
        """Return how the two are connected; None where nothing says so of what is no entity."""
        self.asked = {one.id, other.id}
        direct = self._best_read(one, other)
        ways = [
            way for way in self._ways(one, other) if all(self._steps(*s) for s in pairwise(way))
        ]
        way = min(ways, key=lambda way: (self._length(way), [end.id for end in way]), default=None)
        passed: set[str] = set()
        if direct and (way is None or direct[0].length <= self._length(way)):
            lines = self._directly(one, other, direct)
        elif way is not None:
            names = self._say(" and ", "、").join(end.name for end in way[1:-1])
            lines = [
                self._say(
                    f"{one.name} and {other.name} are connected through {names}:",
                    f"{one.name}与{other.name}通过{names}相联系：",
                )
            ]
            for number, (start, end) in enumerate(pairwise(way), start=1):
                step = self._told(start, end, self._steps(start, end)[0])
                lines.append(f"{number}. {start.name} – {end.name}{self._say(': ', '：')}{step}")
            passed = {end.id for end in way[1:-1]}
        elif one.view and other.view:
            return self._apart(one, other)
        else:
            return None  # what is only described is found by search, if at all
        lines += self._else(one, other, passed)
        detail = f"{one.name} to {other.name}, by {len(passed)} other(s)"
        return self._made(lines, detail=detail, through=len(passed))

    def _directly(self, one: _End, other: _End, steps: Sequence[PassageStep]) -> list[str]:
        """Return what one has to do with the other in a sentence, then further ones."""
        first, *further = steps
        farthest = first.length + _NEAR + _tied(first)
        near = [
            step
            for step in further
            if step.length <= farthest and not _SPOKEN.match(step.quote.quote)
        ]
        near = _in_order(near, _DIRECT - 1)
        told = self._told(one, other, first)
        head = self._say(
            f"{one.name} and {other.name} are directly connected: {told}",
            f"{one.name}与{other.name}有直接联系：{told}",
        )
        return [head, *(f"- {self._told(one, other, step)}" for step in near)]

    # --- steps ------------------------------------------------------------------------------

    def _steps(self, one: _End, other: _End) -> list[PassageStep]:
        """Return the passages that name both, the best first, none within another."""
        key = (one.id, other.id)
        if key not in self.known:
            found = list(self._together(one, other))
            if one.view and other.view:
                found = self._stated(one, other, found)
            found.sort(key=lambda step: (step.length, step.quote.document_id, step.quote.start))
            self.known[key] = disjoint_steps(found)
        return self.known[key]

    def _together(self, one: _End, other: _End) -> Iterator[PassageStep]:
        ends = ((one, other), (other, one))
        asked = {one.id, other.id} == self.asked
        for chunk, *titled in self.explorer.shared_chunks(
            one.id, other.id, first=self.near, in_words=asked
        ):
            more = _FOREIGN if is_chinese(chunk.text) != (self.language == "zh") else 0.0
            more -= _FOUND * self.near.get(chunk.id, 0.0)
            names = [_any_name(end, against, self.explorer, chunk) for end, against in ends]
            for step in steps_of_chunk(chunk, names, titled):
                pronoun = step.pronoun and (one.name if titled[0] else other.name)
                yield replace(step, length=round(step.length + more, 6), pronoun=pronoun)

    def _stated(self, one: _End, other: _End, found: Sequence[PassageStep]) -> list[PassageStep]:
        """Add the predicates that the graph takes from sentences that name both."""
        steps = {place_of(step.own): step for step in found}
        for edge in self.explorer.between(one.id, other.id, evidences=_EVIDENCES):
            predicate = "" if edge.predicate == OCCURS_WITH else edge.predicate
            told = f"{edge.source_name} – {predicate} – {edge.target_name}" if predicate else ""
            for quote in edge.evidence:
                step = steps.get(place_of(quote))
                if step is not None and not step.predicate:
                    stated = _STATED if predicate else 0.0
                    length = round(step.length - stated, 6)
                    steps[place_of(quote)] = replace(step, length=length, predicate=told)
        return list(steps.values())

    def _best_read(self, one: _End, other: _End) -> list[PassageStep]:
        """Return the steps from one to the other, those that speak of a tie first.

        A reader orders the first of them, too.
        """
        steps = [
            replace(step, length=round(step.length - _tied(step), 6))
            for step in self._steps(one, other)
        ]
        steps.sort(key=lambda step: (step.length, step.quote.document_id, step.quote.start))
        if self.reader is None or self.language != "en" or len(steps) < 2:
            return steps
        asked = f"What is the relationship between {one.name} and {other.name}?"
        first = steps[:_READ]
        logits = self.reader(asked, [f"{step.quote.title}: {step.quote.quote}" for step in first])
        worse = _READING * np.minimum((logits.max() - logits) / _LOGITS, 1.0)
        weighed = [
            replace(step, length=round(step.length + float(more), 5))
            for step, more in zip(first, worse, strict=True)
        ]
        return sorted(weighed, key=lambda step: step.length) + steps[_READ:]

    def _ways(self, one: _End, other: _End) -> Iterator[tuple[_End, ...]]:
        """Yield ways from one to the other through others, by the graph or by a neighbour."""
        if one.view and other.view:
            paths = self.explorer.paths(
                one.id, other.id, max_hops=MAX_HOPS, limit=_WAYS, evidences=_EVIDENCES
            )
            found = [tuple(map(_end, path.nodes)) for path in paths if len(path.nodes) > 2]
            yield from found
            if found:
                return
        for end in (one, other):
            for view in self._neighbours(end):
                if view.id not in (one.id, other.id):
                    yield (one, _end(view), other)

    def _neighbours(self, end: _End) -> list[EntityView]:
        """Return what an entity is related to, or else what is named beside it."""
        if end.view is None or not end.view.weight:
            return self.explorer.named_beside(end.id, limit=_NEIGHBOURS)
        detail = self.explorer.entity(end.id, communities=(), evidences=1, limit=_NEIGHBOURS)
        ids = {edge.target if edge.source == end.id else edge.source for edge in detail.relations}
        return [self.explorer.entity_at(self.explorer.number(each)) for each in sorted(ids)]

    def _length(self, way: Sequence[_End]) -> float:
        """Return the length of a way: that of its steps, and more by hubs and by places."""
        steps = sum(self._steps(*pair)[0].length for pair in pairwise(way))
        between = [end.view for end in way[1:-1] if end.view]
        hubs = sum(_HUB * math.log2(max(view.weight, 1.0)) for view in between)
        places = _PLACE * sum(view.type == "PLACE" for view in between)
        return round(steps + hubs + places, 9)

    # --- what is said -----------------------------------------------------------------------

    def _told(self, one: _End, other: _End, step: PassageStep) -> str:
        """Return a step's sentence with its mark; what a pronoun or no name stands for is named."""
        quoted = self._quoted(step.quote)
        if step.pronoun:
            is_first = step.own.start == step.quote.start
            named, count = PRONOUN.subn(f"[{step.pronoun}]", quoted, count=1)
            return named if count and is_first else f"{step.pronoun}{self._say(': ', '：')}{quoted}"
        return quoted

    def _else(self, one: _End, other: _End, passed: set[str]) -> list[str]:
        """Return what else links the two: shared entities, and documents that name both."""
        if one.view is None or other.view is None:
            return []
        lines: list[str] = []
        for shared in self.explorer.common_neighbours(one.id, other.id, limit=3 * _SHARED):
            if shared.id not in passed and shared.type in _NAMED and len(lines) < _SHARED:
                lines += self._through(one, _end(shared), other)
        documents = self.explorer.common_documents(one.id, other.id)
        if len(documents) > 1:
            lines += self._where_both_are(one, other, documents)
            lines.append(f"- {self._named_in(documents)}")
        head = self._say("What else links them:", "此外：")
        return ["", head, *lines] if lines else []

    def _through(self, one: _End, shared: _End, other: _End) -> list[str]:
        """Return the line of an entity that both are related to; none where that is not said."""
        pairs = ((one, shared), (shared, other))
        steps = [self._steps(*pair)[:1] for pair in pairs]
        if not all(some and some[0].length <= _GOOD for some in steps):
            return []
        (first,), (second,) = steps
        if not all(step.predicate or TIE.search(step.own.quote) for step in (first, second)):
            return []
        places = dict.fromkeys(place_of(step.quote) for step in (first, second))
        if len(places) < 2 or all(self._number(step.quote) for step in (first, second)):
            return []
        told = " ".join(
            self._told(*pair, step) for pair, step in zip(pairs, (first, second), strict=True)
        )
        return [f"- {shared.name}{self._say(': ', '：')}{told}"]

    def _where_both_are(
        self, one: _End, other: _End, documents: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Return what documents that name both, and are not cited, say of the one named less."""
        rarer, usual = sorted((one, other), key=_mentions)
        uncited = {key for key, _ in documents}
        uncited -= {citation.document_id for citation in self.citations}
        named = self.explorer.chunks_naming(rarer.id)
        ids = [each.id for each in named if each.document_id in uncited]
        ids = sorted(ids, key=lambda each: -self.near.get(each, 0.0))[:_LOOKED_AT]
        chunks = self.explorer.chunks(ids)
        quotes: dict[str, SourceQuote] = {}
        for chunk in (chunks[each] for each in ids):
            if chunk.document_id in quotes or is_chinese(chunk.text) != (self.language == "zh"):
                continue
            quote = first_naming(chunk, _any_name(rarer, usual, self.explorer, chunk))
            if quote is not None:
                quotes[chunk.document_id] = quote
        return [
            f"- {quote.title}{self._say(': ', '：')}{self._quoted(quote)}"
            for quote in list(quotes.values())[:_SHARED]
        ]

    def _named_in(self, documents: Sequence[tuple[str, str]]) -> str:
        titles = list(dict.fromkeys(title for _, title in documents))
        more = len(titles) - _TITLES
        shown = self._say("; ", "；").join(titles[:_TITLES])
        rest = self._say(f"; and {more} more", f"；另有 {more} 份") if more > 0 else ""
        if len(documents) == 1:
            return self._say(f"Both are named in: {shown}", f"两者都出现在：{shown}")
        return self._say(
            f"Both are named in {len(documents)} documents: {shown}{rest}",
            f"有 {len(documents)} 份文档同时提到两者：{shown}{rest}",
        )

    def _apart(self, one: _End, other: _End) -> Draft:
        """Say that no way leads from one to the other, and what each is closest to."""
        lines = [
            self._say(
                f"No statement in these documents connects {one.name} and {other.name}.",
                f"这些文档中没有把{one.name}与{other.name}联系起来的说法。",
            )
        ]
        documents = self.explorer.common_documents(one.id, other.id)
        lines += [self._named_in(documents)] if documents else []
        for end in (one, other):
            lines += self._closest(end)
        return self._made(lines, detail=f"no way from {one.name} to {other.name}", abstained=True)

    def _unknown(self, name: str, known: _End | None) -> Draft:
        """Say that one of the two is not in the documents, and what is nearest."""
        near = self.explorer.entities(name, limit=_NEAREST, offset=0).items
        lines = [
            self._say(
                f"{name} is not among the names known from these documents.",
                f"{name}不在这些文档已知的名称之中。",
            )
        ]
        if near:
            names = self._say(", ", "、").join(view.name for view in near)
            lines.append(self._say(f"Similar names: {names}", f"相近的名称：{names}"))
        lines += self._closest(known) if known else []
        return self._made(lines, detail=f"unknown name {name}", abstained=True)

    def _closest(self, end: _End) -> list[str]:
        """Return the best sentences on an entity and its neighbours, a line each."""
        pairs = [(end, _end(view)) for view in self._neighbours(end)]
        found = [(self._steps(*pair)[0], pair) for pair in pairs if self._steps(*pair)]
        found.sort(key=lambda item: (item[0].length, item[1][1].id))
        places = {place_of(step.quote): (step, pair) for step, pair in reversed(found)}
        best = sorted(places.values(), key=lambda item: (item[0].length, item[1][1].id))[:_NEAREST]
        lines = [f"- {self._told(*pair, step)}" for step, pair in best]
        head = self._say(f"{end.name} is connected with:", f"与{end.name}有联系的是：")
        return ["", head, *lines] if lines else []

    def _quoted(self, quote: SourceQuote) -> str:
        """Return a sentence with its mark; the same place has one number."""
        number = self._number(quote)
        if not number:
            number = len(self.citations) + 1
            self.citations.append(
                Citation(
                    number=number,
                    document_id=quote.document_id,
                    chunk_id=quote.chunk_id,
                    title=quote.title,
                    quote=quote.quote,
                    start=quote.start,
                    end=quote.end,
                )
            )
        return f"{_RULE.sub('', strip_markdown(quote.quote))} [{number}]"

    def _number(self, quote: SourceQuote) -> int:
        """Return the number that a place has; 0 for one not cited before."""
        place = place_of(quote)
        cited = ((one.number, (one.document_id, one.start, one.end)) for one in self.citations)
        return next((number for number, known in cited if known == place), 0)

    def _say(self, english: str, chinese: str) -> str:
        return chinese if self.language == "zh" else english

    def _made(
        self, lines: Sequence[str], *, detail: str, abstained: bool = False, through: int = 0
    ) -> Draft:
        return Draft(
            text="\n".join(lines),
            citations=tuple(self.citations),
            abstained=abstained,
            detail=detail,
            figures={"sentences": float(len(self.citations)), "through": float(through)},
        )


def _tied(step: PassageStep) -> float:
    """Return the length that a tie takes off a step."""
    if TIE.search(step.own.quote):
        return _TIED
    return _TIED_BESIDE if TIE.search(step.quote.quote) else 0.0


def _mentions(end: _End) -> tuple[int, str]:
    return (end.view.mention_count if end.view else 0), end.id


def _end(view: EntityView) -> _End:
    return _End(view.name, view.id, view)


_SPOKEN = re.compile(r"\s*[\"'“‘]")
"""Beginning of direct speech: 'Fred!' said Scrooge."""
_RULE = re.compile(r"^[-=_]{4,}\s*")


def _any_name(end: _End, against: _End, explorer: Explorer, chunk: Chunk) -> re.Pattern[str]:
    """Return a pattern for any name of a thing, in any case, but parts of the other's name.

    A chunk that has a name of several words means the same by its last one: "the Inquiry".
    """
    others = f" {' '.join(against.name.casefold().split())} "
    names = {end.name}
    if end.view is not None:
        names |= {*end.view.aliases, *explorer.keys_of(end.id)}
    kept = {name for name in names if f" {name.casefold()} " not in others} or {end.name}
    first, _, last = end.name.rpartition(" ")
    is_thing = end.view is not None and end.view.type != "PERSON"
    if first and is_thing and end.name.casefold() in f"{chunk.title}\n{chunk.text}".casefold():
        kept.add(f"the {last}")
    ranked = sorted(kept, key=lambda name: (-len(name), name))
    folded = [name.casefold() for name in names]

    def kept_by(title: str) -> bool:
        return any(name.startswith(f"{title.casefold()} ") for name in folded)

    words = (r"\s+".join(map(re.escape, name.split())) for name in ranked)
    apart = "".join(
        rf"(?<!(?-i:{re.escape(title)})\s)" for title in _TITLED_BY if not kept_by(title)
    )
    bounded = (word if has_han(word) else rf"(?<!\w){apart}{word}(?!\w)" for word in words)
    return re.compile("|".join(bounded), re.IGNORECASE)
