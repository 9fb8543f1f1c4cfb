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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
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


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """A question with its answers, and the sentences that bear them out: document id and text."""

    text: str
    answers: tuple[str, ...]
    sentences: tuple[tuple[str, str], ...]


def gold_queries(name: str) -> list[GoldQuery]:
    """The questions of a set, with supporting sentences where its data lead to them.

    HotpotQA numbers them (by a splitter that is not ours: a number beyond ours is left out); of
    MuSiQue's steps and of 2Wiki's triples it is the sentence of the gold document (of a triple: the
    one titled like its subject) that holds the answer or the object, and of several the one with
    the most words of the step or the triple.
    """
    texts = {row["id"]: row for row in documents(name)}
    return [
        GoldQuery(
            row["text"],
            tuple(row.get("answers", ())),
            tuple(dict.fromkeys(_supporting(row, texts))),
        )
        for row in _rows(DATA / name / "queries.jsonl")
    ]


def _supporting(row: dict, texts: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    from graph.text.sentences import sentence_spans

    def of(document_id: str) -> list[str]:
        text = texts[document_id]["text"]
        return [text[start:end] for start, end in sentence_spans(text)]

    for document_id, number in row.get("supporting_sentences", ()):
        yield from ((document_id, one) for one in of(document_id)[number : number + 1])
    steps = [(s["gold_id"], s["answer"], s["question"]) for s in row.get("decomposition", ())]
    for subject, relation, value in row.get("evidence_triples", ()):
        titled = [i for i in row["gold_ids"] if texts[i]["title"].casefold() == subject.casefold()]
        steps.extend((document_id, value, f"{subject} {relation}") for document_id in titled)
    for document_id, wanted, told in steps:
        holds = [one for one in of(document_id) if wanted.casefold() in one.casefold()]
        if holds:
            yield document_id, max(holds, key=partial(_shared_words, told))


def _shared_words(one: str, other: str) -> int:
    return len({*one.casefold().split()} & {*other.casefold().split()})


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
