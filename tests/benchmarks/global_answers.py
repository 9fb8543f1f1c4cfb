"""What answers about the whole say, by the way that they are gathered, and what local search says.

    python tests/benchmarks/global_answers.py [--ways WAY …] [--efforts EFFORT …]
        [--meetings N] [--sets sample general specific] [--model stand-in | profile.yaml]

All answers are cut to one length. `sample` asks the sample corpus's global questions: how many of
the expected points an answer holds, how many documents it still cites. `general` and `specific` ask
QMSum's questions about a meeting, each in a library of its own: what share of the words and of the
word pairs of the reference summary the answer holds (stop words left out). Redundancy is the share
of word pairs that were said before. The meetings are read from `../shared/data`; libraries are kept
as in `corpora`, with a model under its name beside them.

Without `--model` no language model is asked. With one, a profile's `llm` writes reports, points and
answers, local answers are written from as many tokens of passages as the first effort's points are
made from, and the tokens sent for a question are printed (reports were written before).
`stand-in` is `stand_in.py`: it gives the first words of what it is shown, so its figures say that
the ways work and what they send, not how well a model writes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT, documents
from sqlalchemy import delete
from stand_in import StandIn

from engine import Answer, KnowledgeEngine, Settings
from engine.answering.global_search.context import PLANS, Effort, Selection
from engine.llm.budget import track_usage
from engine.storage.schema import replies
from engine.storage.tokenization import tokens

ROOT = Path(__file__).resolve().parents[2]
WAYS: tuple[Selection, ...] = ("fixed", "dynamic", "lazy", "drift")
OF_THE_SAMPLE, OF_A_MEETING = 3_000, 1_500
"""Characters of every answer."""

LONG_ANSWERS = {"max_sentences": 40, "min_evidence": 0.0}
"""Local answers as long as global ones."""

ALONE_TOKENS = 20_000
"""Of passages for a local answer that no model writes."""

Row = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is compared, and who writes (`llm` as in settings; empty: nobody)."""

    ways: Sequence[Selection]
    efforts: Sequence[Effort]
    llm: Mapping[str, object]
    name: str

    @property
    def settings(self) -> Settings:
        """Of the global ways."""
        reports = {"reports": "eager"} if self.llm else {}  # no question pays for them
        return Settings.model_validate({"llm": self.llm, "graph": reports})

    @property
    def talkative(self) -> Settings:
        """Of the local way: as much to write from."""
        plan = PLANS[self.efforts[0]]
        shown = plan.map_tokens + plan.reduce_tokens if self.llm else ALONE_TOKENS
        return Settings.model_validate(
            {
                "llm": self.llm,
                "answer": {**LONG_ANSWERS, "budget_tokens": shown},
                "retrieve": {"top_k": 50} if self.llm else {},
            }
        )

    def library(self, name: str) -> Path:
        """Where a library is kept: what one model wrote is not another's."""
        return KEPT / (f"{name}-{self.name}" if self.llm else name)


@contextmanager
def asking(path: Path, measured: Measured) -> Iterator[Callable[[str], dict[str, Answer]]]:
    """A question to its local answer and each way's, from the library at `path`."""
    with (
        KnowledgeEngine.open(path, settings=measured.talkative) as local,
        KnowledgeEngine.open(path, settings=measured.settings) as engine,
    ):
        with engine._library.write() as connection:
            connection.execute(delete(replies))  # what is sent is counted anew
        overview = engine._whole.queries._components.overview

        def ask(question: str) -> dict[str, Answer]:
            found = {"local": local.ask(question, mode="local")}
            for way in measured.ways:
                for effort in measured.efforts:
                    chosen = overview.with_selection(way, effort=effort)
                    with track_usage() as spent:
                        answer = chosen.answer(question)
                    found[f"{way} {effort}"] = replace(answer, usage=spent.total)
            return found

        yield ask


def on_sample(measured: Measured) -> dict[str, list[Row]]:
    """Points held, documents cited, redundancy, tokens sent: a row a question, by way."""
    path = measured.library("sample")
    with KnowledgeEngine.open(path, settings=measured.settings) as engine:
        engine.add(ROOT / "data" / "corpus")
    lines = (ROOT / "data" / "questions.jsonl").read_text(encoding="utf8").splitlines()
    rows: dict[str, list[Row]] = {}
    with asking(path, measured) as ask:
        for question in filter(lambda one: one["type"] == "global", map(json.loads, lines)):
            found = ask(question["text"])
            for name, answer in found.items():
                text = answer.text[:OF_THE_SAMPLE]
                cited = {c.document_id for c in answer.citations if f"[{c.number}]" in text}
                row = (float(held_points(question, text)), float(len(cited)), redundancy(text))
                rows.setdefault(name, []).append((*row, float(answer.usage.prompt_tokens)))
    return rows


def on_meetings(kind: str, count: int, measured: Measured) -> dict[str, list[Row]]:
    """Words and word pairs of the reference held, redundancy, tokens: a row a question, by way."""
    texts = {row["id"]: row for row in documents("qmsum_val")}
    lines = (DATA / "qmsum_val" / "queries.jsonl").read_text(encoding="utf8").splitlines()
    asked = [row for row in map(json.loads, lines) if row["type"] == kind]
    chosen = sorted({row["gold_ids"][0] for row in asked})[:count]
    rows: dict[str, list[Row]] = {}
    for meeting in chosen:
        path = measured.library(f"meeting/{meeting}")
        with KnowledgeEngine.open(path, settings=measured.settings) as engine:
            title = texts[meeting]["title"]
            engine.add_text(texts[meeting]["text"], document_id=meeting, title=title)
        with asking(path, measured) as ask:
            for row in [row for row in asked if row["gold_ids"] == [meeting]][:3]:
                for name, answer in ask(row["text"]).items():
                    text = answer.text[:OF_A_MEETING]
                    found = (*share(text, row["answers"][0]), redundancy(text))
                    rows.setdefault(name, []).append((*found, float(answer.usage.prompt_tokens)))
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
    parser.add_argument("--model", default="", help="stand-in, or a profile with a section llm")
    given = parser.parse_args()
    with StandIn() if given.model == "stand-in" else nullcontext() as stand_in:
        llm: dict[str, object] = {}
        if stand_in is not None:
            llm = {"kind": "openai_like", "base_url": stand_in.base_url, "model": "stand-in"}
        elif given.model:
            llm = Settings.load(given.model).llm.model_dump()
        measured = Measured(
            ways=given.ways, efforts=given.efforts, llm=llm, name=str(llm.get("model", ""))
        )
        print(f"answers written by: {measured.name or 'no model'}", flush=True)
        for name in given.sets:
            measure(name, given.meetings, measured)


def measure(name: str, meetings: int, measured: Measured) -> None:
    """One set, a line a way."""
    if name == "sample":
        rows = on_sample(measured)
        titles = ("points", "documents", "redundancy", "tokens sent")
    else:
        rows = on_meetings(name, meetings, measured)
        titles = ("words", "pairs", "redundancy", "tokens sent")
    for way, found in rows.items():
        means = [sum(column) / len(column) for column in zip(*found, strict=True)]
        figures = " ".join(f"{t} {m:.3f}" for t, m in zip(titles[:3], means[:3], strict=True))
        sent = f" {titles[3]} {means[3]:.0f}" if measured.llm else ""
        print(f"{name:9} {way:15} {len(found):3} question(s): {figures}{sent}", flush=True)


if __name__ == "__main__":
    main()
