"""Content-derived chunk ids: equal documents give equal chunks."""

from __future__ import annotations

import hashlib


def chunk_id(document_id: str, start: int, text: str) -> str:
    """Return `c` and 16 hex digits of SHA-256 over document id, start and text."""
    parts = "\x1f".join((document_id, str(start), text))
    return "c" + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:16]
