"""Text to chunks with exact spans."""

from .choose import chunk, llama_document
from .identity import chunk_id
from .measure import Tokeniser

__all__ = ["Tokeniser", "chunk", "chunk_id", "llama_document"]
