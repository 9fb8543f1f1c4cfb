"""Documents over HTTP: added, listed, read, removed, by a real server."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import ApiServer

LAMP = (
    "# The lamp at Gull Quay\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901. "
    "Orrin Vale repaired it with Tomas Reed after the storm of 1907.\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("api")) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: ApiServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def upload(client: httpx.Client, *files: tuple[str, bytes], **form: str) -> httpx.Response:
    return client.post("/v1/documents", files=[("files", each) for each in files], data=form)


def test_an_upload_becomes_a_document_that_answers(server: ApiServer, client: httpx.Client) -> None:
    sent = upload(client, ("lamp.md", LAMP.encode()), metadata='{"tags": ["red"]}')
    assert sent.status_code == 202
    assert sent.json()["documents"] == ["lamp.md"]
    job = server.finished(sent.json()["job"])
    assert (job["state"], job["report"]["added"]) == ("done", ["lamp.md"])
    answer = client.post("/v1/ask", json={"question": "Who lit the lamp at Gull Quay?"}).json()
    citation = answer["citations"][0]
    span = {"id": "lamp.md", "start": citation["start"], "end": citation["end"]}
    window = client.get("/v1/document-text", params=span).json()
    assert window["text"] == citation["quote"]
    assert "Ada Brine" in window["text"]


def test_the_same_upload_again_does_nothing_and_says_so(client: httpx.Client) -> None:
    again = upload(client, ("lamp.md", LAMP.encode()), metadata='{"tags": ["red"]}')
    assert again.status_code == 200
    assert again.json() == {
        "job": None,
        "state": "done",
        "documents": ["lamp.md"],
        "unchanged": True,
    }


def test_a_document_says_what_is_known_of_it(client: httpx.Client) -> None:
    found = client.get("/v1/documents/lamp.md").json()
    assert found["title"] == "The lamp at Gull Quay"
    assert (found["status"], found["pending"], found["namespace"]) == ("indexed", 0, "")
    assert found["metadata"]["tags"] == ["red"]
    listed = client.get("/v1/documents", params={"where": "tags=red"}).json()
    assert [each["id"] for each in listed["items"]] == ["lamp.md"]
    assert {key: found[key] for key in listed["items"][0]} == listed["items"][0]


def test_what_is_said_of_a_document_is_replaced_and_counts_at_once(
    server: ApiServer, client: httpx.Client
) -> None:
    server.add_text("Ola Trent mended the buoy.", document_id="buoy", metadata={"tags": ["old"]})
    said = {"tags": ["new"], "date": "2024-05-01"}
    done = client.patch("/v1/documents/buoy", json={"metadata": said})
    assert (done.status_code, done.json()["changed"]) == (200, ["buoy"])
    assert client.get("/v1/documents/buoy").json()["given"] == said
    for tag, names in (("old", []), ("new", ["buoy"])):
        asked = {"question": "Who mended the buoy?", "filters": [f"tags={tag}"]}
        found = client.post("/v1/retrieve", json=asked).json()["items"]
        assert [each["document_id"] for each in found] == names
    assert client.patch("/v1/documents/none", json={"metadata": {}}).status_code == 404
    wrong = client.patch("/v1/documents/buoy", json={"metadata": {"tags": {"a": 1}}})
    assert wrong.status_code == 422
    assert client.delete("/v1/documents/buoy").status_code == 200


def test_pages_of_documents_hold_while_others_come_and_go(
    server: ApiServer, client: httpx.Client
) -> None:
    for number in range(5):
        server.add_text(f"Note {number} of the pile.", document_id=f"p{number}", namespace="pages")
    seen, cursor = [], None
    for turn in range(3):
        wanted: dict[str, Any] = {"namespace": "pages", "limit": 2, "cursor": cursor}
        page = client.get(
            "/v1/documents", params={key: value for key, value in wanted.items() if value}
        ).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next"]
        if turn == 0:
            assert client.delete("/v1/documents/pages::p0").status_code == 200
            server.add_text("Comes late.", document_id="p0a", namespace="pages")
    assert seen == [f"pages::p{number}" for number in range(5)]
    assert cursor is None


def test_a_removed_document_is_gone(server: ApiServer, client: httpx.Client) -> None:
    server.add_text("The Zorblax was built in 1999.", document_id="ship")
    report = client.delete("/v1/documents/ship")
    assert (report.status_code, report.json()["removed"]) == (200, ["ship"])
    assert client.get("/v1/documents/ship").status_code == 404
    assert client.delete("/v1/documents/ship").status_code == 404
    found = client.post("/v1/retrieve", json={"question": "Zorblax"}).json()
    assert "ship" not in {each["document_id"] for each in found["items"]}


def test_an_archive_goes_in_and_out_whole(server: ApiServer, client: httpx.Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "Alpha is the first letter of the Greek alphabet.")
        archive.writestr("../../b.txt", "Beta is the second letter of the Greek alphabet.")
    job = server.finished(upload(client, ("greek.zip", packed.getvalue())).json()["job"])
    names = job["report"]["added"]
    assert names
    assert all(name.startswith("greek.zip!/") for name in names)
    removed = client.delete("/v1/documents/greek.zip").json()["removed"]
    assert removed == names


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("../../etc/passwd.txt", "passwd.txt", id="climbing"),
        pytest.param("/etc/cron.txt", "cron.txt", id="absolute"),
        pytest.param("C:\\Windows\\x.txt", "x.txt", id="windows"),
        pytest.param("north::x.txt", "north x.txt", id="another's namespace"),
        pytest.param(".hidden.txt", "hidden.txt", id="hidden"),
        pytest.param("灯塔.md", "灯塔.md", id="Chinese"),
        pytest.param("a" * 400 + ".txt", "a" * 196 + ".txt", id="long"),
    ],
)
def test_a_file_name_never_becomes_a_path(
    server: ApiServer, client: httpx.Client, given: str, kept: str
) -> None:
    sent = upload(client, (given, b"Some words to be found."), namespace="names")
    assert sent.json()["documents"] == [f"names::{kept}"]
    assert server.finished(sent.json()["job"])["report"]["added"] == [f"names::{kept}"]
    assert not list((server.library / "incoming").glob("*/*/"))


def test_what_cannot_be_read_is_a_row_of_the_report(
    server: ApiServer, client: httpx.Client
) -> None:
    sent = upload(client, ("bad.pdf", b"%PDF-1.7 nothing of the kind"), ("good.txt", b"Fine."))
    job = server.finished(sent.json()["job"])
    assert (job["state"], job["report"]["added"]) == ("done", ["good.txt"])
    assert [each["source"] for each in job["report"]["failed"]] == ["bad.pdf"]


def test_two_uploads_at_once_both_arrive(server: ApiServer, client: httpx.Client) -> None:
    sent = [
        upload(client, (f"u{number}.txt", f"Upload number {number}.".encode()))
        for number in range(2)
    ]
    jobs = [server.finished(each.json()["job"]) for each in sent]
    assert [job["report"]["added"] for job in jobs] == [["u0.txt"], ["u1.txt"]]
    listed = client.get("/v1/jobs").json()["items"]
    assert [job["id"] for job in listed[:2]] == [jobs[1]["id"], jobs[0]["id"]]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param({"text": ""}, "text", id="nothing in it"),
        pytest.param({"text": "x", "document_id": "north::x"}, "document_id", id="namespace in id"),
        pytest.param({"text": "x", "namespace": "a/b"}, "namespace", id="namespace"),
        pytest.param({"text": "x", "metadata": {"a": {"b": 1}}}, "metadata", id="metadata"),
        pytest.param({"text": "x", "colour": 1}, "colour", id="unknown field"),
    ],
)
def test_a_wrong_text_is_a_problem_that_names_the_field(
    client: httpx.Client, body: dict[str, Any], reason: str
) -> None:
    refused = client.post("/v1/texts", json=body)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert (problem["status"], problem["instance"]) == (422, "/v1/texts")
    assert reason in problem["detail"]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1e999", "1" + "0" * 400, "[" * 200])
def test_a_number_that_is_none_is_refused(client: httpx.Client, value: str) -> None:
    closing = "]" * value.count("[")
    headers = {"Content-Type": "application/json"}
    body = f'{{"text": "A note.", "metadata": {{"size": {value}{closing}}}}}'
    assert client.post("/v1/texts", content=body, headers=headers).status_code == 422
    sent = upload(client, ("n.txt", b"A note."), metadata=f'{{"size": {value}{closing}}}')
    assert sent.status_code == 422
    asked = f'{{"question": "x", "filters": {{"title": {value}{closing}}}}}'
    found = client.post("/v1/retrieve", content=asked, headers=headers)
    assert found.status_code in (200, 422)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/texts", r'{"text": "x \ud800"}'),
        ("/v1/texts", r'{"text": "x", "document_id": "\ud800"}'),
        ("/v1/texts", r'{"text": "x", "metadata": {"\ud800": "a"}}'),
        ("/v1/texts", r'{"text": "x", "metadata": {"a": ["\ud800"]}}'),
        ("/v1/ask", r'{"question": "\ud800"}'),
        ("/v1/chat/completions", r'{"messages": [{"role": "user", "content": "\ud800"}]}'),
    ],
)
def test_half_a_character_is_refused(client: httpx.Client, path: str, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    assert client.post(path, content=body, headers=headers).status_code == 422


def test_jobs_are_told_after_a_restart(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server, server.client() as client:
        done = server.finished(upload(client, ("a.txt", b"First of all.")).json()["job"])
    (file,) = (server.library / "incoming").glob("*/jobs.json")
    rows = json.loads(file.read_text(encoding="utf8"))
    rows.append({**rows[0], "id": "0123456789abcdef", "state": "running"})
    file.write_text(json.dumps(rows), encoding="utf8")
    with ApiServer(tmp_path) as server, server.client() as client:
        states = {job["id"]: job["state"] for job in client.get("/v1/jobs").json()["items"]}
        assert states == {done["id"]: "done", "0123456789abcdef": "interrupted"}
