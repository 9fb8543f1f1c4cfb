"""Time, memory and size of indexing, and latency of questions, by stage.

    make bench-index                          # the novel and the 6,119 passages
    python tests/benchmarks/indexing.py carol

The library of the passages is built anew where `retrieval.py` looks for it, so that a run of that
benchmark afterwards need not build it again. CPU seconds count all threads of this process.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, KEPT, documents, queries

NOVEL = DATA / "novels" / "a_christmas_carol_pg.txt"
NOVEL_QUESTIONS = (
    "Who is Jacob Marley?",
    "What does Scrooge think of Christmas?",
    "How many ghosts visit Scrooge?",
    "What is wrong with Tiny Tim?",
    "Who is Fezziwig?",
)


def main(names: Sequence[str]) -> None:
    for name in names or ("carol", "2wiki"):
        # A process each: peak memory is a process's own.
        subprocess.run([sys.executable, __file__, "--one", name], check=True)


def one(name: str) -> None:
    from llama_index.core.schema import Document

    from engine import KnowledgeEngine

    path = KEPT / ("2wiki_dev300" if name == "2wiki" else name)
    shutil.rmtree(path, ignore_errors=True)
    if name == "2wiki":
        given = [
            Document(id_=row["id"], text=row["text"], metadata={"title": row["title"]})
            for row in documents("2wiki_dev300")
        ]
        questions = [query.text for query in queries("2wiki_dev300")[:100]]
    else:
        given, questions = [NOVEL], list(NOVEL_QUESTIONS) * 10
    with KnowledgeEngine.open(path) as engine:
        wall, cpu = time.perf_counter(), time.process_time()
        report = engine.add(given)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        counts = engine.stats()
    print(f"\n{name}: {counts['documents']} documents, {counts['chunks']} chunks")
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report.seconds.items())
    print(f"  {cpu:.1f} CPU s, {wall:.1f} s; wall by stage: {stages}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory {peak:.0f} MB, library {counts['size_bytes'] / 1e6:.1f} MB, "
          f"{counts['entities']} entities, {counts['relations']} relations, "
          f"{counts['communities']} communities, {counts['reports']} reports")  # fmt: skip
    latency(path, questions)


def latency(path: Path, questions: Sequence[str]) -> None:
    from engine import KnowledgeEngine

    started = time.perf_counter()
    with KnowledgeEngine.open(path) as engine:
        opened = time.perf_counter() - started
        started = time.perf_counter()
        engine.retrieve(questions[0])
        first = time.perf_counter() - started
        print(f"  open {opened:.2f} s, first question {first:.2f} s")
        stages: dict[str, list[float]] = defaultdict(list)
        for question in questions:
            started = time.perf_counter()
            answer = engine.ask(question, mode="local")
            stages["whole local answer"].append(time.perf_counter() - started)
            for step in answer.trace:
                stages[step.stage].append(step.seconds)
            retrieval = [s.seconds for s in answer.trace if s.stage not in {"pack", "extract"}]
            stages["retrieval in all"].append(sum(retrieval))
        for question in questions[:10]:
            started = time.perf_counter()
            engine.ask(question, mode="global")
            stages["whole global answer"].append(time.perf_counter() - started)
    for stage, seconds in stages.items():
        middle, late = 1000 * np.percentile(seconds, [50, 95])
        print(f"  {stage:20} median {middle:7.1f} ms   p95 {late:7.1f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main(sys.argv[1:])
