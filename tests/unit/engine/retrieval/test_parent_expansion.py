from __future__ import annotations

from collections.abc import Sequence

from engine.retrieval.parents import expand_to_parents
from engine.storage.graph_api import Chunk

TEXT = "".join(f"{number:02}," for number in range(40))


def chunk(number: int, *, read: tuple[int, int] | None = None, document: str = "d") -> Chunk:
    start = 3 * number
    return Chunk(
        id=f"c{number}",
        document_id=document,
        title="T",
        text=TEXT[start : start + 3],
        start=start,
        end=start + 3,
        read=read,
    )


def read(
    held: dict[int, Chunk], rows: Sequence[int], *, limit: int = 10
) -> list[tuple[int, int, int]]:
    found = expand_to_parents(
        rows,
        limit=limit,
        chunks=lambda some: {row: held[row] for row in some if row in held},
        text=lambda _document, start, end: TEXT[start:end],
    )
    assert all(each.text == TEXT[each.start : each.end] for each in found)
    return [(each.row, each.start, each.end) for each in found]


def test_a_chunk_is_read_as_it_is_where_it_says_no_more() -> None:
    held = {row: chunk(row) for row in range(4)}
    assert read(held, [2, 0]) == [(2, 6, 9), (0, 0, 3)]


def test_the_wider_span_is_read_once() -> None:
    held = {row: chunk(row, read=(0, 12)) for row in range(4)} | {7: chunk(7)}
    assert read(held, [3, 1, 7, 0]) == [(3, 0, 12), (7, 21, 24)]


def test_the_same_span_of_another_document_is_another() -> None:
    held = {0: chunk(0, read=(0, 9)), 1: chunk(0, read=(0, 9), document="e")}
    assert read(held, [0, 1]) == [(0, 0, 9), (1, 0, 9)]


def test_the_list_is_filled_from_further_down() -> None:
    held = {row: chunk(row, read=(0, 30)) for row in range(10)} | {20: chunk(20), 21: chunk(21)}
    assert [row for row, *_ in read(held, [*range(10), 20, 21], limit=3)] == [0, 20, 21]


def test_a_row_that_is_gone_is_passed_over() -> None:
    assert read({1: chunk(1)}, [0, 1]) == [(1, 3, 6)]
