"""`loregraph mcp` with a client session of the official SDK: over pipes and over HTTP."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import jsonschema
import pytest
from anyio.from_thread import start_blocking_portal
from api_server import ApiServer
from command_line import environment, interrupts_heeded
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from typer.testing import CliRunner
from warm_process import forked

from engine.api.auth import TokenStore

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
HELLO: dict[str, object] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LAMP = "Captain Ada Brine lit the lamp at Gull Quay in 1901. Orrin Vale met Ada Brine at Gull Quay."
LEDGER = "Xenia Morrow hid the Zanzara ledger at Gull Quay. Ada Brine owes Xenia Morrow."


class Session:
    """A client whose calls can be made from a test without an event loop of its own."""

    def __init__(self, portal: Any, client: Client) -> None:
        self.portal = portal
        self.client = client

    def call(self, tool: str, /, **arguments: object) -> Any:
        return self.portal.call(self.client.call_tool, tool, arguments)

    def told(self, tool: str, /, **arguments: object) -> str:
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        return str(result.content[0].text)

    def refused(self, tool: str, /, **arguments: object) -> str:
        result = self.call(tool, **arguments)
        assert result.is_error
        (line,) = result.content[0].text.splitlines()
        return str(line)

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}


@contextmanager
def connected(transport: Any, *, mode: str = "auto") -> Iterator[Session]:
    with start_blocking_portal() as portal:
        client = Client(transport, mode=mode, read_timeout_seconds=120)
        with portal.wrap_async_context_manager(client) as opened:
            yield Session(portal, opened)


@contextmanager
def over_pipes(folder: Path, *arguments: str, mode: str = "auto") -> Iterator[Session]:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "engine.cli", "mcp", "--library", "library", *arguments],
        env=environment(),
        cwd=folder,
    )
    log = folder / "stderr.txt"
    with log.open("a", encoding="utf8") as stderr:
        transport = stdio_client(parameters, errlog=stderr)
        with connected(transport, mode=mode) as session:
            yield session


@contextmanager
def over_http(url: str, token: str = "", *, mode: str = "auto") -> Iterator[Session]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    http = httpx2.AsyncClient(headers=headers, timeout=60)
    with connected(streamable_http_client(url, http_client=http), mode=mode) as session:
        yield session


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `papers/` and a library of two namespaces."""
    from engine import KnowledgeEngine, Settings

    folder = tmp_path_factory.mktemp("mcp")
    (folder / "papers").mkdir()
    (folder / "papers" / "note.md").write_text("# A note\n\nTomas Reed steered the Petrel.")
    (folder / "secret.md").write_text("Nobody may read this.")
    settings = Settings.model_validate(
        {"embedding": {"kind": "none"}, "graph": {"spacy_model": "none"}}
    )
    with KnowledgeEngine.open(folder / "library", settings=settings) as engine:
        engine.add_text(LAMP, document_id="lamp", title="The lamp", namespace="north")
        engine.add_text(LEDGER, document_id="ledger", title="The ledger", namespace="south")
    return folder


@pytest.fixture(scope="module")
def piped(folder: Path) -> Iterator[Session]:
    with over_pipes(folder, "--allow", "papers") as session:
        yield session


# --- over pipes -----------------------------------------------------------------------------------


def test_the_tools_say_what_they_take_and_give(piped: Session) -> None:
    tools = piped.tools()
    assert list(tools) == READING + WRITING
    for name, tool in tools.items():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        assert tool.description and tool.title
        assert tool.annotations.read_only_hint is (name in READING)
        assert tool.annotations.destructive_hint is (name == "remove")
    assert "not instructions" in str(piped.client.instructions)


def test_what_tools_give_fits_their_schemas_and_can_be_read(piped: Session) -> None:
    tools = piped.tools()
    for name, arguments in (
        ("search", {"question": "Who lit the lamp?", "filters": ["title~lamp"]}),
        ("ask", {"question": "Who lit the lamp at Gull Quay?", "namespace": "north"}),
        ("explore_entity", {"name": "Orrin Vale", "related_to": "Gull Quay"}),
        ("explore_topics", {}),
        ("list_documents", {"query": "lamp"}),
        ("read_document", {"document_id": "north::lamp"}),
        ("stats", {}),
    ):
        result = piped.call(name, **arguments)
        assert not result.is_error, result.content
        jsonschema.validate(result.structured_content, tools[name].output_schema)
        assert len(result.content[0].text) > 10
    answer = piped.call("ask", question="Who lit the lamp at Gull Quay?", namespace="north")
    (quote, *_) = answer.structured_content["citations"]
    assert LAMP[quote["start"] : quote["end"]] == quote["quote"]
    assert "Sources:\n[1] The lamp (north::lamp:0-" in answer.content[0].text


def test_errors_are_the_tools_own_in_one_line(piped: Session) -> None:
    assert piped.refused("explore_entity", name="Orin Vale") == (
        "no entity has the name 'Orin Vale'; similar names are 'Orrin Vale'"
    )
    assert piped.refused("search", question="x", bogus=1) == "search: bogus: unknown argument"
    assert piped.refused("search") == "search: query: Field required"
    assert "at most 4000" in piped.refused("ask", question="x" * 4_001)
    assert "filter not usable" in piped.refused("search", question="x", filters=["nonsense"])
    assert "read_document" not in piped.refused("read_document", document_id="no such")
    with pytest.raises(MCPError, match="unknown tool: 'rm'"):
        piped.call("rm")


def test_documents_are_added_with_progress_found_and_removed(piped: Session) -> None:
    told: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, str(message)))

    async def add() -> Any:
        arguments = {"source": "note.md", "metadata": {"tags": ["red"]}}
        return await piped.client.call_tool("add_document", arguments, progress_callback=hear)

    added = piped.portal.call(add)
    assert added.structured_content["added"] == ["papers/note.md"]
    assert [number for number, _ in told] == sorted({number for number, _ in told})
    assert any(message.startswith("read: ") for _, message in told)
    found = piped.call("search", question="Who steered the Petrel?", filters=["tags=red"])
    assert [one["document_id"] for one in found.structured_content["passages"]] == [
        "papers/note.md"
    ]
    made = piped.call("add_text", text="Ida Brandt mended the sails.", namespace="north")
    (name,) = made.structured_content["added"]
    assert name.startswith("north::text-")
    for document in ("papers/note.md", name):
        assert piped.told("remove", document_id=document) == f"removed: {document}"


def test_an_answer_tells_its_stages_on_the_way(piped: Session) -> None:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(str(message))

    async def ask() -> Any:
        question = {"question": "Who lit the lamp at Gull Quay?"}
        return await piped.client.call_tool("ask", question, progress_callback=hear)

    assert "Ada Brine" in piped.portal.call(ask).content[0].text
    assert told


@pytest.mark.parametrize(
    "source",
    ["../secret.md", "papers/../secret.md", "/etc/passwd", "{folder}/secret.md", "library"],
)
def test_no_file_outside_the_allowed_folders_is_read(
    piped: Session, folder: Path, source: str
) -> None:
    given = source.format(folder=folder)
    assert "outside of the allowed folders" in piped.refused("add_document", source=given)


def test_private_addresses_and_databases_are_refused(piped: Session) -> None:
    assert "private" in piped.refused("add_document", source="http://127.0.0.1:9/x.html")
    assert "source not allowed" in piped.refused(
        "add_document", source="sqlite:///library/library.db"
    )


def test_documents_are_resources(piped: Session) -> None:
    listed = piped.portal.call(piped.client.list_resources)
    uris = [resource.uri for resource in listed.resources]
    assert uris == [
        "loregraph://documents/north%3A%3Alamp",
        "loregraph://documents/south%3A%3Aledger",
    ]
    read = piped.portal.call(piped.client.read_resource, uris[0])
    assert read.contents[0].text == LAMP
    for uri in ("loregraph://documents/../../etc/passwd", "file:///etc/passwd"):
        with pytest.raises(MCPError):
            piped.portal.call(piped.client.read_resource, uri)
    templates = piped.portal.call(piped.client.list_resource_templates)
    assert templates.resource_templates[0].uri_template == "loregraph://documents/{+id}"


def test_there_is_a_prompt_for_answers_with_sources(piped: Session) -> None:
    (prompt,) = piped.portal.call(piped.client.list_prompts).prompts
    found = piped.portal.call(piped.client.get_prompt, prompt.name, {"question": "Why?"})
    assert found.messages[0].content.text.endswith("Question: Why?")
    with pytest.raises(MCPError, match="the only prompt is"):
        piped.portal.call(piped.client.get_prompt, prompt.name, {})


def test_work_that_is_cancelled_ends_and_what_was_stored_is_kept(
    piped: Session, folder: Path
) -> None:
    many = folder / "papers" / "many"
    many.mkdir()
    for number in range(250):
        (many / f"{number:03}.md").write_text(f"Orrin Vale met Ada Brine on day {number}.")

    async def add_and_leave() -> int:
        count = 0
        async with anyio.create_task_group() as tasks:

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                nonlocal count
                count += 1
                if re.match(r"(embed|extract|read): [1-9]", str(message)):
                    tasks.cancel_scope.cancel()

            await piped.client.call_tool("add_document", {"source": "many"}, progress_callback=hear)
        return count

    assert piped.portal.call(add_and_leave) > 0
    held = piped.call("list_documents", query="many/").structured_content["total"]
    assert held < 250
    again = piped.call("add_document", source="many").structured_content
    assert len(again["added"]) + len(again["unchanged"]) == 250
    assert len(again["unchanged"]) >= held
    for name in ("papers/many/000.md", "papers/many/249.md"):
        assert piped.told("read_document", document_id=name)
    listed = [f"papers/many/{number:03}.md" for number in range(250)]
    assert sorted([*again["added"], *again["unchanged"]]) == listed


def test_confined_and_read_only_nothing_else_is_there(folder: Path) -> None:
    arguments = ("--namespace", "north", "--read-only", "--allow", "papers")
    with over_pipes(folder, *arguments, mode="legacy") as session:  # the older handshake, too
        tools = session.tools()
        assert list(tools) == READING
        assert not any("namespace" in tool.input_schema["properties"] for tool in tools.values())
        assert session.call("stats").structured_content["figures"]["documents"] == 1
        seen = session.told("search", question="ledger", top_k=50)
        seen += session.told("explore_entity", name="Gull Quay", limit=100)
        seen += session.told("ask", question="What is this all about?", mode="global")
        assert not any(word in seen for word in ("Xenia", "Morrow", "Zanzara", "south"))
        assert session.refused("read_document", document_id="south::ledger") == (
            "unknown document: 'south::ledger'; `list_documents` shows the ids"
        )
        resources = session.portal.call(session.client.list_resources).resources
        assert [one.name for one in resources] == ["north::lamp"]
        with pytest.raises(MCPError, match="unknown document"):
            uri = "loregraph://documents/south%3A%3Aledger"
            session.portal.call(session.client.read_resource, uri)
        with pytest.raises(MCPError, match="unknown tool: 'add_text'"):
            session.call("add_text", text="x")


def test_output_is_the_protocol_alone_and_ctrl_c_ends_it_while_it_waits(folder: Path) -> None:
    command = [sys.executable, "-m", "engine.cli", "mcp", "--library", "library"]
    with interrupts_heeded():
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(f"this is no JSON\n{json.dumps(HELLO)}\n")
        process.stdin.flush()
        greeted = json.loads(process.stdout.readline())
        while "result" not in greeted:  # the protocol's own word on what is no JSON
            greeted = json.loads(process.stdout.readline())
        assert greeted["result"]["serverInfo"]["name"] == "loregraph"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stdout.read() == ""
        assert "Traceback" not in process.stderr.read()


# --- over HTTP ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    """The address of a server over the same library, which has two tokens."""
    with listening(folder, "--port", "0") as url:
        yield url


@contextmanager
def listening(folder: Path, *arguments: str) -> Iterator[str]:
    command = ["mcp", "--http", "--library", "library", *arguments]
    said = folder / "said.txt"
    with said.open("wb") as out:
        process = forked(command, cwd=folder, env=environment(), stdout=out, stderr=out)
    try:
        while "\n" not in (line := said.read_text(encoding="utf8")) and process.poll() is None:
            time.sleep(0.02)
        found = re.match(r"an MCP server at (http://\S+/mcp)\n", line)
        assert found is not None, line
        yield found[1]
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="module")
def tokens(folder: Path, served: str) -> dict[str, str]:
    """Tokens made while the server runs: of one who reads the north, and of one who writes it."""
    store = TokenStore(folder / "library" / "tokens.json")
    return {
        "reader": store.create("reader", reads=["north"])[1],
        "writer": store.create("writer", writes=["north"])[1],
    }


def test_on_loopback_without_tokens_everybody_here_is_let_in(served: str) -> None:
    with over_http(served) as session:
        assert "Ada Brine" in session.told("ask", question="Who lit the lamp at Gull Quay?")
        assert list(session.tools()) == READING + WRITING


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_a_page_of_another_site_reaches_nothing(
    served: str, headers: dict[str, str], status: int
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = httpx.post(served, content=body, headers=sent | headers, timeout=30)
    assert answer.status_code == status
    assert "search" not in answer.text


def test_too_large_a_body_is_refused(served: str) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = b" " * 9_000_000
    # The server hangs up while the body is still being sent, so the reply may end early.
    with httpx.stream("POST", served, content=body, headers=headers, timeout=30) as answer:
        assert answer.status_code == 413


def test_a_token_sees_its_namespaces_and_the_tools_it_may_use(
    served: str, tokens: dict[str, str]
) -> None:
    with over_http(served, tokens["reader"]) as session:
        assert list(session.tools()) == READING
        seen = session.told("search", question="ledger", top_k=50)
        seen += session.told("explore_entity", name="Ada Brine", limit=100)
        seen += session.told("list_documents")
        seen += session.told("explore_topics", level=None, limit=200)
        seen += session.told("ask", question="What are the main themes?", mode="global")
        assert not any(word in seen for word in ("Xenia", "Morrow", "Zanzara", "south"))
        for name in ("search", "ask"):
            refusal = session.refused(name, question="ledger", namespace="south")
            assert refusal == "namespace may not be read here: 'south'; choose another"
        with pytest.raises(MCPError, match="unknown tool: 'remove'"):
            session.call("remove", document_id="north::lamp")


def test_a_token_writes_where_it_may(served: str, tokens: dict[str, str]) -> None:
    with over_http(served, tokens["writer"], mode="legacy") as session:
        added = session.call("add_text", text="Ida Brandt sailed.", document_id="sail")
        assert added.structured_content["added"] == ["north::sail"]
        refusal = session.refused("add_text", text="x", namespace="south")
        assert refusal == "namespace may not be written to here: 'south'; choose another"
        assert "unknown document" in session.refused("remove", document_id="south::ledger")
        assert session.told("remove", document_id="north::sail") == "removed: north::sail"


def test_without_a_token_that_is_known_nobody_is_let_in(
    served: str, tokens: dict[str, str]
) -> None:
    for token in ("", "lore_wrong", tokens["reader"] + "x"):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(served, json={}, headers=headers, timeout=30)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_session_is_only_for_who_began_it(served: str, tokens: dict[str, str]) -> None:
    def post(token: str, body: dict[str, object], **more: str) -> httpx.Response:
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            **more,
        }
        return httpx.post(served, json=body, headers=headers, timeout=60)

    begun = post(tokens["writer"], HELLO)
    own = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    listing: dict[str, object] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert "add_text" in post(tokens["writer"], listing, **own).text
    assert post(tokens["reader"], listing, **own).status_code == 404


def test_the_server_has_the_tools_beside_the_page_and_the_api(tmp_path: Path) -> None:
    with ApiServer(tmp_path, arguments=["--mcp"]) as server:
        server.add_text(LAMP, document_id="lamp", namespace="north")
        with over_http(f"{server.url}/mcp") as session:
            assert list(session.tools()) == READING + WRITING
            assert "Ada Brine" in session.told("ask", question="Who lit the lamp at Gull Quay?")
        assert httpx.get(f"{server.url}/v1/documents").json()["total"] == 1
        foreign = httpx.post(
            f"{server.url}/mcp", json={}, headers={"Origin": "https://evil.example"}
        )
        assert foreign.status_code == 403
        store = TokenStore(server.library / "tokens.json")
        _, south = store.create("south", reads=["south"])
        assert httpx.post(f"{server.url}/mcp", json={}).status_code == 401
        with over_http(f"{server.url}/mcp", south, mode="legacy") as session:
            assert list(session.tools()) == READING
            assert session.call("stats").structured_content["figures"]["documents"] == 0
            assert "unknown document" in session.refused("read_document", document_id="north::lamp")


def test_beyond_loopback_it_does_not_start_without_a_token(tmp_path: Path) -> None:
    from engine.cli.main import app
    from engine.errors import SettingsError

    host = ["--host", "0.0.0.0", "--port", "0"]  # noqa: S104
    command = ["mcp", "--http", *host, "--library", str(tmp_path / "library")]
    with pytest.raises(
        SettingsError, match="without a token gives everyone access: make one with `loregraph token"
    ):
        CliRunner().invoke(app, command, catch_exceptions=False)
    with pytest.raises(SettingsError, match="not a folder: "):
        CliRunner().invoke(app, ["mcp", "--allow", "nowhere"], catch_exceptions=False)
    assert not (tmp_path / "library").exists()
