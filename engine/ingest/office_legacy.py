"""Word and PowerPoint files of 1997–2003: not read yet, and said so."""

from __future__ import annotations

from ..errors import SourceError
from .content import Content, ReadOptions


def read_doc(data: bytes, options: ReadOptions) -> Content:
    """Refuses."""
    raise SourceError("is an old .doc file: save it as .docx")


def read_ppt(data: bytes, options: ReadOptions) -> Content:
    """Refuses."""
    raise SourceError("is an old .ppt file: save it as .pptx")
