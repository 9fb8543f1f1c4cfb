"""One entity for one thing of the sample, shown under its name in the reader's language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import KnowledgeEngine

CHIEF = {
    "Maeve Tolland": ("Dr. Maeve Tolland", "Ingrid Maeve Tolland", "M. Tolland", "梅芙·托兰"),
    "Tolland Marine Station": ("TMS", "Gannet Head Marine Laboratory", "托兰海洋站"),
    "Hamish Corrigall-Vane": ("Dr. H. Corrigall-Vane",),
    "Lionel Garrod-Pyke": ("Mr Lionel Garrod-Pyke", "Mr. L. Garrod-Pyke", "加罗德-派克"),
    "Shen Wangshu": ("Sunny Shen", "沈望舒"),
    "Lu Tinglan": ("Dr. Lu Tinglan", "陆听澜"),
    "Port Ansgar": ("安斯加港",),
    "Skerravane": ("斯凯拉文岛",),
    "Linlan Ocean University": ("LOU", "临澜海洋大学"),
    "Quillon Steam Packet Company": ("奎伦轮船公司",),
}
"""Each with other names that the documents call it by."""


@pytest.fixture(scope="module")
def sample(
    tmp_path_factory: pytest.TempPathFactory, open_engine: object, corpus: Path
) -> Iterator[KnowledgeEngine]:
    with open_engine(tmp_path_factory.mktemp("named") / "library") as engine:
        engine.add(corpus)
        yield engine


@pytest.mark.parametrize(("name", "others"), CHIEF.items())
def test_chief_characters_and_places_are_one_entity_each(
    sample: KnowledgeEngine, name: str, others: tuple[str, ...]
) -> None:
    one = sample.graph.in_language("en").entity(name)
    assert {sample.graph.entity(other).id for other in others} == {one.id}
    assert one.name == name


def test_a_reader_sees_names_of_the_own_language_and_the_same_ids(sample: KnowledgeEngine) -> None:
    english = sample.graph.in_language("en").entity("陆听澜")
    chinese = sample.graph.in_language("zh").entity("Lu Tinglan")
    assert (english.name, chinese.name) == ("Lu Tinglan", "陆听澜")
    assert english.id == chinese.id
    assert "陆听澜" in english.aliases
    named = {one.source_name for one in chinese.relations} | {
        one.target_name for one in chinese.relations
    }
    assert "陆听澜" in named
    assert "Lu Tinglan" not in named


@pytest.mark.parametrize(("language", "name"), [("", "Shen Wangshu"), ("zh", "沈望舒")])
def test_an_export_is_in_one_language(
    sample: KnowledgeEngine, tmp_path: Path, language: str, name: str
) -> None:
    written = sample.export_graph(tmp_path / "graph.json", language=language)
    entities = json.loads(written.read_text("utf8"))["entities"]
    assert name in {one["name"] for one in entities}


@pytest.mark.parametrize(
    ("question", "name"), [("Who is Lu Tinglan?", "Lu Tinglan"), ("陆听澜是谁？", "陆听澜")]
)
def test_the_graph_of_an_answer_is_in_the_language_of_the_question(
    sample: KnowledgeEngine, tmp_path: Path, question: str, name: str
) -> None:
    written = sample.export_graph(tmp_path / "graph.json", question=question)
    entities = json.loads(written.read_text("utf8"))["entities"]
    assert name in {one["name"] for one in entities}
