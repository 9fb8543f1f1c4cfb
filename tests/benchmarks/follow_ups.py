"""Do rules leave a question alone that stands alone, whatever was said before it?

    python tests/benchmarks/follow_ups.py

Questions of public sets, each after another one of its set and that one's answer, with which it has
nothing to do: none should become another question. Printed is how many do, and which. Reads
`../shared/data`; says so when it is missing.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA  # noqa: E402

from engine.conversation import Name, resolve_references  # noqa: E402
from engine.types import Turn  # noqa: E402
from engine.verification.entities_and_numbers import find_mentions  # noqa: E402

SETS = ("hotpotqa_train100", "musique_train100", "2wiki_dev300", "cmrc2018_zh", "qmsum_val",
        "scifact_dev")  # fmt: skip
MOST = 200


def names(text: str) -> list[Name]:
    return [Name(start=one.start, end=one.end, type=one.type) for one in find_mentions(text)]


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"{DATA} is missing: this reads public data that is not shipped")
    rng = random.Random(1)  # noqa: S311
    files = {name: DATA / name / "queries.jsonl" for name in SETS}
    for name, file in (files | {"the sample": ROOT / "data" / "questions.jsonl"}).items():
        rows = [json.loads(line) for line in file.open(encoding="utf8")]
        changed = []
        for _ in range(min(MOST, len(rows))):
            before, row = rng.sample(rows, 2)
            question = " ".join(row["text"].split())
            turn = Turn(before["text"], (before.get("answers") or [""])[0])
            alone = resolve_references(question, [turn], names=names)
            if alone != question:
                changed.append(f"  {question} -> {alone}")
        print(f"{name}: {len(changed)} of {min(MOST, len(rows))} become another question")
        print("\n".join(changed), end="\n" if changed else "")


if __name__ == "__main__":
    main()
