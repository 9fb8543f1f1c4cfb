"""Search in rounds against one round: answers that are held, rounds and computing time.

    python tests/benchmarks/two_steps.py LIBRARY QUESTIONS [--set NAME]

QUESTIONS has `{text, answers}` a line: a set's `queries.jsonl`, or `two_steps.jsonl`, 41 questions
of two steps in Chinese, written by hand about CMRC's paragraphs and 三国演义. An answer counts as
held that has a gold value in its first 120 words (180 Chinese characters). The interval is that of
the difference, by a paired bootstrap.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from answers import contains

from engine import KnowledgeEngine
from engine.prompts import language_of


def head(text: str) -> str:
    """The beginning of an answer that a reader sees first."""
    return text[:180] if language_of(text) == "zh" else " ".join(text.split()[:120])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--set", default="", help="questions of this set alone")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.questions.read_text("utf8").splitlines()]
    rows = [r for r in rows if r.get("answers") and arguments.set in ("", r.get("set"))]
    held: dict[str, list[bool]] = {"local": [], "agent": []}
    spent = dict.fromkeys(held, 0.0)
    rounds = 0
    with KnowledgeEngine.open(arguments.library) as engine:
        engine.ask("Who built it?", mode="local")
        for number, row in enumerate(rows):
            # Taking turns at being first: what one has read, the other finds in memory.
            for mode in ("local", "agent")[:: 1 if number % 2 else -1]:
                begun = time.process_time()
                answer = engine.ask(row["text"], mode=mode)
                spent[mode] += time.process_time() - begun
                held[mode].append(contains(head(answer.text), row["answers"]))
                if mode == "agent":
                    searches = sum("SearchKnowledge" in step.detail for step in answer.trace)
                    rounds += max(1, searches)
    gains = [int(new) - int(old) for old, new in zip(*held.values(), strict=True)]
    draw = random.Random(1)  # noqa: S311
    means = sorted(sum(draw.choices(gains, k=len(gains))) / len(gains) for _ in range(2_000))
    print(
        f"{len(rows)} questions: held {sum(held['local'])} → {sum(held['agent'])}"
        f" (+{gains.count(1)}, -{gains.count(-1)}; {sum(gains) / len(gains):+.3f}"
        f" [{means[50]:.3f}, {means[1949]:.3f}]), {rounds / len(rows):.2f} rounds,"
        f" {spent['agent'] / spent['local']:.2f} × the computing"
    )


if __name__ == "__main__":
    main()
