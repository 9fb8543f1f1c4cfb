"""Prompt files of this package, and delimiters of quoted texts."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files


@cache
def load(name: str, language: str) -> str:
    """Return the text of `prompts/<name>.<language>.txt`."""
    return (files(__package__) / "prompts" / f"{name}.{language}.txt").read_text("utf8").strip()


def fence(*texts: str) -> str:
    """Return an unforeseeable delimiter: a digest of the quoted texts."""
    digest = hashlib.sha256("\x1f".join(texts).encode("utf8", "surrogatepass")).hexdigest()
    return f"quoted {digest[:12]}"
