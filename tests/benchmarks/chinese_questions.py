"""How often is a reader's question about Chinese documents answered rightly?

    python tests/benchmarks/chinese_questions.py [--chapters N] [--half work|judge] [--show]

The questions of `chinese_questions.jsonl` are asked of a novel's first chapters (read from
`../shared/data/novels`) and of the sample corpus. An answer is right if one of the expected strings
stands within the first 120 characters shown, the short answer first; of a fact that the documents
do not hold, if it is declined. Halves are split by a checksum of the text: one to work with, one to
judge, of which `--show` shows nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT

from engine import Answer, KnowledgeEngine

QUESTIONS = Path(__file__).with_suffix(".jsonl")
NOVEL = DATA / "novels" / "sanguoyanyi_zh.txt"
SAMPLE = Path(__file__).parents[2] / "data" / "corpus"
SHOWN = 120
_CHAPTER = re.compile(r"(?m)^(?=第[一二三四五六七八九十百零〇]+回)")


def half(text: str) -> str:
    """The half of a question, by a checksum of its text."""
    return "work" if zlib.crc32(text.encode()) % 2 == 0 else "judge"


def novel(chapters: int) -> KnowledgeEngine:
    """The library of a novel's first chapters."""
    from llama_index.core.schema import Document

    if not NOVEL.exists():
        sys.exit(f"no novel at {NOVEL}: this benchmark reads it from beside the project")
    text = "".join(_CHAPTER.split(NOVEL.read_text(encoding="utf8"))[1 : chapters + 1])
    engine = KnowledgeEngine.open(KEPT / f"novel-{chapters}")
    engine.add([Document(id_="novel", text=text, metadata={"title": "三国演义"})])
    return engine


def sample() -> KnowledgeEngine:
    """The library of the sample corpus."""
    engine = KnowledgeEngine.open(KEPT / "sample")
    engine.add(SAMPLE)
    return engine


def is_right(answer: Answer, expected: list[str]) -> bool:
    """Whether an answer begins with what is expected, or declines where nothing is."""
    if not expected:
        return answer.abstained
    short = answer.short.text if answer.short else ""
    shown = re.sub(r"[\s，,]", "", f"{short}\n{answer.text}"[:SHOWN])
    return not answer.abstained and any(each.replace(" ", "") in shown for each in expected)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapters", type=int, default=22)
    parser.add_argument("--half", choices=("work", "judge"), help="only this half")
    parser.add_argument("--show", action="store_true", help="show the answers of the work half")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf8").splitlines()]
    results: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for name, opened in (("novel", lambda: novel(arguments.chapters)), ("sample", sample)):
        with opened() as engine:
            for row in (each for each in rows if each["set"] == name):
                which = half(row["text"])
                if arguments.half and which != arguments.half:
                    continue
                answer = engine.ask(row["text"], mode="local")
                right = is_right(answer, row["answers"])
                results[which, row["kind"]].append(right)
                results[which, "all"].append(right)
                if arguments.show and which == "work":
                    said = answer.short.text if answer.short else "–"
                    text = answer.text[:80].replace("\n", " / ")
                    print(f"{'+' if right else '-'} {row['text']} {said} | {text}")
    for (which, kind), some in sorted(results.items()):
        print(f"{which:6} {kind:8} {sum(some):3d} of {len(some):3d} {sum(some) / len(some):.2f}")


if __name__ == "__main__":
    main()
