"""From a text as read to its chunks, by the strategy that suits its type.

One strategy so far; it asks the type only which marks are headings. LlamaIndex is imported here
when the first text is chunked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import SettingsError
from ..types import SourceText
from .measure import Tokeniser

if TYPE_CHECKING:
    from llama_index.core import Document
    from llama_index.core.schema import TextNode


def chunk(
    source: SourceText, *, size_tokens: int, overlap_tokens: int, tokeniser: Tokeniser
) -> list[TextNode]:
    """The chunks of `source`, in order; `source.text[start_char_idx:end_char_idx] == text`.

    Raises:
        SettingsError: the overlap is more than half of the size.
    """
    from llama_index.core.schema import TextNode

    from .recursive import RecursiveNodeParser

    if 2 * overlap_tokens > size_tokens:
        raise SettingsError(
            f"chunk.overlap_tokens={overlap_tokens!r} is more than half of "
            f"chunk.size_tokens={size_tokens!r}: lower the one or raise the other"
        )
    parser = RecursiveNodeParser(
        size_tokens=size_tokens, overlap_tokens=overlap_tokens, tokeniser=tokeniser
    )
    nodes = parser.get_nodes_from_documents([llama_document(source)])
    return [node for node in nodes if isinstance(node, TextNode)]


def llama_document(source: SourceText) -> Document:
    """The text as a LlamaIndex document with the same id; its metadata stay out of prompts."""
    from llama_index.core import Document

    from .parser import PAGE_STARTS, SHAPE

    metadata: dict[str, object] = {**source.metadata, "title": source.title}
    metadata["type"] = source.type
    metadata[SHAPE] = source.shape
    if source.pages:
        metadata[PAGE_STARTS] = list(source.pages)
    return Document(
        id_=source.id,
        text=source.text,
        metadata=metadata,
        excluded_embed_metadata_keys=sorted(metadata),
        excluded_llm_metadata_keys=sorted(metadata),
    )
