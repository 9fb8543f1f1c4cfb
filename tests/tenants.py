"""Servers that hold the same in one namespace and other things beside it, and random requests.

    with Tenants(folder) as tenants:
        differing = tenants.compare(count=150, seed=1)

The first server holds nothing beside `north` and `west`; in the others' `south` stand texts of
other lengths about the same people, under shared and conflicting names, and it changes while
questions are asked. A reply to a token limited to `north`, or to `north` and `west`, must be
byte-equal on all servers but for clocks, durations and ids of requests.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from api_server import ApiServer
from openai_server import OpenAIServer, Request
from reading_model import every_name, read_like_a_model
from two_owners import NORTH, SECRETS, SOUTH

Documents = Mapping[str, tuple[str, str]]
CHINESE = ("鸥港灯塔", "艾达·布莱恩船长于1901年点亮了鸥港灯塔。海燕号每月运来灯油。")
WEST = ("The West", "Ida Brandt, also known as Westing, bought the Gannet.")
LONG = (
    "The Gannet affair",
    "Anders Vik (AV) sold the Gannet. Maeve Tolland, also known as Anders Vik Junior, left Oslo. "
    "Ida Brandt is called Port Ellery Ida. 艾达·布莱恩，又名海燕号船长，离开了鸥港。\n\n"
    + "The pier of Port Ellery was sold to the Oslo Gannet Company by Anders Vik. "
    * 30,
)
SHORT = ("Soup", "Eve Holm cooked soup in a pot.")
HELD: Documents = {**NORTH, "north/zh": CHINESE}
OTHERS: Sequence[Documents] = ({}, {"south/a": SHORT}, {**SOUTH, "south/long": LONG})
"""What the namespace `south` holds at first, a server each."""
NAMES = (
    "Anders Vik",
    "Ida Brandt",
    "Maeve Tolland",
    "Greywing",
    "Westing",
    "Quillfeather",
    "Xenia Morrow",
    "Port Ellery",
    "Oslo",
    "the Gannet",
    "AV",
    "Anders Vik Junior",
    "Eve Holm",
    "艾达·布莱恩",
    "海燕号",
    "鸥港",
    "Nobody At All",
)
PATTERNS = (
    "Who is {0}?",
    "Who built the pier of {0}?",
    "What did {0} pay for?",
    "How are {0} and {1} connected?",
    "Where did {0} meet {1}?",
    "What do we know of {0}?",
    "When did {0} leave {1}?",
    "How many documents name {0}?",
    "Which documents are there?",
    "What are the main themes across these documents?",
    "What conflicts run through all of this, about {0}?",
    "{0} {1}",
    "{0}是谁？",
    "谁点亮了{0}的灯塔？",
    "soup pot affair company",
)
TEXTS = (
    "Anders Vik met Greywing in Oslo. ",
    "Ida Brandt, also known as Westing, met Anders Vik in 鸥港. " * 4,
    "The Gannet left Port Ellery with Tilda Rask. " * 9,
    "# Tilda Rask\n\nTilda Rask, who is called AV, keeps the lamp of Oslo.\n\n" * 2,
    "艾达·布莱恩，又名海燕号船长，离开了鸥港。",
    HELD["north/a"][1],
)
"""What the callers write, and others too."""
MODES = ("auto", "local", "global", "both", "agent")
FILTERS = (None, None, None, ["type=text"], ["tags=red"], ["title~crew"], ["document_id!=x"])
SPACES = (None, None, None, "north", "south", "west", "nowhere", "")
_TOLD = tuple(word for word in SECRETS if not any(word in name.casefold() for name in NAMES))
"""Words of the south that no probe writes down."""
_VARYING = re.compile(
    r'"seconds": ?\{[^}]*\}'
    r'|"(?:seconds|created|id)": ?(?:"chatcmpl[^"]*"|[\d.e-]+)'
    r"|\b\d+(?:\.\d+)? m?s\b"
    r"|\b20\d\d-\d\d-\d\d(?:[T -][\d:.]+)?(?:Z|\+00:00)?(?:-[0-9a-f]{12})?"
    r'|"id":"[0-9a-f]{12}"'
    r'|"document_id":"memory/[^"]*","chunk_id":"[^"]*"'
    r"|fact [0-9a-f]{12}"
    r'|"state":"(?:queued|running)"'
)
"""Clocks, durations, ids of requests and what memory makes of the time."""
_HEADERS = ("content-type", "content-security-policy", "allow", "retry-after")
_ACCEPTED = "application/json, text/event-stream"
_TOOL_PATH = "/mcp"
_TAKEN = 202
_CHANGE_EVERY = 60


class Probe(NamedTuple):
    """A request as it is sent; `files` is an upload."""

    method: str
    path: str
    body: dict[str, Any] | None = None
    files: dict[str, Any] | None = None


class Tenants:
    """The servers, each with a client of every token.

    Args:
        folder: where their libraries lie.
        env: settings of all of them.
        with_models: whether each asks a language model of its own, which answers by rules.
    """

    def __init__(
        self, folder: Path, env: Mapping[str, str] | None = None, *, with_models: bool = False
    ) -> None:
        given = {"LOREGRAPH_SERVE__MCP": "true", "LOREGRAPH_ANSWER__READER": "none", **(env or {})}
        self.models = [OpenAIServer() for _ in OTHERS] if with_models else []
        settings = [given | _asking(model) for model in self.models] or [given] * len(OTHERS)
        self._servers = [ApiServer(folder / str(n), env=one) for n, one in enumerate(settings)]
        self.admins: list[httpx.Client] = []
        self._stack = ExitStack()
        self.clients: dict[str, list[httpx.Client]] = {"north": [], "both": []}
        self._sessions: dict[httpx.Client, str] = {}

    def __enter__(self) -> Tenants:
        with self._stack as stack:
            for model in self.models:
                stack.enter_context(model).answer_with(_answer)
            for server, others in zip(self._servers, OTHERS, strict=True):
                stack.enter_context(server)
                self._fill(server, others)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _fill(self, server: ApiServer, others: Documents) -> None:
        """Fill a library and make its tokens; what others hold comes before and after."""
        admin = server.token("admin", is_admin=True)
        early = dict(sorted(others.items())[::2])
        late = {name: others[name] for name in others.keys() - early.keys()}
        held = [("south", early), ("north", HELD), ("west", {"west/a": WEST}), ("south", late)]
        for space, documents in held:
            for name, (title, text) in sorted(documents.items()):
                server.add_text(text, document_id=name, title=title, namespace=space, token=admin)
        self.admins.append(self._stack.enter_context(server.client(admin)))
        for name, spaces in (("north", ["north"]), ("both", ["north", "west"])):
            token = server.token(name, reads=spaces, writes=spaces, user=name)
            self.clients[name].append(self._stack.enter_context(server.client(token)))

    def compare(self, *, count: int, seed: int) -> list[str]:
        """Send that many random probes; return those whose replies differ, or tell a secret."""
        drawn = random.Random(seed)  # noqa: S311
        differing = []
        for number in range(count):
            if number % _CHANGE_EVERY == _CHANGE_EVERY - 1:
                self._change_others(drawn, number)
            clients = self.clients[drawn.choice(["north", "north", "both"])]
            probe = drawn_probe(drawn, clients[0])
            replies = [self.reply(client, probe) for client in clients]
            if len(set(replies)) > 1:
                differing.append(f"{probe}\n{_difference(replies)}")
            asked = repr(probe).casefold()
            told = "".join(replies).casefold()
            known = [word for word in _TOLD if word in told and word not in asked]
            if known:
                differing.append(f"{probe}\ntells {known}: {replies[-1]}")
        return differing

    def prompts(self) -> list[list[str]]:
        """All that each model was asked so far, sorted."""
        return [sorted(_prompt(each) for each in model.requests) for model in self.models]

    def reply(self, client: httpx.Client, probe: Probe) -> str:
        """Return status, headers and body without what varies."""
        headers = {"Accept": _ACCEPTED}
        if probe.path == _TOOL_PATH:
            headers |= {"Mcp-Session-Id": self._session(client)}
        path = probe.path if probe.path == _TOOL_PATH else f"/v1{probe.path}"
        response = client.request(
            probe.method, path, json=probe.body, files=probe.files, headers=headers
        )
        if probe.files and response.status_code == _TAKEN:
            self._wait(client, response.json()["job"])
        said = [f"{name}: {response.headers.get(name)}" for name in _HEADERS]
        return f"{response.status_code} {said} {_VARYING.sub('*', response.text)}"

    def _wait(self, client: httpx.Client, job: str) -> None:
        while client.get(f"/v1/jobs/{job}").json()["state"] in ("queued", "running"):
            time.sleep(0.02)

    def _session(self, client: httpx.Client) -> str:
        if client not in self._sessions:
            info = {"name": "probe", "version": "1"}
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            response = client.post(_TOOL_PATH, json=body, headers={"Accept": _ACCEPTED})
            self._sessions[client] = response.headers["mcp-session-id"]
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            known = {"Accept": _ACCEPTED, "Mcp-Session-Id": self._sessions[client]}
            client.post(_TOOL_PATH, json=note, headers=known)
        return self._sessions[client]

    def _change_others(self, drawn: random.Random, number: int) -> None:
        """Add, change or remove what other namespaces hold, in all servers but the first."""
        names = drawn.sample(NAMES, 3)
        own = f"{names[0]}, also known as {names[1]}, sank the {names[2]}. " * drawn.randint(1, 40)
        text = drawn.choice([own, *TEXTS])
        name = f"south/new-{number % 3}"
        for admin in self.admins[1:]:
            if drawn.random() < 0.3:
                admin.delete(f"/v1/documents/south::{name}")
            else:
                body = {"text": text, "document_id": name, "namespace": "south"}
                admin.post("/v1/texts", json=body).raise_for_status()


def _asking(model: OpenAIServer) -> dict[str, str]:
    """Settings of a server that asks this model wherever one can be asked."""
    return {
        "LOREGRAPH_LLM__KIND": "openai_like",
        "LOREGRAPH_LLM__MODEL": "test-model",
        "LOREGRAPH_LLM__BASE_URL": model.base_url,
        "LOREGRAPH_GRAPH__REPORT_MIN_ENTITIES": "1",
        "OPENAI_API_KEY": "none",
    }


def _answer(request: Request) -> str:
    return read_like_a_model(request, names=every_name)


def _prompt(request: Request) -> str:
    return "\n".join(f"{each['role']}: {each['content']}" for each in request.body["messages"])


def _difference(replies: Sequence[str]) -> str:
    """Return where replies part, with what stands around it."""
    at = next(n for n, some in enumerate(zip_longest(*replies)) if len(set(some)) > 1)
    return "\n".join(each[max(0, at - 200) : at + 200] for each in replies)


# --- requests -----------------------------------------------------------------------------------


def drawn_probe(drawn: random.Random, client: httpx.Client) -> Probe:
    """Return a random request of any endpoint."""
    kinds = (_question, _question, _chat, _tool, _tool, _entity, _community, _document, _system)
    more = (_change, _memory, _mistake)
    return drawn.choice(kinds + more)(drawn, client)


def _asked(drawn: random.Random) -> str:
    return drawn.choice(PATTERNS).format(*drawn.sample(NAMES, 2))


def _scope(drawn: random.Random) -> dict[str, Any]:
    given = {"filters": drawn.choice(FILTERS), "namespace": drawn.choice(SPACES)}
    return {name: value for name, value in given.items() if value is not None}


def _question(drawn: random.Random, _: httpx.Client) -> Probe:
    body = {"question": _asked(drawn), **_scope(drawn)}
    if drawn.random() < 0.3:
        return Probe("POST", "/retrieve", body | {"top_k": drawn.randint(1, 100)})
    if drawn.random() < 0.15:
        return Probe("POST", "/graph/page", body)
    body |= {"mode": drawn.choice(MODES), "stream": drawn.random() < 0.3}
    if drawn.random() < 0.2:
        body["session"] = drawn.choice(["one", "two"])
    if drawn.random() < 0.3:
        body["history"] = [{"question": _asked(drawn), "answer": drawn.choice(NAMES)}]
    return Probe("POST", "/ask", body)


def _chat(drawn: random.Random, _: httpx.Client) -> Probe:
    model = "loregraph" + drawn.choice(["", "-local", "-global", "-both", "-agent"])
    messages = [{"role": "user", "content": _asked(drawn)} for _ in range(drawn.randint(1, 3))]
    body = {"model": model, "messages": messages, "stream": drawn.random() < 0.4, **_scope(drawn)}
    return Probe("POST", "/chat/completions", body)


def _tool(drawn: random.Random, client: httpx.Client) -> Probe:
    name = drawn.choice(NAMES)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": _asked(drawn), "top_k": drawn.randint(1, 50)}),
        ("ask", {"query": _asked(drawn), "mode": drawn.choice(MODES)}),
        ("explore_entity", {"name": name, "related_to": drawn.choice([*NAMES, ""])}),
        ("explore_topics", {"level": drawn.choice([0, 1, None])}),
        ("explore_topics", {"topic_id": _listed(drawn, client, "communities")}),
        ("list_documents", {"query": drawn.choice(["", "a", "crew", "south"])}),
        ("read_document", {"document_id": drawn.choice(["north::north/a", "south::south/a"])}),
        ("stats", {}),
        ("recall", {"query": name}),
    ]
    tool, arguments = drawn.choice(calls)
    scope = drawn.choice(SPACES)
    arguments |= {} if scope is None else {"namespace": scope}
    call = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    return Probe("POST", _TOOL_PATH, body)


def _listed(drawn: random.Random, client: httpx.Client, kind: str) -> str:
    items = client.get(f"/v1/graph/{kind}?limit=200").json()["items"]
    return str(drawn.choice(items)["id"]) if items else "1"


def _query(drawn: random.Random) -> str:
    scope = _scope(drawn)
    parts = [f"where={each}" for each in scope.get("filters", ())]
    if "namespace" in scope:
        parts.append(f"namespace={scope['namespace']}")
    return "&".join(parts)


def _entity(drawn: random.Random, client: httpx.Client) -> Probe:
    some = _listed(drawn, client, "entities") if drawn.random() < 0.4 else drawn.choice(NAMES)
    other, rest = drawn.choice(NAMES), _query(drawn)
    path = drawn.choice(
        [
            f"entities?limit={drawn.randint(1, 200)}",
            f"entities?query={some}",
            f"entities?type={drawn.choice(['PERSON', 'GPE', 'OTHER'])}",
            f"entities/{some}?evidences={drawn.randint(1, 50)}",
            f"neighbourhood?entity={some}&hops={drawn.randint(1, 3)}",
            f"paths?from={some}&to={other}",
            f"page?focus={some}&hops={drawn.randint(1, 2)}",
        ]
    )
    return Probe("GET", f"/graph/{path}&{rest}" if "?" in path else f"/graph/{path}?{rest}")


def _community(drawn: random.Random, client: httpx.Client) -> Probe:
    some, rest = _listed(drawn, client, "communities"), _query(drawn)
    path = drawn.choice(
        [
            f"communities?limit={drawn.randint(1, 200)}",
            f"communities/{some}?",
            f"page?community={some}",
        ]
    )
    return Probe("GET", f"/graph/{path}&{rest}")


def _document(drawn: random.Random, _: httpx.Client) -> Probe:
    some = drawn.choice(["north::north/a", "west::west/a", "south::south/a", "north::new", "no"])
    path = drawn.choice(
        [
            f"documents?limit={drawn.randint(1, 3)}&{_query(drawn)}",
            f"documents?query={drawn.choice(['a', 'crew', 'Zanzara'])}",
            f"documents/{some}",
            f"document-text?id={some}&start={drawn.randint(0, 80)}",
        ]
    )
    return Probe("GET", f"/{path}")


def _system(drawn: random.Random, _: httpx.Client) -> Probe:
    path = ["namespaces", "stats", "usage", "settings", "jobs", "jobs/1", "whoami", "health"]
    return Probe("GET", f"/{drawn.choice([*path, 'models', '../metrics'])}")


def _change(drawn: random.Random, _: httpx.Client) -> Probe:
    """Change the caller's own namespace, or try to change another."""
    space = drawn.choice(["north", "north", "north", "west", "south", ""])
    name = drawn.choice(["new", "second"])
    some = f"{space}::{name}"
    body = {"text": drawn.choice(TEXTS), "document_id": name, "namespace": space}
    match drawn.randrange(5):
        case 0:
            return Probe("DELETE", f"/documents/{some}")
        case 1:
            described = {"metadata": {"tags": [drawn.choice(["red", "blue"])]}}
            return Probe("PATCH", f"/documents/{some}", described)
        case 2:
            call = {"name": "add_text", "arguments": body}
            request = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": call}
            return Probe("POST", _TOOL_PATH, request)
        case 3:
            file = ("file.txt", body["text"].encode(), "text/plain")
            return Probe("POST", "/documents", files={"files": file})
        case _:
            return Probe("POST", "/texts", body)


def _memory(drawn: random.Random, _: httpx.Client) -> Probe:
    said = {"role": "user", "content": f"I met {drawn.choice(NAMES)} in {drawn.choice(NAMES)}."}
    session = drawn.choice(["one", "two"])
    return drawn.choice(
        [
            Probe("GET", "/memory"),
            Probe("GET", "/memory/export"),
            Probe("POST", "/memory/search", {"question": _asked(drawn)}),
            Probe("POST", "/memory/messages", {"session": session, "messages": [said]}),
            Probe("POST", f"/memory/sessions/{session}/close"),
            Probe("DELETE", f"/memory?session={session}"),
        ]
    )


def _mistake(drawn: random.Random, _: httpx.Client) -> Probe:
    """Return a request that is refused, or that asks for what is not the caller's."""
    asked = {"question": _asked(drawn)}
    return drawn.choice(
        [
            Probe("POST", "/ask", asked | {"namespace": "south"}),
            Probe("POST", "/ask", asked | {"mode": "unknown"}),
            Probe("POST", "/ask", {"question": ""}),
            Probe("POST", "/retrieve", asked | {"filters": ["no condition"]}),
            Probe("POST", "/retrieve", asked | {"filters": ["namespace=south"]}),
            Probe("POST", "/chat/completions", {"model": "loregraph", "messages": []}),
            Probe("GET", "/documents?cursor=broken"),
            Probe("GET", "/documents?where=namespace=south"),
            Probe("GET", "/graph/entities/ent-unknown"),
            Probe("GET", "/graph/communities/99"),
            Probe("GET", f"/graph/paths?from={drawn.choice(NAMES)}&to=Zanzara"),
            Probe("DELETE", "/documents/south::south/a"),
            Probe("POST", "/texts", {"text": "x", "namespace": "south"}),
            Probe("POST", _TOOL_PATH, json.loads('{"jsonrpc": "2.0", "id": 1, "method": "no"}')),
        ]
    )
