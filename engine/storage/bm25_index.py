"""BM25 of titles and bodies over our own tokens.

The score arrays of both fields are files in `derived/`, memory-mapped. All names of an entity count
as one term (刘备 finds 玄德). A chunk is indexed with its title and context line.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from graph.text.cjk import HAN

from . import files
from .graph_api import (
    Chunk,
    Fault,
    QuestionNames,
    Splice,
    chunk_table,
    documents_changed_since,
    facts_generation,
    isolation,
    load_array,
    read_chunks,
    rows_in,
    save_state,
)
from .library import Library
from .postings import (
    Count,
    FieldPostings,
    PostingBlock,
    PostingBuilder,
    idf,
    places_among,
    token_hash,
)
from .schema import KeywordEntry, keywords

Scores = NDArray[np.float32]
Frequencies = NDArray[np.float64]
NAME_WEIGHT = 2.0
"""Weight of an entity name in words; a full name mostly has two."""


def drop_supersets(names: Sequence[str]) -> list[str]:
    """Drop names that contain another name, sorted: 刘玄德 implies 玄德."""
    return sorted(one for one in names if not any(o != one and o in one for o in names))


def alias_bm25_scores(
    forms: Sequence[Sequence[str]],
    postings: Count,
    *,
    count: int,
    seen: NDArray[np.bool_] | None = None,
) -> Scores:
    """Score an entity with several names as one BM25 term (Lucene's): `(count,)`.

    `seen` `(count,)` says over which passages it is counted how rare it is; None over all.

    `forms` are the tokens of each name. A passage has the thing as often as it has all its names
    together; a name stands where all its tokens do, as often as the rarest of them.
    """
    often = np.zeros(count, dtype=np.float64)
    for tokens in forms:
        rows, some = _occurrences(tokens, postings)
        often[rows] += some
    rows = np.flatnonzero(often)
    held = rows.size if seen is None else int(np.count_nonzero(seen[rows]))
    size = count if seen is None else int(np.count_nonzero(seen))
    scores = np.zeros(count, dtype=np.float32)
    scores[rows] = NAME_WEIGHT * idf(held, size) * often[rows] / (1 + often[rows])
    return scores


def _occurrences(tokens: Sequence[str], postings: Count) -> tuple[NDArray[np.int64], Frequencies]:
    """Return the passages that have all tokens, and how often, in units of k1 × length factor."""
    found = [postings(token) for token in dict.fromkeys(tokens)]
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    rows, often = found[0]
    for others, some in found[1:]:
        rows, here, there = np.intersect1d(rows, others, assume_unique=True, return_indices=True)
        often = np.minimum(often[here], some[there])
    return rows, often


TITLE_WEIGHT = 0.3
"""The share of the title's own score, where this list alone retrieves."""
FIELDS = ("title", "heading", "body")
KIND = "bm25"
ROWS_KIND = f"{files.ROWS}{KIND}"
KEPT_FROM = 2_000
"""Fewer chunks are listed in less time than a file is checked."""
READ_AT_ONCE = 10_000
"""Chunks whose tokens are in memory at once."""
KEY = b"loregraph keywords"
"""Key of the hashes that stand for tokens in files."""
Tokens = Callable[[str], list[str]]
_PLAIN = re.compile(rf"[^\W_{HAN}]+|(?=([{HAN}]{{2}}))")
Rows = NDArray[np.int64] | None
"""The rows over which words are counted; None is all."""


WORN_ABOVE = 0.1
"""The share of rows that came or went since the base was built, above which it is built anew."""


@dataclass(frozen=True)
class _Segment:
    """Passages indexed together: a mark of each, and the counts of each field."""

    marks: NDArray[np.uint64]
    blocks: dict[str, PostingBlock]


@dataclass(frozen=True)
class _Listed:
    """The library's chunks by document, position and id, and what was made here.

    Tokens of a chunk that came by another way than `index_nodes` are made here, by its id.
    """

    documents: Sequence[str]
    chunk_ids: Sequence[str]
    readable: NDArray[np.float32]
    marks: NDArray[np.uint64]
    made: Mapping[str, KeywordEntry]

    def save(self, folder: Path, connection: Connection) -> None:
        """Write ids and arrays, a file each, and the state that the connection sees."""
        save_state(connection, folder)
        files.write_ids(folder / "documents.txt", self.documents)
        files.write_ids(folder / "chunks.txt", self.chunk_ids)
        np.save(folder / "readable.npy", self.readable)
        np.save(folder / "marks.npy", self.marks)

    @classmethod
    def load(cls, folder: Path) -> _Listed:
        """Read what was written.

        Raises:
            OSError: a file is missing.
        """
        return cls(
            files.read_ids(folder / "documents.txt"),
            files.read_ids(folder / "chunks.txt"),
            load_array(folder / "readable.npy"),
            load_array(folder / "marks.npy"),
            {},
        )

    def replaced(self, fresh: _Listed, splice: Splice) -> _Listed:
        """Return these chunks with those of some documents replaced by fresh ones."""
        return _Listed(
            splice.joined(self.documents, fresh.documents),
            splice.joined(self.chunk_ids, fresh.chunk_ids),
            np.concatenate([self.readable, fresh.readable])[splice.order],
            np.concatenate([self.marks, fresh.marks])[splice.order],
            {**self.made, **fresh.made},
        )


@dataclass(frozen=True)
class _Held:
    """Segments and, for each of their rows, which chunk listed it is; -1 where it is gone."""

    listed: _Listed
    segments: tuple[_Segment, ...] = ()
    places: tuple[NDArray[np.int64], ...] = ()

    def after(self, splice: Splice, fresh: _Listed) -> _Held:
        """Return the same segments after some documents were replaced; nothing is counted."""
        again = {int(mark): row for row, mark in enumerate(fresh.marks)}
        places = list[NDArray[np.int64]]()
        for segment, old in zip(self.segments, self.places, strict=True):
            place = np.where(old >= 0, splice.moved[old], -1)
            for slot in np.flatnonzero((old >= 0) & (place < 0)).tolist():
                if (row := again.get(int(segment.marks[slot]))) is not None:
                    place[slot] = splice.moved[splice.size + row]
            places.append(place)
        return _Held(self.listed.replaced(fresh, splice), self.segments, tuple(places))

    def missing(self) -> NDArray[np.int64]:
        """Return the chunks that no segment counts."""
        is_counted = np.zeros(len(self.listed.marks), dtype=np.bool_)
        for place in self.places:
            is_counted[place[place >= 0]] = True
        return np.flatnonzero(~is_counted)

    def is_worn(self, missing: int) -> bool:
        """Check whether too much came or went since the base was built."""
        tail = sum(len(place) for place in self.places[1:])
        gone = sum(int(np.count_nonzero(place < 0)) for place in self.places)
        return not self.places or missing + tail + gone > WORN_ABOVE * len(self.listed.marks)

    def fields(self) -> dict[str, FieldPostings]:
        """Return the counts of each field over the chunks listed."""
        return {
            field: FieldPostings(
                tuple(one.blocks[field] for one in self.segments),
                self.places,
                len(self.listed.marks),
                KEY,
            )
            for field in FIELDS
        }


@dataclass(frozen=True)
class _Built:
    generation: int
    held: _Held
    fields: dict[str, FieldPostings]

    @property
    def listed(self) -> _Listed:
        return self.held.listed


class KeywordIndex:
    """BM25 of title and text together, plus a share of title or heading alone, the higher.

    Args:
        library: where tokens are kept.
        tokens: text to tokens, the same for passages and questions.
        readable: text to 0–1, how much of it the embedding model can read; kept with the tokens.
    """

    def __init__(
        self,
        library: Library,
        *,
        tokens: Tokens,
        readable: Callable[[str], float],
    ) -> None:
        self._library = library
        self._tokens = tokens
        self._readable = readable
        self._guard = threading.Lock()
        self._built: _Built | None = None

    def index_nodes(self, texts: Sequence[tuple[str, str, str, str]]) -> dict[str, Fault]:
        """Store the tokens of `(chunk id, title, heading, body)`.

        Where they cannot be told, plain words are stored; by chunk id, why.
        """
        entries, faults = dict[str, KeywordEntry](), dict[str, Fault]()
        for chunk_id, title, heading, body in texts:
            with isolation("keywords") as isolated:
                entries[chunk_id] = self._entry(title, heading, body)
            if isolated.fault:
                faults[chunk_id] = isolated.fault
                entries[chunk_id] = _entry_of(_plain_words, title, heading, body, 1.0)
        self._library.put_keywords(entries)
        return faults

    def _entry(self, title: str, heading: str, body: str) -> KeywordEntry:
        """Return the tokens of title, of heading, of title and body, and how readable it is."""
        return _entry_of(
            lambda text: " ".join(self._tokens(text)), title, heading, body, self._readable(body)
        )

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The rows of the score arrays: every chunk, by document, position and id."""
        return tuple(self._current().listed.chunk_ids)

    @property
    def readable(self) -> NDArray[np.float32]:
        """Return the readable share of each row for the encoder, 0–1, `(n,)`."""
        return self._current().listed.readable

    def field_scores(
        self, question: str, names: QuestionNames | None = None, *, counted: Rows = None
    ) -> dict[str, Scores]:
        """BM25 of every chunk by `body` and by `title`, each `(n,)` in the order of `chunk_ids`.

        `title` is the higher one of the title's score and the nearest heading's.

        With the `names` of this very question each thing that has several is searched by all of
        them, as one word, in place of the name that the question says. With `counted` words are as
        rare as they are among these rows; the scores of others then mean nothing.
        """
        built = self._current()
        things = names.things if names else ()
        wanted = self._tokens(_without(question, [span for each in things for span in each.spans]))
        forms = [[self._tokens(key) for key in drop_supersets(each.keys)] for each in things]
        seen = _mask(counted, len(built.listed.chunk_ids))
        found = {name: _field_scores(built.fields[name], wanted, forms, seen) for name in FIELDS}
        return {"title": np.maximum(found["title"], found["heading"]), "body": found["body"]}

    def read_tokens(self, connection: Connection, chunk_ids: Sequence[str]) -> list[list[str]]:
        """Return the tokens of title and text of chunks, in their order; none where not stored."""
        query = select(keywords.c.chunk_id, keywords.c.body)
        rows = rows_in(connection, query, keywords.c.chunk_id, chunk_ids)
        kept = {chunk_id: str(body) for chunk_id, body in rows}
        return [kept.get(chunk_id, "").split() for chunk_id in chunk_ids]

    def passage_count(self, counted: Rows = None) -> int:
        """Return the number of chunks, or of counted rows."""
        return len(self._current().listed.chunk_ids) if counted is None else counted.size

    def document_frequency(self, counted: Rows = None) -> Callable[[str], int]:
        """Token → how many chunks hold it, in title or text; of those rows alone."""
        built = self._current()
        seen = _mask(counted, len(built.listed.chunk_ids))
        return cache(lambda token: built.fields["body"].frequency(token, seen=seen))

    def idf(self, counted: Rows = None) -> Callable[[str], float]:
        """Token → ln(1 + (n − df + ½) / (df + ½)) over the chunks, or over these rows.

        Highest for a token that none holds. One picture: to be asked for once a question.
        """
        count = self.passage_count(counted)
        frequency = self.document_frequency(counted)
        return cache(lambda token: idf(frequency(token), count))

    def scored_chunks(self, question: str, *, top_k: int) -> list[tuple[Chunk, float]]:
        """Return the best chunks by these words alone, with their scores."""
        with self._library.read() as connection:  # one picture for all steps
            found = self.field_scores(question)
            total = found["body"] + TITLE_WEIGHT * found["title"]
            order = np.lexsort((np.arange(total.size), -total))[:top_k]
            ids = self.chunk_ids
            best = [(ids[row], float(total[row])) for row in order if total[row] > 0]
            held = read_chunks(connection, [chunk_id for chunk_id, _ in best])
        return [(held[chunk_id], score) for chunk_id, score in best]

    def _current(self) -> _Built:
        # First a connection, then the guard, as where a reader is inside a view already.
        with self._library.read() as connection, self._guard:
            now = facts_generation(connection)
            if self._built is None or self._built.generation != now:
                self._built = self._build(connection, now)
            return self._built

    def _build(self, connection: Connection, now: int) -> _Built:
        held = self._followed(connection) or self._kept(connection, now)
        listed, new = held.listed, held.missing()
        if held.is_worn(new.size):
            held, new = _Held(listed), np.arange(len(listed.marks))
        segments, places = list(held.segments), list(held.places)
        while len(segments) > 1 and len(places[-1]) <= new.size:  # one twice as long at least
            segments.pop()
            again = places.pop()
            new = np.union1d(new, again[again >= 0])
        if new.size:
            chunk_ids = [listed.chunk_ids[row] for row in new.tolist()]
            texts = self._texts(connection, chunk_ids, listed.made)
            segments.append(_segment(listed.marks[new], texts))
            places.append(new)
            if len(segments) == 1:
                self._store(segments[0])
        held = _Held(listed, tuple(segments), tuple(places))
        return _Built(now, held, held.fields())

    def _followed(self, connection: Connection) -> _Held | None:
        """Return the chunks of now, of which only changed documents are read; None if unknown."""
        if self._built is None:
            return None
        before = self._built.held
        changed = documents_changed_since(connection, self._built.generation)
        if changed is None or len(changed) > WORN_ABOVE * len(before.listed.chunk_ids):
            return None
        fresh = self._listed(connection, changed)
        return before.after(Splice.of(before.listed.documents, fresh.documents, changed), fresh)

    def _kept(self, connection: Connection, now: int) -> _Held:
        """Return the chunks of now, and the base of an earlier time."""
        listed = self._kept_list(connection, now)
        base = self._built.held.segments[:1] if self._built else self._stored()
        places = tuple(places_among(listed.marks, one.marks) for one in base)
        return _Held(listed, base, places)

    def _kept_list(self, connection: Connection, now: int) -> _Listed:
        """Return the chunks of now, which an earlier process may have kept, as they were or are."""
        folder = self._library.path / "derived"
        place = folder / f"{ROWS_KIND}-{now}.{self._library.content_stamp(connection)[:32]}"
        if files.is_valid_artifact(place):
            with suppress(OSError):  # another process replaces it
                return _Listed.load(place)

        def follow(earlier: Path, changed: set[str]) -> _Listed:
            before, fresh = _Listed.load(earlier), self._listed(connection, changed)
            return before.replaced(fresh, Splice.of(before.documents, fresh.documents, changed))

        listed = files.follow_artifact(connection, folder, ROWS_KIND, load=follow)
        listed = listed or self._listed(connection)
        if len(listed.chunk_ids) >= KEPT_FROM and not listed.made:
            write = partial(listed.save, connection=connection)
            files.load_artifact(place, write=write, load=lambda _: True)
        return listed

    def _stored(self) -> tuple[_Segment, ...]:
        """Return the base of an earlier run; empty where there is none."""
        found = files.find_artifact(self._library.path / "derived", KIND, load=_load)
        return () if found is None else (found,)

    def _store(self, base: _Segment) -> None:
        digest = hashlib.sha256(base.marks.tobytes()).hexdigest()[:32]
        files.load_artifact(
            self._library.path / "derived" / f"{KIND}-{digest}",
            write=lambda folder: _save(base, folder),
            load=_load,
        )

    def _texts(
        self, connection: Connection, chunk_ids: Sequence[str], made: Mapping[str, KeywordEntry]
    ) -> Iterator[list[KeywordEntry]]:
        """Yield the tokens of these chunks in their order, some at a time."""
        query = select(keywords.c.chunk_id, *(keywords.c[name] for name in KeywordEntry._fields))
        for first in range(0, len(chunk_ids), READ_AT_ONCE):
            some = chunk_ids[first : first + READ_AT_ONCE]
            found = {one: made[one] for one in some if one in made}
            for row in rows_in(connection, query, keywords.c.chunk_id, some):
                found[row[0]] = KeywordEntry(*row[1:])
            yield [found[one] for one in some]

    def _listed(self, connection: Connection, documents: Collection[str] | None = None) -> _Listed:
        """Read the chunks of all documents, or of some."""
        table = chunk_table.c
        query = (
            select(table.document_id, table.id, keywords.c.stamp, keywords.c.readable)
            .outerjoin(keywords, table.id == keywords.c.chunk_id)
            .order_by(table.document_id, table.position, table.id)
        )
        if documents is None:
            rows = connection.execute(query).all()
        else:
            rows = list(rows_in(connection, query, table.document_id, documents))
        missing = [row.id for row in rows if row.stamp is None]
        made = {
            chunk.id: self._entry(
                chunk.title,
                nearest_heading(chunk.headings),
                f"{chunk.context}\n{chunk.text}".lstrip("\n"),
            )
            for chunk in read_chunks(connection, missing).values()
        }
        known = [made.get(row.id, row) for row in rows]
        return _Listed(
            [row.document_id for row in rows],
            [row.id for row in rows],
            np.array([each.readable for each in known], dtype=np.float32),
            np.array(
                [_mark(row.id, each.stamp) for row, each in zip(rows, known, strict=True)],
                dtype=np.uint64,
            ),
            made,
        )


def _mark(chunk_id: str, stamp: str) -> int:
    """Return the number that stands for a chunk with these tokens; no id stands in a file."""
    return token_hash(f"{chunk_id}\x1f{stamp}", KEY)


def _segment(marks: NDArray[np.uint64], texts: Iterable[Sequence[KeywordEntry]]) -> _Segment:
    builders = {field: PostingBuilder(KEY) for field in FIELDS}
    for entries in texts:
        for field, builder in builders.items():
            builder.add([getattr(entry, field) for entry in entries])
    return _Segment(marks, {field: builder.block() for field, builder in builders.items()})


def _save(segment: _Segment, folder: Path) -> None:
    np.save(folder / "marks.npy", segment.marks)
    for name, block in segment.blocks.items():
        block.save(folder / name)


def _load(folder: Path) -> _Segment:
    blocks = {name: PostingBlock.load(folder / name) for name in FIELDS}
    return _Segment(load_array(folder / "marks.npy"), blocks)


def _entry_of(
    words: Callable[[str], str], title: str, heading: str, body: str, readable: float
) -> KeywordEntry:
    return KeywordEntry(words(title), words(heading), words(f"{title}\n{body}"), readable)


def _without(question: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace spans by line breaks, so that no character pair crosses them."""
    kept, place = [], 0
    for start, end in sorted(spans):
        kept.append(question[place:start])
        place = max(place, end)
    return "\n".join([*kept, question[place:]])


def _mask(counted: Rows, count: int) -> NDArray[np.bool_] | None:
    """Return the mask of counted rows out of `count`; None for all."""
    if counted is None:
        return None
    mask = np.zeros(count, dtype=np.bool_)
    mask[counted[counted < count]] = True
    return mask


def _field_scores(
    field: FieldPostings,
    wanted: Sequence[str],
    forms: Sequence[list[list[str]]],
    seen: NDArray[np.bool_] | None,
) -> Scores:
    """Score query words, and entities by the tokens of all their names."""
    scores = field.scores(wanted, seen=seen)
    for some in forms:
        scores = scores + alias_bm25_scores(some, field.occurrences, count=field.count, seen=seen)
    return scores


def _plain_words(text: str) -> str:
    """Words in small letters, and pairs of Chinese characters, with spaces between."""
    return " ".join(match[1] or match[0] for match in _PLAIN.finditer(text.casefold()))


def nearest_heading(headings: Sequence[str]) -> str:
    """Return the heading that a chunk stands under, "" for none."""
    return headings[-1] if headings else ""


def context_prefix(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Return title and context of a node; a title repeated in the context is dropped."""
    title = str(metadata.get("title") or "")
    context = str(metadata.get("context") or "")
    if title and context.startswith(title):
        context = context[len(title) :].lstrip(" ›.")
    return title, context
