"""Word and PowerPoint 97–2003 to Markdown: text, headings, tables, slides.

Lists' numbers, pictures and charts of these formats are not read.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ...errors import SourceError
from ...types import MetaValue
from ..content import Content, ReadOptions, one_line, sanitise_text
from ..markdown_blocks import check_length, joined
from ..text.markdown import markdown_title
from ..text.rtf import read_rtf
from ..web.reader import read_web_page
from .documents import read_docx, read_pptx
from .legacy_slides import old_slides
from .legacy_word import old_word
from .package import OLE_MAGIC, real_title

_BROKEN = (IndexError, KeyError, struct.error, ValueError)
"""Exceptions caused by damaged records."""


def read_doc(data: bytes, options: ReadOptions) -> Content:
    """Read a Word 97–2003 document.

    Other formats under its suffix are read as what they are.

    Raises:
        SourceError: encrypted, damaged, or older than Word 97.
    """
    if data.startswith(b"PK"):
        return read_docx(data, options)
    if data.startswith(b"{\\rtf"):
        return read_rtf(data, options)
    if data.lstrip()[:1] == b"<":
        return read_web_page(data)
    streams, title, metadata = _opened(data, kind=".doc", new=".docx")
    with _reasons(kind=".doc", new=".docx"):
        text = sanitise_text(joined(old_word(streams)))
    check_length(len(text), max_characters=options.max_characters)
    return Content(
        text=text, title=title or markdown_title(text), shape="markdown", metadata=metadata
    )


def read_ppt(data: bytes, options: ReadOptions) -> Content:
    """Read a PowerPoint 97–2003 presentation.

    A page and second-level heading for each slide.

    Raises:
        SourceError: encrypted or damaged.
    """
    if data.startswith(b"PK"):
        return read_pptx(data, options)
    streams, title, metadata = _opened(data, kind=".ppt", new=".pptx")
    with _reasons(kind=".ppt", new=".pptx"):
        texts = [sanitise_text(joined(blocks)) for blocks in old_slides(streams)]
    first = texts[0].partition("\n")[0].removeprefix("## ") if texts else ""
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 2)
    check_length(starts[-1], max_characters=options.max_characters)
    return Content(
        text="\n\n".join(texts),
        title=title or (first if first != "Slide 1" else None),
        pages=tuple(starts[:-1]),
        shape="markdown",
        metadata=metadata,
    )


def _opened(
    data: bytes, *, kind: str, new: str
) -> tuple[dict[str, bytes], str | None, Mapping[str, MetaValue]]:
    """Return streams by lower-case name, title and metadata."""
    import olefile  # type: ignore[import-untyped, unused-ignore]

    if not data.startswith(OLE_MAGIC):
        raise SourceError(f"is damaged, or no {kind} file: save it as {new}")
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            streams = {
                str(path[0]).lower(): bytes(ole.openstream(path).read())
                for path in ole.listdir()
                if len(path) == 1
            }
            about = ole.get_metadata()
    except (*_BROKEN, OSError, TypeError) as error:
        raise SourceError(f"is damaged: open it and save it as {new}") from error
    metadata: dict[str, MetaValue] = {}
    author = _decoded(about.author, about.codepage)
    if author:
        metadata["author"] = author
    if about.last_saved_time and about.last_saved_time.year > 1980:
        metadata["date"] = f"{about.last_saved_time:%Y-%m-%dT%H:%M:%S}Z"
    return streams, real_title(_decoded(about.title, about.codepage)), metadata


def _decoded(value: bytes | str | None, codepage: int | None) -> str:
    if not isinstance(value, bytes):
        return one_line(sanitise_text(value or ""))
    code = (codepage or 1252) % 65_536
    names = {65001: "utf-8", 1200: "utf-16-le", 936: "gb18030", 10000: "mac_roman"}
    try:
        text = value.decode(names.get(code, f"cp{code}"), "replace")
    except LookupError:
        text = value.decode("cp1252", "replace")
    return one_line(sanitise_text(text.rstrip("\x00")))


@contextmanager
def _reasons(*, kind: str, new: str) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise SourceError(
            f"is damaged, or no {kind} file that is understood: open it and save it as {new}"
        ) from error
