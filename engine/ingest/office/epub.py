"""E-books (EPUB 2 and 3) as Markdown, in the order of reading.

A chapter is a page of the web, and is written out as one. Follows EPUB 3.3 (W3C), chapters 4
and 5.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from ...errors import SourceError
from ...types import MetaValue
from ..archives.zipped import Container
from ..content import Content, ReadOptions, one_line, sanitise_text
from ..markdown_blocks import check_length
from ..web.markdown import as_markdown
from .package import properties_of, xml_root

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER = "META-INF/container.xml"
_PAGES = frozenset(
    {"application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document"}
)
_DECLARATION = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*\?>")
_HEADING = re.compile(r"^#{1,6} ", re.M)
_ENCODING = re.compile(rb"""\A[^>]{0,200}encoding\s*=\s*["']([A-Za-z0-9_.-]+)""")


class _Manifested(NamedTuple):
    path: str
    media_type: str
    properties: str


def read_epub(data: bytes, options: ReadOptions) -> Content:
    """Read an e-book's chapters in order, without navigation; `pages` are the chapters.

    A chapter without a heading gets the one that the table of contents gives it.

    Raises:
        SourceError: encrypted (DRM), damaged, no book, or larger than the options allow.
    """
    container = Container(data, options=options)
    name = _package_name(container)
    package = _xml(container, name)
    if package is None:
        raise SourceError("is damaged, or no e-book: its package file is missing")
    items = _manifest(package, folder=posixpath.dirname(name))
    labels = _labels(container, package, items)
    texts: list[str] = []
    starts: list[int] = []
    length = 0
    for path in _spine(package, items):
        text = _chapter(container, path, label=labels.get(path, ""))
        if text:
            starts.append(length)
            texts.append(text)
            length += len(text) + 2
            check_length(length, max_characters=options.max_characters)
    if not texts:
        raise SourceError(_why_nothing(container))
    title, metadata = _properties(package)
    return Content(
        text="\n\n".join(texts),
        title=title,
        pages=tuple(starts),
        shape="markdown",
        metadata=metadata,
    )


def _package_name(container: Container) -> str:
    """Return the package file named by the container, else the only one."""
    root = _xml(container, _CONTAINER)
    for found in [] if root is None else root.iter("{*}rootfile"):
        name = container.find(unquote(found.get("full-path", "")))
        if name:
            return name
    name = next((name for name in sorted(container.names) if name.lower().endswith(".opf")), None)
    if name is None:
        raise SourceError("is damaged, or no e-book: its package file is missing")
    return name


def _properties(package: _Element) -> tuple[str | None, dict[str, MetaValue]]:
    metadata = package.find("{*}metadata")
    return (None, {}) if metadata is None else properties_of(metadata)


def _manifest(package: _Element, *, folder: str) -> dict[str, _Manifested]:
    return {
        item.get("id", ""): _Manifested(
            path=_resolved(folder, item.get("href", "")),
            media_type=item.get("media-type", ""),
            properties=item.get("properties", ""),
        )
        for item in package.iterfind("{*}manifest/{*}item")
    }


def _spine(package: _Element, items: dict[str, _Manifested]) -> Iterator[str]:
    """Return chapter paths in reading order; without a spine in container order."""
    references = [ref.get("idref", "") for ref in package.iterfind("{*}spine/{*}itemref")]
    for id_ in dict.fromkeys(references or items):
        item = items.get(id_)
        if item and item.media_type in _PAGES and "nav" not in item.properties.split():
            yield item.path


def _labels(
    container: Container, package: _Element, items: dict[str, _Manifested]
) -> dict[str, str]:
    """Return the contents entry of each chapter: the first that points into it."""
    labels: dict[str, str] = {}
    spine = package.find("{*}spine")
    toc = items.get("" if spine is None else spine.get("toc", ""))
    navigation = [item for item in items.values() if "nav" in item.properties.split()]
    for item in [*navigation, *([toc] if toc else [])]:
        root = _xml(container, item.path)
        folder = posixpath.dirname(item.path)
        for entry in [] if root is None else root.iter("{*}a", "{*}navPoint"):
            target = entry.get("href")
            if target is None:
                content = entry.find("{*}content")
                target = "" if content is None else content.get("src", "")
                label = entry.findtext("{*}navLabel/{*}text") or ""
            else:
                label = "".join(map(str, entry.itertext()))
            labels.setdefault(_resolved(folder, target), one_line(sanitise_text(label)))
    return labels


def _chapter(container: Container, path: str, *, label: str) -> str:
    name = container.find(path)
    if name is None:
        return ""  # named in the spine, but not in the book: publishers do that with notes
    from lxml import etree, html

    data = container.read(name)
    declared = _ENCODING.match(data)
    encoding = declared.group(1).decode("ascii") if declared else "utf-8"
    try:
        parser = html.HTMLParser(encoding=encoding)
    except LookupError:
        parser = html.HTMLParser(encoding="utf-8")
    try:
        tree = html.document_fromstring(_DECLARATION.sub(b"", data), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return ""  # a page with nothing on it, such as one that only holds the cover
    text = sanitise_text(as_markdown(tree)).strip()
    if text and label and not _HEADING.search(text[:2000]):
        return f"## {label}\n\n{text.removeprefix(label).lstrip()}"
    return text


def _why_nothing(container: Container) -> str:
    if container.find("META-INF/encryption.xml") and container.find("META-INF/rights.xml"):
        return "is encrypted (copy protection): only its publisher's reader can open it"
    return "is empty: there is no text in this e-book"


def _resolved(folder: str, reference: str) -> str:
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join(folder, path)).lstrip("/") if path else ""


def _xml(container: Container, name: str) -> _Element | None:
    found = container.find(name)
    return xml_root(container.read(found), name=name) if found else None
