"""Rich text (RTF) as paragraphs and tables, with metadata."""

from __future__ import annotations

import re

from ...errors import SourceError
from ..content import REPLACEMENT, Content, ReadOptions, one_line, sanitise_text
from ..dates import iso_date
from ..structured.records import joined, paragraphs, table_or_records
from .markdown import described
from .plain import plain_title

_CODE_PAGE = re.compile(rb"\\ansicpg(\d{3,5})")
_CHARACTER_SET = re.compile(rb"\\(mac|pca|pc)(?![a-z])")
_INFORMATION = re.compile(r"\{\\info(?![a-z])")
_FIELD = re.compile(r"\{\\(title|subject|author|keywords|doccomm)\s([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_WHEN = re.compile(r"\{\\(revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_INFORMATION_LIMIT = 20_000
_OBJECT_BYTES = re.compile(rb"(?:[0-9a-fA-F]{2}[\r\n]*){200,}")
_UNICODE = re.compile(r"(?<!\\)((?:\\\\)*)\\u(-?\d+)")
_LAST_UNIT = 0x10FFFF
_FONTS = re.compile(r"\{[^{}]*\\fonttbl")
_FONT = re.compile(r"\\f(\d++)(?:[^\\]++|\\(?!f\d|fcharset))*+\\fcharset(\d++)")
_BRACE = re.compile(r"[{}]")
_LINK = re.compile(
    r"\{\\field\{\s*+\\\*\\fldinst\{[^{}]*?HYPERLINK\s(\"[^\"{}]*+\")\}\}\s*+"
    r"\{(?:[^{}]++|\{[^{}]*+\})*+\}\}",
    re.I,
)
_FIELD_MARK = re.compile(r"(\{\\field)(?=\{)", re.I)
_WITHOUT_NUMBER = re.compile(r"\\(uc|bin)(?![a-z0-9-])")
_NUMBERS = {"uc": r"\uc1", "bin": r"\bin0"}
_ROW = re.compile(r"[^|\n]*(?:\|[^|\n]*)+\|[ \t]*")


def read_rtf(data: bytes, options: ReadOptions) -> Content:
    """Read RTF text; titled by metadata or its first line.

    Raises:
        SourceError: no RTF, or too large.
    """
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{\\rtf"):
        raise SourceError("is no RTF: it does not begin with {\\rtf; check its suffix")
    source = _OBJECT_BYTES.sub(b"", data).decode("latin-1")
    if len(source) > options.max_characters:
        raise SourceError(
            f"is too large: {len(source):,} bytes of RTF without its pictures; split it, "
            "or raise ingest.max_document_characters"
        )
    source = _spared(_UNICODE.sub(_possible, source))
    encoding = _encoding(data)
    text = _stripped(source, encoding)
    about = _about(source, encoding)
    written = joined(_blocks(text), limit=options.max_characters)
    title = str(about.pop("title", "")) or plain_title(written)
    return Content(text=written, title=title, shape="markdown", metadata=described(about))


def _possible(found: re.Match[str]) -> str:
    r"""Decode `\u` numbers; invalid ones as U+FFFD, negative ones offset by 65,536."""
    number = found.group(2)
    code = int(number) if len(number) < 9 else _LAST_UNIT + 1
    sound = -0x10000 <= code <= _LAST_UNIT
    return found.group() if sound else f"{found.group(1)}\\u{ord(REPLACEMENT)}"


def _spared(source: str) -> str:
    """The source without what the parser breaks on, or looks at again and again: addresses of
    links are put in here, of fonts no more is kept than their characters."""
    source = _WITHOUT_NUMBER.sub(lambda found: _NUMBERS[found.group(1)], source)
    source = _LINK.sub(lambda found: f"{found.group()}({found.group(1)})", source)
    source = _FIELD_MARK.sub(r"\1 ", source)
    found = _FONTS.search(source)
    if found is None:
        return source
    depth, end = 1, len(source)
    for brace in _BRACE.finditer(source, found.end()):
        depth += 1 if brace.group() == "{" else -1
        if not depth:
            end = brace.start()
            break
    fonts = (
        f"{{\\f{number}\\fcharset{kind} a;}}"
        for number, kind in _FONT.findall(source, found.end(), end)
    )
    return f"{source[: found.end()]}{''.join(fonts)}{source[end:]}"


def _encoding(data: bytes) -> str:
    found = _CODE_PAGE.search(data[:4_000])
    if found:
        number = found.group(1).decode("ascii")
        return {"65001": "utf-8", "936": "gb18030", "10000": "mac_roman"}.get(number, f"cp{number}")
    named = _CHARACTER_SET.search(data[:200])
    return {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}.get(
        named.group(1) if named else b"", "cp1252"
    )


def _stripped(source: str, encoding: str) -> str:
    from striprtf.striprtf import rtf_to_text

    try:
        text: str = rtf_to_text(source, encoding=encoding, errors="replace")  # type: ignore[no-untyped-call]
    except LookupError:  # a code page that Python does not know
        text = rtf_to_text(source, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        raise SourceError(f"is damaged RTF ({error}); save it again") from error
    return sanitise_text(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _about(source: str, encoding: str) -> dict[str, object]:
    found = _INFORMATION.search(source[:400_000])
    if found is None:
        return {}
    group = source[found.start() : found.start() + _INFORMATION_LIMIT]
    about: dict[str, object] = {}
    for name, value in _FIELD.findall(group):
        try:
            said = one_line(_stripped(f"{{\\rtf1\\ansi {value}}}", encoding))
        except SourceError:
            continue  # what the document says of itself may be damaged alone
        if said:
            about["tags" if name == "keywords" else name] = said
    dates = {name: f"{year}-{month}-{day}" for name, year, month, day in _WHEN.findall(group)}
    about["date"] = iso_date(dates.get("revtim") or dates.get("creatim"))
    return about


def _blocks(text: str) -> list[str]:
    """Return paragraphs; consecutive rows form a table."""
    blocks: list[str] = []
    rows: list[list[str]] = []
    for line in [*paragraphs(text).split("\n"), ""]:
        if _ROW.fullmatch(line):
            rows.append([cell.strip() for cell in line.strip().removesuffix("|").split("|")])
            continue
        if rows:
            blocks.extend(table_or_records(rows[0], rows[1:]))
            rows = []
        if line.strip():
            blocks.append(line.strip())
    return blocks
