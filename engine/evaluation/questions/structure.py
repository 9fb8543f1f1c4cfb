"""Questions from headings, tables, lists and labelled lines of a document's stored text.

Offsets count characters of the stored text: a gold span is a table's row, a list, a labelled line,
a heading, or the first paragraph under a heading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graph.text.cjk import HAN, has_han
from graph.text.patterns import FENCE

from ...plain_text import strip_markdown, table_cells
from ...prompts import Language
from ...storage.graph_api import sentence_spans
from ...storage.tokenization import tokens
from ..datasets import GoldSpan
from ..gold import GoldQuestion, gold_question

MAX_TITLE_CHARACTERS = 80
MAX_PARAGRAPH_CHARACTERS = 900
MAX_VALUE_CHARACTERS = 90
MAX_ITEM_CHARACTERS = 160
LIST_ITEMS = range(3, 10)
"""Number of items of a list that is asked for."""
_LEAST_ANSWER = 40
"""Characters of the sentences that are a section's gold value; half of it in Chinese."""
MAX_POINTS = 5
"""Maximum number of sentences under a heading that is asked for."""
LEAST_POINT = 4
"""Least characters of an item that says something."""
TOPICS = range(3, 13)
"""Number of headings of a document that is asked for its topics."""

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_NUMBERING = re.compile(
    r"^(?:(?:Chapter|Section|Appendix|Part)\s+[\dA-Z]+[.:]?|第\s*[\d一二三四五六七八九十]+\s*[章节部篇条]"
    r"|[A-Z]?\.?\d+(?:\.\d+)*[.)、:]?(?=\s)|\d+[.、)]|[A-Z](?:\.\d+)+\.?|[一二三四五六七八九十]+、|Q\d*[:.])\s*"
)
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)、])[ \t]+(.+)")
_FIELD = re.compile(
    r"(?:[-*+] )?(?:\*\*)?(?P<key>[A-Z][\w ()/-]{2,30}?"
    rf"|[{HAN}]{{2,8}})"
    r"(?:\*\*:|:\*\*|: |：)(?:\*\*)?[ \t]*(?P<value>\S.*)"
)
_NO_KEY = re.compile(
    r"^(?:notes?|warning|example|tip|see|source|from|to|cc|subject|date|re|q|a|answer|question"
    r"|caution|important|and|in|on|the|注|注意|例|例如|说明|提示|问|答|来源|主题|日期|发件人|收件人"
    r")\b",
    re.IGNORECASE,
)
GENERIC_TITLE = re.compile(
    r"^(?:introduction|overview|summary|notes?|background|contents?|conclusions?|references|appendix"
    r"|abstract|see also|general|history|details?|miscellaneous|about|other|more|preface|index"
    r"|further reading|frequently asked questions|faq"
    r"|(?:introduction|overview|summary|conclusion)\b.*"
    r"|常见问题|简介|概述|概况|背景|总结|附录|其他|说明|前言|目录|结语|备注|附注)\W*$",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"\d|.{0,12}\d月|[A-Z][a-z]{2,8},? \d|(?:January|February|March|April|May|June|July"
    r"|August|September|October|November|December)\b"
)
_NAVIGATION = re.compile(r"(?:Prev|Next|Up|Home)\b|[上下]一[页级章节]|起始页")
_TOTAL = re.compile(r"total|sum|average|mean|合计|总计|小计|平均", re.IGNORECASE)
_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*$")
_NO_COLUMN = re.compile(
    r"^(?:#|no\.?|what|who|when|where|how|why|notes?|remarks?|comments?|description|value|content|内容|回答|答案|值|备注|说明|事件|序号|event|item|answer)$",
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"[^\d]{0,2}(\d[\d,]*(?:\.\d+)?)\s*([^\d\s,.;()]{0,12})$")
_ORDER_COLUMN = re.compile(
    r"year|date|day|time|serial|no\b|number|page|version|年|日期|时间|编号", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, stripped of marks and numbering, and the span of what stands under it alone."""

    heading: str
    level: int
    start: int
    end: int
    body: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """A document that questions are made from; `is_named` means its title is no other's."""

    id: str
    title: str
    text: str
    language: Language
    is_named: bool = True

    def span(self, start: int, end: int) -> GoldSpan:
        """Return characters of this document as a gold span, without white space around them."""
        said = self.text[start:end]
        start += len(said) - len(said.lstrip())
        return GoldSpan(document_id=self.id, start=start, end=start + len(said.strip()))

    def qualified(self, question: str) -> str:
        """Return the question with the document's name before it; empty where it has none."""
        if not self.is_named:
            return ""
        if self.language == "zh":
            return f"根据{self.cited}，{question}"
        opens = question[:1].lower() if question[1:2].islower() else question[:1]
        return f"According to {self.cited}, {opens}{question[1:]}"

    @property
    def cited(self) -> str:
        """The title in the quotation marks of its language."""
        plain = self.language == "en" or "《" in self.title
        return f"“{self.title}”" if plain else f"《{self.title}》"


def bare_title(title: str) -> str:
    """Return a heading or title without Markdown and numbering."""
    plain = strip_markdown(title)
    return _NUMBERING.sub("", plain, count=1).strip() or plain


def sections_of(text: str) -> list[Section]:
    """Return the headings of a text in order with the spans of their own bodies."""
    found: list[tuple[str, int, int, int]] = []
    place, fenced = 0, False
    for line in text.splitlines(keepends=True):
        if FENCE.match(line):
            fenced = not fenced
        match = _HEADING.match(line)
        if match is not None and not fenced:
            found.append((bare_title(match[2]), len(match[1]), place, place + len(line)))
        place += len(line)
    ends = [*(start for _, _, start, _ in found[1:]), len(text)][: len(found)]
    return [
        Section(heading=heading, level=level, start=start, end=end, body=(end, stop))
        for (heading, level, start, end), stop in zip(found, ends, strict=True)
    ]


def structure_questions(document: SourceDocument) -> Iterator[GoldQuestion]:
    """Yield the questions that the structure of a document answers, in its order."""
    sections = sections_of(document.text)
    yield from _overview(document, sections)
    for section in sections:
        yield from _of_heading(document, section)
        yield from _lists(document, section)
    yield from _tables(document)
    yield from _fields(document)


def _overview(document: SourceDocument, sections: Sequence[Section]) -> Iterator[GoldQuestion]:
    levels = Counter(one.level for one in sections if one.heading != document.title)
    level = min((n for n, count in levels.items() if count >= TOPICS.start), default=0)
    topics = [s for s in sections if s.level == level and not GENERIC_TITLE.match(s.heading)]
    dated = any(_DATED.match(one.heading) or len(one.heading) < 2 for one in topics)
    above = any(one.level < level and one.heading != document.title for one in sections)
    foreign = any(has_han(one.heading) != (document.language == "zh") for one in topics)
    if len(topics) not in TOPICS or dated or above or foreign or not document.is_named:
        return
    text = f"What are the main topics of {document.cited}?"
    if document.language == "zh":
        text = f"{document.cited}主要讲了哪些内容？"
    yield gold_question(
        text,
        kind="overview",
        language=document.language,
        spans=[document.span(one.start, one.end) for one in topics],
        points=[one.heading for one in topics],
        hops=len(topics),
        made="headings of a document",
    )


def _paragraph(document: SourceDocument, section: Section) -> tuple[int, int] | None:
    """Return the first paragraph of prose under a heading."""
    start, end = section.body
    for match in re.finditer(r"\S.*?(?=\n[ \t]*\n|\Z)", document.text[start:end], re.DOTALL):
        said = match.group()
        if said.lstrip().startswith(("|", "-", "*", "```", "<", ">", "1.")):
            return None
        if len(said) > MAX_PARAGRAPH_CHARACTERS:
            return None
        letters = len(said) * (3 if has_han(said) else 1)
        plain = said.rstrip().endswith((".", "。", "!", "！", "”", '"', "*"))
        return (
            (start + match.start(), start + match.end())
            if letters > _LEAST_ANSWER and plain
            else None
        )
    return None


def _of_heading(document: SourceDocument, section: Section) -> Iterator[GoldQuestion]:
    span = _paragraph(document, section)
    heading = section.heading
    if span is None or heading == document.title or GENERIC_TITLE.match(heading):
        return
    said = document.text[slice(*span)]
    sentences = [strip_markdown(said[start:end]) for start, end in sentence_spans(said)]
    if (
        _LEANS.search(sentences[0])
        or any(map(_ANNOUNCES.search, sentences))
        or (len(sentences) == 1 and section.body[1] - section.body[0] > 3 * len(said))
    ):
        return
    text, kind = heading_question(document, heading)
    whole = kind == "section"
    if whole and not _is_about(heading, sentences):
        return
    if text:
        yield gold_question(
            text,
            kind=kind,
            language=document.language,
            spans=[document.span(*span)],
            answers=[] if whole else [_first_answer(sentences, document.language)],
            points=sentences if whole else [],
            made="heading and its first paragraph",
        )


def _is_about(heading: str, sentences: Sequence[str]) -> bool:
    """Check that few sentences follow, half of a heading's words in them and one in the first."""
    words, said = set(tokens(heading)), set(tokens(" ".join(sentences)))
    same = has_han(heading) == has_han(sentences[0])
    held = words & set(tokens(sentences[0])) and 2 * len(words & said) >= len(words)
    return len(sentences) <= MAX_POINTS and same and bool(held)


def _first_answer(sentences: Sequence[str], language: Language) -> str:
    """Return the first sentences of an answer that are long enough to be one."""
    least = _LEAST_ANSWER // 2 if language == "zh" else _LEAST_ANSWER
    value = ""
    for one in sentences:
        value += one if language == "zh" or not value else f" {one}"
        if len(value) >= least:
            break
    return value


_LEANS = re.compile(
    r"^(?:this|these|those|it|they|but|however|finally|also"
    r"|the (?:following|last|next|answer)|let us|here (?:is|are))\b"
    r"|^(?:本[节章文页]|[这那它他她但而]|然而|不过|因此|此外|另外|下面)",
    re.IGNORECASE,
)
"""A first sentence that leans on what stands before, or opens no answer."""
_ANNOUNCES = re.compile(r"[:：]$|\b(?:below|following)\b|如下|以下", re.IGNORECASE)
_ASKING = re.compile(
    r"(?:what|who|whom|whose|which|when|where|why|how|is|are|was|were|do|does|did|can|could|will"
    r"|would|should|may|must|has|have)\b",
    re.IGNORECASE,
)
_LEANING = re.compile(
    r"\b(?:its?|they|them|this|that|these|those|you|your|we|our)\b|[它这那该您你]", re.IGNORECASE
)
_NO_TOPIC = re.compile(r"[:：;|<>{}=()（）]|^(?:On|For|More|What) |\d{4}")
_HOW_TO = re.compile(r"^How (?:to|do (?:I|you)) (?P<rest>[a-z].+?)\??$")


def heading_question(document: SourceDocument, heading: str) -> tuple[str, str]:
    """Return a question that a heading asks, and its kind; empty where it asks nothing."""
    chinese = document.language == "zh"
    if has_han(heading) != chinese or len(heading) > 70:
        return "", ""
    size = len(heading) if chinese else len(heading.split())
    if heading.endswith(("?", "？")):
        if size < (5 if chinese else 3):
            return "", ""
        if not chinese and not _ASKING.match(heading):
            return "", ""
        named = re.search(r"[A-Z《]" if chinese else r"(?<=\s)[A-Z][\w-]+", heading) is not None
        if not named or _LEANING.search(heading):
            return document.qualified(heading), "faq"
        return heading, "faq"
    if (match := _HOW_TO.match(heading)) is not None:
        return document.qualified(f"How do you {match['rest']}?"), "how to"
    if chinese and heading.startswith(("如何", "怎样", "怎么")):
        return document.qualified(f"{heading}？"), "how to"
    if not document.is_named or size < (4 if chinese else 2) or size > (20 if chinese else 9):
        return "", ""
    if re.search(r"[:：;|<>{}=()（）]|^(?:On|For|More|What) |\d{4}", heading) or _DATED.match(
        heading
    ):
        return "", ""
    if chinese:
        return f"关于“{heading}”，{document.cited}是怎么说的？", "section"
    return f"What does {document.cited} say about “{heading}”?", "section"


def _lists(document: SourceDocument, section: Section) -> Iterator[GoldQuestion]:
    """Yield a question for a section whose body is a lead and one flat list."""
    start, end = section.body
    items: list[tuple[int, int, str]] = []
    place, interrupted = start, False
    for line in document.text[start:end].splitlines(keepends=True):
        if (match := _ITEM.match(line)) is not None:
            if interrupted:
                return
            items.append((place, place + len(line.rstrip()), match[1]))
        interrupted |= bool(items and match is None and re.match(r"\S", line))
        place += len(line)
    points = [point_of(said) for _, _, said in items]
    if any(len(said) > MAX_ITEM_CHARACTERS for _, _, said in items):
        return
    if any(_NAVIGATION.match(one) for one in points):
        return
    foreign = any(has_han(one) != (document.language == "zh") for one in points)
    foreign |= any(len(one) < LEAST_POINT and not has_han(one) for one in points)
    if len(items) not in LIST_ITEMS or not all(points) or foreign or not document.is_named:
        return
    if GENERIC_TITLE.match(section.heading) or "?" in section.heading or "？" in section.heading:
        return
    if has_han(section.heading) != (document.language == "zh"):
        return
    span = document.span(items[0][0], items[-1][1])
    if span.end - span.start > 2 * MAX_PARAGRAPH_CHARACTERS:
        return
    same = section.heading.casefold() == document.title.casefold()
    if document.language == "zh":
        text = (
            f"{document.cited}列出了哪几项？"
            if same
            else f"{document.cited}在“{section.heading}”下列出了哪几项？"
        )
    else:
        text = f"Which items does {document.cited} list"
        text += "?" if same else f" under “{section.heading}”?"
    yield gold_question(
        text,
        kind="list",
        language=document.language,
        spans=[span],
        points=points,
        made="items of a list",
    )


def point_of(item: str) -> str:
    """Return the short form of a list's item: its label, or its first sentence."""
    bold = re.match(r"\*\*(.+?)\*\*", item)
    item = re.sub(r"\s*[(（][^)）]*[)）]", "", strip_markdown(bold[1] if bold else item))
    label = re.split(r"[:：;；。(（]|\. | – | — ", item, maxsplit=1)[0].strip().rstrip(".,，")
    return label if 2 <= len(label) <= MAX_VALUE_CHARACTERS else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row of a table under a heading row, with its span."""

    head: tuple[str, ...]
    cells: tuple[str, ...]
    start: int
    end: int

    def named(self, language: Language) -> str:
        """Return the row's own name; of a bare number with its column, as *node 4*."""
        head, cell = self.head[0], strip_markdown(self.cells[0])
        if re.fullmatch(r"[\d.]+", cell):
            return f"{lowered(head)} {cell}" if language == "en" else f"{head}{cell}"
        return cell


def lowered(head: str) -> str:
    """Return a column's heading as it stands inside a sentence."""
    return head[:1].lower() + head[1:] if re.fullmatch(r"[A-Z]?[a-z][a-z ]*", head) else head


def tables_of(text: str) -> Iterator[list[TableRow]]:
    """Yield the tables of a text that have a heading row, as their rows."""
    lines: list[tuple[int, str]] = []
    place = 0
    for line in [*text.splitlines(keepends=True), ""]:
        if line.strip().startswith("|") and line.strip().endswith("|"):
            lines.append((place, line))
        else:
            if len(lines) > 3 and _RULE.match(lines[1][1]):
                head = tuple(strip_markdown(cell) for cell in table_cells(lines[0][1]))
                rows = [
                    TableRow(
                        head=head,
                        cells=table_cells(row),
                        start=at,
                        end=at + len(row.rstrip()),
                    )
                    for at, row in lines[2:]
                ]
                if all(len(row.cells) == len(head) for row in rows):
                    yield rows
            lines = []
        place += len(line)


def _tables(document: SourceDocument) -> Iterator[GoldQuestion]:
    if not document.is_named:
        return
    tables = list(tables_of(document.text))
    names = Counter(row.named(document.language) for rows in tables for row in rows)
    for rows in tables:
        single = [row for row in rows if names[row.named(document.language)] == 1]
        for row in single:
            yield from _cells(document, row)
        yield from _compared(document, single)


def _cells(document: SourceDocument, row: TableRow) -> Iterator[GoldQuestion]:
    name = row.named(document.language)
    if not 1 < len(name) <= 40 or re.search(r"https?:|[<>{}?？]|[:：]$", name):
        return
    for head, cell in list(zip(row.head, row.cells, strict=True))[1:]:
        value = strip_markdown(cell)
        usable = head and 2 <= len(value) <= MAX_VALUE_CHARACTERS and len(head) <= 30
        if not usable or _NO_COLUMN.match(head) or value.casefold() in ("none", "unknown", "n/a"):
            continue
        if document.language == "zh":
            asked = f"{name}的{head}是什么？"
        else:
            plain = name if name.startswith(lowered(row.head[0])) else _in_quotes(name)
            noun = re.fullmatch(
                r"(?!Wh)(?!.*(?:ed|uilt|Held|Sold|Made)$)[A-Za-z][a-z]*[a-rt-z]", head
            )
            asked = f"What is given under “{head}” for {plain}?"
            asked = f"What is the {lowered(head)} of {plain}?" if noun else asked
        yield gold_question(
            document.qualified(asked),
            kind="table",
            language=document.language,
            spans=[document.span(row.start, row.end)],
            answers=[value],
            made="cell of a table",
        )


def _in_quotes(name: str) -> str:
    return f"“{name}”" if len(name.split()) > 3 or (name[:1].islower() and " " in name) else name


def _compared(document: SourceDocument, rows: Sequence[TableRow]) -> Iterator[GoldQuestion]:
    """Yield a comparison of two neighbouring rows by each column of measures in one unit."""
    for column in range(1, len(rows[0].head) if rows else 0):
        head = rows[0].head[column]
        if not head or _ORDER_COLUMN.search(head) or _NO_COLUMN.match(head):
            continue
        measured = [(row, _NUMERIC.match(strip_markdown(row.cells[column]))) for row in rows]
        for (one, first), (other, second) in pairwise(measured):
            if first is None or second is None or first[2] != second[2]:
                continue
            low, high = float(first[1].replace(",", "")), float(second[1].replace(",", ""))
            names = one.named(document.language), other.named(document.language)
            years = not first[2] and all(1000 <= value <= 2100 for value in (low, high))
            if low == high or years or any(_TOTAL.search(name) for name in names):
                continue
            if document.language == "zh":
                asked = f"{names[0]}和{names[1]}相比，哪个的{head}更大？"
            else:
                asked = f"Which has the higher figure for “{head}”, {names[0]} or {names[1]}?"
            yield gold_question(
                document.qualified(asked),
                kind="comparison",
                language=document.language,
                spans=[document.span(row.start, row.end) for row in (one, other)],
                answers=[names[0] if low > high else names[1]],
                made="two rows of a table",
            )


def _fields(document: SourceDocument) -> Iterator[GoldQuestion]:
    """Yield a question for each labelled line whose label stands once in the document.

    A label is bold, or stands with others at the document's beginning, before any prose.
    """
    found: list[tuple[str, str, int, int]] = []
    place, opening = 0, True
    for line in document.text.splitlines(keepends=True):
        match = _FIELD.match(line)
        if match is not None and not _NO_KEY.match(match["key"]):
            value = strip_markdown(match["value"].removesuffix("**"))
            if "**" in line or opening:
                found.append((match["key"].strip(), value, place, place + len(line.rstrip())))
        opening &= match is not None or not line.strip() or line.startswith("#")
        place += len(line)
    counts = Counter(key for key, *_ in found)
    for key, value, start, end in found if len(found) > 1 else ():
        short = 2 <= len(value) <= MAX_VALUE_CHARACTERS and not re.search(_NO_FIELD, value)
        if value.count("(") != value.count(")") or key[-1:].isdigit():
            continue
        if counts[key] > 1 or not short or not document.is_named or len(key.split()) > 4:
            continue
        if has_han(key) != (document.language == "zh"):
            continue
        asked = f"What does {document.cited} give as “{key}”?"
        yield gold_question(
            f"{document.cited}中的“{key}”是什么？" if document.language == "zh" else asked,
            kind="field",
            language=document.language,
            spans=[document.span(start, end)],
            answers=[value],
            made="labelled line",
        )


_NO_FIELD = r"https?:|^[\"“‘]|[?？.。;；,]$|\.\.\."
