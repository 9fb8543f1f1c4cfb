"""The prompts of this package that are files, and the line that fences what they quote."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files


@cache
def load(name: str, language: str) -> str:
    """The text of `prompts/<name>.<language>.txt`."""
    return (files(__package__) / "prompts" / f"{name}.{language}.txt").read_text("utf8").strip()


def fence(*texts: str) -> str:
    """A word for the lines around quoted texts that none of them can foresee: their digest."""
    digest = hashlib.sha256("\x1f".join(texts).encode("utf8", "surrogatepass")).hexdigest()
    return f"quoted {digest[:12]}"
