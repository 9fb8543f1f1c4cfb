"""Registry of readers by file suffix or name. A new format is one line here.

Readers are named by module and imported when they first read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .document import Content, ReadOptions

READERS_VERSION = "readers-4"
"""Changes where the text of a stored document would be read otherwise: it is read anew."""

LANGUAGES: dict[str, str] = {
    ".bash": "bash",
    ".c": "c",
    ".cc": "cpp",
    ".cjs": "javascript",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".cxx": "cpp",
    ".go": "go",
    ".h": "c",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
    ".java": "java",
    ".js": "javascript",
    ".jsx": "javascript",
    ".ksh": "bash",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".lua": "lua",
    ".mjs": "javascript",
    ".php": "php",
    ".ps1": "powershell",
    ".py": "python",
    ".pyi": "python",
    ".r": "r",
    ".rb": "ruby",
    ".rs": "rust",
    ".sc": "scala",
    ".scala": "scala",
    ".sh": "bash",
    ".sql": "sql",
    ".swift": "swift",
    ".ts": "typescript",
    ".tsx": "tsx",
    ".zsh": "bash",
}
"""Syntax parser language by lower-case suffix."""

CONFIGURATION = frozenset(
    {
        *(".cfg", ".cmake", ".conf", ".dockerfile", ".env", ".gradle", ".ini", ".mk"),
        *(".properties", ".tf", ".toml", ".yaml", ".yml"),
    }
)
"""Suffixes of files that set something: short lines that are read as text."""

NAMED_CODE: dict[str, str] = {
    **dict.fromkeys(
        ("brewfile", "fastfile", "gemfile", "podfile", "rakefile", "vagrantfile"), "ruby"
    ),
    **dict.fromkeys(("sconscript", "sconstruct", "snakefile", "wscript"), "python"),
}
"""The language of files that have no suffix, by their name in small letters."""

NAMED_CONFIGURATION = frozenset(
    {
        *("caddyfile", "codeowners", "containerfile", "dockerfile", "gnumakefile", "jenkinsfile"),
        *("justfile", "makefile", "pipfile", "procfile", "tiltfile"),
    }
)
"""Names (in small letters) of files without a suffix that build or set something."""

NAMED_TEXT = frozenset(
    {
        *("acknowledgements", "authors", "changelog", "changes", "contributing", "contributors"),
        *("copying", "copyright", "credits", "history", "install", "licence", "license"),
        *("maintainers", "news", "notice", "patents", "readme", "release", "security", "thanks"),
        *("todo", "unlicense"),
    }
)
"""Names (in small letters) of files without a suffix that people write to be read."""


if TYPE_CHECKING:
    Reader = Callable[[bytes, ReadOptions], Content]

_UTF8_BYTES = 4
"""The most bytes that a character takes in any encoding that texts are in."""


class Format(NamedTuple):
    """A document type's name, and how its bytes become text.

    `bytes_a_character` is for formats that are text themselves: a file of more than so many bytes
    for each character that a document may have is too large, and need not be read to know it.
    """

    type: str
    read: Reader
    bytes_a_character: int = 0


@dataclass(frozen=True, slots=True)
class LazyReader:
    """The reader `module:function` below this package, imported with the first file.

    `takes_options` is False for functions of the bytes alone; `arguments` are handed on by name.
    """

    place: str
    takes_options: bool = True
    arguments: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, data: bytes, options: ReadOptions) -> Content:
        """Call the function on the bytes."""
        given = (data, options) if self.takes_options else (data,)
        return self.function()(*given, **self.arguments)

    def function(self) -> Callable[..., Content]:
        """Import and return the function."""
        module, _, name = self.place.partition(":")
        found: Callable[..., Content] = getattr(import_module(f".{module}", __package__), name)
        return found


def _format(type_: str, place: str) -> Format:
    """Declare a format whose file size does not bound its text."""
    return Format(type_, LazyReader(place))


def _textual(type_: str, place: str) -> Format:
    """Declare a text format whose reader has limits of its own."""
    return Format(type_, LazyReader(place), _UTF8_BYTES)


def _simple(type_: str, place: str, **arguments: str) -> Format:
    """Declare a text format whose reader needs no options."""
    return Format(type_, LazyReader(place, False, arguments), _UTF8_BYTES)


def _code(language: str) -> Format:
    return _simple("code", "readers.text:read_code", language=language)


def _packed(type_: str, place: str) -> Format:
    """Declare a format without options whose files may far exceed their text."""
    return Format(type_, LazyReader(place, takes_options=False))


_PLAIN = _simple("text", "readers.text:read_plain")
_MARKDOWN = _simple("markdown", "readers.text:read_markdown")
_CONFIGURATION = _simple("configuration", "readers.text:read_configuration")
_SUBTITLES = _simple("subtitles", "readers.transcripts:read_subtitles")
_ASCIIDOC = _textual("asciidoc", "readers.markup:read_asciidoc")
_RESTRUCTURED = _textual("rst", "readers.markup:read_restructured")
_LATEX = _textual("latex", "readers.latex:read_latex")
_DELIMITED = _textual("csv", "readers.structured:read_delimited")
_JSON = _textual("json", "readers.structured:read_json")
_JSON_LINES = _textual("json", "readers.structured:read_json_lines")
_XML = _format("xml", "readers.xml_reader:read_xml")
_WEB = _packed("html", "readers.html:read_web_page")
_WEB_ARCHIVE = _packed("html", "readers.html:read_web_archive")
_DOCX = _format("docx", "readers.office.docx:read_docx")
_PPTX = _format("pptx", "readers.office.docx:read_pptx")
_XLSX = _format("xlsx", "readers.office.spreadsheets:read_xlsx")
_XLS = _format("xls", "readers.office.spreadsheets:read_xls")
_DOC = _format("doc", "readers.office.legacy:read_doc")
_PPT = _format("ppt", "readers.office.legacy:read_ppt")
_ODT = _format("odt", "readers.office.odf:read_opendocument")
_ODS = _format("ods", "readers.office.odf:read_opendocument")
_ODP = _format("odp", "readers.office.odf:read_opendocument")
_IMAGE = _format("image", "readers.media:read_image")
_AUDIO = _format("audio", "readers.media:read_audio")
_TAR = _format("archive", "readers.archives:read_tar")

_DOCUMENTS = (".docm", ".docx", ".dotm", ".dotx")
_PRESENTATIONS = (".potm", ".potx", ".ppsm", ".ppsx", ".pptm", ".pptx")
_WORKBOOKS = (".xlsm", ".xlsx", ".xltm", ".xltx")
_XMLS = (".atom", ".dbk", ".dita", ".docbook", ".jats", ".nxml", ".rdf", ".rss", ".tei", ".xml")
_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_SOUNDS = (".aac", ".flac", ".m4a", ".mp3", ".oga", ".ogg", ".opus", ".wav", ".wma")
_FILMS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm")
_TARS = (".bz2", ".gz", ".tar", ".tbz2", ".tgz", ".txz", ".xz")

FORMATS: dict[str, Format] = {
    **dict.fromkeys((".log", ".text", ".txt"), _PLAIN),
    **dict.fromkeys((".markdown", ".md"), _MARKDOWN),
    **dict.fromkeys((".htm", ".html", ".xhtml"), _WEB),
    **dict.fromkeys((".mht", ".mhtml"), _WEB_ARCHIVE),
    ".pdf": _format("pdf", "readers.pdf.reader:read_pdf"),
    **dict.fromkeys(_DOCUMENTS, _DOCX),
    **dict.fromkeys(_PRESENTATIONS, _PPTX),
    **dict.fromkeys(_WORKBOOKS, _XLSX),
    **dict.fromkeys((".doc", ".dot"), _DOC),
    **dict.fromkeys((".pps", ".ppt"), _PPT),
    **dict.fromkeys((".xls", ".xlt"), _XLS),
    **dict.fromkeys((".fodt", ".odt", ".ott"), _ODT),
    **dict.fromkeys((".fods", ".ods", ".ots"), _ODS),
    **dict.fromkeys((".fodp", ".odp", ".otp"), _ODP),
    ".epub": _format("epub", "readers.office.odf:read_epub"),
    ".eml": _packed("email", "readers.mail:read_message"),
    ".msg": _packed("email", "readers.mail:read_outlook"),
    ".mbox": _packed("email", "readers.mail:read_mailbox"),
    ".zip": _format("archive", "readers.archives:read_zip"),
    **dict.fromkeys(_TARS, _TAR),
    **dict.fromkeys((".adoc", ".asc", ".asciidoc"), _ASCIIDOC),
    **dict.fromkeys((".rest", ".rst"), _RESTRUCTURED),
    **dict.fromkeys((".bbl", ".ltx", ".tex"), _LATEX),
    ".rtf": _format("rtf", "readers.office.rtf:read_rtf"),
    **dict.fromkeys((".csv", ".psv", ".tab", ".tsv"), _DELIMITED),
    **dict.fromkeys((".geojson", ".json"), _JSON),
    **dict.fromkeys((".jsonl", ".ndjson"), _JSON_LINES),
    **dict.fromkeys(_XMLS, _XML),
    ".ipynb": _format("notebook", "readers.text:read_notebook"),
    **dict.fromkeys((".srt", ".vtt"), _SUBTITLES),
    **{suffix: _code(language) for suffix, language in LANGUAGES.items()},
    **dict.fromkeys(sorted(CONFIGURATION), _CONFIGURATION),
    **dict.fromkeys(_IMAGES, _IMAGE),
    **dict.fromkeys((*_SOUNDS, *_FILMS), _AUDIO),
}
SUFFIXES = frozenset(FORMATS)

NAMES: dict[str, Format] = {
    **{name: _code(language) for name, language in NAMED_CODE.items()},
    **dict.fromkeys(sorted(NAMED_CONFIGURATION), _CONFIGURATION),
    **dict.fromkeys(sorted(NAMED_TEXT), _PLAIN),
}
"""Files without a suffix that are known by their whole name, in small letters."""


def format_of_name(file_name: str) -> Format:
    """Return the document type and reader by file name.

    Unknown ones are tried as plain text.

    Folders before the name do not matter.
    """
    path = PurePosixPath(file_name)
    return FORMATS.get(path.suffix.lower()) or NAMES.get(path.name.lower(), _PLAIN)


def is_known(file_name: str) -> bool:
    """Check whether a source of this suffix or name can be read."""
    path = PurePosixPath(file_name)
    return path.suffix.lower() in FORMATS or path.name.lower() in NAMES
