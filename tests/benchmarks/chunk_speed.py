"""Megabytes a CPU second and peak memory of every chunking strategy.

    python tests/benchmarks/chunk_speed.py [FILE]

Each strategy cuts the text once in a process of its own; the memory is what that process took at
its peak above what it had before it began. The text is one of the novels beside the project, or
the file that is named.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

NOVELS = Path(__file__).parents[3] / "shared" / "data" / "novels"
TEXTS = ("a_christmas_carol_pg.txt", "sanguoyanyi_zh.txt")


def measure(strategy: str, path: Path) -> None:
    """Cut the text, and print megabytes a second, peak memory in MB, and chunks."""
    from engine.chunking.span_parser import ContextSource
    from engine.chunking.strategy import ChunkOptions, node_parser
    from engine.embeddings.tokenizer import load_tokeniser

    text = path.read_text(encoding="utf8")
    parser = node_parser(strategy, options=ChunkOptions(), tokeniser=load_tokeniser())  # type: ignore[arg-type]
    parser.spans(ContextSource(text=text[:20_000]))  # what is loaded once is not the strategy's
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    spans = parser.spans(ContextSource(text=text))
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    size = len(text.encode()) / 1e6
    print(f"{size / seconds:.2f} | {peak / 1024:.0f} | {len(spans)}")


def main() -> None:
    """Every strategy over every text, as a Markdown table."""
    from engine.types import Strategy

    paths = [Path(name) for name in sys.argv[1:]] or [NOVELS / name for name in TEXTS]
    missing = [path for path in paths if not path.exists()]
    if missing:
        sys.exit(f"no text at {missing[0]}: name one")
    for path in paths:
        print(f"\n{path.name}\n\n| strategy | MB/CPU s | peak MB | chunks |\n|---|--:|--:|--:|")
        for strategy in get_args(Strategy):
            if strategy in ("auto", "agentic"):  # another one; as recursive without a model
                continue
            command = [sys.executable, __file__, "--one", strategy, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            print(f"| {strategy} | {done.stdout.strip() or done.stderr.strip()[-200:]} |")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
