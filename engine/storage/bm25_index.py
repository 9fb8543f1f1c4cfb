"""BM25 of titles and bodies over our own tokens.

The score arrays of both fields are files in `derived/`, memory-mapped. All names of an entity count
as one term (刘备 finds 玄德). A chunk is indexed with its title and context line.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from graph.text.cjk import HAN

from . import files
from .graph_api import (
    Chunk,
    Fault,
    QuestionNames,
    chunk_table,
    facts_generation,
    isolation,
    read_chunks,
)
from .library import Library
from .schema import KeywordEntry, keywords

Scores = NDArray[np.float32]
Frequencies = NDArray[np.float64]
Postings = Callable[[str], tuple[NDArray[np.integer], Scores]]
"""Token → rows that hold it, and BM25 scores; both empty for an unknown token."""

NAME_WEIGHT = 2.0
"""Weight of an entity name in words; a full name mostly has two."""
_NEARLY_ALL = 0.999


def name_idf(held: int, count: int) -> float:
    """ln(1 + (n − df + ½) / (df + ½)), of a word that `held` of `count` passages have."""
    return math.log(1 + (count - held + 0.5) / (held + 0.5))


def drop_supersets(names: Sequence[str]) -> list[str]:
    """Drop names that contain another name, sorted: 刘玄德 implies 玄德."""
    return sorted(one for one in names if not any(o != one and o in one for o in names))


def alias_bm25_scores(
    forms: Sequence[Sequence[str]],
    postings: Postings,
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
        often += _occurrences(tokens, postings, count)
    counted = often if seen is None else often[seen]
    weight = NAME_WEIGHT * name_idf(int(np.count_nonzero(counted)), counted.size)
    return np.asarray(weight * often / (1 + often), dtype=np.float32)


def _occurrences(tokens: Sequence[str], postings: Postings, count: int) -> Frequencies:
    """Return how often each passage has all tokens, in units of k1 × its length factor.

    Lucene's score of a token is idf × x / (1 + x) with x the frequency in these units.
    """
    rarest: Frequencies | None = None
    for token in dict.fromkeys(tokens):
        rows, scores = postings(token)
        often = np.zeros(count, dtype=np.float64)
        if rows.size:
            share = np.minimum(scores / name_idf(rows.size, count), _NEARLY_ALL)
            often[rows] = share / (1 - share)
        rarest = often if rarest is None else np.minimum(rarest, often)
    return np.zeros(count, dtype=np.float64) if rarest is None else rarest


K1, B = 1.2, 0.75
TITLE_WEIGHT = 0.3
"""The share of the title's own score, where this list alone retrieves."""
FIELDS = ("title", "heading", "body")
KIND = "bm25"
Tokens = Callable[[str], list[str]]
_PLAIN = re.compile(rf"[^\W_{HAN}]+|(?=([{HAN}]{{2}}))")
Rows = NDArray[np.int64] | None
"""The rows over which words are counted; None is all."""


@dataclass(frozen=True)
class _Built:
    generation: int
    chunk_ids: tuple[str, ...]
    readable: NDArray[np.float32]
    fields: dict[str, bm25s.BM25 | None]


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
        return self._current().chunk_ids

    @property
    def readable(self) -> NDArray[np.float32]:
        """Return the readable share of each row for the encoder, 0–1, `(n,)`."""
        return self._current().readable

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
        seen = _mask(counted, len(built.chunk_ids))
        found = {name: _field_scores(built.fields[name], wanted, forms, seen) for name in FIELDS}
        return {"title": np.maximum(found["title"], found["heading"]), "body": found["body"]}

    def read_tokens(self, connection: Connection, chunk_ids: Sequence[str]) -> list[list[str]]:
        """Return the tokens of title and text of a few chunks, in their order."""
        wanted = keywords.c.chunk_id.in_(chunk_ids)
        query = select(keywords.c.chunk_id, keywords.c.body).where(wanted)
        kept = {chunk_id: str(body) for chunk_id, body in connection.execute(query)}
        return [kept.get(chunk_id, "").split() for chunk_id in chunk_ids]

    def passage_count(self, counted: Rows = None) -> int:
        """Return the number of chunks, or of counted rows."""
        return len(self.chunk_ids) if counted is None else counted.size

    def document_frequency(self, counted: Rows = None) -> Callable[[str], int]:
        """Token → how many chunks hold it, in title or text; of those rows alone."""
        built = self._current()
        seen = _mask(counted, len(built.chunk_ids))
        return cache(lambda token: _frequency(built.fields["body"], token, seen))

    def idf(self, counted: Rows = None) -> Callable[[str], float]:
        """Token → ln(1 + (n − df + ½) / (df + ½)) over the chunks, or over these rows.

        Highest for a token that none holds. One picture: to be asked for once a question.
        """
        count = self.passage_count(counted)
        frequency = self.document_frequency(counted)
        return cache(lambda token: name_idf(frequency(token), count))

    def forget_files(self) -> None:
        """Delete the kept arrays: they hold words of texts that may have been removed."""
        files.delete_artifacts(self._library.path / "derived", KIND)

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
        rows = self._rows(connection)
        if not rows:
            return _Built(now, (), np.zeros(0, np.float32), dict.fromkeys(FIELDS))
        ids = tuple(row[0] for row in rows)
        # Other versions of the library may write other files.
        digest = hashlib.sha256(f"{bm25s.__version__} {K1} {B}\x1e".encode())
        for chunk_id, entry in rows:
            words = "\x1f".join((chunk_id, entry.title, entry.heading, entry.body))
            digest.update(f"{words}\x1e".encode())
        texts = {field: [str(getattr(entry, field)) for _, entry in rows] for field in FIELDS}

        def fresh() -> dict[str, bm25s.BM25 | None]:
            return {field: _indexed(some) for field, some in texts.items()}

        fields = files.load_artifact(
            self._library.path / "derived" / f"{KIND}-{digest.hexdigest()[:32]}",
            write=lambda folder: _save(fresh(), folder),
            load=lambda folder: {
                field: _load(folder / field) if any(some) else None for field, some in texts.items()
            },
        )
        readable = np.array([entry.readable for _, entry in rows], dtype=np.float32)
        return _Built(now, ids, readable, fresh() if fields is None else fields)

    def _rows(self, connection: Connection) -> list[tuple[str, KeywordEntry]]:
        """Return id and tokens of every chunk, in order.

        Tokens of a chunk that came by another way than `index_nodes` are made here.
        """
        query = (
            select(chunk_table.c.id, *(keywords.c[name] for name in KeywordEntry._fields))
            .outerjoin(keywords, chunk_table.c.id == keywords.c.chunk_id)
            .order_by(chunk_table.c.document_id, chunk_table.c.position, chunk_table.c.id)
        )
        rows = connection.execute(query).all()
        missing = read_chunks(connection, [row.id for row in rows if row.body is None])
        made = {
            chunk.id: self._entry(
                chunk.title,
                nearest_heading(chunk.headings),
                f"{chunk.context}\n{chunk.text}".lstrip("\n"),
            )
            for chunk in missing.values()
        }
        return [(row.id, made.get(row.id) or KeywordEntry(*row[1:])) for row in rows]


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


def _mask(counted: Rows, count: int) -> NDArray[np.bool_]:
    """Return the mask of counted rows out of `count`; all by default."""
    if counted is None:
        return np.ones(count, dtype=np.bool_)
    mask = np.zeros(count, dtype=np.bool_)
    mask[counted[counted < count]] = True
    return mask


def _field_scores(
    field: bm25s.BM25 | None,
    wanted: Sequence[str],
    forms: Sequence[list[list[str]]],
    seen: NDArray[np.bool_],
) -> Scores:
    """Score query words, and entities by the tokens of all their names."""
    scores = _scores(field, wanted, seen)
    if field is not None:
        for some in forms:
            scores = scores + alias_bm25_scores(
                some, partial(_postings, field), count=seen.size, seen=seen
            )
    return scores


def _postings(field: bm25s.BM25, token: str) -> tuple[NDArray[np.integer], Scores]:
    """Return the rows of a token and its score in each."""
    number = field.vocab_dict.get(token)
    first, last = (0, 0) if number is None else field.scores["indptr"][number : number + 2]
    return field.scores["indices"][first:last], field.scores["data"][first:last]


def _frequency(field: bm25s.BM25 | None, token: str, seen: NDArray[np.bool_]) -> int:
    if field is None:
        return 0
    rows, _ = _postings(field, token)
    return int(np.count_nonzero(seen[rows]))


def _scores(field: bm25s.BM25 | None, wanted: Sequence[str], seen: NDArray[np.bool_]) -> Scores:
    known = [token for token in wanted if field is not None and token in field.vocab_dict]
    if field is None or not known:
        return np.zeros(seen.size, dtype=np.float32)
    if seen.all():
        return np.asarray(field.get_scores(known), dtype=np.float32)
    scores = np.zeros(seen.size, dtype=np.float32)
    for token in known:  # Lucene's BM25 is a product: how rare the word is, and what the row gives
        rows, given = _postings(field, token)
        held = int(np.count_nonzero(seen[rows]))
        if held:
            here = name_idf(held, int(np.count_nonzero(seen)))
            scores[rows] += given * np.float32(here / name_idf(rows.size, seen.size))
    return scores


def _indexed(texts: Sequence[str]) -> bm25s.BM25 | None:
    """Build BM25 over space-separated tokens; None without any token."""
    documents = [text.split() for text in texts]
    if not any(documents):
        return None
    field = bm25s.BM25(k1=K1, b=B)
    field.index(documents, show_progress=False, create_empty_token=False)
    return field


def _save(fields: dict[str, bm25s.BM25 | None], folder: Path) -> None:
    for name, field in fields.items():
        if field is not None:
            field.save(str(folder / name), show_progress=False)


def _load(folder: Path) -> bm25s.BM25:
    return bm25s.BM25.load(str(folder), mmap=True)


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
