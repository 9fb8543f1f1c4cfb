"""Commands that a running `loregraph serve` answers: same output, same user, same settings."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from api_server import NO_RATE, ApiServer
from command_line import REPOSITORY, environment, run

from engine.cli.served import POINTER, answer_elsewhere, state_digest

TEXT = "The keeper Maren Holt lit the lamp on the rock in 1874. 灯塔的守护者名叫马仁。"
COMMANDS = (
    ("ask", "Who lit the lamp?"),
    ("search", "lamp", "--json"),
    ("search", "lamp", "--explain"),
    ("stats",),
    ("stats", "--json", "--documents"),
    ("search", "lamp", "--top-k", "0"),
    ("ask", ""),
    ("ask", "Who?", "--filter", "no condition"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("served")) as server:
        server.add_text(TEXT, document_id="lamp")
        yield server


def relayed(
    server: ApiServer, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command from a new interpreter, which asks the server first."""
    return subprocess.run(
        [sys.executable, REPOSITORY / "loregraph.py", *arguments, "--library", server.library],
        env=environment(**NO_RATE | dict(env or {})),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def timeless(text: str) -> str:
    return re.sub(r'("seconds": )[\d.e-]+', r"\1…", text)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_prints_and_ends_as_it_does_by_itself(
    server: ApiServer, command: tuple[str, ...]
) -> None:
    direct = run(server.folder, *command, "--library", str(server.library), env=NO_RATE)
    answered = relayed(server, *command)

    assert timeless(answered.stdout) == timeless(direct.stdout)
    assert answered.stderr == direct.stderr
    assert answered.returncode == direct.returncode


def test_a_command_that_a_server_answers_imports_next_to_nothing(server: ApiServer) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Maren Holt" in relayed(server, "ask", "Who lit the lamp?").stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    relay = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    code = "import time; import engine.engine; print(time.process_time())"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert relay < float(loaded.stdout) / 3


def test_the_socket_is_the_users_alone_and_goes_with_the_server(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        pointer = server.library / POINTER
        address = Path(pointer.read_text(encoding="utf8").strip())
        assert pointer.stat().st_mode & 0o077 == 0
        assert address.parent.stat().st_mode & 0o077 == 0
        server.add_text(TEXT, document_id="lamp")
    assert not pointer.exists()
    assert not address.parent.exists()
    assert "lit the lamp" in run(tmp_path, "ask", "Who lit the lamp?", env=NO_RATE).stdout


@pytest.fixture
def like_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if "LOREGRAPH" in name or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name, value in environment(**NO_RATE).items():
        if "LOREGRAPH" in name:
            monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("like_the_server")
def test_what_a_server_may_not_answer_is_left_to_the_command(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = ["--library", str(server.library)]
    assert answer_elsewhere(["ask", "Who lit the lamp?", *library]) == 0
    assert "Maren Holt" in capsys.readouterr().out
    for other in (
        ["add", "here", *library],
        ["remove", "lamp", *library],
        ["ask", "Who?", "--history", "talk.json", *library],
        ["--verbose", "ask", "Who?", *library],
        ["ask", "Who?", "--profile", "openai", *library],
        ["ask", "Who?", "--library", str(server.folder / "none")],
        ["ask", "Who?", "--library"],
    ):
        assert answer_elsewhere(other) is None
    monkeypatch.setenv("LOREGRAPH_ANSWER__MIN_EVIDENCE", "0.9")
    assert answer_elsewhere(["ask", "Who lit the lamp?", *library]) is None
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("like_the_server")
@pytest.mark.parametrize(
    "line",
    [
        b"no json\n",
        b"[]\n",
        b'{"arguments": "ask"}\n',
        json.dumps({"arguments": ["remove", "lamp"], "terminal": [False, False]}).encode() + b"\n",
        b"x" * 1_200_000 + b"\n",
    ],
    ids=["text", "list", "string", "other command", "too long"],
)
def test_a_request_that_is_none_is_declined_or_dropped(server: ApiServer, line: bytes) -> None:
    address = (server.library / POINTER).read_text(encoding="utf8").strip()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(20)
        connection.connect(address)
        try:
            connection.sendall(line)
            said = connection.makefile("rb").readline()
        except (BrokenPipeError, ConnectionResetError):
            said = b""
    assert said in (b"", b'{"declined": true}\n')
    assert answer_elsewhere(["stats", "--library", str(server.library)]) == 0


def test_a_server_that_has_gone_leaves_the_command_to_itself(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        server.add_text(TEXT, document_id="lamp")
        assert server.process is not None
        server.kill()
    assert (server.library / POINTER).exists()
    done = relayed(server, "stats")
    assert done.returncode == 0, done.stderr
    assert "documents        1" in done.stdout


def test_settings_differ_by_the_content_of_a_profile(tmp_path: Path) -> None:
    profile = tmp_path / "own.yaml"
    profile.write_text("answer: {min_evidence: 0.3}\n", encoding="utf8")
    first = state_digest(profile)
    profile.write_text("answer: {min_evidence: 0.4}\n", encoding="utf8")
    assert len({first, state_digest(profile), state_digest(None), state_digest("openai")}) == 4
