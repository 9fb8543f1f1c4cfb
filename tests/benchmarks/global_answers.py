"""What answers about the whole say, by the way that they are gathered, and what local search says.

    python tests/benchmarks/global_answers.py [--ways WAY …] [--efforts EFFORT …]
        [--meetings N] [--sets sample general specific]

Without a language model, all answers cut to one length. `sample` asks the sample corpus's global
questions: how many of the expected points an answer holds, how many documents it still cites.
`general` and `specific` ask QMSum's questions about a meeting, each in a library of its own: what
share of the words and of the word pairs of the reference summary the answer holds (stop words
left out). Redundancy is the share of word pairs that were said before. The meetings are read from
`../shared/data`; libraries are kept as in `corpora`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT, documents

from engine import Answer, KnowledgeEngine, Settings
from engine.answer.overviews.plan import PLANS, Effort, Selection
from engine.retrieve.tokens import tokens

ROOT = Path(__file__).resolve().parents[2]
WAYS: tuple[Selection, ...] = ("fixed", "dynamic", "lazy", "drift")
OF_THE_SAMPLE, OF_A_MEETING = 3_000, 1_500
"""Characters of every answer."""

TALKATIVE = Settings.model_validate(
    {"answer": {"max_sentences": 40, "budget_tokens": 20_000, "min_evidence": 0.0}}
)
"""Local answers as long as global ones."""

Row = tuple[float, ...]


@contextmanager
def asking(
    path: Path, *, ways: Sequence[Selection], efforts: Sequence[Effort]
) -> Iterator[Callable[[str], dict[str, Answer]]]:
    """A question to its local answer and each way's, from the library at `path`."""
    with (
        KnowledgeEngine.open(path, settings=TALKATIVE) as local,
        KnowledgeEngine.open(path) as engine,
    ):
        overview = engine._questions._parts.overview

        def ask(question: str) -> dict[str, Answer]:
            found = {"local": local.ask(question, mode="local")}
            for way in ways:
                for effort in efforts:
                    chosen = overview.with_selection(way, effort=effort)
                    found[f"{way} {effort}"] = chosen.answer(question)
            return found

        yield ask


def on_sample(ways: Sequence[Selection], efforts: Sequence[Effort]) -> dict[str, list[Row]]:
    """Points held, documents cited, redundancy: a row a question, by way."""
    path = KEPT / "sample"
    with KnowledgeEngine.open(path) as engine:
        engine.add(ROOT / "data" / "corpus")
    lines = (ROOT / "data" / "questions.jsonl").read_text(encoding="utf8").splitlines()
    rows: dict[str, list[Row]] = {}
    with asking(path, ways=ways, efforts=efforts) as ask:
        for question in filter(lambda one: one["type"] == "global", map(json.loads, lines)):
            found = ask(question["text"])
            for name, answer in found.items():
                text = answer.text[:OF_THE_SAMPLE]
                cited = {c.document_id for c in answer.citations if f"[{c.number}]" in text}
                row = (float(held_points(question, text)), float(len(cited)), redundancy(text))
                rows.setdefault(name, []).append(row)
    return rows


def on_meetings(
    kind: str, count: int, *, ways: Sequence[Selection], efforts: Sequence[Effort]
) -> dict[str, list[Row]]:
    """Words and word pairs of the reference held, redundancy: a row a question, by way."""
    texts = {row["id"]: row for row in documents("qmsum_val")}
    lines = (DATA / "qmsum_val" / "queries.jsonl").read_text(encoding="utf8").splitlines()
    asked = [row for row in map(json.loads, lines) if row["type"] == kind]
    chosen = sorted({row["gold_ids"][0] for row in asked})[:count]
    rows: dict[str, list[Row]] = {}
    for meeting in chosen:
        path = KEPT / "meeting" / meeting
        with KnowledgeEngine.open(path) as engine:
            title = texts[meeting]["title"]
            engine.add_text(texts[meeting]["text"], document_id=meeting, title=title)
        with asking(path, ways=ways, efforts=efforts) as ask:
            for row in [row for row in asked if row["gold_ids"] == [meeting]][:3]:
                for name, answer in ask(row["text"]).items():
                    text = answer.text[:OF_A_MEETING]
                    found = (*share(text, row["answers"][0]), redundancy(text))
                    rows.setdefault(name, []).append(found)
    return rows


def held_points(question: dict, text: str) -> int:
    """How many of a question's expected points an answer holds."""
    folded = text.casefold()
    return sum(
        all(any(word.casefold() in folded for word in group) for group in point["any_of"])
        for point in question["points"]
    )


def share(text: str, reference: str) -> tuple[float, float]:
    """Which share of the reference's words, and of its word pairs, a text holds."""
    said, wanted = tokens(text), tokens(reference)
    words, pairs = set(said), set(pairwise(said))
    asked = list(pairwise(wanted))
    return (
        sum(word in words for word in wanted) / max(1, len(wanted)),
        sum(pair in pairs for pair in asked) / max(1, len(asked)),
    )


def redundancy(text: str) -> float:
    """Which share of a text's word pairs it had said before."""
    pairs = list(pairwise(tokens(re.sub(r"\[\d+\]", "", text))))
    return 1 - len(set(pairs)) / max(1, len(pairs))


def main() -> None:
    """Measure and print a line a way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--efforts", nargs="*", default=["medium"], choices=list(PLANS))
    parser.add_argument("--meetings", type=int, default=30)
    parser.add_argument("--sets", nargs="*", default=["sample", "general", "specific"])
    given = parser.parse_args()
    for name in given.sets:
        if name == "sample":
            rows = on_sample(given.ways, given.efforts)
            titles = ("points", "documents", "redundancy")
        else:
            rows = on_meetings(name, given.meetings, ways=given.ways, efforts=given.efforts)
            titles = ("words", "pairs", "redundancy")
        for way, found in rows.items():
            means = [sum(column) / len(column) for column in zip(*found, strict=True)]
            figures = " ".join(f"{t} {m:.3f}" for t, m in zip(titles, means, strict=True))
            print(f"{name:9} {way:15} {len(found):3} question(s): {figures}")


if __name__ == "__main__":
    main()
