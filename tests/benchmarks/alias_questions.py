"""Questions over a long Chinese novel that name a person otherwise than the answering passage.

    python tests/benchmarks/alias_questions.py [--show 20]

The novel (三国演义) lies beside the project; each of its chapters is a document. A question in
`alias_questions.jsonl` says 刘备 where its gold quote says 玄德, or the other way round; the quote
is looked up in the novel at run time and must stand there once. Counted is whether a passage among
the first k holds at least half of the quote: recall at 1, 2, 5, 10, and the mean reciprocal rank
among ten. `told` is fusion asked with the name as it is written: what knowing the alias could bring
at most. The walk's gain over fusion in R@5 has a paired bootstrap interval (95 %, 2,000 resamples).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT

from engine import KnowledgeEngine, Settings

if TYPE_CHECKING:
    import numpy.typing as npt

NOVEL = DATA / "novels" / "sanguoyanyi_zh.txt"
QUESTIONS = Path(__file__).with_suffix(".jsonl")
LIBRARY = "alias_questions"
LISTS: Mapping[str, dict[str, object]] = {
    "BM25": {"keyword": True, "dense": False, "walk": False},
    "fusion": {"keyword": True, "dense": True, "walk": False},
    "walk": {"keyword": True, "dense": True, "walk": True},
}
DEPTHS = (1, 2, 5, 10)
QUOTE_CHARACTERS = range(20, 81)
CHAPTERS = 120
_HEADING = re.compile(r"^第[一二三四五六七八九十百零]{1,6}回\s[^\n]+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter: its number from 1, its heading line, and its text, heading included."""

    number: int
    title: str
    text: str

    @property
    def id(self) -> str:
        """The id of its document."""
        return f"chapter-{self.number:03}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasQuestion:
    """A question, where its answer stands (`start` to `end` of the chapter), and both names."""

    id: str
    text: str
    document_id: str
    start: int
    end: int
    asked: str
    written: str


def main() -> int:
    """Print recall and MRR of each list, and the walk's gain."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--show", type=int, default=0, help="print so many questions that fail")
    parser.add_argument("--check", action="store_true", help="check the questions and stop")
    arguments = parser.parse_args()
    if not NOVEL.exists():
        print(f"skipped: {NOVEL} is not there; this benchmark reads it from beside the project")
        return 0
    parts = chapters(NOVEL.read_text(encoding="utf8"))
    asked = questions(QUESTIONS.read_text(encoding="utf8"), parts)
    if arguments.check:
        print(f"{len(asked)} questions over {len({q.document_id for q in asked})} chapters")
        return 0
    build(parts)
    ranks = {label: ranks_of(asked, lists) for label, lists in LISTS.items()}
    told = [replace(q, text=q.text.replace(q.asked, q.written)) for q in asked]
    ranks["told"] = ranks_of(told, LISTS["fusion"])
    report(ranks)
    missed = [q for q, rank in zip(asked, ranks["walk"], strict=True) if not 0 < rank <= 5]
    for question in missed[: arguments.show]:
        print(f"  missed: {question.id} {question.text} ({question.asked} / {question.written})")
    return 0


def chapters(text: str) -> list[Chapter]:
    """The novel's chapters in order; ends the program where they are not all found."""
    headings = list(_HEADING.finditer(text))
    if len(headings) != CHAPTERS:
        sys.exit(f"{NOVEL}: {len(headings)} chapter headings found, expected {CHAPTERS}")
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return [
        Chapter(
            number=number,
            title=" ".join(heading[0].split()),
            text=text[heading.start() : end].rstrip(),
        )
        for number, (heading, end) in enumerate(zip(headings, ends, strict=True), start=1)
    ]


def questions(lines: str, parts: Sequence[Chapter]) -> list[AliasQuestion]:
    """The questions with the places of their quotes; ends the program with what is wrong of them.

    A quote has 20 to 80 characters and stands in the novel once. It holds the name as written and
    not the name as asked, which stands in the question.
    """
    found, faults = [], []
    for row in map(json.loads, lines.splitlines()):
        asked, written = row["aliases"]
        quote = row["gold"][0]["quote"]
        places = [(part, part.text.find(quote)) for part in parts if quote in part.text]
        if len(quote) not in QUOTE_CHARACTERS:
            faults.append(f"{row['id']}: the quote has {len(quote)} characters")
        if sum(part.text.count(quote) for part, _ in places) != 1:
            faults.append(f"{row['id']}: the quote stands in {len(places)} chapters, not in one")
        if asked not in row["text"] or asked in quote or written not in quote:
            faults.append(f"{row['id']}: {asked} or {written} is not where it should be")
        for part, start in places[:1]:
            found.append(
                AliasQuestion(
                    id=row["id"],
                    text=row["text"],
                    document_id=part.id,
                    start=start,
                    end=start + len(quote),
                    asked=asked,
                    written=written,
                )
            )
    if len({question.id for question in found}) != len(found):
        faults.append("two questions have one id")
    if faults:
        sys.exit("\n".join(faults))
    return found


def build(parts: Sequence[Chapter]) -> None:
    """Bring the kept library up to date with the chapters, the default profile throughout."""
    from llama_index.core.schema import Document

    KEPT.mkdir(parents=True, exist_ok=True)
    started = time.process_time()
    with KnowledgeEngine.open(KEPT / LIBRARY) as engine:
        outcome = engine.add(
            [Document(id_=p.id, text=p.text, metadata={"title": p.title}) for p in parts]
        )
        if outcome.failed:
            sys.exit(f"{len(outcome.failed)} chapters failed, first: {outcome.failed[0]}")
        seconds = time.process_time() - started
        print(f"{len(parts)} chapters, {engine.stats()['chunks']} chunks ({seconds:.0f} CPU s)")


def ranks_of(asked: Sequence[AliasQuestion], lists: dict[str, object]) -> npt.NDArray[np.int64]:
    """For every question the place, from 1, of the first passage with its quote; 0 for none."""
    settings = Settings.model_validate({"retrieve": lists})
    ranks = np.zeros(len(asked), dtype=np.int64)
    with KnowledgeEngine.open(KEPT / LIBRARY, settings=settings) as engine:
        for index, question in enumerate(asked):
            passages = engine.retrieve(question.text, top_k=max(DEPTHS))
            for place, passage in enumerate(passages[: max(DEPTHS)], start=1):
                if passage.document_id != question.document_id:
                    continue
                shared = min(passage.end, question.end) - max(passage.start, question.start)
                if 2 * shared >= question.end - question.start:
                    ranks[index] = place
                    break
    return ranks


def report(ranks: Mapping[str, npt.NDArray[np.int64]]) -> None:
    """The table, and the walk's gain over fusion with its interval."""
    print(f"{'':8} " + " ".join(f"{f'R@{k}':>6}" for k in DEPTHS) + f" {'MRR':>6}")
    for label, some in ranks.items():
        row = [recall(some, k).mean() for k in DEPTHS]
        row.append(np.where(some > 0, 1 / np.maximum(some, 1), 0.0).mean())
        print(f"{label:8} " + " ".join(f"{value:6.3f}" for value in row))
    gain = recall(ranks["walk"], 5) - recall(ranks["fusion"], 5)
    low, high = bootstrap(gain)
    print(f"walk − fusion, R@5: {gain.mean():+.3f} [{low:+.3f}, {high:+.3f}], n={len(gain)}")


def recall(ranks: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.float64]:
    """For every question 1.0 if its passage is among the first `k`, else 0.0."""
    return ((ranks > 0) & (ranks <= k)).astype(np.float64)


def bootstrap(differences: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of the mean, resampling questions."""
    chosen = np.random.default_rng(7).integers(0, len(differences), (2000, len(differences)))
    low, high = np.percentile(differences[chosen].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


if __name__ == "__main__":
    sys.exit(main())
