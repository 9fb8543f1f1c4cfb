"""Retrieval where the walk has it hard: no titles, long documents, many subjects, meetings.

    python tests/benchmarks/hard_sets.py [--subset] [KIND:SET …]

Kinds: `untitled` (passages without their titles), `joined` (twenty passages, in an order that says
nothing, make one document under a title that says nothing; cut by the chunker), `pooled` (the
three multi-hop sets and SciFact in one library, each asked by itself) and `meetings` (QMSum's
specific questions, over all meetings and within the question's own). Built through the engine and
kept like the other libraries (see `corpora`); `--subset` takes fewer of the largest set.

What is asked for is spans of documents: a passage, or the turns of a meeting. A span counts as
found at k when the first k chunks hold at least half of its characters. Printed are recall at 2, 5
and 10, all at 5, and the walk against fusion, RRF and itself without the second look, with a paired
bootstrap interval.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import KEPT, documents, queries, turn_queries
from retrieval import LISTS, bootstrap

from engine import KnowledgeEngine, Settings

MULTI_HOP = ("hotpotqa_train100", "2wiki_dev300", "musique_train100")
POOL = (*MULTI_HOP, "scifact_dev")
JOINED = 20
SUBSET = {"2wiki_dev300": (100, 2_000)}
"""Questions and documents taken of a set with `--subset`; other sets are taken whole."""
CUTS = (2, 5, 10)
ALL = ("untitled", "joined", "pooled", "meetings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Characters `start` to `end` of a document."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, the spans it needs, and the one document it is about, where it names one."""

    text: str
    gold: tuple[Span, ...]
    within: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardSet:
    """Documents as `(id, title, text)`, and what is asked of them."""

    name: str
    documents: list[tuple[str, str, str]]
    asked: list[Asked]


def hard_set(kind: str, name: str, *, subset: bool) -> list[HardSet]:
    """The sets of one kind; `pooled` and `meetings` give several over the same documents."""
    match kind:
        case "untitled":
            return [_untitled(name, subset=subset)]
        case "joined":
            return [_joined(name, subset=subset)]
        case "pooled":
            return _pooled()
        case "meetings":
            return _meetings()
    sys.exit(f"unknown kind {kind!r}: one of {', '.join(ALL)}")


def _taken(name: str, *, subset: bool) -> tuple[list[dict[str, str]], list[Any]]:
    """Documents and questions of a set, or its first ones with all their gold."""
    rows, asked = documents(name), queries(name)
    if subset and name in SUBSET:
        question_count, document_count = SUBSET[name]
        asked = asked[:question_count]
        needed = frozenset().union(*(query.gold for query in asked))
        others = [row["id"] for row in rows if row["id"] not in needed]
        kept = needed | set(others[: document_count - len(needed)])
        rows = [row for row in rows if row["id"] in kept]
    return rows, asked


def _untitled(name: str, *, subset: bool) -> HardSet:
    rows, asked = _taken(name, subset=subset)
    length = {row["id"]: len(row["text"]) for row in rows}
    return HardSet(
        name=f"untitled-{name}",
        documents=[(row["id"], "", row["text"]) for row in rows],
        asked=[
            Asked(
                text=query.text,
                gold=tuple(Span(document_id=g, start=0, end=length[g]) for g in sorted(query.gold)),
            )
            for query in asked
        ],
    )


def _joined(name: str, *, subset: bool) -> HardSet:
    """Passages in the order of their ids' hashes, so that neighbours have nothing in common."""
    rows, asked = _taken(name, subset=subset)
    rows = sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).digest())
    spans: dict[str, Span] = {}
    joined: list[tuple[str, str, str]] = []
    for first in range(0, len(rows), JOINED):
        identity = f"file-{first // JOINED:03}"
        text = ""
        for row in rows[first : first + JOINED]:
            body = row["text"].strip()
            spans[row["id"]] = Span(
                document_id=identity, start=len(text), end=len(text) + len(body)
            )
            text += body + "\n\n"
        joined.append((identity, f"File {first // JOINED:03}", text.rstrip()))
    return HardSet(
        name=f"joined-{name}",
        documents=joined,
        asked=[
            Asked(text=query.text, gold=tuple(spans[g] for g in sorted(query.gold)))
            for query in asked
        ],
    )


def _pooled() -> list[HardSet]:
    every = [(r["id"], r["title"], r["text"]) for name in POOL for r in documents(name)]
    length = {identity: len(text) for identity, _, text in every}
    return [
        HardSet(
            name=f"pooled ({name})",
            documents=every,
            asked=[
                Asked(
                    text=query.text,
                    gold=tuple(
                        Span(document_id=g, start=0, end=length[g]) for g in sorted(query.gold)
                    ),
                )
                for query in queries(name)
            ],
        )
        for name in POOL
    ]


def _meetings() -> list[HardSet]:
    rows = documents("qmsum_val")
    starts: dict[str, list[int]] = {}
    for row in rows:
        places = [0]
        for line in row["text"].split("\n"):
            places.append(places[-1] + len(line) + 1)
        starts[row["id"]] = places
    given = [(row["id"], row["title"], row["text"]) for row in rows]
    asked = [
        Asked(
            text=query.text,
            within=query.document_id,
            gold=tuple(
                Span(
                    document_id=query.document_id,
                    start=starts[query.document_id][turn],
                    end=starts[query.document_id][turn + 1] - 1,
                )
                for turn in query.turns
            ),
        )
        for query in turn_queries("qmsum_val")
    ]
    anywhere = [Asked(text=each.text, gold=each.gold) for each in asked]
    return [
        HardSet(name="meetings (all)", documents=given, asked=anywhere),
        HardSet(name="meetings (own)", documents=given, asked=asked),
    ]


def built(folder: Path, given: Sequence[tuple[str, str, str]]) -> float:
    """Add what is new to the library there; the CPU seconds it took."""
    from llama_index.core.schema import Document

    KEPT.mkdir(parents=True, exist_ok=True)
    started = time.process_time()
    with KnowledgeEngine.open(folder) as engine:
        report = engine.add(
            [
                Document(id_=identity, text=text, metadata={"title": title, "about": identity})
                for identity, title, text in given
            ]
        )
    if report.failed:
        sys.exit(f"{len(report.failed)} documents failed, first: {report.failed[0]}")
    return time.process_time() - started


Found = list[list[Span]]


def run(
    folder: Path, asked: Sequence[Asked], lists: dict[str, object]
) -> tuple[Found, list[float]]:
    """The spans of the chunks found for every question, best first, and milliseconds."""
    settings = Settings.model_validate({"retrieve": lists})
    found, times = [], []
    with KnowledgeEngine.open(folder, settings=settings) as engine:
        engine.retrieve("warm up", top_k=max(CUTS))
        for each in asked:
            filters = None if each.within is None else {"about": each.within}
            started = time.perf_counter()
            passages = engine.retrieve(each.text, top_k=max(CUTS), filters=filters)
            times.append(1000 * (time.perf_counter() - started))
            found.append(
                [Span(document_id=p.document_id, start=p.start, end=p.end) for p in passages]
            )
    return found, times


def held(gold: Span, chunks: Sequence[Span]) -> bool:
    """Whether chunks, which may overlap, hold at least half of a span's characters."""
    inside = np.zeros(max(gold.end - gold.start, 1), dtype=bool)
    for chunk in chunks:
        if chunk.document_id == gold.document_id:
            inside[max(chunk.start - gold.start, 0) : max(chunk.end - gold.start, 0)] = True
    return bool(inside.mean() >= 0.5)


def recalls(asked: Sequence[Asked], found: Found, cut: int) -> np.ndarray:
    """The share of each question's gold spans that the first `cut` chunks hold."""
    return np.array(
        [
            np.mean([held(gold, chunks[:cut]) for gold in each.gold])
            for each, chunks in zip(asked, found, strict=True)
        ]
    )


def show(hard: HardSet, folder: Path) -> None:
    """Print the table of one set."""
    print(f"\n{hard.name}: {len(hard.documents)} documents, {len(hard.asked)} questions")
    print(f"{'':14} {'R@2':>6} {'R@5':>6} {'R@10':>6} {'all@5':>6} {'p50 ms':>7} {'p95 ms':>7}")
    results: dict[str, Found] = {}
    for label, lists in LISTS.items():
        results[label], times = run(folder, hard.asked, lists)
        row = [recalls(hard.asked, results[label], cut).mean() for cut in CUTS]
        row.append(float((recalls(hard.asked, results[label], 5) == 1.0).mean()))
        middle, late = np.percentile(times, [50, 95])
        print(f"{label:14} " + " ".join(f"{x:6.3f}" for x in row) + f" {middle:7.1f} {late:7.1f}")
    for other in ("fusion", "fusion (RRF)", "walk alone"):
        for cut in (5, 10):
            gain = recalls(hard.asked, results["walk"], cut)
            gain = gain - recalls(hard.asked, results[other], cut)
            low, high = bootstrap(gain)
            print(f"walk − {other}, R@{cut}: {gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="KIND:SET")
    parser.add_argument("--subset", action="store_true")
    parser.add_argument("--build-only", action="store_true")
    arguments = parser.parse_args()
    wanted = arguments.sets or [
        f"{kind}:{name}"
        for kind in ALL
        for name in (MULTI_HOP if kind in {"untitled", "joined"} else ("",))
    ]
    for each in wanted:
        kind, _, name = each.partition(":")
        sets = hard_set(kind, name, subset=arguments.subset)
        size = "-subset" if arguments.subset and name in SUBSET else ""
        folder = KEPT / (f"{kind}-{name}{size}" if name else kind)
        seconds = built(folder, sets[0].documents)
        print(f"{each}: built in {seconds:.0f} CPU s", flush=True)
        if not arguments.build_only:
            for hard in sets:
                show(hard, folder)


if __name__ == "__main__":
    main()
