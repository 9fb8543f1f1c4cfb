"""The model objects that settings build, against a real server that also misbehaves."""

from __future__ import annotations

import socket
import time
from typing import Any

import numpy as np
import pytest
from openai_server import DEFAULT_TEXT, OpenAIServer, Reply, embed

from engine.errors import ModelError, ModelOutputError, ModelUnavailable
from engine.models import UsageMeter, build_embedding, build_llm, identity_of
from engine.models.tokeniser import SimpleTokeniser
from engine.settings import EmbeddingSettings, LlmSettings
from engine.types import Usage

_KEY = "sk-a-secret-of-this-test"
_SOON = {"retry-after-ms": "10"}


def _llm(url: str, *, retries: int = 1, timeout_seconds: float = 5.0, key: str = "") -> Any:
    settings = LlmSettings(
        kind="openai_like",
        model="test-model",
        base_url=url,
        timeout_seconds=timeout_seconds,
        retries=retries,
        max_output_tokens=64,
    )
    return build_llm(settings, {"OPENAI_API_KEY": key})


def _embedding(url: str, *, batch_size: int = 32) -> Any:
    settings = EmbeddingSettings(
        kind="openai_like", model="test-embedding", base_url=url, batch_size=batch_size
    )
    return build_embedding(settings, {})


def _messages(*texts: str) -> list[Any]:
    from llama_index.core.base.llms.types import ChatMessage

    return [ChatMessage(role="user", content=text) for text in texts]


@pytest.fixture
def meter() -> UsageMeter:
    return UsageMeter(SimpleTokeniser())


def test_an_answer_comes_with_the_servers_token_counts(
    openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    openai_server.answer_with(lambda request: f"You asked: {request.question}")
    answer = meter.complete(_llm(openai_server.base_url), _messages("Who founded the station?"))
    assert answer == (
        "You asked: Who founded the station?",
        Usage(calls=1, prompt_tokens=4, completion_tokens=6),
    )
    assert meter.total == answer[1]


def test_the_request_holds_what_the_settings_say(
    openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    meter.complete(_llm(openai_server.base_url, key=_KEY), _messages("Who?"))
    (request,) = openai_server.requests
    body = dict(request.body)
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {_KEY}"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("test-model", 0.0, 64)


def test_without_server_counts_tokens_are_counted_here(
    openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    openai_server.answer_with(lambda request: Reply("four more tiny ones", usage=False))
    llm = _llm(openai_server.base_url)
    _, usage = meter.complete(llm, _messages("海缆 in what year"))
    assert usage == Usage(calls=1, prompt_tokens=5, completion_tokens=4)
    list(meter.stream(llm, _messages("海缆 in what year")))
    assert meter.total == Usage(calls=2, prompt_tokens=10, completion_tokens=8)


def test_a_stream_gives_pieces_in_order_and_its_usage(
    openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    openai_server.script("Maeve Tolland founded 托兰海洋站.")
    pieces = list(meter.stream(_llm(openai_server.base_url), _messages("Who founded it?")))
    assert pieces == ["Maeve ", "Tolland ", "founded ", "托兰海洋站."]
    assert meter.total == Usage(calls=1, prompt_tokens=3, completion_tokens=4)


def test_an_abandoned_stream_is_counted(openai_server: OpenAIServer, meter: UsageMeter) -> None:
    stream = meter.stream(_llm(openai_server.base_url), _messages("Who?"))
    next(stream)
    stream.close()
    assert meter.total.calls == 1
    assert meter.total.completion_tokens > 0


def test_a_rate_limit_is_waited_out(openai_server: OpenAIServer, meter: UsageMeter) -> None:
    openai_server.script(Reply(status=429, headers={"Retry-After": "0.3"}), "after the wait")
    begin = time.monotonic()
    text, _ = meter.complete(_llm(openai_server.base_url), _messages("Who?"))
    assert (text, len(openai_server.requests)) == ("after the wait", 2)
    assert 0.3 <= time.monotonic() - begin < 3
    assert meter.total.calls == 1


@pytest.mark.parametrize("retries", [0, 2])
def test_a_server_that_keeps_failing_is_asked_once_and_as_often_as_retries_say(
    retries: int, openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    openai_server.answer_with(lambda request: Reply("out of memory", status=500, headers=_SOON))
    with pytest.raises(ModelUnavailable, match=r"500.*out of memory"):
        meter.complete(_llm(openai_server.base_url, retries=retries), _messages("Who?"))
    assert len(openai_server.requests) == retries + 1
    assert meter.total == Usage()


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        pytest.param(Reply("no", status=401), ModelUnavailable, "401.*key", id="wrong key"),
        pytest.param(Reply("no", status=403), ModelUnavailable, "403", id="forbidden"),
        pytest.param(Reply("x", status=404), ModelUnavailable, "404.*base URL", id="not found"),
        pytest.param(Reply("too long", status=400), ModelUnavailable, "too long", id="refused"),
        pytest.param(
            Reply("slow down", status=429, headers=_SOON), ModelUnavailable, "429", id="rate limit"
        ),
        pytest.param(Reply("down", status=503, headers=_SOON), ModelUnavailable, "503", id="down"),
        pytest.param(Reply(cut=True), ModelUnavailable, "connection", id="cut"),
        pytest.param(Reply(raw=b'{"choices": ['), ModelOutputError, "not a reply", id="bad JSON"),
        pytest.param(Reply(raw=b'{"a": 1}'), ModelOutputError, "not a reply", id="other JSON"),
        pytest.param(Reply(raw=b'{"choices":[]}'), ModelOutputError, "not a reply", id="no choice"),
        pytest.param(
            Reply(raw=b"<html>", content_type="text/html"),
            ModelOutputError,
            "not a reply",
            id="a web page",
        ),
        pytest.param(Reply(""), ModelOutputError, "empty answer", id="empty"),
        pytest.param(Reply(" \n "), ModelOutputError, "empty answer", id="white space"),
        pytest.param(
            Reply("", finish_reason="length"), ModelOutputError, "max_output_tokens", id="no room"
        ),
    ],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_every_failure_is_one_clear_line(
    reply: Reply,
    error: type[ModelError],
    words: str,
    streamed: bool,
    openai_server: OpenAIServer,
    meter: UsageMeter,
) -> None:
    openai_server.answer_with(lambda request: reply)
    llm = _llm(openai_server.base_url, key=_KEY)
    with pytest.raises(error, match=words) as caught:
        if streamed:
            list(meter.stream(llm, _messages("Who?")))
        else:
            meter.complete(llm, _messages("Who?"))
    message = str(caught.value)
    assert "\n" not in message
    assert _KEY not in message
    assert "test-model" in message


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_stalled_server_is_left_after_the_timeout(
    streamed: bool, openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    openai_server.answer_with(lambda request: Reply(stall=True))
    llm = _llm(openai_server.base_url, timeout_seconds=0.3, retries=0)
    begin = time.monotonic()
    with pytest.raises(ModelUnavailable, match="in time"):
        list(meter.stream(llm, _messages("?"))) if streamed else meter.complete(llm, _messages("?"))
    assert time.monotonic() - begin < 3


def test_a_stream_that_stops_without_an_end_is_not_taken_for_an_answer(
    openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    openai_server.script(Reply("half of an", finished=False))
    stream = meter.stream(_llm(openai_server.base_url), _messages("Who?"))
    pieces: list[str] = []
    with pytest.raises(ModelOutputError, match="middle"):
        pieces.extend(stream)
    assert pieces == ["half ", "of ", "an"]
    assert meter.total.calls == 1


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"data: {oops\n\n", id="not JSON"),
        pytest.param(b'data: {"choices": [{"index": 0}]}\n\ndata: [DONE]\n\n', id="no delta"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_a_garbled_stream_is_not_taken_for_an_answer(
    data: bytes, openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    openai_server.script(Reply(raw=data, content_type="text/event-stream"))
    with pytest.raises(ModelOutputError, match="not a reply"):
        list(meter.stream(_llm(openai_server.base_url), _messages("Who?")))


def test_an_error_event_inside_a_stream_is_told(
    openai_server: OpenAIServer, meter: UsageMeter
) -> None:
    data = b'data: {"error": {"message": "the model crashed"}}\n\n'
    openai_server.script(Reply(raw=data, content_type="text/event-stream"))
    with pytest.raises(ModelUnavailable, match="the model crashed"):
        list(meter.stream(_llm(openai_server.base_url), _messages("Who?")))


def test_a_server_that_is_not_there_is_named(meter: UsageMeter) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ModelUnavailable, match=url):
        meter.complete(_llm(url, retries=0), _messages("Who?"))


def test_the_key_is_in_no_field_that_is_printed(openai_server: OpenAIServer) -> None:
    llm = _llm(openai_server.base_url, key=_KEY)
    assert _KEY not in repr(llm) + str(llm.to_dict()) + llm.to_json()


def test_embeddings_come_in_order_whatever_the_batch(openai_server: OpenAIServer) -> None:
    texts = ["the tide gauge", "潮汐 gauge", "   ", "a lantern"]
    vectors = _embedding(openai_server.base_url, batch_size=3).get_text_embedding_batch(texts)
    expected = [embed(text if text.strip() else ".") for text in texts]
    np.testing.assert_allclose(vectors, expected, rtol=1e-9)
    assert [len(request.body["input"]) for request in openai_server.requests] == [3, 1]


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        pytest.param(Reply(status=401), ModelUnavailable, "401", id="wrong key"),
        pytest.param(Reply("x", status=500, headers=_SOON), ModelUnavailable, "500", id="failing"),
        pytest.param(Reply(cut=True), ModelUnavailable, "connection", id="cut"),
        pytest.param(Reply(raw=b"{"), ModelOutputError, "not a reply", id="bad JSON"),
        pytest.param(Reply(raw=b'{"data": []}'), ModelOutputError, "not a reply|0 vec", id="none"),
        pytest.param(
            Reply(raw=b'{"data": [{"index": 0, "embedding": []}]}'),
            ModelOutputError,
            "lengths",
            id="no numbers",
        ),
        pytest.param(
            Reply(raw=b'{"data": [{"index": 0, "embedding": [1.0]}]}'),
            ModelOutputError,
            "1 vectors",
            id="too few",
        ),
        pytest.param(
            Reply(
                raw=b'{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}'
            ),
            ModelOutputError,
            "finite",
            id="not a number",
        ),
    ],
)
def test_every_failure_of_an_embedding_is_one_clear_line(
    reply: Reply, error: type[ModelError], words: str, openai_server: OpenAIServer
) -> None:
    openai_server.answer_with(lambda request: reply)
    with pytest.raises(error, match=words) as caught:
        _embedding(openai_server.base_url).get_text_embedding_batch(["one", "two"])
    assert "\n" not in str(caught.value)


def test_vectors_of_the_test_server_are_near_for_near_texts() -> None:
    def cosine(first: str, second: str) -> float:
        return sum(a * b for a, b in zip(embed(first), embed(second), strict=True))

    station = "Maeve founded the station"
    assert cosine(station, "the station Maeve founded") == pytest.approx(1.0)
    assert cosine(station, "who founded the station") > cosine(station, "bread and butter") + 0.4


def test_identities_tell_endpoint_models_apart(openai_server: OpenAIServer) -> None:
    assert identity_of(_embedding(openai_server.base_url)) == "RemoteEmbedding/test-embedding"


def test_reading_llama_indexs_global_model_fails() -> None:
    from llama_index.core import Settings

    with pytest.raises(AssertionError, match="llm="):
        Settings.llm  # noqa: B018  # reading is the point
    with pytest.raises(AssertionError, match="embed_model="):
        Settings.embed_model = object()


def test_the_server_lists_its_models_and_answers_by_default(openai_server: OpenAIServer) -> None:
    from openai import OpenAI

    client = OpenAI(base_url=openai_server.base_url, api_key="none")
    assert [model.id for model in client.models.list()] == ["test-model"]
    message = {"role": "user", "content": "Who?"}
    reply = client.chat.completions.create(model="m", messages=[message])
    assert reply.choices[0].message.content == DEFAULT_TEXT
