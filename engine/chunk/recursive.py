"""The default strategy as a LlamaIndex node parser: headings, then paragraphs, then sentences.

`document.text[node.start_char_idx:node.end_char_idx] == node.text`, always. Knows nothing of
embedding or storage.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, TextNode

from .blocks import sections
from .identity import chunk_id
from .measure import Measure, Tokeniser
from .pack import Span, merge_small, pack

PAGE_STARTS = "page_starts"
"""The key of a document's metadata that holds the start offset of each page."""

_MARKDOWN_TYPES = frozenset({"markdown", "html"})


class RecursiveNodeParser(NodeParser):  # type: ignore[misc, unused-ignore]
    """Chunks of at most `size_tokens`, overlapping by whole sentences inside a section.

    A node's id is made of its document, offset and text. Its metadata are the document's and
    `title`, `headings` (from the root), `position`, and `page` where pages are known; none of it
    enters the text that is embedded or shown to a model by LlamaIndex itself.
    """

    size_tokens: int = Field(default=512, ge=16)
    overlap_tokens: int = Field(default=64, ge=0)
    tokeniser: Tokeniser = Field(exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex knows this parser by."""
        return "RecursiveNodeParser"

    def spans(self, text: str, *, markdown: bool) -> list[Span]:
        """The chunks of a text as spans with their heading paths, in order."""
        measure = Measure(text, self.tokeniser)
        packed = [
            span
            for section in sections(text, markdown=markdown)
            for span in pack(
                text,
                section,
                measure=measure,
                size_tokens=self.size_tokens,
                overlap_tokens=min(self.overlap_tokens, self.size_tokens // 2),
            )
        ]
        return merge_small(packed, measure=measure, size_tokens=self.size_tokens)

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,
        **kwargs: Any,
    ) -> list[BaseNode]:
        return [chunk for node in nodes for chunk in self._chunks(node)]

    def _postprocess_parsed_nodes(
        self,
        nodes: list[BaseNode],
        parent_doc_map: dict[str, Any],
    ) -> list[BaseNode]:
        """Nothing is left to do. The inherited step would search for each chunk's text again, and
        find the wrong place where a document repeats itself."""
        return nodes

    def _chunks(self, document: BaseNode) -> list[TextNode]:
        text = document.get_content(metadata_mode=MetadataMode.NONE)
        markdown = document.metadata.get("type") in _MARKDOWN_TYPES
        source = document.source_node or document.as_related_node_info()
        chunks = [
            _node(text, span, document=document, position=position)
            for position, span in enumerate(self.spans(text, markdown=markdown))
        ]
        for chunk in chunks:
            chunk.relationships[NodeRelationship.SOURCE] = source
        if self.include_prev_next_rel:
            _link(chunks)
        return chunks


def _node(text: str, span: Span, *, document: BaseNode, position: int) -> TextNode:
    content = text[span.start : span.end]
    given = document.metadata if isinstance(document.metadata, dict) else {}
    metadata = {key: value for key, value in given.items() if key != PAGE_STARTS}
    metadata |= {
        "title": str(given.get("title", "")),
        "headings": list(span.path),
        "position": position,
    }
    page_starts = given.get(PAGE_STARTS)
    if page_starts:
        metadata["page"] = bisect_right(page_starts, span.start)
    return TextNode(
        id_=chunk_id(document.node_id, span.start, content),
        text=content,
        start_char_idx=span.start,
        end_char_idx=span.end,
        metadata=metadata,
        excluded_embed_metadata_keys=sorted(metadata),
        excluded_llm_metadata_keys=sorted(metadata),
    )


def _link(chunks: list[TextNode]) -> None:
    """Each chunk knows its neighbours; every fingerprint is taken once."""
    infos = [chunk.as_related_node_info() for chunk in chunks]
    for before, chunk in zip(infos, chunks[1:], strict=False):
        chunk.relationships[NodeRelationship.PREVIOUS] = before
    for chunk, after in zip(chunks, infos[1:], strict=False):
        chunk.relationships[NodeRelationship.NEXT] = after
