"""Reconciliation of an external vector store with the library.

A point's id is a hash of the chunk, the window, the embedded text and the model, so a set of ids
says all: a changed vector is another point. Vectors come from the library, so nothing is embedded
again. The stamp of the last time is thrown away before the store is touched and written after:
whatever dies in between, the next opening begins anew.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from sqlalchemy import Connection, select

from .door import batches, chunk_table
from .stores import BATCH, OpenStore, digest
from .tables import documents, vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """Numbers of points added and removed by a reconciliation."""

    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """Location of a point's vector in the library."""

    chunk_id: str
    number: int


def point_id(chunk_id: str, number: int, *, input_sha: str, model: str) -> str:
    """Return the UUID of window `number` of a chunk; Qdrant accepts no other text."""
    return str(uuid.UUID(digest("\x1f".join([f"{chunk_id}#{number}", input_sha, model]))[:32]))


def expected_points(connection: Connection, *, model: str) -> dict[str, Window]:
    """Every vector of the model that the library holds, by point id, sorted."""
    columns = (vectors.c.chunk_id, vectors.c.window, vectors.c.input_sha)
    rows = connection.execute(select(*columns).where(vectors.c.model == model))
    points = {
        point_id(row.chunk_id, row.window, input_sha=row.input_sha, model=model): Window(
            row.chunk_id, row.window
        )
        for row in rows
    }
    return dict(sorted(points.items()))


def reconcile(
    store: OpenStore, connection: Connection, *, model: str, full: bool = False
) -> SyncResult:
    """Make the store hold exactly the library's vectors; with `full`, rewrite every one."""
    wanted = expected_points(connection, model=model)
    held = Counter(store.ids())
    ghosts = sorted(name for name, times in held.items() if full or times > 1 or name not in wanted)
    for start in range(0, len(ghosts), BATCH):
        store.remove(ghosts[start : start + BATCH])
    gone = set(ghosts)
    missing = [name for name in wanted if name in gone or name not in held]
    for start in range(0, len(missing), BATCH):
        some = {name: wanted[name] for name in missing[start : start + BATCH]}
        store.put(_nodes(connection, some, model=model))
    return SyncResult(added=len(missing), removed=sum(held[name] for name in ghosts))


def _nodes(connection: Connection, points: Mapping[str, Window], *, model: str) -> list[TextNode]:
    names = {(window.chunk_id, window.number): name for name, window in points.items()}
    nodes: dict[str, TextNode] = {}
    for batch in batches(sorted({window.chunk_id for window in points.values()})):
        query = (
            select(vectors, chunk_table.c.document_id, documents.c.namespace)
            .join(chunk_table, chunk_table.c.id == vectors.c.chunk_id)
            .outerjoin(documents, documents.c.id == chunk_table.c.document_id)
            .where(vectors.c.model == model, vectors.c.chunk_id.in_(batch))
        )
        for row in connection.execute(query):
            name = names.get((row.chunk_id, row.window))
            if name is not None:
                vector = np.frombuffer(row.vector, dtype="<f4").tolist()
                nodes[name] = _node(
                    name,
                    row.chunk_id,
                    row.document_id,
                    namespace=row.namespace or "",
                    vector=vector,
                )
    return [nodes[name] for name in points if name in nodes]


def _node(
    name: str, chunk_id: str, document_id: str, *, namespace: str, vector: list[float]
) -> TextNode:
    """Build a point without text, so that deleted text leaves no copy."""
    node = TextNode(
        id_=name,
        text="",
        embedding=vector,
        metadata={
            "chunk_id": chunk_id,
            "document_key": document_key(document_id),
            "namespace": namespace.replace("\0", "\ufffd"),
            "namespace_key": namespace_key(namespace),
        },
    )
    plain = document_id.replace("\0", "\ufffd")  # PostgreSQL holds no such character
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=plain)
    return node


def document_key(document_id: str) -> str:
    """Return the filter key of a document's points."""
    return "d" + digest(document_id)[:24]


def namespace_key(namespace: str) -> str:
    """Return the filter key of a namespace's points."""
    return "n" + digest(namespace)[:24]


def read_stamp(file: Path) -> dict[str, str]:
    """Return the stamp of the store's last state; empty if unknown."""
    try:
        held = json.loads(file.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def write_stamp(file: Path, stamp: Mapping[str, str]) -> None:
    """Note what the store is equal to now; whole or not at all."""
    temporary = file.with_name(f"{file.name}.part")
    temporary.write_text(json.dumps(dict(sorted(stamp.items()))), encoding="utf8")
    temporary.replace(file)
