"""Search by cosine over the codes of a library's vectors, against brute force."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.storage import files as derived
from engine.storage.graph_api import Chunk, facts_generation, put_chunks, write_state
from engine.storage.library import Library, WindowVector, unit_length
from engine.storage.schema import vectors
from engine.storage.vectors import cache as held_vectors
from engine.storage.vectors import index as dense
from engine.storage.vectors import log as vector_log
from engine.storage.vectors.cache import (
    VectorBlock,
    VectorSegment,
    divide,
    followed_vectors,
    read_vectors,
)
from engine.storage.vectors.index import DenseIndex
from engine.storage.vectors.log import vector_stamp, vectors_changed_since

DIMENSION = 32
MODEL = "m"
Matrix = NDArray[np.float32]


@pytest.fixture
def library(tmp_path: Path):
    held = Library(tmp_path / "library")
    yield held
    held.close()


def _matrix(count: int, seed: int = 1) -> Matrix:
    random = np.random.default_rng(seed)
    centres = random.standard_normal((20, DIMENSION))
    found = centres[random.integers(0, 20, count)] + 0.6 * random.standard_normal(
        (count, DIMENSION)
    )
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def _put(library: Library, rows: dict[str, Matrix]) -> None:
    """Chunks by id, each with the vectors of its windows."""
    with library.write() as connection:
        put_chunks(
            connection,
            [Chunk(id=c, document_id=f"d{c}", title="", text="x", start=0, end=1) for c in rows],
        )
        library.put_vectors(
            [
                WindowVector(chunk_id=c, window=w, input_sha=f"{c}.{w}", vector=vector)
                for c, some in rows.items()
                for w, vector in enumerate(some)
            ],
            model=MODEL,
        )


def _chunks(matrix: Matrix, *, windows: int = 1, first: int = 0) -> dict[str, Matrix]:
    return {
        f"{first + number:05d}": matrix[number * windows : (number + 1) * windows]
        for number in range(len(matrix) // windows)
    }


def _brute(held: dict[str, Matrix], query: Matrix) -> dict[str, float]:
    return {chunk_id: float((some @ unit_length(query)).max()) for chunk_id, some in held.items()}


def _nearest(cosines: dict[str, float], count: int) -> list[str]:
    return sorted(cosines, key=lambda chunk_id: (-cosines[chunk_id], chunk_id))[:count]


def test_the_array_gives_each_chunk_its_cosine_and_the_rest_the_least(library: Library) -> None:
    held = _chunks(_matrix(300), windows=3)
    _put(library, held)
    index = DenseIndex(library, model=MODEL)
    ids = tuple(sorted(held, reverse=True))
    for query in _matrix(5, seed=2):
        truth = _brute(held, query)
        found = index.array(query, ids, depth=20)
        assert found is not None
        near = _nearest(truth, 20)
        floor = truth[near[-1]]
        expected = [max(truth[chunk_id], floor) for chunk_id in ids]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_array_counts_only_the_chunks_asked_for(library: Library) -> None:
    held = _chunks(_matrix(200))
    _put(library, held)
    index = DenseIndex(library, model=MODEL)
    query = _matrix(1, seed=3)[0]
    some = (*sorted(held)[50:90], "unknown")
    truth = _brute({chunk_id: held[chunk_id] for chunk_id in some[:-1]}, query)
    found = index.array(query, some, depth=1_000)
    assert found is not None
    np.testing.assert_allclose(found[:-1], [truth[c] for c in some[:-1]], atol=1e-6)
    assert found[-1] == min(found)
    assert index.array(query, ("unknown",), depth=5) is None
    assert index.scores(query, depth=5, within=set(some)).keys() == set(_nearest(truth, 5))


def test_a_library_without_vectors_finds_nothing(library: Library) -> None:
    index = DenseIndex(library, model=MODEL)
    query = _matrix(1)[0]
    assert index.scores(query, depth=5) == {}
    assert index.array(query, ("a",), depth=5) is None
    assert index.cosines(query, ["a"]) == {}
    _put(library, _chunks(_matrix(3)))
    assert len(index.scores(query, depth=5)) == 3


@pytest.mark.parametrize("worn_above", [0.0, 0.5, 100.0], ids=["merged", "some", "never"])
def test_after_any_changes_it_finds_what_a_new_index_finds(
    library: Library, monkeypatch: pytest.MonkeyPatch, worn_above: float
) -> None:
    monkeypatch.setattr(held_vectors, "WORN_ABOVE", worn_above)
    held = _chunks(_matrix(60), windows=2)
    _put(library, held)
    index = DenseIndex(library, model=MODEL)
    query = _matrix(1, seed=9)[0]
    index.scores(query, depth=5)
    random = np.random.default_rng(5)
    for step in range(12):
        match step % 3:
            case 0:
                some = _chunks(_matrix(6, seed=step), windows=2, first=100 + 3 * step)
                _put(library, some)
                held |= some
            case 1:
                gone = sorted(held)[int(random.integers(0, len(held)))]
                library.delete_vectors([gone])
                del held[gone]
            case _:  # the same text, another vector
                changed = sorted(held)[int(random.integers(0, len(held)))]
                held[changed] = _matrix(2, seed=100 + step)
                _put(library, {changed: held[changed]})
        fresh = DenseIndex(library, model=MODEL)
        assert index.search(query, top_k=8) == fresh.search(query, top_k=8)
        assert index.cosines(query, sorted(held)) == fresh.cosines(query, sorted(held))
        truth = _brute(held, query)
        assert [chunk_id for chunk_id, _ in index.search(query, top_k=8)] == _nearest(truth, 8)


def test_only_what_is_new_is_read(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(library, _chunks(_matrix(100)))
    index = DenseIndex(library, model=MODEL)
    query = _matrix(1)[0]
    index.scores(query, depth=3)
    asked: list[int] = []
    read = held_vectors._read

    def counted(connection, chunk_ids, *, model):
        asked.append(len(chunk_ids))
        return read(connection, chunk_ids, model=model)

    monkeypatch.setattr(held_vectors, "_read", counted)
    _put(library, _chunks(_matrix(2, seed=4), first=500))
    index.scores(query, depth=3)
    library.delete_vectors(["00003"])
    index.scores(query, depth=3)
    assert asked == [2]


def test_equal_vectors_have_equal_cosines_wherever_they_lie(library: Library) -> None:
    matrix = _matrix(64)
    matrix[::7] = matrix[3]
    _put(library, _chunks(matrix))
    cosines = DenseIndex(library, model=MODEL).scores(_matrix(1, seed=8)[0], depth=64)
    assert len({cosines[f"{row:05d}"] for row in (*range(0, 64, 7), 3)}) == 1


# --- files, and cells of very many vectors --------------------------------------------------------


@pytest.fixture
def many(library: Library, monkeypatch: pytest.MonkeyPatch) -> dict[str, Matrix]:
    """The vectors of a library that counts as a large one."""
    monkeypatch.setattr(dense, "EXACT_LIMIT", 300)
    monkeypatch.setattr(dense, "KEPT_FROM", 100)
    held = _chunks(_matrix(700))
    _put(library, held)
    return held


def _kept(library: Library) -> list[Path]:
    return sorted((library.path / "derived").glob("vectors*-*"))


def _settled(index: DenseIndex) -> DenseIndex:
    """The index after a first question and all that it set going."""
    index.search(_matrix(1)[0], top_k=3)
    index.settle()
    return index


def _picture(index: DenseIndex) -> held_vectors.VectorSegment:
    with index._library.read() as connection:
        return index._current(connection)


def _in_cells(index: DenseIndex) -> bool:
    return len(_picture(index).base.centres) > 0


def test_cells_find_what_brute_force_finds_and_follow_changes(
    library: Library, many: dict[str, Matrix]
) -> None:
    index = _settled(DenseIndex(library, model=MODEL))
    assert _in_cells(index)
    assert _recall(index, many) >= 0.95
    before = _kept(library)
    new = _chunks(_matrix(40, seed=7), first=5_000)
    gone = sorted(many)[:50]
    _put(library, new)
    library.delete_vectors(gone)
    held = {c: v for c, v in (many | new).items() if c not in gone}
    assert _recall(index, held) >= 0.95
    assert _in_cells(index)
    index.settle()
    assert _kept(library) == before  # nothing was made anew
    assert not index.scores(_matrix(1)[0], depth=650).keys() & set(gone)


def test_only_the_nearest_cells_are_compared(
    library: Library, many: dict[str, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_vectors, "LEAST_PROBED", 4)
    held = _picture(_settled(DenseIndex(library, model=MODEL)))
    slots, cosines = held.near(_matrix(1)[0], every=False)
    assert len(slots) < len(many) / 2
    everywhere = held.near(_matrix(1)[0], every=True)[1]
    np.testing.assert_allclose(cosines, everywhere[slots], atol=1e-6)


def test_a_question_does_not_wait_for_cells(
    library: Library, many: dict[str, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()

    def slow(block: VectorBlock, *, is_wanted: Callable[[], bool]) -> VectorBlock | None:
        may_go_on.wait(timeout=30)
        return divide(block, is_wanted=is_wanted)

    monkeypatch.setattr(dense, "divide", slow)
    index = DenseIndex(library, model=MODEL)
    query = _matrix(1, seed=4)[0]
    exact = _nearest(_brute(many, query), 10)
    assert [chunk_id for chunk_id, _ in index.search(query, top_k=10)] == exact
    assert not _in_cells(index)
    new = _chunks(_matrix(20, seed=7), first=5_000)
    _put(library, new)  # comes while the block without it is being made
    library.delete_vectors(["00000"])
    held = {c: v for c, v in (many | new).items() if c != "00000"}
    assert [c for c, _ in index.search(query, top_k=10)] == _nearest(_brute(held, query), 10)
    may_go_on.set()
    index.settle()
    assert _in_cells(index)
    assert len(_picture(index).tail) == 20
    assert _recall(index, held) >= 0.95


def test_a_worn_block_is_divided_anew_in_the_background(
    library: Library, many: dict[str, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = _settled(DenseIndex(library, model=MODEL))
    (before,) = _kept(library)
    monkeypatch.setattr(held_vectors, "WORN_ABOVE", 0.05)
    new = _chunks(_matrix(30, seed=7), first=5_000)
    _put(library, new)
    library.delete_vectors(sorted(many)[:30])
    held = {c: v for c, v in (many | new).items() if c not in sorted(many)[:30]}
    _settled(index)
    picture = _picture(index)
    assert (len(picture.base), len(picture.tail)) == (700, 0)
    assert len(picture.base.centres)
    (after,) = _kept(library)
    assert after != before
    assert _recall(index, held) >= 0.95


@pytest.mark.parametrize("limit", [300, 10_000], ids=["cells", "one pass"])
def test_reopening_takes_the_kept_block_with_its_tail_and_what_is_gone(
    library: Library, many: dict[str, Matrix], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", limit)
    index = _settled(DenseIndex(library, model=MODEL))
    before = _kept(library)
    new = _chunks(_matrix(40, seed=7), first=5_000)
    gone = sorted(many)[100:170]
    _put(library, new)
    library.delete_vectors(gone)
    held = {c: v for c, v in (many | new).items() if c not in gone}
    again = DenseIndex(library, model=MODEL)
    assert _recall(again, held) >= 0.95
    again.settle()
    assert _kept(library) == before
    picture = _picture(again)
    assert (len(picture.base), len(picture.tail), picture.held) == (700, 40, 670)
    for query in _matrix(5, seed=12):
        ids = sorted(held)[::7]
        assert again.cosines(query, ids) == index.cosines(query, ids)


def test_a_state_that_was_kept_is_opened_without_reading_the_vectors(
    library: Library, many: dict[str, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _settled(DenseIndex(library, model=MODEL))
    assert _in_cells(first)  # made in the background, behind the first question
    for name in ("_keys", "_read", "_block"):
        monkeypatch.setattr(held_vectors, name, None)
    again = DenseIndex(library, model=MODEL)
    for query in _matrix(5, seed=12):
        assert again.search(query, top_k=10) == first.search(query, top_k=10)
    monkeypatch.undo()
    monkeypatch.setattr(dense, "EXACT_LIMIT", 300)
    _put(library, {"00003": _matrix(1, seed=77)})  # the same chunks, another vector
    assert DenseIndex(library, model=MODEL).search(_matrix(1, seed=77)[0], top_k=1)[0][0] == "00003"


CHANGE = st.tuples(st.integers(0, 11), st.integers(0, 2), st.integers(0, 3))
"""A chunk, the number of its windows from now on, and what they hold."""


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(CHANGE, max_size=4), max_size=5))
def test_a_picture_that_follows_noted_changes_is_that_of_reading_everything(
    changes: list[list[tuple[int, int, int]]],
) -> None:
    with TemporaryDirectory() as folder:
        library = Library(Path(folder) / "library")
        _put(library, _chunks(_matrix(10), windows=2))
        with library.write() as connection:
            write_state(connection, "derived", str(facts_generation(connection)))
            picture = read_vectors(connection, vector_stamp(connection), model=MODEL)
        for some in changes:
            for chunk, windows, seed in some:
                if windows:
                    _put(library, {f"{chunk:05d}": _matrix(windows, seed=seed)})
                else:
                    library.delete_vectors([f"{chunk:05d}"])
            with library.write() as connection:
                now = vector_stamp(connection)
                changed = {f"{chunk:05d}" for chunk, _, _ in some}
                given = {"model": MODEL, "before": picture}
                picture = followed_vectors(connection, now, chunk_ids=changed, **given)
                expected = read_vectors(connection, now, model=MODEL)
            assert _held_by(picture) == _held_by(expected)
            assert picture.chunk_ids == expected.chunk_ids
        library.close()


def _held_by(picture: VectorSegment) -> list[tuple[int, str]]:
    """The mark and chunk of every vector, sorted."""
    marks = np.concatenate([picture.base.marks, picture.tail.marks])
    held = np.flatnonzero(picture.chunk_of >= 0)
    return sorted((int(marks[slot]), picture.chunk_ids[picture.chunk_of[slot]]) for slot in held)


def test_changes_of_vectors_are_noted_up_to_a_number(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_log, "MOST_NOTED", 8)
    _put(library, _chunks(_matrix(5)))
    with library.write() as connection:
        write_state(connection, "derived", str(facts_generation(connection)))
        before = vector_stamp(connection)
        assert vectors_changed_since(connection, before) == set()
    for chunk_id in ("00002", "00004"):
        vector = _matrix(1, seed=5)[0]
        values = [WindowVector(chunk_id=chunk_id, window=0, input_sha="x", vector=vector)]
        library.put_vectors(values, model=MODEL)
    with library.read() as connection:
        assert vectors_changed_since(connection, before) == {"00002", "00004"}
        between = vector_stamp(connection)
    for _ in range(3):
        library.put_vectors(values, model=MODEL)
    with library.read() as connection:
        assert vectors_changed_since(connection, before) is None
        assert vectors_changed_since(connection, between) == {"00004"}
    library.drop_other_vectors(["another"])
    with library.read() as connection:
        assert vectors_changed_since(connection, between) is None


def test_vectors_that_came_since_the_block_was_kept_are_found_by_the_next_process(
    library: Library, many: dict[str, Matrix]
) -> None:
    index = _settled(DenseIndex(library, model=MODEL))
    new = _chunks(_matrix(3, seed=7), first=5_000)
    _put(library, new)
    for opened in (index, DenseIndex(library, model=MODEL), DenseIndex(library, model=MODEL)):
        for chunk_id, vector in new.items():
            assert opened.search(vector[0], top_k=1)[0][0] == chunk_id


def test_the_code_of_a_removed_vector_is_overwritten_in_the_file(
    library: Library, many: dict[str, Matrix]
) -> None:
    index = _settled(DenseIndex(library, model=MODEL))
    (folder,) = _kept(library)
    held = _picture(index)
    slot = int(np.flatnonzero(held.chunk_of == held.chunk_ids.index("00042"))[0])
    code = held.base.codes[slot].tobytes()
    assert code in (folder / "codes.npy").read_bytes()
    library.delete_vectors(["00042"])
    index.scores(_matrix(1)[0], depth=3)
    assert code not in (folder / "codes.npy").read_bytes()
    assert derived.is_valid_artifact(folder)
    kept = VectorBlock.load(folder)
    assert not kept.marks[slot] and not kept.owners[slot]
    _put(library, {"00042": many["00042"]})  # comes again: not found in the emptied row
    assert index.search(many["00042"][0], top_k=1)[0][0] == "00042"


def test_kept_files_name_no_chunk(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", 50)
    monkeypatch.setattr(dense, "KEPT_FROM", 10)
    _put(library, {f"secret/{number}": _matrix(1, seed=number) for number in range(60)})
    _settled(DenseIndex(library, model=MODEL))
    (folder,) = _kept(library)
    for file in sorted(folder.iterdir()):
        assert b"secret" not in file.read_bytes(), file.name


def test_cells_are_the_same_whichever_way_their_vectors_came(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", 300)
    monkeypatch.setattr(dense, "KEPT_FROM", 100)
    held = _chunks(_matrix(400))
    files = []
    for name, order in (("one", sorted(held)), ("two", sorted(held, reverse=True))):
        library = Library(tmp_path / name)
        for start in range(0, 400, 100):
            _put(library, {chunk_id: held[chunk_id] for chunk_id in order[start : start + 100]})
        _settled(DenseIndex(library, model=MODEL))
        (folder,) = _kept(library)
        files.append((folder.name, [path.read_bytes() for path in sorted(folder.glob("*.npy"))]))
        library.close()
    assert files[0] == files[1]


@pytest.mark.parametrize("damage", ["none", "cut", "flipped", "gone"])
def test_a_kept_block_is_taken_again_or_made_anew(
    library: Library, many: dict[str, Matrix], damage: str
) -> None:
    _settled(DenseIndex(library, model=MODEL))
    (folder,) = _kept(library)
    path = folder / "codes.npy"
    content = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(content[:1_000])
        case "flipped":
            path.write_bytes(content[:3_000] + bytes(64) + content[3_064:])
        case "gone":
            path.unlink()
    index = DenseIndex(library, model=MODEL)
    assert _recall(index, many) >= 0.95
    index.settle()
    assert _in_cells(index)
    assert path.read_bytes() == content


def test_cells_that_nobody_wants_any_more_are_given_up(
    library: Library, many: dict[str, Matrix]
) -> None:
    block = _picture(DenseIndex(library, model=MODEL)).base
    assert divide(block, is_wanted=lambda: False) is None


def test_closing_gives_up_the_cells_that_are_being_made(
    library: Library, many: dict[str, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(block: VectorBlock, *, is_wanted: Callable[[], bool]) -> VectorBlock | None:
        while is_wanted():
            time.sleep(0.01)
        return divide(block, is_wanted=is_wanted)

    monkeypatch.setattr(dense, "divide", endless)
    index = DenseIndex(library, model=MODEL)
    index.search(_matrix(1)[0], top_k=3)
    index.close()
    assert _recall(index, many) == 1
    assert not _in_cells(index)


def test_a_program_that_ends_while_cells_are_made_ends_cleanly(
    library: Library, many: dict[str, Matrix]
) -> None:
    program = f"""
import numpy as np, time
from engine.storage.vectors import index as dense
from engine.storage.library import Library
def endless(block, *, is_wanted):
    while is_wanted():
        time.sleep(0.01)
dense.EXACT_LIMIT, dense.divide = 300, endless
library = Library({str(library.path)!r})
dense.DenseIndex(library, model={MODEL!r}).search(np.ones({DIMENSION}, dtype=np.float32), top_k=3)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert all(derived.is_valid_artifact(folder) for folder in _kept(library))


def _recall(index: DenseIndex, held: dict[str, Matrix]) -> float:
    hits = 0
    queries = _matrix(30, seed=11)
    for query in queries:
        found = {chunk_id for chunk_id, _ in index.search(query, top_k=10)}
        hits += len(found & set(_nearest(_brute(held, query), 10)))
    return hits / (10 * len(queries))


def test_another_models_vectors_are_not_seen(library: Library) -> None:
    _put(library, _chunks(_matrix(10)))
    with library.write() as connection:
        connection.execute(vectors.update().where(vectors.c.chunk_id < "00005").values(model="b"))
        library.put_vectors([], model="b")
    query = _matrix(1)[0]
    assert min(DenseIndex(library, model=MODEL).scores(query, depth=20)) == "00005"
    assert len(DenseIndex(library, model="b").scores(query, depth=20)) == 5


@pytest.mark.parametrize("windows", [1, 3])
def test_a_list_of_scores_is_exact_for_the_nearest_and_near_for_the_others(
    library: Library, windows: int
) -> None:
    matrix = _matrix(1_200)
    rows = _chunks(matrix, windows=windows)
    _put(library, rows)
    index, query = DenseIndex(library, model=MODEL), unit_length(matrix[7] + 0.1)
    ids = tuple(sorted(rows))
    found = index.array(query, ids, depth=300)
    assert found is not None
    exact = np.array([max(vector @ query for vector in rows[chunk_id]) for chunk_id in ids])
    order = np.argsort(-exact)
    nearest, others = order[: dense.READ_FOR_A_LIST], order[dense.READ_FOR_A_LIST : 300]
    assert found[nearest] == pytest.approx(exact[nearest], abs=1e-6)
    assert found[others] == pytest.approx(exact[others], abs=0.02)
    assert found[others].max() <= found[nearest].min()
    assert (found[order[320:]] == found.min()).all()
