"""What stands between a question and a language model: budget, prices, pace, patience, ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.concurrency import CancelScope, WorkCancelled, run_with_timeout
from engine.config import LlmSettings
from engine.errors import (
    BudgetExceeded,
    MissingExtra,
    ModelError,
    ModelInputTooLong,
    ModelOutputError,
    ModelUnavailable,
    SettingsError,
)
from engine.llm.budget import FREE, Budget, Price, PriceTable, is_local, load_prices, price_of
from engine.llm.response import (
    ProviderUsage,
    answering_identity,
    identity_of,
    stream_without_thoughts,
    strip_reasoning,
    usage_from_response,
)
from engine.llm.retry import RateLimiter, backoff_seconds, classify_failure, translate_errors
from engine.llm.structured_output import (
    RequestDialect,
    ServerCapabilities,
    format_arguments,
    is_strict,
    marked_instructions,
    with_longest_answer,
)
from engine.providers.factory import build_llm
from engine.providers.llm_clients import build_gateways, build_llms, stage_settings
from engine.storage.library import Library
from engine.storage.usage_log import UsageLog, drop_stale_replies
from engine.types import StageUsage, Usage

_LOCAL = "http://127.0.0.1:9/v1"
_PRICE = Price(prompt=2.0, completion=10.0)


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


# --- budget -------------------------------------------------------------------------------------


def test_a_call_is_refused_before_it_could_exceed_the_tokens() -> None:
    budget = Budget(max_tokens=100)
    with budget.reserve(prompt_tokens=40, max_completion=20, price=None) as held:
        held.settle(Usage(calls=1, prompt_tokens=40, completion_tokens=5))
    assert _tokens(budget.spent) == 45
    with pytest.raises(BudgetExceeded, match=r"45 of 100 tokens.*56.*raise budget\.max_tokens"):
        budget.reserve(prompt_tokens=40, max_completion=16, price=None)
    with budget.reserve(prompt_tokens=40, max_completion=15, price=None):
        pass


def test_a_call_is_refused_before_it_could_exceed_the_cost() -> None:
    budget = Budget(max_cost=0.01)
    with pytest.raises(BudgetExceeded, match=r"0\.0000 of 0\.0100.*0\.0120.*budget\.max_cost"):
        budget.reserve(prompt_tokens=1_000, max_completion=1_000, price=_PRICE)
    with budget.reserve(prompt_tokens=0, max_completion=1_000, price=_PRICE) as held:
        held.settle(Usage(calls=1, completion_tokens=1_000, cost=0.01))
    assert budget.spent.cost == pytest.approx(0.01)


def test_a_budget_of_nothing_allows_nothing_and_none_allows_all() -> None:
    with pytest.raises(BudgetExceeded):
        Budget(max_tokens=0).reserve(prompt_tokens=1, max_completion=0, price=None)
    Budget().reserve(prompt_tokens=10**9, max_completion=10**9, price=_PRICE)


def test_a_call_that_was_refused_gives_back_what_it_held() -> None:
    budget = Budget(max_tokens=10)
    for _ in range(3):
        with (
            pytest.raises(ModelUnavailable),
            budget.reserve(prompt_tokens=5, max_completion=5, price=None),
        ):
            raise ModelUnavailable("429")
    assert budget.spent == Usage()


def test_settling_twice_counts_once() -> None:
    budget = Budget(max_tokens=100)
    with budget.reserve(prompt_tokens=5, max_completion=5, price=None) as held:
        held.settle(Usage(calls=1, prompt_tokens=5))
        held.settle(Usage(calls=1, prompt_tokens=5))
    assert budget.spent == Usage(calls=1, prompt_tokens=5)


@given(
    limit=st.integers(0, 300),
    calls=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.floats(0, 1)), max_size=25),
    workers=st.integers(1, 6),
)
def test_whatever_runs_side_by_side_no_limit_is_ever_exceeded(
    limit: int, calls: list[tuple[int, int, float]], workers: int
) -> None:
    budget = Budget(max_tokens=limit, max_cost=limit / 1e6 * 7)
    price = Price(prompt=5.0, completion=9.0)
    seen: list[Usage] = []

    def call(prompt: int, longest: int, share: float) -> int:
        try:
            held = budget.reserve(prompt_tokens=prompt, max_completion=longest, price=price)
        except BudgetExceeded:
            return 0
        with held:
            answer = int(longest * share)
            cost = price.of(prompt, answer)
            held.settle(Usage(prompt_tokens=prompt, completion_tokens=answer, cost=cost))
            seen.append(budget.spent)
            return prompt + answer

    with ThreadPoolExecutor(workers) as pool:
        taken = sum(pool.map(lambda one: call(*one), calls))
    assert _tokens(budget.spent) == taken <= limit
    assert all(_tokens(usage) <= limit for usage in seen)
    assert all(usage.cost <= limit / 1e6 * 7 + 1e-9 for usage in seen)


def test_a_call_that_fits_only_if_others_cost_less_waits_for_them() -> None:
    budget = Budget(max_tokens=100)
    first = budget.reserve(prompt_tokens=10, max_completion=80, price=None)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(budget.reserve, prompt_tokens=10, max_completion=60, price=None)
        time.sleep(0.05)
        assert not second.done()
        first.settle(Usage(calls=1, prompt_tokens=10, completion_tokens=5))
        second.result(timeout=60).settle(Usage(prompt_tokens=10))
    assert _tokens(budget.spent) == 25


def test_nobody_waits_for_a_stream_that_somebody_may_never_read_on() -> None:
    budget = Budget(max_tokens=100)
    stream = budget.reserve(prompt_tokens=10, max_completion=80, price=None, waits=False)
    with pytest.raises(BudgetExceeded, match="go on"):
        budget.reserve(prompt_tokens=10, max_completion=60, price=None)
    stream.settle(Usage())
    budget.reserve(prompt_tokens=10, max_completion=60, price=None)


def test_a_run_begins_with_nothing_spent_and_a_day_does_not() -> None:
    run, day = Budget(max_tokens=10), Budget(max_tokens=10, per="day", today=lambda: "2026-01-01")
    for budget in (run, day):
        budget.reserve(prompt_tokens=10, max_completion=0, price=None).settle(
            Usage(prompt_tokens=10)
        )
        budget.start_run()
    assert (_tokens(run.spent), _tokens(day.spent)) == (0, 10)


def test_runs_that_go_on_at_a_time_have_each_their_own_limit() -> None:
    budget = Budget(max_tokens=10)

    def run(tokens: int) -> int:
        """In a thread that has a context of its own, as each has."""
        budget.start_run()
        held = budget.reserve(prompt_tokens=tokens, max_completion=0, price=None)
        barrier.wait(timeout=60)
        held.settle(Usage(prompt_tokens=tokens))
        barrier.wait(timeout=60)
        with pytest.raises(BudgetExceeded, match=f"{tokens} of 10 tokens"):
            budget.reserve(prompt_tokens=11 - tokens, max_completion=0, price=None)
        return _tokens(budget.spent)

    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, (8, 9))) == [8, 9]


def test_a_day_begins_with_what_was_spent_on_it_before() -> None:
    days = ["2026-01-01"]
    before = {"2026-01-01": Usage(prompt_tokens=95), "2026-01-02": Usage(prompt_tokens=1)}
    budget = Budget(
        max_tokens=100, per="day", spent_by_others=before.__getitem__, today=lambda: days[-1]
    )
    with pytest.raises(BudgetExceeded, match="95 of 100 tokens are spent today"):
        budget.reserve(prompt_tokens=6, max_completion=0, price=None)
    days.append("2026-01-02")
    budget.reserve(prompt_tokens=6, max_completion=0, price=None).settle(Usage(prompt_tokens=6))
    assert _tokens(budget.spent) == 7
    before["2026-01-02"] = Usage(prompt_tokens=90)  # somebody else, meanwhile
    assert _tokens(budget.spent) == 96
    with pytest.raises(BudgetExceeded, match="96 of 100 tokens are spent today"):
        budget.reserve(prompt_tokens=5, max_completion=0, price=None)


def test_a_limit_of_cost_needs_a_price_and_says_where_it_goes() -> None:
    with pytest.raises(SettingsError, match=r"price of model 'm'.*budget\.prices"):
        Budget(max_cost=1.0).check(None, model="m")
    Budget(max_cost=1.0).check(FREE, model="m")
    Budget(max_tokens=1).check(None, model="m")


# --- prices -------------------------------------------------------------------------------------

_TABLE = PriceTable(
    prices={
        "gpt-4o": Price(prompt=2.5, completion=10.0),
        "gpt-4o-mini": Price(prompt=0.15, completion=0.6),
        "mine-*": Price(prompt=1.0, completion=1.0),
    }
)


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        pytest.param("gpt-4o", 2.5, id="itself"),
        pytest.param("GPT-4o", 2.5, id="in capitals"),
        pytest.param("gpt-4o-2024-08-06", 2.5, id="a dated version"),
        pytest.param("gpt-4o-latest", 2.5, id="the latest version"),
        pytest.param("gpt-4o-mini", 0.15, id="the smaller one"),
        pytest.param("gpt-4o-mini-2024-07-18", 0.15, id="a dated version of the smaller one"),
        pytest.param("openai/gpt-4o-mini", 0.15, id="behind a vendor's name"),
        pytest.param("gpt-4o-audio", None, id="another of the family"),
        pytest.param("gpt-4", None, id="a shorter name"),
        pytest.param("gpt-4omni", None, id="another word"),
        pytest.param("mine-anything", 1.0, id="a row for all that begin so"),
        pytest.param("", None, id="no name"),
    ],
)
def test_a_price_is_found_by_the_models_name(model: str, prompt: float | None) -> None:
    price = _TABLE.of_name(model)
    assert (price.prompt if price is not None else None) == prompt


def test_the_table_that_ships_is_read_and_prices_are_a_million_tokens() -> None:
    table = load_prices()
    price = table.of_name("gpt-4o-mini")
    assert price is not None
    assert price.of(1_000_000, 2_000_000) == pytest.approx(price.prompt + 2 * price.completion)
    assert len(table.prices) > 20
    assert not table.own


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("models: {m: {prompt: -1, completion: 1}}", id="a negative price"),
        pytest.param("models: {m: {prompt: .inf, completion: 1}}", id="no end of money"),
        pytest.param("models: {m: {prompt: 1}}", id="half a price"),
        pytest.param("models: {m: 3}", id="a number"),
        pytest.param("- 1", id="a list"),
        pytest.param("models: {", id="not YAML"),
    ],
)
def test_a_table_that_cannot_be_used_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf8")
    with pytest.raises(SettingsError, match=r"budget\.prices: .*prices\.yaml"):
        load_prices(file)
    with pytest.raises(SettingsError, match="missing"):
        load_prices(tmp_path / "missing.yaml")


def test_prices_are_in_the_currency_that_the_settings_name(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("models: {m: {prompt: 1, completion: 2}}", encoding="utf8")
    assert load_prices(file).prices["m"].currency == "USD"
    assert load_prices(file, currency="EUR").prices["m"].currency == "EUR"
    file.write_text("currency: EUR", encoding="utf8")
    with pytest.raises(SettingsError, match=r"in EUR.*set budget\.currency to EUR"):
        load_prices(file)


def test_a_model_on_this_machine_costs_nothing_unless_its_owner_says_so() -> None:
    local, far = _openai_like(_LOCAL), _openai_like("https://h/v1", environment={"K": "k"})
    table = {"m": _PRICE}
    assert (is_local(local), is_local(far)) == (True, False)
    assert price_of(local, PriceTable(prices=table)) == FREE
    assert price_of(local, PriceTable(prices=table, own=True)) == _PRICE
    assert price_of(far, PriceTable(prices=table)) == _PRICE
    assert price_of(far, PriceTable(prices={})) is None


# --- pace ---------------------------------------------------------------------------------------


@dataclass
class _Clock:
    now: float = 0.0
    sleeps: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def _pace(clock: _Clock, *, requests_per_minute: float | None = None) -> RateLimiter:
    return RateLimiter(
        concurrency=2,
        requests_per_minute=requests_per_minute,
        now=lambda: clock.now,
        pause=clock.sleep,
    )


def test_calls_begin_evenly_spaced_over_a_minute() -> None:
    clock = _Clock()
    pace = _pace(clock, requests_per_minute=30)
    begins = []
    for _ in range(4):
        pace.wait()
        begins.append(clock.now)
    assert begins == [0.0, 2.0, 4.0, 6.0]
    clock.now = 100.0
    pace.wait()
    assert clock.now == 100.0


def test_without_a_limit_nobody_waits_until_the_server_asks_for_it() -> None:
    clock = _Clock()
    pace = _pace(clock)
    pace.wait()
    pace.hold(3.0)
    pace.hold(1.0)
    pace.wait()
    assert clock.now == 3.0
    assert clock.sleeps == [3.0]


def test_no_more_calls_than_there_are_places_go_out_at_a_time() -> None:
    pace, lock = RateLimiter(concurrency=3), threading.Lock()
    running, most = 0, 0
    together = threading.Barrier(3)  # nobody goes on before there are three

    def call() -> None:
        nonlocal running, most
        with pace.slot():
            with lock:
                running += 1
                most = max(most, running)
            together.wait(timeout=60)
            with lock:
                running -= 1

    with ThreadPoolExecutor(8) as pool:
        for _ in range(24):
            pool.submit(call)
    assert most == 3


def _in_a_place(pace: RateLimiter) -> None:
    with pace.slot():
        pass


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(lambda pace: pace.wait(), id="its turn"),
        pytest.param(lambda pace: pace.sleep(60.0), id="another try"),
        pytest.param(_in_a_place, id="a place"),
        pytest.param(lambda _: run_with_timeout(60.0, lambda: time.sleep(20)), id="an answer"),
    ],
)
def test_whoever_waits_for_work_that_is_given_up_goes_on_waiting_for_nothing(
    part: Callable[[RateLimiter], None],
) -> None:
    pace, shared = RateLimiter(concurrency=1), CancelScope()
    pace.hold(60.0)
    with pace.slot(), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(shared.bound(part), pace)
        time.sleep(0.02)
        shared.give_up()
        shared.give_up()
        with pytest.raises(WorkCancelled):
            waiting.result(timeout=60)
    with pytest.raises(WorkCancelled):
        shared.bound(part)(pace)


def test_other_work_goes_on_when_some_is_given_up() -> None:
    pace, given_up = RateLimiter(concurrency=1), CancelScope()
    given_up.give_up()
    CancelScope().bound(pace.wait)()
    pace.wait()
    assert run_with_timeout(5.0, lambda: "done") == "done"


def test_a_part_ends_with_the_whole() -> None:
    whole = CancelScope()
    part = whole.bound(CancelScope)()
    whole.give_up()
    with pytest.raises(WorkCancelled):
        part.bound(RateLimiter(concurrency=1).wait)()


# --- patience -----------------------------------------------------------------------------------

_REQUEST = httpx.Request("POST", _LOCAL)


def _status(
    status: int, *, headers: dict[str, str] | None = None, body: object = None
) -> openai.APIStatusError:
    response = httpx.Response(status, headers=headers, request=_REQUEST)
    return openai.APIStatusError(f"{status} {body}", response=response, body=body)


def _connection(cause: Exception) -> openai.APIConnectionError:
    error = openai.APIConnectionError(request=_REQUEST)
    error.__cause__ = cause
    return error


def _as_ours(error: Exception) -> ModelError:
    with pytest.raises(ModelError) as caught, translate_errors("m"):
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "passes", "may_cost"),
    [
        *(pytest.param(_status(s), False, False, id=str(s)) for s in (400, 401, 403, 404, 413)),
        *(pytest.param(_status(s), True, False, id=str(s)) for s in (408, 429, 500, 502, 503, 529)),
        pytest.param(
            _status(429, body={"code": "insufficient_quota"}), False, False, id="quota used up"
        ),
        pytest.param(openai.APITimeoutError(_REQUEST), True, True, id="too slow"),
        pytest.param(_connection(httpx.ReadError("x")), True, True, id="cut"),
        pytest.param(_connection(httpx.RemoteProtocolError("x")), True, True, id="cut in the body"),
        pytest.param(_connection(httpx.ConnectError("x")), True, False, id="no server"),
        pytest.param(httpx.ReadTimeout("x"), True, True, id="too slow in a stream"),
        pytest.param(httpx.ConnectTimeout("x"), True, False, id="no way to the server"),
        pytest.param(TimeoutError(), True, True, id="a deadline"),
        pytest.param(ConnectionError("no Ollama"), True, False, id="no Ollama"),
        pytest.param(ConnectionResetError("reset"), True, True, id="reset"),
        pytest.param(httpx.DecodingError("too long"), False, True, id="no end of it"),
        pytest.param(ValueError("{"), False, True, id="not a reply"),
        pytest.param(
            _status(500, body={"message": "the request exceeds the available context size"}),
            False,
            False,
            id="too long for llama.cpp",
        ),
        pytest.param(
            ValueError("Requested tokens (9) exceed context window of 8"),
            False,
            False,
            id="too long for llama.cpp in this process",
        ),
    ],
)
def test_each_failure_has_a_nature(error: Exception, passes: bool, may_cost: bool) -> None:
    nature = classify_failure(_as_ours(error))
    assert (nature.passes, nature.may_cost) == (passes, may_cost)


@pytest.mark.parametrize(
    "words",
    [
        "Error code: 400 - {'error': {'code': 'context_length_exceeded'}}",
        "This model's maximum context length is 4096 tokens",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 200001 tokens > 200000 maximum",
        "the input length exceeds the context length",
    ],
)
def test_a_request_that_is_too_long_is_told_apart(words: str) -> None:
    assert isinstance(_as_ours(_status(400, body=words)), ModelInputTooLong)
    assert not isinstance(_as_ours(_status(401, body=words)), ModelInputTooLong)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({"Retry-After": "3"}, 3.0, id="seconds"),
        pytest.param({"Retry-After-Ms": "250", "Retry-After": "3"}, 0.25, id="milliseconds first"),
        pytest.param({"Retry-After": "soon"}, None, id="nonsense"),
        pytest.param({"Retry-After": "-1"}, None, id="negative"),
        pytest.param({"Retry-After": "nan"}, None, id="no number"),
        pytest.param({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0, id="a past date"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_how_long_a_server_asks_to_be_left_alone(
    headers: dict[str, str], seconds: float | None
) -> None:
    nature = classify_failure(_as_ours(_status(429, headers=headers)))
    assert nature.retry_after_seconds == seconds


def test_a_date_says_how_long_to_wait() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    asked = classify_failure(
        _as_ours(_status(503, headers={"Retry-After": when}))
    ).retry_after_seconds
    assert asked is not None
    assert 25 < asked <= 30


def _failing(errors: list[Exception]) -> Callable[[], str]:
    def call() -> str:
        if errors:
            with translate_errors("m"):
                raise errors.pop(0)
        return "fine"

    return call


def _waits(errors: list[Exception], *, retries: int, longest: float) -> tuple[list[float], Any]:
    clock, held = _Clock(), []
    loop = backoff_seconds(
        retries=retries, longest_wait_seconds=longest, hold=held.append, sleep=clock.sleep
    )
    assert loop.copy()(_failing(errors)) == "fine"
    return clock.sleeps, held


def test_waits_double_with_jitter_and_are_bounded() -> None:
    waits, held = _waits([_status(500) for _ in range(8)], retries=8, longest=5.0)
    assert held == []
    for number, wait in enumerate(waits):
        longest = min(0.5 * 2**number, 30.0)
        assert min(longest / 2, 5.0) <= wait <= min(longest, 5.0)
    again, _ = _waits([_status(500) for _ in range(8)], retries=8, longest=5.0)
    assert again == waits


def test_a_wait_that_the_server_asks_for_is_kept_by_all_up_to_the_timeout() -> None:
    errors: list[Exception] = [
        _status(429, headers={"Retry-After": "2"}),
        _status(503, headers={"Retry-After": "3600"}),
    ]
    assert _waits(errors, retries=2, longest=5.0) == ([2.0, 5.0], [2.0, 5.0])


def test_after_all_retries_the_last_error_comes_out() -> None:
    errors: list[Exception] = [_status(500), _status(502), _status(503)]
    loop = backoff_seconds(
        retries=1, longest_wait_seconds=1.0, hold=lambda _: None, sleep=lambda _: None
    )
    with pytest.raises(ModelUnavailable, match="502"):
        loop.copy()(_failing(errors))
    with pytest.raises(ModelUnavailable, match="401"):
        loop.copy()(_failing([_status(401), _status(401)]))


def test_a_call_is_over_when_its_time_is() -> None:
    with pytest.raises(TimeoutError):
        run_with_timeout(0.05, lambda: time.sleep(5))
    assert run_with_timeout(5, lambda: "done") == "done"
    assert run_with_timeout(None, threading.current_thread) is threading.current_thread()
    with pytest.raises(KeyError):
        run_with_timeout(5, lambda: {}["missing"])


# --- thoughts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param("An answer.", "An answer.", id="none"),
        pytest.param("<think>hm</think>\n\nAn answer.", "An answer.", id="one"),
        pytest.param("\n<Thinking>a</Thinking><think>b</think> 好。", "好。", id="two, in Chinese"),
        pytest.param("<think>for ever", "", id="without an end"),
        pytest.param("<think></think>", "", id="and nothing else"),
        pytest.param("so it is\n</think>\nAn answer.", "An answer.", id="without a beginning"),
        pytest.param("Write <think>x</think> so.", "Write <think>x</think> so.", id="quoted"),
        pytest.param("a < b, thinking", "a < b, thinking", id="a mark that is no tag"),
        pytest.param("<b>bold</b>", "<b>bold</b>", id="another tag"),
    ],
)
def test_thoughts_are_taken_out(text: str, answer: str) -> None:
    assert strip_reasoning(text) == answer


@given(
    thought=st.text("ab<>/ think好", max_size=12),
    answer=st.text("ab</ 好>", min_size=1, max_size=20),
    cuts=st.lists(st.integers(1, 6), max_size=20),
)
def test_however_a_stream_is_cut_the_answer_is_the_same(
    thought: str, answer: str, cuts: list[int]
) -> None:
    text = f"<think>{thought}</think>{answer}"

    def pieces() -> Iterator[str]:
        at = 0
        for size in [*cuts, len(text)]:
            if text[at : at + size]:
                yield text[at : at + size]
            at += size

    streamed = "".join(stream_without_thoughts(pieces())).strip()
    assert streamed == "".join(stream_without_thoughts(iter([text]))).strip()
    if "</think>" not in thought:
        assert streamed == answer.strip()


# --- how a request is put -----------------------------------------------------------------------

_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
    "additionalProperties": False,
}


def _openai_like(
    url: str = _LOCAL, *, environment: dict[str, str] | None = None, **changes: Any
) -> Any:
    values = {"kind": "openai_like", "model": "m", "base_url": url, "api_key_variable": "K"}
    llm = build_llm(LlmSettings(**(values | changes)), environment or {})
    assert llm is not None
    return llm


def test_a_schema_goes_along_at_each_level_as_the_server_takes_it() -> None:
    llm = _openai_like()
    (sent,) = format_arguments(llm, _SCHEMA, level="schema").values()
    assert sent["type"] == "json_schema"
    assert sent["json_schema"] == {"name": "answer", "schema": _SCHEMA, "strict": True}
    assert format_arguments(llm, _SCHEMA, level="json") == {
        "response_format": {"type": "json_object"}
    }
    assert format_arguments(llm, _SCHEMA, level="none") == {}
    assert format_arguments(llm, None, level="schema") == {}


def test_models_that_are_not_known_get_no_further_arguments() -> None:
    from llama_index.core.llms import MockLLM

    assert format_arguments(MockLLM(), _SCHEMA, level="schema") == {}


@pytest.mark.parametrize(
    ("change", "strict"),
    [
        pytest.param({}, True, id="closed and all required"),
        pytest.param({"required": []}, False, id="one not required"),
        pytest.param({"additionalProperties": True}, False, id="open"),
        pytest.param({"properties": {"a": {"type": "object"}}}, False, id="open inside"),
    ],
)
def test_only_a_strict_schema_is_called_so(change: dict[str, Any], strict: bool) -> None:
    assert is_strict(_SCHEMA | change) == strict


def test_the_copy_that_is_asked_bounds_the_answer_and_leaves_the_model_as_it_is() -> None:
    llm = _openai_like(max_output_tokens=100, retries=3)
    copy = with_longest_answer(llm, 7)
    assert (copy.max_tokens, llm.max_tokens) == (7, 100)
    assert (copy._client.max_retries, llm._client.max_retries) == (0, 3)
    assert copy._client._client is llm._client._client
    newer = with_longest_answer(llm, 7, uses_max_completion_tokens=True)
    assert newer.max_tokens is None
    assert newer.additional_kwargs["max_completion_tokens"] == 7
    assert "max_completion_tokens" not in llm.additional_kwargs


def test_what_a_server_refuses_is_remembered_once() -> None:
    learned = ServerCapabilities("schema", goes_down=True)
    first = learned.manner
    said = "unknown field response_format"
    assert learned.refused(first, said, with_schema=True)
    assert learned.refused(first, said, with_schema=True)  # another call, asked before
    assert learned.manner == RequestDialect(level="json")
    assert not learned.refused(learned.manner, said, with_schema=False)
    assert not learned.refused(learned.manner, "no such model", with_schema=True)
    assert learned.refused(learned.manner, said, with_schema=True)
    assert not learned.refused(learned.manner, said, with_schema=True)
    assert not ServerCapabilities("schema", goes_down=False).refused(first, said, with_schema=True)


def test_what_the_server_counts_raises_what_is_held_back() -> None:
    learned = ServerCapabilities("none", goes_down=False)
    assert learned.tokens(100) == 100
    learned.reported(150, counted=100)
    learned.reported(120, counted=100)
    assert learned.tokens(101) == 152
    learned.reported(10**9, counted=1)
    assert learned.tokens(10) == 40


# --- names --------------------------------------------------------------------------------------


def test_an_identity_tells_parameters_apart_that_decide_answers() -> None:
    llm = _openai_like()
    assert answering_identity(llm) == identity_of(llm) == "OpenAILike/m"
    same = _openai_like("http://127.0.0.1:10/v1", max_output_tokens=99, timeout_seconds=9)
    assert answering_identity(same) == answering_identity(llm)
    warmer = llm.model_copy(update={"temperature": 0.5})
    seeded = llm.model_copy(update={"additional_kwargs": {"seed": 3, "extra_headers": {"k": "v"}}})
    names = {answering_identity(one) for one in (llm, warmer, seeded)}
    assert len(names) == 3
    assert all(name.startswith("OpenAILike/m") for name in names)


# --- building -----------------------------------------------------------------------------------


def test_stages_take_over_what_they_do_not_say_and_share_what_is_the_same() -> None:
    settings = LlmSettings(
        kind="openai_like",
        model="small",
        base_url=_LOCAL,
        stages={"reports": {"model": "large"}, "map": {"concurrency": 9}},
    )
    llms = build_llms(settings, {})
    assert {stage: llm.metadata.model_name for stage, llm in llms.items()} == {
        "extraction": "small",
        "reports": "large",
        "map": "small",
        "answers": "small",
    }
    assert llms["extraction"] is llms["map"] is llms["answers"]
    gateways = build_gateways(settings, budget=Budget(), environment={})
    assert gateways["extraction"] is gateways["answers"]
    assert gateways["map"] is not gateways["answers"]
    assert (gateways["map"].concurrency, gateways["answers"].concurrency) == (9, 4)


def test_a_stage_of_another_kind_takes_over_nothing_of_the_first() -> None:
    settings = LlmSettings(
        kind="openai_like",
        model="m",
        base_url="https://h/v1",
        api_key_variable="K",
        timeout_seconds=7,
        stages={"map": {"kind": "gguf", "path": "m.gguf"}, "reports": {"kind": "none"}},
    )
    own = stage_settings(settings)
    assert (own["map"].base_url, own["map"].model, own["map"].timeout_seconds) == ("", "", 7)
    assert own["reports"].kind == "none"


def test_without_a_model_there_is_no_gateway() -> None:
    assert build_gateways(LlmSettings(), budget=Budget()) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"modle": "x"}, r"llm\.stages\.map\.modle: unknown key", id="a typing error"),
        pytest.param({"retries": -1}, r"llm\.stages\.map\.retries", id="out of range"),
        pytest.param({"stages": {}}, r"llm\.stages\.map\.stages: unknown", id="stages of a stage"),
    ],
)
def test_stages_that_cannot_be_used_are_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        stage_settings(LlmSettings(stages={"map": changes}))


def test_one_object_serves_all_stages() -> None:
    from llama_index.core.llms import MockLLM

    gateways = build_gateways(LlmSettings(), budget=Budget(max_cost=0.0), llm=MockLLM())
    assert len(gateways) == 4
    assert len({id(gateway) for gateway in gateways.values()}) == 1


@pytest.mark.parametrize("kind", ["ollama", "anthropic", "gguf"])
def test_a_kind_that_is_not_installed_names_its_extra(
    kind: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("engine.providers.factory.find_spec", lambda name: None)
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    settings = LlmSettings(kind=kind, model="m", path=str(tmp_path / "m.gguf"))
    with pytest.raises(MissingExtra, match=rf"pip install 'loregraph\[{kind}\]'"):
        build_llm(settings, {"ANTHROPIC_API_KEY": "k"})


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        pytest.param({"kind": "gguf"}, SettingsError, r"llm\.path", id="no file named"),
        pytest.param({"kind": "gguf", "path": "no.gguf"}, SettingsError, "no.gguf", id="no file"),
        pytest.param(
            {"kind": "anthropic", "model": "m"}, ModelUnavailable, "ANTHROPIC_API_KEY", id="no key"
        ),
        pytest.param({"kind": "ollama"}, SettingsError, r"llm\.model", id="no model"),
    ],
)
def test_settings_of_other_kinds_that_cannot_work_are_named(
    values: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        build_llm(LlmSettings(**values), {"OPENAI_API_KEY": "not this one"})


# --- ledger -------------------------------------------------------------------------------------


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


def _add(ledger: UsageLog, *, day: str = "2026-01-01", stage: str = "map", failed: int = 0) -> None:
    usage = Usage(calls=1, prompt_tokens=10, cached_tokens=4, completion_tokens=2, cost=0.5)
    ledger.add(day=day, stage=stage, model="m", usage=usage, failed=failed)


def test_calls_add_up_by_day_stage_and_model(library: Library, ledger: UsageLog) -> None:
    _add(ledger)
    _add(ledger, failed=1)
    _add(ledger, stage="answers")
    _add(ledger, day="2026-01-02")
    rows = UsageLog(library).rows()
    assert [(row.day, row.stage, row.calls, row.failed) for row in rows] == [
        ("2026-01-01", "answers", 1, 0),
        ("2026-01-01", "map", 2, 1),
        ("2026-01-02", "map", 1, 0),
    ]
    assert rows[1] == StageUsage(
        stage="map",
        model="m",
        calls=2,
        prompt_tokens=20,
        cached_tokens=8,
        completion_tokens=4,
        cost=1.0,
        failed=1,
        day="2026-01-01",
    )
    assert UsageLog(library).spent_by_others("2026-01-01") == Usage(
        calls=3, prompt_tokens=30, cached_tokens=12, completion_tokens=6, cost=1.5
    )
    assert ledger.spent_by_others("2026-01-01") == Usage()


def test_what_another_process_spends_is_known_and_what_this_one_does_is_not_counted_twice(
    library: Library, ledger: UsageLog
) -> None:
    other, later = UsageLog(library), {"day": "2026-01-02"}
    for one in (ledger, other, other):
        _add(one)
        _add(one, **later)
    assert [one.spent_by_others("2026-01-02").calls for one in (ledger, other)] == [2, 1]
    with library.write():  # what waits in memory is this one's own
        _add(other, **later)
        assert other.spent_by_others("2026-01-02").calls == 1
    other.close()
    assert [one.spent_by_others("2026-01-02").calls for one in (ledger, other)] == [3, 1]


def test_a_call_is_booked_though_its_caller_fails(library: Library, ledger: UsageLog) -> None:
    with pytest.raises(RuntimeError), library.write():
        _add(ledger)
        raise RuntimeError
    _add(ledger, day="2026-01-02")
    ledger.close()
    assert UsageLog(library).spent_by_others("2026-01-01").calls == 1


def test_a_busy_library_keeps_nobody_waiting_and_loses_nothing(
    library: Library, ledger: UsageLog
) -> None:
    with library.write():
        began = time.monotonic()
        for _ in range(5):
            _add(ledger)
        assert not ledger.cache_reply("key", "text", usage=Usage(), asked_in=0)
        assert time.monotonic() - began < 2
    ledger.close()
    assert UsageLog(library).spent_by_others("2026-01-01").calls == 5
    assert ledger.cached_reply("key") is None


def test_threads_lose_no_call(library: Library, ledger: UsageLog) -> None:
    with ThreadPoolExecutor(4) as pool:
        for _ in range(40):
            pool.submit(_add, ledger)
    ledger.close()
    assert UsageLog(library).spent_by_others("2026-01-01").calls == 40


def _change(library: Library) -> None:
    from engine.storage.graph_api import write_state

    with library.write() as connection:
        write_state(connection, "generation", str(UsageLog(library).generation() + 1))


def test_answers_are_kept_until_the_library_changes(library: Library, ledger: UsageLog) -> None:
    assert ledger.cache_reply("key", "一个 answer", usage=Usage(prompt_tokens=3), asked_in=0)
    assert ledger.cache_reply("key", "another", usage=Usage(), asked_in=0)
    assert UsageLog(library).cached_reply("key") == "another"
    _change(library)
    assert ledger.cached_reply("key") is None
    assert not ledger.cache_reply("key", "asked before", usage=Usage(), asked_in=0)
    assert library.counts()["replies"] == 0


def test_what_was_answered_before_can_be_deleted_with_the_documents(
    library: Library, ledger: UsageLog
) -> None:
    ledger.cache_reply("key", "text", usage=Usage(), asked_in=0)
    with library.write() as connection:
        drop_stale_replies(connection)
    assert library.counts()["replies"] == 1
    _change(library)
    with library.write() as connection:
        drop_stale_replies(connection)
    assert library.counts()["replies"] == 0


def test_an_error_that_is_not_ours_is_not_taken_for_an_answer() -> None:
    assert isinstance(_as_ours(TypeError("choices")), ModelOutputError)


# --- what a provider keeps of prompts -------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "reported"),
    [
        pytest.param(
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            ProviderUsage(prompt_tokens=9, completion_tokens=1, cached=4),
            id="OpenAI",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4},
            ProviderUsage(prompt_tokens=9, completion_tokens=1, cached=4),
            id="DeepSeek",
        ),
        pytest.param(
            {
                "input_tokens": 2,
                "output_tokens": 1,
                "cache_read_input_tokens": 4,
                "cache_creation_input_tokens": 3,
            },
            ProviderUsage(prompt_tokens=9, completion_tokens=1, cached=4, written=3),
            id="Anthropic, beside the prompt",
        ),
        pytest.param(
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 99},
            },
            ProviderUsage(prompt_tokens=9, completion_tokens=1, cached=9),
            id="more than there were",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None},
            ProviderUsage(prompt_tokens=9, completion_tokens=1),
            id="none",
        ),
    ],
)
def test_what_a_provider_had_kept_is_read_from_its_usage(
    usage: dict[str, Any], reported: ProviderUsage
) -> None:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse

    response = ChatResponse(message=ChatMessage(content="x"), raw={"usage": usage})
    assert usage_from_response(response) == reported


def test_kept_tokens_have_prices_of_their_own_where_there_are_any() -> None:
    price = Price(prompt=4.0, completion=2.0, cached=0.4, written=5.0)
    assert price.of(1_000_000, 0, cached=250_000, written=250_000) == 2.0 + 0.1 + 1.25
    assert price.at_most(1_000_000, 0) == 5.0
    assert Price(prompt=4.0).of(1_000_000, 0, cached=500_000) == 4.0


def test_only_anthropics_models_are_told_to_keep_instructions() -> None:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.llms import MockLLM

    class Anthropic(MockLLM):
        """Named as LlamaIndex's is."""

    messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(content="Who?")]
    kept = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    assert marked_instructions(Anthropic(), messages) == {"extra_body": {"system": [kept]}}
    assert marked_instructions(Anthropic(), messages[1:]) == {}
    assert marked_instructions(MockLLM(), messages) == {}
