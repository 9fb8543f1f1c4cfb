"""Prompts as values: files, delimiters, reply schemas, and the type of LLM callables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """LLM request. `system` is constant within a stage, so servers can cache it.

    `schema` is the JSON schema of the answer, for endpoints that can hold a model to it; None
    asks for prose. `max_output_tokens` bounds the answer.
    """

    system: str
    user: str
    max_output_tokens: int
    schema: Mapping[str, Any] | None = field(default=None, hash=False)


Ask = Callable[[Prompt], str]
"""The model's whole answer, never empty. What it raises passes through unchanged."""


@cache
def load_prompt(name: str, language: str, *, package: str = f"{__package__}.prompts") -> str:
    """Return the text of the package's file `<name>.<language>.txt`."""
    home, _, folder = package.rpartition(".")
    return (files(home) / folder / f"{name}.{language}.txt").read_text("utf8").strip()


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with all of these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a list of such objects."""
    return {"type": "array", "items": object_schema(properties)}


def fence(*texts: str) -> str:
    """Return an unforeseeable delimiter: a digest of the quoted texts."""
    digest = hashlib.sha256("\x1f".join(texts).encode("utf8", "surrogatepass")).hexdigest()
    return f"quoted {digest[:12]}"
