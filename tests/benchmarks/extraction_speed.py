"""Speed of the LLM-free extractor: 600 English and 100 Chinese passages, CPU time of this process.

python tests/benchmarks/extraction_speed.py
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from graph.extraction.rule_based import LanguageExtractor

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SETS = (("2wiki_dev300", 600), ("cmrc2018_zh", 100))
WORDS_PER_CHUNK = 200


def main() -> int:
    """Print passages and chunks a CPU second, and how much was found."""
    extractor = LanguageExtractor()
    for line in extractor.missing:
        print(f"missing: {line}")
    extractor.extract(["Warm up in London.", "在北京热身。"])
    for folder, count in SETS:
        path = DATA / folder / "corpus.jsonl"
        if not path.exists():
            print(f"skipped {folder}: {path} is not there")
            continue
        rows = path.read_text("utf8").splitlines()[:count]
        measure(folder, extractor, [json.loads(row)["text"] for row in rows])
    return 0


def measure(label: str, extractor: LanguageExtractor, texts: list[str]) -> None:
    """One line of figures; chunks are counted in words of white-space separated text."""
    started = time.process_time()
    found = extractor.extract(texts)
    seconds = time.process_time() - started
    chunks = sum(len(text.split()) for text in texts) / WORDS_PER_CHUNK
    typed = sum(s.predicate != "occurs with" for e in found for s in e.statements)
    print(
        f"{label}: {len(texts) / seconds:.1f} passages/s, {chunks / seconds:.1f} chunks of "
        f"{WORDS_PER_CHUNK} words/s, {sum(map(len, texts)) / seconds:,.0f} characters/s; "
        f"{sum(len(e.mentions) for e in found)} mentions, {typed} typed statements"
    )


if __name__ == "__main__":
    sys.exit(main())
