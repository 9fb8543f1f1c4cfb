"""Passages as they are ranked, traced and read: filtered views, trace steps, sentences.

`FilteredView` is what a filter leaves of the library, `Tracer` records stages with their times and
costs, `split_passages` gives citable sentences with spans and terms. The quote of a citation is
always the exact text; `strip_markdown` and `with_neighbours` give its wording for an answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from graph.text.cjk import HAN
from graph.text.patterns import lazy_regex

from ..answering.extractive.question_type import has_birth_and_death
from ..events import Listener, StepEvent, null_listener
from ..llm.budget import current_usage
from ..plain_text import table_cells
from ..storage.graph_api import WalkSnapshot, sentence_spans
from ..storage.tokenization import tokens
from ..types import Passage, TraceStep

if TYPE_CHECKING:
    from ..embeddings.embedding_model import EmbeddingModel

COUNT = 3
_BLOCK = 4_096


def preview_top_rows(scores: npt.ArrayLike, name: Callable[[int], str]) -> str:
    """Preview the best rows by name and score, without unscored ones."""
    values = np.asarray(scores)
    if not values.size:
        return ""
    # The best rows lie in the blocks with the best maxima: one pass, where sorting takes many.
    tops = np.maximum.reduceat(values, np.arange(0, values.size, _BLOCK))
    blocks = np.lexsort((np.arange(tops.size), -tops))[:COUNT] * _BLOCK
    rows = np.concatenate([np.arange(start, min(start + _BLOCK, values.size)) for start in blocks])
    best = rows[np.lexsort((rows, -values[rows]))][:COUNT].tolist()
    return "; ".join(f"{name(row)} {values[row]:.3g}" for row in best if values[row] > 0)


def preview_top_passages(passages: Sequence[Passage], *, count: int = COUNT) -> str:
    """Preview the first passages by title, offset and relevance."""
    return "; ".join(f"{each.title}:{each.start} {each.relevance:.2f}" for each in passages[:count])


@dataclass(frozen=True)
class FilteredView:
    """A view, and which rows of the whole library its rows are.

    `decay` is what age leaves of each row's score; None where age does not count.
    """

    view: WalkSnapshot
    rows: NDArray[np.int64]
    is_all: bool
    decay: NDArray[np.float64] | None = None
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

    def leading(self, scores: npt.ArrayLike) -> str:
        """Preview the best rows by these scores."""
        return preview_top_rows(scores, self.name)

    def of(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Restrict an array over the library to visible rows."""
        return values if self.is_all else values[self.rows]


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


def embedder(embed_model: EmbeddingModel | None) -> Embed | None:
    """Return a function from texts to unit vectors, one row each."""
    if embed_model is None:
        return None

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(embed_model.get_text_embedding_batch(list(texts)), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)

    return embed


LIFE = frozenset(("born", "birth", "die", "death", "出生", "生于", "去世", "逝世"))
_HEADING = lazy_regex(r"^\s*#{1,6}\s|^[A-Z]{2,}(?:[ ,:'’&-]+[A-Z]{2,})+[ .:]*$")
_RULE = lazy_regex(r"^[\W\d_]*$")
_RULE_LINE = lazy_regex(r"^\s*[-=_*~]{3,}\s*$", re.MULTILINE)
_KEY_VALUE = lazy_regex(r"^[ \t]*[^\W\d_][^\n:：。！？]{0,30}[:：][ \t]*\S", re.MULTILINE)
_TABLE_HEAD = lazy_regex(r"\n\s*\|(?:\s*:?-+:?\s*\|)+\s*$")
_NAME = lazy_regex(
    r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+|\b[A-Z][\w'’-]+(?=\s[A-Z])|《[^》]+》|「[^」]+」"
    rf"|[{HAN}]{{2,}}·[{HAN}]{{2,}}"
)
_PRONOUN = lazy_regex(
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


LEAD_CHARACTERS = 160
"""Characters of what leads to an item, the last ones."""
_ITEM_LINE = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,3}[.)、])[ \t]")


def led_by(text: str, start: int) -> str:
    """Return what leads to an item of a list: the item or paragraph above it that ends in a colon.

    Nothing for other places.
    """
    begin = text.rfind("\n", 0, start) + 1
    item = _ITEM_LINE.match(text, begin)
    while item is not None and begin > 0:
        end, begin = begin - 1, text.rfind("\n", 0, begin - 1) + 1
        line = text[begin:end].rstrip()
        above = _ITEM_LINE.match(line)
        depth = len(above[1]) if above else len(line) - len(line.lstrip())
        if not line or depth > len(item[1]) or (above and depth == len(item[1])):
            continue  # beside it, or below what is
        return line.strip()[-LEAD_CHARACTERS:] if line.endswith((":", "：")) else ""
    return ""


def split_passages(passages: Sequence[Passage]) -> list[Sentence]:
    """Split passages into citable sentences, without headings, rules and termless lines.

    A heading inside a passage belongs to the context of what follows it, a table's first row to
    that of its other rows, and what leads to a list to that of its items. A block of `key: value`
    lines gives a sentence a line. A sentence that two overlapping chunks share is kept once, in the
    better passage.
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
                header, head = terms, table_cells(text.partition("\n")[0])
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
                    context=context | header | frozenset(tokens(led_by(passage.text, start))),
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


def with_neighbours(text: str, *, title: str) -> str:
    """Prefix a leading pronoun with its subject: `Title: She was born …`."""
    if not title or not _PRONOUN.match(text) or title.casefold() in text.casefold():
        return text
    return f"{' '.join(title.split())}: {text}"
