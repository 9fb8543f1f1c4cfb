"""Namespaces are kept apart: what one holds changes nothing of what another is told.

Libraries hold the same in the north, and in the south texts of other words, lengths and numbers, or
none. Everything that the north can ask must come out the same of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.config import Settings
from engine.engine import KnowledgeEngine
from engine.storage.namespace_library import delete_copy

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
OTHERWISE = "# Soup\n\nEve Holm boiled the soup in Red Kettle.\n"
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


LIGHT = {
    "embedding": {"kind": "none"},
    "graph": {"spacy_model": "none"},
    "answer": {"reader": "none"},
}
HASHED = LIGHT | {"embedding": {"kind": "tfidf"}}


def built(folder: Path, south: list[str], *, sections: dict[str, Any] = LIGHT) -> KnowledgeEngine:
    engine = KnowledgeEngine.open(folder, settings=Settings.model_validate(sections))
    for number, text in enumerate(south):
        engine.add_text(text, document_id=f"s{number}", namespace="south")
    for name, text in NORTH.items():
        engine.add_text(text, document_id=name, namespace="north", metadata={"tags": ("red",)})
    return engine


@pytest.fixture(scope="module", params=[LIGHT, HASHED], ids=["words", "hashed vectors"])
def engines(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[KnowledgeEngine]]:
    """Of one and of many documents in all other namespaces, or of none."""
    folder = tmp_path_factory.mktemp("tenants")
    souths = [[], [OTHERWISE], [SOUTH * 9, SOUTH, OTHERWISE * 3]]
    with ExitStack() as stack:
        yield [
            stack.enter_context(built(folder / str(n), south, sections=request.param))
            for n, south in enumerate(souths)
        ]


def told(value: Any) -> Any:
    """An answer without what its making took."""
    steps = tuple(replace(step, seconds=0.0) for step in value.trace)
    return replace(value, trace=steps)


@pytest.mark.parametrize(
    ("mode", "filters"), [("auto", None), ("auto", ["tags=red"]), ("agent", None)]
)
def test_an_answer_is_the_same_to_the_last_digit_whatever_others_hold(
    engines: list[KnowledgeEngine], mode: str, filters: list[str] | None
) -> None:
    for question in QUESTIONS if mode == "auto" else QUESTIONS[:3]:
        first, *others = (
            told(each.ask(question, mode=mode, namespace="north", filters=filters))
            for each in engines
        )
        assert all(other == first for other in others), question


def test_passages_and_their_scores_are_the_same_whatever_others_hold(
    engines: list[KnowledgeEngine],
) -> None:
    for question in QUESTIONS:
        first, *others = (each.retrieve(question, top_k=50, namespace="north") for each in engines)
        assert all(other == first for other in others), question
        for each in engines:
            nodes = each.as_retriever(namespace="north", similarity_top_k=50).retrieve(question)
            assert [node.score for node in nodes] == [passage.score for passage in first]


def test_what_is_known_of_a_thing_is_the_same_whatever_others_hold(
    engines: list[KnowledgeEngine],
) -> None:
    first, *others = (everything(each) for each in engines)
    assert all(other == first for other in others)


def test_agents_are_told_the_same_whatever_others_hold(engines: list[KnowledgeEngine]) -> None:
    calls = [
        *(("search", {"query": question}) for question in QUESTIONS[:4]),
        *(("ask", {"query": question}) for question in QUESTIONS[:4]),
        ("explore_entity", {"name": "Ada Vane", "related_to": "Port Quux"}),
        ("explore_topics", {}),
        ("list_documents", {}),
        ("stats", {}),
    ]
    for name, arguments in calls:
        first, *others = (said(each, name, arguments) for each in engines)
        assert all(other == first for other in others), (name, arguments)


def said(engine: KnowledgeEngine, name: str, arguments: dict[str, str]) -> str:
    tools = {tool.metadata.name: tool for tool in engine.tools(namespace="north")}
    return str(tools[name](**arguments))


def everything(engine: KnowledgeEngine) -> list[object]:
    graph = engine.graph
    listed = graph.entities(namespace="north", limit=200)
    groups = graph.communities(namespace="north", limit=200)
    assert listed.items and groups.items
    return [
        listed,
        groups,
        *(graph.entity(one.id, namespace="north") for one in listed.items),
        *(graph.neighbourhood(one.id, hops=3, namespace="north") for one in listed.items),
        *(graph.community(one.id, namespace="north") for one in groups.items),
    ]


@pytest.mark.parametrize("form", ["html", "svg", "png", "graphml", "json"])
def test_an_exported_graph_is_the_same_whatever_others_hold(
    engines: list[KnowledgeEngine], tmp_path: Path, form: str
) -> None:
    """To the last byte: the whole graph, what is around an entity, a community, and an answer."""
    group = engines[0].graph.communities(namespace="north").items[0].id
    parts: list[dict[str, Any]] = [
        {},
        {"language": "zh"},
        {"filters": ["tags=red"]},
        {"focus": "Ada Vane", "hops": 2},
        {"community": group},
        *({"question": question} for question in QUESTIONS[:2]),
    ]
    for number, part in enumerate(parts):
        files = [tmp_path / f"{number}-{place}.{form}" for place in range(len(engines))]
        for engine, file in zip(engines, files, strict=True):
            engine.export_graph(file, namespace="north", **part)
        first, *others = (file.read_bytes() for file in files)
        assert all(other == first for other in others), part


def test_several_namespaces_are_read_as_a_library_of_their_documents(tmp_path: Path) -> None:
    spaces = {"north": NORTH["ship"], "west": SOUTH}
    asked = "Who is the Silver Fox?"
    found = []
    for number, other in enumerate((None, OTHERWISE * 5)):
        with built(tmp_path / str(number), [] if other is None else [other]) as engine:
            for space, text in spaces.items():
                engine.add_text(text, document_id="one", namespace=space)
            found.append(engine.retrieve(asked, namespace=sorted(spaces)))
            assert engine.retrieve(asked, namespace=["west", "north"]) == found[-1]
    assert found[0] == found[1] != []


# --- what changes -------------------------------------------------------------------------------


def test_a_confined_question_sees_each_change_of_its_namespace(tmp_path: Path) -> None:
    with built(tmp_path / "library", [SOUTH]) as engine:
        for word in ("Quiddle", "Marrow"):
            engine.add_text(f"Edda {word} oiled the Zorblax.", document_id="new", namespace="north")
            first = engine.retrieve(f"Edda {word}", namespace="north")[0]
            assert word in first.text
            names = {each.name for each in engine.graph.entities(namespace="north").items}
            assert f"Edda {word}" in names
        engine.remove("new", namespace="north")
        assert "Edda" not in repr(engine.retrieve("Edda Marrow", namespace="north"))
        engine.entities.merge(["Ada Vane", "Captain Moss"])
        vane = engine.graph.entity("Ada Vane", namespace="north")
        assert vane == engine.graph.entity("Captain Moss", namespace="north")


def test_what_is_removed_stands_in_no_copy(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with built(folder, [SOUTH]) as engine, built(folder, [SOUTH]) as other:
        engine.add_text("Zephyrine Quocks rowed.", document_id="secret", namespace="north")
        for each in (engine, other):
            assert each.retrieve("Zephyrine Quocks", namespace="north")[0].title
        assert b"quocks" in contents(folder)
        engine.remove("secret", namespace="north")
        other.retrieve("Who rowed?")  # it lets go of what it had open
        assert not [*folder.glob("derived/namespaces-*")]
    assert b"quocks" not in contents(folder)


def test_a_copy_of_what_did_not_change_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with built(folder, [SOUTH]) as engine:
        engine.retrieve("Zorblax", namespace="north")
        (before,) = folder.glob("derived/namespaces-*")
        engine.add_text("Nothing of the north.", document_id="s9", namespace="south")
        engine.retrieve("Zorblax", namespace="north")
        assert [*folder.glob("derived/namespaces-*")] == [before]
    with built(folder, [SOUTH]) as engine:
        made = (before / "library.db").stat().st_mtime_ns
        engine.retrieve("Zorblax", namespace="north")
        assert (before / "library.db").stat().st_mtime_ns == made


def test_an_unfinished_copy_of_a_killed_process_goes_with_the_next_change(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with built(folder, [SOUTH]) as engine:
        part = folder / "derived" / "namespaces-0.1-1.part"
        part.mkdir()
        (part / "library.db").write_bytes(b"Zephyrine Quocks")
        engine.remove("s0", namespace="south")
    assert not part.exists()


def test_a_copy_whose_database_went_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with built(folder, [SOUTH]) as engine:
        before = engine.retrieve("Zorblax", namespace="north")
        (copy,) = folder.glob("derived/namespaces-*")
    for file in copy.glob("library.db*"):
        file.unlink()
    with built(folder, []) as engine:
        assert engine.retrieve("Zorblax", namespace="north") == before
        assert [*folder.glob("derived/namespaces-*")] == [copy]


def test_a_copy_that_cannot_be_moved_is_emptied_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "namespaces-0"
    copy.mkdir()
    (copy / "library.db").write_bytes(b"Zephyrine Quocks")

    def refuse(*_: object) -> None:
        raise PermissionError("in use")

    monkeypatch.setattr(Path, "replace", refuse)
    delete_copy(copy)
    assert not copy.exists()


def contents(folder: Path) -> bytes:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return b"".join(file.read_bytes() for file in files).lower()


def test_threads_of_many_namespaces_share_the_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.namespaces.OPEN_COPIES", 2)
    spaces = [f"space-{number}" for number in range(5)]
    with built(tmp_path / "library", [SOUTH]) as engine:
        for space in spaces:
            engine.add_text(f"The lamp of {space} burns.", document_id="lamp", namespace=space)

        def found(space: str) -> str:
            return engine.retrieve("Which lamp burns?", namespace=space)[0].text

        with ThreadPoolExecutor(4) as pool:
            texts = list(pool.map(found, spaces * 4))
        assert texts == [f"The lamp of {space} burns." for space in spaces * 4]
        assert len(engine._readings._open) <= 2
