"""Source code and configuration files as text, with their language.

Where to cut code is the chunker's business.
"""

from __future__ import annotations

import re

from ...types import MetaValue
from ..content import Content
from .plain import decode

_CPP_ONLY = re.compile(
    r"^[ \t]*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)"
    r"|\bstd::|\bvirtual\b|\bconstexpr\b|#include\s*<(?:string|vector|map|memory|iostream)>",
    re.M,
)
_GENERATED = re.compile(
    r"@generated\b|\bDO NOT EDIT\b|\b(?:auto(?:matically)?[- ]?)generated\b|自动生成", re.I
)
_HEAD_LINES = 15
_MINIFIED_LINE = 500
"""Characters in a line, on average, that nobody writes by hand."""


def read_code(data: bytes, *, language: str) -> Content:
    """Read decoded text.

    Metadata `language`, and `generated` for minified or declared generated code.

    Raises:
        SourceError: the bytes are not text.
    """
    text = decode(data)
    metadata: dict[str, MetaValue] = {"language": _refined(language, text)}
    if _is_generated(text):
        metadata["generated"] = True
    return Content(text=text, shape="code", metadata=metadata)


def read_configuration(data: bytes) -> Content:
    """Read decoded text without a title."""
    return Content(text=decode(data))


def _refined(language: str, text: str) -> str:
    """Return C++ for a C header with C++ constructs."""
    return "cpp" if language == "c" and _CPP_ONLY.search(text) else language


def _is_generated(text: str) -> bool:
    lines = text.count("\n") + 1
    if len(text) > 4 * _MINIFIED_LINE and len(text) / lines > _MINIFIED_LINE:
        return True
    head = "\n".join(text[: 200 * _HEAD_LINES].split("\n")[:_HEAD_LINES])
    return _GENERATED.search(head) is not None
