"""The server's parts by themselves: limits of rate, time and size, cursors, names, lanes, jobs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from engine.api import schemas as cursors
from engine.api.app import HeadMiddleware
from engine.api.auth import (
    AuthMiddleware,
    Principal,
    RateLimit,
    TokenStore,
    host_name,
    is_loopback,
    time_after,
)
from engine.api.errors import Problem
from engine.api.jobs import Job, Jobs, safe_name
from engine.api.limits import RequestLimits, ThreadLimiter
from engine.api.routes.chat_completions import (
    ChatRequest,
    Message,
    chat_pieces,
    stream_ending,
    turns_in,
)
from engine.api.text_limits import TextLimit
from engine.config import ServeSettings
from engine.errors import SettingsError
from engine.events import CitationsEvent, Event, TokensEvent, closing_events
from engine.types import Answer, Citation, IngestReport, Passage, ShortAnswer, Turn

# --- rate ---------------------------------------------------------------------------------------


def test_a_bucket_refills_and_each_caller_has_one() -> None:
    now = [0.0]
    rate = RateLimit(60, clock=lambda: now[0])
    assert [rate.wait_seconds("a") for _ in range(60)] == [0.0] * 60
    assert rate.wait_seconds("a") == pytest.approx(1.0)
    assert rate.wait_seconds("b") == 0.0
    now[0] = 2.0
    assert [rate.wait_seconds("a") > 0 for _ in range(3)] == [False, False, True]


def test_no_limit_is_no_limit() -> None:
    rate = RateLimit(None, clock=lambda: 0.0)
    assert not any(rate.wait_seconds("a") for _ in range(1_000))


# --- names and cursors --------------------------------------------------------------------------


@given(st.text())
@example('0.0000000¡¡¡¡¡"¡')  # its suffix is cut behind a blank
def test_a_safe_name_is_one_harmless_part_of_a_path(name: str) -> None:
    try:
        found = safe_name(name)
    except Problem as problem:
        assert problem.status_code == 422
        return
    assert Path(found).name == found
    assert found not in (".", "..")
    assert not found.startswith(".")
    assert not set(found) & set('\\/:*?"<>|\x00')
    assert found.isprintable()
    assert len(found.encode()) <= 200
    assert safe_name(found) == found


@given(st.one_of(st.text(), st.tuples(st.text(), st.integers(0, 2**31 - 1))))
def test_a_cursor_says_where_it_was_and_fits_no_other_list(place: str | tuple[str, int]) -> None:
    cursor = cursors.encode_cursor("documents", place)
    ways = [cursors.place_in, cursors.place_and_end_in]
    read, other = ways if isinstance(place, str) else reversed(ways)
    assert read("documents", cursor) == place
    for kind, way in (("entities", read), ("documents", other)):
        with pytest.raises(Problem, match="cursor"):
            way(kind, cursor)


@given(st.text())
def test_a_made_up_cursor_is_refused_or_reads_as_a_place(cursor: str) -> None:
    try:
        assert isinstance(cursors.place_in("documents", cursor), str)
    except Problem as problem:
        assert problem.status_code == 422


# --- who and where ------------------------------------------------------------------------------


def test_rights_are_for_namespaces() -> None:
    one = Principal(id="1", name="one", reads=frozenset({"a"}), writes=frozenset({"b", ""}))
    assert one.within(None) == frozenset({"a", "b", ""})
    assert one.within("b") == "b"
    assert [one.may_write(each) for each in ("a", "b", "", "c")] == [False, True, True, False]
    for namespace in ("c", "A", "a "):
        with pytest.raises(Problem, match="no read access"):
            one.within(namespace)
    everything = Principal(id="2", name="two", writes=None)
    assert everything.within(None) is None
    assert not everything.is_admin


@pytest.mark.parametrize(
    ("host", "name", "loopback"),
    [
        ("127.0.0.1:80", "127.0.0.1", True),
        ("LOCALHOST", "localhost", True),
        ("[::1]:80", "[::1]", True),
        ("::1", "::1", True),
        ("example.org:1:2", "example.org:1:2", False),
        ("0.0.0.0", "0.0.0.0", False),  # noqa: S104
        ("127.0.0.1.evil.example", "127.0.0.1.evil.example", False),
        ("localhost.evil.example", "localhost.evil.example", False),
    ],
)
def test_only_this_machine_is_this_machine(host: str, name: str, loopback: bool) -> None:
    assert host_name(host) == name
    assert is_loopback(name) is loopback


# --- lanes --------------------------------------------------------------------------------------


def test_a_lane_runs_so_many_and_lets_so_many_wait() -> None:
    async def scenario() -> None:
        lane, go = ThreadLimiter("test", at_once=1, waiting=1), threading.Event()
        first = asyncio.create_task(lane.run(go.wait))
        second = asyncio.create_task(lane.run(lambda: "second"))
        await asyncio.sleep(0.01)
        with pytest.raises(Problem, match="are waiting"):
            await lane.run(lambda: "third")
        first.cancel()  # its thread goes on, and keeps the place
        await asyncio.sleep(0.01)
        assert (lane.running, second.done()) == (1, False)
        go.set()
        assert await second == "second"
        assert lane.running == 0
        lane.close()

    asyncio.run(scenario())


# --- time ---------------------------------------------------------------------------------------


def answered(app: Any, *, seconds: float) -> list[dict[str, Any]]:
    """What is sent for one request through `RequestLimits`."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    flow = RequestLimits(
        app,
        max_body_bytes=10,
        max_upload_bytes=10,
        stall_timeout_seconds=5,
        answer_timeout_seconds=seconds,
    )
    scope = {"type": "http", "path": "/v1/x", "headers": [], "method": "GET"}
    asyncio.run(flow(scope, receive, send))  # type: ignore[arg-type]  # a plain dict is a scope
    return sent


def test_an_answer_that_does_not_begin_in_time_is_a_problem() -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    assert answered(never, seconds=0.02)[0]["status"] == 504


def test_an_answer_that_has_begun_may_take_its_time() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        await asyncio.sleep(0.1)
        await send({"type": "http.response.body", "body": b"x"})

    assert [each.get("status") for each in answered(slow, seconds=0.02)] == [200, None]


# --- jobs ---------------------------------------------------------------------------------------


def job(name: str, *sources: str) -> Job:
    return Job(id=name, kind="add", namespace="", sources=sources)


def until_over(jobs: Jobs, job_id: str) -> Job:
    jobs.close(seconds=60)
    found = jobs.get(job_id)
    assert found is not None
    return found


def test_work_that_is_sent_twice_is_done_once_unless_something_came_between() -> None:
    jobs, go = Jobs(None, most_waiting=10), threading.Event()
    done: list[str] = []

    def work(name: str) -> Any:
        def run(_progress: Any) -> IngestReport:
            go.wait(60)
            done.append(name)
            return IngestReport()

        return run

    jobs.submit(job("busy", "other"), work("busy"))
    one = jobs.submit(job("one", "a"), work("one"))
    assert jobs.submit(job("one", "a"), work("again")) == one
    two = jobs.submit(job("two", "a"), work("two"))
    third = jobs.submit(job("one", "a"), work("third"))
    assert (two.id, third.id) == ("two", "one-2")
    go.set()
    for each in ("busy", "one", "two", "one-2"):
        while not (found := jobs.get(each)) or not found.is_over:
            threading.Event().wait(0.01)
    jobs.close()
    assert done == ["busy", "one", "two", "third"]


def test_a_job_that_fails_says_so_and_the_next_is_done() -> None:
    jobs = Jobs(None, most_waiting=10)
    jobs.submit(job("bad", "a"), lambda _: {}["nothing"])  # type: ignore[index]
    jobs.submit(job("good", "b"), lambda _: IngestReport())
    while (found := jobs.get("good")) is None or not found.is_over:
        threading.Event().wait(0.01)
    bad = until_over(jobs, "bad")
    assert (bad.state, bad.error) == ("failed", "the server failed at this; its log says more")
    assert found.state == "done"


def test_more_jobs_than_may_wait_are_refused() -> None:
    jobs, go = Jobs(None, most_waiting=1), threading.Event()
    discarded: list[str] = []

    def wait(_progress: Any) -> IngestReport:
        go.wait(60)
        return IngestReport()

    jobs.submit(job("a", "a"), wait)
    while jobs.counts()["running"] == 0:
        threading.Event().wait(0.01)
    jobs.submit(job("b", "b"), wait)
    with pytest.raises(Problem, match="are waiting"):
        jobs.submit(job("c", "c"), wait, after=lambda _state: discarded.append("c"))
    assert discarded == ["c"]
    go.set()
    assert until_over(jobs, "a").state == "done"


# --- OpenAI's protocol --------------------------------------------------------------------------


def passage(number: int) -> Passage:
    name = f"d{number}"
    return Passage(
        text="x", score=1, relevance=1, document_id=name, chunk_id=name, title=name, start=0, end=1
    )


def citation(number: int, document: str) -> Citation:
    return Citation(
        number=number, document_id=document, chunk_id="c", title=document, quote="x", start=0, end=1
    )


def test_a_stream_ends_with_the_sources_of_the_marks_that_were_said() -> None:
    event = CitationsEvent(text="It is so [1].", citations=(citation(1, "d3"),), abstained=False)
    passages = [passage(number) for number in (1, 2, 3)]
    assert stream_ending("It is so [3].", passages, event) == "\n\nSources\n[3] d3 (d3:0-1)"
    assert stream_ending("It is so.", passages, event) == ""


def test_a_text_that_reads_otherwise_after_checking_is_sent_again() -> None:
    event = CitationsEvent(text="It is [1].", citations=(citation(1, "d1"),), abstained=False)
    rest = stream_ending("It is. And it is not.", [passage(1)], event)
    assert rest.endswith("the answer reads:\n\nIt is [1].\n\nSources\n[1] d1 (d1:0-1)")


# --- conversations ------------------------------------------------------------------------------


def test_messages_before_the_last_question_are_turns() -> None:
    told = [
        ("system", "Be brief."),
        ("assistant", "How can I help?"),
        ("user", "Who lit it?"),
        ("tool", "{}"),
        ("assistant", "Bob.\n\n— Checked against its sources, the answer reads:\n\nAda. [1]"),
        ("user", [{"type": "text", "text": "When?"}, {"type": "image_url"}]),
        ("user", "And where?"),
        ("assistant", "a beginning of the answer"),
    ]
    messages = [Message.model_validate({"role": role, "content": said}) for role, said in told]
    assert turns_in(messages) == [Turn("Who lit it?", "Ada. [1]"), Turn("When?")]
    assert turns_in(messages[:3]) == []


@pytest.mark.parametrize(
    ("sent", "effort"),
    [
        pytest.param({}, None, id="none said"),
        pytest.param({"reasoning_effort": None}, None, id="null"),
        pytest.param({"reasoning_effort": "minimal"}, "low", id="OpenAI's own"),
        pytest.param({"reasoning_effort": "xhigh"}, "medium", id="OpenAI's highest"),
        pytest.param({"reasoning_effort": "high"}, "medium", id="more than we read"),
        pytest.param({"effort": "medium"}, "medium", id="ours"),
    ],
)
def test_a_chat_clients_effort_is_the_nearest_of_ours(
    sent: dict[str, object], effort: str | None
) -> None:
    messages = [{"role": "user", "content": "?"}]
    assert ChatRequest.model_validate({"messages": messages, **sent}).effort == effort


# --- tokens that expire, and HEAD ---------------------------------------------------------------

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def asked(app: ASGIApp, method: str, path: str, token: str = "") -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers={"Authorization": f"Bearer {token}"})

    return asyncio.run(send())


def test_a_token_counts_until_its_time_is_up(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "tokens.json")
    over = time_after("90d", NOW)
    _, short = tokens.create("short", reads=["*"], expires=over)
    _, endless = tokens.create("endless", reads=["*"])
    assert [row.expires for row in TokenStore(tokens.file).rows()] == [over, None]

    def status(token: str, now: datetime) -> tuple[int, str]:
        gate = AuthMiddleware(
            PlainTextResponse("let in"),
            settings=ServeSettings(),
            tokens=tokens,
            rate=RateLimit(None, clock=lambda: 0.0),
            now=lambda: now,
        )
        answer = asked(gate, "GET", "/v1/stats", token)
        return answer.status_code, answer.text

    assert status(short, over - timedelta(seconds=1)) == status(endless, over) == (200, "let in")
    refused, said = status(short, over)
    assert refused == 401
    assert "has expired" in said


@pytest.mark.parametrize("wrong", ["", "90", "d", "0d", "-1d", "1.5h", "99999999d", "9999999w"])
def test_a_time_that_no_token_can_last_is_refused_in_a_line(wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"90d|lifetime too long"):
        time_after(wrong, NOW)


def test_head_is_get_without_its_body() -> None:
    app = Starlette(routes=[Route("/v1/thing", lambda _: PlainTextResponse("words"))])
    got, head = (
        asked(HeadMiddleware(app, apart="/mcp"), method, "/v1/thing") for method in ("GET", "HEAD")
    )
    assert (head.status_code, head.headers, head.content) == (200, got.headers, b"")
    assert asked(HeadMiddleware(app, apart="/mcp"), "HEAD", "/v1/none").status_code == 404


# --- limits of a chat's text ----------------------------------------------------------------------


@given(st.lists(st.text("ab c\n", max_size=6)), st.lists(st.text("ab c", min_size=1), max_size=3))
def test_a_text_ends_before_its_first_stop_however_it_is_cut(
    pieces: list[str], stops: list[str]
) -> None:
    limit = TextLimit(stops, max_tokens=None, count=len)
    passed = "".join(map(limit.take, pieces)) + limit.rest()
    text = "".join(pieces)
    assert text.startswith(passed)
    assert not any(stop in passed for stop in stops)
    if not any(stop in text for stop in stops):
        assert passed == text


def test_a_text_ends_at_a_word_where_its_tokens_do() -> None:
    limit = TextLimit([], max_tokens=3, count=lambda text: len(text.split()))
    assert [limit.take(each) for each in ("one two", " three four", " five")] == [
        "one two",
        " three",
        "",
    ]
    assert limit.finish == "length"


def test_a_short_answer_stands_first_in_a_chat_streamed_or_not() -> None:
    brief = ShortAnswer(text="Ada Brine", kind="span", confidence=0.99)
    answer = Answer(question="Who?", text="Ada did.", mode="local", short=brief)

    async def streamed(*texts: str) -> str:
        async def told() -> AsyncGenerator[Event]:
            for text in texts:
                yield TokensEvent(text=text)
            for event in closing_events(answer):
                yield event

        return "".join([each async for each in chat_pieces(told()) if isinstance(each, str)])

    assert asyncio.run(streamed("Ada did.")).startswith("Ada Brine\n\nAda did.")
    assert asyncio.run(streamed()).startswith("Ada Brine\n\nAda did.")
    assert asyncio.run(streamed("Ada ", "did.")) == "Ada did."
