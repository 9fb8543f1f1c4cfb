"""Work in a thread of its own, as a stream: order, errors, room, and readers that go away."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from engine.concurrency import (
    CancelScope,
    WorkCancelled,
    astream_from_thread,
    raise_if_cancelled,
    run_in_thread,
    stream_from_thread,
    wait_cancellable,
)
from engine.events import Listener, TokensEvent

ROOM = 4
_own: contextvars.ContextVar[str] = contextvars.ContextVar("of the reader", default="nobody's")


def counting(count: int, ended: list[object]) -> object:
    """Work that tells so many numbers, and notes how it ended."""

    def work(on_event: Listener) -> None:
        try:
            for number in range(count):
                on_event(TokensEvent(text=str(number)))
        except BaseException as error:
            ended.append(type(error))
            raise
        ended.append("done")

    return work


def test_all_that_is_told_comes_out_in_its_order_however_little_room_there_is() -> None:
    ended: list[object] = []
    events = list(stream_from_thread(counting(100, ended), ahead=ROOM))
    assert [event.text for event in events] == [str(number) for number in range(100)]
    assert ended == ["done"]


def test_the_work_waits_for_a_reader_when_the_room_is_full() -> None:
    told = threading.Semaphore(0)

    def work(on_event: Listener) -> None:
        for number in range(ROOM + 2):
            on_event(TokensEvent(text=str(number)))
            told.release()

    stream = stream_from_thread(work, ahead=ROOM)
    next(stream)
    for _ in range(ROOM):
        assert told.acquire(timeout=60)
    assert len(list(stream)) == ROOM + 1


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_what_the_work_raises_comes_after_what_it_told(error: BaseException) -> None:
    def work(on_event: Listener) -> None:
        on_event(TokensEvent(text="before"))
        raise error

    heard = []
    with pytest.raises(type(error)):
        for event in stream_from_thread(work):
            heard.append(event)  # noqa: PERF402  # what came before counts
    assert [event.text for event in heard] == ["before"]


@pytest.mark.parametrize("count", [ROOM, 1_000], ids=["waiting", "telling"])
def test_who_stops_reading_gives_the_work_up(count: int) -> None:
    ended: list[object] = []
    over = threading.Event()

    def work(on_event: Listener) -> None:
        try:
            counting(count, ended)(on_event)
            wait_cancellable(60)  # as for a model's answer
        finally:
            over.set()

    stream = stream_from_thread(work, ahead=ROOM)
    next(stream)
    stream.close()
    assert over.wait(60)
    assert ended in (["done"], [WorkCancelled])


def test_a_stream_that_is_read_to_its_end_gives_up_nothing_around_it() -> None:
    outer = CancelScope()

    def inside() -> str:
        list(stream_from_thread(counting(3, []), ahead=ROOM))
        stream = stream_from_thread(counting(30, []), ahead=ROOM)
        next(stream)
        stream.close()
        raise_if_cancelled()
        return "goes on"

    assert outer.bound(inside)() == "goes on"


def test_a_stream_ends_with_the_work_that_it_is_part_of() -> None:
    outer, begun, over = CancelScope(), threading.Event(), threading.Event()

    def work(on_event: Listener) -> None:
        begun.set()
        try:
            wait_cancellable(60)
        finally:
            over.set()

    def read() -> None:
        with pytest.raises(WorkCancelled):
            list(stream_from_thread(work))

    reader = threading.Thread(target=outer.bound(read))
    reader.start()
    assert begun.wait(60)
    outer.give_up()
    assert over.wait(60)
    reader.join(60)
    assert not reader.is_alive()


def test_the_work_is_done_in_the_context_of_its_reader() -> None:
    def work(on_event: Listener) -> None:
        on_event(TokensEvent(text=_own.get()))

    _own.set("mine")
    assert [event.text for event in stream_from_thread(work)] == ["mine"]


def test_an_event_loop_reads_the_same_and_goes_on_meanwhile() -> None:
    async def main() -> list[str]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0)
                beats += 1

        beating = asyncio.create_task(beat())
        told = [event.text async for event in astream_from_thread(counting(200, []), ahead=ROOM)]
        beating.cancel()
        assert beats
        return told

    assert asyncio.run(main()) == [str(number) for number in range(200)]


def test_what_is_awaited_is_returned_or_raised_and_given_up_when_cancelled() -> None:
    over = threading.Event()

    def wait() -> None:
        try:
            wait_cancellable(60)
        finally:
            over.set()

    def fail() -> None:
        raise ValueError("no")

    async def main() -> None:
        assert await run_in_thread(lambda: 7) == 7
        with pytest.raises(ValueError, match="no"):
            await run_in_thread(fail)
        task = asyncio.create_task(run_in_thread(wait))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert over.wait(60)


def test_a_loop_that_is_gone_gives_the_work_up() -> None:
    ended: list[object] = []
    over = threading.Event()
    begin = threading.Event()

    def work(on_event: Listener) -> None:
        begin.wait(60)
        try:
            counting(1_000, ended)(on_event)
        finally:
            over.set()

    loop = asyncio.new_event_loop()
    stream = astream_from_thread(work, ahead=ROOM)
    task = loop.create_task(anext(stream))  # type: ignore[arg-type]  # it is a coroutine
    loop.run_until_complete(asyncio.sleep(0.01))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    begin.set()
    assert over.wait(60)
    assert ended == [WorkCancelled]
