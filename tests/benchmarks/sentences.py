"""What vectors of single sentences buy (`embedding.sentences`), and what they cost.

    python tests/benchmarks/sentences.py hotpotqa_train100 untitled:musique_train100

Each set's library (see `parts.py`) is copied and brought up with sentences: the vectors that it has
are taken over, so the processor time is that of the sentences alone. Printed are recall at 5 and 10
without and with them, the gain with a 95 % paired bootstrap interval, vectors, bytes and CPU time.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import KEPT, documents
from hard_sets import hard_set
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import Document
from parts import WHOLE, AskedSet, opened, report, sets
from retrieval import LISTS

from engine import KnowledgeEngine, Settings
from engine.embeddings.bundled import BundledEmbedding
from engine.embeddings.wrappers import with_prefixes
from engine.evaluation import paired_bootstrap

WITH = Settings.model_validate({"embedding": {"sentences": True}})


def given(name: str) -> list[Document]:
    """The documents of a set, as its library was given them."""
    kind, _, of = name.partition(":")
    if of:
        [hard] = hard_set(kind, of, subset=True)
        return [
            Document(id_=identity, text=text, metadata={"title": title, "about": identity})
            for identity, title, text in hard.documents
        ]
    return [
        Document(id_=row["id"], text=row["text"], metadata={"title": row["title"]})
        for row in documents(name)
    ]


def size(folder: Path) -> tuple[int, int]:
    """Vectors of a library, and the bytes of its database."""
    with sqlite3.connect(f"file:{folder / 'library.db'}?mode=ro", uri=True) as connection:
        count = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
        bytes_ = connection.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()[0]
    return count, bytes_


def compared(name: str, asked: AskedSet, model: BaseEmbedding) -> None:
    """Print one set's lines."""
    folder = KEPT / f"sentences-{asked.folder.name}"
    if not folder.exists():
        shutil.copytree(asked.folder, folder)
    begun = time.process_time()
    with KnowledgeEngine.open(folder, settings=WITH, embed_model=model) as engine:
        failed = engine.add(given(name)).failed
        if failed:
            sys.exit(f"{name}: {len(failed)} documents failed, first: {failed[0]}")
        seconds = time.process_time() - begun
        found = report(engine, replace(asked, folder=folder), "sentences")
    with opened(asked, model, LISTS[WHOLE]) as engine:
        before = report(engine, asked, WHOLE)
    for figure in ("R@5", "R@10"):
        gain = paired_bootstrap(found.by_query[figure], before.by_query[figure])
        print(
            f"| {asked.name} | {figure} | {before.means[figure]:.3f} | {found.means[figure]:.3f} |"
            f" {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] |"
        )
    (few, small), (many, large) = size(asked.folder), size(folder)
    milliseconds = 1000 * (found.cpu_seconds - before.cpu_seconds)
    print(
        f"vectors {few:,} → {many:,} ({many / few:.1f} ×), {small / 1e6:.0f} → {large / 1e6:.0f} MB"
        f", {seconds:.0f} CPU s more to add, {milliseconds:+.0f} CPU ms a question",
        flush=True,
    )


def main() -> None:
    """Command line."""
    model = with_prefixes(BundledEmbedding(threads=1))
    print("| set | figure | without | with | gain |\n|---|---|---|---|---|")
    for name in sys.argv[1:]:
        for asked in sets([name], most=None):
            compared(name, asked, model)


if __name__ == "__main__":
    main()
