"""Settings to model objects: embeddings, tokenisers, language models.

`build` is the only place that branches on a provider; `encoder` runs the bundled MiniLM,
`tokeniser` counts sizes, `usage` calls a language model. Importing this package loads no model
and none of LlamaIndex.
"""

from __future__ import annotations

from .build import build_embedding, build_llm, identity_of
from .tokeniser import Tokeniser, load_tokeniser, windows
from .usage import UsageMeter

__all__ = [
    "Tokeniser",
    "UsageMeter",
    "build_embedding",
    "build_llm",
    "identity_of",
    "load_tokeniser",
    "windows",
]
