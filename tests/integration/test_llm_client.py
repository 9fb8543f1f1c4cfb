"""The gateway against a real server that misbehaves in every way that servers do."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from openai_server import DEFAULT_TEXT, TOO_LONG, OpenAIServer, Reply, Request

from engine.concurrency import parallel_map
from engine.config import LlmSettings
from engine.embeddings.tokenizer import SimpleTokeniser
from engine.errors import (
    BudgetExceeded,
    ModelError,
    ModelInputTooLong,
    ModelOutputError,
    ModelUnavailable,
    SettingsError,
)
from engine.llm.budget import FREE, Budget, Price, utc_day
from engine.llm.client import LLMClient
from engine.llm.client import LLMReply as Answer
from engine.providers.factory import build_llm
from engine.providers.llm_clients import build_gateways
from engine.storage.graph_api import Prompt, write_state
from engine.storage.library import Library
from engine.storage.usage_log import UsageLog
from engine.types import Usage

_SOON = {"retry-after-ms": "10"}
_SCHEMA = {"type": "object", "properties": {"names": {"type": "array"}}}

Make = Callable[..., LLMClient]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path / "library")
    yield library
    library.close()


@pytest.fixture
def ledger(library: Library) -> Iterator[UsageLog]:
    ledger = UsageLog(library)
    yield ledger
    ledger.close()


def _llm(url: str, **changes: Any) -> Any:
    values: dict[str, Any] = {
        "kind": "openai_like",
        "model": "test-model",
        "base_url": url,
        "timeout_seconds": 60.0,
    }
    return build_llm(LlmSettings(**(values | changes)), {})


@pytest.fixture
def make(openai_server: OpenAIServer, ledger: UsageLog) -> Make:
    """A gateway to the server, with other arguments where these are given."""

    def gateway(*, timeout_seconds: float = 60.0, **changes: Any) -> LLMClient:
        arguments = {
            "budget": Budget(),
            "ledger": ledger,
            "tokeniser": SimpleTokeniser(),
            "timeout_seconds": timeout_seconds,
            "retries": 2,
        }
        llm = _llm(openai_server.base_url, timeout_seconds=timeout_seconds)
        return LLMClient(llm, **(arguments | changes))

    return gateway


def _prompt(user: str = "Who?", *, longest: int = 64, schema: Any = None) -> Prompt:
    return Prompt(system="Be brief.", user=user, max_output_tokens=longest, schema=schema)


def _messages(text: str = "Who?") -> list[Any]:
    from llama_index.core.base.llms.types import ChatMessage

    return [ChatMessage(role="user", content=text)]


def _until(true: Callable[[], bool]) -> None:
    """Wait for what other threads do, as long as a busy machine takes for it."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.005)


def _booked(ledger: UsageLog) -> dict[str, tuple[int, int, int, int]]:
    return {
        row.stage: (row.calls, row.failed, row.prompt_tokens, row.completion_tokens)
        for row in ledger.rows()
    }


# --- one call -----------------------------------------------------------------------------------


def test_an_answer_comes_with_what_it_cost_and_is_booked(
    openai_server: OpenAIServer, make: Make, ledger: UsageLog
) -> None:
    gateway = make(price=Price(prompt=1_000.0, completion=10_000.0))
    openai_server.script("Maeve Tolland, 1974.")
    reply = gateway.ask(_prompt("Who founded it?"), stage="answers")
    expected = Usage(calls=1, prompt_tokens=5, completion_tokens=3, cost=0.035)
    assert (reply.text, reply.kept, reply.cut_short) == ("Maeve Tolland, 1974.", False, False)
    assert reply.usage == gateway.total == expected
    (row,) = ledger.rows()
    assert (row.day, row.stage, row.model) == (utc_day(), "answers", "test-model")
    assert row.cost == pytest.approx(0.035)


def test_the_request_holds_the_prompt_and_its_longest_answer(
    openai_server: OpenAIServer, make: Make
) -> None:
    make().ask(_prompt("谁?", longest=77), stage="map")
    (request,) = openai_server.requests
    assert request.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "谁?"},
    ]
    assert (request.body["max_tokens"], request.body["temperature"]) == (77, 0.0)
    assert "response_format" not in request.body


def test_messages_are_answered_within_the_usual_length(
    openai_server: OpenAIServer, make: Make
) -> None:
    assert make(max_output_tokens=99).chat(_messages(), stage="answers").text == DEFAULT_TEXT
    assert openai_server.requests[0].body["max_tokens"] == 99


def test_without_the_servers_counts_tokens_are_counted_here(
    openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.script(Reply("four more tiny ones", usage=False))
    usage = make().chat(_messages("海缆 in what year"), stage="answers").usage
    assert usage.completion_tokens == 4
    assert usage.prompt_tokens >= 5


def test_thoughts_are_paid_for_and_left_out(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.script("<think>I wonder who</think>\nMaeve.", "<think>and so on for ever")
    gateway = make()
    assert gateway.ask(_prompt(), stage="map").text == "Maeve."
    assert gateway.total.completion_tokens == 4
    with pytest.raises(ModelOutputError, match="empty"):
        gateway.ask(_prompt(), stage="map")
    openai_server.script("<think>so</think> Maeve Tolland.")
    assert "".join(gateway.stream(_messages(), stage="answers")).strip() == "Maeve Tolland."


def test_an_answer_that_ends_at_the_limit_says_so(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.script(Reply('{"names": ["Maeve', finish_reason="length"))
    assert make().ask(_prompt(), stage="map").cut_short


@pytest.mark.parametrize(
    ("reply", "error", "words", "calls"),
    [
        pytest.param(Reply("no", status=400), ModelUnavailable, "400", 0, id="refused"),
        pytest.param(Reply("no", status=401), ModelUnavailable, "401.*key", 0, id="wrong key"),
        pytest.param(Reply("no", status=403), ModelUnavailable, "403", 0, id="forbidden"),
        pytest.param(Reply("no", status=404), ModelUnavailable, "404", 0, id="not found"),
        pytest.param(Reply("no", status=413), ModelInputTooLong, "413", 0, id="too large"),
        pytest.param(TOO_LONG, ModelInputTooLong, "less at a time", 0, id="too long"),
        pytest.param(
            Reply("you are out of money", status=429, code="insufficient_quota"),
            ModelUnavailable,
            "out of money",
            0,
            id="quota used up",
        ),
        pytest.param(Reply(raw=b'{"choices": ['), ModelOutputError, "invalid reply", 1, id="JSON"),
        pytest.param(Reply(raw=b"[]"), ModelOutputError, "invalid reply", 1, id="another reply"),
        pytest.param(Reply(""), ModelOutputError, "empty", 1, id="empty"),
        pytest.param(
            Reply("", finish_reason="length"), ModelOutputError, "max_output", 1, id="no room"
        ),
        pytest.param(Reply("x" * 9_000), ModelOutputError, "limits", 1, id="no end of it"),
    ],
)
def test_what_does_not_pass_is_asked_once_and_told_in_one_line(
    reply: Reply,
    error: type[ModelError],
    words: str,
    calls: int,
    openai_server: OpenAIServer,
    make: Make,
    ledger: UsageLog,
) -> None:
    openai_server.answer_with(lambda request: reply)
    gateway = make()
    with pytest.raises(error, match=words) as caught:
        gateway.ask(_prompt(), stage="map")
    assert "\n" not in str(caught.value)
    assert len(openai_server.requests) == 1
    assert gateway.total.calls == calls
    assert [row.failed for row in ledger.rows()] == [1] * calls


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply("slow down", status=429, headers=_SOON), id="rate limit"),
        pytest.param(Reply("down", status=500, headers=_SOON), id="500"),
        pytest.param(Reply("down", status=503, headers=_SOON), id="503"),
        pytest.param(Reply(cut=True), id="cut in the middle of the body"),
    ],
)
def test_what_passes_is_waited_for(reply: Reply, openai_server: OpenAIServer, make: Make) -> None:
    openai_server.script(reply, reply, "fine")
    assert make().ask(_prompt(), stage="map").text == "fine"
    assert len(openai_server.requests) == 3


@pytest.mark.parametrize("status", [429, 500])
def test_a_stream_that_is_refused_is_opened_again(
    status: int, openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.script(Reply("down", status=status, headers=_SOON), "fine")
    assert "".join(make().stream(_messages(), stage="map")) == "fine"
    assert len(openai_server.requests) == 2


def test_what_does_not_pass_in_time_is_given_up(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.answer_with(lambda request: Reply("down", status=502, headers=_SOON))
    gateway = make(retries=3)
    with pytest.raises(ModelUnavailable, match=r"502.*down"):
        gateway.ask(_prompt(), stage="map")
    assert len(openai_server.requests) == 4
    assert gateway.total == Usage()


def test_retry_after_is_waited_out_by_everybody(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.script(Reply(status=429, headers={"Retry-After": "0.5"}))
    gateway = make()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(gateway.ask, _prompt("first"), stage="map")
        _until(lambda: gateway._line._pace._held_until > 0)  # until it has read what it was told
        second = pool.submit(gateway.ask, _prompt("second"), stage="map")
        first.result()
        second.result()
    begin, *others = [request.at for request in openai_server.requests]
    assert len(others) == 2
    assert all(at - begin >= 0.45 for at in others)


def test_retry_after_is_never_longer_than_the_timeout(
    openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.storm(1, 429, retry_after="3600")
    assert make(timeout_seconds=1.0).ask(_prompt(), stage="map").text == DEFAULT_TEXT


def test_a_server_that_is_not_there_costs_nothing(ledger: UsageLog) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    gateway = LLMClient(_llm(url), budget=Budget(max_tokens=1_000), ledger=ledger, retries=1)
    with pytest.raises(ModelUnavailable, match=url):
        gateway.ask(_prompt(), stage="map")
    assert gateway.total == Usage()
    assert ledger.rows() == []


# --- time and size ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(stall=True), id="silence"),
        pytest.param(Reply(drip_seconds=0.05), id="a slow drip"),
        pytest.param(Reply(drip_headers=True, drip_seconds=0.05), id="a slow drip of headers"),
        pytest.param(Reply(wait_seconds=60), id="late"),
    ],
)
def test_a_whole_call_is_bounded_and_booked_at_its_worst(
    reply: Reply, openai_server: OpenAIServer, make: Make, ledger: UsageLog
) -> None:
    openai_server.answer_with(lambda request: reply)
    budget = Budget(max_tokens=10_000)
    gateway = make(timeout_seconds=0.4, retries=0, budget=budget)
    with pytest.raises(ModelUnavailable, match="in time"):
        gateway.ask(_prompt(longest=50), stage="map")
    ((calls, failed, prompt_tokens, completion_tokens),) = _booked(ledger).values()
    assert (calls, failed, completion_tokens) == (1, 1, 50)
    assert prompt_tokens >= 4
    assert budget.spent == gateway.total


def test_a_slow_drip_of_a_stream_is_bounded(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.answer_with(lambda request: Reply("word " * 500, drip_seconds=0.05))
    with pytest.raises(ModelUnavailable, match="in time"):
        list(make(timeout_seconds=0.1, retries=0).stream(_messages(), stage="answers"))


def test_a_body_without_end_is_not_read_to_its_end(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.answer_with(lambda request: Reply(raw=b" " * 33_000_000))
    with pytest.raises(ModelOutputError, match="longer than"):
        make().ask(_prompt(), stage="map")
    assert len(openai_server.requests) == 1


def test_a_body_that_unpacks_to_much_more_is_not_unpacked(
    openai_server: OpenAIServer, make: Make
) -> None:
    import gzip

    packed = gzip.compress(random.Random(0).randbytes(400_000))  # noqa: S311  # keeps no secret
    bomb = Reply(raw=packed, headers={"Content-Encoding": "gzip"})
    openai_server.answer_with(lambda request: bomb)
    with pytest.raises(ModelOutputError, match="longer than"):
        make().ask(_prompt(), stage="map")


# --- streams ------------------------------------------------------------------------------------


def test_a_stream_is_counted_when_it_ends(
    openai_server: OpenAIServer, make: Make, ledger: UsageLog
) -> None:
    openai_server.script("Maeve Tolland founded 托兰海洋站.")
    gateway = make()
    assert list(gateway.stream(_messages(), stage="answers")) == [
        "Maeve ",
        "Tolland ",
        "founded ",
        "托兰海洋站.",
    ]
    assert gateway.total == Usage(calls=1, prompt_tokens=1, completion_tokens=4)
    assert _booked(ledger) == {"answers": (1, 0, 1, 4)}


def test_an_abandoned_stream_is_counted_and_gives_back_the_rest(
    openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.script("one two three")
    budget = Budget(max_tokens=120)
    gateway = make(budget=budget, max_output_tokens=64)
    stream = gateway.stream(_messages(), stage="answers")
    next(stream)
    with pytest.raises(BudgetExceeded):
        gateway.chat(_messages(), stage="answers")
    stream.close()  # type: ignore[attr-defined]
    assert gateway.total.calls == 1
    assert gateway.chat(_messages(), stage="answers").text == DEFAULT_TEXT


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        pytest.param(
            Reply("half of an", finished=False),
            ModelOutputError,
            "ended its answer early",
            id="no end",
        ),
        pytest.param(Reply("half of it all", cut=True), ModelUnavailable, "cut", id="cut"),
        pytest.param(Reply(" "), ModelOutputError, "empty", id="empty"),
        pytest.param(Reply("word " * 9_000), ModelOutputError, "limits", id="no end of it"),
        pytest.param(
            Reply(raw=b"", content_type="text/event-stream"),
            ModelOutputError,
            "empty",
            id="nothing",
        ),
    ],
)
def test_a_stream_that_breaks_off_is_no_answer(
    reply: Reply, error: type[ModelError], words: str, openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.answer_with(lambda request: reply)
    with pytest.raises(error, match=words):
        list(make(retries=0).stream(_messages(), stage="answers"))


# --- structured answers -------------------------------------------------------------------------


def _forms(server: OpenAIServer) -> list[Any]:
    return [(request.body.get("response_format") or {}).get("type") for request in server.requests]


def _only(*allowed: str | None) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        form = (request.body.get("response_format") or {}).get("type")
        if form in allowed:
            return Reply('{"names": []}')
        return Reply(f"'response_format' of type {form} is not supported", status=400)

    return answer


@pytest.mark.parametrize(
    ("allowed", "forms"),
    [
        pytest.param(["json_schema"], ["json_schema"] * 2, id="a schema"),
        pytest.param(["json_object"], ["json_schema", *["json_object"] * 2], id="JSON"),
        pytest.param([None], ["json_schema", "json_object", None, None], id="words alone"),
    ],
)
def test_what_a_server_takes_is_found_out_once(
    allowed: list[str | None], forms: list[str | None], openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.answer_with(_only(*allowed))
    gateway = make()
    for _ in range(2):
        assert gateway.ask(_prompt(schema=_SCHEMA), stage="map").text == '{"names": []}'
    assert _forms(openai_server) == forms
    assert gateway.total.calls == 2


def test_a_level_that_settings_name_is_kept(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.answer_with(_only(None))
    with pytest.raises(ModelUnavailable, match="response_format"):
        make(structured="schema").ask(_prompt(schema=_SCHEMA), stage="map")
    assert make(structured="none").ask(_prompt(schema=_SCHEMA), stage="map").text
    assert _forms(openai_server) == ["json_schema", None]


def test_a_model_with_newer_names_and_its_own_temperature_is_asked_so(
    openai_server: OpenAIServer, make: Make
) -> None:
    def answer(request: Request) -> Reply:
        if "max_tokens" in request.body:
            return Reply("Unsupported: 'max_tokens'. Use 'max_completion_tokens'.", status=400)
        if request.body["temperature"] != 1.0:
            return Reply("Unsupported value: 'temperature' does not support 0.0", status=400)
        return Reply("fine")

    openai_server.answer_with(answer)
    gateway = make()
    assert gateway.ask(_prompt(longest=33), stage="map").text == "fine"
    assert "".join(gateway.stream(_messages(), stage="map")) == "fine"
    assert len(openai_server.requests) == 4
    assert openai_server.requests[2].body["max_completion_tokens"] == 33


# --- many ---------------------------------------------------------------------------------------


def _each(gateway: LLMClient, prompts: Sequence[Prompt]) -> list[Answer | ModelError]:
    """What becomes of many prompts in as many threads as calls go out at a time."""

    def ask(item: tuple[int, Prompt]) -> tuple[int, Answer | ModelError]:
        try:
            return item[0], gateway.ask(item[1], stage="map")
        except ModelError as error:
            return item[0], error

    found = dict(parallel_map(enumerate(prompts), ask, workers=gateway.concurrency))
    return [found[number] for number in range(len(prompts))]


def test_each_of_many_gets_its_own_answer_and_one_that_fails_stops_no_other(
    openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.answer_with(
        lambda r: TOO_LONG if r.question == "3" else Reply(r.question, wait_seconds=0.02)
    )
    results = _each(make(concurrency=3), [_prompt(str(n)) for n in range(20)])
    assert isinstance(results.pop(3), ModelInputTooLong)
    assert [getattr(r, "text", "") for r in results] == [str(n) for n in range(20) if n != 3]
    assert 2 <= openai_server.most_at_once <= 3


def test_a_budget_that_many_share_is_never_exceeded(
    openai_server: OpenAIServer, make: Make
) -> None:
    budget = Budget(max_tokens=1_000)
    gateway = make(budget=budget, concurrency=4)
    results = _each(gateway, [_prompt(longest=200)] * 200)
    refused = [result for result in results if isinstance(result, BudgetExceeded)]
    assert len(openai_server.requests) + len(refused) == 200
    assert refused
    spent = budget.spent
    assert spent.prompt_tokens + spent.completion_tokens <= 1_000
    assert spent == gateway.total


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_in_a_storm_everything_is_answered_and_nothing_is_exceeded(
    seed: int, openai_server: OpenAIServer, make: Make
) -> None:
    chance, lock = random.Random(seed), threading.Lock()  # noqa: S311  # keeps no secret
    failures = [
        Reply("down", status=500, headers=_SOON),
        Reply("slow down", status=429, headers=_SOON),
        Reply(cut=True),
    ]

    def answer(request: Request) -> Reply:
        with lock:
            return chance.choice(failures) if chance.random() < 0.2 else Reply(request.question)

    openai_server.answer_with(answer)
    budget = Budget(max_tokens=20_000)
    gateway = make(budget=budget, retries=8, concurrency=4)
    results = _each(gateway, [_prompt(f"n {number}", longest=50) for number in range(30)])
    assert [getattr(r, "text", "") for r in results] == [f"n {number}" for number in range(30)]
    spent = budget.spent
    assert spent.prompt_tokens + spent.completion_tokens <= 20_000
    assert spent == gateway.total


@pytest.mark.parametrize("seed", [4, 5])
def test_in_a_storm_a_tight_budget_holds_whatever_the_server_did(
    seed: int, openai_server: OpenAIServer, make: Make
) -> None:
    chance, lock = random.Random(seed), threading.Lock()  # noqa: S311  # keeps no secret
    computed = 0

    def answer(request: Request) -> Reply:
        nonlocal computed
        with lock:
            kind, words = chance.random(), chance.randint(1, 40)
            if kind < 0.2:
                return Reply("down", status=503, headers=_SOON)
            computed += 4 + words  # what it was asked, and what it answers
            return Reply("w " * words, cut=kind < 0.3, stall=kind > 0.97)

    openai_server.answer_with(answer)
    budget = Budget(max_tokens=1_500)
    gateway = make(budget=budget, timeout_seconds=1.0)
    results = _each(gateway, [_prompt("one two", longest=40)] * 80)
    spent = budget.spent.prompt_tokens + budget.spent.completion_tokens
    assert computed <= spent <= 1_500
    assert any(isinstance(result, BudgetExceeded) for result in results)


def test_requests_are_spaced_over_the_minute(openai_server: OpenAIServer, make: Make) -> None:
    gateway = make(requests_per_minute=600, concurrency=4)
    _each(gateway, [_prompt()] * 6)
    begins = sorted(request.at for request in openai_server.requests)
    assert begins[-1] - begins[0] >= 0.45


def test_what_one_thing_cost_is_known_beside_the_whole(
    openai_server: OpenAIServer, make: Make
) -> None:
    gateway = make()
    gateway.ask(_prompt(), stage="map")
    part = gateway.apart()
    part.ask(_prompt(), stage="answers")
    list(part.stream(_messages(), stage="answers"))
    assert (part.total.calls, gateway.total.calls) == (2, 3)


@pytest.mark.parametrize(
    ("bad", "booked"),
    [
        pytest.param(Reply(stall=True), 64, id="says nothing"),
        pytest.param(Reply(status=503, headers={"Retry-After": "60"}), 0, id="asks for patience"),
    ],
)
def test_work_that_ends_early_waits_for_no_server_and_the_gateway_serves_on(
    bad: Reply, booked: int, openai_server: OpenAIServer, make: Make
) -> None:
    def answer(request: Request) -> Reply:
        if request.question == "good":
            return Reply("fine")
        _until(lambda: len(openai_server.requests) == 3)  # else "good" waits for Retry-After, too
        return bad

    openai_server.answer_with(answer)
    budget = Budget()
    gateway = make(budget=budget)
    prompts = [_prompt("bad"), _prompt("good"), _prompt("bad")]
    results = parallel_map(prompts, lambda p: gateway.ask(p, stage="map"), workers=3)
    assert next(results).text == "fine"
    in_flight = 2 if bad.stall else 0
    _until(lambda: len(openai_server.requests) == 3 and len(budget._held) == in_flight)
    results.close()  # type: ignore[attr-defined]
    assert openai_server.at_once == in_flight  # the silent server is not waited for
    assert budget.spent == gateway.total
    assert gateway.total.completion_tokens == 1 + 2 * booked
    assert len(openai_server.requests) == 3


def test_an_interrupted_call_is_booked_at_its_worst(make: Make, monkeypatch: Any) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.llm.client.run_with_timeout", interrupted)
    gateway = make()
    with pytest.raises(KeyboardInterrupt):
        gateway.ask(_prompt(longest=50), stage="map")
    assert gateway.total.completion_tokens == 50


def test_a_reply_that_was_of_no_use_is_noted(make: Make, ledger: UsageLog) -> None:
    gateway = make()
    gateway.ask(_prompt(), stage="map")
    gateway.unusable("map")
    assert _booked(ledger)["map"][:2] == (1, 1)


# --- budget by day ------------------------------------------------------------------------------


def test_a_day_counts_what_was_spent_before_the_library_was_opened(
    openai_server: OpenAIServer, make: Make, library: Library, ledger: UsageLog
) -> None:
    make().ask(_prompt(), stage="map")  # three words and five
    own = UsageLog(library)
    budget = Budget(max_tokens=100, per="day", spent_by_others=own.spent_by_others)
    assert budget.spent == Usage(calls=1, prompt_tokens=3, completion_tokens=5)
    with pytest.raises(BudgetExceeded, match="8 of 100 tokens are spent today"):
        make(budget=budget, ledger=own).ask(_prompt(longest=90), stage="map")
    assert len(openai_server.requests) == 1
    make(budget=budget, ledger=own).ask(_prompt(), stage="map")
    make().ask(_prompt(), stage="map")
    assert budget.spent == Usage(calls=3, prompt_tokens=9, completion_tokens=15)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_what_the_provider_had_kept_is_counted_and_priced(
    make: Make, openai_server: OpenAIServer, streams: bool
) -> None:
    openai_server.script(Reply("fine", tokens=(1_000, 10), cached=800))
    gateway = make(price=Price(prompt=10.0, completion=0.0, cached=1.0))
    told: list[str] = []
    reply = gateway.ask(_prompt(), stage="map", on_event=told.append if streams else None)
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens) == (1_000, 800)
    assert reply.usage.cost == pytest.approx((200 * 10 + 800 * 1) / 1_000_000)
    assert gateway.total == reply.usage


def test_a_limit_of_cost_without_a_price_is_refused_before_any_call(make: Make) -> None:
    with pytest.raises(SettingsError, match="test-model"):
        make(budget=Budget(max_cost=1.0))


def test_a_server_that_counts_more_than_we_do_is_believed(
    openai_server: OpenAIServer, make: Make
) -> None:
    words = " ".join(["a"] * 400)
    reply = Reply("x", usage=True)
    openai_server.answer_with(lambda request: reply)
    budget = Budget(max_tokens=3_000)

    class HalfCounter:
        def count(self, text: str) -> int:
            return len(text.split()) // 2

    gateway = make(budget=budget, tokeniser=HalfCounter())
    results = [gateway.ask(_prompt(words, longest=10), stage="map") for _ in range(7)]
    assert len(results) == 7
    with pytest.raises(BudgetExceeded):
        gateway.ask(_prompt(words, longest=10), stage="map")
    assert budget.spent.prompt_tokens + budget.spent.completion_tokens <= 3_000


# --- other kinds --------------------------------------------------------------------------------


@pytest.fixture
def ollama(openai_server: OpenAIServer, ledger: UsageLog) -> LLMClient:
    pytest.importorskip("llama_index.llms.ollama", reason="the extra `ollama` is not installed")
    llm = build_llm(
        LlmSettings(
            kind="ollama",
            model="small",
            base_url=openai_server.ollama_url,
            context_window_tokens=2_000,
            timeout_seconds=5,
        ),
        {},
    )
    assert llm is not None
    return LLMClient(llm, budget=Budget(), ledger=ledger, retries=1, timeout_seconds=5)


def test_ollama_is_told_its_window_the_longest_answer_and_the_schema(
    openai_server: OpenAIServer, ollama: LLMClient
) -> None:
    openai_server.script('<think>so</think>{"names": []}', "Maeve Tolland")
    reply = ollama.ask(_prompt(longest=77, schema=_SCHEMA), stage="map")
    assert (reply.text, reply.usage.prompt_tokens) == ('{"names": []}', 3)
    assert "".join(ollama.stream(_messages(), stage="answers")) == "Maeve Tolland"
    body = openai_server.requests[0].body
    assert body["options"] == {"temperature": 0.0, "num_ctx": 2_000, "num_predict": 77}
    assert body["format"] == _SCHEMA
    assert ollama.total == Usage(calls=2, prompt_tokens=4, completion_tokens=4)


def test_ollamas_failures_are_told_apart(openai_server: OpenAIServer, ollama: LLMClient) -> None:
    openai_server.script(Reply("busy", status=503), "fine")
    assert ollama.ask(_prompt(), stage="map").text == "fine"
    openai_server.script(Reply("no such model", status=404))
    with pytest.raises(ModelUnavailable, match=r"404.*no such model"):
        ollama.ask(_prompt(), stage="map")
    openai_server.script(TOO_LONG)
    with pytest.raises(ModelInputTooLong):
        ollama.ask(_prompt(), stage="map")
    assert len(openai_server.requests) == 4


def test_ollama_is_not_asked_what_it_would_cut(
    openai_server: OpenAIServer, ollama: LLMClient
) -> None:
    with pytest.raises(ModelInputTooLong, match=r"2,000 tokens.*context_window_tokens"):
        ollama.ask(_prompt("word " * 2_000), stage="map")
    assert openai_server.requests == []


def test_a_gateway_to_a_model_that_is_given_asks_nobody_before_the_first_question(
    openai_server: OpenAIServer,
) -> None:
    pytest.importorskip("llama_index.llms.ollama", reason="the extra `ollama` is not installed")
    from llama_index.llms.ollama import Ollama

    llm = Ollama(model="small", base_url=openai_server.ollama_url)
    gateway = build_gateways(LlmSettings(), budget=Budget(max_cost=0.0), llm=llm)["answers"]
    assert gateway.model == "small"
    assert openai_server.requests == []


class _FakeLlama:
    """What `llama_cpp.Llama` does, as far as it is used."""

    loaded = 0

    def __init__(self, **arguments: Any) -> None:
        type(self).loaded += 1
        self.arguments = arguments

    def create_chat_completion(self, **asked: Any) -> Any:
        self.asked = asked
        question = asked["messages"][-1]["content"]
        if question == "too long":
            raise ValueError("Requested tokens (9) exceed context window of 8")
        if asked.get("stream"):
            return iter(
                {"choices": [{"delta": {"content": word}, "finish_reason": end}]}
                for word, end in (("", None), ("one ", None), ("two", None), ("", "stop"))
            )
        said = f"{question} {asked.get('response_format')} {asked['max_tokens']}"
        return {
            "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3},
        }


def test_a_model_file_is_loaded_once_and_asked_like_any_other(
    ledger: UsageLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import types

    module = types.ModuleType("llama_cpp")
    module.Llama = _FakeLlama  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    monkeypatch.setattr("engine.providers.factory.find_spec", lambda name: object())
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF")
    llm = build_llm(LlmSettings(kind="gguf", path=str(file)), {})
    assert llm is not None
    gateway = LLMClient(llm, budget=Budget(max_cost=0.0), ledger=ledger, price=FREE)
    assert gateway.identity == "GgufModel/tiny"
    reply = gateway.ask(_prompt("Who?", longest=9, schema=_SCHEMA), stage="map")
    form = {"type": "json_object", "schema": _SCHEMA}
    assert reply.text == f"Who? {form} 9"
    assert reply.usage == Usage(calls=1, prompt_tokens=5, completion_tokens=3)
    assert list(gateway.stream(_messages(), stage="answers")) == ["one ", "two"]
    with pytest.raises(ModelInputTooLong):
        gateway.ask(_prompt("too long"), stage="map")
    assert (_FakeLlama.loaded, gateway.total.calls) == (1, 2)


# --- kept answers -------------------------------------------------------------------------------


def test_an_answer_is_paid_for_once_also_after_reopening(
    openai_server: OpenAIServer, make: Make, library: Library, tmp_path: Path
) -> None:
    first = make().ask(_prompt(), stage="answers", keep=True)
    again = Library(tmp_path / "library")
    gateway = make(ledger=UsageLog(again))
    second = gateway.ask(_prompt(), stage="answers", keep=True)
    assert (first.kept, second.kept, second.text) == (False, True, first.text)
    assert second.usage == gateway.total == Usage(cached_calls=1)
    assert len(openai_server.requests) == 1
    again.close()


@pytest.mark.parametrize(
    ("changes", "prompt"),
    [
        pytest.param({}, _prompt("Who else?"), id="another question"),
        pytest.param({}, _prompt(longest=65), id="a longer answer"),
        pytest.param({}, _prompt(schema=_SCHEMA), id="a schema"),
        pytest.param({"temperature": 0.7}, _prompt(), id="another temperature"),
        pytest.param({"model": "other-model"}, _prompt(), id="another model"),
    ],
)
def test_another_request_is_another_answer(
    changes: dict[str, Any], prompt: Prompt, openai_server: OpenAIServer, ledger: UsageLog
) -> None:
    llm = _llm(openai_server.base_url)
    LLMClient(llm, budget=Budget(), ledger=ledger).ask(_prompt(), stage="answers", keep=True)
    other = LLMClient(llm.model_copy(update=changes), budget=Budget(), ledger=ledger)
    assert not other.ask(prompt, stage="answers", keep=True).kept
    assert len(openai_server.requests) == 2


def test_an_answer_from_other_documents_is_gone(
    openai_server: OpenAIServer, make: Make, library: Library
) -> None:
    gateway = make()
    gateway.ask(_prompt(), stage="answers", keep=True)
    with library.write() as connection:
        write_state(connection, "generation", "7")
    assert not gateway.ask(_prompt(), stage="answers", keep=True).kept
    assert library.counts()["replies"] == 1


def test_half_an_answer_is_not_kept_and_nothing_is_that_nobody_asked_for(
    openai_server: OpenAIServer, make: Make, library: Library
) -> None:
    openai_server.script(Reply("half", finish_reason="length"))
    make().ask(_prompt(), stage="answers", keep=True)
    make().ask(_prompt(), stage="answers")
    assert library.counts()["replies"] == 0


def test_a_library_that_is_being_written_to_answers_all_the_same(
    openai_server: OpenAIServer, make: Make, library: Library, ledger: UsageLog
) -> None:
    gateway = make()
    holding, done = threading.Event(), threading.Event()

    def write() -> None:
        with library.write():
            holding.set()
            done.wait(60)

    writer = threading.Thread(target=write)
    writer.start()
    holding.wait()
    assert gateway.ask(_prompt(), stage="answers", keep=True).text == DEFAULT_TEXT
    assert writer.is_alive()
    done.set()
    writer.join()
    gateway.ask(_prompt(), stage="answers")
    ledger.close()
    assert _booked(UsageLog(library))["answers"][0] == 2
    assert library.counts()["replies"] == 0


_KILLED = """
import os, sys
sys.path.insert(0, sys.argv[3])
from engine.storage.usage_log import UsageLog
from engine.storage.library import Library
from engine.llm.budget import Budget
from engine.llm.client import LLMClient
from engine.providers.factory import build_llm
from engine.config import LlmSettings
from llama_index.core.base.llms.types import ChatMessage

llm = build_llm(LlmSettings(kind="openai_like", model="m", base_url=sys.argv[1]), {})
gateway = LLMClient(llm, budget=Budget(), ledger=UsageLog(Library(sys.argv[2])))
gateway.chat([ChatMessage(content="Who?")], stage="answers")
os._exit(9)
"""


def test_a_killed_process_leaves_its_calls_in_the_book(
    openai_server: OpenAIServer, library: Library, tmp_path: Path
) -> None:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", _KILLED, openai_server.base_url]
    run = subprocess.run(
        [*command, str(tmp_path / "library"), root], capture_output=True, text=True
    )
    assert run.returncode == 9, run.stderr
    assert UsageLog(library).spent_by_others(utc_day()).calls == 1


# --- streams that are kept, told, and left ------------------------------------------------------


def test_a_streamed_answer_is_kept_like_a_whole_one(
    openai_server: OpenAIServer, make: Make, ledger: UsageLog
) -> None:
    openai_server.script("Maeve Tolland founded it.")
    gateway = make()
    assert len(list(gateway.stream(_messages(), stage="answers", keep=True))) == 4
    assert list(gateway.stream(_messages(), stage="answers", keep=True)) == [
        "Maeve Tolland founded it."
    ]
    reply = gateway.chat(_messages(), stage="answers", keep=True)
    assert (reply.text, reply.kept) == ("Maeve Tolland founded it.", True)
    assert gateway.total == Usage(calls=1, cached_calls=2, prompt_tokens=1, completion_tokens=4)


def test_an_answer_is_told_while_it_is_said_and_is_the_same_at_the_end(
    openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.answer_with(lambda request: "<think>Who?</think>\n\nMaeve Tolland.\n")
    heard: list[str] = []
    told = make().chat(_messages(), stage="answers", on_event=heard.append)
    assert "".join(heard).strip() == told.text == "Maeve Tolland."
    assert told == make().chat(_messages(), stage="answers")


def test_who_is_told_and_raises_ends_the_call(openai_server: OpenAIServer, make: Make) -> None:
    openai_server.script(Reply("word " * 2_000, drip_seconds=0.01))
    gateway = make(concurrency=1)

    def enough(piece: str) -> None:
        raise InterruptedError(piece)

    with pytest.raises(InterruptedError, match="word"):
        gateway.chat(_messages(), stage="answers", on_event=enough)
    assert gateway.total.calls == 1
    # The place is free, and the server was hung up on: the next call is answered.
    assert gateway.chat(_messages(), stage="answers").text == DEFAULT_TEXT


def test_a_stream_takes_one_of_the_places_for_calls(
    openai_server: OpenAIServer, make: Make
) -> None:
    openai_server.answer_with(lambda request: Reply("one two three", drip_seconds=0.02))
    gateway = make(concurrency=1)

    def ask(number: int) -> None:
        gateway.chat(_messages(f"Who? {number}"), stage="answers", on_event=lambda piece: None)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    assert openai_server.most_at_once == 1
