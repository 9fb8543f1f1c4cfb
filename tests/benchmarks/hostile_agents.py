"""How does agentic search stand against a deciding model that is hostile? A thousand scripts.

    python tests/benchmarks/hostile_agents.py [COUNT]

Each script answers the calls of one question through a real local server: see `hostile_agent`.
Printed are the runs that exceeded a limit (rounds, calls, tokens, cost), those without an answer,
and the longest in seconds: its own limit, the call in hand, and one answer.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile_agent import DOCUMENTS, runs, settings
from openai_server import OpenAIServer

from engine import KnowledgeEngine, Settings


def main() -> None:
    """Command line."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder, OpenAIServer() as server:
        given = Settings.model_validate(settings(server, Path(folder)))
        with KnowledgeEngine.open(Path(folder) / "library", settings=given) as engine:
            for name, text in DOCUMENTS.items():
                engine.add_text(text, document_id=name)
            made = list(runs(engine, server, count=count))
    print(f"{len(made)} runs; overruns {dict(Counter(o for run in made for o in run.overruns))}")
    print(f"searches {dict(sorted(Counter(run.searches for run in made).items()))}")
    kinds = Counter(
        "question back"
        if run.answer.clarification
        else "abstention"
        if run.answer.abstained
        else "answer"
        for run in made
    )
    print(f"ended with {dict(kinds)}; longest {max(run.seconds for run in made):.1f} s")


if __name__ == "__main__":
    main()
