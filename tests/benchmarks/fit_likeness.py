"""Teach the bundled model the typical questions, and write what the router ships.

    python tests/benchmarks/fit_likeness.py

To be run again whenever the questions beside `engine/routing/examples.py` change; a test says so.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine import Settings  # noqa: E402
from engine.llm.response import identity_of  # noqa: E402
from engine.providers.factory import build_chain  # noqa: E402
from engine.routing import examples as likeness  # noqa: E402

LANGUAGE = "en"
"""The bundled model reads no other of the two."""
_DECIMALS = 5


def main() -> None:
    """Learn and write."""
    model = build_chain(Settings().embedding)[0]
    found = likeness.fit_examples(
        lambda texts: model.get_text_embedding_batch(list(texts)), LANGUAGE
    )
    data = {
        "model": identity_of(model).split("/")[0],
        "language": LANGUAGE,
        "questions": likeness.examples_digest(LANGUAGE),
        "offset": round(found.offset, _DECIMALS),
        "direction": [round(float(each), _DECIMALS) for each in found.direction],
    }
    path = Path(likeness.__file__).with_name("likeness.json")
    path.write_text(json.dumps(data) + "\n", encoding="utf8")
    print(path)


if __name__ == "__main__":
    main()
