"""BM25 over titles and bodies, derived from the tokens that the library keeps.

A subclass of LlamaIndex's `BM25Retriever` that counts tokens of ours (the stock pattern takes a
whole Chinese clause as one token), accepts an empty library, and can give the whole score arrays
of its two fields. The arrays are kept in files and memory-mapped; a stamp over the chunks tells
when they are stale.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.retrievers.bm25 import BM25Retriever
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from .door import chunk_table, generation, node_of_chunk, read_chunks
from .library import Library, keywords

K1, B = 1.2, 0.75
FIELDS = ("title", "body")
Tokens = Callable[[str], list[str]]
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class _Built:
    generation: int
    chunk_ids: tuple[str, ...]
    readable: NDArray[np.float32]
    fields: dict[str, bm25s.BM25 | None]


class KeywordRetriever(BM25Retriever):
    """BM25 of title and text together, plus a share of the title alone.

    Args:
        library: where tokens are kept.
        tokens: text to tokens, the same for passages and questions.
        readable: text to 0–1, how much of it the embedding model can read; kept with the tokens.
        title_weight: the share of the title's own score (used when retrieving by this list alone).
        top_k: how many nodes `retrieve` gives at most.
    """

    def __init__(
        self,
        library: Library,
        *,
        tokens: Tokens,
        readable: Callable[[str], float],
        title_weight: float = 0.3,
        top_k: int = 10,
    ) -> None:
        self._library = library
        self._tokens = tokens
        self._readable = readable
        self._title_weight = title_weight
        self._guard = threading.Lock()
        self._built: _Built | None = None
        self.similarity_top_k = top_k
        # The stock constructor builds its own arrays with its own tokeniser: passed over.
        BaseRetriever.__init__(self, callback_manager=CallbackManager([]))

    def index_nodes(self, texts: Sequence[tuple[str, str, str]]) -> None:
        """Store the tokens of `(chunk id, title, body)`."""
        self._library.put_keywords(
            {
                chunk_id: (
                    " ".join(self._tokens(title)),
                    " ".join(self._tokens(f"{title}\n{body}")),
                    self._readable(body),
                )
                for chunk_id, title, body in texts
            }
        )

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The rows of the score arrays: by document, position and id."""
        return self._current().chunk_ids

    @property
    def readable(self) -> NDArray[np.float32]:
        """How much of each row the embedding model can read, 0–1, `(n,)`."""
        return self._current().readable

    def field_scores(self, question: str) -> dict[str, Scores]:
        """BM25 of every chunk by field, each `(n,)` in the order of `chunk_ids`."""
        built = self._current()
        wanted = self._tokens(question)
        return {
            field: _scores(built.fields[field], wanted, len(built.chunk_ids)) for field in FIELDS
        }

    def document_frequency(self, token: str) -> int:
        """How many chunks hold a token, in title or text."""
        field = self._current().fields["body"]
        number = field.vocab_dict.get(token) if field is not None else None
        if field is None or number is None:
            return 0
        bounds = field.scores["indptr"]
        return int(bounds[number + 1] - bounds[number])

    def idf(self, token: str) -> float:
        """ln(1 + (n − df + ½) / (df + ½)) over the chunks; highest for a token none holds."""
        count, held = len(self.chunk_ids), self.document_frequency(token)
        return math.log(1 + (count - held + 0.5) / (held + 0.5))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        built = self._current()
        found = self.field_scores(query_bundle.query_str)
        total = found["body"] + self._title_weight * found["title"]
        order = np.lexsort((np.arange(total.size), -total))[: self.similarity_top_k]
        best = [(built.chunk_ids[row], float(total[row])) for row in order if total[row] > 0]
        with self._library.read() as connection:
            held = read_chunks(connection, [chunk_id for chunk_id, _ in best])
        return [
            NodeWithScore(node=node_of_chunk(held[chunk_id]), score=score)
            for chunk_id, score in best
            if chunk_id in held
        ]

    def _current(self) -> _Built:
        with self._guard, self._library.read() as connection:
            now = generation(connection)
            if self._built is None or self._built.generation != now:
                self._built = self._build(connection, now)
            return self._built

    def _build(self, connection: Connection, now: int) -> _Built:
        query = (
            select(keywords)
            .join(chunk_table, chunk_table.c.id == keywords.c.chunk_id)
            .order_by(chunk_table.c.document_id, chunk_table.c.position, chunk_table.c.id)
        )
        rows = connection.execute(query).all()
        ids = tuple(row.chunk_id for row in rows)
        digest = hashlib.sha256()
        for row in rows:
            digest.update(f"{row.chunk_id}\x1f{row.title}\x1f{row.body}\x1e".encode())
        folder = self._library.path / "derived" / f"bm25-{digest.hexdigest()[:32]}"
        if rows and not folder.exists():
            _save({f: [getattr(row, f).split() for row in rows] for f in FIELDS}, folder)
        fields = {field: _load(folder / field) if rows else None for field in FIELDS}
        readable = np.array([row.readable for row in rows], dtype=np.float32)
        return _Built(now, ids, readable, fields)


def _scores(field: bm25s.BM25 | None, wanted: Sequence[str], count: int) -> Scores:
    if field is None:
        return np.zeros(count, dtype=np.float32)
    known = [token for token in wanted if token in field.vocab_dict]
    if not known:
        return np.zeros(count, dtype=np.float32)
    return np.asarray(field.get_scores(known), dtype=np.float32)


def _save(fields: dict[str, list[list[str]]], folder: Path) -> None:
    """Index both fields and put them in place whole, in the stead of older ones."""
    folder.parent.mkdir(exist_ok=True)
    temporary = Path(f"{folder}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    for name, documents in fields.items():
        if any(documents):
            field = bm25s.BM25(k1=K1, b=B)
            field.index(documents, show_progress=False, create_empty_token=False)
            field.save(str(temporary / name), show_progress=False)
    temporary.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.parent.glob("bm25-*")):
        if old != temporary:
            shutil.rmtree(old, ignore_errors=True)
    temporary.replace(folder)


def _load(folder: Path) -> bm25s.BM25 | None:
    return bm25s.BM25.load(str(folder), mmap=True) if folder.exists() else None
