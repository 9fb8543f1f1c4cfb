"""Notebooks: prose cells, fenced code, shortened outputs.

Pictures and widgets are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ...errors import SourceError
from ..content import Content, ReadOptions, one_line, sanitise_text
from ..structured.records import joined
from .markdown import described, markdown_title
from .plain import decode

_OUTPUT_LINES = 20
_OUTPUT_CHARACTERS = 1_000
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_EMBEDDED = re.compile(
    r"(!\[(?:[^\]\n!]++|!(?!\[))*+\])\((?:data:|attachment:)(?:[^)\n!]++|!(?!\[))*+\)"
)
_FENCES = re.compile(r"^[ \t]*(`{3,})", re.M)


def read_notebook(data: bytes, options: ReadOptions) -> Content:
    """Read cells in order; titled by metadata, else its first heading.

    Raises:
        SourceError: no notebook, or too large.
    """
    notebook = _parsed(decode(data))
    about = _mapping(notebook.get("metadata"))
    language = _language(about)
    blocks = (block for cell in _cells(notebook) for block in _cell(cell, language=language))
    text = joined(map(sanitise_text, blocks), limit=options.max_characters)
    named = {key: about[key] for key in ("title", "authors", "date", "tags") if key in about}
    authors = _list(named.get("authors"))
    if authors:
        named["authors"] = [_mapping(author).get("name") or author for author in authors]
    metadata = described({**named, "programming_language": language})
    title = one_line(str(metadata.get("title") or "")) or markdown_title(text)
    return Content(text=text, title=title, shape="markdown", metadata=metadata)


def _parsed(text: str) -> Mapping[str, object]:
    try:
        notebook = json.loads(text, parse_int=str)
    except RecursionError as error:
        raise SourceError("is nested too deeply to be read: flatten it") from error
    except ValueError as error:
        raise SourceError(f"is no notebook: its JSON is broken ({error}); save it again") from error
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise SourceError("is no notebook: it has no cells; give it the suffix .json")
    return notebook


def _cells(notebook: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Return cells of format 4, or of format 3's worksheets."""
    sheets = [_mapping(sheet) for sheet in _list(notebook.get("worksheets"))]
    for holder in (notebook, *sheets):
        yield from (_mapping(cell) for cell in _list(holder.get("cells")))


def _cell(cell: Mapping[str, object], *, language: str) -> Iterator[str]:
    text = _joined(cell.get("source", cell.get("input"))).strip("\n")
    kind = cell.get("cell_type")
    if kind == "heading":
        yield f"{'#' * min(6, max(1, _number(cell.get('level'))))} {one_line(text)}"
    elif kind != "code":
        if text.strip():
            yield _EMBEDDED.sub(r"\1", text)
    else:
        if text.strip():
            yield fenced(text, language=language)
        for printed in filter(None, map(_printed, _list(cell.get("outputs")))):
            yield fenced(printed, language="text")


def fenced(text: str, *, language: str = "") -> str:
    """Return fenced code with a fence longer than any inside."""
    longest = max((len(found.group(1)) for found in _FENCES.finditer(text)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{text}\n{mark}"


def _printed(output: object) -> str:
    """Return an output's first lines; empty for pictures."""
    given = _mapping(output)
    if given.get("output_type") in ("error", "pyerr"):
        text = f"{given.get('ename', '')}: {given.get('evalue', '')}"
    else:
        shown = _mapping(given.get("data"))
        held = next((shown[kind] for kind in ("text/markdown", "text/plain") if kind in shown), "")
        text = _joined(held or given.get("text"))
    lines = _COLOURS.sub("", text).strip("\n").split("\n")
    short = "\n".join(lines[:_OUTPUT_LINES])[:_OUTPUT_CHARACTERS].rstrip()
    whole = len(lines) <= _OUTPUT_LINES and len(short) < _OUTPUT_CHARACTERS
    return short if whole or not short else f"{short}\n…"


def _language(about: Mapping[str, object]) -> str:
    info, kernel = _mapping(about.get("language_info")), _mapping(about.get("kernelspec"))
    named = info.get("name") or kernel.get("language") or "python"
    return re.sub(r"[^\w+#.-]", "", str(named))[:30]


def _number(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 3 else 1


def _joined(value: object) -> str:
    """Text given whole or by lines."""
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []
