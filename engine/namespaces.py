"""What a namespace may be called."""

from __future__ import annotations

import re

from .errors import SourceError

_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{0,64}")


def check_namespace(namespace: str) -> None:
    """Raises `SourceError` for a namespace that cannot be."""
    if _NAMESPACE.fullmatch(namespace) is None:
        raise SourceError(
            f"namespace {namespace!r}: use up to 64 letters, digits, dots, dashes and underscores"
        )
