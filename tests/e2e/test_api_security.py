"""Who is let in, what each one sees, and what hostile requests come to, at a real server."""

from __future__ import annotations

import base64
import io
import json
import re
import socket
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from api_server import ApiServer

NORTH = (
    "# The Zorblax\n\nThe survey ship Zorblax was built in Port Quux in 1999 by Ada Vane. "
    "Ada Vane sold the Zorblax to Brennock Lines.\n"
)
SOUTH = (
    "# The Wimbly\n\nThe ferry Wimbly was built in Port Snarl in 2003 by Ola Trent. "
    "Ola Trent sold the Wimbly to Ada Vane of Grimsel Lines.\n"
)
HIDDEN = ("Wimbly", "wimbly", "Snarl", "Trent", "Grimsel", "2003", "south")


def holds(text: str, word: str) -> bool:
    """Whether a word stands in a text; digits within a longer number do not count."""
    return re.search(rf"(?<![\d.]){re.escape(word)}(?!\d)", text) is not None


"""What stands in the south alone: nothing of it may ever reach the north."""


@dataclass(frozen=True)
class Tokens:
    north: str
    writer: str
    both: str
    admin: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    env = {
        "LOREGRAPH_SERVE__STALL_TIMEOUT_SECONDS": "1.5",
        "LOREGRAPH_SERVE__MAX_BODY_BYTES": "20000",
        "LOREGRAPH_SERVE__MAX_UPLOAD_BYTES": "2000000",
        "LOREGRAPH_INGEST__MAX_UNPACKED_BYTES": "10000000",
    }
    with ApiServer(tmp_path_factory.mktemp("secure"), env=env) as running:
        running.add_text(NORTH, document_id="ship", namespace="north")
        running.add_text(SOUTH, document_id="ferry", namespace="south")
        yield running


@pytest.fixture(scope="module")
def tokenless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server on loopback that knows no token."""
    with ApiServer(tmp_path_factory.mktemp("tokenless")) as running:
        running.add_text("Captain Ada Brine lit the lamp at Gull Quay.", document_id="lamp")
        yield running


@pytest.fixture(scope="module")
def tokens(server: ApiServer) -> Tokens:
    """Made while the server runs: from then on it asks for them."""
    return Tokens(
        north=server.token("north", reads=["north"]),
        writer=server.token("writer", writes=["north"]),
        both=server.token("both", reads=["north", "south"]),
        admin=server.token("admin", is_admin=True),
    )


EVERYTHING = [
    ("GET", "/v1/stats"),
    ("GET", "/v1/whoami"),
    ("GET", "/v1/usage"),
    ("GET", "/v1/settings"),
    ("GET", "/metrics"),
    ("GET", "/v1/namespaces"),
    ("GET", "/v1/documents"),
    ("GET", "/v1/documents/north::ship"),
    ("PATCH", "/v1/documents/north::ship"),
    ("DELETE", "/v1/documents/north::ship"),
    ("GET", "/v1/document-text?id=north::ship"),
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/x"),
    ("POST", "/v1/documents"),
    ("POST", "/v1/texts"),
    ("POST", "/v1/ask"),
    ("POST", "/v1/retrieve"),
    ("GET", "/v1/graph/entities"),
    ("GET", "/v1/graph/entities/x"),
    ("GET", "/v1/graph/neighbourhood?entity=x"),
    ("GET", "/v1/graph/paths?from=x&to=y"),
    ("GET", "/v1/graph/communities"),
    ("GET", "/v1/graph/communities/x"),
    ("GET", "/v1/graph/page"),
    ("POST", "/v1/graph/page"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/loregraph"),
    ("POST", "/v1/chat/completions"),
    ("GET", "/v1/memory"),
    ("DELETE", "/v1/memory"),
    ("GET", "/v1/memory/export"),
    ("POST", "/v1/memory/search"),
    ("POST", "/v1/memory/messages"),
    ("POST", "/v1/memory/sessions/x/close"),
    ("PUT", "/v1/memory/sessions/x"),
]
OPEN = {"/v1/health"}


def test_every_operation_is_among_those_tested(server: ApiServer, tokens: Tokens) -> None:
    with server.client() as client:
        schema = client.get("/v1/openapi.json").json()
    known = {path.partition("?")[0] for _, path in EVERYTHING}
    for path in schema["paths"]:
        head = path.partition("{")[0]
        assert path in OPEN or any(each.startswith(head) for each in known), path


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
@pytest.mark.parametrize(
    "authorization",
    [
        pytest.param(None, id="none"),
        pytest.param("Bearer lore_" + "A" * 43, id="wrong"),
        pytest.param("Basic YWRtaW46YWRtaW4=", id="another scheme"),
    ],
)
def test_without_a_token_there_is_nothing(
    server: ApiServer, tokens: Tokens, method: str, path: str, authorization: str | None
) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    with server.client() as client:
        refused = client.request(method, path, headers=headers)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")


def test_what_is_open_to_all_holds_nothing(server: ApiServer, tokens: Tokens) -> None:
    with server.client() as client:
        for path in ("/v1/health", "/v1/openapi.json", "/", "/docs", "/favicon.ico"):
            text = client.get(path).text
            head = client.head(path)
            assert (head.status_code < 400, head.content) == (True, b""), path
            assert not any(word in text for word in ("Zorblax", "Wimbly")), path


def test_a_token_of_one_namespace_sees_nothing_of_another(
    server: ApiServer, tokens: Tokens
) -> None:
    """By any endpoint, whatever is asked."""
    with server.client(tokens.admin) as admin:
        entities = admin.get("/v1/graph/entities", params={"limit": 200}).json()["items"]
        communities = admin.get("/v1/graph/communities").json()["items"]
        for request in asked_about(admin):  # nothing that was kept of it is for others
            assert admin.send(request).status_code == 200
    with server.client(tokens.north) as client:
        requests = [
            *looked_at(client),
            *asked_about(client),
            *explored(client, [each["id"] for each in entities]),
            *(
                client.build_request("GET", f"/v1/graph/communities/{coded(each['id'])}")
                for each in communities
            ),
        ]
        answered = 0
        for request in requests:
            response = client.send(request)
            answered += response.status_code == 200
            sent = str(request.url) + request.content.decode()
            shown = without_instance(response)
            told = [word for word in HIDDEN if holds(shown, word) and word not in sent]
            assert told == [], (sent, response.text[:1_000])
    assert answered > 40


def looked_at(client: httpx.Client) -> Iterator[httpx.Request]:
    for path in ("stats", "whoami", "namespaces", "documents", "jobs", "models"):
        yield client.build_request("GET", f"/v1/{path}")
    for params in ({"where": "namespace!=north"}, {"query": "ferr"}):
        yield client.build_request("GET", "/v1/documents", params=params)
    for path in ("entities", "communities"):
        yield client.build_request("GET", f"/v1/graph/{path}", params={"limit": 200})


def asked_about(client: httpx.Client) -> Iterator[httpx.Request]:
    for question in ("Who built it?", "What was sold to whom?", "Who is Ada Vane?"):
        for mode in ("auto", "local", "global"):
            for stream in (False, True):
                body = {"question": question, "mode": mode, "stream": stream}
                yield client.build_request("POST", "/v1/ask", json=body)
        for more in ({"top_k": 100}, {"filters": {"namespace": ["south", "north"]}}):
            yield client.build_request("POST", "/v1/retrieve", json={"question": question} | more)
        chat = {"messages": [{"role": "user", "content": question}]}
        yield client.build_request("POST", "/v1/chat/completions", json=chat)


def explored(client: httpx.Client, names: list[str]) -> Iterator[httpx.Request]:
    for name in names:
        yield client.build_request("GET", f"/v1/graph/entities/{coded(name)}")
        near = {"entity": name, "hops": 3}
        yield client.build_request("GET", "/v1/graph/neighbourhood", params=near)
        ends = {"from": "Ada Vane", "to": name}
        yield client.build_request("GET", "/v1/graph/paths", params=ends)


def reported(client: httpx.Client, communities: list[str]) -> Iterator[httpx.Request]:
    for name in communities:
        yield client.build_request("GET", f"/v1/graph/communities/{coded(name)}")


def coded(name: str) -> str:
    return quote(name, safe="")


def without_instance(response: httpx.Response) -> str:
    """What was told; a problem repeats the path that was asked for."""
    kind = response.headers["content-type"]
    if not kind.startswith("application/problem"):
        return response.text
    return json.dumps(response.json() | {"instance": ""})


def test_a_name_of_another_namespace_is_told_like_one_that_nobody_has(
    server: ApiServer, tokens: Tokens
) -> None:
    """Neither an answer, nor why it went its way, nor a score tells that there is such a word."""
    with server.client(tokens.north) as client:
        for question in ("What is {}?", "Who built the {} and when?"):
            known, unknown = (
                client.post(
                    "/v1/ask", json={"question": question.format(name), "mode": "auto"}
                ).json()
                for name in ("Wimbly", "Womblo")
            )
            assert known["text"] == unknown["text"]
            assert known["abstained"] == unknown["abstained"]
            assert known["route"] == unknown["route"]
        for path in ("/v1/documents/{}", "/v1/jobs/{}", "/v1/graph/entities/{}"):
            here, nowhere = client.get(path.format("south::ferry")), client.get(path.format("x::y"))
            assert (here.status_code, nowhere.status_code) == (404, 404)
            assert here.json()["title"] == nowhere.json()["title"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "/v1/documents?namespace=south", None, id="list"),
        pytest.param("GET", "/v1/graph/entities?namespace=south", None, id="entities"),
        pytest.param("POST", "/v1/ask", {"question": "x", "namespace": "south"}, id="ask"),
        pytest.param("POST", "/v1/retrieve", {"question": "x", "namespace": ""}, id="unnamed"),
        pytest.param("POST", "/v1/texts", {"text": "x", "namespace": "north"}, id="write"),
        pytest.param("DELETE", "/v1/documents/north::ship", None, id="remove"),
        pytest.param("GET", "/v1/usage", None, id="usage"),
        pytest.param("GET", "/v1/settings", None, id="settings"),
        pytest.param("GET", "/metrics", None, id="metrics"),
        pytest.param("GET", "/v1/graph/page?namespace=south", None, id="page"),
    ],
)
def test_a_reader_of_one_namespace_may_do_no_more(
    server: ApiServer, tokens: Tokens, method: str, path: str, body: dict[str, str] | None
) -> None:
    with server.client(tokens.north) as client:
        assert client.request(method, path, json=body).status_code == 403


def test_the_graph_page_of_a_reader_holds_nothing_of_others(
    server: ApiServer, tokens: Tokens
) -> None:
    with server.client(tokens.north) as client:
        text = client.get("/v1/graph/page").raise_for_status().text
    packed = re.findall(r'<script type="text/plain" id="[^"]+">([^<]*)</script>', text)
    inside = "".join(zlib.decompress(base64.b64decode(one)).decode() for one in packed)
    assert "Zorblax" in inside
    assert [word for word in HIDDEN if holds(inside, word)] == []
    first = text.split('id="first">')[1].split("</script>")[0]
    assert [word for word in HIDDEN if holds(first, word)] == []


def test_a_writer_writes_in_its_namespace_alone(server: ApiServer, tokens: Tokens) -> None:
    mine = {"text": "A buoy lies off Port Quux.", "document_id": "buoy", "namespace": "north"}
    with server.client(tokens.writer) as client:
        assert client.post("/v1/texts", json=mine).status_code == 200
        for namespace in ("south", ""):
            assert (
                client.post("/v1/texts", json={**mine, "namespace": namespace}).status_code == 403
            )
        climbing = {**mine, "document_id": "::south::ferry"}
        assert client.post("/v1/texts", json=climbing).status_code == 422
        file = {"files": ("south::ferry", b"Overwritten.")}
        sent = client.post("/v1/documents", files=file, data={"namespace": "north"})
        assert sent.json()["documents"] == ["north::south ferry"]
        server.finished(sent.json()["job"], token=tokens.writer)
        assert client.delete("/v1/documents/south::ferry").status_code == 404
        for name in ("buoy", "south ferry"):
            assert client.delete(f"/v1/documents/north::{name}").status_code == 200


def test_a_token_of_two_namespaces_sees_both_and_no_third(
    server: ApiServer, tokens: Tokens
) -> None:
    server.add_text("The Quorb is a rock.", document_id="rock", token=tokens.admin)
    with server.client(tokens.both) as client:
        listed = client.get("/v1/documents").json()["items"]
        found = client.post("/v1/retrieve", json={"question": "Quorb Zorblax Wimbly"}).json()
    assert [each["id"] for each in listed] == ["north::ship", "south::ferry"]
    assert {each["document_id"] for each in found["items"]} == {"north::ship", "south::ferry"}
    with server.client(tokens.admin) as client:
        assert client.delete("/v1/documents/rock").status_code == 200


def test_a_revoked_token_is_refused_at_once(server: ApiServer, tokens: Tokens) -> None:
    from engine.api.auth import TokenStore

    store = TokenStore(server.library / "tokens.json")
    _, secret = store.create("guest", reads=["north"])
    with server.client(secret) as client:
        assert client.get("/v1/whoami").json()["name"] == "guest"
        store.revoke("guest")
        assert client.get("/v1/whoami").status_code == 401
    kept = store.file.read_text(encoding="utf8")
    assert secret not in kept
    assert store.file.stat().st_mode & 0o077 == 0


# --- browsers and proxies -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "evil.example"}, id="rebound name"),
        pytest.param({"Host": "evil.example:80"}, id="with a port"),
        pytest.param({"Host": ""}, id="none"),
    ],
)
def test_another_name_for_this_machine_is_refused(
    server: ApiServer, tokens: Tokens, headers: dict[str, str]
) -> None:
    with server.client(tokens.admin) as client:
        assert client.get("/v1/stats", headers=headers).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Origin": "https://evil.example"}, id="another origin"),
        pytest.param({"Origin": "null"}, id="a file or a frame"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="said by the browser"),
    ],
)
def test_a_page_of_another_origin_cannot_post(
    server: ApiServer, tokens: Tokens, headers: dict[str, str]
) -> None:
    with server.client(tokens.admin) as client:
        refused = client.post("/v1/texts", json={"text": "x"}, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (
            403,
            "urn:loregraph:problem:origin",
        )
        read = client.get("/v1/stats", headers=headers)
    assert "access-control-allow-origin" not in read.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(("method", "path"), EVERYTHING)
def test_without_a_token_nothing_runs_for_another_origin(
    tokenless: ApiServer, method: str, path: str, site: str
) -> None:
    said_by_browsers = (
        {"Sec-Fetch-Site": site},
        {"Origin": "https://evil.example"},
        {"Referer": "https://evil.example/page"},
        {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    )
    with tokenless.client() as client:
        for headers in said_by_browsers:
            refused = client.request(method, path, headers=headers)
            assert refused.status_code == 403, (method, path, headers)
            assert "another origin" in refused.text


def test_without_a_token_the_page_itself_programs_and_links_to_it_get_in(
    tokenless: ApiServer,
) -> None:
    with tokenless.client() as client:
        navigated = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert client.get("/", headers=navigated).status_code == 200
        for headers in (
            {},
            {"Sec-Fetch-Site": "same-origin"},
            {"Sec-Fetch-Site": "none"},
            {"Origin": tokenless.url},
            {"Referer": f"{tokenless.url}/"},
        ):
            assert client.get("/v1/stats", headers=headers).status_code == 200


def test_no_get_answers_a_question(tokenless: ApiServer) -> None:
    with tokenless.client() as client:
        refused = client.get("/v1/graph/page", params={"question": "Who is Ada Brine?"})
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        page = client.post("/v1/graph/page", json={"question": "Who is Ada Brine?"})
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")


def test_a_form_cannot_be_taken_for_json(server: ApiServer, tokens: Tokens) -> None:
    body = json.dumps({"text": "x"})
    with server.client(tokens.admin) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            refused = client.post("/v1/texts", content=body, headers={"Content-Type": kind})
            assert refused.status_code == 415


def test_forwarded_headers_are_not_believed(server: ApiServer, tokens: Tokens) -> None:
    forged = {
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "Forwarded": "for=127.0.0.1;host=evil.example",
        "X-Real-IP": "127.0.0.1",
        "X-Original-URL": "/v1/health",
        "X-HTTP-Method-Override": "DELETE",
    }
    with server.client() as client:
        assert client.get("/v1/stats", headers=forged).status_code == 401
    with server.client(tokens.north) as client:
        response = client.get("/v1/documents/north::ship", headers=forged)
        assert response.status_code == 200
        assert "evil" not in response.text + str(response.headers)
        assert client.get("/v1/documents/north::ship").status_code == 200


def test_every_answer_tells_a_browser_to_be_careful(server: ApiServer, tokens: Tokens) -> None:
    with server.client(tokens.admin) as client:
        for path in ("/v1/stats", "/v1/nothing", "/", "/static/nothing.js", "/v1/graph/page"):
            headers = client.get(path).headers
            assert headers["x-content-type-options"] == "nosniff", path
            assert "default-src 'none'" in headers["content-security-policy"], path
            assert "server" not in headers
        assert "sandbox" in client.get("/v1/graph/page").headers["content-security-policy"]


# --- what names anything ------------------------------------------------------------------------

CLIMBING = ["../../../etc/passwd", "/etc/passwd", "..\\..\\x", "library.db", "tokens.json", "\x00"]


@pytest.mark.parametrize("name", CLIMBING)
def test_no_parameter_is_a_path(server: ApiServer, tokens: Tokens, name: str) -> None:
    part = coded(name)
    with server.client(tokens.admin) as client:
        for path in ("documents", "jobs", "graph/entities", "graph/communities", "models"):
            assert client.get(f"/v1/{path}/{part}").status_code in (404, 422), path
        for path in (f"/static/{part}", f"/static/..%2f{part}", f"/static/js/%2e%2e/{part}"):
            found = client.get(path)
            assert found.status_code == 404, path
            assert "root:" not in found.text
        asked = [
            client.get("/v1/document-text", params={"id": name}),
            client.get("/v1/graph/neighbourhood", params={"entity": name}),
            client.get("/v1/graph/paths", params={"from": name, "to": name}),
            client.get("/v1/graph/page", params={"focus": name}),
            client.get("/v1/graph/page", params={"community": name}),
            client.get("/v1/documents", params={"namespace": name}),
            client.get("/v1/documents", params={"cursor": name}),
            client.get("/v1/documents", params={"where": name}),
            client.post("/v1/texts", json={"text": "x", "namespace": name}),
        ]
    for response in asked:
        assert response.status_code in (200, 404, 422), response.text
        assert "root:" not in response.text
        assert str(server.library) not in response.text


# --- too much, and too slowly -------------------------------------------------------------------


def test_bodies_over_the_limit_are_refused(server: ApiServer, tokens: Tokens) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"question": "'
        for _ in range(100):
            yield b"x" * 1_000

    headers = {"Content-Type": "application/json"}
    with server.client(tokens.admin) as client:
        told = client.post("/v1/ask", content=b"x" * 30_000, headers=headers)
        assert (told.status_code, told.json()["status"]) == (413, 413)
        assert client.post("/v1/ask", content=endless(), headers=headers).status_code == 413
        file = {"files": ("big.txt", b"x" * 2_100_000)}
        assert client.post("/v1/documents", files=file).status_code == 413
        assert client.get("/v1/health").status_code == 200
    assert not list((server.library / "incoming").glob("*/*/*"))


def raw(server: ApiServer, sent: bytes, *, token: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    client.sendall(sent.replace(b"TOKEN", token.encode()))
    return client


def test_slow_headers_and_slow_bodies_are_hung_up_on(server: ApiServer, tokens: Tokens) -> None:
    head = (
        b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    slow_head = raw(server, b"GET /v1/health HTTP/1.1\r\nHost: loc", token="")
    slow_body = raw(server, head, token=tokens.admin)
    with slow_head, slow_body:
        assert slow_body.recv(4_096).startswith(b"HTTP/1.1 408 ")
        assert slow_head.recv(4_096) == b""


def test_a_reader_that_does_not_read_is_left(server: ApiServer, tokens: Tokens) -> None:
    """Its request does not stay in flight for ever."""
    server.add_text("word " * 41_000, document_id="long", token=tokens.admin)
    ask = (
        b"GET /v1/document-text?id=long HTTP/1.1\r\nHost: localhost\r\n"
        b"Authorization: Bearer TOKEN\r\n\r\n"
    )
    with server.client(tokens.admin) as client:
        idle = [raw(server, ask * 40, token=tokens.admin) for _ in range(3)]
        deadline = time.monotonic() + 60
        while in_flight(client) > 1:  # this one
            assert time.monotonic() < deadline
            time.sleep(0.2)
        for each in idle:
            each.close()
        assert client.delete("/v1/documents/long").status_code == 200


def in_flight(client: httpx.Client) -> float:
    figures = client.get("/metrics").text
    line = next(each for each in figures.splitlines() if each.startswith("loregraph_requests_in_f"))
    return float(line.split()[-1])


def test_what_is_no_http_is_refused(server: ApiServer) -> None:
    for sent in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET /\x00 HTTP/1.1\r\n\r\n"):
        with raw(server, sent, token="") as client:
            assert client.recv(4_096).startswith(b"HTTP/1.1 4")
    with raw(server, b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", token="") as client:
        assert client.recv(4_096).startswith(b"HTTP/1.1 4")


# --- hostile files ------------------------------------------------------------------------------


def zip_bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.txt", b"0" * 200_000_000)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("bomb.zip", zip_bomb(), id="zip bomb"),
        pytest.param("deep.json", b"[" * 500_000, id="deep JSON"),
        pytest.param("deep.xml", b"<a>" * 300_000, id="deep XML"),
        pytest.param(
            "laughs.xml",
            b'<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>',
            id="entities",
        ),
        pytest.param("broken.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 100, id="broken PDF"),
    ],
)
def test_a_hostile_upload_costs_itself_alone(
    server: ApiServer, tokens: Tokens, name: str, data: bytes
) -> None:
    with server.client(tokens.admin) as client:
        sent = client.post("/v1/documents", files={"files": (name, data)})
        job = server.finished(sent.json()["job"], token=tokens.admin)
        assert job["state"] == "done"
        for document in job["report"]["added"]:
            assert client.delete(f"/v1/documents/{document}").status_code == 200
        assert client.get("/v1/health").status_code == 200


def test_the_server_ends_when_it_is_told_to(tmp_path: Path) -> None:
    server = ApiServer(tmp_path)
    server.start()
    with server.client() as client:
        assert client.get("/v1/health").json()["status"] == "ok"
    server.stop()
    assert "Traceback" not in server.log()
