"""Text to chunks with exact spans."""

from ..types import Strategy
from .choose import ChunkOptions, chunk, llama_document
from .identity import chunk_id
from .measure import Tokeniser

__all__ = ["ChunkOptions", "Strategy", "Tokeniser", "chunk", "chunk_id", "llama_document"]
