"""Context prefix indexed with a chunk, never cited: title and context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def context_prefix(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Return title and context of a node; a title repeated in the context is dropped."""
    title = str(metadata.get("title") or "")
    context = str(metadata.get("context") or "")
    if title and context.startswith(title):
        context = context[len(title) :].lstrip(" ›.")
    return title, context
