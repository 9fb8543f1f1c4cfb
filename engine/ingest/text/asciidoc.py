"""AsciiDoc's lines to blocks of Markdown. Pure; knows lines without their ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..structured.records import table_or_records
from .notebook import fenced

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)$")
_ATTRIBUTE = re.compile(r":!?[\w-]+!?:(?:[ \t].*)?$")
_ITEM = re.compile(r"[ \t]*(\*{1,5}|-|\.{1,5}|\d+\.)[ \t]+(\S.*)$")
_DEFINED = re.compile(r"(\S.*?)::(?:[ \t]+(\S.*))?$")
_OPTIONS = re.compile(r"\[([^\]]*)\]$")
_ANCHOR = re.compile(r"\[\[[^\]]*\]\]$")
_CAPTION = re.compile(r"\.([^\s.].*)$")
_FENCE = re.compile(r"(-{4,}|\.{4,}|`{3,}|={4,}|\*{4,}|_{4,}+|\+{4,}|/{4,}|--)(\w*)$")
_VERBATIM = ("-", ".", "`", "+")
_TABLE = re.compile(r"[|,:!]={3,}$")
_MACRO = re.compile(
    r"(?:image|video|audio|include|toc|ifdef|ifndef|endif|ifeval)::[^\s\[]*\[(.*)\]$"
)
_LINK = re.compile(
    r"\b(?:link:)?((?:https?|ftp|mailto):[^\s\[\]]++|link:[^\s\[\]]++)(?:\[([^\]]*+)\])?"
)
_REFERENCE = re.compile(r"<<(?:[^,<>]|<(?!<))*+(?:,((?:[^<>]|<(?!<))*+))?>>")
_CROSS_REFERENCE = re.compile(r"xref:[^\s\[]*+(?:\[([^\]]*+)\])?")
_INLINE_ANCHOR = re.compile(r"\[\[(?:[^\[\]]|\[(?!\[))*+\]\]|\(\(\((?:[^()]|\((?!\(\())*+\)\)\)")
_FOOTNOTE = re.compile(r"footnote:\w*+\[([^\]]*+)\]")
_CELL = re.compile(
    r"(?:(?:(?<=\s)|^)(?:\d+(?:\.\d+)?[*+]|\.\d+\+)?[<^>]?(?:\.[<^>])?[adehlmsv]?)?(?<!\\)\|"
)
_COLUMNS = re.compile(r"cols=\"?([^\"\]]*)\"?")


def asciidoc_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Return the blocks in order."""
    at = 0
    options, paragraph = "", list[str]()
    while at < len(lines):
        line = lines[at]
        at += 1
        kind = _FENCE.fullmatch(line)
        alone = bool(kind or _TABLE.fullmatch(line) or _begins(line))
        if paragraph and (alone or not line.strip()):
            yield "\n".join(paragraph)
            paragraph = []
        if kind and kind[1][0] in _VERBATIM and kind[1] != "--":
            content, at = _until(lines, at, kind[1])
            yield fenced("\n".join(content), language=kind[2] or _language(options))
        elif kind and kind[1][0] == "/":
            _, at = _until(lines, at, kind[1])
        elif _TABLE.fullmatch(line):
            content, at = _until(lines, at, line)
            yield from _table(content, separator=line[0], options=options)
        elif line.startswith("|") and line.count("|") > 1:
            content, at = _pipes(lines, at - 1)
            yield from _table(content, separator="|", options=options)
        elif alone and not kind:
            yield _line_block(line)
        elif not kind and line.strip() and not _is_silent(line):
            paragraph.append(_inline(line.removesuffix(" +")))
        options = line if _OPTIONS.fullmatch(line) else "" if line.strip() else options
    if paragraph:
        yield "\n".join(paragraph)


def _begins(line: str) -> bool:
    """Check whether the line starts a block of its own."""
    patterns = (_HEADING, _ITEM, _DEFINED, _CAPTION, _MACRO)
    return any(pattern.fullmatch(line) for pattern in patterns)


def _is_silent(line: str) -> bool:
    return bool(
        _ATTRIBUTE.fullmatch(line)
        or _OPTIONS.fullmatch(line)
        or _ANCHOR.fullmatch(line)
        or (line.startswith("//") and not line.startswith("///"))
        or line in ("+", "'''", "<<<", "--")
    )


def _line_block(line: str) -> str:
    heading = _HEADING.fullmatch(line)
    if heading:
        return f"{'#' * len(heading[1])} {_inline(_without_closing(heading[2], heading[1]))}"
    macro = _MACRO.fullmatch(line)
    if macro:
        return _inline(macro[1].split(",")[0].strip('"')) if line.startswith("image") else ""
    item = _ITEM.fullmatch(line)
    if item and not _CAPTION.fullmatch(line):
        depth = len(item[1]) - 1 if item[1][0] in "*." else 0
        mark = "-" if item[1][0] in "*-" else "1."
        return f"{'    ' * depth}{mark} {_inline(item[2])}"
    defined = _DEFINED.fullmatch(line)
    if defined:
        return f"**{_inline(defined[1])}**{f': {_inline(defined[2])}' if defined[2] else ''}"
    return _inline(line.removeprefix("."))


def _without_closing(text: str, mark: str) -> str:
    """A heading's text without the mark that may close it."""
    rest = text.removesuffix(mark)
    return rest.rstrip(" \t") if rest != text and rest[-1:] in (" ", "\t") else text


def _inline(text: str) -> str:
    """The text without the marks of links, references and notes.

    Marks that never close stay, and
    none is looked for past the last bracket, so that it is not looked for again from each.
    """
    end = text.rfind("]") + 1
    closed, rest = text[:end], text[end:]
    closed = _LINK.sub(_linked, closed)
    closed = _CROSS_REFERENCE.sub(lambda found: found[0] if found[1] is None else found[1], closed)
    closed = _FOOTNOTE.sub(r" (\1)", closed)
    text = _REFERENCE.sub(lambda found: found[1] or "", closed + rest)
    return _INLINE_ANCHOR.sub("", text).strip()


def _linked(found: re.Match[str]) -> str:
    if found[2] is None:
        return found[0]
    return f"{found[2]} ({found[1]})" if found[2] else found[1]


def _language(options: str) -> str:
    parts = options.strip("[]").split(",")
    return parts[1].strip() if len(parts) > 1 and parts[0].startswith("source") else ""


def _until(lines: Sequence[str], at: int, end: str) -> tuple[list[str], int]:
    """Return lines before `end` (all without one) and the next position."""
    stop = at
    while stop < len(lines) and lines[stop] != end:
        stop += 1
    return list(lines[at:stop]), stop + 1


def _pipes(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    stop = at
    while stop < len(lines) and lines[stop].startswith("|"):
        stop += 1
    return [line.removesuffix("|") for line in lines[at:stop]], stop


def _table(lines: Sequence[str], *, separator: str, options: str) -> list[str]:
    before: list[str] = []
    if separator in ",:":
        rows = [[_inline(cell) for cell in line.split(separator)] for line in lines if line]
    else:
        before, rows = _cells(lines, width=_width(options))
    text = "\n".join(filter(None, map(_inline, before)))
    return [text, *(table_or_records(rows[0], rows[1:]) if rows else ())]


def _width(options: str) -> int:
    """Return the declared number of columns; 0 if undeclared."""
    found = _COLUMNS.search(options)
    if found is None:
        return 0
    repeated = re.match(r"(\d{1,2})\*", found[1])
    return int(repeated[1]) if repeated else len(re.split("[,;]", found[1]))


def _cells(lines: Sequence[str], *, width: int) -> tuple[list[str], list[list[str]]]:
    """What stands before the first cell, and the rows. Cells of one row may stand on lines of
    their own: the first line, or `cols`, says how many there are."""
    before: list[str] = []
    cells: list[list[str]] = []
    for line in lines:
        found = list(_CELL.finditer(line))
        starts = [each.start() for each in found] + [len(line)]
        (cells[-1] if cells else before).append(line[: starts[0]])
        cells += [[line[each.end() : end]] for each, end in zip(found, starts[1:], strict=True)]
        width = width or len(found)
    width = max(1, width)
    said = [_inline(" ".join(" ".join(cell).split())) for cell in cells]
    return before, [said[start : start + width] for start in range(0, len(said), width)]
