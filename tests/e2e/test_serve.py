"""`loregraph serve` and `loregraph token` as somebody types them."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer
from click.testing import Result
from filelock import FileLock
from typer.testing import CliRunner

from engine.cli.server import token_app
from engine.errors import EngineError

Run = Callable[..., Any]


def test_it_says_where_it_listens_in_one_line_and_ends_cleanly_on_an_interrupt(
    tmp_path: Path,
) -> None:
    server = ApiServer(tmp_path)
    server.start()
    assert server.log() == f"loregraph listens at {server.url} (Ctrl-C ends it)\n"
    assert server.process is not None
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=60) == 0
    assert server.log().count("\n") == 1


def test_a_port_that_is_taken_is_one_clear_line(loregraph: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = loregraph(tmp_path, "serve", "--port", port)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"port already used: {port} on 127.0.0.1" in done.stderr
    assert not (tmp_path / "library").exists()


def test_beyond_this_machine_it_wants_a_token(loregraph: Run, tmp_path: Path) -> None:
    done = loregraph(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "loregraph token create" in done.stderr


def test_a_token_is_shown_once_and_kept_as_a_hash(tmp_path: Path) -> None:
    made = token(tmp_path, "create", "ann", "--read", "north", "--write", "")
    secret = made.stdout.strip()
    assert secret.startswith("lore_")
    assert len(secret) > 40
    assert "not shown again" in made.stderr
    kept = tmp_path / "tokens.json"
    assert secret not in kept.read_text(encoding="utf8")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    shown = token(tmp_path, "list", "--json").stdout
    (row,) = json.loads(shown)
    rights = {"read": ["north"], "write": [""], "admin": False}
    assert row == {"id": row["id"], "name": "ann", **rights, "expires": None}
    assert secret not in shown
    assert token(tmp_path, "list").stdout == f"{row['id']}  ann  reads north, writes ''\n"
    assert token(tmp_path, "revoke", "ann").stdout == f"{row['id']} ann revoked\n"
    assert "no tokens" in token(tmp_path, "list").stdout
    token(tmp_path, "create", "bo", "--admin", "--expires", "90d")
    assert " bo  admin, until " in token(tmp_path, "list").stdout
    assert json.loads(token(tmp_path, "list", "--json").stdout)[0]["expires"].endswith("+00:00")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param(["create", "bob"], "token without rights", id="no right"),
        pytest.param(["create", "bob", "--read", "a/b"], "namespace 'a/b'", id="namespace"),
        pytest.param(["revoke", "nobody"], "unknown token: 'nobody'", id="unknown"),
    ],
)
def test_a_token_that_cannot_be_is_refused(
    tmp_path: Path, arguments: list[str], reason: str
) -> None:
    error = token(tmp_path, *arguments).exception
    assert isinstance(error, EngineError)
    assert reason in str(error)


def test_two_tokens_have_two_names(tmp_path: Path) -> None:
    token(tmp_path, "create", "ann", "--admin")
    assert "already used: 'ann'" in str(token(tmp_path, "create", "ann", "--admin").exception)


def token(library: Path, *arguments: str) -> Result:
    return CliRunner().invoke(token_app, [*arguments, "--library", str(library)])


def test_a_list_of_tokens_that_is_broken_lets_nobody_in(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        token = server.token("ann", is_admin=True)
        file = server.library / "tokens.json"
        with server.client(token) as client:
            assert client.get("/v1/stats").status_code == 200
            whole = file.read_bytes()
            file.write_bytes(whole[:-20])
            assert client.get("/v1/stats").status_code == 503
            file.unlink()  # lost: the door stays shut
            assert client.get("/v1/stats").status_code == 401
            file.write_bytes(whole)
            assert client.get("/v1/stats").status_code == 200


BIG = "".join(f"Captain Ada Brine met Orrin Vale on day {n}. It rained.\n\n" for n in range(2_500))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_an_accepted_upload_is_added_by_the_next_server(tmp_path: Path, end: str) -> None:
    with ApiServer(tmp_path) as server, server.client() as client:
        sent = client.post("/v1/documents", files=[("files", ("big.md", BIG.encode()))])
        later = client.post("/v1/documents", files=[("files", ("small.md", b"It was calm."))])
        getattr(server, end)()
    assert "Traceback" not in server.log()
    with ApiServer(tmp_path) as server, server.client() as client:
        for job, name in ((sent.json()["job"], "big.md"), (later.json()["job"], "small.md")):
            assert server.finished(job)["state"] == "done"
            assert client.get(f"/v1/documents/{name}").status_code == 200
        assert not list(server.library.glob("incoming/*/*/"))


def test_two_servers_of_one_library_lose_no_upload(tmp_path: Path) -> None:
    """Neither the second one's start nor its end touches what the first one owes."""
    names = [f"{number}.md" for number in range(12)]
    with ApiServer(tmp_path) as first, first.client() as client:
        sent = client.post("/v1/documents", files=[("files", ("big.md", BIG.encode()))])
        jobs = [sent.json()["job"]]
        for name in names[:6]:
            files = [("files", (name, f"The lamp of {name} was lit.".encode()))]
            jobs.append(client.post("/v1/documents", files=files).json()["job"])
        beside = ApiServer(tmp_path / "second", library=first.library)
        with beside as second, second.client() as other:
            for name in names[6:]:
                files = [("files", (name, f"The lamp of {name} was lit.".encode()))]
                job = other.post("/v1/documents", files=files).json()["job"]
                assert second.finished(job)["state"] == "done"
                assert client.get(f"/v1/jobs/{job}").json()["state"] == "done"
        assert [first.finished(job)["state"] for job in jobs] == ["done"] * len(jobs)
        held = {row["id"] for row in client.get("/v1/documents").json()["items"]}
    assert held == {"big.md", *names}


def test_a_job_whose_upload_is_missing_has_failed(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server, server.client() as client:
        client.post("/v1/documents", files=[("files", ("big.md", BIG.encode()))])
        files = [("files", ("small.md", b"It was calm."))]
        job = client.post("/v1/documents", files=files).json()["job"]
        (found,) = server.library.glob("incoming/*/*/small.md")
        found.unlink()
        done = server.finished(job)
    assert done["state"] == "failed"
    assert "'small.md'" in done["error"]
    assert "send it again" in done["error"]


def test_another_origin_may_call_where_settings_say_so(tmp_path: Path) -> None:
    env = {"LOREGRAPH_SERVE__CORS_ORIGINS": "[https://friend.example]"}
    asked = {"Access-Control-Request-Method": "POST"}
    with ApiServer(tmp_path, env=env) as server, server.client() as client:
        for origin, allowed in (("https://friend.example", True), ("https://foe.example", False)):
            headers = {"Origin": origin}
            flight = client.options("/v1/retrieve", headers=headers | asked)
            assert ("access-control-allow-origin" in flight.headers) == allowed
            sent = client.post("/v1/retrieve", json={"question": "x"}, headers=headers)
            assert sent.status_code == (200 if allowed else 403)


def test_requests_are_limited_a_minute(tmp_path: Path) -> None:
    env = {"LOREGRAPH_SERVE__REQUESTS_PER_MINUTE": "5"}
    with ApiServer(tmp_path, env=env) as server, server.client() as client:
        got = [client.get("/v1/stats").status_code for _ in range(7)]
        refused = client.get("/v1/stats")
        assert got.count(200) in (5, 6)  # one may have come back meanwhile
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 12
        assert client.get("/v1/health").status_code == 200


def test_a_tls_certificate_is_used(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    subprocess.run(
        [*make, "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    env = {
        "LOREGRAPH_SERVE__TLS_CERTIFICATE": str(certificate),
        "LOREGRAPH_SERVE__TLS_KEY": str(key),
    }
    with ApiServer(tmp_path / "here", env=env) as server:
        assert server.url.startswith("https://")
        with server.client(verify=False) as client:
            assert client.get("/v1/health").status_code == 200


def test_an_error_names_no_place_on_the_server(tmp_path: Path) -> None:
    """Another process writes for longer than this one waits."""
    env = {"LOREGRAPH_LIBRARY__LOCK_TIMEOUT_SECONDS": "0.2"}
    with (
        ApiServer(tmp_path, env=env) as server,
        FileLock(server.library / "write.lock"),
        server.client() as client,
    ):
        refused = client.post("/v1/texts", json={"text": "A note."})
    assert refused.status_code == 503
    assert "another process is writing" in refused.json()["detail"]
    assert str(tmp_path) not in refused.text
