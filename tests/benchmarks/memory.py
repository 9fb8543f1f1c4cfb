"""Recall of memory: gold sessions among the first five, and computing time of one recall.

    python tests/benchmarks/memory.py [turns] [--generated]

Conversations are made from templates with a fixed seed: facts of ten kinds about things that no
other session of the user names, among small talk; the questions are worded otherwise. It compares
settings and shows growth; it says little about people's own words. With `--generated` vectors of
passages are random, for time alone.
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from engine.config import Settings
from engine.engine import KnowledgeEngine
from engine.memory.transcript import document_id, render, storable_messages
from engine.providers.factory import build_chain

SEED = 7
DISTINCT = 144
"""Sessions asked about; no pair of names of theirs stands in another one's statement."""
PEOPLE = (
    "Vera",
    "Otto",
    "Ines",
    "Hugo",
    "Lena",
    "Piet",
    "Marta",
    "Sven",
    "Ada",
    "Bruno",
    "Clara",
    "Emil",
)
PLACES = (
    "Lisbon",
    "Bergen",
    "Kyoto",
    "Porto",
    "Graz",
    "Malmö",
    "Turin",
    "Cork",
    "Leeds",
    "Basel",
    "Ghent",
    "Riga",
)
THINGS = (
    "cello",
    "kayak",
    "telescope",
    "greenhouse",
    "drone",
    "loom",
    "sidecar",
    "kiln",
    "harp",
    "canoe",
    "sundial",
    "piano",
)
TEMPLATES = (
    (
        "My cousin {person} moved to {place} to repair a {thing}.",
        "Which city did {person} go to for the {thing}?",
    ),
    (
        "I finally bought a {thing} from {person} in {place}.",
        "From whom in {place} did I get the {thing}?",
    ),
    (
        "We spent the summer in {place} building a {thing} with {person}.",
        "With whom was the {thing} made in {place}?",
    ),
    (
        "{person} lent me a {thing} for the fair in {place}.",
        "Who gave me the {thing} for the {place} fair?",
    ),
    (
        "I sold the {thing} to {person} when I left {place}.",
        "Who took over my {thing} from {place}?",
    ),
)
TALK = (
    "What is the weather going to be like?",
    "Can you explain how a {thing} works?",
    "Tell me something about {place}.",
    "I read an article about trains today.",
    "How do I cook rice without burning it?",
    "My meeting was moved to the afternoon.",
)


def conversations(turns: int) -> tuple[list[list[tuple[str, str]]], list[tuple[str, int]]]:
    """Sessions of twenty messages, and questions with the session that answers each."""
    random_ = random.Random(SEED)  # noqa: S311
    sessions: list[list[tuple[str, str]]] = []
    asked: list[tuple[str, int]] = []
    triples = [(p, q, t) for p in PEOPLE for q in PLACES for t in THINGS]
    random_.shuffle(triples)
    triples = [*_distinct(triples), *triples]
    for number in range(turns // 20):
        said: list[tuple[str, str]] = []
        place = random_.randrange(10)
        for exchange in range(10):
            words = dict(
                zip(("person", "place", "thing"), triples[number % len(triples)], strict=True)
            )
            if exchange == place and number < DISTINCT:
                statement, question = random_.choice(TEMPLATES)
                said.append(("user", statement.format(**words)))
                if number < DISTINCT:
                    asked.append((question.format(**words), number))
            else:
                other = dict(
                    zip(("person", "place", "thing"), random_.choice(triples), strict=True)
                )
                said.append(("user", random_.choice(TALK).format(**other)))
            said.append(("assistant", f"Noted, let us go on with point {number}."))
        sessions.append(said)
    return sessions, asked


def _distinct(triples: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Triples no two of which share a pair, as a Latin square gives them."""
    size = len(PEOPLE)
    chosen = [
        (PEOPLE[row], PLACES[column], THINGS[(row + column) % size])
        for row in range(size)
        for column in range(size)
    ]
    return [triple for triple in triples if triple in set(chosen)]


class GeneratedVectors(BaseEmbedding):
    """Real vectors of questions, random ones of passages: storing costs nothing."""

    _inner: BaseEmbedding = PrivateAttr()

    def __init__(self, inner: BaseEmbedding) -> None:
        super().__init__(model_name="generated")
        self._inner = inner

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._inner.get_query_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).normal(size=384)
        return list((vector / np.linalg.norm(vector)).tolist())


def main(turns: int, *, generated: bool) -> None:
    sessions, asked = conversations(turns)
    settings = Settings.model_validate({"embedding": {"multilingual": not generated}})
    model = GeneratedVectors(build_chain(settings.embedding, {})[0]) if generated else None
    with (
        tempfile.TemporaryDirectory() as folder,
        KnowledgeEngine.open(
            Path(folder) / "library", settings=settings, embed_model=model
        ) as engine,
    ):
        begun = time.process_time()
        documents = {}
        for number, said in enumerate(sessions):
            day = f"20{10 + number // 336:02}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"
            messages = storable_messages(said, at=f"{day}T10:00:00")
            documents[document_id("ann", str(number), messages[0])] = render(messages)
        engine.memory._closer.put("ann", documents)
        print(f"{turns:,} turns stored in {time.process_time() - begun:.0f} CPU s")
        for number in range(3):  # the first one opens what the others find open
            engine.memory.remember("ann", [("user", "I sold the kiln.")], session=f"last{number}")
            begun = time.process_time()
            engine.memory.close_session("ann", f"last{number}")
            closed = time.process_time() - begun
            engine.memory.search("ann", "Who has the kiln?")
            first = time.process_time() - begun - closed
            print(f"one more session closed in {closed:.2f} CPU s; next recall {first:.2f}")
        chosen = random.Random(SEED).sample(asked, min(200, len(asked)))  # noqa: S311
        engine.memory.search("ann", chosen[0][0])
        found, tokens, seconds = 0, 0, []
        for question, gold in chosen:
            begun = time.process_time()
            passages = engine.memory.search("ann", question)
            seconds.append(time.process_time() - begun)
            found += any(passage.title == str(gold) for passage in passages)
            tokens += sum(len(passage.text.split()) for passage in passages)
        seconds.sort()
        print(f"gold session in five: {found / len(chosen):.3f} of {len(chosen)} questions")
        print(f"{tokens / len(chosen):.0f} words a recall")
        p50, p95 = (seconds[int(len(seconds) * share)] * 1000 for share in (0.5, 0.95))
        print(f"recall: p50 {p50:.0f}, p95 {p95:.0f} CPU ms")


if __name__ == "__main__":
    numbers = [each for each in sys.argv[1:] if each.isdigit()]
    main(int(numbers[0]) if numbers else 4_000, generated="--generated" in sys.argv)
