"""An engine that is quick to open: vectors from hashed words, names without a language model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from two_owners import NORTH, SOUTH, fill

from engine import KnowledgeEngine, Settings
from engine.agent.web import WebSearch

_WORD = re.compile(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+")


class HashedEmbedding(BaseEmbedding):
    """Deterministic, and near for texts that share words; counts what it embeds."""

    model_name: str = "hashed-words"
    texts: int = 0

    def _vector(self, text: str) -> list[float]:
        vector = np.zeros(64, dtype=np.float32)
        for word in _WORD.findall(text.casefold()):
            digest = hashlib.sha256(word.encode()).digest()
            vector[digest[0] % 64] += 1.0 if digest[1] % 2 else -1.0
        norm = float(np.linalg.norm(vector))
        return [float(x) for x in (vector / norm if norm else vector)]

    def _get_text_embedding(self, text: str) -> list[float]:
        self.texts += 1
        return self._vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)


LIGHT = {"graph": {"spacy_model": "none"}, "cache": {"answers": "none"}}
"""No spaCy pipeline: capitalised names only. What is tested with it does not depend on types.

Every question is answered anew: `test_answer_cache.py` is about the rest.
"""

OpenEngine = Callable[..., KnowledgeEngine]


@pytest.fixture(scope="session")
def open_engine() -> OpenEngine:
    """`open_engine(path, **settings sections)`."""

    def open_(
        path: Path, *, web_search: WebSearch | None = None, **sections: dict[str, object]
    ) -> KnowledgeEngine:
        settings = Settings.model_validate(LIGHT | sections)
        return KnowledgeEngine.open(
            path, settings=settings, embed_model=HashedEmbedding(), web_search=web_search
        )

    return open_


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, open_engine: OpenEngine
) -> Iterator[KnowledgeEngine]:
    """A library of two owners, that no test may change."""
    with open_engine(tmp_path_factory.mktemp("shared") / "library") as engine:
        fill(engine, NORTH, "north")
        fill(engine, SOUTH, "south")
        yield engine


@pytest.fixture(scope="module")
def alone(
    tmp_path_factory: pytest.TempPathFactory, open_engine: OpenEngine
) -> Iterator[KnowledgeEngine]:
    """What one of them has, in a library of its own."""
    with open_engine(tmp_path_factory.mktemp("alone") / "library") as engine:
        fill(engine, NORTH, "north")
        yield engine


@pytest.fixture(scope="session")
def corpus() -> Path:
    return Path(__file__).parents[2] / "data" / "corpus"


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries grow from a hundredth of a second."""
    monkeypatch.setattr("engine.llm.retry._FIRST_WAIT_SECONDS", 0.01)
