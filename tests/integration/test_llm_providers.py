"""The model objects that settings build, against a real server that also misbehaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openai_server import DEFAULT_TEXT, OpenAIServer, Reply, embed

from engine.config import EmbeddingSettings, LlmSettings
from engine.embeddings.tokenizer import SimpleTokeniser
from engine.errors import ModelError, ModelOutputError, ModelUnavailable
from engine.llm.budget import Budget
from engine.llm.client import LLMClient
from engine.llm.response import identity_of
from engine.providers.factory import build_embedding, build_llm
from engine.providers.llm_clients import build_gateways

_KEY = "sk-a-secret-of-this-test"
_SOON = {"retry-after-ms": "10"}


def _settings(url: str) -> LlmSettings:
    return LlmSettings(
        kind="openai_like",
        model="test-model",
        base_url=url,
        timeout_seconds=5.0,
        retries=1,
        max_output_tokens=64,
    )


def _gateway(url: str, *, key: str = "") -> LLMClient:
    environment = {"OPENAI_API_KEY": key}
    tokeniser = SimpleTokeniser()
    return build_gateways(
        _settings(url), budget=Budget(), tokeniser=tokeniser, environment=environment
    )["answers"]


def _embedding(url: str, *, batch_size: int = 32) -> Any:
    settings = EmbeddingSettings(
        kind="openai_like", model="test-embedding", base_url=url, batch_size=batch_size
    )
    return build_embedding(settings, {})


def _messages(*texts: str) -> list[Any]:
    from llama_index.core.base.llms.types import ChatMessage

    return [ChatMessage(role="user", content=text) for text in texts]


def test_the_request_holds_what_the_settings_say(openai_server: OpenAIServer) -> None:
    _gateway(openai_server.base_url, key=_KEY).chat(_messages("Who?"), stage="answers")
    (request,) = openai_server.requests
    body = dict(request.body)
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {_KEY}"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("test-model", 0.0, 64)


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
        pytest.param(Reply(raw=b'{"choices": ['), ModelOutputError, "invalid reply", id="bad JSON"),
        pytest.param(Reply(raw=b'{"a": 1}'), ModelOutputError, "invalid reply", id="other JSON"),
        pytest.param(
            Reply(raw=b'{"choices":[]}'), ModelOutputError, "invalid reply", id="no choice"
        ),
        pytest.param(
            Reply(raw=b"<html>", content_type="text/html"),
            ModelOutputError,
            "invalid reply",
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
) -> None:
    openai_server.answer_with(lambda request: reply)
    gateway = _gateway(openai_server.base_url, key=_KEY)
    with pytest.raises(error, match=words) as caught:
        if streamed:
            list(gateway.stream(_messages("Who?"), stage="answers"))
        else:
            gateway.chat(_messages("Who?"), stage="answers")
    message = str(caught.value)
    assert "\n" not in message
    assert _KEY not in message
    assert "test-model" in message


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"data: {oops\n\n", id="not JSON"),
        pytest.param(b'data: {"choices": [{"index": 0}]}\n\ndata: [DONE]\n\n', id="no delta"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_a_garbled_stream_is_not_taken_for_an_answer(
    data: bytes, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply(raw=data, content_type="text/event-stream"))
    with pytest.raises(ModelOutputError, match="invalid reply"):
        list(_gateway(openai_server.base_url).stream(_messages("Who?"), stage="answers"))


def test_an_error_event_inside_a_stream_is_told(openai_server: OpenAIServer) -> None:
    data = b'data: {"error": {"message": "the model crashed"}}\n\n'
    openai_server.script(Reply(raw=data, content_type="text/event-stream"))
    with pytest.raises(ModelUnavailable, match="the model crashed"):
        list(_gateway(openai_server.base_url).stream(_messages("Who?"), stage="answers"))


def test_the_key_is_in_no_field_that_is_printed(openai_server: OpenAIServer) -> None:
    llm = build_llm(_settings(openai_server.base_url), {"OPENAI_API_KEY": _KEY})
    assert llm is not None
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
        pytest.param(Reply(raw=b"{"), ModelOutputError, "invalid reply", id="bad JSON"),
        pytest.param(
            Reply(raw=b'{"data": []}'), ModelOutputError, "invalid reply|0 vec", id="none"
        ),
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
