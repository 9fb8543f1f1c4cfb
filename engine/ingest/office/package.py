"""Office Open XML packages: a zip of related XML parts.

Opens the container safely, parses its XML without entities, and reads what a file says of itself.
Knows no format's content.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import SourceError
from ...types import MetaValue
from ..archives.zipped import Container
from ..content import ReadOptions, one_line, sanitise_text

if TYPE_CHECKING:
    from lxml.etree import _Element

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT = (
    (b"ooxml/officeDocument/relationships", b"officeDocument/2006/relationships"),
    (b"ooxml/wordprocessingml/main", b"wordprocessingml/2006/main"),
    (b"ooxml/spreadsheetml/main", b"spreadsheetml/2006/main"),
    (b"ooxml/presentationml/main", b"presentationml/2006/main"),
    (b"ooxml/officeDocument/math", b"officeDocument/2006/math"),
    (b"ooxml/drawingml/", b"drawingml/2006/"),
)
_PLACEHOLDER_TITLE = re.compile(
    r"(?:powerpoint|microsoft)\b.*|pr[eé]sentation\b.*|(?:document|doc|book|workbook|slide|untitled"
    r"|presentation|folie|文档|文件|工作簿|演示文稿|幻灯片)\s*\d*(?:\.\w+)?"
    r"|(?:word document|no slide title|无标题|untitled.*|title|未命名.*|空白演示文稿)",
    re.I,
)
_NOBODY = re.compile(
    r"python-(?:docx|pptx)|openpyxl|xlsxwriter|apache poi|pptxgenjs|steve canny|un-?named|unknown"
    r"|(?:microsoft office|windows|office)?\s*(?:user|用户)|admin(?:istrator)?|author|作者",
    re.I,
)
_TEMPLATE_DATES = frozenset({"2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z"})
"""Creation dates of writer libraries' templates, ignored as document dates."""
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2})?")


class Part(NamedTuple):
    """Related part; `kind` is the last word of the relationship type."""

    kind: str
    name: str


class Package:
    """An opened office file: its parts by name, each parsed when asked for."""

    def __init__(self, data: bytes, *, kind: str, options: ReadOptions) -> None:
        if data.startswith(OLE_MAGIC):
            raise SourceError(why_old_container(data, kind=kind))
        if not data.startswith(b"PK"):
            raise SourceError(f"is damaged, or no {kind} file: save it again as {kind}")
        self._container = Container(data, options=options)
        self._kind = kind
        self.related: dict[str, Part] = self.relations("")

    def main(self) -> str:
        """Name of the main part."""
        for part in self.related.values():
            if part.kind == "officeDocument" and self.find(part.name):
                return part.name
        raise SourceError(f"is damaged, or no {self._kind} file: its main part is missing")

    def find(self, name: str) -> str | None:
        """Return a part's name as stored; None if absent."""
        return self._container.find(name)

    def xml(self, name: str) -> _Element | None:
        """Return a part's root; None if absent.

        Raises:
            SourceError: it is not well-formed, or larger than the options allow.
        """
        data = self.data(name)
        return None if data is None else xml_root(data, name=name)

    def data(self, name: str) -> bytes | None:
        """Return a part's bytes in transitional namespaces; None if absent."""
        entry = self.find(name)
        return None if entry is None else _transitional(self._container.read(entry))

    def relations(self, name: str) -> dict[str, Part]:
        """Return relationships by id; those of the package for ""."""
        folder, base = posixpath.split(name)
        root = self.xml(posixpath.join(folder, "_rels", f"{base}.rels"))
        relations: dict[str, Part] = {}
        for relation in [] if root is None else root.iter("{*}Relationship"):
            if relation.get("TargetMode") != "External":
                target = posixpath.join("/", folder, relation.get("Target", ""))
                kind = relation.get("Type", "").rpartition("/")[2]
                relations[relation.get("Id", "")] = Part(kind, posixpath.normpath(target)[1:])
        return relations

    def properties(self) -> tuple[str | None, dict[str, MetaValue]]:
        """Return the title (None if missing or a placeholder) and metadata."""
        for part in self.related.values():
            if part.kind == "core-properties":
                root = self.xml(part.name)
                if root is not None:
                    return properties_of(root)
        return None, {}


def properties_of(root: _Element) -> tuple[str | None, dict[str, MetaValue]]:
    """Return title, author, date and language from Dublin Core anywhere in `root`."""
    metadata: dict[str, MetaValue] = {}
    people = dict.fromkeys(_texts(root, ["creator", "initial-creator"]))
    author = "; ".join(person for person in people if not _NOBODY.fullmatch(person))
    dates = _texts(root, ["modified", "date", "created", "creation-date"])
    date = next(filter(None, map(iso_date, dates)), "")
    tags = tuple(
        dict.fromkeys(
            tag.strip()
            for words in _texts(root, ["keywords", "keyword", "subject"])
            for tag in re.split(r"[,;，；、]", words)
            if tag.strip()
        )
    )
    language = next(iter(_texts(root, ["language"])), "")
    if author:
        metadata["author"] = author
    if date:
        metadata["date"] = date
    if language:
        metadata["language"] = language
    if tags:
        metadata["tags"] = tags
    return real_title(next(iter(_texts(root, ["title"])), "")), metadata


def real_title(title: str) -> str | None:
    """Return a real title; None for empty ones and program defaults."""
    line = one_line(sanitise_text(title))
    return None if not line or _PLACEHOLDER_TITLE.fullmatch(line) else line


def iso_date(text: str) -> str:
    """Return the day or UTC second of a W3C date; empty if invalid."""
    found = _DATE.match(text.strip())
    if found is None or found.group(1).startswith(("0000", "1601", "1900-01-01")):
        return ""
    if text.strip() in _TEMPLATE_DATES:
        return ""
    return f"{found.group(1)}{found.group(2)}Z" if found.group(2) else found.group(1)


def xml_root(data: bytes, *, name: str) -> _Element:
    """Parse XML without entities or network access.

    Raises:
        SourceError: the XML is broken or declares entities.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser=parser)
    except etree.XMLSyntaxError as error:
        raise SourceError(
            f"is damaged: its part {name!r} is not well-formed ({one_line(str(error))}); "
            "open it and save it again"
        ) from error
    declared: Any = root.getroottree().docinfo.internalDTD  # its entities are not in the stubs
    if declared is not None and next(iter(declared.iterentities()), None) is not None:
        raise SourceError(f"declares entities in its part {name!r}, which is not safe to read")
    return root


def why_old_container(data: bytes, *, kind: str) -> str:
    """Why an OLE file under a new suffix is not read: encrypted, or the old format."""
    streams = ole_streams(data)
    if {"encryptedpackage", "encryptioninfo"} & streams:
        return "is encrypted: save it without a password"
    old = {"worddocument": "doc", "powerpoint document": "ppt", "workbook": "xls", "book": "xls"}
    found = next((suffix for stream, suffix in old.items() if stream in streams), "")
    if found:
        return f"is an old .{found} file under the name of a {kind}: save it as {kind}"
    return f"is damaged, or no {kind} file: save it again as {kind}"


def whole(text: str | None, default: int = 0) -> int:
    """Return an attribute as an integer, or the default."""
    try:
        return int(text) if text else default
    except ValueError:
        return default


def ole_streams(data: bytes) -> set[str]:
    """Return lower-case names of an OLE file's top streams; empty if damaged."""
    import io

    import olefile  # type: ignore[import-untyped, unused-ignore]

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            return {str(path[0]).lower() for path in ole.listdir()}
    except (OSError, ValueError, IndexError, TypeError):  # what a damaged directory leads to
        return set()


def _transitional(data: bytes) -> bytes:
    if b"http://purl.oclc.org/ooxml/" not in data:
        return data
    for strict, transitional in _STRICT:
        data = data.replace(
            b"http://purl.oclc.org/" + strict, b"http://schemas.openxmlformats.org/" + transitional
        )
    return data


def _texts(root: _Element, names: Sequence[str]) -> list[str]:
    found = (element for name in names for element in root.iter(f"{{*}}{name}"))
    return [line for element in found if (line := one_line(sanitise_text(element.text or "")))]
