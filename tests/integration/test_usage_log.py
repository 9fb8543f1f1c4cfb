"""What is paid for is booked and kept, also when it was of no use or the command is interrupted."""

from __future__ import annotations

import json
import signal
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import environment
from openai_server import OpenAIServer, Reply, Request
from reading_model import read_like_a_model
from typer.testing import CliRunner
from warm_process import Forked, forked

from engine.cli.main import app
from engine.storage.library import Library
from engine.storage.usage_log import UsageLog
from engine.types import Usage

ROOT = Path(__file__).parents[2]
TEXT = "Ada Brine {0} lit the lamp with Orrin Vale in 19{0}. Mara Quill {0} kept the log."


def _environment(server: OpenAIServer) -> dict[str, str]:
    return {
        "LOREGRAPH_LLM__KIND": "openai_like",
        "LOREGRAPH_LLM__MODEL": "m",
        "LOREGRAPH_LLM__BASE_URL": server.base_url,
        "LOREGRAPH_LLM__CONCURRENCY": "2",
        "LOREGRAPH_GRAPH__EXTRACTOR": "llm",
        "LOREGRAPH_GRAPH__PACK_TOKENS": "100",
        "LOREGRAPH_GRAPH__SPACY_MODEL": "none",
        "LOREGRAPH_EMBEDDING__KIND": "none",
    }


def _documents(folder: Path, *, count: int) -> Path:
    folder.mkdir()
    for number in range(10, 10 + count):
        (folder / f"{number}.txt").write_text(TEXT.format(number))
    return folder


def _usage(library: Path, server: OpenAIServer) -> dict[str, Any]:
    command = ["usage", "--library", str(library), "--json"]
    run = CliRunner().invoke(app, command, env=_environment(server))
    return {row["stage"]: row for row in json.loads(run.stdout)}


@pytest.mark.parametrize(
    ("second", "failed"),
    [
        pytest.param("I would rather not.", 2, id="never"),
        pytest.param(None, 0, id="when asked again"),
    ],
)
def test_usage_shows_the_replies_that_a_pack_brought_nothing_by(
    second: str | None, failed: int, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.script("Certainly!")
    openai_server.answer_with(lambda request: second or read_like_a_model(request))
    folder, library = _documents(tmp_path / "documents", count=1), tmp_path / "library"
    command = ["add", str(folder), "--library", str(library)]
    run = CliRunner().invoke(app, command, env=_environment(openai_server))
    assert run.exit_code == (3 if failed else 0), run.output
    row = _usage(library, openai_server)["extraction"]
    assert (row["calls"], row["failed"]) == (2, failed)


def test_reports_that_could_not_be_written_end_with_3_until_they_are(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    def answer(request: Request) -> str:
        return "no" if "<quoted " in request.question else read_like_a_model(request)

    openai_server.answer_with(answer)
    folder, library = _documents(tmp_path / "documents", count=3), tmp_path / "library"
    command = ["add", str(folder), "--library", str(library)]
    eager = {"LOREGRAPH_GRAPH__REPORTS": "eager", "LOREGRAPH_GRAPH__REPORT_MIN_ENTITIES": "2"}
    environment = _environment(openai_server) | eager
    for _ in range(2):
        run = CliRunner().invoke(app, command, env=environment)
        assert run.exit_code == 3, run.output
        assert "report(s) stay as they are" in run.output
        assert "pending" not in run.output
    openai_server.answer_with(read_like_a_model)
    assert CliRunner().invoke(app, [*command, "--retry"], env=environment).exit_code == 0


def test_usage_tells_what_the_provider_had_kept(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    with closing(Library(tmp_path / "library")) as held, closing(UsageLog(held)) as ledger:
        usage = Usage(calls=2, prompt_tokens=2_000, cached_tokens=1_500, completion_tokens=10)
        ledger.add(day="2026-01-01", stage="map", model="m", usage=usage)
    assert _usage(tmp_path / "library", openai_server)["map"]["cached_tokens"] == 1_500
    run = CliRunner().invoke(app, ["usage", "--library", str(tmp_path / "library")])
    told = "2 calls, 2,000 tokens in (1,500 of them cached by the provider), 10 out"
    assert run.stdout.splitlines() == [f"  2026-01-01 map (m): {told}, free", f"  in all {told}"]


def test_usage_holds_what_waits_while_another_writes(tmp_path: Path) -> None:
    with closing(Library(tmp_path / "library")) as held, closing(UsageLog(held)) as ledger:
        written = Usage(calls=2, prompt_tokens=20, completion_tokens=3)
        ledger.add(day="2026-01-02", stage="map", model="m", usage=written)
        holding, done = threading.Event(), threading.Event()

        def write() -> None:
            with held.write():
                holding.set()
                done.wait(60)

        writer = threading.Thread(target=write)
        writer.start()
        holding.wait()
        ledger.add(day="2026-01-02", stage="map", model="m", usage=written, failed=1)
        ledger.add(day="2026-01-01", stage="map", model="m", usage=written)
        during = ledger.rows()
        done.set()
        writer.join()
    with closing(Library(tmp_path / "library")) as held, closing(UsageLog(held)) as ledger:
        assert ledger.rows() == during
    told = [(row.day, row.calls, row.failed, row.prompt_tokens) for row in during]
    assert told == [("2026-01-01", 2, 0, 20), ("2026-01-02", 4, 1, 40)]


def _until_it_waits(process: Forked) -> None:
    """Until no thread of it has had anything to do in ten looks, however busy the machine is."""
    quiet = 0
    while quiet < 10 and process.poll() is None:
        states = [_state(thread) for thread in Path(f"/proc/{process.pid}/task").iterdir()]
        quiet = quiet + 1 if set(states) <= {"S", ""} else 0
        time.sleep(0.02)


def _state(thread: Path) -> str:
    """`S` for asleep; nothing where it has ended meanwhile."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(Reply(stall=True), id="a call in flight"),
        pytest.param(Reply(status=503, headers={"Retry-After": "900"}), id="waiting to try again"),
    ],
)
def test_an_interrupted_reading_ends_at_once_and_keeps_what_was_read(
    bad: Reply, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    folder, library = _documents(tmp_path / "documents", count=30), tmp_path / "library"
    good = 2

    def answer(request: Request) -> Reply | str:
        return read_like_a_model(request) if len(openai_server.requests) <= good else bad

    openai_server.answer_with(answer)
    command = ["add", str(folder), "--library", str(library)]
    env = environment(**_environment(openai_server), LOREGRAPH_LLM__TIMEOUT_SECONDS="900")
    with (tmp_path / "said").open("wb") as errors:
        process = forked(command, cwd=tmp_path, env=env, stdout=errors, stderr=errors)
    # Once a server asks to be left alone, the other of two calls at a time may not begin any more.
    sent = good + (2 if bad.stall else 1)
    while len(openai_server.requests) < sent and process.poll() is None:
        time.sleep(0.02)
    _until_it_waits(process)  # it has read the replies that came
    process.send_signal(signal.SIGINT)
    process.wait(timeout=600)
    said = (tmp_path / "said").read_text(encoding="utf8")
    # It waited neither for the silent server nor for the time to ask again.
    assert openai_server.at_once == (2 if bad.stall else 0)
    assert sent <= len(openai_server.requests) <= good + 2
    assert process.returncode == 130, said
    assert "interrupted" in said

    row = _usage(library, openai_server)["extraction"]
    assert (row["calls"], row["failed"]) == ((4, 2) if bad.stall else (2, 0))
    openai_server.answer_with(read_like_a_model)
    asked = len(openai_server.requests)
    again = CliRunner().invoke(app, command, env=_environment(openai_server))
    assert again.exit_code == 0, again.output
    read = [request.question for request in openai_server.requests]
    assert not [one for one in read[asked:] if one in read[:good]]
    doctor = ["doctor", "--library", str(library)]
    budget = {"LOREGRAPH_BUDGET__MAX_TOKENS": "50000", "LOREGRAPH_BUDGET__PER": "day"}
    sound = CliRunner().invoke(app, doctor, env=_environment(openai_server) | budget)
    assert sound.exit_code == 0, sound.output
    calls = _usage(library, openai_server)["extraction"]["calls"]
    assert f"budget: 50,000 tokens a day; spent today: {calls} calls" in sound.output


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["add", "{folder}"], id="add"),
        pytest.param(["add", "{folder}", "--estimate"], id="estimate"),
        pytest.param(["doctor"], id="doctor"),
    ],
)
@pytest.mark.parametrize("has_price", [False, True], ids=["no price", "a price"])
def test_a_limit_on_cost_that_cannot_hold_is_said(
    command: list[str], has_price: bool, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.answer_with(read_like_a_model)
    folder = _documents(tmp_path / "documents", count=1)
    environment = _environment(openai_server) | {"LOREGRAPH_BUDGET__MAX_COST": "5"}
    if has_price:
        prices = tmp_path / "prices.yaml"
        prices.write_text("models: {m: {prompt: 1.0, completion: 2.0}}\n")
        environment["LOREGRAPH_BUDGET__PRICES"] = str(prices)
    filled = [part.format(folder=folder) for part in command]
    library = ["--library", str(tmp_path / "library")]
    if command == ["doctor"]:
        CliRunner().invoke(app, ["add", str(folder), *library], env=environment)
    run = CliRunner().invoke(app, [*filled, *library], env=environment | {"COLUMNS": "300"})
    said = "budget.max_cost of 5 USD cannot hold for model 'm', which has no price"
    assert (said in run.output) == (not has_price), run.output
    assert run.output.count("cannot hold") <= 1


@pytest.mark.parametrize("command", [["add", "."], ["add", ".", "--estimate"], ["doctor"]])
def test_a_remote_model_without_a_price_is_refused_under_a_limit_on_cost(
    command: list[str], openai_server: OpenAIServer, tmp_path: Path
) -> None:
    environment = _environment(openai_server) | {
        "LOREGRAPH_BUDGET__MAX_COST": "5",
        "LOREGRAPH_LLM__BASE_URL": "http://llm.invalid/v1",
        "OPENAI_API_KEY": "unused",
        "COLUMNS": "300",
    }
    run = CliRunner().invoke(
        app, [*command, "--library", str(tmp_path / "library")], env=environment
    )
    assert run.exit_code != 0
    assert "the price of model 'm' is not known" in f"{run.output} {run.exception}"
