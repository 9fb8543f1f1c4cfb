"""What each checking stage buys and costs without a language model.

    python tests/benchmarks/stages.py [SET …] [--limit N] [--wrong SET]

Questions of a set are asked of its library (`corpora.built`; `sample` is `data/`), without stages,
with `corrective`, with `self_rag`, and with both: `held`, how often the gold answer stands in the
answer; `abstained`, how often it says that it does not know; tokens packed; milliseconds of the
processor. Asked are also questions about known things of which nothing says the answer (`unsaid`,
see `known_things`), and with `--wrong` those of another set: there to abstain is right. Documents
of the public sets are read from `../shared/data`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from answers import Asked, asked_of, contains
from corpora import KEPT, built, documents
from known_things import known_things

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


def measure(engine: KnowledgeEngine, questions: Sequence[Asked]) -> dict[str, float]:
    held, abstained, packed, times, rounds = [], [], [], [], []
    for asked in questions:
        started = time.process_time()
        answer = engine.ask(asked.text, mode="local")
        times.append(1000 * (time.process_time() - started))
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
        "p50 CPU ms": median(times),
    }


def unsaid(name: str) -> list[Asked]:
    """Questions about things that a set knows, but not the answer."""
    if name == "sample":
        return []
    untold = [known for known in known_things(documents(name)) if not known.said]
    return [Asked(known.text, (), (known.document_id,), "unsaid") for known in untold]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["hotpotqa_train100", "musique_train100"])
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--wrong", default="")
    arguments = parser.parse_args()
    for name in arguments.sets:
        groups = {name: asked_of(name), "unsaid": unsaid(name)}
        if arguments.wrong:
            groups[arguments.wrong] = asked_of(arguments.wrong)
        for label, check in STAGES.items():
            with opened(name, check) as engine:
                for group, questions in groups.items():
                    if not questions:
                        continue
                    figures = measure(engine, questions[: arguments.limit])
                    said = "  ".join(f"{key} {value:.3g}" for key, value in figures.items())
                    print(f"{name} asked {group}: {label:11} {said}", flush=True)


if __name__ == "__main__":
    main()
