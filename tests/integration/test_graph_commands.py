"""`loregraph graph show | path | communities`: what a user reads, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.cli.main import app
from engine.errors import QuestionError, UnknownName

Run = Callable[..., str]

LAMP = (
    "Captain Ada Brine lit the lamp at Gull Quay in 1901. They say Orrin Vale repaired it with "
    "Tomas Reed after the storm of 1907. The Petrel brought oil to Gull Quay. Then Ada Brine paid."
)
PETREL = "It was Orrin Vale who owned the Vale Line, and Tomas Reed was the mate of the Petrel."


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, open_engine: object) -> Path:
    path = tmp_path_factory.mktemp("commands") / "library"
    with open_engine(path) as engine:
        engine.add_text(LAMP, document_id="lamp", title="The lamp at Gull Quay", namespace="north")
        engine.add_text(PETREL, document_id="petrel", title="The Petrel", namespace="north")
    return path


@pytest.fixture
def run(library: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LOREGRAPH_EMBEDDING__KIND", "none")
    monkeypatch.setenv("LOREGRAPH_GRAPH__SPACY_MODEL", "none")

    def shown(*arguments: str) -> str:
        command = ["graph", *arguments, "--library", str(library)]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return shown


def test_an_entity_is_shown_with_the_sentences_that_name_it(run: Run) -> None:
    told = run("show", "orrin vale")
    assert told.startswith("Orrin Vale (NAME; 2 mentions in 2 documents; e")
    assert "“They say Orrin Vale repaired it with Tomas Reed after the storm of 1907.”" in told
    assert f"“{PETREL}” (north::petrel, 0–{len(PETREL)})" in told
    detail = json.loads(run("show", "Orrin Vale", "--json"))
    assert detail["relations"][0]["evidence"][0]["quote"] in told


def test_what_lies_about_an_entity_is_shown_hop_by_hop(run: Run) -> None:
    told = run("show", "Tomas Reed", "--hops", "2").splitlines()
    assert told[0] == "about Tomas Reed:"
    assert [line.partition(":")[0] for line in told[1:3]] == [
        "  1 relation away",
        "  2 relations away",
    ]


def test_a_path_is_shown_with_a_sentence_a_step(run: Run) -> None:
    first, *steps = run("path", "Ada Brine", "Tomas Reed", "--limit", "1").splitlines()
    assert first.startswith("1. ")
    assert first.endswith(" → Tomas Reed")
    assert len([step for step in steps if "“" in step]) == first.count("→") > 1
    none = run("path", "Ada Brine", "Tomas Reed", "--max-hops", "1")
    assert none == "no way of 1 relation or fewer leads from Ada Brine to Tomas Reed\n"


def test_a_path_from_a_thing_to_itself_is_refused(run: Run) -> None:
    with pytest.raises(QuestionError, match="both names mean the same entity"):
        run("path", "Ada Brine", "ada brine")


def test_communities_are_listed_and_shown(run: Run) -> None:
    first = json.loads(run("communities", "--json"))["items"][0]
    assert run("communities").startswith(f"1. {first['title']} (level 0; ")
    assert (
        run("communities", "1")
        == run("communities", first["title"])
        == run("communities", first["id"])
    )
    told = run("communities", first["id"])
    assert told.startswith(f"{first['title']} (level 0; {first['id']}; rating ")
    assert "(north::" in told


def test_an_unknown_name_is_told_with_what_comes_near_in_what_is_seen(run: Run) -> None:
    with pytest.raises(
        UnknownName, match="has the name 'Orin Vale'; similar names are 'Orrin Vale'"
    ):
        run("show", "Orin Vale")
    with pytest.raises(UnknownName, match=r"^no entity has the name 'Orrin Vale'$"):
        run("show", "Orrin Vale", "--namespace", "south")
