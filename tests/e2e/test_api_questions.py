"""Questions over HTTP: at once, as a stream, and in OpenAI's protocol with its own client."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from api_server import ApiServer
from openai_server import OpenAIServer, Reply, Request

LAMP = (
    "# The lamp at Gull Quay\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901. "
    "Orrin Vale repaired it with Tomas Reed after the storm of 1907.\n"
)
QUESTION = {"question": "Who lit the lamp at Gull Quay?"}
ASKED: Any = [{"role": "user", "content": QUESTION["question"]}]
LIMIT_SECONDS = 60
ORDER = ["route", "step", "passages", "tokens", "citations", "usage", "answer"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("asking")) as running:
        running.add_text(LAMP, document_id="lamp", title="The lamp")
        running.add_text("The Petrel was a ship of the Vale Line.", document_id="petrel")
        yield running


@pytest.fixture(scope="module")
def client(server: ApiServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def writing(model: OpenAIServer, *, limit_seconds: int) -> dict[str, str]:
    """The settings of a server whose answers a language model writes, with one place to ask."""
    return {
        "LOREGRAPH_LLM__KIND": "openai_like",
        "LOREGRAPH_LLM__MODEL": "test-model",
        "LOREGRAPH_LLM__BASE_URL": model.base_url,
        "LOREGRAPH_LLM__RETRIES": "0",
        "LOREGRAPH_SERVE__CONCURRENCY": "1",
        "LOREGRAPH_SERVE__MAX_WAITING": "1",
        "LOREGRAPH_SERVE__REQUEST_TIMEOUT_SECONDS": str(limit_seconds),
        "OPENAI_API_KEY": "none",
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, model: OpenAIServer) -> Iterator[ApiServer]:
    env = writing(model, limit_seconds=LIMIT_SECONDS)
    with ApiServer(tmp_path_factory.mktemp("written"), env=env) as running:
        running.add_text(LAMP, document_id="lamp", title="The lamp")
        yield running


def events_in(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, _, data = block.partition("\ndata: ")
        found.append((name.removeprefix("event: "), json.loads(data)))
    return found


def spoken(server: ApiServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param({"stream": True}, {}, id="by the body"),
        pytest.param({}, {"Accept": "text/event-stream"}, id="by the header"),
    ],
)
def test_a_stream_tells_everything_in_order_and_ends_with_the_answer(
    client: httpx.Client, body: dict[str, Any], headers: dict[str, str]
) -> None:
    streamed = client.post("/v1/ask", json=QUESTION | body, headers=headers)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    told = events_in(streamed.text)
    names = [name for name, _ in told]
    assert sorted(set(names), key=names.index) == sorted(set(names), key=ORDER.index)
    assert names[-1] == "answer"
    answer = told[-1][1]["answer"]
    at_once = client.post("/v1/ask", json=QUESTION).json()
    assert answer["text"] == at_once["text"]
    assert "Ada Brine" in answer["text"]
    assert "".join(data["text"] for name, data in told if name == "tokens")


def test_an_answer_without_explanation_has_no_trace(client: httpx.Client) -> None:
    answer = client.post("/v1/ask", json=QUESTION | {"explain": False}).json()
    assert (answer["passages"], answer["trace"]) == ([], [])
    assert answer["citations"]


def test_passages_come_best_first_and_can_be_limited(client: httpx.Client) -> None:
    found = client.post("/v1/retrieve", json=QUESTION | {"top_k": 1}).json()["items"]
    assert [each["document_id"] for each in found] == ["lamp"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"question": "   "}, id="blank"),
        pytest.param({"question": "x" * 4_001}, id="long"),
        pytest.param({"question": "x", "mode": "sideways"}, id="mode"),
        pytest.param({"question": "x", "effort": "utmost"}, id="effort"),
        pytest.param({"question": "x", "filters": ["no condition"]}, id="filters"),
        pytest.param({"question": "x", "stream": True, "filters": ["no condition"]}, id="stream"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_stream_begins(
    client: httpx.Client, body: dict[str, Any]
) -> None:
    refused = client.post("/v1/ask", json=body)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"


# --- a language model writes -------------------------------------------------------------------


def cited(request: Request) -> Reply:
    return Reply("Captain Ada Brine lit it in 1901 [1].")


def test_a_models_words_are_streamed_as_they_come(written: ApiServer, model: OpenAIServer) -> None:
    model.answer_with(lambda _: Reply("Captain Ada Brine lit it in 1901 [1].", drip_seconds=0.05))
    with (
        written.client() as client,
        client.stream("POST", "/v1/ask", json=QUESTION | {"stream": True}) as stream,
    ):
        told = events_in("".join(stream.iter_text()))
    pieces = [data["text"] for name, data in told if name == "tokens"]
    assert len(pieces) > 3
    assert "".join(pieces) == "Captain Ada Brine lit it in 1901 [1]."


def test_an_error_on_the_way_is_the_last_event(written: ApiServer, model: OpenAIServer) -> None:
    model.answer_with(lambda _: Reply("no", status=400))
    question = {"question": "What did Orrin Vale repair?", "stream": True, "mode": "local"}
    with written.client() as client:
        name, problem = events_in(client.post("/v1/ask", json=question).text)[-1]
        at_once = client.post("/v1/ask", json=question | {"stream": False})
    assert name == "error"
    assert problem["status"] == at_once.status_code >= 500
    assert at_once.headers["content-type"] == "application/problem+json"


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_place(
    written: ApiServer, model: OpenAIServer, stream: bool
) -> None:
    """There is one place to ask: if it were not freed, the next question would not be answered."""
    model.answer_with(lambda _: Reply("slow " * 1_000, drip_seconds=0.2))
    before = len(model.requests)
    body = json.dumps(
        {"question": f"Who repaired the lamp {stream}?", "stream": stream, "mode": "local"}
    ).encode()
    head = (
        f"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1:{written.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", written.port)) as raw:
        raw.sendall(head.encode() + body)
        until(lambda: len(model.requests) > before)
    model.answer_with(cited)
    began = time.monotonic()
    with written.client() as client:
        answer = client.post("/v1/ask", json=QUESTION | {"mode": "local"})
    assert answer.status_code == 200
    assert time.monotonic() - began < LIMIT_SECONDS - 5  # which would have freed it in the end


def test_what_takes_too_long_is_given_up(
    loregraph: Callable[..., Any], model: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "lamp.md").write_text(LAMP, encoding="utf8")
    assert loregraph(tmp_path, "add", "lamp.md").returncode == 0
    model.answer_with(lambda _: Reply(stall=True))
    question = {"question": "Which storm was it after?", "mode": "local"}
    hurried = ApiServer(tmp_path, env=writing(model, limit_seconds=2))
    with hurried as server, server.client() as client:
        refused = client.post("/v1/ask", json=question)
    assert (refused.status_code, refused.json()["type"]) == (504, "urn:loregraph:problem:timeout")


def test_more_than_may_wait_are_told_to_come_again(written: ApiServer, model: OpenAIServer) -> None:
    model.answer_with(lambda _: Reply("slow " * 1_000, drip_seconds=0.2))
    before = len(model.requests)
    question = {"question": "When was the storm at the quay?", "mode": "local", "stream": True}
    with written.client() as client, client.stream("POST", "/v1/ask", json=question):
        until(lambda: len(model.requests) > before)
        with (
            written.client() as other,
            other.stream("POST", "/v1/ask", json=question),
            written.client() as third,
        ):
            until(lambda: third.post("/v1/ask", json=question).status_code == 503)
            refused = third.post("/v1/ask", json=question)
    assert refused.headers["retry-after"] == "2"


# --- OpenAI's protocol --------------------------------------------------------------------------


def test_openais_client_gets_an_answer_with_its_sources(server: ApiServer) -> None:
    with spoken(server) as chat:
        assert "loregraph" in {each.id for each in chat.models.list()}
        answer = chat.chat.completions.create(
            model="loregraph-local",
            messages=[
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": QUESTION["question"]}]},
            ],
        )
    text = answer.choices[0].message.content or ""
    assert "Ada Brine" in text
    assert "\n\nSources\n[1] The lamp (lamp:" in text
    assert answer.usage is not None
    assert answer.model_extra is not None
    assert answer.model_extra["citations"][0]["document_id"] == "lamp"


def test_openais_client_gets_a_stream_with_usage(written: ApiServer, model: OpenAIServer) -> None:
    model.answer_with(lambda _: Reply("Captain Ada Brine lit it in 1901 [1].", tokens=(70, 9)))
    with spoken(written) as chat:
        chunks = list(
            chat.chat.completions.create(
                model="loregraph-local",
                messages=[{"role": "user", "content": "Who was it that lit the lamp?"}],
                stream=True,
                stream_options={"include_usage": True},
            )
        )
    text = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
    assert text.startswith("Captain Ada Brine lit it in 1901 [1].\n\nSources\n[1] The lamp")
    assert [each.choices[0].finish_reason for each in chunks if each.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens >= 70


@pytest.mark.parametrize(
    "asked",
    [
        {"n": 2},
        {"tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}]},
        {"functions": [{"name": "look", "parameters": {}}]},
        {"response_format": {"type": "json_object"}},
        {"modalities": ["text", "audio"]},
        {"logprobs": True},
        {"logit_bias": {"50256": -100}},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_what_a_chat_cannot_do_is_refused_by_name(server: ApiServer, asked: dict[str, Any]) -> None:
    with spoken(server) as chat:
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError, match=f"{next(iter(asked))}: ") as refused:
                chat.chat.completions.create(
                    model="loregraph-local", messages=ASKED, stream=stream, **asked
                )
            assert refused.value.code == "unsupported"


def test_a_chat_takes_what_asks_for_plain_text(server: ApiServer) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}
    with spoken(server) as chat:
        answer = chat.chat.completions.create(
            model="loregraph-local",
            messages=ASKED,
            n=1,
            tools=[tool],
            tool_choice="none",
            response_format={"type": "text"},
            modalities=["text"],
            stop=[],
            temperature=0.2,
        )
    assert "Ada Brine" in (answer.choices[0].message.content or "")


def test_a_chat_s_text_ends_at_its_limits_at_once_and_in_a_stream(server: ApiServer) -> None:
    with spoken(server) as chat:
        whole = chat.chat.completions.create(model="loregraph-local", messages=ASKED)
        text = whole.choices[0].message.content or ""
        for limits, reason in (
            ({"stop": "Sources"}, "stop"),
            ({"stop": ["no such words", "Gull"]}, "stop"),
            ({"max_tokens": 3}, "length"),
            ({"max_completion_tokens": 3, "max_tokens": 50}, "length"),
            ({"max_tokens": 5000}, "stop"),
        ):
            asked: dict[str, Any] = {"model": "loregraph-local", "messages": ASKED, **limits}
            cut = chat.chat.completions.create(**asked)
            content = cut.choices[0].message.content or ""
            assert cut.choices[0].finish_reason == reason
            assert text.startswith(content)
            stops = limits.get("stop", [])
            for stop in [stops] if isinstance(stops, str) else stops:
                assert stop not in content
            if reason == "length":
                assert cut.usage is not None
                assert 0 < cut.usage.completion_tokens <= 3
            chunks = list(chat.chat.completions.create(**asked, stream=True))
            choices = [choice for each in chunks for choice in each.choices]
            assert "".join(each.delta.content or "" for each in choices) == content
            assert choices[-1].finish_reason == reason


def test_a_chat_without_a_language_model_counts_its_own_tokens(server: ApiServer) -> None:
    with spoken(server) as chat:
        usage = chat.chat.completions.create(model="loregraph-local", messages=ASKED).usage
        *_, last = chat.chat.completions.create(
            model="loregraph-local",
            messages=ASKED,
            stream=True,
            stream_options={"include_usage": True},
        )
    assert usage is not None
    assert min(usage.prompt_tokens, usage.completion_tokens) > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert last.usage == usage


def test_a_chat_goes_on_from_what_was_said(server: ApiServer) -> None:
    first = QUESTION["question"]
    with spoken(server) as chat:
        said = chat.chat.completions.create(
            model="loregraph-local", messages=[{"role": "user", "content": first}]
        )
        answer = chat.chat.completions.create(
            model="loregraph-local",
            messages=[
                {"role": "user", "content": first},
                {"role": "assistant", "content": said.choices[0].message.content},
                {"role": "user", "content": "And who repaired it?"},
            ],
        )
    assert "Orrin Vale repaired it" in (answer.choices[0].message.content or "")


def test_a_chat_says_how_much_an_overview_may_cost(server: ApiServer, client: httpx.Client) -> None:
    with spoken(server) as chat:
        for said, name in (("minimal", "reasoning_effort"), ("low", "effort")):
            question = f"What are the main themes ({said})?"
            chat.chat.completions.create(
                model="loregraph-global",
                messages=[{"role": "user", "content": question}],
                extra_body={name: said},
            )
            body = {"question": question, "mode": "global"}
            for other, is_kept in (("medium", False), ("low", True)):
                answer = client.post("/v1/ask", json=body | {"effort": other}).json()
                assert (answer["trace"][0]["stage"] == "cache") is is_kept


def test_errors_are_openais_on_its_paths(server: ApiServer) -> None:
    with spoken(server) as chat:
        with pytest.raises(openai.NotFoundError, match="unknown model: 'gpt-9'"):
            chat.chat.completions.create(model="gpt-9", messages=[{"role": "user", "content": "x"}])
        with pytest.raises(openai.BadRequestError, match="no message of the user"):
            chat.chat.completions.create(
                model="loregraph", messages=[{"role": "system", "content": "x"}]
            )
        with pytest.raises(openai.UnprocessableEntityError):
            chat.chat.completions.create(model="loregraph", messages=[])


def test_an_error_in_a_stream_is_raised_by_openais_client(
    written: ApiServer, model: OpenAIServer
) -> None:
    model.answer_with(lambda _: Reply("no", status=400))
    with spoken(written) as chat, pytest.raises(openai.APIError):
        list(
            chat.chat.completions.create(
                model="loregraph-local",
                messages=[{"role": "user", "content": "Who mended the lamp?"}],
                stream=True,
            )
        )
