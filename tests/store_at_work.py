"""A process that fills a library and its vector store, and kills itself at a given moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.storage.graph_api import Chunk, put_chunks
from engine.storage.library import Library, WindowVector
from engine.storage.vectors import external as store_dense
from engine.storage.vectors.external import ExternalDense
from engine.storage.vectors.stores import StoreKind, open_store
from engine.types import SourceText

IMPORTED_BY_STORES = ("llama_index.vector_stores.qdrant", "llama_index.vector_stores.postgres")
MODEL = "model"
DIMENSION = 16


def vector(seed: int) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return made / np.linalg.norm(made)


def put(library: Library, document_id: str, *, chunks: int, seed: int) -> None:
    """A document of chunks `<document>/<n>` with a vector each, in one transaction."""
    text = "x" * chunks
    source = SourceText(id=document_id, title="", type="text", text=text, sha256="0")
    ids = [f"{document_id}/{number}" for number in range(chunks)]
    with library.write() as connection:
        library.put_documents([source], recipe="")
        put_chunks(
            connection,
            [
                Chunk(id=name, title="", document_id=document_id, text="x", start=n, end=n + 1)
                for n, name in enumerate(ids)
            ],
        )
        library.put_vectors(
            [
                WindowVector(
                    chunk_id=name, window=0, input_sha=f"{seed}.{n}", vector=vector(seed + n)
                )
                for n, name in enumerate(ids)
            ],
            model=MODEL,
        )


def dense_of(library: Library, kind: StoreKind, *, url: str, path: str) -> ExternalDense:
    return ExternalDense(
        library,
        lambda name, size: open_store(kind, name, dimension=size, url=url, path=path),
        model=MODEL,
    )


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before_the_commit(library: Library, dense: ExternalDense) -> None:
    with library.write():
        put(library, "b", chunks=30, seed=500)
        die()


def _asked_before_the_commit(library: Library, dense: ExternalDense) -> None:
    with library.write():
        put(library, "b", chunks=30, seed=500)
        dense.search(vector(1), top_k=5)
        die()


def _after_the_commit(library: Library, dense: ExternalDense) -> None:
    put(library, "b", chunks=30, seed=500)
    die()


def _while_points_are_written(library: Library, dense: ExternalDense) -> None:
    put(library, "b", chunks=30, seed=500)
    store: Any = dense._store
    write = store.put

    def some(nodes: list[Any]) -> None:
        write(nodes[:7])
        die()

    store.put = some
    dense.ensure_current()


def _while_points_are_removed(library: Library, dense: ExternalDense) -> None:
    library.delete_vectors([f"a/{number}" for number in range(20)])
    store: Any = dense._store
    remove = store.remove

    def some(ids: list[str]) -> None:
        remove(ids[:7])
        die()

    store.remove = some
    dense.ensure_current()


def _before_it_is_noted(library: Library, dense: ExternalDense) -> None:
    put(library, "b", chunks=30, seed=500)
    note = store_dense.write_stamp

    def but_not_the_last(file: Path, stamp: dict[str, str]) -> None:
        if stamp["library"]:
            die()
        note(file, stamp)

    store_dense.write_stamp = but_not_the_last  # type: ignore[assignment]
    dense.ensure_current()


def _when_all_is_removed(library: Library, dense: ExternalDense) -> None:
    library.delete_vectors([f"a/{number}" for number in range(40)])
    die()


MOMENTS: dict[str, Callable[[Library, ExternalDense], None]] = {
    "before the commit": _before_the_commit,
    "asked before the commit": _asked_before_the_commit,
    "after the commit": _after_the_commit,
    "while points are written": _while_points_are_written,
    "while points are removed": _while_points_are_removed,
    "before it is noted": _before_it_is_noted,
    "when all is removed": _when_all_is_removed,
}


def killed(moment: str, kind: StoreKind, folder: Path, *, url: str, path: str) -> int | None:
    """Run a process until that moment; its exit code."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *IMPORTED_BY_STORES])
    process = context.Process(target=_work, args=(moment, kind, folder, url, path))
    process.start()
    process.join()
    return process.exitcode


def _work(moment: str, kind: StoreKind, folder: Path, url: str, path: str) -> None:
    library = Library(folder)
    dense = dense_of(library, kind, url=url, path=path)
    put(library, "a", chunks=40, seed=100)
    dense.ensure_current()
    MOMENTS[moment](library, dense)
