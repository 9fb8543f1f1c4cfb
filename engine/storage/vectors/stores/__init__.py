"""External vector stores: supported kinds, opening, and their protocol.

A store is derived from the library and never more than a way to find near vectors: what it finds
is weighed with the library's own vectors. Its collection belongs to one library and one model.
Clients bound the wait for a connection, not always that for an answer, so every call to a server is
bounded here.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from ....concurrency import WorkCancelled, run_with_timeout
from ....errors import MissingExtra, SettingsError, VectorStoreUnavailable

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode, TextNode
    from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery

Result = TypeVar("Result")
StoreKind = Literal["qdrant", "milvus", "pgvector", "chroma"]
BATCH = 500
"""Points written or removed in one request."""
FILTER_KEYS = ("document_key", "namespace_key")
"""Hashed metadata keys that searches filter by."""
_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,23}")
_ID_FILE = "library.id"


class ExternalStore(Protocol):
    """A collection in a vector store, behind LlamaIndex's own class for it.

    `errors` are what its client raises, `opening_errors` what it raises when it is made; `most` is
    how many results it gives at the most.
    """

    errors: tuple[type[Exception], ...]
    opening_errors: tuple[type[Exception], ...]
    most: int

    def __init__(
        self,
        name: str,
        *,
        dimension: int,
        url: str,
        path: str,
        api_key: str,
        timeout_seconds: float,
    ) -> None:
        """Open the collection `name`, made where there is none yet."""

    @property
    def vectors(self) -> BasePydanticVectorStore:
        """LlamaIndex's class over the collection."""

    def count(self) -> int:
        """Return the number of points in the collection."""

    def pages(self) -> Iterator[list[str]]:
        """Yield pages of all point ids, duplicates included, in any order."""

    def put(self, nodes: Sequence[TextNode]) -> None:
        """Store points that are not there yet."""

    def remove(self, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there are no error."""

    def close(self) -> None:
        """Let go of files and connections."""


class OpenStore:
    """An open collection, each call to which is over after so many seconds.

    A call that took longer, or that nobody waits for any more, goes on in a thread of its own and
    may have half of an answer: the collection is `lost` then, and has to be opened anew.

    Args:
        store: what is called.
        what: the store and its address, for messages.
        seconds: the longest that one call takes; None sets no limit.
    """

    def __init__(self, store: ExternalStore, what: str, *, seconds: float | None) -> None:
        self._store = store
        self._what = what
        self._seconds = seconds
        self.lost = False
        self.errors = store.errors
        self.most = store.most

    @property
    def vectors(self) -> BasePydanticVectorStore:
        """LlamaIndex's class over the collection; what is called there is not bounded."""
        return self._store.vectors

    def query(self, query: VectorStoreQuery) -> list[BaseNode]:
        """Return the nodes found, best first."""
        return list(self._within(lambda: self._store.vectors.query(query)).nodes or ())

    def count(self) -> int:
        """See `ExternalStore`."""
        return self._within(self._store.count)

    def ids(self) -> list[str]:
        """Return all point ids, duplicates included, in any order."""
        pages, found = self._store.pages(), list[str]()
        while (page := self._within(lambda: next(pages, None))) is not None:
            found += page
        return found

    def put(self, nodes: Sequence[TextNode]) -> None:
        """See `ExternalStore`."""
        self._within(lambda: self._store.put(nodes))

    def remove(self, ids: Sequence[str]) -> None:
        """See `ExternalStore`."""
        self._within(lambda: self._store.remove(ids))

    def close(self) -> None:
        """See `ExternalStore`."""
        with suppress(VectorStoreUnavailable):
            self._within(self._store.close)

    def _within(self, call: Callable[[], Result]) -> Result:
        try:
            return run_with_timeout(self._seconds, call)
        except TimeoutError as error:
            self.lost = True
            raise _silent(self._what, self._seconds) from error
        except WorkCancelled:
            self.lost = True
            raise


def open_store(
    kind: StoreKind,
    name: str,
    *,
    dimension: int,
    url: str = "",
    path: str = "",
    api_key: str = "",
    timeout_seconds: float = 30.0,
) -> OpenStore:
    """Open collection `name` on a server (`url`) or in a local file or folder (`path`).

    A server is waited for as long as `timeout_seconds`, now and at each call; at least a second
    for a connection.

    Raises:
        SettingsError: neither or both of `url` and `path`, or a path for pgvector.
        MissingExtra: the client is not installed.
        VectorStoreUnavailable: the store cannot be reached, or does not answer.
    """
    if bool(url) == bool(path) or (kind == "pgvector" and path):
        raise SettingsError(
            f"vectors.store {kind!r} takes "
            + ("vectors.url" if kind == "pgvector" else "either vectors.url or vectors.path")
        )
    chosen = _client(kind)
    what = f"{kind} at {_without_secret(url or path)!r}"
    seconds = timeout_seconds if url else None  # what is here ends when it is done

    def opened() -> ExternalStore:
        with translate_error(what, chosen.opening_errors):
            return chosen(
                name,
                dimension=dimension,
                url=url,
                path=path,
                api_key=api_key,
                timeout_seconds=timeout_seconds,
            )

    try:
        return OpenStore(run_with_timeout(seconds, opened), what, seconds=seconds)
    except TimeoutError as error:
        raise _silent(what, seconds) from error


def _client(kind: StoreKind) -> type[ExternalStore]:
    try:
        match kind:
            case "qdrant":
                from .qdrant import QdrantStore

                return QdrantStore
            case "milvus":
                from .milvus import MilvusStore

                return MilvusStore
            case "pgvector":
                from .pgvector import PgvectorStore

                return PgvectorStore
            case "chroma":
                from .chroma import ChromaStore

                return ChromaStore
    except ImportError as error:
        raise MissingExtra(
            f"vectors.store {kind!r} needs {error.name!r}: pip install 'loregraph[{kind}]'"
        ) from error


def _silent(what: str, seconds: float | None) -> VectorStoreUnavailable:
    limit = "in time" if seconds is None else f"within {seconds:g} s (vectors.timeout_seconds)"
    return VectorStoreUnavailable(
        f"cannot use the vector store: {what} did not answer {limit}; "
        "the library itself is not damaged; check the store and try again"
    )


@contextmanager
def translate_error(what: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Translate a client's error to `VectorStoreUnavailable`, in one line without SQL."""
    try:
        yield
    except errors as error:
        cause = getattr(error, "orig", None) or error
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        raise VectorStoreUnavailable(
            f"cannot use the vector store: {what} ({_without_secret(lines[0])[:300]}); "
            "the library itself is not damaged; check the store and try again"
        ) from error


def collection_name(path: Path, *, prefix: str, model: str, dimension: int) -> str:
    """Return the collection name of this library folder and model.

    It rests on a mark kept in the folder and on where the folder stands, so that neither two
    libraries nor a library and its copy share a collection. A library that moved fills a new one.

    Raises:
        SettingsError: a prefix that not every store takes.
    """
    if not _PREFIX.fullmatch(prefix):
        raise SettingsError(
            f"vectors.collection: {prefix!r} is not usable; use at most 24 of a-z, 0-9 "
            "and _, a letter first"
        )
    owner = sha256_hex(f"{_mark(path)} {path.resolve()}")[:12]
    return f"{prefix}_{owner}_{sha256_hex(f'{model} {dimension}')[:8]}"


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a vector store point's parts in hexadecimal."""
    return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()


def _mark(path: Path) -> str:
    """Return a random mark; equal paths on two machines must differ."""
    file = path / _ID_FILE
    try:
        with file.open("x", encoding="utf8") as opened:
            opened.write(secrets.token_hex(8))
    except FileExistsError:
        pass
    except OSError as error:
        raise VectorStoreUnavailable(
            f"cannot write: {str(file)!r} ({error.strerror}); check its permissions"
        ) from error
    return file.read_text(encoding="utf8")


def _without_secret(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)
