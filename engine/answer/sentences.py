"""Sentences of passages: spans, terms and standalone wording.

The quote of a citation is always the exact text; what `plain` gives is that sentence
without Markdown, on one line, for the text of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..types import Passage
from .extracts.dates import has_birth_and_death

Tokens = Callable[[str], list[str]]
SentenceSpans = Callable[[str], list[tuple[int, int]]]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit vectors, one row a text."""

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
    r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+|\b[A-Z][\w'’-]+(?=\s[A-Z])|《[^》]+》|「[^」]+」|[\u4e00-\u9fff]{2,}·[\u4e00-\u9fff]{2,}"
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


def split_passages(
    passages: Sequence[Passage], *, tokens: Tokens, sentence_spans: SentenceSpans
) -> list[Sentence]:
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
