"""Namespaces are kept apart: what one holds changes nothing of what another is told.

Two libraries hold the same in the north, and in the south texts of the same length whose words are
others. Everything that the north can ask must come out the same of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import Settings
from engine.engine import KnowledgeEngine
from engine.types import Passage

NORTH = {
    "ship": "# The Zorblax\n\nThe survey ship Zorblax was built in Port Quux in 1999 by Ada Vane. "
    "Ada Vane sold the Zorblax to Brennock Lines. Captain Moss commands the Zorblax.\n",
    "crew": "# The crew of the Zorblax\n\nCaptain Moss and Ada Vane met in Port Quux. The crew of "
    "the Zorblax dredged the harbour of Port Quux for Brennock Lines.\n",
    "灯塔": "# 鸥港灯塔\n\n艾达·布莱恩船长于1901年点亮了鸥港灯塔。海燕号每月运来灯油。\n",
}
SOUTH = (
    "# The Wimbly\n\nThe ferry Wimbly was built in Port Snarl in 2003 by Ola Trent. "
    "Ada Vane, also known as the Silver Fox, sold the Wimbly to Grimsel Freight. "
    "ADA VANE is not Ada Vane Junior. Brennock Lines (BRL) bought the Zorblax and sank it. "
    "Captain Moss, who is called Old Beard, left Port Quux. 船长海伦点亮了鲸港灯塔。\n"
)
OTHERWISE = (
    "# The Tomato\n\nThe sauce Tomato was boiled in Red Kettle in 2011 by Ivo Grunt. "
    "Eve Holm, also liked by the Brown Duck, ate the Tomato at Basilico Kitchen. "
    "BOB HUSK is not Bob Husk Senior. Pepper Grove (PGV) cooked the Oregano and ate it. "
    "Colonel Bean, who is liked in Thin Hat, left Oven Town. 厨师小红煮熟了番茄面汤。\n"
)
QUESTIONS = (
    "Who built the Zorblax?",
    "What did the Silver Fox sell?",
    "what do we know of ola trent and port snarl?",
    "Who is Old Beard?",
    "What did BRL buy?",
    "Where did the ferry Wimbly sink?",
    "Who sold the ship to Brennock Lines?",
    "What are the main themes across these documents?",
    "谁点亮了鸥港灯塔？",
    "海伦是谁？",
)


def built(folder: Path, south: str) -> KnowledgeEngine:
    light = {"embedding": {"kind": "none"}, "graph": {"spacy_model": "none"}}
    engine = KnowledgeEngine.open(folder, settings=Settings.model_validate(light))
    for name, text in NORTH.items():
        engine.add_text(text, document_id=name, namespace="north", metadata={"tags": ("red",)})
    for number in range(3):  # often enough to outweigh what the north calls things
        engine.add_text(south, document_id=f"s{number}", namespace="south")
    return engine


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KnowledgeEngine, ...]]:
    folder = tmp_path_factory.mktemp("tenants")
    with built(folder / "one", SOUTH) as one, built(folder / "two", OTHERWISE) as two:
        yield one, two


@pytest.mark.parametrize("mode", ["auto", "local"])
@pytest.mark.parametrize("filters", [None, ["tags=red"]])
def test_an_answer_from_passages_is_the_same_whatever_others_hold(
    both: tuple[KnowledgeEngine, ...], mode: str, filters: list[str] | None
) -> None:
    for question in QUESTIONS:
        one, two = (
            each.ask(question, mode=mode, namespace="north", filters=filters) for each in both
        )
        assert one.route == two.route, question
        if one.mode == "local":
            told = [(each.text, each.citations, each.abstained) for each in (one, two)]
            assert told[0] == told[1], question


def test_passages_and_their_scores_are_the_same_whatever_others_hold(
    both: tuple[KnowledgeEngine, ...],
) -> None:
    for question in QUESTIONS:
        one, two = (each.retrieve(question, top_k=50, namespace="north") for each in both)
        rounded = [[as_told(passage) for passage in some] for some in (one, two)]
        assert rounded[0] == rounded[1], question


def as_told(passage: Passage) -> tuple[object, ...]:
    """Single precision leaves the last digit open."""
    return (
        passage.chunk_id,
        passage.path,
        pytest.approx(passage.score, rel=1e-5),
        pytest.approx(passage.relevance, rel=1e-5),
        {name: pytest.approx(score, rel=1e-5) for name, score in passage.scores.items()},
    )


def test_an_overview_holds_no_word_of_others(both: tuple[KnowledgeEngine, ...]) -> None:
    """Which communities there are rests on the whole library; what is said of them does not."""
    words = ("Wimbly", "Snarl", "Trent", "Fox", "Grimsel", "BRL", "Beard", "Junior", "海伦")
    for question in QUESTIONS:
        told = repr(both[0].ask(question, mode="global", namespace="north"))
        said = [word for word in words if word in told and word not in question]
        assert said == [], question


def test_what_is_known_of_a_thing_is_the_same_whatever_others_hold(
    both: tuple[KnowledgeEngine, ...],
) -> None:
    one, two = (each.graph.entities(namespace="north", limit=200) for each in both)
    assert one == two
    for entity in one.items:
        here, there = (
            replace(each.graph.entity(entity.id, namespace="north"), names=(), communities=())
            for each in both
        )
        assert here == there
        around = [each.graph.neighbourhood(entity.id, hops=3, namespace="north") for each in both]
        assert around[0] == around[1]
