"""Stores outside whose process is killed at a bad moment, or whose server is away, slow or broken.

The library is whole in each case, the store equals it after the next opening, and what is said is
one clear error.
"""

from __future__ import annotations

import http.server
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import store_at_work as at_work
from llama_index.core.embeddings import MockEmbedding

from engine.errors import VectorStoreUnavailable
from engine.storage.library import Library
from engine.storage.vectors.external import ExternalDense, expected_points, read_stamp
from engine.storage.vectors.stores import StoreKind, open_store

# --- killed ---------------------------------------------------------------------------------------


@pytest.fixture(params=["qdrant", "pgvector"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[StoreKind, str, str]:
    """Kind, address and path of a store that holds nothing of this library."""
    kind: StoreKind = request.param
    pytest.importorskip(f"llama_index.vector_stores.{'postgres' if kind == 'pgvector' else kind}")
    if kind == "pgvector":
        return kind, request.getfixturevalue("postgres"), ""
    return kind, "", str(tmp_path / "outside")


@pytest.mark.parametrize("moment", sorted(at_work.MOMENTS))
def test_after_a_kill_the_store_equals_the_library(
    tmp_path: Path, place: tuple[StoreKind, str, str], moment: str
) -> None:
    kind, url, path = place
    folder = tmp_path / "library"
    assert at_work.killed(moment, kind, folder, url=url, path=path) == -signal.SIGKILL

    library = Library(folder, create=False)
    dense: ExternalDense = at_work.dense_of(library, kind, url=url, path=path)
    dense.search(at_work.vector(3), top_k=5)
    with library.read() as connection:
        wanted = expected_points(connection, model=at_work.MODEL)
        chunks = {window.chunk_id for window in wanted.values()}
    committed = {f"a/{number}" for number in range(40)}
    if "removed" in moment:
        committed -= {f"a/{number}" for number in range(40 if "all" in moment else 20)}
    elif "before the commit" not in moment:
        committed |= {f"b/{number}" for number in range(30)}
    assert chunks == committed
    assert dense._store is not None
    assert sorted(dense._store.ids()) == sorted(wanted)
    found = {name for name, _ in dense.search(at_work.vector(3), top_k=100)}
    assert found == committed
    dense.close()
    library.close()


# --- servers that are no use ----------------------------------------------------------------------

TIMEOUT_SECONDS = 1.0
SERVED = {
    "qdrant": "http://127.0.0.1:{port}",
    "chroma": "http://127.0.0.1:{port}",
    "milvus": "http://127.0.0.1:{port}",
    "pgvector": "postgresql://owner:secret@127.0.0.1:{port}/postgres",
}


class _Broken(http.server.BaseHTTPRequestHandler):
    """Answers everything with 500, and says so on two lines."""

    def _fail(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(500)
        self.end_headers()
        self.wfile.write(b"out of order\nreally")

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _fail  # noqa: N815 - as http.server asks

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(params=["refuses", "is silent", "fails"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """A port where nobody listens, nobody answers, or everything is answered with 500."""
    if request.param == "fails":
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Broken) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield server.server_port
            server.shutdown()
        return
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if request.param == "is silent":
            listener.listen(50)
        yield listener.getsockname()[1]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library")
    at_work.put(opened, "a", chunks=30, seed=1)
    yield opened
    opened.close()


def _outside(library: Library, kind: Any, url: str) -> ExternalDense:
    return ExternalDense(
        library,
        lambda name, size: open_store(
            kind, name, dimension=size, url=url, timeout_seconds=TIMEOUT_SECONDS
        ),
        model=at_work.MODEL,
    )


@pytest.mark.parametrize("kind", sorted(SERVED))
def test_a_server_that_is_no_use_is_one_clear_error(
    library: Library, kind: str, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip(f"llama_index.vector_stores.{'postgres' if kind == 'pgvector' else kind}")
    dense = _outside(library, kind, SERVED[kind].format(port=port))
    with pytest.raises(VectorStoreUnavailable) as raised:
        dense.search(at_work.vector(1), top_k=3)
    said = str(raised.value)
    assert said.startswith(f"cannot use the vector store: {kind} at ")
    assert said.endswith("the library itself is not damaged; check the store and try again")
    assert "\n" not in said
    assert "secret" not in said + caplog.text
    assert len(said) < 500
    stamps = (library.path / "derived").glob("vector-store-*.json")
    assert [read_stamp(stamp) for stamp in stamps] == []


@pytest.mark.parametrize("kind", ["qdrant"])
def test_documents_come_and_go_while_the_store_is_away(
    tmp_path: Path, kind: str, port: int
) -> None:
    from engine import KnowledgeEngine
    from engine.config import Settings

    pytest.importorskip(f"llama_index.vector_stores.{kind}")
    away = {"store": kind, "url": SERVED[kind].format(port=port)}
    back = {"store": kind, "path": str(tmp_path / "outside")}
    light = {"graph": {"spacy_model": "none"}}
    model = MockEmbedding(embed_dim=8)

    def opened(vectors: dict[str, str]) -> KnowledgeEngine:
        settings = Settings.model_validate({**light, "vectors": vectors})
        return KnowledgeEngine.open(tmp_path / "library", settings=settings, embed_model=model)

    with opened(away) as engine:
        index: Any = engine.vector_index
        index.store.dense._connect = _outside(engine._library, kind, away["url"])._connect
        report = engine.add_text("Ada Brine lit the lamp.", document_id="lamp")
        assert report.added == ("lamp",)
        assert report.failed == ()
        (note,) = [note for note in report.notes if "vector store" in note]
        assert note.startswith(
            "the next question tries again: cannot use the vector store: qdrant at "
        )
    with opened(back) as engine:
        report = engine.add_text("Orrin Vale repaired it.", document_id="repair")
        assert not any("vector store" in note for note in report.notes)
        index = engine.vector_index
        assert index.store.dense._store.count() == 2  # filled by the run, before any question
        engine.remove(["lamp", "repair"])
        assert index.store.dense._store.count() == 0
