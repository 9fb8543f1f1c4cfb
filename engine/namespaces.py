"""What a namespace may be called, and how ids say which one a document is in."""

from __future__ import annotations

import re

from .errors import SourceError

SEPARATOR = "::"
_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{0,64}")


def check_namespace(namespace: str) -> None:
    """Raises `SourceError` for a namespace that cannot be."""
    if _NAMESPACE.fullmatch(namespace) is None:
        raise SourceError(
            f"namespace {namespace!r}: use up to 64 letters, digits, dots, dashes and underscores"
        )


def id_in(namespace: str, name: str) -> str:
    """The id of a document of this name; empty is no namespace."""
    return f"{namespace}{SEPARATOR}{name}" if namespace else name
