"""Reranking as LlamaIndex knows it: a node postprocessor around any `Reranker`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, SkipValidation

from ..errors import ModelError
from ..types import Passage
from .rerank import Reranker, rerank_passages
from .rerank_models import LanguageReranker

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


class RerankPostprocessor(BaseNodePostprocessor):
    """Puts the first nodes in the order of a reranker; where that fails, their order stays.

    Args:
        reranker: the judge; `from_llm` makes one of a language model.
        top_n: how many nodes are returned.
        candidates: how many are judged.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reranker: SkipValidation[Reranker]
    top_n: int = Field(10, ge=1)
    candidates: int = Field(20, ge=2)

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of the component."""
        return "RerankPostprocessor"

    @classmethod
    def from_llm(cls, llm: LLM, *, top_n: int = 10, candidates: int = 20) -> RerankPostprocessor:
        """Return a postprocessor that has a language model of LlamaIndex put nodes in order."""

        def complete(prompt: str) -> str:
            try:
                return llm.complete(prompt).text
            except Exception as error:  # each model has errors of its own
                raise ModelError(f"language model failed: {error}; check the model") from error

        return cls(reranker=LanguageReranker(complete), top_n=top_n, candidates=candidates)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Return the best nodes, with falling scores."""
        if query_bundle is None:
            raise ValueError("no question to rerank by; pass query_str or query_bundle")
        order = rerank_passages(
            _passages_of(nodes),
            query_bundle.query_str,
            reranker=self.reranker,
            candidates=self.candidates,
            top_k=self.top_n,
        )
        return [
            NodeWithScore(node=nodes[int(each.chunk_id)].node, score=each.score) for each in order
        ]


def _passages_of(nodes: Sequence[NodeWithScore]) -> list[Passage]:
    """Return nodes as passages, named by their places and with scores that fall."""
    passages: list[Passage] = []
    least = float("inf")
    for place, each in enumerate(nodes):
        text = each.node.get_content(metadata_mode=MetadataMode.NONE)
        least = min(least, 0.0 if each.score is None else each.score)
        title = str(each.node.metadata.get("title", ""))
        found = Passage(
            text=text,
            score=least,
            relevance=0.0,
            document_id=each.node.ref_doc_id or each.node.node_id,
            chunk_id=str(place),
            title=title,
            start=0,
            end=len(text),
        )
        passages.append(found)
    return passages
