"""A token that is limited to namespaces is told the same whatever other namespaces hold.

Three servers hold the same in the north. In the south one holds nothing, one a few words, one a
long text about the same people under other names. Every reply to the token of the north must be
byte-equal, but for clocks, durations and ids of requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from api_server import ApiServer
from two_owners import NORTH, SECRETS, SOUTH

CHINESE = ("鸥港灯塔", "艾达·布莱恩船长于1901年点亮了鸥港灯塔。海燕号每月运来灯油。")
LONG = (
    "The Gannet affair",
    "Anders Vik (AV) sold the Gannet. Maeve Tolland, also known as Anders Vik Junior, left Oslo. "
    "Ida Brandt is called Port Ellery Ida. 艾达·布莱恩，又名海燕号船长，离开了鸥港。\n\n"
    + "The pier of Port Ellery was sold to the Oslo Gannet Company by Anders Vik. "
    * 30,
)
SHORT = ("Soup", "Eve Holm cooked soup in a pot.")
ASKED = (
    "Who built the pier of Port Ellery?",
    "Who is Greywing?",
    "Who is Quillfeather?",
    "What did Anders Vik pay for?",
    "How are Anders Vik and Maeve Tolland connected?",
    "Where did the Gannet sail from Oslo?",
    "What are the main themes across these documents?",
    "谁点亮了鸥港灯塔？",
)
MODES = ("auto", "local", "global", "both", "agent")
_VARYING = re.compile(
    r'"(?:seconds|created|id)": ?(?:"chatcmpl[^"]*"|[\d.e-]+)'
    r"|\b\d+(?:\.\d+)? m?s\b"
)


class Probe(NamedTuple):
    method: str
    path: str
    body: dict[str, Any] | None = None


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[httpx.Client]]:
    souths = ({}, {"south/a": SHORT}, {**SOUTH, "south/long": LONG})
    folder = tmp_path_factory.mktemp("namespaces")
    tokens: list[str] = []
    servers = [ApiServer(folder / str(number)) for number in range(len(souths))]
    try:
        for server, south in zip(servers, souths, strict=True):
            server.start()
            admin = server.token("admin", is_admin=True)
            for name, spaces in (("north", ["north"]), ("both", ["north", "west"])):
                tokens.append(server.token(name, reads=spaces, writes=spaces))
            for space, held in (("south", south), ("north", {**NORTH, "north/zh": CHINESE})):
                for key, (title, text) in sorted(held.items()):
                    server.add_text(
                        text, document_id=key, title=title, namespace=space, token=admin
                    )
            server.add_text(
                "Ida Brandt, also known as Westing, bought the Gannet.",
                document_id="west/a",
                namespace="west",
                token=admin,
            )
        found = [server.client(token) for server, token in zip(servers, tokens[::2], strict=True)]
        found += [server.client(token) for server, token in zip(servers, tokens[1::2], strict=True)]
        yield found
        for client in found:
            client.close()
    finally:
        for server in servers:
            server.stop()


def reply(client: httpx.Client, probe: Probe) -> str:
    response = client.request(probe.method, f"/v1{probe.path}", json=probe.body)
    return f"{response.status_code} {_VARYING.sub('*', response.text)}"


def probes(client: httpx.Client) -> Iterator[Probe]:
    """Every way to ask, and every id that a listing of this client names."""
    for path in ("namespaces", "stats", "documents?limit=2", "documents", "usage", "settings"):
        yield Probe("GET", f"/{path}")
    for key in ("north::north/a", "south::south/a", "nowhere"):
        yield Probe("GET", f"/documents/{key}")
        yield Probe("GET", f"/document-text?id={key}")
    for question in ASKED:
        for mode in MODES:
            yield Probe("POST", "/ask", {"question": question, "mode": mode, "explain": True})
        yield Probe("POST", "/ask", {"question": question, "stream": True})
        yield Probe("POST", "/retrieve", {"question": question, "top_k": 50})
        yield Probe("POST", "/retrieve", {"question": question, "filters": ["type=text"]})
        yield Probe("POST", "/retrieve", {"question": question, "namespace": "south"})
        said = {"model": "loregraph", "messages": [{"role": "user", "content": question}]}
        yield Probe("POST", "/chat/completions", said)
        yield Probe("POST", "/graph/page", {"question": question})
    for part in ("", "?focus=Oslo", "?community=1", "?focus=Quillfeather"):
        yield Probe("GET", f"/graph/page{part}")
    names = ["Anders Vik", "Ida Brandt", "Quillfeather", "Xenia Morrow", "Greywing", "Westing"]
    listed = client.get("/v1/graph/entities?limit=200").json()["items"]
    yield Probe("GET", "/graph/entities?limit=200")
    for name in (*names, *(one["id"] for one in listed)):
        yield Probe("GET", f"/graph/entities/{name}")
        yield Probe("GET", f"/graph/entities?query={name}")
        yield Probe("GET", f"/graph/neighbourhood?entity={name}&hops=2")
        yield Probe("GET", f"/graph/paths?from={name}&to=Oslo")
    communities = client.get("/v1/graph/communities?limit=200").json()["items"]
    yield Probe("GET", "/graph/communities?limit=200")
    for one in communities:
        yield Probe("GET", f"/graph/communities/{one['id']}")


@pytest.mark.parametrize("first", [0, 3], ids=["one namespace", "two namespaces"])
def test_every_reply_to_a_limited_token_is_the_same_whatever_others_hold(
    clients: list[httpx.Client], first: int
) -> None:
    alone, *others = clients[first : first + 3]
    asked = list(probes(alone))
    assert len(asked) > 100
    differing = []
    for probe in asked:
        replies = {reply(client, probe) for client in (alone, *others)}
        if len(replies) > 1:
            differing.append(probe)
        if first == 0:
            said = json.dumps(probe).casefold()
            told = "".join(replies).casefold()
            assert not [word for word in SECRETS if word in told and word not in said], probe
    assert differing == []
