"""`loregraph init`: what can be used is found and tried, and a profile lies beside the library."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from command_line import Finished, run
from openai_server import OpenAIServer

from engine.cli.init import choices, served_models
from engine.config import Settings

KEY = "OPENAI_API_KEY"


def init(folder: Path, *options: str, typed: str = "") -> Finished:
    return run(folder, "init", *options, typed=typed)


def test_a_profile_without_a_model_says_what_adding_costs(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Ada Brine lit the lamp.", encoding="utf8")
    done = init(tmp_path, "--use", "none", "note.md")

    assert done.returncode == 0, done.stderr
    assert "1 document, 1 chunk to read" in done.stdout
    assert "it costs nothing" in done.stdout
    assert done.stdout.endswith('Next: loregraph add note.md\nThen: loregraph ask "…"\n')
    assert Settings.load(tmp_path / "loregraph.yaml").llm.kind == "none"
    assert not (tmp_path / "library").exists()


def test_the_first_choice_of_an_empty_answer_is_no_model(tmp_path: Path) -> None:
    done = init(tmp_path, typed="\n")
    assert done.returncode == 0, done.stderr
    assert "1  no language model" in done.stdout
    assert yaml.safe_load((tmp_path / "loregraph.yaml").read_text())["llm"] == {"kind": "none"}


def test_a_server_of_this_machine_is_found_tried_and_written_down(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        port = int(server.base_url.rsplit(":", 1)[1].split("/")[0])
        found = choices({KEY: "secret"}, {"Some server": port})
        models = served_models(server.base_url)
        done = init(tmp_path, "--use", server.base_url)

    assert [one.is_paid for one in found] == [False, True, *(False for _ in models)]
    assert models
    assert found[-1].base_url == server.base_url.replace("localhost", "127.0.0.1")
    assert done.returncode == 0, done.stderr
    assert f"{models[0]} answers" in done.stdout
    assert done.stdout.endswith('Then: loregraph ask "…" --profile loregraph.yaml\n')
    settings = Settings.load(tmp_path / "loregraph.yaml")
    assert (settings.llm.base_url, settings.llm.model) == (server.base_url, models[0])


def test_a_paid_model_is_asked_nothing_before_that_is_agreed_to(tmp_path: Path) -> None:
    done = init(tmp_path, "--use", KEY, typed="n\n")
    assert done.returncode == 0, done.stderr
    assert "not tried" in done.stdout
    text = (tmp_path / "loregraph.yaml").read_text(encoding="utf8")
    assert yaml.safe_load(text)["llm"]["api_key_variable"] == KEY
    assert "max_cost" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--use", "none"), "give --force to replace it"),
        (("--use", "gpt", "--force"), "give none, one of OPENAI_API_KEY"),
        (("--use", "http://127.0.0.1:9/v1", "--force"), "nothing there lists models"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_changes_nothing(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "loregraph.yaml"
    file.write_text("llm: {kind: none}\n", encoding="utf8")
    done = init(tmp_path, *options)

    assert done.returncode != 0
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert file.read_text(encoding="utf8") == "llm: {kind: none}\n"
