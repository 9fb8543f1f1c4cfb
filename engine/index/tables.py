"""Tables of the library besides the graph's: documents, vectors and keyword tokens.

`vectors` and `keywords` belong to a chunk and go with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from ..types import MetaValue
from .door import metadata

documents = Table(
    "documents",
    metadata,
    Column("id", String, primary_key=True),
    Column("title", Text, nullable=False),
    Column("type", String, nullable=False),
    Column("path", Text),
    Column("namespace", String, nullable=False, server_default=""),
    # What it was read from (a file, an archive, an address, a table), and that one's hash.
    Column("source", Text, nullable=False, server_default="", index=True),
    Column("source_sha256", String, nullable=False, server_default=""),
    Column("sha256", String, nullable=False),
    Column("recipe", String, nullable=False),  # how it was cut, embedded and extracted
    Column("text", Text, nullable=False),
    Column("pages", Text, nullable=False),  # JSON list of start offsets
    Column("metadata", Text, nullable=False),  # JSON: what the source says of itself
    Column("given", Text, nullable=False, server_default="{}"),  # JSON: what its owner says of it
    Column("outdated", Text),  # why its source can no longer be read; null while it can
)

vectors = Table(
    "vectors",
    metadata,
    Column("chunk_id", ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("window", Integer, primary_key=True),
    Column("model", String, nullable=False),
    Column("input_sha", String, nullable=False),
    Column("vector", LargeBinary, nullable=False),  # float32, unit length
    Index("vectors_by_input", "input_sha", "model"),
)
"""Vectors; a chunk longer than the encoder's window has several, and the best counts."""

keywords = Table(
    "keywords",
    metadata,
    Column("chunk_id", ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("title", Text, nullable=False),  # tokens with spaces between
    Column("body", Text, nullable=False),  # the title's tokens among them
    Column("readable", Float, nullable=False),  # 0–1: how much of it the bundled encoder can read
)

usage = Table(
    "usage",
    metadata,
    Column("day", String, primary_key=True),  # ISO 8601, UTC
    Column("stage", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("calls", Integer, nullable=False),
    Column("failed", Integer, nullable=False),  # calls that gave nothing that could be used
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("cost", Float, nullable=False),
    # Of the prompts' tokens, what the provider had kept from calls before.
    Column("cached_tokens", Integer, nullable=False, server_default="0"),
)
"""LLM usage by day, stage and model."""

replies = Table(
    "replies",
    metadata,
    Column("key", String, primary_key=True),  # hash of model, parameters and prompt
    Column("generation", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
)
"""Cached LLM replies to questions; deleted when documents change."""

unanswered = Table(
    "unanswered",
    metadata,
    Column("stage", String, primary_key=True),
    Column("asker", String, primary_key=True),  # the model and all that decides its answers
    Column("key", String, primary_key=True),  # hash of what was asked about
    Column("reason", Text, nullable=False),
)
"""What models gave no usable answer about, and are not asked again.

`unanswered.py` says which.
"""


def metadata_text(values: Mapping[str, MetaValue]) -> str:
    """Return a document's metadata as stored: JSON, sorted by key."""
    return json.dumps(dict(sorted(values.items())), ensure_ascii=False)


def metadata_values(text: str) -> dict[str, MetaValue]:
    """Metadata as they were before `metadata_text`."""
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in json.loads(text).items()
    }
