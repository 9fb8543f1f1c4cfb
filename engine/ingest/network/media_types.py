"""File names for web responses, so that the suffix selects a reader.

Pure.
"""

from __future__ import annotations

import re
from email.message import Message
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from ..formats import SUFFIXES

_SUFFIX_OF = {
    "application/atom+xml": ".xml",
    "application/epub+zip": ".epub",
    "application/json": ".json",
    "application/jsonl": ".jsonl",
    "application/ld+json": ".json",
    "application/msword": ".doc",
    "application/pdf": ".pdf",
    "application/rss+xml": ".xml",
    "application/rtf": ".rtf",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-outlook": ".msg",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/x-ipynb+json": ".ipynb",
    "application/x-ndjson": ".jsonl",
    "application/x-pdf": ".pdf",
    "application/x-subrip": ".srt",
    "application/x-tex": ".tex",
    "application/xhtml+xml": ".xhtml",
    "application/xml": ".xml",
    "application/zip": ".zip",
    "application/x-zip-compressed": ".zip",
    "audio/flac": ".flac",
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/tiff": ".tiff",
    "image/webp": ".webp",
    "message/rfc822": ".eml",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/rtf": ".rtf",
    "text/tab-separated-values": ".tsv",
    "text/vtt": ".vtt",
    "text/x-markdown": ".md",
    "text/x-python": ".py",
    "text/xml": ".xml",
}
_SAYS_LITTLE = frozenset(
    {
        "",
        "application/binary",
        "application/download",
        "application/force-download",
        "application/octet-stream",
        "application/x-download",
        "binary/octet-stream",
        "text/plain",
    }
)
_KEEPS_THE_PATH = {  # a wide type, and the narrower formats that are sent as it
    ".html": {".htm", ".xhtml"},
    ".json": {".ipynb", ".jsonl"},
    ".md": {".markdown"},
    ".jpg": {".jpeg"},
    ".tiff": {".tif"},
    ".zip": {".docx", ".epub", ".odp", ".ods", ".odt", ".pptx", ".xlsx"},
}
_IN_A_ZIP = (
    (b"mimetypeapplication/epub+zip", ".epub"),
    (b"opendocument.text", ".odt"),
    (b"opendocument.spreadsheet", ".ods"),
    (b"opendocument.presentation", ".odp"),
    (b"word/", ".docx"),
    (b"xl/", ".xlsx"),
    (b"ppt/", ".pptx"),
)
_STARTS = (
    (b"%PDF-", ".pdf"),
    (b"{\\rtf", ".rtf"),
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"ID3", ".mp3"),
    (b"WEBVTT", ".vtt"),
)
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?><!--.*?-->\s*)*+<(?:!doctype\s+html|html|head)\b", re.I
)
_XML = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml\b")
_NAME_LIMIT = 100
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]+')


def file_name_of(url: str, *, content_type: str, disposition: str, data: bytes) -> str:
    """Return a name with the format's suffix.

    By media type, then URL or `Content-Disposition`, then content, else plain text.
    """
    named = _named(disposition) or unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    name = _UNSAFE.sub("_", named).strip(". ")
    path = PurePosixPath(name)
    own = path.suffix.lower()
    suffix = _suffix(media_type(content_type), own=own, data=data)
    stem = path.stem if own and (own == suffix or own in SUFFIXES) else name
    return f"{(stem or urlsplit(url).hostname or 'page')[:_NAME_LIMIT]}{suffix}"


def media_type(content_type: str) -> str:
    """Return the media type without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def charset(content_type: str) -> str:
    """Return the `charset` parameter; empty if absent."""
    header = Message()
    header["Content-Type"] = content_type
    return str(header.get_content_charset() or "")


def _suffix(type_: str, *, own: str, data: bytes) -> str:
    said = _SUFFIX_OF.get(type_, "")
    if not said and type_.endswith("+xml"):
        said = ".xml"
    if not said and type_.endswith("+json"):
        said = ".json"
    if said and type_ not in _SAYS_LITTLE:
        return own if own in _KEEPS_THE_PATH.get(said, ()) else said
    if own in SUFFIXES:
        return own
    return _sniffed(data[:4096])


def _sniffed(head: bytes) -> str:
    if head.startswith(b"PK\x03\x04"):
        return next((suffix for sign, suffix in _IN_A_ZIP if sign in head), ".zip")
    for start, suffix in _STARTS:
        if head.startswith(start):
            return suffix
    if _PAGE.match(head):
        return ".html"
    return ".xml" if _XML.match(head) else ".txt"


def _named(disposition: str) -> str:
    """Return the server's proposed file name without folders."""
    if not disposition:
        return ""
    header = Message()
    header["Content-Disposition"] = disposition
    return (header.get_filename() or "").replace("\\", "/").rpartition("/")[2]
