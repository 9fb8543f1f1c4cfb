"""Vector stores outside the library: which there are, how one is opened, what each must offer.

A store is derived from the library and never more than a way to find near vectors: what it finds
is weighed with the library's own vectors. Its collection belongs to one library and one model.
Knows nothing of what the library holds; `reconcile` makes the two equal.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from ..errors import MissingExtra, SettingsError, VectorStoreUnavailable

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

StoreKind = Literal["qdrant", "milvus", "pgvector", "chroma"]
BATCH = 500
"""Points written or removed in one request."""
FILTER_KEYS = ("document_key", "namespace_key")
"""Metadata of a point that searches filter by: hashes, which no filter language can misread."""
_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,23}")
_ID_FILE = "library.id"


class ExternalStore(Protocol):
    """A collection in a vector store, behind LlamaIndex's own class for it.

    `errors` are what its client raises; `most` is how many results it gives at the most.
    """

    errors: tuple[type[Exception], ...]
    most: int

    @property
    def vectors(self) -> BasePydanticVectorStore:
        """LlamaIndex's class over the collection."""

    def count(self) -> int:
        """How many points the collection has now."""

    def ids(self) -> list[str]:
        """The ids of all points, one that is there twice twice, in any order."""

    def put(self, nodes: Sequence[TextNode]) -> None:
        """Store points that are not there yet."""

    def remove(self, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there are no error."""

    def close(self) -> None:
        """Let go of files and connections."""


def open_store(
    kind: StoreKind,
    name: str,
    *,
    dimension: int,
    url: str = "",
    path: str = "",
    api_key: str = "",
    timeout_seconds: float = 30.0,
) -> ExternalStore:
    """The collection `name`, on a server (`url`) or in a local file or folder (`path`).

    A server is waited for as long as `timeout_seconds`, at least a second.

    Raises:
        SettingsError: neither or both of `url` and `path`, or a path for pgvector.
        MissingExtra: the client is not installed.
        VectorStoreUnavailable: the store cannot be reached.
    """
    if bool(url) == bool(path) or (kind == "pgvector" and path):
        raise SettingsError(
            f"vectors.store {kind!r} takes "
            + ("vectors.url" if kind == "pgvector" else "either vectors.url or vectors.path")
        )
    try:
        match kind:
            case "qdrant":
                from .store_qdrant import QdrantStore as Chosen
            case "milvus":
                from .store_milvus import MilvusStore as Chosen  # type: ignore[assignment]
            case "pgvector":
                from .store_pgvector import PgvectorStore as Chosen  # type: ignore[assignment]
            case "chroma":
                from .store_chroma import ChromaStore as Chosen  # type: ignore[assignment]
    except ImportError as error:
        raise MissingExtra(
            f"vectors.store {kind!r} needs {error.name!r}: pip install 'loregraph[{kind}]'"
        ) from error
    with said_clearly(f"{kind} at {_without_secret(url or path)!r}", Chosen.opening_errors):
        return Chosen(
            name,
            dimension=dimension,
            url=url,
            path=path,
            api_key=api_key,
            timeout_seconds=timeout_seconds,
        )


@contextmanager
def said_clearly(what: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """A client's error becomes `VectorStoreUnavailable`, in one line without the statement."""
    try:
        yield
    except errors as error:
        cause = getattr(error, "orig", None) or error
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        raise VectorStoreUnavailable(
            f"the vector store {what} cannot be used: {_without_secret(lines[0])[:300]}; "
            "the library itself is whole"
        ) from error


def collection_name(path: Path, *, prefix: str, model: str, dimension: int) -> str:
    """The name of the collection that belongs to the library in this folder and to one model.

    It rests on a mark kept in the folder and on where the folder stands, so that neither two
    libraries nor a library and its copy share a collection. A library that moved fills a new one.

    Raises:
        SettingsError: a prefix that not every store takes.
    """
    if not _PREFIX.fullmatch(prefix):
        raise SettingsError(
            f"vectors.collection {prefix!r}: at most 24 of a-z, 0-9 and _, a letter first"
        )
    owner = digest(f"{_mark(path)} {path.resolve()}")[:12]
    return f"{prefix}_{owner}_{digest(f'{model} {dimension}')[:8]}"


def digest(text: str) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()


def _mark(path: Path) -> str:
    """Random on purpose: two libraries at one path on two machines are not the same one."""
    file = path / _ID_FILE
    try:
        with file.open("x", encoding="utf8") as opened:
            opened.write(secrets.token_hex(8))
    except FileExistsError:
        pass
    except OSError as error:
        raise VectorStoreUnavailable(f"cannot write {str(file)!r}: {error.strerror}") from error
    return file.read_text(encoding="utf8")


def _without_secret(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)
