"""reStructuredText lines to Markdown blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..structured.records import table_or_records
from .notebook import fenced

_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}$")
_DIRECTIVE = re.compile(r"([ \t]*)\.\.[ \t]+(?:\|[^|]+\|[ \t]+)?([\w:.+-]+)::(?:[ \t]+(.*))?$")
_COMMENT = re.compile(r"\.\.(?:[ \t]|$)")
_NOTE = re.compile(r"\.\.[ \t]+\[([^\]]+)\][ \t]+(\S.*)$")
_OPTION = re.compile(r"[ \t]*:[\w -]+:(?:[ \t].*)?$")
_FIELD = re.compile(r":([\w -]+):[ \t]+(\S.*)$")
_GRID = re.compile(r"[ \t]*\+(?:[-=]+\+)+$")
_SIMPLE = re.compile(r"[ \t]*={2,}(?:[ \t]+={2,})+$")
_ROLE = re.compile(r":(?=[\w:.+-])(?:[\w.+-]|:(?!`))*+(?::`([^`<]*+)(?:<([^`>]*+)>)?`)?")
_LINK = re.compile(r"`([^`<]++)<([^`>]++)>`__?")
_NAMED = re.compile(r"`([^`]+)`__?(?!\w)|(?<!\w)(\w+)_(?!\w)")
_LITERAL = re.compile(r"``(.+?)``")
_CODE = ("code", "code-block", "sourcecode", "literalinclude", "parsed-literal", "math", "doctest")
_SILENT = ("image", "figure", "include", "toctree", "contents", "index", "raw", "meta", "highlight")
_NOTICES = (
    *("note", "warning", "tip", "important", "caution", "danger", "hint", "attention", "error"),
    *("seealso", "deprecated", "todo"),
)
_DEEPEST = 20
_TABLES = ("csv-table", "list-table")


def restructured_blocks(lines: Sequence[str], *, depth: int = 0) -> Iterator[str]:
    """Return blocks in order. Heading levels follow the order of their marks.

    Nested directives up to 20 deep.
    """
    levels: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        heading = _heading(lines, at)
        directive = _DIRECTIVE.fullmatch(line)
        if not line.strip():
            at += 1
        elif heading is not None:
            mark, said, at = heading
            if mark not in levels:
                levels.append(mark)
            yield f"{'#' * min(6, levels.index(mark) + 1)} {_inline(said)}"
        elif _GRID.fullmatch(line) or _SIMPLE.fullmatch(line):
            blocks, at = _table(lines, at)
            yield from blocks
        elif directive:
            body, at = _indented(lines, at + 1, len(directive[1]))
            yield from _directed(directive[2], directive[3] or "", body, depth=depth)
        elif _COMMENT.match(line):
            note = _NOTE.fullmatch(line)
            body, at = _indented(lines, at + 1, 0)
            if note:
                yield " ".join(["[" + note[1] + "]", _inline(note[2]), *map(_inline, body)]).strip()
        else:
            text, at = _paragraph(lines, at)
            yield text.removesuffix("::") + (":" if text.endswith("::") else "")
            if text.endswith("::"):
                body, at = _indented(lines, at, len(line) - len(line.lstrip()))
                yield fenced("\n".join(body)) if body else ""


def _heading(lines: Sequence[str], at: int) -> tuple[str, str, int] | None:
    """Match an underlined or overlined heading: mark, text and next line."""
    first, second, third = (lines[at + step] if at + step < len(lines) else "" for step in range(3))
    over = _UNDERLINE.fullmatch(first)
    if over and second.strip() and first == third:
        return over[1] * 2, second.strip(), at + 3
    under = _UNDERLINE.fullmatch(second)
    if under and first.strip() and not over and first[:1] not in (" ", "\t"):
        wide = sum(2 if character > "\u2e7f" else 1 for character in first)
        if len(second) >= min(wide, 4) and not _GRID.fullmatch(first):
            return under[1], first.strip(), at + 2
    return None


def _indented(lines: Sequence[str], at: int, indent: int) -> tuple[list[str], int]:
    """Return more indented lines, dedented and trimmed."""
    stop = at
    while stop < len(lines):
        line = lines[stop]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        stop += 1
    body = list(lines[at:stop])
    edge = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    return "\n".join(line[edge:] for line in body).strip("\n").split("\n") if edge else [], stop


def _directed(name: str, argument: str, body: list[str], *, depth: int) -> Iterator[str]:
    options = 0
    while options < len(body) and _OPTION.fullmatch(body[options]):
        options += 1
    while options < len(body) and not body[options].strip():
        options += 1
    content = body[options:]
    if name in _CODE:
        language = "math" if name == "math" else argument.strip()
        listing = "\n".join(content) or argument
        yield f"$$\n{listing}\n$$" if name == "math" else fenced(listing, language=language)
    elif name in _TABLES:
        yield _inline(argument)
        yield from _list_table(content) if name == "list-table" else _comma_table(body)
    elif name in _SILENT:
        yield from (
            restructured_blocks(content, depth=depth + 1)
            if name == "figure" and depth < _DEEPEST
            else ()
        )
    elif depth >= _DEEPEST:
        yield "\n".join(filter(None, [argument, *content]))
    elif name in _NOTICES:
        said = restructured_blocks([argument, *content], depth=depth + 1)
        first = next(filter(None, said), "")
        yield f"**{name.capitalize()}:** {first}"
        yield from said
    else:
        yield f"**{_inline(argument)}**" if argument.strip() else ""
        yield from restructured_blocks(content, depth=depth + 1)


def _comma_table(body: list[str]) -> list[str]:
    import csv

    header = [line.split(":", 2)[2].strip() for line in body if line.startswith(":header:")]
    data = [line for line in body if line.strip() and not _OPTION.fullmatch(line)]
    try:
        rows = [
            list(map(_inline, row)) for row in csv.reader([*header, *data], skipinitialspace=True)
        ]
    except csv.Error:
        return ["\n".join(data)]
    return list(table_or_records(rows[0], rows[1:])) if rows else []


def _list_table(content: list[str]) -> list[str]:
    rows: list[list[list[str]]] = []
    for line in content:
        item = line.strip()
        if item.startswith("* -"):
            rows.append([[item[3:]]])
        elif item.startswith("-") and rows:
            rows[-1].append([item[1:]])
        elif item and rows:
            rows[-1][-1].append(item)
    return _written(rows)


def _written(rows: list[list[list[str]]]) -> list[str]:
    """Rows of cells that are given by their lines."""
    said = [
        [" ".join(filter(None, (_inline(line).strip() for line in cell))) for cell in row]
        for row in rows
    ]
    return list(table_or_records(said[0], said[1:])) if said else []


def _table(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """Parse a grid or simple table with its header."""
    stop = at
    simple = bool(_SIMPLE.fullmatch(lines[at]))
    rules = 0
    while stop < len(lines):
        is_rule = bool(_SIMPLE.fullmatch(lines[stop]))
        rules += is_rule
        stop += 1
        following = lines[stop].strip() if stop < len(lines) else ""
        if not following and (not simple or (is_rule and rules > 1)):
            break
    content = lines[at:stop]
    return _written(_simple_rows(content) if simple else _grid_rows(content)), stop


def _grid_rows(lines: Sequence[str]) -> list[list[list[str]]]:
    rows: list[list[list[str]]] = []
    fresh = True
    for line in lines:
        if _GRID.fullmatch(line):
            fresh = True
            continue
        if fresh or not rows:
            rows.append([])
        _go_on(rows[-1], line.strip().strip("|").split("|"))
        fresh = False
    return rows


def _simple_rows(lines: Sequence[str]) -> list[list[list[str]]]:
    edges = [found.span() for found in re.finditer("=+", lines[0])]
    ends = [*(start for start, _ in edges[1:]), None]
    rows: list[list[list[str]]] = []
    for line in lines:
        if not line.strip() or re.fullmatch(r"[ \t=-]+", line):
            continue
        cells = [line[start:end] for (start, _), end in zip(edges, ends, strict=True)]
        if cells[0].strip() or not rows:
            rows.append([])
        _go_on(rows[-1], cells)
    return rows


def _go_on(row: list[list[str]], cells: Sequence[str]) -> None:
    """Add a further line to each cell; a ragged one opens cells of its own."""
    row += [[] for _ in range(len(cells) - len(row))]
    for cell, line in zip(row, cells, strict=False):
        cell.append(line)


def _paragraph(lines: Sequence[str], at: int) -> tuple[str, int]:
    stop = at + 1
    while stop < len(lines) and lines[stop].strip() and _heading(lines, stop) is None:
        stop += 1
    said: list[str] = []
    for line in lines[at:stop]:
        field = _FIELD.fullmatch(line)
        said.append(
            f"{field[1]}: {_inline(field[2])}" if field else _inline(line.removeprefix("| "))
        )
    return "\n".join(said), stop


def _inline(text: str) -> str:
    pieces = _LITERAL.split(text)  # every second one is a literal
    pieces[::2] = map(_unlinked, pieces[::2])
    pieces[1::2] = (f"`{literal}`" for literal in pieces[1::2])
    return "".join(pieces).rstrip()


def _unlinked(text: str) -> str:
    text = _ROLE.sub(_said, text)
    text = _LINK.sub(lambda found: f"{found[1].rstrip()} ({found[2]})", text)
    return _NAMED.sub(lambda found: found[1] or found[2], text)


def _said(role: re.Match[str]) -> str:
    """What a role marks; a run of colons and words that marks nothing stays as it is."""
    if role[1] is None:
        return role[0]
    return role[1].rstrip() or role[2] or ""
