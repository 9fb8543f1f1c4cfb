"""What a graph read by a language model costs: calls, tokens, our own CPU seconds; and forecasts.

    python tests/benchmarks/bill.py [carol] [passages] [questions] [estimates]

The model is `stand_in.py`: deterministic, instant, in a process of its own, so CPU seconds are ours
alone (all threads; a library that is open). Reads A Christmas Carol, MuSiQue passages and CMRC's
Chinese ones beside the project, and the sample corpus. Libraries are made anew in a temporary
folder.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import DATA, documents, queries
from llama_index.core.schema import Document
from sqlalchemy import delete
from stand_in import StandIn

from engine import IngestReport, KnowledgeEngine, Settings
from engine.storage.schema import replies

NOVEL = DATA / "novels" / "a_christmas_carol_pg.txt"
SAMPLE = Path(__file__).parents[2] / "data" / "corpus"
PASSAGES, DELETED, QUESTIONS = 400, 85, 5
WAYS = ("fixed", "dynamic", "lazy", "drift")
WHOLE = "What are the main themes of this collection?"

Reports = Literal["extractive", "eager"]


def main(names: Sequence[str]) -> None:
    parts: dict[str, Callable[[StandIn, Path], None]] = {
        "carol": carol,
        "passages": passages,
        "questions": questions,
        "estimates": estimates,
    }
    for name in names or tuple(parts):
        with StandIn() as model, tempfile.TemporaryDirectory(prefix="loregraph-bill-") as folder:
            print(f"\n{name}", flush=True)
            parts[name](model, Path(folder))


def carol(model: StandIn, folder: Path) -> None:
    for reports in ("extractive", "eager"):
        with opened(model, folder / reports, reports=reports) as engine:
            bill(f"A Christmas Carol, {reports} reports", engine, lambda e: e.add(NOVEL))


def passages(model: StandIn, folder: Path) -> None:
    given = of_set("musique_train100", PASSAGES + 1)
    gone = [document.id_ for document in given[:DELETED]]
    for reports in ("extractive", "eager"):
        with opened(model, folder / reports, reports=reports) as engine:
            bill(f"{PASSAGES} passages, {reports} reports", engine, lambda e: e.add(given[:-1]))
            bill("  one more", engine, lambda e: e.add(given[-1]))
            bill("  the same again", engine, lambda e: e.add(given))
            bill("  one of them changed", engine, lambda e: e.add(changed(given[20])))
            bill(f"  {DELETED} deleted", engine, lambda e: e.remove(gone))
            bill("  the same again", engine, lambda e: e.add(given[DELETED:]))


def questions(model: StandIn, folder: Path) -> None:
    """Mean prompt tokens a question, reports written before."""
    asked = [query.text for query in queries("musique_train100")[:QUESTIONS]]
    with opened(model, folder, reports="eager") as engine:
        engine.add(of_set("musique_train100", PASSAGES))
        spent = [engine.ask(question, mode="local").usage for question in asked]
        prompt = sum(usage.prompt_tokens for usage in spent) / len(spent)
        print(f"  local: {prompt / 1000:.1f}k prompt tokens", flush=True)
        overview: Any = engine._questions._components.overview
        for way in WAYS:
            for effort in ("low", "medium"):
                with engine._library.write() as connection:
                    connection.execute(delete(replies))  # the ways ask the same now and then
                usage = overview.with_selection(way, effort=effort).answer(WHOLE).usage
                print(
                    f"  global, {way}, {effort}: {usage.calls} calls,"
                    f" {usage.prompt_tokens / 1000:.1f}k prompt tokens",
                    flush=True,
                )


def estimates(model: StandIn, folder: Path) -> None:
    corpora: dict[str, Any] = {
        "A Christmas Carol": NOVEL,
        f"{PASSAGES} passages": of_set("musique_train100", PASSAGES),
        "sample corpus": SAMPLE,
        "200 Chinese passages": of_set("cmrc2018_zh", 200),
        "Operation Dulce": NOVEL.with_name("operation_dulce.md"),
        "150 abstracts": of_set("scifact_dev", 150),
        # The forecast's constants were fitted on those above, and not on these.
        "3 meetings": of_set("qmsum_val", 3),
        "300 passages": of_set("hotpotqa_train100", 300),
    }
    for number, (name, sources) in enumerate(corpora.items()):
        with opened(model, folder / str(number), reports="eager") as engine:
            forecast = {stage.stage: stage for stage in engine.estimate(sources).stages}
            if number == 0 and engine.usage():
                raise SystemExit("an estimate asked the model")
            engine.add(sources)
            for paid in engine.usage():
                told = forecast.get(paid.stage)
                if told is None:
                    print(f"  {name}, {paid.stage}: {paid.calls} calls that were not forecast")
                    continue
                print(
                    f"  {name}, {paid.stage}: "
                    + ", ".join(
                        f"{what} {said:,} → {true:,} ({said / max(1, true) - 1:+.0%})"
                        for what, said, true in (
                            ("calls", told.calls, paid.calls),
                            ("prompt", told.prompt_tokens, paid.prompt_tokens),
                            ("completion", told.completion_tokens, paid.completion_tokens),
                        )
                    ),
                    flush=True,
                )
            both = [
                sum(stage.prompt_tokens + stage.completion_tokens for stage in stages)
                for stages in (forecast.values(), engine.usage())
            ]
            print(f"  {name}: {both[0]:,} → {both[1]:,} ({both[0] / both[1] - 1:+.0%})")


def bill(what: str, engine: KnowledgeEngine, work: Callable[[KnowledgeEngine], Any]) -> None:
    """Do it, and print what it cost by stage."""
    before = _by_stage(engine)
    cpu = time.process_time()
    report: IngestReport = work(engine)
    cpu = time.process_time() - cpu
    spent = {
        stage: [now - then for now, then in zip(figures, before.get(stage, (0, 0, 0)), strict=True)]
        for stage, figures in _by_stage(engine).items()
    }
    stages = "; ".join(
        f"{stage} {calls} calls, {prompt / 1000:.1f}/{completion / 1000:.1f}k"
        for stage, (calls, prompt, completion) in spent.items()
        if calls
    )
    written = engine.stats()["written_reports"]
    seconds = ", ".join(f"{stage} {value:.1f}" for stage, value in report.seconds.items())
    print(f"  {what}: {stages or '0 calls'}; {cpu:.1f} CPU s; {written} written reports")
    print(f"      wall seconds: {seconds}; pending {len(report.pending)}", flush=True)
    for note in report.notes:
        print(f"      {note}", flush=True)


def _by_stage(engine: KnowledgeEngine) -> dict[str, tuple[int, int, int]]:
    calls, prompts, completions = Counter[str](), Counter[str](), Counter[str]()
    for row in engine.usage():
        calls[row.stage] += row.calls
        prompts[row.stage] += row.prompt_tokens
        completions[row.stage] += row.completion_tokens
    return {stage: (calls[stage], prompts[stage], completions[stage]) for stage in sorted(calls)}


@contextmanager
def opened(model: StandIn, path: Path, *, reports: str) -> Iterator[KnowledgeEngine]:
    """A new library whose chunks the stand-in reads and embeds."""
    settings = Settings.model_validate(
        {
            "llm": {"kind": "openai_like", "base_url": model.base_url, "model": "stand-in"},
            "embedding": {
                "kind": "openai_like",
                "base_url": model.base_url,
                "model": "stand-in-vectors",
            },
            "graph": {"extractor": "llm", "reports": reports},
        }
    )
    with KnowledgeEngine.open(path, settings=settings) as engine:
        yield engine


def of_set(name: str, count: int) -> list[Document]:
    """The first documents of a public set."""
    return [
        Document(id_=row["id"], text=row["text"], metadata={"title": row["title"]})
        for row in documents(name)[:count]
    ]


def changed(document: Document) -> Document:
    """The same document, with a sentence more."""
    text = f"{document.text} Ada Brine of Gull Quay added a note to it."
    return Document(id_=document.id_, text=text, metadata=document.metadata)


if __name__ == "__main__":
    main(sys.argv[1:])
