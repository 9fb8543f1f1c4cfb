"""One web address: its bytes, unless they are those that were read before, and a file name.

The file name's suffix selects the reader. A `SourceError` raised here gives its reason alone: the
caller adds the address.
"""

from __future__ import annotations

import ipaddress
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from ..errors import SourceError
from .discovery import check_size
from .registry import SUFFIXES

if TYPE_CHECKING:
    import httpcore

    from .http_connection import Clock

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


def content_charset(content_type: str) -> str:
    """Return the `charset` parameter of a Content-Type header; empty if absent."""
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


_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)
_NOT_MODIFIED = 304
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?")
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
_QUERY_SAFE = _PATH_SAFE + "?[]"
_GZIP_OR_ZLIB = 47
_PIECE_BYTES = 1 << 16
_HEADER_LIMIT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Validators a server sent (ETag, Last-Modified); empty if none."""

    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Fetch limits. `max_bytes` counts unpacked bytes, `timeout_seconds` covers redirects.

    `allow_private` permits private networks.
    """

    max_bytes: int
    timeout_seconds: float = 30.0
    max_redirects: int = 10
    allow_private: bool = False
    user_agent: str = "loregraph/0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Fetched response.

    `url` is where it was in the end, after redirects. `data` is unpacked; text in an encoding that
    only the header names is turned into UTF-8 with a mark. The suffix of `file_name` says its
    format. `date` is the server's date of it (ISO 8601, UTC, to the second), empty where unsaid.
    """

    url: str
    data: bytes
    file_name: str
    freshness: Freshness
    date: str = ""


def canonical_url(url: str) -> str:
    """Return the canonical form of a URL, which is its document id.

    Scheme and host in lower case (IDN as punycode), no default port and no fragment, an empty path
    as `/`, everything outside ASCII escaped. The query stays whole, for it may matter.

    Raises:
        SourceError: not http or https, no host, a user name or password, or no address at all.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise SourceError(f"is not a valid web address ({error}): check it") from error
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise SourceError("is not a web address: begin it with http:// or https://")
    if "@" in parts.netloc:
        raise SourceError("has a user name or password in it: leave them out of the address")
    host = _canonical_host(parts.hostname or "")
    place = host if port in (None, _PORTS[scheme]) else f"{host}:{port}"
    path = _escaped(parts.path or "/", safe=_PATH_SAFE)
    query = _escaped(parts.query, safe=_QUERY_SAFE)
    return f"{scheme}://{place}{path}{f'?{query}' if query else ''}"


def fetch_url(url: str, *, known: Freshness | None, limits: FetchLimits) -> Fetched | None:
    """Fetch a URL; None if the server says it is unchanged since `known`.

    Raises:
        SourceError: why it cannot be had, and what to do.
    """
    import httpcore

    from .http_connection import Clock, guarded_connections

    clock = Clock(limits.timeout_seconds)
    try:
        with guarded_connections(clock, allow_private=limits.allow_private) as pool:
            return _followed(pool, canonical_url(url), known=known, limits=limits)
    except httpcore.TimeoutException as error:
        raise _late(error, clock) from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise SourceError(_why_unreachable(error)) from error


class _Answer(NamedTuple):
    """A response whose body was read, if it was worth it; header names in lower case."""

    status: int
    headers: dict[str, str]
    data: bytes = b""


def _followed(
    pool: httpcore.ConnectionPool, url: str, *, known: Freshness | None, limits: FetchLimits
) -> Fetched | None:
    seen = set()
    for _ in range(limits.max_redirects + 1):
        seen.add(url)
        answer = _asked(pool, url, known=known, limits=limits)
        location = answer.headers.get("location", "")
        if answer.status in _REDIRECTS and location:
            url = canonical_url(urljoin(url, location))
            if url in seen:
                raise SourceError("redirects to itself: open it in a browser, and save the page")
            continue
        if answer.status == _NOT_MODIFIED and known is not None:
            return None
        if answer.status not in (200, 203):
            raise SourceError(_why_refused(answer))
        return _fetched(url, answer)
    raise SourceError(f"redirects more than {limits.max_redirects} times: add the final address")


def _asked(
    pool: httpcore.ConnectionPool, url: str, *, known: Freshness | None, limits: FetchLimits
) -> _Answer:
    headers = [(b"User-Agent", limits.user_agent), (b"Accept", "*/*"), (b"Accept-Encoding", "gzip")]
    if known is not None and known.etag:
        headers.append((b"If-None-Match", known.etag))
    if known is not None and known.last_modified:
        headers.append((b"If-Modified-Since", known.last_modified))
    encoded = [(name, value.encode("latin-1", "replace")) for name, value in headers]
    with pool.stream("GET", url, headers=encoded) as response:
        given = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in reversed(response.headers)  # of one that is there twice, the first
        }
        if response.status not in (200, 203):
            return _Answer(response.status, given)
        size = given.get("content-length", "")
        if size.isascii() and size.isdigit():
            check_size(int(size[:20]), max_bytes=limits.max_bytes)
        encoding = given.get("content-encoding", "").strip().lower()
        pieces = decompress_body(response.iter_stream(), encoding=encoding)
        return _Answer(response.status, given, _joined(pieces, max_bytes=limits.max_bytes))


def _fetched(url: str, answer: _Answer) -> Fetched:
    headers = answer.headers
    content_type = headers.get("content-type", "")
    modified = headers.get("last-modified", "")[:_HEADER_LIMIT]
    return Fetched(
        url=url,
        data=_marked(answer.data, content_type=content_type),
        file_name=file_name_of(
            url,
            content_type=content_type,
            disposition=headers.get("content-disposition", ""),
            data=answer.data,
        ),
        freshness=Freshness(etag=headers.get("etag", "")[:_HEADER_LIMIT], last_modified=modified),
        date=_iso(modified),
    )


def decompress_body(pieces: Iterable[bytes], *, encoding: str) -> Iterator[bytes]:
    """Yield the decompressed body of an HTTP response in pieces of at most 64 KiB.

    Only what was offered is taken (gzip), one layer of it: layers multiply what a bomb unfolds to.

    Raises:
        SourceError: another packing, damaged, or cut off.
    """
    if encoding in ("", "identity"):
        yield from pieces
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise SourceError(
            f"has an unsupported content encoding ({encoding[:40]!r}): "
            "save it with a browser, and add the file"
        )
    inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        for piece in pieces:
            rest = piece
            while rest and not inflater.eof:
                yield inflater.decompress(rest, _PIECE_BYTES)
                rest = inflater.unconsumed_tail
        yield inflater.flush()
    except zlib.error as error:
        raise SourceError(f"was damaged during the download ({error}): try again later") from error
    if not inflater.eof:
        raise SourceError("was cut off during the download: try again later")


def _joined(pieces: Iterable[bytes], *, max_bytes: int) -> bytes:
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > max_bytes:
            raise SourceError(
                f"is too large: more than {max_bytes:,} bytes; raise ingest.max_file_bytes"
            )
    return bytes(data)


def _marked(data: bytes, *, content_type: str) -> bytes:
    """Re-encode declared text as UTF-8 with a mark, as bytes alone may be ambiguous.

    Unchanged if the declaration is wrong.
    """
    name = content_charset(content_type)
    is_text = media_type(content_type).startswith("text/") or media_type(content_type).endswith(
        "xhtml+xml"
    )
    if not is_text or not name or name in ("utf-8", "utf8", "us-ascii", "iso-8859-1"):
        return data  # Latin-1 is what servers say of everything
    try:
        text = data.decode("gb18030" if name in ("gb2312", "gbk") else name)
        return text.removeprefix("\ufeff").encode("utf-8-sig")
    except (LookupError, UnicodeError):
        return data


def _iso(date: str) -> str:
    """Return an HTTP date in ISO 8601; empty if invalid."""
    try:
        when = parsedate_to_datetime(date)
        aware = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        return aware.strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, TypeError, OverflowError):
        return ""


def _canonical_host(host: str) -> str:
    """Lower case, IDN as punycode, IPv6 in brackets and short."""
    if ":" in host:
        try:
            if "%" in host:
                raise ValueError("an IPv6 zone is valid on one machine only")
            return f"[{ipaddress.IPv6Address(host).compressed}]"
        except ValueError as error:
            raise SourceError(f"has an invalid host ({host!r}): check it") from error
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError as error:
            raise SourceError(f"has an invalid host ({error}): check it") from error
    host = host.lower()
    if not _HOST.fullmatch(host) or ".." in host:
        raise SourceError(f"has an invalid host ({host[:100]!r}): check it")
    return host.removesuffix(".")


def _escaped(text: str, *, safe: str) -> str:
    quoted = quote(text, safe=safe, errors="replace")
    return _ESCAPE.sub(lambda found: found[0].upper(), quoted)


def _why_refused(answer: _Answer) -> str:
    status = answer.status
    match status:
        case 401 | 407:
            return f"asks for a login ({status}): save it with a browser, and add the file"
        case 402 | 403 | 451:
            return f"denies access ({status}): save it with a browser, and add the file"
        case 404 | 410:
            return f"was not found ({status}): check the address"
        case 429 | 503:
            return f"limits its requests ({status}): try again {_when(answer.headers)}"
        case 204 | 205:
            return f"is empty ({status}): there is nothing to read in it"
        case _ if status >= 500:
            return f"cannot be fetched: its server failed ({status}); try again later"
        case _:
            return f"cannot be fetched: its server answered {status}; check the address"


def _when(headers: dict[str, str]) -> str:
    """Format `Retry-After` (seconds or a date) for people."""
    wish = headers.get("retry-after", "").strip()
    if wish.isascii() and wish.isdigit():
        return f"in {wish[:9]} s"
    date = _iso(wish)
    return f"after {date}" if date else "later"


def _late(error: httpcore.TimeoutException, clock: Clock) -> SourceError:
    """Check whether a partial connection timeout also exceeded the deadline."""
    late = clock.error()
    late.__cause__ = error
    return late


def _why_unreachable(error: Exception) -> str:
    import httpcore

    detail = " ".join(str(error).split())[:200]
    if "CERTIFICATE_VERIFY_FAILED" in detail or "certificate" in detail.lower():
        return (
            f"has an untrusted certificate ({detail}): check the address; "
            "for a private authority, set SSL_CERT_FILE"
        )
    if "SSL" in detail or "TLS" in detail:
        return f"failed the TLS handshake ({detail}): check the address"
    if isinstance(error, httpcore.ConnectError):
        return f"cannot be reached ({detail}): check the address, and the connection"
    return f"sent an incomplete or invalid response ({detail}): try again later"
