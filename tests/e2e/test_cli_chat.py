"""Conversations in the terminal, logs, shipped profiles, and what a terminal must not be sent."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Finished, environment, interrupts_heeded, run


@pytest.fixture(scope="module")
def talked(notes: Path, loregraph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of the notes in it."""
    folder = tmp_path_factory.mktemp("talked")
    shutil.copytree(notes / "docs", folder / "docs")
    assert loregraph(folder, "add", "docs").returncode == 0
    return folder


def chat(folder: Path, typed: str, *options: str) -> Finished:
    return run(folder, "chat", *options, typed=typed)


def test_a_follow_up_is_understood_from_what_was_said_and_the_conversation_is_kept(
    talked: Path,
) -> None:
    typed = (
        "Who lit the lamp at Gull Quay?\nWho repaired it?\n/sources\n/save kept.json\n/quit\nWho?\n"
    )
    done = chat(talked, typed)
    assert done.returncode == 0, done.stderr
    assert "Ada Brine" in done.stdout
    assert "Orrin Vale repaired it" in done.stdout
    assert "[1] The lamp at Gull Quay" in done.stdout
    assert "2 turns written to kept.json" in done.stdout
    said = json.loads((talked / "kept.json").read_text(encoding="utf8"))
    assert [sorted(turn) for turn in said] == [["answer", "question"]] * 2
    assert "lamp" in said[1]["question"], "as it was understood"


def test_what_was_said_is_kept_when_a_conversation_is_interrupted(talked: Path) -> None:
    command = [sys.executable, "-m", "engine.cli", "chat", "--history", "cut.json"]
    with interrupts_heeded():
        process = subprocess.Popen(
            command, cwd=talked, env=environment(models=False), encoding="utf8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Who lit the lamp at Gull Quay?\n")
        process.stdin.flush()
        while "[1]" not in process.stdout.readline():
            pass
        while process.stdout.readline().strip():
            pass
        time.sleep(1)  # the next question is waited for
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)  # the end of the input would end it, too
        _, errors = process.communicate(timeout=30)
    assert process.returncode not in {0, 1}
    assert "Traceback" not in errors
    assert len(json.loads((talked / "cut.json").read_text(encoding="utf8"))) == 1


def test_ask_goes_on_from_a_conversation_and_adds_to_it(talked: Path, loregraph) -> None:
    file = talked / "talk.json"
    for question in ("Who lit the lamp at Gull Quay?", "Who repaired it?"):
        done = loregraph(talked, "ask", question, "--history", file)
        assert done.returncode == 0, done.stderr
    assert "Orrin Vale" in done.stdout
    assert len(json.loads(file.read_text(encoding="utf8"))) == 2


@pytest.mark.parametrize("text", ["no json", '{"question": 1}', "[1]", "[" * 100_000])
def test_a_file_that_is_no_conversation_is_refused_in_one_line_and_kept(
    talked: Path, loregraph, text: str
) -> None:
    file = talked / "wrong.json"
    file.write_text(text, encoding="utf8")
    done = loregraph(talked, "ask", "Who lit the lamp?", "--history", file)
    assert done.returncode == 1
    assert done.stderr.startswith("loregraph: cannot read conversation: ")
    assert done.stderr.count("\n") == 1
    assert file.read_text(encoding="utf8") == text


def test_a_wrong_command_or_question_does_not_end_the_conversation(talked: Path) -> None:
    done = chat(
        talked, "/sources\n/sing\n???\n/save /nowhere/at/all.json\nWho lit the lamp at Gull Quay?\n"
    )
    assert done.returncode == 0
    assert done.stdout.startswith("no answer yet\n")
    assert "/sources" in done.stdout, "the help"
    assert "'/sing' is no command" in done.stderr
    assert "question is empty" in done.stderr
    assert "/nowhere/at/all.json" in done.stderr
    assert "Ada Brine" in done.stdout


def test_a_log_file_says_what_was_done(talked: Path, loregraph) -> None:
    done = loregraph(talked, "--log-file", "logs/run.log", "ask", "Who lit the lamp at Gull Quay?")
    assert done.returncode == 0, done.stderr
    assert "INFO" not in done.stderr
    lines = (talked / "logs" / "run.log").read_text(encoding="utf8").splitlines()
    assert any(" INFO loregraph: keyword: " in line for line in lines), lines
    done = loregraph(talked, "-v", "stats")
    assert done.returncode == 0


def test_a_shipped_profile_is_found_by_its_name_from_anywhere(talked: Path, loregraph) -> None:
    for name in ("openai", "openai.yaml", "configs/openai.yaml"):
        done = loregraph(talked, "config", "show", "--profile", name)
        assert done.returncode == 0, done.stderr
        assert "openai_like" in done.stdout
    done = loregraph(talked, "config", "show", "--profile", "nosuch")
    assert done.returncode == 1
    assert "openai-graph" in done.stderr, "the names that there are"


def test_an_address_is_no_library(talked: Path, loregraph) -> None:
    done = loregraph(talked, "add", "docs", "--library", "http://example.org/library")
    assert done.returncode == 1
    assert "library is not a folder" in done.stderr
    assert not (talked / "http:").exists()


def test_characters_that_turn_the_order_of_a_line_are_shown_as_escapes(
    tmp_path: Path, loregraph
) -> None:
    turned = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200f"
    (tmp_path / f"a{turned}.md").write_text(
        f"# Gull{turned} Quay\n\nAda Brine lit the lamp{turned} at Gull Quay.\n", encoding="utf8"
    )
    for command in (["add", "."], ["ask", "Who lit the lamp?"], ["search", "lamp"]):
        done = loregraph(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        assert not {*turned} & {*done.stdout, *done.stderr}
    assert "\\u202e" in done.stdout
