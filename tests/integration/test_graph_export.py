"""The graph as files, or parts of it: what is asked for, and nothing of others' documents."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import pytest
from two_owners import SECRETS

from engine import KnowledgeEngine
from engine.errors import GraphStageError, SettingsError


def words_of(file: Path) -> str:
    """All that a file holds, compressed parts too, in small letters."""
    text = file.read_bytes().decode("utf8", "replace")
    packed = re.findall(r'<script type="text/plain" id="[^"]+">([^<]*)</script>', text)
    inside = [zlib.decompress(base64.b64decode(one)).decode("utf8") for one in packed]
    shown = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    return " ".join((shown, *inside)).casefold()


def names_in(file: Path) -> set[str]:
    return {entity["name"] for entity in json.loads(file.read_text("utf8"))["entities"]}


@pytest.mark.parametrize("suffix", [".html", ".json", ".graphml", ".svg"])
@pytest.mark.parametrize(
    "part",
    [
        pytest.param({}, id="whole"),
        pytest.param({"focus": "Anders Vik", "hops": 3}, id="focus"),
        pytest.param({"community": 1}, id="community"),
        pytest.param({"question": "Who paid Maeve Tolland for the pier?"}, id="question"),
    ],
)
def test_nothing_of_another_namespace_is_in_a_file(
    shared: KnowledgeEngine, tmp_path: Path, suffix: str, part: dict[str, object]
) -> None:
    file = shared.export_graph(tmp_path / f"graph{suffix}", namespace="north", **part)
    held = words_of(file)
    assert "anders vik" in held
    assert [secret for secret in SECRETS if secret in held] == []
    everything = words_of(shared.export_graph(tmp_path / f"all{suffix}"))
    assert "xenia morrow" in everything


def test_a_namespace_is_written_as_if_it_were_a_library_of_its_own(
    shared: KnowledgeEngine, alone: KnowledgeEngine, tmp_path: Path
) -> None:
    seen = json.loads(
        shared.export_graph(tmp_path / "seen.json", namespace="north").read_text("utf8")
    )
    own = json.loads(alone.export_graph(tmp_path / "own.json").read_text("utf8"))
    for table in ("entities", "relations", "chunks"):
        assert seen[table] == own[table]


def test_a_question_writes_what_its_answer_rests_on(alone: KnowledgeEngine, tmp_path: Path) -> None:
    question = "Who paid Maeve Tolland for the pier?"
    file = alone.export_graph(tmp_path / "graph.html", question=question)
    held = words_of(file)
    assert question.casefold() in held
    assert alone.ask(question).citations[0].quote.casefold() in held
    data = re.search(r'id="first">(.*?)</script>', file.read_text("utf8"), re.DOTALL)
    assert data is not None
    assert len(json.loads(data.group(1))["strong"]) >= 2


def test_the_number_of_a_community_is_its_place_in_the_list(
    alone: KnowledgeEngine, tmp_path: Path
) -> None:
    listed = alone.graph.communities().items
    for number, community in enumerate(listed, 1):
        by_number = alone.export_graph(tmp_path / "number.json", community=number)
        by_id = alone.export_graph(tmp_path / "id.json", community=community.id)
        assert by_number.read_bytes() == by_id.read_bytes()
        assert len(names_in(by_id)) == community.size


@pytest.mark.parametrize(
    ("part", "error", "message"),
    [
        pytest.param({"focus": "Maeve Toland"}, GraphStageError, "Maeve Tolland", id="focus"),
        pytest.param({"community": 999}, GraphStageError, "give a number from 1 to", id="number"),
        pytest.param({"community": "Nonsense"}, GraphStageError, "no community", id="title"),
        pytest.param({"focus": "Oslo", "hops": 9}, GraphStageError, "hops", id="hops"),
        pytest.param({"focus": "Oslo", "community": 1}, SettingsError, "one part", id="two"),
    ],
)
def test_a_part_that_is_not_there_is_refused_in_words_and_writes_nothing(
    alone: KnowledgeEngine,
    tmp_path: Path,
    part: dict[str, object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        alone.export_graph(tmp_path / "graph.html", **part)
    assert list(tmp_path.iterdir()) == []


def test_a_suffix_that_cannot_be_written_is_refused_before_a_model_is_asked(
    alone: KnowledgeEngine, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"\.svg"):
        alone.export_graph(tmp_path / "graph.pdf", question="Who?")
