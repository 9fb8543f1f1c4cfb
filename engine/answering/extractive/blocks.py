"""Blocks of passages: contiguous pieces in the document's own form, each with its heading.

A block is a paragraph, or a list, table or code block together with the lines that lead to it. It
never parts a caption from what it captions. A long list is parted: into terms with what is said of
each (a glossary, the options of a command), else into items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from graph.text.cjk import count_han
from graph.text.patterns import FENCE

from ...chunking.structure import Block, Section, sections
from ...plain_text import without_marks
from ...storage.graph_api import sentence_spans
from ...storage.tokenization import tokens
from ...types import Passage

Form = Literal["prose", "list", "entry", "titled", "code", "table"]
APART: tuple[Form, ...] = ("entry", "titled")
"""Forms of what stands by itself among its like: items that explain terms, and paragraphs that
begin with a term, a year or a title in bold type."""

LONGEST_CAPTION = 80
"""Words of a paragraph that still counts as the caption of what stands below it."""
LONGEST_WORDS = 220
"""Words of an excerpt, at most; two Chinese characters count as one."""
WINDOW_WORDS = 130
"""Words that a reader takes in at once."""
ENTRIES, LISTED_WORDS = 3, 60
"""From so many terms on, each above one deeper item, a list explains them, and from two on where it
has no other items; it is parted from so many words on."""
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)、])[ \t]")
_RUN_IN = re.compile(
    r"\*\*(?!(?:steps?|note|notes|warning|tip|caution|hint|important|example)\b|第.{1,3}步|步骤|注意?[*：:]"
    r"|提示|警告)([^*\n]{1,80}?)(?:[.:?!。：？！]\*\*|\*\*[.:：。]|\*\*(?=\s*[–—-]\s))\s*(?=\S)",
    re.IGNORECASE,
)
"""Beginning of a paragraph in bold type that ends with a mark: a term, a year or a question."""
_INDENTED = re.compile(r"[ \t]{2,}\S")
_GOES_ON = re.compile(r"[a-z,;.)](?!\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptBlock:
    """Block `passages[passage].text[start:end]`, below `heading`, in its section as `place`.

    `section_start` is where the section's heading begins; `above` is the heading above that.
    """

    passage: int
    start: int
    end: int
    heading: str
    form: Form
    above: str
    section: int
    section_start: int
    place: int
    text: str


def split_blocks(passages: Sequence[Passage]) -> list[ExcerptBlock]:
    """Split passages into blocks, in order, each place of a document once.

    Of blocks with the same end, in passages that overlap, the longest one is kept.
    """
    found: list[ExcerptBlock] = []
    begun: dict[tuple[str, int], int] = {}
    for index, passage in enumerate(passages):
        for number, section, shift in _sections_behind_code(passage):
            heading = section.path[-1] if section.path else _heading(passage)
            own = passage.text[shift:]
            for place, (first, last, form) in enumerate(
                _without_long(own, _joined(own, section), section)
            ):
                start, end = first + shift, last + shift
                at, begins = (passage.document_id, passage.start + end), passage.start + start
                if begun.get(at, begins + 1) <= begins or is_contents(passage.text[start:end]):
                    continue
                begun[at] = begins
                found.append(
                    ExcerptBlock(
                        passage=index,
                        start=start,
                        end=end,
                        heading=heading,
                        form=form,
                        above=section.path[-2] if len(section.path) > 1 else _heading(passage),
                        section=number,
                        section_start=_last_heading(section) + shift,
                        place=place,
                        text=passage.text[start:end],
                    )
                )
    placed = ((each, passages[each.passage]) for each in found)
    return [
        each
        for each, passage in placed
        if begun[passage.document_id, passage.start + each.end] == passage.start + each.start
    ]


_REMEMBERED = 256
"""Passages whose sections are remembered: each is split for several ends."""
_sections = lru_cache(maxsize=_REMEMBERED)(sections)


def _sections_behind_code(passage: Passage) -> Iterator[tuple[int, Section, int]]:
    """Give the sections of a passage with their numbers, and where the text begins they are of.

    The code in whose middle it begins is a section by itself.
    """
    shift = code_end(passage.text)
    if shift:
        code = Block(start=0, end=shift, kind="code")
        yield -1, Section(path=(), blocks=(code,)), 0
    own = passage.text[shift:]
    for number, section in enumerate(_sections(own, markdown=_is_markdown(passage))):
        yield number, section, shift


_FENCE = re.compile(r"(?m)^[ \t]*```.*$")


def code_end(text: str) -> int:
    """Return where the code ends in whose middle a text begins; 0 for others.

    The mark that ends code stands right below it, and above an empty line.
    """
    fence = _FENCE.search(text)
    if fence is None or fence.group().strip() != "```":
        return 0
    before, behind = text[: fence.start()], text[fence.end() :]
    is_below = bool(before.strip()) and not before.endswith("\n\n")
    return fence.end() if is_below and (not behind.strip() or behind.startswith("\n\n")) else 0


def is_of_term(block: ExcerptBlock, question: str) -> bool:
    """Check for the entry of a term that the question names."""
    term = set(tokens(entry_term(block)))
    return bool(term) and term <= set(tokens(question))


def entry_term(block: ExcerptBlock) -> str:
    """Return the term, year or title with which an entry begins; empty for other blocks."""
    if block.form not in APART:
        return ""
    titled = _RUN_IN.match(block.text)
    return titled[1] if titled else block.text.partition("\n")[0].lstrip("-*+•| ")


def _last_heading(section: Section) -> int:
    """Return where the innermost heading of a section begins, or the section without one."""
    starts = [block.start for block in section.blocks if block.kind == "heading"]
    return max(starts, default=section.blocks[0].start)


def _is_markdown(passage: Passage) -> bool:
    return not passage.document_id.casefold().endswith(".txt")


def _heading(passage: Passage) -> str:
    return passage.headings[-1] if passage.headings else passage.title


def _joined(text: str, section: Section) -> list[tuple[int, int, Form]]:
    """Join captions with lists, tables and code, items with items, and tails with their heads."""
    joined: list[tuple[int, int, Form]] = []
    last: Form = "prose"
    for block in section.blocks:
        if block.kind in ("heading", "front"):
            continue
        form = _form(text, block, after=last)
        if joined and _belongs(
            text[slice(*joined[-1][:2])], last, text[block.start : block.end], form
        ):
            start, _, whole = joined[-1]
            joined[-1] = (start, block.end, form if whole == "prose" else whole)
        else:
            joined.append((block.start, block.end, form))
        last = form
    return _with_titled(text, joined)


def _with_titled(text: str, joined: Sequence[tuple[int, int, Form]]) -> list[tuple[int, int, Form]]:
    """Part the paragraphs of a glossary, a chronicle or the like from each other.

    At least half of a section's paragraphs begin with a term, a year or a title in bold type; what
    stands between two of them belongs to the first, where both are short enough to be read at once.
    """
    begins = [form == "prose" and _RUN_IN.match(text, start) for start, _, form in joined]
    terms = [begun[1] for begun in begins if begun]
    paragraphs = sum(form == "prose" for _, _, form in joined)
    is_distinct = len({*terms}) == len(terms)  # those who speak do so again
    if len(terms) < ENTRIES or not is_distinct or 2 * len(terms) < paragraphs:
        return list(joined)
    last_term = max(row for row, begun in enumerate(begins) if begun)
    found: list[tuple[int, int, Form]] = []
    for row, (start, end, form) in enumerate(joined):
        first, before, last = found[-1] if found else (start, start, form)
        is_open = row < last_term or text[first:before].endswith("**")  # a title by itself
        is_short = count_words(text[first:end]) <= WINDOW_WORDS
        if begins[row] and count_words(text[start:end]) <= LONGEST_WORDS:
            found.append((start, end, "titled"))
        elif last == "titled" and not begins[row] and is_open and is_short:
            found[-1] = (first, end, "titled")
        else:
            found.append((start, end, form))
    return found


def _without_long(
    text: str, joined: Sequence[tuple[int, int, Form]], section: Section
) -> list[tuple[int, int, Form]]:
    """Split a list longer than an excerpt into its items, and such a paragraph into sentences.

    A list's caption stays with its first item; sentences are joined up to a window.
    """
    found: list[tuple[int, int, Form]] = []
    for start, end, form in joined:
        parts: list[tuple[int, Form]] = [(start, form)]
        if form == "list":
            items = [
                (block.start, block.start - text.rfind("\n", 0, block.start))
                for block in section.blocks
                if start <= block.start < end and _ITEM.match(text, block.start)
            ]
            parts = _list_parts(text, start, end, items)
        elif form == "prose" and count_words(text[start:end]) > LONGEST_WORDS:
            for first, stop in sentence_spans(text[start:end]):
                if count_words(text[parts[-1][0] : start + stop]) > WINDOW_WORDS:
                    parts += [(start + first, form)] if start + first > parts[-1][0] else []
        ends = [*(first for first, _ in parts[1:]), end]
        for (first, kind), after in zip(parts, ends, strict=True):
            found.append((first, first + len(text[first:after].rstrip()), kind))
    return found


def _list_parts(
    text: str, start: int, end: int, items: Sequence[tuple[int, int]]
) -> list[tuple[int, Form]]:
    """Return where the parts of a list begin; `items` are the places of its items and their depths.

    A list is parted into entries where it explains terms; what is longer than an excerpt into its
    items, these into those inside them.
    """
    words = count_words(text[start:end])
    if words < LISTED_WORDS or not items:
        return [(start, "list")]
    level = min(depth for _, depth in items)
    starts = [place for place, depth in items if depth == level]
    entries = _entries(text, end, items, level)
    form: Form = "list"
    are_all = len(entries) > 1 and entries[: len(starts) - 1] == starts[:-1]  # one may be cut off
    if len(entries) >= max(ENTRIES, len(starts) // 2) or are_all:
        starts, form = _without_bare_terms(text, starts, entries), "entry"
    elif words <= LONGEST_WORDS and len(starts) > 1:
        return [(start, "list")]
    if items[0][1] > level:
        starts = [start, *starts]  # the rest of an item that began further up
    else:
        starts[0] = start
    found: list[tuple[int, Form]] = []
    for first, after in pairwise([*starts, end]):
        inside = [each for each in items if first <= each[0] < after and each[1] > level]
        (_, own), *rest = _list_parts(text, first, after, inside)
        found += [(first, own if rest else form), *rest]
    return found


def _entries(text: str, end: int, items: Sequence[tuple[int, int]], level: int) -> list[int]:
    """Return the places of items of one line, each above exactly one item of the next depth."""
    found = []
    places = [place for place, _ in items]
    for row, (place, depth) in enumerate(items):
        if depth != level:
            continue
        inside = []
        for _, deeper in items[row + 1 :]:
            if deeper <= level:
                break
            inside.append(deeper)
        after = places[row + 1] if row + 1 < len(items) else end
        is_line = "\n" not in text[place:after].strip()
        if is_line and inside and inside.count(min(inside)) == 1:
            found.append(place)
    return found


def _without_bare_terms(text: str, starts: Sequence[int], entries: Sequence[int]) -> list[int]:
    """Leave out the places of terms that stand below another one with the same explanation."""
    told = [
        after
        for before, after in pairwise(starts)
        if before in entries or "\n" in text[before:after].strip()
    ]
    return [*starts[:1], *told]


def _form(text: str, block: Block, *, after: Form) -> Form:
    if block.kind in ("code", "table"):
        is_nested = block.kind == "code" and after == "list" and _starts_indented(text, block)
        return "list" if is_nested else ("code" if block.kind == "code" else "table")
    if _ITEM.match(text, block.start) or (after == "list" and _starts_indented(text, block)):
        return "list"
    return "prose"


def _starts_indented(text: str, block: Block) -> bool:
    line = text.rfind("\n", 0, block.start) + 1
    return _INDENTED.match(text, line) is not None


def _belongs(before: str, last: Form, text: str, form: Form) -> bool:
    """Check whether a block goes with the one in front of it."""
    if form == "list" and last == "list":
        return True
    if form == "prose":
        return before.endswith((":", "：")) or (last == "code" and bool(_GOES_ON.match(text)))
    if last == "prose":
        leads = before.endswith((":", "：", ",")) or form != "list"
        return leads and count_words(before) <= LONGEST_CAPTION
    return last != form and before.endswith((":", "："))


_NUMBERED_TITLE = re.compile(r"^\s*(?:[-*+•]\s+)?(?:\d+\.){2,}\d*\s|^\s*[-*+•]\s+\d+\.\s", re.M)


def is_contents(text: str) -> bool:
    """Check for a table of contents: most lines are numbered titles (*7.1. Packages*)."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 2 and 2 * len(_NUMBERED_TITLE.findall(text)) > len(lines)


def count_words(text: str) -> int:
    """Count words; two Chinese characters are one."""
    han = count_han(text)
    return len(text.split()) + han // 2


def cut_long(text: str, *, words: int = LONGEST_WORDS) -> int:
    """Return the end of the part of a text that holds at most so many words, whole sentences."""
    if count_words(text) <= words:
        return len(text)
    end = 0
    for _, stop in sentence_spans(text):
        if end and count_words(text[:stop]) > words:
            break
        end = stop
    return len(_HANGING.sub("", text[:end]))


_HANGING = re.compile(r"\n[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6} [^\n]*)\s*$")
"""The mark of an item, or a heading, of which nothing is left."""


def plain_excerpt(text: str, start: int, end: int) -> str:
    """Return a part of a text as it is shown: wrapped lines joined, its own `[3]` as `(3)`."""
    line = text.rfind("\n", 0, start) + 1  # a line is known to be wrapped by its length
    shown = _reflowed(without_marks(text[line:end]))
    before = without_marks(text[line:start])
    return shown.removeprefix(before) if before else shown


_WRAPPED_CHARACTERS = 45
"""A line from this length on is taken to be wrapped; columns and verses are not."""


def _reflowed(text: str) -> str:
    """Join the lines of wrapped paragraphs; code, tables, columns and short lines stay."""
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        is_fence = FENCE.match(line) is not None
        last = lines[-1] if lines else ""
        is_wrapped = len(last) >= _WRAPPED_CHARACTERS and "   " not in last.strip()
        if is_wrapped and line[:1].isalpha() and not (is_code or last.startswith(("#", "|"))):
            lines[-1] = f"{last} {line}"
        else:
            lines.append(line)
        is_code = is_code != is_fence
    return "\n".join(lines)
