"""What every vector side promises, the library's own and each store outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy.engine import make_url
from stalling_proxy import StallingProxy

from engine.errors import VectorStoreUnavailable
from engine.storage.graph_api import Chunk, put_chunks
from engine.storage.library import Library, WindowVector
from engine.storage.vectors import external as store_dense
from engine.storage.vectors.external import Dense, ExternalDense, SyncResult
from engine.storage.vectors.index import DenseIndex
from engine.storage.vectors.stores import collection_name, open_store
from engine.types import SourceText

MODEL, OTHER = "model", "another model"
DIMENSION = 24
KINDS = ["library", "qdrant", "milvus", "pgvector", "chroma"]
SECONDS_OF_A_TRY = 10.0
"""Enough for a healthy server; a client on its old, silent connection waits them out."""
ODD = "命名 空间/d'1\"; DROP TABLE x; --%😀"


def vector(seed: int) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return made / np.linalg.norm(made)


def put(library: Library, document_id: str, *, chunks: int, seed: int, windows: int = 1) -> None:
    """A document with chunks `<document>/<n>`."""
    source = SourceText(
        id=document_id,
        title="",
        type="text",
        text="x" * chunks,
        sha256="0",
        namespace=document_id[:2],
    )
    ids = [f"{document_id}/{number}" for number in range(chunks)]
    with library.write() as connection:
        library.put_documents([source], recipe="")
        put_chunks(
            connection,
            [
                Chunk(
                    id=chunk_id,
                    title="",
                    document_id=document_id,
                    text="x",
                    start=n,
                    end=n + 1,
                    position=n,
                )
                for n, chunk_id in enumerate(ids)
            ],
        )
        library.put_vectors(
            [
                WindowVector(
                    chunk_id=chunk_id,
                    window=window,
                    input_sha=f"{seed}.{n}.{window}",
                    vector=vector(seed * 10_000 + n * 10 + window),
                )
                for n, chunk_id in enumerate(ids)
                for window in range(windows)
            ],
            model=MODEL,
        )


def brute(
    library: Library, query: NDArray[np.float32], *, top_k: int, starts: str = ""
) -> list[str]:
    with library.read() as connection:
        rows = connection.exec_driver_sql("SELECT chunk_id, vector FROM vectors").all()
    best: dict[str, float] = {}
    for chunk_id, held in rows:
        if chunk_id.startswith(starts):
            cosine = float(np.frombuffer(held, "<f4") @ query)
            best[chunk_id] = max(best.get(chunk_id, -1.0), cosine)
    return sorted(best, key=lambda name: (-best[name], name))[:top_k]


def found(dense: Dense, query: NDArray[np.float32], **how: Any) -> list[str]:
    return [chunk_id for chunk_id, _ in dense.search(query, **how)]


Make = Callable[[Library], Any]


outside_only = pytest.mark.parametrize("make", KINDS[1:], indirect=True)
"""The library's own vectors have nothing to be reconciled with."""


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Opens the vector side of a library; what was opened is closed in the end."""
    kind = request.param
    if kind == "library":
        yield lambda library: DenseIndex(library, model=MODEL)
        return
    module = "postgres" if kind == "pgvector" else kind
    pytest.importorskip(f"llama_index.vector_stores.{module}")
    url = request.getfixturevalue("postgres") if kind == "pgvector" else ""
    path = "" if url else str(tmp_path / ("outside.db" if kind == "milvus" else "outside"))
    opened: list[ExternalDense] = []

    def open_(library: Library) -> ExternalDense:
        for dense in opened:
            dense.close()
        opened.append(
            ExternalDense(
                library,
                lambda name, size: open_store(kind, name, dimension=size, url=url, path=path),
                model=MODEL,
            )
        )
        return opened[-1]

    yield open_
    for dense in opened:
        dense.close()


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library")
    yield opened
    opened.close()


def test_an_empty_library_has_nothing_near(library: Library, make: Make) -> None:
    assert make(library).search(vector(1), top_k=5) == []


def test_a_thousand_vectors_come_in_the_order_of_brute_force(library: Library, make: Make) -> None:
    for number in range(10):
        put(library, f"{'ab'[number % 2]}-{number}", chunks=50, seed=number, windows=2)
    dense = make(library)
    hits = 0
    for seed in range(20):
        query = vector(1_000_000 + seed)
        hits += len(set(brute(library, query, top_k=20)) & set(found(dense, query, top_k=20)))
    assert hits / 400 >= 0.99
    best = brute(library, vector(7), top_k=1)
    assert found(dense, vector(7), top_k=1) == best


def test_only_what_is_within_counts(library: Library, make: Make) -> None:
    for number in range(10):
        put(library, f"{'ab'[number % 2]}-{number}", chunks=50, seed=number)
    dense = make(library)
    with library.read() as connection:
        ids = connection.exec_driver_sql("SELECT id FROM chunks").scalars().all()
    for starts in ("a-", "b-"):
        within = frozenset(name for name in ids if name.startswith(starts))
        query = vector(3)
        assert found(dense, query, top_k=10, within=within) == brute(
            library, query, top_k=10, starts=starts
        )
    one = frozenset(name for name in ids if name.startswith("b-3/"))
    assert found(dense, vector(5), top_k=3, within=one) == brute(
        library, vector(5), top_k=3, starts="b-3/"
    )


def test_a_namespace_is_told_to_the_store_where_documents_are_too_many(
    library: Library, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_dense, "MOST_DOCUMENTS", 1)
    for name in ("a-1", "a-2", "b-1", "b-2"):
        put(library, name, chunks=40, seed=ord(name[0]) + int(name[-1]))
    within = frozenset(f"{name}/{n}" for name in ("a-1", "a-2") for n in range(40))
    expected = brute(library, vector(3), top_k=5, starts="a-")
    assert found(make(library), vector(3), top_k=5, within=within) == expected


@pytest.mark.parametrize("most_documents", [200, 1], ids=["documents", "namespace"])
@outside_only
def test_the_store_itself_applies_the_filter(
    library: Library, make: Make, monkeypatch: pytest.MonkeyPatch, most_documents: int
) -> None:
    # Asked without the library's exact cosines, which would make good for a filter that fails.
    from llama_index.core.vector_stores.types import VectorStoreQuery

    monkeypatch.setattr(store_dense, "MOST_DOCUMENTS", most_documents)
    for seed, name in enumerate(("a-1", "a-2", "b-1", ODD)):
        put(library, name, chunks=40, seed=seed)
    dense = make(library)
    assert isinstance(dense, ExternalDense)
    dense.search(vector(1), top_k=3)
    assert dense._held is not None
    assert dense._store is not None
    for names in (("a-1", "a-2"), (ODD,)):
        within = frozenset(f"{name}/{n}" for name in names for n in range(40))
        filters = store_dense._filters(dense._held, within)
        asked = VectorStoreQuery(
            query_embedding=vector(3).tolist(), similarity_top_k=160, filters=filters
        )
        nodes = dense._store.vectors.query(asked).nodes or []
        assert sorted(node.metadata["chunk_id"] for node in nodes) == sorted(within)


def test_an_array_stands_in_the_order_of_the_chunks(library: Library, make: Make) -> None:
    put(library, "a-1", chunks=30, seed=1)
    ids = ("b-0/0", *(f"a-1/{n}" for n in reversed(range(20))))
    values = make(library).array(vector(1), ids, depth=5)
    best = [name for name in brute(library, vector(1), top_k=30) if name in ids][:5]
    assert [ids[place] for place in np.argsort(-values)[:4]] == best[:4]  # the fifth is the least
    assert values[0] == values.min()


def test_a_removed_document_and_a_removed_chunk_are_gone(library: Library, make: Make) -> None:
    put(library, "a-1", chunks=30, seed=1)
    put(library, "b-1", chunks=30, seed=2)
    dense = make(library)
    assert len(found(dense, vector(1), top_k=100)) == 60
    library.delete_vectors([f"a-1/{n}" for n in range(30)])
    library.delete_vectors(["b-1/0"])
    left = found(dense, vector(1), top_k=100)
    assert sorted(left) == sorted(f"b-1/{n}" for n in range(1, 30))
    if isinstance(dense, ExternalDense):
        assert dense._store is not None
        assert dense._store.count() == 29


def test_ids_of_any_script_and_with_quotes_are_kept(library: Library, make: Make) -> None:
    put(library, ODD, chunks=40, seed=4)
    put(library, "b-1", chunks=40, seed=5)
    within = frozenset(f"{ODD}/{n}" for n in range(40))
    dense = make(library)
    assert found(dense, vector(2), top_k=4, within=within) == brute(
        library, vector(2), top_k=4, starts=ODD
    )
    assert found(dense, vector(2), top_k=9) == brute(library, vector(2), top_k=9)


def test_a_changed_vector_replaces_the_old_one_and_reopening_keeps_it(
    library: Library, make: Make
) -> None:
    put(library, "a-1", chunks=30, seed=1)
    dense = make(library)
    dense.search(vector(1), top_k=3)
    put(library, "a-1", chunks=30, seed=9)
    expected = brute(library, vector(1), top_k=9)
    assert found(dense, vector(1), top_k=9) == expected
    assert found(make(library), vector(1), top_k=9) == expected


@pytest.fixture
def outside(library: Library, make: Make) -> ExternalDense:
    put(library, "a-1", chunks=40, seed=1)
    dense = make(library)
    assert isinstance(dense, ExternalDense)
    dense.search(vector(1), top_k=3)
    return dense


@outside_only
def test_a_store_that_lost_points_is_healed_on_opening(
    library: Library, make: Make, outside: ExternalDense
) -> None:
    store = outside._store
    assert store is not None
    store.remove(store.ids()[:15])
    assert store.count() == 25
    again = make(library)
    assert found(again, vector(1), top_k=40) == brute(library, vector(1), top_k=40)
    assert again._store.count() == 40


@outside_only
def test_ghosts_are_removed_and_losses_restored_by_a_repair(
    library: Library, outside: ExternalDense
) -> None:
    store = outside._store
    assert store is not None
    names = store.ids()
    nodes = [n for n in _nodes(library, store) if n.node_id == names[0]]
    ghost = nodes[0].model_copy(update={"id_": "00000000-0000-0000-0000-000000000001"})
    store.put([ghost])
    store.remove(names[:1])
    assert outside.reconcile() == SyncResult(added=1, removed=1)
    assert sorted(store.ids()) == sorted(names)
    assert outside.reconcile(full=True) == SyncResult(added=40, removed=40)
    assert outside.reconcile() == SyncResult()


def _nodes(library: Library, store: Any) -> list[Any]:
    from engine.storage.vectors.external import _nodes as nodes
    from engine.storage.vectors.external import expected_points

    with library.read() as connection:
        return nodes(connection, expected_points(connection, model=MODEL), model=MODEL)


@outside_only
def test_what_died_half_way_is_finished_on_opening(
    library: Library, make: Make, outside: ExternalDense, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(library, "b-1", chunks=40, seed=2)
    store = outside._store
    assert store is not None

    def dies(nodes: Any) -> None:
        type(store).put(store, nodes[:7])
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "put", dies)
    with pytest.raises(KeyboardInterrupt):
        outside.search(vector(1), top_k=3)
    assert store.count() == 47
    again = make(library)
    assert found(again, vector(1), top_k=80) == brute(library, vector(1), top_k=80)
    assert again._store.count() == 80
    stamp = next((library.path / "derived").glob("vector-store-*.json"))
    assert json.loads(stamp.read_text())["library"]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_server_that_never_says_a_word_is_one_error_in_time(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip(f"llama_index.vector_stores.{'postgres' if kind == 'pgvector' else kind}")
    address = (
        "postgresql://owner:word@127.0.0.1:{}/x" if kind == "pgvector" else "http://127.0.0.1:{}"
    )
    with StallingProxy() as silent:
        url = address.format(silent.port)
        with pytest.raises(VectorStoreUnavailable, match="the library itself is not damaged"):
            open_store(kind, "mute", dimension=3, url=url, timeout_seconds=0.4).count()


@pytest.fixture(params=["milvus", "pgvector"])
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, str, int]]:
    """A real server: its kind, its address with a place for a port, and its port."""
    if request.param == "pgvector":
        url = request.getfixturevalue("postgres")
        port = make_url(url).port
        yield "pgvector", url.replace(f":{port}/", ":{}/"), port
        return
    pytest.importorskip("llama_index.vector_stores.milvus")
    from milvus_lite.server_manager import server_manager_instance as servers

    url = servers.start_and_get_uri(str(tmp_path / "server.db"))
    yield "milvus", "http://127.0.0.1:{}", int(url.rpartition(":")[2])
    servers.release_server(str(tmp_path / "server.db"))


def test_a_server_that_falls_silent_is_one_error_and_is_asked_again_later(
    library: Library, behind: tuple[Any, str, int]
) -> None:
    kind, address, port = behind
    put(library, "a-1", chunks=40, seed=1)
    with StallingProxy(port) as proxy:
        url = address.format(proxy.port)
        dense = ExternalDense(
            library,
            lambda name, size: open_store(
                kind, name, dimension=size, url=url, timeout_seconds=SECONDS_OF_A_TRY
            ),
            model=MODEL,
        )
        expected = brute(library, vector(1), top_k=3)
        assert found(dense, vector(1), top_k=3) == expected
        assert dense._store is not None
        dense._store._seconds = 0.3  # what is healthy may take its time on a busy machine
        proxy.stall()
        with pytest.raises(VectorStoreUnavailable, match=r"did not answer within 0\.3 s"):
            dense.search(vector(1), top_k=3)
        proxy.answer()
        for _ in range(3):  # a client may be slow to find a way again that was shut
            with suppress(VectorStoreUnavailable):
                dense.search(vector(1), top_k=3)
                break
        assert found(dense, vector(1), top_k=3) == expected
        dense.close()


def test_a_library_and_its_copy_never_share_a_collection(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "library.id").write_text("same")
    (tmp_path / "one" / "library.id").write_text("same")
    names = {
        collection_name(tmp_path / name, prefix="p", model=model, dimension=size)
        for name in ("one", "two")
        for model in ("m", "n")
        for size in (3, 4)
    }
    assert len(names) == 8


@pytest.fixture(params=KINDS)
def make_two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Opens the vector sides of two models of one library, side by side in one store."""
    kind = request.param
    if kind == "library":
        yield lambda library: [DenseIndex(library, model=name) for name in (MODEL, OTHER)]
        return
    url = request.getfixturevalue("postgres") if kind == "pgvector" else ""
    path = "" if url else str(tmp_path / ("outside.db" if kind == "milvus" else "outside"))
    opened: list[ExternalDense] = []

    def open_(library: Library) -> list[ExternalDense]:
        for dense in opened:
            dense.close()
        opened[:] = [
            ExternalDense(
                library,
                lambda name, size: open_store(kind, name, dimension=size, url=url, path=path),
                model=model,
            )
            for model in (MODEL, OTHER)
        ]
        return opened

    yield open_
    for dense in opened:
        dense.close()


def test_two_models_have_a_collection_each(library: Library, make_two: Make) -> None:
    """Of different lengths; a change of one model's vectors leaves the other's alone."""
    put(library, "a-1", chunks=12, seed=1)
    longer = np.eye(DIMENSION + 8, dtype=np.float32)
    library.put_vectors(
        [
            WindowVector(chunk_id=f"a-1/{n}", window=0, input_sha=f"other.{n}", vector=longer[n])
            for n in range(6)
        ],
        model=OTHER,
    )
    first, second = make_two(library)
    assert found(second, longer[3], top_k=1) == ["a-1/3"]
    assert len(found(first, vector(1), top_k=20)) == 12
    assert len(found(second, longer[0], top_k=20)) == 6
    library.drop_other_vectors([MODEL])
    assert found(second, longer[0], top_k=20) == []
    assert len(found(first, vector(1), top_k=20)) == 12
    library.delete_vectors(["a-1/0"])
    assert len(found(first, vector(1), top_k=20)) == 11
    first, second = make_two(library)
    assert len(found(first, vector(1), top_k=20)) == 11
