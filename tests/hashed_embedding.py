"""An engine that is quick to open: vectors from hashed words, names without a language model."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding

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


def open_light(
    path: Path, *, web_search: WebSearch | None = None, **sections: dict[str, object]
) -> KnowledgeEngine:
    settings = Settings.model_validate(LIGHT | sections)
    return KnowledgeEngine.open(
        path, settings=settings, embed_model=HashedEmbedding(), web_search=web_search
    )
