"""Walk snapshot: chunks, titles and names at one moment, for local search.

Labels are entity ids, so two names of one entity are one node; rows are chunks in the order of
document, position and id. Dirty rows are left out. Short names are followed though resolution
cannot be sure of them, since the question chooses among the passages. A view follows changes by
`view_changes`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Select, and_, select

from ..storage.database import read_other_names
from ..storage.facts import in_batches, rows_in
from ..storage.schema import chunks, entities, links, names
from ..text.cjk import HAN, has_han
from ..text.names import NameMatch, NameMatcher, capitalised_names, is_matchable, name_key
from ..text.patterns import lazy_regex
from ..text.short_names import shorter_names
from .packed_rows import Rows, first_or_empty, pack_rows
from .walk import WalkGraph, WalkResult, rank_by_walk, with_neighbours
from .walk_path import explain_path

MAX_QUESTION_CHARACTERS = 2_000
LONG_DOCUMENT = 16
"""Number of chunks from which neighbours inform each other, as in transcripts.

Shorter documents only crowd out others.
"""
_MAX_NAME_WORDS = 10
_MAX_HAN_NAME = 16
_WORD = lazy_regex(rf"[^\W{HAN}]+(?:['’.&-][^\W{HAN}]+)*|[{HAN}]+")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class NamedThing:
    """Named entity in a question: span and all its keys, sorted."""

    spans: tuple[tuple[int, int], ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionNames:
    """Labels of names in a question, and names unknown to the view.

    `things` are those among the labels that have further names, in the order of the question.
    """

    labels: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    things: tuple[NamedThing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPlace:
    """Entity name in a text, `text[start:end]`; its id and type."""

    start: int
    end: int
    label: str
    type: str


@dataclass(frozen=True)
class WalkSnapshot:
    """Snapshot of chunks by row, with document, title label ("" for none), labels of names.

    Of introduced names and of possible short forms. A filtered one shows some rows.
    """

    chunk_ids: tuple[str, ...]
    documents: tuple[str, ...]
    titles: Sequence[str]
    labels: Sequence[tuple[str, ...]]
    display: Mapping[str, str]
    introduced: Sequence[tuple[str, ...]] = ()
    shortened: Sequence[tuple[str, ...]] = ()
    is_part: bool = False

    @cached_property
    def columns(self) -> list[Rows[tuple[str, ...]]]:
        """Titles, labels, introduced and shortened, packed over one sorted table."""
        given = (self.titles, self.labels, self.introduced, self.shortened)
        if all(isinstance(some, Rows) for some in given):
            return [cast("Rows[Any]", some).shaped(tuple[str, ...]) for some in given]
        none: Sequence[tuple[str, ...]] = ((),) * len(self.chunk_ids)
        named = [(title,) for title in self.titles]
        return pack_rows(named, self.labels, self.introduced or none, self.shortened or none)

    @cached_property
    def walk_graph(self) -> WalkGraph:
        """The graph of the walk, built when first used."""
        return WalkGraph.of_rows(*self.columns)

    def packed(self) -> WalkSnapshot:
        """Return the same view with packed rows."""
        titles, labels, introduced, shortened = self.columns
        view = replace(
            self,
            titles=titles.shaped(first_or_empty),
            labels=labels,
            introduced=introduced,
            shortened=shortened,
        )
        if "walk_graph" in vars(self):
            vars(view)["walk_graph"] = self.walk_graph
        return view

    @cached_property
    def adjacent(self) -> npt.NDArray[np.bool_]:
        """Return whether each row but the last continues in the next.

        `(n − 1,)`, long documents only.
        """
        return self._goes_on & self.in_long_document[1:]

    @cached_property
    def in_long_document(self) -> npt.NDArray[np.bool_]:
        """Return whether each row is of a document of many rows, `(n,)`."""
        if not self.documents:
            return np.zeros(0, dtype=np.bool_)
        begins = np.flatnonzero(np.concatenate([[True], ~self._goes_on]))
        sizes = np.diff(begins, append=len(self.documents))
        return np.repeat(sizes >= LONG_DOCUMENT, sizes)

    @cached_property
    def _goes_on(self) -> npt.NDArray[np.bool_]:
        """Return whether each row but the last is of the document of the next, `(n − 1,)`."""
        documents = np.array(self.documents, dtype=object)
        return np.asarray(documents[1:] == documents[:-1], dtype=np.bool_)

    @cached_property
    def _known_chunks(self) -> frozenset[str]:
        return frozenset(self.chunk_ids)

    def only(self, rows: Sequence[int]) -> WalkSnapshot:
        """Return the view restricted to these rows."""
        return WalkSnapshot(
            chunk_ids=tuple(self.chunk_ids[row] for row in rows),
            documents=tuple(self.documents[row] for row in rows),
            titles=tuple(self.titles[row] for row in rows),
            labels=tuple(self.labels[row] for row in rows),
            display=self.display,
            introduced=tuple(self.introduced[row] for row in rows if self.introduced),
            shortened=tuple(self.shortened[row] for row in rows if self.shortened),
            is_part=True,
        )

    def called_as_here(self, connection: Connection) -> WalkSnapshot:
        """Return the view with labels found in its own rows only."""
        here = set[str]()
        for batch in in_batches(self.documents):
            inside = chunks.c.document_id.in_(batch)
            linked = select(links.c.key).join(chunks, chunks.c.id == links.c.chunk_id)
            here |= set(connection.execute(linked.where(inside).distinct()).scalars())
            here |= set(connection.execute(select(chunks.c.title_key).where(inside)).scalars())
        own: defaultdict[str, list[str]] = defaultdict(list)
        for key, label in connection.execute(select(names.c.key, names.c.entity_id)):
            if key in here:
                own[label].append(key)
        display = {label: self.display.get(label, "") for label in own}
        for label, shown in display.items():
            if name_key(shown) not in own[label]:
                display[label] = max(own[label], key=lambda key: (len(key), key))
        return replace(self, display=display)

    def names_in(self, connection: Connection, question: str) -> QuestionNames:
        """Find names in a question, case-insensitively."""
        question = question[:MAX_QUESTION_CHARACTERS]
        matches, label_of = self._matches(connection, question)
        runs = {name_key(question[start:end]) for start, end in capitalised_names(question)}
        known = {label_of[m.key] for m in matches}
        unknown = {key for key in runs - label_of.keys() if is_matchable(key)}
        spans: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for match in matches:
            spans[label_of[match.key]].add((match.start, match.end))
        return QuestionNames(
            labels=frozenset(known),
            unknown=frozenset(unknown),
            things=self._things(connection, spans),
        )

    def find_entities(self, connection: Connection, text: str) -> tuple[NamedPlace, ...]:
        """Find entity names in a text in order, case-insensitively."""
        text = text[:MAX_QUESTION_CHARACTERS]
        matches, label_of = self._matches(connection, text)
        types: dict[str, str] = {}
        query = select(entities.c.id, entities.c.type)
        for label, kind in rows_in(connection, query, entities.c.id, label_of.values()):
            types[str(label)] = str(kind)
        return tuple(
            NamedPlace(
                start=match.start,
                end=match.end,
                label=label_of[match.key],
                type=types.get(label_of[match.key], ""),
            )
            for match in sorted(matches, key=lambda match: (match.start, match.end))
        )

    def other_names(
        self, connection: Connection, keys: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the other names here, in lower case, of what each known name here means."""
        found = read_other_names(connection, keys)
        if not self.is_part:
            return found
        here = self._keys_here(connection, sorted({*found, *chain.from_iterable(found.values())}))
        return {
            key: tuple(other for other in others if other in here)
            for key, others in found.items()
            if key in here
        }

    def _matches(self, connection: Connection, text: str) -> tuple[list[NameMatch], dict[str, str]]:
        """Match names in a text with their entities."""
        rows: list[Any] = []
        for batch in in_batches(_possible_keys(text)):
            query = select(names.c.key, names.c.entity_id, names.c.kind).where(
                and_(names.c.key.in_(batch), names.c.dirty.is_(False), names.c.kind != "concept")
            )
            rows += connection.execute(query).all()
        if self.is_part:
            here = self._keys_here(connection, [row.key for row in rows])
            rows = [row for row in rows if row.key in here]
        matcher = NameMatcher(
            titles=[row.key for row in rows if row.kind == "title"],
            names=[row.key for row in rows],
        )
        return matcher.match(text, any_case=True), {row.key: row.entity_id for row in rows}

    def _things(
        self, connection: Connection, spans: Mapping[str, Collection[tuple[int, int]]]
    ) -> tuple[NamedThing, ...]:
        """Return entities of these spans that have aliases, in order."""
        keys: defaultdict[str, list[str]] = defaultdict(list)
        for batch in in_batches(sorted(spans)):
            of_these = and_(names.c.entity_id.in_(batch), names.c.dirty.is_(False))
            query = select(names.c.entity_id, names.c.key).where(of_these)
            for label, key in connection.execute(query.where(names.c.kind != "concept")):
                keys[label].append(key)
        every = [key for some in keys.values() for key in some]
        here = self._keys_here(connection, every) if self.is_part else set(every)
        seen = {label: sorted(here.intersection(some)) for label, some in keys.items()}
        return tuple(
            sorted(
                NamedThing(spans=tuple(sorted(spans[label])), keys=tuple(some))
                for label, some in seen.items()
                if len(some) > 1
            )
        )

    def _keys_here(self, connection: Connection, keys: Sequence[str]) -> set[str]:
        """Those of the keys that stand in a row, or are a row's title."""
        found = set[str]()
        for batch in in_batches(keys):
            for table in (
                select(links.c.key, links.c.chunk_id).where(links.c.key.in_(batch)),
                select(chunks.c.title_key, chunks.c.id).where(chunks.c.title_key.in_(batch)),
            ):
                rows = connection.execute(table)
                found |= {key for key, chunk_id in rows if chunk_id in self._known_chunks}
        return found

    def rank(
        self, scores: npt.NDArray[np.floating], question_labels: Collection[str]
    ) -> WalkResult:
        """Rank rows by the mass of a walk from the best scores (see `walk.rank`).

        Chunks of long documents are scored with their neighbours.
        """
        return rank_by_walk(
            self.walk_graph, with_neighbours(scores, self.adjacent), question_labels
        )

    def from_labels(self, question_labels: Collection[str]) -> list[tuple[str, float]]:
        """Chunks reached from names alone, as `(chunk id, mass)`, best first."""
        wanted = frozenset(question_labels)
        hits = [
            len(wanted & {title, *some})
            for title, some in zip(self.titles, self.labels, strict=True)
        ]
        scores = np.asarray(hits, dtype=np.float64)
        result = self.rank(scores / max(1.0, scores.max(initial=0.0)), wanted)
        return [
            (self.chunk_ids[row], float(result.mass[row]))
            for row in result.order
            if result.mass[row] > 0
        ]

    def path(
        self, row: int, seeds: Sequence[int], titles: Mapping[int, str] | None = None
    ) -> tuple[str, ...]:
        """Explain how a row was reached (see `walk.explain_path`)."""

        def display(label: str) -> str:
            return self.display.get(label, label)

        return explain_path(self.walk_graph, row, seeds, display=display, titles=titles)


def read_view(connection: Connection) -> WalkSnapshot:
    """Read the present view; dirty rows are omitted, nothing is derived."""
    # Plain tuples, unpacked: a large library has millions of links, and attributes of rows cost.
    named = select(entities.c.id, entities.c.name).where(entities.c.dirty.is_(False))
    display = {str(label): str(name) for label, name in connection.execute(named)}
    known = select(names.c.key, names.c.entity_id).where(names.c.dirty.is_(False))
    label_of = {key: label for key, label in connection.execute(known) if label in display}
    linked = connection.execute(select(links.c.chunk_id, links.c.key, links.c.opens))
    ordered = connection.execute(placed_chunks()).all()
    return view_of(ordered, linked, label_of, display=display)


def placed_chunks() -> Select[Any]:
    """Return the query for id, document and title of chunks, in the order of rows."""
    table = chunks.c
    query = select(table.id, table.document_id, table.title_key)
    return query.order_by(table.document_id, table.position, table.id)


def view_of(
    ordered: Sequence[Any],
    linked: Iterable[Any],
    label_of: Mapping[str, str],
    *,
    display: Mapping[str, str],
    shorter: Callable[[Collection[str]], Mapping[str, Collection[str]]] | None = None,
) -> WalkSnapshot:
    """Build a view of chunks, in order, and of the links in them.

    Args:
        ordered: id, document and title key of each chunk.
        linked: chunk id, name key and whether the text opens with it.
        label_of: entities of known names.
        display: names of entities.
        shorter: introduced names to the entities of standing names that may be short for each; by
            default the links given are all that there are.
    """
    found: dict[str, set[str]] = defaultdict(set)
    opening: dict[str, set[str]] = defaultdict(set)
    standing: set[str] = set()
    for chunk_id, key, opens in linked:
        if key in label_of:
            standing.add(key)
            found[chunk_id].add(label_of[key])
            if opens:
                opening[chunk_id].add(key)
    opened = {key for keys in opening.values() for key in keys}
    opened.update(title for _, _, title in ordered if title in label_of)
    short: Mapping[str, Collection[str]]
    if shorter is None:
        known = shorter_names(standing, opened)
        short = {key: {label_of[one] for one in some} for key, some in known.items()}
    else:
        short = shorter(opened)

    def shortened(chunk_id: str, title: str) -> tuple[str, ...]:
        some = (short.get(key, ()) for key in {*opening.get(chunk_id, ()), title})
        return tuple(sorted({label for labels in some for label in labels}))

    return WalkSnapshot(
        chunk_ids=tuple(chunk_id for chunk_id, _, _ in ordered),
        documents=tuple(document_id for _, document_id, _ in ordered),
        titles=tuple(label_of.get(title, "") if title else "" for _, _, title in ordered),
        labels=tuple(tuple(sorted(found.get(chunk_id, ()))) for chunk_id, _, _ in ordered),
        display=display,
        introduced=tuple(
            tuple(sorted({label_of[key] for key in opening.get(chunk_id, ())}))
            for chunk_id, _, _ in ordered
        ),
        shortened=tuple(shortened(chunk_id, title) for chunk_id, _, title in ordered),
    )


def _possible_keys(question: str) -> set[str]:
    """Every run of words, and every short run of Chinese characters, as a name key."""
    pieces = [(m.start(), m.end()) for m in _WORD.finditer(question)]
    keys = set()
    for place, (start, _) in enumerate(pieces):
        for _, end in pieces[place : place + _MAX_NAME_WORDS]:
            keys.add(name_key(question[start:end]))
    for start, end in pieces:
        if has_han(question[start]):
            for first in range(start, end):
                for last in range(first + 2, min(end, first + _MAX_HAN_NAME) + 1):
                    keys.add(name_key(question[first:last]))
    return keys - {""}
