"""Fetching one web address, from real servers on this machine."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest import http_connection as network
from engine.ingest.http import (
    Fetched,
    FetchLimits,
    Freshness,
    canonical_url,
    decompress_body,
    fetch_url,
    file_name_of,
)
from engine.ingest.http_connection import is_public
from engine.ingest.registry import SUFFIXES

LIMITS = FetchLimits(max_bytes=100_000, timeout_seconds=5, allow_private=True)


@dataclass
class Server:
    """Answers each path with raw bytes, or hands the connection to a function."""

    port: int
    pages: dict[str, bytes | Callable[[socket.socket], None]] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    scheme: str = "http"

    def url(self, path: str = "/", *, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def page(self, path: str, body: bytes = b"", *headers: str, status: str = "200 OK") -> str:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
        self.pages[path] = "\r\n".join([*lines, *headers, "", ""]).encode("latin-1") + body
        return self.url(path)


def _serve(listener: socket.socket, server: Server, context: ssl.SSLContext | None = None) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # closed: the test is over
        threading.Thread(target=_answer, args=(connection, server, context), daemon=True).start()


def _answer(connection: socket.socket, server: Server, context: ssl.SSLContext | None) -> None:
    with suppress(OSError), connection:
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        request = b""
        while b"\r\n\r\n" not in request:
            piece = connection.recv(65_536)
            if not piece:
                return
            request += piece
        server.requests.append(request)
        page = server.pages.get(request.split()[1].decode("latin-1"))
        if callable(page):
            page(connection)
        else:
            missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            connection.sendall(page or missing)
        connection.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = Server(listener.getsockname()[1])
        thread = threading.Thread(target=_serve, args=(listener, running), daemon=True)
        thread.start()
        yield running
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of its own for `localhost`, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: there is no certificate to test TLS with")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", str(path), "-out", f"{path}.crt"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = Server(listener.getsockname()[1], scheme="https")
        threading.Thread(target=_serve, args=(listener, running, context), daemon=True).start()
        yield running
        listener.shutdown(socket.SHUT_RDWR)


def _got(url: str, *, known: Freshness | None = None, limits: FetchLimits = LIMITS) -> Fetched:
    fetched = fetch_url(url, known=known, limits=limits)
    assert fetched is not None
    return fetched


def _reason(url: str, *, limits: FetchLimits = LIMITS) -> str:
    with pytest.raises(SourceError) as caught:
        fetch_url(url, known=None, limits=limits)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- what is fetched ------------------------------------------------------------------------


def test_a_page_comes_with_all_that_the_server_says_of_it(server: Server) -> None:
    url = server.page(
        "/a/page",
        b"<p>text",
        "Content-Type: text/html",
        'ETag: "1"',
        "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
    )
    assert _got(url) == Fetched(
        url=url,
        data=b"<p>text",
        file_name="page.html",
        freshness=Freshness(etag='"1"', last_modified="Sun, 06 Nov 1994 08:49:37 GMT"),
        date="1994-11-06T08:49:37Z",
    )
    request = server.requests[0].decode()
    assert f"Host: 127.0.0.1:{server.port}\r\n" in request
    assert "User-Agent: loregraph/" in request


def test_what_is_known_is_asked_for_and_not_fetched_again(server: Server) -> None:
    url = server.page("/", status="304 Not Modified")
    known = Freshness(etag='"ä"', last_modified="Sun, 06 Nov 1994 08:49:37 GMT")
    assert fetch_url(url, known=known, limits=LIMITS) is None
    request = server.requests[0].decode("latin-1")
    assert 'If-None-Match: "ä"\r\n' in request
    assert "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n" in request


def test_not_modified_without_having_asked_is_a_failure(server: Server) -> None:
    assert "304" in _reason(server.page("/", status="304 Not Modified"))


def test_redirects_are_followed_to_the_address_that_counts(server: Server) -> None:
    end = server.page("/b/end.txt", b"text", "Content-Type: text/plain")
    server.page("/a/2", b"", "Location: ../b/end.txt#part", status="307 Temporary Redirect")
    url = server.page("/a/1", b"", f"Location: {server.url('/a/2')}", status="301 Moved")
    fetched = _got(url)
    assert (fetched.url, fetched.data, fetched.file_name) == (end, b"text", "end.txt")


def test_a_packed_body_is_unpacked(server: Server) -> None:
    body = gzip.compress(b"text " * 9_000)
    url = server.page("/a.txt", body, "Content-Encoding: gzip")
    assert _got(url).data == b"text " * 9_000


def test_a_body_in_chunks_is_joined(server: Server) -> None:
    server.pages["/"] = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    assert _got(server.url()).data == b"abcde"


def test_an_encoding_that_only_the_header_names_is_not_lost(server: Server) -> None:
    body = "短文".encode("gb18030")
    url = server.page("/a.txt", body, "Content-Type: text/plain; charset=GB2312")
    assert _got(url).data.decode("utf-8-sig") == "短文"
    wrong = server.page("/b.txt", b"\xff\xfe\xfd", "Content-Type: text/plain; charset=big5")
    assert _got(wrong).data == b"\xff\xfe\xfd"


def test_tls_verifies_the_name(
    tls_server: Server, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls_server.page("/a.txt", b"text")
    url = tls_server.url("/a.txt", host="localhost")
    assert "an untrusted certificate" in _reason(url)
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    assert _got(url).data == b"text"
    assert "an untrusted certificate" in _reason(tls_server.url("/a.txt"))


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "header", "reason"),
    [
        pytest.param("404 Not Found", "X: y", "was not found (404): check the address", id="404"),
        pytest.param("401 Unauthorized", "X: y", "asks for a login (401)", id="401"),
        pytest.param("403 Forbidden", "X: y", "denies access (403)", id="403"),
        pytest.param("429 Slow", "Retry-After: 30", "(429): try again in 30 s", id="429"),
        pytest.param(
            "503 Busy",
            "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT",
            "(503): try again after 1994-11-06T08:49:37Z",
            id="503",
        ),
        pytest.param("429 Slow", "Retry-After: soon", "(429): try again later", id="429 oddly"),
        pytest.param("500 Oops", "X: y", "its server failed (500)", id="500"),
        pytest.param("418 Teapot", "X: y", "answered 418", id="418"),
        pytest.param("302 Found", "X: y", "answered 302", id="to nowhere"),
        pytest.param("302 Found", "Location: ftp://a/b", "http:// or https://", id="to ftp"),
        pytest.param("302 Found", "Location: file:///etc/passwd", "http://", id="to a file"),
        pytest.param("302 Found", "Location: http://u:p@a/", "password", id="to a login"),
    ],
)
def test_what_the_server_refuses_is_said_with_what_to_do(
    server: Server, status: str, header: str, reason: str
) -> None:
    assert reason in _reason(server.page("/", b"", header, status=status))


def test_redirects_end(server: Server) -> None:
    for number in range(20):
        server.page(f"/{number}", b"", f"Location: /{number + 1}", status="302 Found")
    server.page("/loop", b"", "Location: /loop#again", status="302 Found")
    assert "more than 10 times" in _reason(server.url("/0"))
    assert len(server.requests) == 11
    assert "redirects to itself" in _reason(server.url("/loop"))


def test_private_addresses_are_refused_unless_allowed(server: Server) -> None:
    url = server.page("/", b"secret")
    limits = FetchLimits(max_bytes=1_000)
    for host in ("127.0.0.1", "localhost", "0x7f.1", "2130706433", "0.0.0.0"):  # noqa: S104
        assert "private network" in _reason(server.url("/", host=host), limits=limits)
    assert server.requests == []
    assert _got(url).data == b"secret"


def test_a_redirect_into_a_private_network_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.page("/", b"", "Location: http://127.0.0.1:1/", status="302 Found")
    monkeypatch.setattr(network, "is_public", lambda address: address == "127.0.0.1")
    monkeypatch.setattr(
        network,
        "resolve_host",
        lambda host, port, *, clock: ["127.0.0.1" if port != 1 else "10.0.0.1"],
    )
    limits = FetchLimits(max_bytes=1_000)
    assert "'127.0.0.1' is 10.0.0.1" in _reason(server.url("/"), limits=limits)
    assert len(server.requests) == 1


def test_the_address_that_was_checked_is_the_one_connected_to(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server that says a public address first and a private one then gains nothing."""
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    asked = []

    def getaddrinfo(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        return [(2, 1, 6, "", (address, port)) for address in answers[len(asked) - 1]]

    server.page("/", b"text")
    monkeypatch.setattr(socket, "getaddrinfo", _only_for("rebind.example", getaddrinfo))
    assert _got(server.url("/", host="rebind.example")).data == b"text"
    assert asked == ["rebind.example"]
    assert f"Host: rebind.example:{server.port}".encode() in server.requests[0]


def _only_for(name: str, fake: Callable[..., object]) -> Callable[..., object]:
    real = socket.getaddrinfo
    return lambda host, *rest, **named: (
        fake(host, *rest, **named) if host == name else real(host, *rest, **named)
    )


def test_of_several_addresses_the_first_that_answers_is_taken(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.page("/", b"text")
    monkeypatch.setattr(network, "resolve_host", lambda *_, clock: ["127.0.0.77", "127.0.0.1"])
    assert _got(server.url("/")).data == b"text"


def test_a_bomb_is_stopped_where_it_passes_the_limit(server: Server) -> None:
    url = server.page("/", gzip.compress(b"\0" * 50_000_000), "Content-Encoding: gzip")
    assert "is too large: more than 100,000 bytes" in _reason(url)


def test_a_size_that_the_server_admits_is_refused_at_once(server: Server) -> None:
    server.pages["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    assert "is too large: 99,999,999,999 bytes" in _reason(server.url())


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
def test_packings_that_were_not_asked_for_are_refused(server: Server, encoding: str) -> None:
    url = server.page("/", b"x", f"Content-Encoding: {encoding}")
    assert "unsupported content encoding" in _reason(url)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(gzip.compress(b"text " * 99)[:-9], "cut off", id="cut off"),
        pytest.param(b"no gzip at all", "was damaged during the download", id="damaged"),
    ],
)
def test_a_packed_body_that_is_not_whole_is_a_failure(
    server: Server, body: bytes, reason: str
) -> None:
    assert reason in _reason(server.page("/", body, "Content-Encoding: gzip"))


def _drip(first: bytes, drop: bytes) -> Callable[[socket.socket], None]:
    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        for _ in range(200):
            time.sleep(0.05)
            connection.sendall(drop)

    return send


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(b"", id="nothing yet"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: ", id="in a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", id="in the body"),
    ],
)
def test_a_server_that_drips_gains_no_time(server: Server, first: bytes) -> None:
    server.pages["/"] = _drip(first, b"x" if first else b"")
    limits = FetchLimits(max_bytes=100_000, timeout_seconds=0.5, allow_private=True)
    assert "timed out after 0.5 s" in _reason(server.url(), limits=limits)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(b"", "incomplete or invalid response", id="nothing"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "incomplete or invalid response", id="not HTTP"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx",
            "incomplete or invalid response",
            id="cut off",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000,
            "incomplete or invalid response",
            id="header bomb",
        ),
    ],
)
def test_answers_that_are_none_are_failures(server: Server, answer: bytes, reason: str) -> None:
    server.pages["/"] = lambda connection: connection.sendall(answer)
    assert reason in _reason(server.url())


def test_what_cannot_be_reached_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "cannot be reached" in _reason(f"http://127.0.0.1:{port}/")
    assert "cannot be resolved" in _reason("http://no-such-name.invalid/")
    assert "TLS" in _reason_of_plain_server()


def _reason_of_plain_server() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = Server(listener.getsockname()[1], scheme="https")
        threading.Thread(target=lambda: _greet_plainly(listener.accept()[0]), daemon=True).start()
        return _reason(running.url())


def _greet_plainly(connection: socket.socket) -> None:
    with suppress(OSError), connection:
        connection.recv(1_000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_a_name_server_that_is_silent_costs_only_the_time_that_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(2) or [])
    limits = FetchLimits(max_bytes=1_000, timeout_seconds=0.2)
    assert "timed out after 0.2 s" in _reason("http://slow.example/", limits=limits)


def test_a_proxy_of_the_environment_is_not_asked(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert _got(server.page("/", b"text")).data == b"text"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        pytest.param("93.184.216.34", True, id="public"),
        pytest.param("2606:4700::1111", True, id="public IPv6"),
        pytest.param("10.1.2.3", False, id="10/8"),
        pytest.param("172.16.0.1", False, id="172.16/12"),
        pytest.param("192.168.1.1", False, id="192.168/16"),
        pytest.param("127.0.0.2", False, id="loopback"),
        pytest.param("169.254.169.254", False, id="cloud metadata"),
        pytest.param("100.64.0.1", False, id="CGNAT"),
        pytest.param("0.0.0.0", False, id="unspecified"),  # noqa: S104
        pytest.param("0.1.2.3", False, id="this network"),
        pytest.param("224.0.0.1", False, id="multicast"),
        pytest.param("240.0.0.1", False, id="reserved"),
        pytest.param("255.255.255.255", False, id="broadcast"),
        pytest.param("192.0.2.1", False, id="documentation"),
        pytest.param("198.18.0.1", False, id="benchmarking"),
        pytest.param("::1", False, id="IPv6 loopback"),
        pytest.param("::", False, id="IPv6 unspecified"),
        pytest.param("fe80::1%eth0", False, id="IPv6 link-local with zone"),
        pytest.param("fd00::1", False, id="unique local"),
        pytest.param("fec0::1", False, id="site-local"),
        pytest.param("ff02::1", False, id="IPv6 multicast"),
        pytest.param("ff0e::1", False, id="IPv6 global multicast"),
        pytest.param("::ffff:127.0.0.1", False, id="mapped loopback"),
        pytest.param("::ffff:93.184.216.34", True, id="mapped public"),
        pytest.param("::127.0.0.1", False, id="IPv4-compatible"),
        pytest.param("2002:7f00:1::", False, id="6to4 loopback"),
        pytest.param("64:ff9b::7f00:1", False, id="NAT64 loopback"),
        pytest.param("64:ff9b::5db8:d822", True, id="NAT64 public"),
        pytest.param("64:ff9b:1::1", False, id="local NAT64"),
        pytest.param("2001:0:4136:e378:8000:63bf:3fff:fdd2", False, id="Teredo"),
        pytest.param("2001:db8::1", False, id="IPv6 documentation"),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@given(data=st.binary(max_size=5_000), cuts=st.lists(st.integers(1, 100), max_size=20))
def test_unpacking_does_not_depend_on_how_the_body_was_cut(data: bytes, cuts: list[int]) -> None:
    for pack in (gzip.compress, zlib.compress):
        packed, pieces = pack(data), []
        for cut in cuts:
            pieces.append(packed[:cut])
            packed = packed[cut:]
        assert b"".join(decompress_body([*pieces, packed], encoding="gzip")) == data


def test_unpacked_pieces_are_small_whatever_they_unfold_to() -> None:
    packed = gzip.compress(b"\0" * 20_000_000)
    pieces = [len(piece) for piece in decompress_body([packed], encoding="gzip")]
    assert (max(pieces), sum(pieces)) == (65_536, 20_000_000)


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("HTTP://Example.COM", "http://example.com/", id="case and empty path"),
        pytest.param("https://a.example:443/x#part", "https://a.example/x", id="port, fragment"),
        pytest.param("http://a.example:443/", "http://a.example:443/", id="another port"),
        pytest.param("http://a.example:080/", "http://a.example/", id="port with a zero"),
        pytest.param("https://a.example/P?b=2&a=1", "https://a.example/P?b=2&a=1", id="query"),
        pytest.param(
            "https://a.example/?utm_source=x", "https://a.example/?utm_source=x", id="tracking"
        ),
        pytest.param("https://bücher.example/", "https://xn--bcher-kva.example/", id="IDN"),
        pytest.param(
            "https://例子.测试/中 文",
            "https://xn--fsqu00a.xn--0zwm56d/%E4%B8%AD%20%E6%96%87",
            id="Chinese",
        ),
        pytest.param("https://a.example/%e4%B8%ad", "https://a.example/%E4%B8%AD", id="escapes"),
        pytest.param("http://[0:0::1]:8080/", "http://[::1]:8080/", id="IPv6"),
        pytest.param("https://a.example./", "https://a.example/", id="trailing dot"),
        pytest.param(" https://a.example/\n", "https://a.example/", id="white space"),
        pytest.param("https://a_b.example/", "https://a_b.example/", id="underscore"),
    ],
)
def test_an_address_has_one_canonical_form(url: str, expected: str) -> None:
    assert canonical_url(url) == expected
    assert canonical_url(expected) == expected


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("ftp://a.example/", "http:// or https://", id="ftp"),
        pytest.param("file:///etc/passwd", "http:// or https://", id="file"),
        pytest.param("a.example", "http:// or https://", id="no scheme"),
        pytest.param("http:///path", "invalid host", id="no host"),
        pytest.param("http://user:secret@a.example/", "password", id="login"),
        pytest.param("http://a.example:99999/", "check it", id="port too large"),
        pytest.param("http://a.example:x/", "check it", id="port no number"),
        pytest.param("http://[::1/", "check it", id="bracket"),
        pytest.param("http://[fe80::1%25eth0]/", "check it", id="zone"),
        pytest.param("http://a..example/", "check it", id="empty label"),
        pytest.param("http://a\\b.example/", "check it", id="backslash"),
        pytest.param("http://a b.example/", "check it", id="space"),
        pytest.param("http://-☃-.example/", "check it", id="no IDN"),
    ],
)
def test_what_is_no_address_is_refused_without_its_secrets(url: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason) as caught:
        canonical_url(url)
    assert "secret" not in str(caught.value)


@given(st.text(max_size=30).map(lambda tail: f"http://a.example/{tail}"))
def test_canonical_is_idempotent_and_ascii(url: str) -> None:
    once = canonical_url(url)
    assert canonical_url(once) == once
    assert once.isascii()
    assert not any(character.isspace() for character in once)


def _zip(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return file.getvalue()


@pytest.mark.parametrize(
    ("path", "content_type", "data", "expected"),
    [
        pytest.param("/a.html", "text/html; charset=utf-8", b"", "a.html", id="as it says"),
        pytest.param("/", "text/html", b"", "h.example.html", id="no path"),
        pytest.param("/a/", "TEXT/HTML", b"", "a.html", id="a folder"),
        pytest.param("/index.aspx", "text/html", b"", "index.aspx.html", id="a program"),
        pytest.param("/a.htm", "text/html", b"", "a.htm", id="a fitting suffix stays"),
        pytest.param("/a.pdf", "text/html", b"", "a.html", id="a page in front of the file"),
        pytest.param("/pdf/2404.16130", "application/pdf", b"", "2404.16130.pdf", id="a number"),
        pytest.param("/README.md", "text/plain", b"", "README.md", id="raw text"),
        pytest.param("/a.pdf", "application/octet-stream", b"", "a.pdf", id="path for the vague"),
        pytest.param("/x", "application/octet-stream", b"%PDF-1.4", "x.pdf", id="sniffed PDF"),
        pytest.param("/x", "", b"\n<!DOCTYPE html><p>", "x.html", id="sniffed HTML"),
        pytest.param("/x", "", _zip("[Content_Types].xml", "word/d.xml"), "x.docx", id="docx"),
        pytest.param("/x", "application/octet-stream", _zip("a"), "x.zip", id="sniffed zip"),
        pytest.param("/x", "text/plain", b"words", "x.txt", id="plain text"),
        pytest.param("/x", "application/vnd.api+json", b"{}", "x.json", id="+json"),
        pytest.param("/%E4%B8%AD%E6%96%87.txt", "text/plain", b"", "中文.txt", id="escaped"),
        pytest.param("/a%2F..%2Fb.txt", "text/plain", b"", "b.txt", id="hidden folders"),
    ],
)
def test_the_suffix_suits_what_was_sent(
    path: str, content_type: str, data: bytes, expected: str
) -> None:
    assert expected == file_name_of(
        f"https://h.example{path}", content_type=content_type, disposition="", data=data
    )


@pytest.mark.parametrize(
    ("disposition", "expected"),
    [
        pytest.param('attachment; filename="report.pdf"', "report.pdf", id="plain"),
        pytest.param("attachment; filename*=UTF-8''%E6%8A%A5.pdf", "报.pdf", id="extended"),
        pytest.param('attachment; filename="../../etc/x.pdf"', "x.pdf", id="folders"),
        pytest.param("inline", "download.pdf", id="none"),
    ],
)
def test_the_server_may_name_the_file(disposition: str, expected: str) -> None:
    assert expected == file_name_of(
        "https://h.example/download",
        content_type="application/pdf",
        disposition=disposition,
        data=b"",
    )


@given(st.text(max_size=60), st.text(max_size=30), st.binary(max_size=30))
def test_a_file_name_is_safe_and_has_a_suffix(path: str, content_type: str, data: bytes) -> None:
    name = file_name_of(
        f"http://h.example/{path}", content_type=content_type, disposition=path, data=data
    )
    assert os.path.basename(name) == name  # noqa: PTH119
    assert Path(name).suffix
    assert len(name) < 150
    assert ".html" in SUFFIXES
