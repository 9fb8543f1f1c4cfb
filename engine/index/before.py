"""What is read before a chunk's text to find it, and never cited: its title, and its context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def before(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Title and context of a node; a context that begins with the title does not say it twice."""
    title = str(metadata.get("title") or "")
    context = str(metadata.get("context") or "")
    if title and context.startswith(title):
        context = context[len(title) :].lstrip(" ›.")
    return title, context
