"""Anthropic's own protocol through LlamaIndex's class for it, against a real local server.

Run by `make test-anthropic`: the class brings the clients of two clouds along.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Reply

from engine.config import LlmSettings
from engine.errors import ModelUnavailable
from engine.llm.budget import Budget, Price
from engine.llm.client import LLMClient
from engine.providers.factory import build_llm
from engine.storage.graph_api import Prompt
from engine.storage.library import Library
from engine.storage.usage_log import UsageLog

MODEL = "claude-sonnet-4-5"
PRICE = Price(prompt=3.0, completion=15.0, cached=0.3, written=3.75)
PROMPT = Prompt(system="Read and answer.", user="What is this?", max_output_tokens=50)


@pytest.fixture
def gateway(openai_server: OpenAIServer, tmp_path: Path) -> Iterator[LLMClient]:
    settings = LlmSettings(
        kind="anthropic",
        model=MODEL,
        base_url=openai_server.base_url.removesuffix("/v1"),
        api_key_variable="KEY",
    )
    library = Library(tmp_path / "library")
    ledger = UsageLog(library)
    llm = build_llm(settings, {"KEY": "k"})
    assert llm is not None
    yield LLMClient(llm, budget=Budget(), ledger=ledger, price=PRICE, retries=0)
    ledger.close()
    library.close()


def test_instructions_are_marked_to_be_kept_and_what_was_kept_is_counted(
    gateway: LLMClient, openai_server: OpenAIServer
) -> None:
    openai_server.script(
        Reply("first", tokens=(1_200, 10), written=2_000),
        Reply("second", tokens=(3_200, 10), cached=2_000),
    )
    first, second = (gateway.ask(PROMPT, stage="map") for _ in range(2))
    for request in openai_server.requests:
        (system,) = request.body["system"]
        assert system == {
            "type": "text",
            "text": PROMPT.system,
            "cache_control": {"type": "ephemeral"},
        }
        assert "cache_control" not in str(request.body["messages"])
        assert request.headers["x-api-key"] == "k"
    assert (first.usage.prompt_tokens, first.usage.cached_tokens) == (3_200, 0)
    assert (second.usage.prompt_tokens, second.usage.cached_tokens) == (3_200, 2_000)
    rest = 1_200 * 3.0 + 10 * 15.0
    assert first.usage.cost == pytest.approx((2_000 * 3.75 + rest) / 1_000_000)
    assert second.usage.cost == pytest.approx((2_000 * 0.3 + rest) / 1_000_000)


def test_a_server_that_knows_no_such_mark_is_asked_without_it(
    gateway: LLMClient, openai_server: OpenAIServer
) -> None:
    openai_server.script(
        Reply("system.0.cache_control: Extra inputs are not permitted", status=400), Reply("fine")
    )
    assert gateway.ask(PROMPT, stage="map").text == "fine"
    assert gateway.ask(PROMPT, stage="map").text == "This is the default answer."
    marked = ["cache_control" in str(request.body) for request in openai_server.requests]
    assert marked == [True, False, False]


def test_other_refusals_are_errors(gateway: LLMClient, openai_server: OpenAIServer) -> None:
    openai_server.script(Reply("credit balance is too low", status=400))
    with pytest.raises(ModelUnavailable):
        gateway.ask(PROMPT, stage="map")
