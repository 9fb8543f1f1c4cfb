"""Memory over REST, MCP tools, the command line, LlamaIndex and the agent: whose it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as LlamaMemory
from typer.testing import CliRunner

from engine.api.auth import TokenStore
from engine.cli.main import app
from engine.config import Settings
from engine.engine import KnowledgeEngine
from engine.errors import NotAllowed
from engine.memory.records import Memory
from engine.tools.definitions import TOOLS
from engine.tools.schemas import Access, Call

PROFILE = {"embedding": {"kind": "tfidf", "multilingual": False}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("memory")) as started:
        yield started


def test_over_rest_the_user_is_the_tokens(server: ApiServer) -> None:
    store = TokenStore(server.library / "tokens.json")
    secrets = {
        name: store.create(name, reads=["*"], user=user)[1]
        for name, user in (("a", "ann"), ("b", "bob"), ("nobody", ""))
    }
    admin = store.create("root", is_admin=True)[1]
    with server.client(secrets["a"]) as ann, server.client(secrets["b"]) as bob:
        sent = {"session": "s", "messages": [{"role": "user", "content": "My dog is Biscuit."}]}
        assert ann.post("/v1/memory/messages", json=sent).json() == {"stored": 1}
        assert ann.post("/v1/memory/sessions/s/close").status_code == 204
        question = {"question": "Who is my dog?", "session": "t"}
        answer = ann.post("/v1/ask", json=question).json()
        assert "“My dog is Biscuit.”" in answer["text"]
        assert answer["citations"][0]["origin"] == "memory"
        assert "Biscuit" not in bob.post("/v1/ask", json=question).text
        assert bob.post("/v1/ask", json=question | {"user": "ann"}).status_code == 403
        for path in ("/v1/memory", "/v1/memory/export"):
            assert "Biscuit" in ann.get(path).text
            assert "Biscuit" not in bob.get(path).text
            assert bob.get(path, params={"user": "ann"}).status_code == 403
        assert bob.post("/v1/memory/search", json={"question": "Biscuit"}).json()["items"] == []
        (fact,) = ann.get("/v1/memory").json()["facts"]
        assert bob.delete("/v1/memory", params={"fact": fact["id"]}).status_code == 404
        assert ann.delete("/v1/memory", params={"session": "../s"}).status_code == 422
        assert ann.delete("/v1/memory", params={"fact": fact["id"]}).status_code == 204
        assert "Biscuit" not in ann.get("/v1/memory/export").text
    for token in (secrets["nobody"], admin):
        with server.client(token) as client:
            assert client.get("/v1/memory").status_code == 403
            assert client.get("/v1/memory", params={"user": "ann"}).status_code == 403
            assert client.post("/v1/ask", json=question).status_code == 403


def test_over_the_chat_protocol_a_session_is_remembered(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server, server.client() as client:

        def chat(text: str, **more: Any) -> str:
            sent = {"messages": [{"role": "user", "content": text}], **more}
            found = client.post("/v1/chat/completions", json=sent).json()
            return str(found["choices"][0]["message"]["content"])

        chat("My dog is called Biscuit.", session="s", user="ann")
        assert "Biscuit" in chat("What is my dog called?", session="t", user="ann")
        assert "Biscuit" not in chat("What is my dog called?", session="t", user="bob")
        assert "Biscuit" not in chat("What is my dog called?", user="ann")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[KnowledgeEngine]:
    chosen = Settings.model_validate(PROFILE)
    with KnowledgeEngine.open(tmp_path / "library", settings=chosen) as opened:
        opened.add_text("Ada Marsh founded the station in 1901.", document_id="note")
        yield opened


def tool(engine: KnowledgeEngine, name: str, user: str, **arguments: object) -> str:
    (one,) = (each for each in TOOLS if each.name == name)
    call = Call(rights=Access(user=user), namespace=None, folders=[])
    return one.run(engine, one.checked(arguments, confined=False), call).text


def test_tools_remember_recall_and_forget_for_their_user(engine: KnowledgeEngine) -> None:
    tool(engine, "remember", "ann", text="My dog is called Biscuit.")
    assert "Biscuit" in tool(engine, "recall", "ann", query="dog called")
    assert "Biscuit" in tool(engine, "ask", "ann", query="What is my dog called?", session="t")
    assert "Biscuit" not in tool(engine, "recall", "bob", query="dog called")
    tool(engine, "forget", "ann", session="default")
    assert "Biscuit" not in tool(engine, "recall", "ann", query="dog called")
    with pytest.raises(NotAllowed):
        tool(engine, "recall", "", query="dog")
    offered = {each.name for each in TOOLS if each.is_offered(Access())}
    assert offered.isdisjoint({"remember", "recall", "forget"})
    names = {each.metadata.name for each in engine.tools(read_only=False, user="ann")}
    assert names >= {"remember", "recall", "forget"}


def test_the_command_line_lists_shows_exports_and_forgets(tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text(json.dumps(PROFILE), encoding="utf8")
    where = ["--library", str(tmp_path / "library"), "--profile", str(profile)]
    with KnowledgeEngine.open(tmp_path / "library", settings=profile) as engine:
        engine.add_text("Ada Marsh founded the station in 1901.", document_id="note")

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, *where])
        assert done.exit_code == 0, done.output
        return done.output

    run("ask", "My dog is called Biscuit.", "--user", "ann", "--session", "s")
    answer = run("ask", "What is my dog called?", "--user", "ann", "--session", "t")
    assert "“My dog is called Biscuit.” [1]" in answer
    assert "memory: memory/ann/s/" in answer
    assert "session s" in run("memory", "list", "--user", "ann")
    assert "Biscuit" in run("memory", "show", "s", "--user", "ann")
    assert "Biscuit" in run("memory", "search", "dog called", "--user", "ann")
    target = tmp_path / "ann.json"
    run("memory", "export", str(target), "--user", "ann")
    assert "Biscuit" in target.read_text(encoding="utf8")
    refused = CliRunner().invoke(app, ["memory", "forget", "--user", "ann", *where])
    assert refused.exit_code == 2
    run("memory", "forget", "--user", "ann", "--yes")
    assert run("memory", "list", "--user", "ann").strip() == "nothing is remembered"


def test_llamaindex_gets_the_window_after_what_is_recalled(engine: KnowledgeEngine) -> None:
    engine.memory.remember("ann", [("user", "My dog is called Biscuit.")], session="old")
    memory = engine.as_memory(Memory("ann", "new"))
    said = [("system", "Be kind."), ("user", "Hello."), ("assistant", "Good day."), ("tool", "7")]
    memory.put_messages([ChatMessage(role=role, content=text) for role, text in said])
    given = memory.get("What is my dog called?")
    assert [message.content for message in given[1:]] == ["Hello.", "Good day."]
    assert "Biscuit" in str(given[0].content)
    memory.put_messages(given)
    memory.set(memory.get_all())
    memory.reset()
    assert memory.get_all() == []
    text = "".join(document.text for document in engine.memory.show("ann").documents)
    assert "Biscuit" not in text
    assert "Be kind" not in text


def test_the_agent_searches_memory_for_what_the_user_said(engine: KnowledgeEngine) -> None:
    engine.memory.remember("ann", [("user", "The Zanzibar parcel weighs nine tons.")])
    engine.memory.close_session("ann")
    question = "Remember the Zanzibar parcel, and who founded the station?"
    answer = engine.ask(question, mode="agent", memory=Memory("ann", "b"))
    assert any("SearchMemory" in step.detail for step in answer.trace)
    assert "Zanzibar" in answer.memory[0].text


def test_a_chat_engine_keeps_its_conversation_in_memory(engine: KnowledgeEngine) -> None:
    chat = engine.as_chat_engine(memory=Memory("ann", "s"))
    chat.chat("My dog is called Biscuit.")
    other = engine.as_chat_engine(memory=Memory("ann", "t"))
    assert "Biscuit" in str(other.chat("What is my dog called?"))
    with pytest.raises(TypeError):
        engine.as_chat_engine(memory=object())  # type: ignore[arg-type]


def test_a_block_of_llamaindexs_memory_gives_and_takes(tmp_path: Path) -> None:
    settings = Settings.model_validate(PROFILE)
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        engine.memory.remember("ann", [("user", "I prefer tea. My dog is called Biscuit.")])
        engine.memory.close_session("ann")
        block = engine.as_memory_block(Memory("ann", "b"))
        memory = LlamaMemory.from_defaults(
            session_id="b", memory_blocks=[block], token_limit=200, token_flush_size=50
        )
        for number in range(30):
            memory.put(ChatMessage(role="user", content=f"My cat number {number} is young."))
            memory.put(ChatMessage(role="tool", content="Tool output is not stored."))
        asked = [ChatMessage(role="user", content="What is my dog called?")]
        given = asyncio.run(block.aget(asked))
        shown = engine.memory.show("ann", "b")
    said = [each.text for each in shown.open.get("b", ())]
    said += [document.text for document in shown.documents]
    assert "My dog is called Biscuit." in given
    assert "I prefer tea." in given
    assert "My cat number 0 is young." in "\n".join(said)
    assert "Tool output" not in "\n".join(said)
