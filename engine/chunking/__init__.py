"""Text to chunks with exact spans."""

from ..types import Strategy
from .span_parser import Tokeniser, chunk_id
from .strategy import ChunkOptions, chunk, llama_document

__all__ = ["ChunkOptions", "Strategy", "Tokeniser", "chunk", "chunk_id", "llama_document"]
