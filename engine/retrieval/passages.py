"""Sentences of passages: spans, terms and standalone wording.

The quote of a citation is always the exact text; what `plain` gives is that sentence
without Markdown, on one line, for the text of an answer.

Preview of a ranking for the trace.

Filtered view of the library shared by lists and walk.

Expansion of ranked chunks to the text that is read: the chunk or its parent.

Small chunks are found best, large ones read best. Of chunks that lie in what is read already only
the first counts. Pure: chunks and texts come by function.

A stage after another, with their times and costs, as steps of a trace.
"""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from llama_index.core.base.embeddings.base import BaseEmbedding
from numpy.typing import NDArray
from sqlalchemy import Connection

from graph.text.cjk import HAN

from ..answering.extractive.question_type import has_birth_and_death
from ..events import Listener, StepEvent, null_listener
from ..llm.budget import current_usage
from ..storage.files import load_snapshot
from ..storage.graph_api import Chunk, WalkSnapshot, derived_stamp, sentence_spans
from ..storage.library import Library
from ..storage.schema import DocumentFilter
from ..storage.tokenization import tokens
from ..types import Passage, TraceStep
from .fusion import Scores, time_decay

COUNT = 3


def preview_top_rows(scores: npt.ArrayLike, name: Callable[[int], str]) -> str:
    """Preview the best rows by name and score, without unscored ones."""
    values = np.asarray(scores)
    count = min(COUNT, values.size)
    if not count:
        return ""
    # Of a large list only the best are put in order.
    rows = np.argpartition(-values, count - 1)[:count]
    best = sorted(rows.tolist(), key=lambda row: (-values[row], row))
    return "; ".join(f"{name(row)} {values[row]:.3g}" for row in best if values[row] > 0)


def preview_top_passages(passages: Sequence[Passage], *, count: int = COUNT) -> str:
    """Preview the first passages by title, offset and relevance."""
    return "; ".join(f"{each.title}:{each.start} {each.relevance:.2f}" for each in passages[:count])


KEPT_VIEWS = 8
"""Maximum cached filtered views."""


@dataclass(frozen=True)
class FilteredView:
    """A view, and which rows of the whole library its rows are.

    `decay` is what age leaves of each row's score; None where age does not count.
    """

    view: WalkSnapshot
    rows: NDArray[np.int64]
    is_all: bool
    decay: Scores | None = None
    counted: NDArray[np.int64] | None = None
    """Rows that word statistics cover.

    Those of the namespaces, so scores leak nothing of others; None means all.
    """

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each chunk, by id."""
        return {chunk_id: row for row, chunk_id in enumerate(self.view.chunk_ids)}

    def name(self, row: int) -> str:
        """Return a row's display name: its title, or its document id."""
        title = self.view.titles[row]
        return self.view.display.get(title, title) or self.view.documents[row]

    def leading(self, scores: Scores | NDArray[np.float32]) -> str:
        """Preview the best rows by these scores."""
        return preview_top_rows(scores, self.name)

    def of(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Restrict an array over the library to visible rows."""
        return values if self.is_all else values[self.rows]


class FilteredViewCache:
    """Views of the library by filter, cached for the last few.

    Args:
        library: what is seen.
        half_life_days: after so many days a document counts half; None: age does not count.
    """

    def __init__(self, library: Library, *, half_life_days: float | None = None) -> None:
        self._library = library
        self._half_life_days = half_life_days
        self._guard = threading.Lock()
        self._stamp = ""
        self._shown: dict[str, FilteredView] = {}

    def current(self, connection: Connection, within: DocumentFilter | None) -> FilteredView:
        """Return the view for a filter, within a connection's snapshot."""
        stamp = derived_stamp(connection)
        with self._guard:
            if self._stamp != stamp:
                view = load_snapshot(connection, self._library.path / "derived")
                rows = np.arange(len(view.chunk_ids))
                whole = FilteredView(view, rows, is_all=True, decay=self._decay(connection, view))
                self._stamp, self._shown = stamp, {"": whole}
            if within is None:
                return self._shown[""]
            if within.key not in self._shown:
                shown = self._narrowed(connection, self._shown[""], within)
                while len(self._shown) > KEPT_VIEWS:
                    del self._shown[next(key for key in self._shown if key)]
                self._shown[within.key] = shown
            return self._shown[within.key]

    def _narrowed(
        self, connection: Connection, whole: FilteredView, within: DocumentFilter
    ) -> FilteredView:
        known = self._library.document_metadata(connection)
        rows = _rows(whole.view, known, within)
        view = whole.view.only(rows.tolist())
        home = within.home
        if home is not None:  # a name may come from another namespace
            view = view.called_as_here(connection)
        return FilteredView(
            view,
            rows,
            is_all=False,
            decay=self._decay(connection, view),
            counted=_rows(whole.view, known, home) if home is not None else None,
        )

    def _decay(self, connection: Connection, view: WalkSnapshot) -> Scores | None:
        if self._half_life_days is None:
            return None
        known = self._library.document_metadata(connection)
        dates = [known.get(name, {}).get("date") for name in view.documents]
        return time_decay(dates, half_life_days=self._half_life_days)


def _rows(
    view: WalkSnapshot, known: Mapping[str, Mapping[str, object]], within: DocumentFilter
) -> NDArray[np.int64]:
    """Return the rows of documents that a filter admits."""
    admitted = {name for name, metadata in known.items() if within.admits(metadata)}
    found = [row for row, name in enumerate(view.documents) if name in admitted]
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpan:
    """Text read for a row: the document's `[start, end)`."""

    row: int
    chunk: Chunk
    start: int
    end: int
    text: str


def expand_to_parents(
    rows: Sequence[int],
    *,
    limit: int,
    chunks: Callable[[Sequence[int]], Mapping[int, Chunk]],
    text: Callable[[str, int, int], str],
) -> list[ReadSpan]:
    """At most `limit` readings of `rows`, in their order.

    Args:
        rows: best first.
        limit: how many are wanted.
        chunks: rows to the chunks that are there, by row.
        text: document id, start and end to the text there.
    """
    found: list[ReadSpan] = []
    read: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for first in range(0, len(rows), limit):
        held = chunks(rows[first : first + limit])
        for row in rows[first : first + limit]:
            chunk = held.get(row)
            if chunk is None or _is_inside(chunk, read[chunk.document_id]):
                continue
            start, end = chunk.read or (chunk.start, chunk.end)
            if chunk.read is not None:
                read[chunk.document_id].append(chunk.read)
            words = chunk.text if chunk.read is None else text(chunk.document_id, start, end)
            found.append(ReadSpan(row=row, chunk=chunk, start=start, end=end, text=words))
            if len(found) == limit:
                return found
    return found


def _is_inside(chunk: Chunk, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= chunk.start and chunk.end <= end for start, end in spans)


LONGEST_TEXT = 300
"""Maximum characters of a stage's input and output in the trace."""


class Tracer:
    """Trace recorder: a step for each stage with its time and cost; also emits events.

    Args:
        on_event: hears of each step as its stage ends.
    """

    def __init__(self, on_event: Listener = null_listener) -> None:
        self.steps: list[TraceStep] = []
        self._tell = on_event
        self._last = time.perf_counter()
        self._spent = current_usage()

    def record(
        self, stage: str, detail: str, gave: str = "", took: str = "", /, **figures: float
    ) -> None:
        """Record the stage that ends now.

        Only the beginnings of `gave` and `took` are stored.
        """
        now, spent = time.perf_counter(), current_usage()
        step = TraceStep(
            stage=stage,
            detail=detail,
            seconds=now - self._last,
            figures=figures,
            input=_beginning(took),
            output=_beginning(gave),
            usage=spent.since(self._spent),
        )
        self._last, self._spent = now, spent
        self.steps.append(step)
        self._tell(StepEvent(step=step))

    def skip(self) -> None:
        """Skip the time since the last stage, which has steps of its own."""
        self._last, self._spent = time.perf_counter(), current_usage()


def _beginning(text: str) -> str:
    """In one line, with a sign where it goes on."""
    line = " ".join(text[: 2 * LONGEST_TEXT].split())
    whole = len(line) <= LONGEST_TEXT and len(text) <= 2 * LONGEST_TEXT
    return line if whole else f"{line[: LONGEST_TEXT - 1]}…"


Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit vectors, one row a text."""


def embedder(embed_model: BaseEmbedding | None) -> Embed | None:
    """Return a function from texts to unit vectors, one row each."""
    if embed_model is None:
        return None

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(embed_model.get_text_embedding_batch(list(texts)), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)

    return embed


LIFE = frozenset(("born", "birth", "die", "death", "出生", "生于", "去世", "逝世"))
_HEADING = re.compile(r"^\s*#{1,6}\s|^[A-Z]{2,}(?:[ ,:'’&-]+[A-Z]{2,})+[ .:]*$")
_RULE = re.compile(r"^[\W\d_]*$")
_RULE_LINE = re.compile(r"^\s*[-=_*~]{3,}\s*$", re.MULTILINE)
_KEY_VALUE = re.compile(r"^[ \t]*[^\W\d_][^\n:：。！？]{0,30}[:：][ \t]*\S", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_STRESS = re.compile(r"(\*{1,3}|_{2,3}|`)(?=\S)(.+?)(?<=\S)\1")
_TABLE_ROW = re.compile(r"\s*\|(?:[^|\n]+\|){2,}\s*$")
_TABLE_HEAD = re.compile(r"\n\s*\|(?:\s*:?-+:?\s*\|)+\s*$")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)+")
_MARK = re.compile(r"[\[【［](\s*\d+(?:\s*[,，、–-]\s*\d+)*\s*)[\]】］]")
_NAME = re.compile(
    r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+|\b[A-Z][\w'’-]+(?=\s[A-Z])|《[^》]+》|「[^」]+」"
    rf"|[{HAN}]{{2,}}·[{HAN}]{{2,}}"
)
_PRONOUN = re.compile(
    r"^(?:(?:He|She|It|They|His|Her|Its|Their|This|These|That|The (?:film|song|album|company|book"
    r"|series|station|building|town|city|village|band|novel|game))\b|他|她|它|他们|她们|它们|其|该|此|本[片书剧作曲专])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Sentence.

    `passages[passage].text[start:end] == text`; `order` counts over all passages.

    `terms` are the sentence's own, `names` those of them that stand in names, `title` those of its
    passage's title, `context` those of title and headings, `before` those of the sentence in front.
    `heading` is the nearest one above it inside the passage, without marks.
    `tells` are terms that it says without words: the brackets of *Ada Roe (1901–1990) was …* say
    when she was born and died. `columns` are the headings of the columns of a table's row.
    `opens`: it is the first of its passage, which most often says what the passage is about.
    """

    passage: int
    order: int
    start: int
    end: int
    text: str
    heading: str
    opens: bool
    terms: frozenset[str]
    names: frozenset[str]
    title: frozenset[str]
    context: frozenset[str]
    before: frozenset[str]
    columns: tuple[str, ...] = ()
    tells: frozenset[str] = frozenset()


def split_passages(passages: Sequence[Passage]) -> list[Sentence]:
    """Split passages into citable sentences, without headings, rules and termless lines.

    A heading inside a passage belongs to the context of what follows it, and a table's first row to
    that of its other rows. A block of `key: value` lines gives a sentence a line. A sentence that
    two overlapping chunks share is kept once, in the better passage.
    """
    sentences: list[Sentence] = []
    seen: set[tuple[str, int, int]] = set()
    for index, passage in enumerate(passages):
        title = frozenset(tokens(passage.title))
        above = title | frozenset(tokens(" ".join(passage.headings)))
        heading, context = "", above
        before: frozenset[str] = frozenset()
        header: frozenset[str] = frozenset()
        head: tuple[str, ...] = ()
        opens = True
        for start, end in _lines(passage.text, sentence_spans(passage.text)):
            text = passage.text[start:end]
            if _HEADING.match(text):
                heading = text.lstrip("# \t").rstrip("# \t")
                context = above | frozenset(tokens(heading))
                continue
            terms = frozenset(tokens(text))
            columns: tuple[str, ...] = ()
            if not text.startswith("|"):
                header, head = frozenset(), ()
            elif not header:
                header, head = terms, _cells(text.partition("\n")[0])
                if _TABLE_HEAD.search(text):
                    continue
            else:
                columns = head
            place = (passage.document_id, passage.start + start, passage.start + end)
            if _RULE.match(text) or not terms or place in seen:
                continue
            seen.add(place)
            sentences.append(
                Sentence(
                    passage=index,
                    order=len(sentences),
                    start=start,
                    end=end,
                    text=text,
                    heading=heading,
                    opens=opens,
                    terms=terms,
                    names=frozenset(tokens(" ".join(_NAME.findall(text)))),
                    title=title,
                    context=context | header,
                    before=before,
                    columns=columns,
                    tells=LIFE if opens and has_birth_and_death(text) else frozenset(),
                )
            )
            before, opens = terms, False
    return sentences


def _lines(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Split blocks of `key: value` lines and text after rules."""
    pieces: list[tuple[int, int]] = []
    for start, end in spans:
        block = text[start:end]
        if len(_KEY_VALUE.findall(block)) < 2 and not _RULE_LINE.search(block):
            pieces.append((start, end))
            continue
        for line in re.finditer(r"[^\n]+", block):
            stripped = line.group().strip()
            if stripped:
                begin = start + line.start() + line.group().index(stripped)
                pieces.append((begin, begin + len(stripped)))
    return pieces


def strip_markdown(text: str, *, columns: Sequence[str] = ()) -> str:
    """Return a sentence on one line without Markdown; its own `[3]` becomes `(3)`.

    The cells of a table's row stand with dots between them, each behind the heading of its column
    where `columns` has one for each.
    """
    if _TABLE_ROW.match(text):
        cells = _cells(text)
        if len(columns) == len(cells):
            named = zip(columns, cells, strict=True)
            cells = tuple(f"{name}: {cell}" if name else cell for name, cell in named if cell)
        text = " · ".join(cells)
    text = _LIST_ITEM.sub("", text)
    text = _LINK.sub(r"\1", text)
    for _ in range(3):
        text = _STRESS.sub(r"\2", text)
    text = text.replace("**", "")
    return " ".join(_MARK.sub(r"(\1)", text).split())


def _cells(text: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in text.strip().strip("|").split("|"))


def with_neighbours(text: str, *, title: str) -> str:
    """Prefix a leading pronoun with its subject: `Title: She was born …`."""
    if not title or not _PRONOUN.match(text) or title.casefold() in text.casefold():
        return text
    return f"{' '.join(title.split())}: {text}"
