"""Search by cosine over the library's vectors held in memory, against brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.index import dense, derived, held_vectors
from engine.index.dense import DenseIndex
from engine.index.door import Chunk, put_chunks
from engine.index.library import Library, WindowVector, unit_length, vectors
from engine.index.vector_graph import FILE_NAME

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


@pytest.mark.parametrize("merged_above", [0.0, 0.5, 100.0], ids=["merged", "some", "never"])
def test_after_any_changes_it_finds_what_a_new_index_finds(
    library: Library, monkeypatch: pytest.MonkeyPatch, merged_above: float
) -> None:
    monkeypatch.setattr(held_vectors, "MERGED_ABOVE", merged_above)
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

    def counted(connection, keys, *, model):
        asked.append(len(keys))
        return read(connection, keys, model=model)

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


def test_a_graph_finds_what_brute_force_finds_and_follows_changes(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", 300)
    held = _chunks(_matrix(700))
    _put(library, held)
    index = DenseIndex(library, model=MODEL)
    assert _recall(index, held) >= 0.95
    (folder,) = (library.path / "derived").glob("hnsw-*")
    new = _chunks(_matrix(40, seed=7), first=5_000)
    gone = sorted(held)[:50]
    _put(library, new)
    library.delete_vectors(gone)
    held = {c: v for c, v in (held | new).items() if c not in gone}
    assert _recall(index, held) >= 0.95
    assert [folder] == list((library.path / "derived").glob("hnsw-*"))  # nothing was made anew
    found = index.scores(_matrix(1)[0], depth=650)
    assert not found.keys() & set(gone)


@pytest.mark.parametrize("damage", ["none", "cut", "flipped", "gone"])
def test_a_kept_graph_is_taken_again_or_mended(
    library: Library, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", 300)
    held = _chunks(_matrix(600))
    _put(library, held)
    assert _recall(DenseIndex(library, model=MODEL), held) >= 0.95
    (folder,) = (library.path / "derived").glob("hnsw-*")
    path = folder / FILE_NAME
    content = path.read_bytes()
    assert next(iter(held.values()))[0].tobytes() not in content  # links, and no vector
    match damage:
        case "cut":
            path.write_bytes(content[:1_000])
        case "flipped":
            path.write_bytes(content[:3_000] + bytes(64) + content[3_064:])
        case "gone":
            path.unlink()
    assert _recall(DenseIndex(library, model=MODEL), held) >= 0.95
    assert derived.is_sound(folder)


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
