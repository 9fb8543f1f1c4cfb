"""How often is what answers a question on a manual shown? Also writes what may answer, for a fit.

    python tests/benchmarks/manual_answers.py LIBRARY SET [--groups GROUPS.jsonl]

`manual_questions.jsonl` holds questions in users' own words on pages of manuals, which Debian's
packages carry, with the passage that answers (at most 50 words); sets are `fit`, to which the
ranking head was fitted, `first`, `second` and `third`. LIBRARY is one of the pages of a set. Prints
for facts and explanations how often that passage is shown (half of its runs of three words stand in
the answer), how often it is among the passages found, the words of an answer, and CPU seconds. With
`--groups` what reaches the reader is written for `fit_cross_encoder.py` instead: sentences with
what belongs to them, and blocks, with what words and search promise.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from engine import KnowledgeEngine
from engine.answering.extractive import answer as extractive
from engine.answering.extractive import sentence_selection as selection
from engine.answering.extractive.answer_spans import rank_spans
from engine.answering.extractive.block_candidates import (
    READ_PASSAGES,
    join_windows,
    promised,
    read_text,
    weigh_blocks,
)
from engine.answering.extractive.blocks import split_blocks

HELD = 0.5
"""Share of a quote's runs of three words from which on a text holds it."""
SENTENCES, BLOCKS = 8, 7
QUESTIONS = Path(__file__).with_name("manual_questions.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("set", choices=("fit", "first", "second", "third"))
    parser.add_argument("--groups", type=Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    own = [row for row in rows if row["set"] == options.set]
    with KnowledgeEngine.open(options.library) as engine:
        if options.groups:
            lines = [json.dumps(each) for row in own for each in groups(engine, row)]
            options.groups.write_text("\n".join(lines) + "\n", encoding="utf-8")
            return
        for kind in ("fact", "explain"):
            report(engine, kind, [row for row in own if row["kind"] == kind])


def report(engine: KnowledgeEngine, kind: str, rows: list[Mapping[str, str]]) -> None:
    """Ask the questions of a kind and print how they are answered."""
    told = []
    for row in rows:
        begun = time.process_time()
        answer = engine.ask(row["question"])
        found = any(holds(each.text, row["quote"]) for each in answer.passages)
        seconds, words = time.process_time() - begun, len(answer.text.split())
        told.append((holds(answer.text, row["quote"]), found, words, seconds))
    shown, found, words, seconds = np.mean(told, axis=0)
    print(
        f"{kind:8} n {len(rows):4} shown {shown:.3f} found {found:.3f}"
        f" words {words:.0f} CPU s {seconds:.2f}"
    )


def groups(engine: KnowledgeEngine, row: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what reaches the reader for a question, where something of it answers."""
    question, found = row["question"], []
    with patch.object(extractive, "analyse", wraps=extractive.analyse) as analyse:
        engine.ask(question, mode="local")
    for call in analyse.call_args_list[:1]:
        asked, passages, weighed = call.args[1:4]
        wanted = call.kwargs["wanted"]
        spans = rank_spans(question, weighed, asked=asked, wanted=wanted)
        units = selection.sentence_units(weighed, passages)
        share = selection._joint(selection.sentence_shares(weighed, spans), units)
        order = selection._rows_of_units(share, units)[:SENTENCES]
        texts = [selection.unit_text(weighed, each, passages, units) for each in order]
        found.append((texts, np.log(share[order] + 1e-6)))
        blocks = join_windows(split_blocks(passages[:READ_PASSAGES]), passages)
        candidates = weigh_blocks(blocks, weighed, wanted)
        priors = promised(candidates, passages)
        best = np.argsort(-priors, kind="stable")[:BLOCKS]
        found.append(([read_text(candidates[each].block, passages) for each in best], priors[best]))
    return [
        {"question": question, "texts": texts, "priors": priors.tolist(), "right": right}
        for texts, priors in found
        if any(right := [holds(text, row["quote"]) for text in texts])
    ]


def holds(text: str, quote: str) -> bool:
    """Check that most of a quote stands in a text, however it is set."""
    own, said = _runs(quote), _runs(text)
    held = set(said)
    return sum(run in held for run in own) >= HELD * max(1, len(own))


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.sub(r"[\W_]+", " ", text.lower()).split()
    return [tuple(words[place : place + 3]) for place in range(len(words) - 2)]


if __name__ == "__main__":
    main()
