"""An answer as bytes and back. What comes back is hostile until it is checked.

JSON, never pickle: types, sizes, and that every quote stands in the library at its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from ..types import Answer
from .shelf import MAX_BYTES

if TYPE_CHECKING:
    TextAt = Callable[[str, int, int], str]
    """A document's id, a start and an end to its characters there."""


def written(answer: Answer) -> bytes | None:
    """Serialise an answer to JSON bytes; None if too large or not serialisable."""
    try:
        data = _adapter().dump_json(answer, warnings=False)
    except (PydanticSerializationError, ValueError):
        return None
    return data if len(data) <= MAX_BYTES else None


def read(data: bytes, *, question: str, text_at: TextAt) -> Answer | None:
    """Deserialise the cached answer to this question; None for anything else."""
    if len(data) > MAX_BYTES:
        return None
    try:
        answer = _adapter().validate_json(data, strict=True)
    except ValidationError:
        return None
    if answer.question != question or (answer.abstained and answer.citations):
        return None
    quoted = [(c.document_id, c.start, c.end, c.quote) for c in answer.citations]
    shown = [(p.document_id, p.start, p.end, p.text) for p in answer.passages]
    short = answer.short
    if short is not None and short.document_id is not None:
        quoted.append((short.document_id, short.start or 0, short.end or 0, short.text))
    if any(answer.text[c.start : c.end] != c.text for c in answer.claims):
        return None
    stands = all(
        0 <= start <= end and text_at(document_id, start, end) == text
        for document_id, start, end, text in [*quoted, *shown]
    )
    return answer if stands else None


@cache
def _adapter() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)
