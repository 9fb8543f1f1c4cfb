"""Are statements that sum up told from those that their sources do not bear out?

    python tests/benchmarks/summing_up.py [--limit N]

Claims are sentences of people's summaries of parts of meetings (QMSum): the hardest there are, new
words for what was said in talk. A true one has the four turns of its part that are nearest to it; a
false one those that another claim rests on (a wrong point cited), or the nearest turns of another
meeting (made up, with what looks like it). Every second claim is for fitting, the others are
reported: how many true ones would be flagged at the threshold in force, how many false ones would.
Reads `../shared/data`; says so when it is missing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(Path(__file__).parent))

from citations import idf_of, passage_of  # noqa: E402
from corpora import DATA  # noqa: E402

from engine.config import CheckSettings  # noqa: E402
from engine.embeddings.bundled import BundledEmbedding  # noqa: E402
from engine.storage.graph_api import sentence_spans  # noqa: E402
from engine.verification.entailment import (  # noqa: E402
    EntailmentScorer,
    multi_source_support,
)

FEWEST_WORDS, MOST_CLAIMS, MOST_TURNS, SHOWN = 6, 4, 90, 4
_MODEL = BundledEmbedding()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a meeting that was asked about, what was said in it, and its summary's claims."""

    question: str
    turns: Sequence[str]
    claims: Sequence[str]


@dataclass(frozen=True, slots=True)
class Case:
    """A claim beside sources; `kind` says where they are from, `supported` if they are its own."""

    claim: str
    question: str
    turns: Sequence[str]
    kind: str

    @property
    def supported(self) -> bool:
        return self.kind == "its own"


def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    found = np.asarray(_MODEL.get_text_embedding_batch(list(texts)), dtype=np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def parts_of(limit: int) -> list[Part]:
    folder = DATA / "qmsum_val"
    meetings = {one["id"]: one for one in map(json.loads, (folder / "corpus.jsonl").open())}
    queries = list(map(json.loads, (folder / "queries.jsonl").open()))
    asked = [one for one in queries if one["type"] == "specific"]
    random.Random(3).shuffle(asked)  # noqa: S311
    parts = []
    for query in asked[:limit]:
        lines = meetings[query["gold_ids"][0]]["text"].split("\n")
        said = [line for first, last in query["turn_spans"] for line in lines[first : last + 1]]
        turns = [line for line in said if len(line.split()) > FEWEST_WORDS][:MOST_TURNS]
        summary = query["answers"][0]
        claims = [summary[start:end] for start, end in sentence_spans(summary)]
        claims = [claim for claim in claims if len(claim.split()) >= FEWEST_WORDS][:MOST_CLAIMS]
        if len(turns) >= 2 * SHOWN and claims:
            parts.append(Part(query["text"], turns, claims))
    return parts


def cases_of(parts: Sequence[Part]) -> list[Case]:
    rng = random.Random(5)  # noqa: S311
    turns = [vectors(part.turns) for part in parts]
    claims = [vectors(part.claims) for part in parts]

    def nearest(at: int, claim: NDArray[np.float32]) -> list[str]:
        order = np.argsort(-(turns[at] @ claim))[:SHOWN]
        return [parts[at].turns[int(row)] for row in order]

    cases = []
    for at, part in enumerate(parts):
        for claim, vector in zip(part.claims, claims[at], strict=True):
            other = rng.choice([place for place in range(len(parts)) if place != at])
            for kind, shown in (
                ("its own", nearest(at, vector)),
                ("another claim's", nearest(other, claims[other][0])),
                ("nearest elsewhere", nearest(other, vector)),
            ):
                cases.append(Case(claim, part.question, shown, kind))
    return cases


def scores(cases: Sequence[Case], *, by_meaning: bool) -> NDArray[np.float64]:
    texts = [turn for case in cases for turn in case.turns]
    weight = idf_of(texts)

    def alike(one: str, other: str) -> float:
        found = vectors([one, other])
        return float(found[0] @ found[1])

    found = []
    for case in cases:
        reader = EntailmentScorer(
            weight=weight, question=case.question, alike=alike if by_meaning else None
        )
        sources = [
            reader.source(passage_of(turn, identity=str(n))) for n, turn in enumerate(case.turns)
        ]
        found.append(multi_source_support(reader.statement(case.claim), sources, reader=reader))
    return np.asarray(found)


def report(name: str, cases: Sequence[Case], found: NDArray[np.float64]) -> None:
    least = CheckSettings().min_support
    print(f"{name}, flagged below {least}:")
    for kind in ("its own", "another claim's", "nearest elsewhere"):
        values = np.asarray([s for case, s in zip(cases, found, strict=True) if case.kind == kind])
        print(f"  {kind:18} {np.mean(values < least):5.1%} of {len(values)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=70, help="parts of meetings")
    wanted = parser.parse_args()
    if not (DATA / "qmsum_val").is_dir():
        sys.exit(f"{DATA / 'qmsum_val'} is missing: this reads public data that is not shipped")
    cases = cases_of(parts_of(wanted.limit))
    held_out = [case for place, case in enumerate(cases) if place // 3 % 2]
    report("by words", held_out, scores(held_out, by_meaning=False))
    report("by words and meaning", held_out, scores(held_out, by_meaning=True))


if __name__ == "__main__":
    main()
