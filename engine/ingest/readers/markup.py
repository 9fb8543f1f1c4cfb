"""AsciiDoc and reStructuredText as Markdown: headings, lists, tables, code.

Line by line and without running anything: files that are taken in and values that are computed
are not followed.

reStructuredText lines to Markdown blocks. Pure.

AsciiDoc's lines to blocks of Markdown. Pure; knows lines without their ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..document import Content, ReadOptions, one_line, sanitise_text
from .markdown_writer import join_paragraphs, table_or_records
from .text import decode_bytes, fence_code, front_matter_values, markdown_title

_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}$")
_DIRECTIVE = re.compile(r"([ \t]*)\.\.[ \t]+(?:\|[^|]+\|[ \t]+)?([\w:.+-]+)::(?:[ \t]+(.*))?$")
_COMMENT = re.compile(r"\.\.(?:[ \t]|$)")
_NOTE = re.compile(r"\.\.[ \t]+\[([^\]]+)\][ \t]+(\S.*)$")
_OPTION = re.compile(r"[ \t]*:[\w -]+:(?:[ \t].*)?$")
_FIELD = re.compile(r":([\w -]+):[ \t]+(\S.*)$")
_GRID = re.compile(r"[ \t]*\+(?:[-=]+\+)+$")
_SIMPLE = re.compile(r"[ \t]*={2,}(?:[ \t]+={2,})+$")
_ROLE = re.compile(r":(?=[\w:.+-])(?:[\w.+-]|:(?!`))*(?::`([^`<]*+)(?:<([^`>]*+)>)?`)?")
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
                yield fence_code("\n".join(body)) if body else ""


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
        yield f"$$\n{listing}\n$$" if name == "math" else fence_code(listing, language=language)
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
    """Return the text of a role; unmatched marks stay."""
    if role[1] is None:
        return role[0]
    return role[1].rstrip() or role[2] or ""


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
_URL_LINK = re.compile(
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
            yield fence_code("\n".join(content), language=kind[2] or _language(options))
        elif kind and kind[1][0] == "/":
            _, at = _until(lines, at, kind[1])
        elif _TABLE.fullmatch(line):
            content, at = _until(lines, at, line)
            yield from _adoc_table(content, separator=line[0], options=options)
        elif line.startswith("|") and line.count("|") > 1:
            content, at = _pipes(lines, at - 1)
            yield from _adoc_table(content, separator="|", options=options)
        elif alone and not kind:
            yield _line_block(line)
        elif not kind and line.strip() and not _is_silent(line):
            paragraph.append(_adoc_inline(line.removesuffix(" +")))
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
        return f"{'#' * len(heading[1])} {_adoc_inline(_without_closing(heading[2], heading[1]))}"
    macro = _MACRO.fullmatch(line)
    if macro:
        return _adoc_inline(macro[1].split(",")[0].strip('"')) if line.startswith("image") else ""
    item = _ITEM.fullmatch(line)
    if item and not _CAPTION.fullmatch(line):
        depth = len(item[1]) - 1 if item[1][0] in "*." else 0
        mark = "-" if item[1][0] in "*-" else "1."
        return f"{'    ' * depth}{mark} {_adoc_inline(item[2])}"
    defined = _DEFINED.fullmatch(line)
    if defined:
        return (
            f"**{_adoc_inline(defined[1])}**{f': {_adoc_inline(defined[2])}' if defined[2] else ''}"
        )
    return _adoc_inline(line.removeprefix("."))


def _without_closing(text: str, mark: str) -> str:
    """Return a heading without its closing mark."""
    rest = text.removesuffix(mark)
    return rest.rstrip(" \t") if rest != text and rest[-1:] in (" ", "\t") else text


def _adoc_inline(text: str) -> str:
    """Return text without marks of links, references and notes.

    Marks that never close stay, and
    none is looked for past the last bracket, so that it is not looked for again from each.
    """
    end = text.rfind("]") + 1
    closed, rest = text[:end], text[end:]
    closed = _URL_LINK.sub(_linked, closed)
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


def _adoc_table(lines: Sequence[str], *, separator: str, options: str) -> list[str]:
    before: list[str] = []
    if separator in ",:":
        rows = [[_adoc_inline(cell) for cell in line.split(separator)] for line in lines if line]
    else:
        before, rows = _cells(lines, width=_width(options))
    text = "\n".join(filter(None, map(_adoc_inline, before)))
    return [text, *(table_or_records(rows[0], rows[1:]) if rows else ())]


def _width(options: str) -> int:
    """Return the declared number of columns; 0 if undeclared."""
    found = _COLUMNS.search(options)
    if found is None:
        return 0
    repeated = re.match(r"(\d{1,2})\*", found[1])
    return int(repeated[1]) if repeated else len(re.split("[,;]", found[1]))


def _cells(lines: Sequence[str], *, width: int) -> tuple[list[str], list[list[str]]]:
    """Return the text before the first cell, and the rows."""
    before: list[str] = []
    cells: list[list[str]] = []
    for line in lines:
        found = list(_CELL.finditer(line))
        starts = [each.start() for each in found] + [len(line)]
        (cells[-1] if cells else before).append(line[: starts[0]])
        cells += [[line[each.end() : end]] for each, end in zip(found, starts[1:], strict=True)]
        width = width or len(found)
    width = max(1, width)
    said = [_adoc_inline(" ".join(" ".join(cell).split())) for cell in cells]
    return before, [said[start : start + width] for start in range(0, len(said), width)]


_AUTHOR = re.compile(r":author:[ \t]*(\S.*)", re.I)
_DATE = re.compile(r":(?:rev)?date:[ \t]*(\S.*)", re.I)
_KEYWORDS = re.compile(r":(?:keywords|tags):[ \t]*(\S.*)", re.I)
_LIST_ITEM = re.compile(r" *(?:-|1\.) ")
_HEAD_LINES = 60


def read_asciidoc(data: bytes, options: ReadOptions) -> Content:
    """AsciiDoc as Markdown; author, date and keywords of its head are metadata.

    Raises:
        SourceError: not text, or too large.
    """
    lines = _lines(data)
    return _content(lines, asciidoc_blocks(lines), options=options)


def read_restructured(data: bytes, options: ReadOptions) -> Content:
    """Read reStructuredText; author, date and tags of its first fields are metadata.

    Raises:
        SourceError: not text, or too large.
    """
    lines = _lines(data)
    return _content(lines, restructured_blocks(lines), options=options)


def _lines(data: bytes) -> list[str]:
    return [line.rstrip() for line in decode_bytes(data).expandtabs(4).splitlines()]


def _content(lines: list[str], blocks: Iterator[str], *, options: ReadOptions) -> Content:
    text = sanitise_text(join_paragraphs(_together(blocks), limit=options.max_characters))
    head = "\n".join(lines[:_HEAD_LINES])
    found = {
        name: match.group(1)
        for name, pattern in (("author", _AUTHOR), ("date", _DATE), ("tags", _KEYWORDS))
        if (match := pattern.search(head))
    }
    title = markdown_title(text)
    return Content(
        text=text,
        title=title and one_line(title),
        shape="markdown",
        metadata=front_matter_values(found),
    )


def _together(blocks: Iterator[str]) -> Iterator[str]:
    """Return non-empty blocks with list items grouped."""
    items: list[str] = []
    for block in filter(None, blocks):
        if _LIST_ITEM.match(block):
            items.append(block)
            continue
        if items:
            yield "\n".join(items)
            items = []
        yield block
    if items:
        yield "\n".join(items)
