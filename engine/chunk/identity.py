"""Ids of chunks, made of content: the same document gives the same chunks everywhere."""

from __future__ import annotations

import hashlib


def chunk_id(document_id: str, start: int, text: str) -> str:
    """`c` and 16 hex digits of SHA-256 over the document's id, the chunk's start and its text."""
    parts = "\x1f".join((document_id, str(start), text))
    return "c" + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:16]
