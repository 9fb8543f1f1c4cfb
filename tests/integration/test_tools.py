"""What agents can do with a library, as LlamaIndex's agents do it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.schema import Document
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer
from llama_index.llms.openai_like import OpenAILike
from openai_server import Reply

from engine import KnowledgeEngine
from engine.config import Settings
from engine.errors import NotAllowed, QuestionError, SourceError, UnknownName
from engine.tools.definitions import TOOLS
from engine.tools.schemas import ALL_RIGHTS, LONGEST_ANSWER, Call, FoundPassages, without_addresses

OpenEngine = Callable[..., KnowledgeEngine]
READING = [
    "search",
    "ask",
    "explore_entity",
    "explore_topics",
    "list_documents",
    "read_document",
    "stats",
]
WRITING = ["add_text", "add_document", "remove"]
LAMP = "Captain Ada Brine lit the lamp at Gull Quay in 1901. Orrin Vale met Ada Brine at Gull Quay."
LEDGER = "Xenia Morrow hid the Zanzara ledger at Gull Quay. Ada Brine owes Xenia Morrow."


@pytest.fixture(scope="module")
def engine(
    tmp_path_factory: pytest.TempPathFactory, open_engine: OpenEngine
) -> Iterator[KnowledgeEngine]:
    place = tmp_path_factory.mktemp("tools") / "library"
    with open_engine(place, cache={"answers": "memory"}) as engine:
        engine.add_text(LAMP, document_id="lamp", title="The lamp", namespace="north")
        engine.add_text(LEDGER, document_id="ledger", title="The ledger", namespace="south")
        yield engine


@pytest.fixture
def own(tmp_path: Path, open_engine: OpenEngine) -> Iterator[KnowledgeEngine]:
    with open_engine(tmp_path / "library") as engine:
        yield engine


def named(tools: list[FunctionTool]) -> dict[str, FunctionTool]:
    return {str(tool.metadata.name): tool for tool in tools}


def agent_llm(server: Any) -> OpenAILike:
    return OpenAILike(
        model="scripted",
        api_base=server.base_url,
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
    )


# --- the tools ----------------------------------------------------------------------------------


def test_tools_that_write_come_only_where_they_are_asked_for(engine: KnowledgeEngine) -> None:
    assert list(named(engine.tools())) == READING
    assert list(named(engine.tools(read_only=False))) == READING + WRITING


def test_every_argument_of_every_tool_is_described_and_none_beyond_is_taken() -> None:
    for tool in TOOLS:
        for confined in (False, True):
            schema = tool.arguments_schema(confined=confined).model_json_schema()
            assert schema["additionalProperties"] is False
            assert all(one["description"] for one in schema["properties"].values()), tool.name
        assert tool.result_schema["type"] == "object"
        with pytest.raises(QuestionError, match="bogus: unknown argument"):
            tool.checked({"bogus": 1}, confined=False)


def test_a_tool_costs_a_model_at_most_two_hundred_tokens(engine: KnowledgeEngine) -> None:
    count = get_tokenizer()
    told = [tool.metadata.to_openai_tool()["function"] for tool in engine.tools(read_only=False)]
    sizes = {one["name"]: len(count(json.dumps(one, separators=(",", ":")))) for one in told}
    assert {name: size for name, size in sizes.items() if size > 200} == {}
    assert sum(sizes.values()) < 1_300
    texts = [one["parameters"]["properties"].get("filters", {}).get("description") for one in told]
    assert sum(text is not None and len(text) > 30 for text in texts) == 1


@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("search", {"question": "Who?"}, "query"),
        ("ask", {"question": "Who?"}, "query"),
        ("read_document", {"path": "a"}, "document_id"),
        ("remove", {"id": "a"}, "document_id"),
        ("add_document", {"source": "a"}, "path"),
    ],
)
def test_other_names_of_an_argument_are_accepted(
    name: str, given: dict[str, str], field: str
) -> None:
    tool = next(one for one in TOOLS if one.name == name)
    (value,) = given.values()
    assert getattr(tool.checked(given, confined=False), field) == value
    with pytest.raises(QuestionError, match="are the same argument; give one"):
        tool.checked({**given, field: value}, confined=False)


def test_each_tool_does_what_it_says(engine: KnowledgeEngine) -> None:
    tools = named(engine.tools())
    found = tools["search"].call(question="Who lit the lamp?", top_k=1)
    assert found.content.startswith("[1] The lamp (north::lamp:0-")
    assert LAMP in found.content
    assert found.raw_output["passages"][0]["text"] == LAMP
    answer = tools["ask"].call(question="Who lit the lamp at Gull Quay?")
    assert "Sources:\n[1] The lamp (north::lamp:0-" in answer.content
    quote = answer.raw_output["citations"][0]
    assert LAMP[quote["start"] : quote["end"]] == quote["quote"]
    listed = tools["list_documents"].call(limit=1)
    assert (listed.raw_output["total"], listed.raw_output["next"]) == (2, "north::lamp")
    rest = tools["list_documents"].call(after="north::lamp")
    assert [one["id"] for one in rest.raw_output["documents"]] == ["south::ledger"]
    read = tools["read_document"].call(document_id="north::lamp", start=8, length=9)
    assert read.raw_output["text"] == LAMP[8:17]
    assert "documents: 2\n" in tools["stats"].call().content


def test_a_question_goes_on_from_what_was_said_and_says_how_it_was_understood(
    engine: KnowledgeEngine,
) -> None:
    ask = named(engine.tools(namespace="north"))["ask"]
    said = [{"question": "Who is Orrin Vale?", "answer": "He came to Gull Quay. [1]"}]
    told = ask.call(question="And whom did he meet?", history=said)
    assert told.raw_output["rewritten_question"] == "Whom did Orrin Vale meet?"
    assert told.content.startswith("(understood as: Whom did Orrin Vale meet?)\n")
    assert "Ada Brine" in told.raw_output["answer"]
    assert ask.call(question="Who lit the lamp?").raw_output["rewritten_question"] == ""


def test_an_overview_is_given_the_effort_that_is_said(engine: KnowledgeEngine) -> None:
    question = "What are the main themes of all of it?"
    named(engine.tools())["ask"].call(question=question, mode="global", effort="low")
    for effort, is_kept in (("medium", False), ("low", True)):
        first = engine.ask(question, mode="global", effort=effort).trace[0]
        assert (first.stage == "cache") is is_kept


def test_an_entity_is_explored_with_the_way_to_another(engine: KnowledgeEngine) -> None:
    explore = named(engine.tools(namespace="north"))["explore_entity"]
    told = explore.call(name="orrin vale", related_to="Gull Quay")
    assert told.content.startswith("Orrin Vale (")
    assert "From Orrin Vale to Gull Quay:\n1. Orrin Vale → Gull Quay\n" in told.content
    assert told.raw_output["paths"][0]["edges"][0]["evidence"][0]["quote"] in LAMP
    with pytest.raises(UnknownName, match="similar names are 'Orrin Vale'"):
        explore.call(name="Orin Vale")


def test_topics_are_a_table_of_contents_with_reports(engine: KnowledgeEngine) -> None:
    explore = named(engine.tools(namespace="north"))["explore_topics"]
    listed = explore.call()
    first = listed.raw_output["topics"][0]
    assert listed.content.startswith(f"{first['title']} (level 0; ")
    told = explore.call(topic_id=first["id"])
    assert told.raw_output["topic"]["findings"][0]["evidence"][0]["quote"] in LAMP
    with pytest.raises(UnknownName):
        explore.call(topic_id="c0")


def test_a_tool_that_is_awaited_leaves_the_loop_free(engine: KnowledgeEngine) -> None:
    async def main() -> tuple[str, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticking = asyncio.create_task(tick())
        output = await named(engine.tools())["ask"].acall(question="Who lit the lamp?")
        ticking.cancel()
        return output.content, ticks

    content, ticks = asyncio.run(main())
    assert "Ada Brine" in content
    assert ticks > 0


def test_documents_are_added_replaced_and_removed(own: KnowledgeEngine, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "note.md").write_text("# A note\n\nTomas Reed steered the Petrel.", encoding="utf8")
    tools = named(own.tools(read_only=False, folders=[folder]))
    added = tools["add_text"].call(text=LAMP, title="The lamp", metadata={"tags": ["red"]})
    (made,) = added.raw_output["added"]
    assert made.startswith("text-")
    assert tools["add_text"].call(text=LAMP, title="The lamp").raw_output["unchanged"] == [made]
    assert tools["add_document"].call(source="note.md").content == "added: papers/note.md"
    (folder / "sub").mkdir()
    (folder / "sub" / "note.md").write_text("Ida Brandt mended the sails.", encoding="utf8")
    again = tools["add_document"].call(source=str(folder))
    assert again.raw_output["added"] == ["papers/sub/note.md"]
    assert again.raw_output["unchanged"] == ["papers/note.md"]
    found = tools["search"].call(question="lamp", filters=["tags=red"])
    assert {one["document_id"] for one in found.raw_output["passages"]} == {made}
    gone = tools["remove"].call(document_id="papers/note.md")
    assert gone.raw_output["removed"] == ["papers/note.md"]
    with pytest.raises(UnknownName, match="list_documents"):
        tools["remove"].call(document_id="papers/note.md")
    with pytest.raises(NotAllowed):
        tools["add_document"].call(source="../library/library.db")


def test_nothing_of_another_namespace_is_reached_by_any_tool(engine: KnowledgeEngine) -> None:
    tools = named(engine.tools(read_only=False, namespace="north"))
    calls: list[tuple[str, dict[str, object]]] = [
        ("search", {"question": "Who hid the Zanzara ledger?", "top_k": 50}),
        ("ask", {"question": "Who hid the Zanzara ledger?"}),
        ("ask", {"question": "What are these documents about?", "mode": "global"}),
        ("explore_entity", {"name": "Gull Quay"}),
        ("explore_topics", {"level": None, "limit": 200}),
        ("explore_entity", {"name": "Ada Brine", "related_to": "Gull Quay"}),
        ("list_documents", {}),
        ("stats", {}),
    ]
    for name, arguments in calls:
        told = tools[name].call(**arguments)
        seen = (told.content + json.dumps(told.raw_output)).casefold().replace("hid the zan", "")
        for secret in ("xenia", "morrow", "south", "owes"):
            assert secret not in seen, name
    assert tools["stats"].call().raw_output["figures"] == {"documents": 1, "chunks": 1}
    for name, arguments in (
        ("explore_entity", {"name": "Xenia Morrow"}),
        ("read_document", {"document_id": "south::ledger"}),
        ("remove", {"document_id": "south::ledger"}),
    ):
        with pytest.raises(UnknownName):
            tools[name].call(**arguments)
    with pytest.raises(QuestionError, match="namespace: unknown argument"):
        tools["search"].call(question="ledger", namespace="south")
    assert engine.document_text("south::ledger") == LEDGER


@pytest.mark.parametrize("name", ["south::ledger", "::ledger", "x::y"])
def test_an_id_that_is_given_reaches_into_no_other_namespace(
    engine: KnowledgeEngine, tmp_path: Path, name: str
) -> None:
    for access in ({"namespace": ""}, {"namespace": None}):
        tools = named(engine.tools(read_only=False, **access))
        with pytest.raises(SourceError, match="separates namespaces"):
            tools["add_text"].call(text="It is mine now.", document_id=name)
    report = engine.add_text("It is mine now.", document_id=name)
    assert [row.source for row in report.failed] == [name]
    report = engine.add([Document(id_=name, text="It is mine now.")])
    assert [row.source for row in report.failed] == [name]
    (tmp_path / "one.md").write_text("It is mine now.", encoding="utf8")
    with pytest.raises(SourceError, match="separates namespaces"):
        engine.add_files({name: tmp_path / "one.md"})
    assert engine.document_text("south::ledger") == LEDGER


def test_a_file_whose_name_looks_like_an_id_is_added_under_an_escaped_one(
    engine: KnowledgeEngine, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "south::ledger.txt").write_text("It is mine.", encoding="utf8")
    report = engine.add(folder / "south::ledger.txt")
    assert report.added == ("south:%3Aledger.txt",)
    assert engine.document_text("south::ledger") == LEDGER
    assert engine.sync(folder / "south::ledger.txt").removed == ()
    engine.remove(report.added)


def test_a_report_lists_what_is_pending_in_its_own_namespace(tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {
            "embedding": {"kind": "none"},
            "graph": {"spacy_model": "none", "extractor": "llm"},
            "llm": {"kind": "openai_like", "model": "m", "base_url": "http://127.0.0.1:9/v1",
                    "retries": 0},
        }
    )  # fmt: skip
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        engine.add_text("Xenia Morrow owes ten crowns.", document_id="debt", namespace="south")
        report = engine.add_text("Ada Brine lit the lamp.", document_id="lamp", namespace="north")
        assert [each.document_id for each in report.pending] == ["north::lamp"]
        assert {each.document_id for each in engine.pending()} == {"north::lamp", "south::debt"}
        assert "127.0.0.1" in report.pending[0].reason
        assert "127.0.0.1" not in repr(without_addresses(report))


def test_readable_text_has_an_end_and_values_are_whole(
    own: KnowledgeEngine, tmp_path: Path
) -> None:
    own.add_text("Ada Brine lit the lamp. " * 4_000, document_id="long", title="Long")
    tool = next(one for one in TOOLS if one.name == "search")
    wanted = tool.checked({"question": "the lamp", "top_k": 50}, confined=False)
    result = tool.run(own, wanted, Call(rights=ALL_RIGHTS))
    assert isinstance(result.value, FoundPassages)
    assert is_dataclass(result.value)
    assert sum(len(one.text) for one in result.value.passages) > LONGEST_ANSWER
    assert len(result.text) < LONGEST_ANSWER + 100
    assert result.text.endswith("(cut here: ask for less, or go on from there)")


# --- agents -------------------------------------------------------------------------------------


def tool_call(tool: str, **arguments: object) -> Reply:
    """A chat completion that calls a tool."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    return Reply(raw=json.dumps(body).encode())


def test_a_function_agent_calls_a_tool_and_reads_what_it_gives(
    engine: KnowledgeEngine, openai_server: Any
) -> None:
    openai_server.script(
        tool_call("ask", question="Who lit the lamp at Gull Quay?"), "It was Ada Brine."
    )

    async def main() -> str:
        agent = FunctionAgent(tools=engine.tools(), llm=agent_llm(openai_server), streaming=False)
        return str(await agent.run("Who lit the lamp?"))

    assert asyncio.run(main()) == "It was Ada Brine."
    first, second = openai_server.requests
    offered = {one["function"]["name"]: one["function"] for one in first.body["tools"]}
    assert list(offered) == READING
    assert offered["ask"]["description"] == TOOLS[1].description
    assert "query" in offered["ask"]["parameters"]["properties"]
    assert "Sources:\n[1] The lamp (north::lamp" in second.question


def test_an_agent_reads_an_error_and_goes_on(engine: KnowledgeEngine, openai_server: Any) -> None:
    openai_server.script(tool_call("explore_entity", name="Orin Vale"), "A misspelt name.")

    async def main() -> str:
        agent = FunctionAgent(tools=engine.tools(), llm=agent_llm(openai_server), streaming=False)
        return str(await agent.run("Who is Orin Vale?"))

    assert asyncio.run(main()) == "A misspelt name."
    assert "similar names are 'Orrin Vale'" in openai_server.requests[-1].question


def test_a_react_agent_uses_the_tools_too(engine: KnowledgeEngine, openai_server: Any) -> None:
    openai_server.script(
        "Thought: I look it up.\nAction: search\n"
        'Action Input: {"question": "Who lit the lamp?", "top_k": 1}',
        "Thought: I can answer.\nAnswer: Ada Brine lit it.",
    )

    async def main() -> str:
        agent = ReActAgent(tools=engine.tools(), llm=agent_llm(openai_server), streaming=False)
        return str(await agent.run("Who lit the lamp?"))

    assert asyncio.run(main()) == "Ada Brine lit it."
    assert LAMP in json.dumps(openai_server.requests[-1].body["messages"])
