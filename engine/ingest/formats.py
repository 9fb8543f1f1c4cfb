"""Which reader a file's suffix asks for. A further format is one more line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .archives.reader import read_tar, read_zip
from .content import Content, ReadOptions
from .mail.message import read_mailbox, read_message
from .mail.outlook import read_outlook
from .media.audio import read_audio
from .media.images import read_image
from .office.documents import read_docx, read_pptx
from .office.epub import read_epub
from .office.legacy import read_doc, read_ppt
from .office.opendocument import read_opendocument
from .office.spreadsheets import read_xls, read_xlsx
from .pdf.reader import read_pdf
from .structured.delimited import read_delimited
from .structured.json_reader import read_json, read_json_lines
from .structured.xml_reader import read_xml
from .text.code import CONFIGURATION, LANGUAGES, read_code, read_configuration
from .text.latex import read_latex
from .text.markdown import read_markdown
from .text.markup import read_asciidoc, read_restructured
from .text.notebook import read_notebook
from .text.plain import read_plain
from .text.rtf import read_rtf
from .text.subtitles import read_substation, read_subtitles
from .web.reader import read_web_archive, read_web_page

Reader = Callable[[bytes, ReadOptions], Content]


class Format(NamedTuple):
    """A document type's name, and how its bytes become text."""

    type: str
    read: Reader


def _simple(type_: str, read: Callable[[bytes], Content]) -> Format:
    """A format whose reader needs no options."""
    return Format(type_, lambda data, _options: read(data))


_PLAIN = _simple("text", read_plain)
_MARKDOWN = _simple("markdown", read_markdown)
_WEB = _simple("html", read_web_page)
_WEB_ARCHIVE = _simple("html", read_web_archive)

_DOCX = Format("docx", read_docx)
_PPTX = Format("pptx", read_pptx)
_XLSX = Format("xlsx", read_xlsx)
_DOCUMENTS = (".docm", ".docx", ".dotm", ".dotx")
_PRESENTATIONS = (".potm", ".potx", ".ppsm", ".ppsx", ".pptm", ".pptx")
_WORKBOOKS = (".xlsm", ".xlsx", ".xltm", ".xltx")
_ODT = Format("odt", read_opendocument)
_ODS = Format("ods", read_opendocument)
_ODP = Format("odp", read_opendocument)
_IMAGE = Format("image", read_image)
_AUDIO = Format("audio", read_audio)
_TAR = Format("archive", read_tar)
_ASCIIDOC = Format("asciidoc", read_asciidoc)
_DELIMITED = Format("csv", read_delimited)
_JSON = Format("json", read_json)
_JSON_LINES = Format("json", read_json_lines)
_LATEX = Format("latex", read_latex)
_RESTRUCTURED = Format("rst", read_restructured)
_XML = Format("xml", read_xml)
_XMLS = (".atom", ".dbk", ".dita", ".docbook", ".jats", ".nxml", ".rdf", ".rss", ".tei", ".xml")
_SUBTITLES = _simple("subtitles", read_subtitles)
_SUBSTATION = _simple("subtitles", read_substation)
_CONFIGURATION = _simple("configuration", read_configuration)
_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_SOUNDS = (".aac", ".flac", ".m4a", ".mp3", ".oga", ".ogg", ".opus", ".wav", ".wma")
_FILMS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm")
_TARS = (".bz2", ".gz", ".tar", ".tbz2", ".tgz", ".txz", ".xz")


def _code(language: str) -> Format:
    return _simple("code", lambda data: read_code(data, language=language))


FORMATS: dict[str, Format] = {
    ".txt": _PLAIN,
    ".text": _PLAIN,
    ".log": _PLAIN,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _WEB,
    ".htm": _WEB,
    ".xhtml": _WEB,
    ".mht": _WEB_ARCHIVE,
    ".mhtml": _WEB_ARCHIVE,
    ".pdf": Format("pdf", read_pdf),
    **dict.fromkeys(_DOCUMENTS, _DOCX),
    **dict.fromkeys(_PRESENTATIONS, _PPTX),
    **dict.fromkeys(_WORKBOOKS, _XLSX),
    **dict.fromkeys((".doc", ".dot"), Format("doc", read_doc)),
    **dict.fromkeys((".pps", ".ppt"), Format("ppt", read_ppt)),
    **dict.fromkeys((".xls", ".xlt"), Format("xls", read_xls)),
    **dict.fromkeys((".fodt", ".odt", ".ott"), _ODT),
    **dict.fromkeys((".fods", ".ods", ".ots"), _ODS),
    **dict.fromkeys((".fodp", ".odp", ".otp"), _ODP),
    ".epub": Format("epub", read_epub),
    ".eml": _simple("email", read_message),
    ".msg": _simple("email", read_outlook),
    ".mbox": _simple("email", read_mailbox),
    ".zip": Format("archive", read_zip),
    **dict.fromkeys(_TARS, _TAR),
    **dict.fromkeys((".adoc", ".asc", ".asciidoc"), _ASCIIDOC),
    **dict.fromkeys((".rest", ".rst"), _RESTRUCTURED),
    **dict.fromkeys((".bbl", ".ltx", ".tex"), _LATEX),
    ".rtf": Format("rtf", read_rtf),
    **dict.fromkeys((".csv", ".psv", ".tab", ".tsv"), _DELIMITED),
    **dict.fromkeys((".geojson", ".json"), _JSON),
    **dict.fromkeys((".jsonl", ".ndjson"), _JSON_LINES),
    **dict.fromkeys(_XMLS, _XML),
    ".ipynb": Format("notebook", read_notebook),
    ".ass": _SUBSTATION,
    ".ssa": _SUBSTATION,
    ".srt": _SUBTITLES,
    ".vtt": _SUBTITLES,
    **{suffix: _code(language) for suffix, language in LANGUAGES.items()},
    **dict.fromkeys(sorted(CONFIGURATION), _CONFIGURATION),
    **dict.fromkeys(_IMAGES, _IMAGE),
    **dict.fromkeys((*_SOUNDS, *_FILMS), _AUDIO),
}
SUFFIXES = frozenset(FORMATS)


def format_of(suffix: str) -> Format:
    """The document type and reader of a suffix; what is unknown is tried as plain text."""
    return FORMATS.get(suffix.lower(), _PLAIN)
