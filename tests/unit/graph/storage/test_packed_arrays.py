"""The picture that searches walk over, kept in files and read again."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.storage import files as held_view
from engine.storage.files import delete_kept_rows, load_snapshot
from engine.storage.graph_api import Chunk, put_chunks
from engine.storage.library import Library
from graph.errors import GraphInputError
from graph.search.packed_rows import (
    Rows,
    SortedMapping,
    Splice,
    StringTable,
    pack_rows,
    widen_table,
)
from graph.search.snapshot import WalkSnapshot
from graph.search.walk import rank_by_walk
from graph.search.walk_path import explain_path
from graph.storage import packed_arrays as walk_file
from graph.storage.packed_arrays import load_view, save_view, view_stamp

ODD = ["", "a", "b", "刘备", "naïve", "\x00x", "😀 line\nbreak", "\ud800"]
labels = st.sampled_from(["e1", "e2", "刘备", "naïve café", "z"])
rows = st.lists(
    st.tuples(
        st.one_of(st.just(""), labels),
        st.lists(labels, max_size=4, unique=True).map(lambda some: tuple(sorted(some))),
        st.lists(labels, max_size=2, unique=True).map(lambda some: tuple(sorted(some))),
    ),
    max_size=8,
)


def _view(passages: list[tuple[str, tuple[str, ...], tuple[str, ...]]]) -> WalkSnapshot:
    return WalkSnapshot(
        chunk_ids=tuple(f"c{row}" for row in range(len(passages))),
        documents=tuple(f"d{row // 2}" for row in range(len(passages))),
        titles=tuple(title for title, _, _ in passages),
        labels=tuple(some for _, some, _ in passages),
        display={"e2": "Ada Brine", "e1": "Gull Quay", "刘备": "刘备"},
        introduced=tuple(some for _, _, some in passages),
        shortened=tuple(some[:1] for _, _, some in reversed(passages)),
    )


def _plain(value: object) -> object:
    """Values as plain ones, whatever collection they stand in."""
    if hasattr(value, "toarray"):
        return value.toarray().tolist(), str(value.dtype)
    if isinstance(value, np.ndarray):
        return value.tolist(), str(value.dtype)
    if hasattr(value, "keys"):
        return {key: _plain(value[key]) for key in value}
    if isinstance(value, (tuple, list, Rows)):
        return [_plain(each) for each in value]
    return value


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows)
def test_what_was_kept_is_what_was_built(tmp_path: Path, passages) -> None:
    folder = tmp_path / "kept"
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    built = _view(passages)
    save_view(built, folder)
    loaded = load_view(folder)
    for field in fields(built):
        assert _plain(getattr(loaded, field.name)) == _plain(getattr(built, field.name)), field.name
    assert "walk_graph" in vars(loaded)  # not built again
    for field in fields(built.walk_graph):
        kept, made = (getattr(view.walk_graph, field.name) for view in (loaded, built))
        assert _plain(kept) == _plain(made), field.name
    assert _plain(loaded.walk_graph.incoming) == _plain(built.walk_graph.incoming)


def test_a_kept_graph_walks_to_the_same_bits(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    names = [f"e{number}" for number in range(30)]
    passages = [
        (
            str(random.choice([*names, ""])),
            tuple(sorted(set(random.choice(names, 5).tolist()))),
            tuple(random.choice(names, 1).tolist()),
        )
        for _ in range(60)
    ]
    built = _view(passages)
    save_view(built, tmp_path)
    loaded = load_view(tmp_path)
    scores = random.random(60)
    asked = ["e3", "e7", "unknown"]
    before, after = (rank_by_walk(view.walk_graph, scores, asked) for view in (built, loaded))
    assert before.mass.tobytes() == after.mass.tobytes()
    assert before.order.tolist() == after.order.tolist()
    assert before.named == after.named
    for row in before.order[:20].tolist():
        ways = [explain_path(view.walk_graph, row, before.seeds) for view in (built, loaded)]
        assert ways[0] == ways[1]
    assert loaded.only([3, 5]).labels == built.only([3, 5]).labels


def test_strings_of_any_script_come_out_as_they_went_in() -> None:
    table = StringTable.of(ODD)
    assert list(table) == ODD
    assert [table[number] for number in range(len(ODD))] == ODD
    assert (table[-1], table[1:3]) == (ODD[-1], ODD[1:3])
    with pytest.raises(IndexError):
        table[len(ODD)]


def test_packed_rows_are_sorted_and_without_repeats() -> None:
    (held,) = pack_rows([("b", "a", "b"), frozenset({"c", "", "a"}), ()])
    assert held == [("a", "b"), ("a", "c"), ()]
    assert [held[row] for row in range(3)] == list(held)
    assert held[1:] == [("a", "c"), ()]


def test_rows_are_spliced_over_a_wider_table() -> None:
    (held,) = pack_rows([("b", "d"), (), ("d",)])
    table, places = widen_table(held.table, ["a", "c", "d", "e"])
    assert (table, places.tolist()) == (["a", "b", "c", "d", "e"], [1, 3])
    (more,) = pack_rows([("e", "c"), ("a",)], table=table)
    order = np.array([0, 3, 4, 2])
    assert held.renumbered(places, table).spliced(order, more) == [
        ("b", "d"), ("c", "e"), ("a",), ("d",),
    ]  # fmt: skip


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3)),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), min_size=1),
)
def test_documents_are_spliced_into_their_places(
    held: dict[str, int], replaced: dict[str, int]
) -> None:
    old = [f"{one}{part}" for one in sorted(held) for part in range(held[one])]
    new = [f"{one}{part}*" for one in sorted(replaced) for part in range(replaced[one])]
    wanted = sorted([row for row in old if row[0] not in replaced] + new)
    splice = Splice.of([row[0] for row in old], [row[0] for row in new], replaced)
    assert splice.joined(old, new) == wanted
    assert [(old + new)[row] for row in splice.order] == wanted
    for row, place in zip(old + new, splice.moved, strict=True):
        assert (wanted[place] == row) if place >= 0 else row not in wanted


def test_a_mapping_over_sorted_keys_finds_each_and_nothing_else() -> None:
    keys = sorted(ODD[:-1])
    held = SortedMapping(StringTable.of(keys), lambda number: number)
    assert dict(held) == {key: number for number, key in enumerate(keys)}
    assert "c" not in held
    assert held.get("~", -1) == -1


def test_a_field_that_cannot_be_kept_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        GraphInputError, match="cannot store 'view-x' in a file: unsupported type float"
    ):
        walk_file._saved(0.5, tmp_path / "view-x", {})


# --- in a library ---------------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(held_view, "KEPT_FROM_CHUNKS", 2)
    held = Library(tmp_path / "library")
    yield held
    held.close()


def _put(library: Library, *names: str, text: str = "x") -> None:
    values = [
        Chunk(id=name, document_id=name, title="", text=text, start=0, end=len(text))
        for name in names
    ]
    with library.write() as connection:
        put_chunks(connection, values)


def _opened(library: Library) -> WalkSnapshot:
    with library.read() as connection:
        return load_snapshot(connection, library.path / "derived")


def _kept(library: Library) -> list[str]:
    return sorted(folder.name for folder in (library.path / "derived").glob("walk-*"))


def test_a_small_library_keeps_no_file(library: Library) -> None:
    _put(library, "a")
    assert _opened(library).chunk_ids == ("a",)
    assert _kept(library) == []


def test_an_unchanged_library_is_not_read_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(library, "a", "b")
    assert _opened(library).chunk_ids == ("a", "b")
    (folder,) = _kept(library)
    monkeypatch.setattr(held_view, "read_view", None)  # calling it would fail
    assert _opened(library).chunk_ids == ("a", "b")
    assert _kept(library) == [folder]


def test_a_change_makes_another_file_and_removal_leaves_none(library: Library) -> None:
    _put(library, "a", "b")
    _opened(library)
    (before,) = _kept(library)
    _put(library, "c")
    assert _opened(library).chunk_ids == ("a", "b", "c")
    (after,) = _kept(library)
    assert after != before
    delete_kept_rows(library.path / "derived")
    assert _kept(library) == []


def test_the_stamp_tells_libraries_apart_that_count_alike(tmp_path: Path) -> None:
    stamps = set()
    for folder, text in (("one", "x"), ("two", "y"), ("three", "y")):
        library = Library(tmp_path / folder)
        _put(library, "a", "b", text=text)
        with library.read() as connection:
            stamps.add(view_stamp(connection))
        library.close()
    assert len(stamps) == 2


def test_a_damaged_file_is_made_anew(library: Library) -> None:
    _put(library, "a", "b")
    _opened(library)
    (folder,) = _kept(library)
    (library.path / "derived" / folder / "plan.json").write_text("{}", encoding="utf8")
    assert _opened(library).chunk_ids == ("a", "b")


def test_without_room_for_files_it_is_built_in_memory(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    _put(library, "a", "b")
    monkeypatch.setattr(held_view, "save_view", full)
    assert _opened(library).chunk_ids == ("a", "b")
    assert _kept(library) == []
