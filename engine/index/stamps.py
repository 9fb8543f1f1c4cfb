"""Stamps that identify a library's state, for caches."""

from __future__ import annotations

import hashlib

from sqlalchemy import Connection, select

from .door import derived_stamp, reports_stamp
from .library import vector_stamp
from .tables import documents


def answer_cache_stamp(connection: Connection) -> str:
    """Return a stamp that changes with anything an answer may rest on."""
    parts = (derived_stamp(connection), vector_stamp(connection), reports_stamp(connection))
    return "/".join(parts)


def contents_fingerprint(connection: Connection) -> str:
    """Return a fingerprint of the set of documents; separates libraries with equal counts."""
    columns = [documents.c[name] for name in ("id", "sha256", "recipe", "metadata", "given")]
    digest = hashlib.sha256()
    for row in connection.execute(select(*columns).order_by(documents.c.id)):
        digest.update(repr(tuple(row)).encode("utf8", "surrogatepass"))
    return digest.hexdigest()
