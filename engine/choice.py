"""Validated ingestion options: which sources, and the user's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .errors import SourceError
from .ingest.content import sanitise_text
from .namespaces import check_namespace
from .types import MetaValue

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Which of the sources are meant, and what their owner says of them.

    `include` and `exclude` are patterns as in `.gitignore` for what lies in folders, `tables` are
    patterns of table names in databases. `metadata` None leaves what documents have. With `strict`
    a document goes whose file can no longer be read; `remove_many` agrees to many removals.

    Raises:
        SourceError: a namespace or metadata that cannot be.
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    tables: Sequence[str] = ()
    namespace: str = ""
    metadata: Mapping[str, MetaValue] | None = None
    strict: bool = False
    remove_many: bool = False

    def __post_init__(self) -> None:
        check_namespace(self.namespace)
        for key, value in (self.metadata or {}).items():
            if not isinstance(value, (str, int, float, bool, tuple)):
                raise SourceError(
                    f"metadata {key!r} is a {type(value).__name__}: "
                    "give text, a number, true or false, or a tuple of texts"
                )
            for text in (key, *(value if isinstance(value, tuple) else (value,))):
                if isinstance(text, str) and sanitise_text(text) != text:
                    raise SourceError(f"metadata {key!r}: {text!r} holds what is no character")


def as_list(sources: T | Sequence[T]) -> list[T]:
    """One source or several as a list; a text is one."""
    if isinstance(sources, Sequence) and not isinstance(sources, str):
        return list(sources)
    return [sources]
