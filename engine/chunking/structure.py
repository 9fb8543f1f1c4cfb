"""Structure of a text: headings, blocks (paragraph, table, list, code), sections, and split points.

Blocks are in order, do not overlap and cover all characters but white space. Headings are Markdown
marks and unambiguous plain-text ones. Oversized blocks split at sentences, then lines, clauses, and
at last token windows, never inside a character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from graph.text.cjk import HAN
from graph.text.patterns import FENCE, lazy_regex

from ..ingest.readers.text import front_matter_end, strip_heading_marks, without_full_stop

if TYPE_CHECKING:
    from .span_parser import Measure

_ATX = lazy_regex(r" {0,3}(#{1,6})(?:[ \t]++(.*))?$")
_UNDERLINE = lazy_regex(r" {0,3}(={3,}|-{3,})[ \t]*$")
_CHAPTER = lazy_regex(
    r"(?:chapter|part|book|volume|stave|act|appendix)\s+(?:\d+|[ivxlc]+|[a-z]|one|two|three|four|five"
    r"|six|seven|eight|nine|ten|eleven|twelve)\b[^a-z]?.*"
    r"|(?:prologue|epilogue|preface|foreword|introduction|conclusions?|abstract|references|appendix)",
    re.I,
)
_INNER = lazy_regex(r"(?:chapter|stave|act)\b", re.I)
"""Chapters, which volumes and parts may hold."""
_CHINESE_CHAPTER = lazy_regex(
    r"第[〇零一二三四五六七八九十百千\d]{1,7}([卷部篇编章回节])(?:[\s　:：、].*|)$"
)
_CHINESE_LEVELS = {"卷": 1, "部": 1, "篇": 1, "编": 1, "章": 2, "回": 2, "节": 3}
_NUMBERED = lazy_regex(rf"(\d{{1,2}}(?:\.\d{{1,2}}){{0,4}})\.?[ \t]+[A-Z{HAN}“\"'《].*")
_CHINESE_NUMBERED = lazy_regex(
    r"(?:([一二三四五六七八九十]{1,3})、|[（(][一二三四五六七八九十]{1,3}[）)])\S.*"
)
_ENDS_LIKE_PROSE = lazy_regex(r"[.,;:!?。，；：！？、…]$")
_LIMIT = 70


class Heading(NamedTuple):
    """`level` 1 is the outermost; `text` is without marks."""

    level: int
    text: str


class HeadingNeighbours(NamedTuple):
    """Context of a line. `before`/`after`: the nearest non-blank lines."""

    blank_before: bool
    blank_after: bool
    before: str
    after: str


def atx_heading(line: str) -> Heading | None:
    """Match a Markdown `#` heading."""
    found = _ATX.match(line)
    if found is None:
        return None
    return Heading(len(found.group(1)), strip_heading_marks(_without_closing(found.group(2) or "")))


def _without_closing(title: str) -> str:
    """Strip closing marks after a space; `C#` keeps its own.

    By hand: a pattern that may skip spaces before and after the marks takes quadratic time.
    """
    title = title.rstrip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def underlined_heading(line: str, underline: str) -> Heading | None:
    """Match a Markdown heading underlined on the next line."""
    found = _UNDERLINE.match(underline)
    title = line.strip()
    if found is None or not title or 2 * len(found.group(1)) < min(len(title), 40):
        return None
    return Heading(1 if found.group(1)[0] == "=" else 2, strip_heading_marks(title))


def plain_heading(line: str, around: HeadingNeighbours) -> Heading | None:
    """Match an unmarked heading: chapters, numbered headings, capitals."""
    text = " ".join(line.split())
    if not text or len(text) > _LIMIT:
        return None
    chinese = _CHINESE_CHAPTER.fullmatch(text)
    if chinese:
        return Heading(_CHINESE_LEVELS[chinese.group(1)], text)
    if not around.blank_before:
        return None
    title = without_full_stop(text)
    if _ENDS_LIKE_PROSE.search(title):
        return None
    if around.blank_after and _CHAPTER.fullmatch(title):
        return Heading(2 if _INNER.match(title) else 1, title)
    if around.blank_after and _in_capitals(text):
        return Heading(3, text)
    return _numbered(text, around)


def _in_capitals(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    cased = text.upper() == text and text.lower() != text
    return cased and text[0].isalnum() and len(letters) >= 4 and len(letters) > 0.6 * len(text)


def _numbered(text: str, around: HeadingNeighbours) -> Heading | None:
    """Check whether a numbered line is not a list item, by its neighbours."""
    kind = _numbering(text)
    alike = (_numbering(" ".join(line.split())) for line in (around.before, around.after))
    if kind is None or kind in alike:
        return None
    return Heading(kind[1], text)


def _numbering(text: str) -> tuple[str, int] | None:
    found = _NUMBERED.fullmatch(text)
    if found:
        return "arabic", found.group(1).count(".") + 1
    chinese = _CHINESE_NUMBERED.fullmatch(text)
    if chinese:
        return "chinese", 2 if chinese.group(1) else 3
    return None


Kind = Literal["heading", "text", "table", "code", "front"]

_LINE = lazy_regex(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_ITEM = lazy_regex(r"[ \t]*(?:[-*+•]|\d{1,3}[.)、])[ \t]")
_DELIMITER_CELL = r"[ \t]*+:?-{2,}+:?[ \t]*+"
_DELIMITER_ROW = lazy_regex(rf"[ \t]*+\|?{_DELIMITER_CELL}(?:\|{_DELIMITER_CELL})*(?:\|[ \t]*+)?$")
_LONG_LINE = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Block `text[start:end]`, trimmed. `heading` is None for other kinds."""

    start: int
    end: int
    kind: Kind
    heading: Heading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under one heading, which comes first; `path` leads there from the root.

    Headings with nothing between them and the next stand at the head of the next section.
    """

    path: tuple[str, ...]
    blocks: tuple[Block, ...]


def sections(text: str, *, markdown: bool) -> list[Section]:
    """Split a text into sections in order; together they hold all blocks."""
    result: list[Section] = []
    stack: list[Heading] = []
    gathered: list[Block] = []
    bare = True
    path: tuple[str, ...] = ()
    for block in blocks(text, markdown=markdown):
        if block.heading is not None:
            if not bare:
                result.append(Section(path=path, blocks=tuple(gathered)))
                gathered, bare = [], True
            while stack and stack[-1].level >= block.heading.level:
                stack.pop()
            stack.append(block.heading)
            path = tuple(heading.text for heading in stack if heading.text)
        gathered.append(block)
        bare = bare and block.kind in ("heading", "front")
    if gathered:
        result.append(Section(path=path, blocks=tuple(gathered)))
    return result


def blocks(text: str, *, markdown: bool, start: int = 0, end: int | None = None) -> list[Block]:
    """Split `text[start:end]` into blocks.

    Without `markdown`, `#` needs blank lines around it.
    """
    stop = len(text) if end is None else end
    front = front_matter_end(text) if markdown and start == 0 and end is None else 0
    found = list(_Lines(text, max(front, start), stop, markdown=markdown).blocks())
    return [*([_trimmed(text, 0, front, "front")] if front else []), *found]


def is_delimiter_row(line: str) -> bool:
    """Check whether a line separates a table's header from its rows."""
    return _DELIMITER_ROW.match(line) is not None


def _trimmed(text: str, start: int, end: int, kind: Kind) -> Block:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Block(start=start, end=end, kind=kind)


class _Lines:
    """One pass over the lines; `at` is the line in hand."""

    def __init__(self, text: str, begin: int, end: int, *, markdown: bool) -> None:
        self.text = text
        self.markdown = markdown
        self.spans = [found.span() for found in _LINE.finditer(text, begin, end) if found.group()]
        self.at = 0
        self.last_was_heading = False

    def line(self, at: int) -> str:
        if not 0 <= at < len(self.spans):
            return ""
        return self.text[slice(*self.spans[at])].rstrip("\r\n")

    def blocks(self) -> Iterator[Block]:
        while self.at < len(self.spans):
            if not self.line(self.at).strip():
                self.at += 1
                continue
            heading = self.heading()
            if heading is not None:
                lines, value = heading
                block = self.taken(lines, "heading")
                yield Block(start=block.start, end=block.end, kind="heading", heading=value)
            elif FENCE.match(self.line(self.at)):
                yield self.taken(self.fenced(), "code")
            elif self.begins_table():
                yield self.taken(self.rows(), "table")
            else:
                yield self.taken(self.paragraph(), "text")
            self.last_was_heading = heading is not None

    def taken(self, count: int, kind: Kind) -> Block:
        first, last = self.spans[self.at], self.spans[self.at + count - 1]
        self.at += count
        return _trimmed(self.text, first[0], last[1], kind)

    def heading(self) -> tuple[int, Heading] | None:
        """Return the heading that begins here and its number of lines."""
        line = self.line(self.at)
        atx = atx_heading(line)
        if atx is not None and (self.markdown or self.stands_alone()):
            return 1, atx
        following = self.line(self.at + 1)
        under = underlined_heading(line, following)
        if under is not None and not (self.begins_table() or _ITEM.match(line)):
            return 2, under
        plain = None if self.markdown else plain_heading(line, self.around())
        return None if plain is None else (1, plain)

    def stands_alone(self) -> bool:
        around = self.around()
        return around.blank_before and around.blank_after

    def around(self) -> HeadingNeighbours:
        blank_before = self.last_was_heading or not self.line(self.at - 1).strip()
        return HeadingNeighbours(
            blank_before=blank_before,
            blank_after=not self.line(self.at + 1).strip(),
            before=self.nearest(-1),
            after=self.nearest(1),
        )

    def nearest(self, step: int) -> str:
        """Return the nearest non-blank line within a few lines."""
        lines = (self.line(self.at + step * distance) for distance in (1, 2, 3))
        return next((line for line in lines if line.strip()), "")

    def fenced(self) -> int:
        opening = FENCE.match(self.line(self.at))
        mark = opening.group(1) if opening else "```"
        count = 1
        while self.at + count < len(self.spans):
            line = self.line(self.at + count).strip()
            count += 1
            if line.startswith(mark) and not line.strip(mark[0]):
                break
        return count

    def begins_table(self) -> bool:
        line = self.line(self.at)
        following = self.line(self.at + 1)
        if "|" not in line:
            return False
        is_row = line.lstrip().startswith("|") and following.lstrip().startswith("|")
        return is_row or ("|" in following and is_delimiter_row(following))

    def rows(self) -> int:
        count = 1
        while "|" in self.line(self.at + count):
            count += 1
        return count

    def paragraph(self) -> int:
        """Return lines up to a blank one, the next list item, or another kind of block."""
        first, count = self.at, 1
        while self.line(first + count).strip():
            self.at = first + count
            if self.starts_new_block():
                break
            count += 1
        self.at = first
        return count

    def starts_new_block(self) -> bool:
        line, before = self.line(self.at), self.line(self.at - 1)
        if _ITEM.match(line) or FENCE.match(line) or line.startswith(("\u3000", "\t")):
            return True
        if len(before) > _LONG_LINE or self.begins_table():
            return True  # a line that long is a paragraph of its own, not one of a set measure
        return self.markdown and atx_heading(line) is not None


BLOCK, SENTENCE, LINE, CLAUSE, WINDOW = range(5)
"""Grains: how fine a piece is cut."""

_CLOSING = "\"'”’」』》）)\\]"
_SENTENCE_END = lazy_regex(
    rf"[。！？；…]+[{_CLOSING}]*"
    rf"|[.!?]++[{_CLOSING}]*+"  # an end only before white space: asked of the match, not here,
    # where a long run that is none would be tried anew from each of its characters
    r"|\n[ \t]*\r?\n\s*"
    r"|\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])"
)
_ABBREVIATION = lazy_regex(
    r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Rev|Gen|Col|Capt|Lt|No|Vol|Fig|Eq|vs|etc|al|cf|ca|e\.g|i\.e)\.$"
)
_LINE_END = lazy_regex(r"\r\n|\r|\n")
_CLAUSE_END = lazy_regex(r"[，；：、—]+|[,;:](?=\s)")
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f\u20e3")
_MAX_CLUSTER = 32
_TOKENS_IN_A_WINDOW = 4
"""Fraction of a chunk per window (1/4), so that windows pack with preceding text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A span to be packed whole or cut finer."""

    start: int
    end: int
    kind: Kind
    grain: int = BLOCK


def split_finer(text: str, piece: Piece, *, measure: Measure, size_tokens: int) -> list[Piece]:
    """Split a block at the next grain (sentence, line, clause, tokens) that cuts it.

    Empty where nothing can cut it any more.
    """
    for grain in range(piece.grain + 1, WINDOW + 1):
        if grain in (SENTENCE, CLAUSE) and piece.kind in ("table", "code"):
            continue
        ends = _ends(text, piece, grain, measure, max(1, size_tokens // _TOKENS_IN_A_WINDOW))
        pieces = [
            Piece(start=start, end=end, kind=piece.kind, grain=grain)
            for start, end in stripped_spans(text, piece.start, piece.end, ends)
        ]
        fits = measure.tokens(piece.start, piece.end) <= size_tokens
        if len(pieces) > 1 or fits:
            return pieces
    return []


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Return sentence starts in `text[start:end]` except the first, in order."""
    spans = stripped_spans(text, start, end, _sentence_ends(text, start, end))
    return [begin for begin, _ in spans][1:]


def stripped_spans(
    text: str, start: int, end: int, ends: Iterable[int]
) -> Iterator[tuple[int, int]]:
    """Return trimmed spans between `ends`; empty ones are dropped."""
    for cut in (*ends, end):
        stop = cut
        while start < stop and text[start].isspace():
            start += 1
        while stop > start and text[stop - 1].isspace():
            stop -= 1
        if start < stop:
            yield start, stop
        start = max(start, cut)


def safe_cut(text: str, at: int) -> int:
    """`at`, moved back so that no combining sequence, emoji or surrogate pair is cut."""
    cut = at
    while 0 < cut < len(text) and at - cut < _MAX_CLUSTER and _binds(text[cut - 1], text[cut]):
        cut -= 1
    return cut if at - cut < _MAX_CLUSTER else at


def _binds(before: str, after: str) -> bool:
    if after in _JOINERS or before == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff":
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    return unicodedata.category(after).startswith("M") or (before, after) == ("\r", "\n")


def _ends(text: str, piece: Piece, grain: int, measure: Measure, window_tokens: int) -> list[int]:
    if grain == SENTENCE:
        return list(_sentence_ends(text, piece.start, piece.end))
    if grain == LINE:
        return [found.end() for found in _LINE_END.finditer(text, piece.start, piece.end)]
    if grain == CLAUSE:
        return [found.end() for found in _CLAUSE_END.finditer(text, piece.start, piece.end)]
    return list(_window_ends(text, piece, measure, window_tokens))


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    for found in _SENTENCE_END.finditer(text, start, end):
        at = found.end()
        if found.group()[0] in ".!?" and not text[at : min(at + 1, end)].isspace():
            continue
        if found.group() == "." and _ABBREVIATION.search(text, max(start, at - 8), at):
            continue
        yield at


def _window_ends(text: str, piece: Piece, measure: Measure, window_tokens: int) -> Iterator[int]:
    """Cuts after at most `window_tokens` tokens, at white space where there is some."""
    start = piece.start
    while True:
        limit = measure.forward(start, window_tokens)
        if limit >= piece.end:
            return
        space = next((at for at in range(limit, start + 1, -1) if text[at - 1].isspace()), start)
        cut = space if space > start else safe_cut(text, limit)
        start = cut if cut > start else limit
        yield start
