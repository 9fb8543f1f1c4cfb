"""Time, memory and size of indexing, and latency of questions, by stage.

    make bench-index                          # the novel and the 6,119 passages
    python tests/benchmarks/indexing.py carol
    python tests/benchmarks/indexing.py --workers 600   # one core and two, by turns

The library of the passages is built anew where `retrieval.py` looks for it, so that a run of that
benchmark afterwards need not build it again. CPU seconds count all threads of this process.
With `--workers` so many passages are indexed on one core (`taskset`) and on two, three times by
turns, and the best of each is compared: other programs on the machine only ever add.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
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


def workers(count: int) -> None:
    """Compare one core with two, in English and Chinese."""
    for name in ("2wiki_dev300", "cmrc2018_zh"):
        best: dict[int, tuple[float, float]] = {}
        for number in (1, 2) * 3:
            pinned = ["taskset", "-c", "0"] if number == 1 else []
            command = [*pinned, sys.executable, __file__, "--pass", name, str(count), str(number)]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            wall, cpu = map(float, told.split())
            best[number] = min(best.get(number, (wall, cpu)), (wall, cpu))
            print(f"  {name}, {number} workers: {wall:.1f} s, {cpu:.1f} CPU s", flush=True)
        print(f"{name}: wall {best[2][0] / best[1][0]:.2f}, CPU {best[2][1] / best[1][1]:.2f}")


def one_pass(name: str, count: int, number: int) -> None:
    """Print the wall and CPU seconds of one run, the processes that it starts included."""
    from llama_index.core.schema import Document

    from engine import KnowledgeEngine
    from engine.config import Settings

    given = [
        Document(id_=row["id"], text=row["text"], metadata={"title": row["title"]})
        for row in documents(name)[:count]
    ]
    settings = Settings.model_validate({"ingest": {"workers": number}})
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), computed()
        with KnowledgeEngine.open(Path(folder), settings=settings) as engine:
            engine.add(given)
        print(time.perf_counter() - wall, computed() - cpu)


def computed() -> float:
    """CPU seconds of this process and of those that it started."""
    own = time.process_time()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own + ended.ru_utime + ended.ru_stime


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
    elif sys.argv[1:2] == ["--pass"]:
        one_pass(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["--workers"]:
        workers(int(sys.argv[2]))
    else:
        main(sys.argv[1:])
