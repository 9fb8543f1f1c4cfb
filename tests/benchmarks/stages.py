"""What each checking stage buys and costs without a language model.

    python tests/benchmarks/stages.py [SET …] [--limit N] [--wrong SET]

Questions of a set are asked of its library (`corpora.built`; `sample` is `data/`), without stages,
with `corrective`, with `self_rag`, and with both: `held`, how often
the gold answer stands in the answer; `abstained`, how often it says that it does not know; tokens
packed; milliseconds. With `--wrong` questions of another set, which the library cannot answer, are
asked too: there to abstain is right. Documents of the public sets are read from `../shared/data`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from answers import asked_of, contains
from corpora import KEPT, built

from engine import KnowledgeEngine, Settings

STAGES = {
    "off": {},
    "corrective": {"corrective": True},
    "self_rag": {"self_rag": True},
    "both": {"corrective": True, "self_rag": True},
}


def opened(name: str, check: dict[str, object]) -> KnowledgeEngine:
    settings = Settings.model_validate({"check": check, "cache": {"answers": "none"}})

    def engine_of(path: Path) -> KnowledgeEngine:
        return KnowledgeEngine.open(path, settings=settings)

    return engine_of(KEPT / name) if name == "sample" else built(name, engine_of)[0]


def measure(engine: KnowledgeEngine, name: str, limit: int) -> dict[str, float]:
    held, abstained, packed, times, rounds = [], [], [], [], []
    questions = asked_of(name)[:limit]
    if not questions:
        sys.exit(f"{name}: its questions have no answers to look for")
    for asked in questions:
        started = time.perf_counter()
        answer = engine.ask(asked.text, mode="local")
        times.append(1000 * (time.perf_counter() - started))
        held.append(not answer.abstained and contains(answer.text, asked.answers))
        abstained.append(answer.abstained)
        packed.append(sum(s.figures.get("tokens", 0) for s in answer.trace if s.stage == "pack"))
        rounds.append(sum(s.stage == "reflect" for s in answer.trace))
    return {
        "questions": len(held),
        "held": mean(held),
        "abstained": mean(abstained),
        "tokens": mean(packed),
        "further rounds": mean(rounds),
        "p50 ms": median(times),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["hotpotqa_train100", "musique_train100"])
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--wrong", default="")
    arguments = parser.parse_args()
    for name in arguments.sets:
        for label, check in STAGES.items():
            with opened(name, check) as engine:
                for asked in filter(None, (name, arguments.wrong)):
                    figures = measure(engine, asked, arguments.limit)
                    said = "  ".join(f"{key} {value:.3g}" for key, value in figures.items())
                    print(f"{name} asked {asked}: {label:11} {said}", flush=True)


if __name__ == "__main__":
    main()
