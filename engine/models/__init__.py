"""Model objects from settings: embeddings, tokenisers, language models, LLM client.

`build` is the only place that branches on a provider; `encoder` runs the bundled MiniLM,
`tokeniser` counts sizes, `gateway` asks a language model. Importing this package loads no model
and none of LlamaIndex.
"""

from __future__ import annotations

from .budget import Budget
from .build import build_embedding, build_llm
from .gateway import LLMClient, LLMReply
from .gateways import build_budget, build_gateways, build_llms
from .naming import identity_of
from .tokeniser import Tokeniser, load_tokeniser, windows

__all__ = [
    "Budget",
    "LLMClient",
    "LLMReply",
    "Tokeniser",
    "build_budget",
    "build_embedding",
    "build_gateways",
    "build_llm",
    "build_llms",
    "identity_of",
    "load_tokeniser",
    "windows",
]
