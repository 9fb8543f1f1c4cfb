"""Text for people: sentences without Markdown, and answers as plain text or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .prompts import Language, language_of

if TYPE_CHECKING:
    from .types import Answer, Citation, Passage

_LINK = re.compile(r"!?\[([^\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_STRESS = re.compile(r"(\*{1,3}|_{2,3}|`)(?=\S)(.+?)(?<=\S)\1")
_TABLE_ROW = re.compile(r"\s*\|(?:[^|\n]+\|){2,}\s*$")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)+")
_MARK = re.compile(r"[\[【［](\s*\d+(?:\s*[,，、–-]\s*\d+)*\s*)[\]】］]")
HEADINGS: dict[Language, str] = {"en": "Nearest in the library:", "zh": "资料库中最接近的内容："}


def strip_markdown(text: str, *, columns: Sequence[str] = ()) -> str:
    """Return a sentence on one line without Markdown; its own `[3]` becomes `(3)`.

    The cells of a table's row stand with dots between them, each behind the heading of its column
    where `columns` has one for each.
    """
    if _TABLE_ROW.match(text):
        cells = table_cells(text)
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


def without_marks(text: str) -> str:
    """Return a text with its own `[3]` as `(3)`, which is no citation; code stays as it is.

    A link to another file of the collection, which leads nowhere from an answer, is its words.
    """
    return outside_code(text, lambda part: _MARK.sub(r"(\1)", _TO_A_FILE.sub(r"\1", part)))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change what stands outside of the fenced code blocks of a text."""
    parts: list[str] = []
    last = 0
    for code in _CODE.finditer(text):
        parts += [change(text[last : code.start()]), code.group()]
        last = code.end()
    return "".join([*parts, change(text[last:])])


_TO_A_FILE = re.compile(
    r"(?<![\w!\]])\[([^\[\]\n]{1,200})\]\((?![a-zA-Z][\w+.-]{0,20}:)[^()\s]{0,200}[./#][^()\s]{0,200}\)"
)
_CODE = re.compile(
    r"^[ \t]*(?:(?:[-*+•]|\d{1,3}[.)、])[ \t]+)?(`{3,})(?![^\n]*`).*?(?:^[ \t]*\1`*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)


def table_cells(text: str) -> tuple[str, ...]:
    """Return the cells of a row of a Markdown table."""
    return tuple(cell.strip() for cell in text.strip().strip("|").split("|"))


def nearest_lines(answer: Answer) -> list[str]:
    """Render the nearest passages below their heading, a line each."""
    if not answer.nearest:
        return []
    lines = [HEADINGS[language_of(answer.question)]]
    for each in answer.nearest:
        page = f", p. {each.page}" if each.page else ""
        text = " ".join(strip_markdown(each.text).split())
        place = f"{each.document_id}{page}:{each.start}-{each.end}"
        lines.append(f"- {each.name} ({place}): “{text}”")
    return lines


def place_of(source: Citation | Passage) -> str:
    """Return where a source stands: its document, page and characters."""
    page = f", p. {source.page}" if source.page else ""
    outside = "" if source.origin == "library" else f"{source.origin}: "
    return f"{outside}{source.document_id}{page}:{source.start}-{source.end}"


def source_lines(citations: Sequence[Citation]) -> list[str]:
    """Return one line a citation: its number, title and place."""
    return [f"[{each.number}] {each.title} ({place_of(each)})" for each in citations]


def answer_text(answer: Answer) -> str:
    """Return the short answer where there is one, the answer, what is nearest, and the sources."""
    lines = [answer.short.text] if answer.short and answer.short.is_confident else []
    lines.append(answer.text)
    if answer.nearest:
        lines += ["", *nearest_lines(answer)]
    if answer.citations:
        lines += ["", "Sources", *(f"  {line}" for line in source_lines(answer.citations))]
    return "\n".join(lines)


def answer_markdown(answer: Answer) -> str:
    """Return an answer as Markdown in which no HTML of a document is any."""
    parts = (
        [f"**{_plain(answer.short.text)}**"] if answer.short and answer.short.is_confident else []
    )
    parts.append(_plain(answer.text))
    if answer.nearest:
        heading, *nearest = nearest_lines(answer)
        parts.append("\n".join([_plain(heading), "", *map(_plain, nearest)]))
    if answer.citations:
        sources = "\n".join(f"- {_plain(line)}" for line in source_lines(answer.citations))
        parts.append(f"**Sources**\n\n{sources}")
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """Escape HTML outside of code blocks, in which none is read."""
    lines, in_code = [], False
    for line in text.split("\n"):
        in_code ^= line.lstrip().startswith("```")
        lines.append(line if in_code else line.replace("&", "&amp;").replace("<", "&lt;"))
    return "\n".join(lines)
