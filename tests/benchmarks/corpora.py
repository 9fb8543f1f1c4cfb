"""The public retrieval sets as they lie beside the project, and libraries built from them.

A built library is kept (under `LOREGRAPH_BENCH`, else the system's temporary folder) and used
again while documents and settings stay the same, so that a run after the first is quick.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[3] / "shared" / "data"
KEPT = Path(os.environ.get("LOREGRAPH_BENCH") or Path(tempfile.gettempdir()) / "loregraph-bench")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the ids of the documents it needs, and its answers."""

    text: str
    gold: frozenset[str]
    answers: tuple[str, ...]


def documents(name: str) -> list[dict[str, str]]:
    """`{id, title, text}` of a set; leaves the program with a message where it is missing."""
    return _rows(DATA / name / "corpus.jsonl")


def queries(name: str) -> list[Query]:
    """The questions of a set that have gold documents."""
    return [
        Query(row["text"], frozenset(row["gold_ids"]), tuple(row.get("answers", ())))
        for row in _rows(DATA / name / "queries.jsonl")
        if row["gold_ids"]
    ]


@dataclass(frozen=True, slots=True)
class TurnQuery:
    """A question about one meeting, and the turns (lines of its text) that answer it."""

    text: str
    document_id: str
    turns: tuple[int, ...]


def turn_queries(name: str) -> list[TurnQuery]:
    """The questions of a set of meetings that are about certain turns."""
    return [
        TurnQuery(
            row["text"],
            row["gold_ids"][0],
            tuple(sorted({t for a, b in row["turn_spans"] for t in range(a, b + 1)})),
        )
        for row in _rows(DATA / name / "queries.jsonl")
        if row["turn_spans"]
    ]


def _rows(path: Path) -> list[dict]:
    if not path.exists():
        sys.exit(f"no public data at {path}: this benchmark reads it from beside the project")
    return [json.loads(line) for line in path.read_text(encoding="utf8").splitlines() if line]


def built(name: str, engine_of) -> tuple[object, float]:
    """An engine over the set's library, adding what is new; and the CPU seconds it took."""
    from llama_index.core.schema import Document

    KEPT.mkdir(parents=True, exist_ok=True)
    engine = engine_of(KEPT / name)
    started = time.process_time()
    given = [
        Document(id_=row["id"], text=row["text"], metadata={"title": row["title"]})
        for row in documents(name)
    ]
    report = engine.add(given)
    if report.failed:
        sys.exit(f"{name}: {len(report.failed)} documents failed, first: {report.failed[0]}")
    return engine, time.process_time() - started
