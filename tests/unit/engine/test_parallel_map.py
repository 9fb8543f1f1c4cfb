from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from engine.concurrency import parallel_map


def test_every_item_is_worked_on_once_and_only_so_many_at_a_time() -> None:
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(3)  # nobody goes on before there are three

    def work(item: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(timeout=60)
        with lock:
            running -= 1
        return item * item

    assert sorted(parallel_map(range(21), work, workers=3)) == [n * n for n in range(21)]
    assert most == 3


def test_items_are_taken_only_when_there_is_room() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = parallel_map(items(), lambda n: n, workers=2)
    next(results)
    assert len(taken) <= 4


def test_what_the_work_raises_comes_out() -> None:
    def work(item: int) -> int:
        raise KeyError(item)

    with pytest.raises(KeyError):
        list(parallel_map([1], work, workers=2))


def test_nothing_to_do_gives_nothing() -> None:
    assert list(parallel_map([], str, workers=4)) == []
