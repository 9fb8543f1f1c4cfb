"""Opaque pagination cursors."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from .problems import Problem

Item = TypeVar("Item")
MOST_ITEMS = 200

Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="How many items at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=4_000, description="`next` of the page before; none begins anew."),
]


class Page(BaseModel, Generic[Item]):
    """Part of a list. `next` is the cursor of what follows, null at the end."""

    items: Sequence[Item]
    total: int = Field(description="How many there are on all pages together.")
    next: str | None = None


def written(kind: str, place: str | tuple[str, int]) -> str:
    """Encode a cursor: list kind, last id, and position where the order may change."""
    text = json.dumps([kind, place], ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def place_in(kind: str, cursor: str | None) -> str:
    """Decode where a page begins: the id to follow; empty for the first.

    Raises:
        Problem: 422, no cursor of this list.
    """
    value = _read(kind, cursor) if cursor else ""
    if not isinstance(value, str):
        raise _wrong()
    return value


def place_and_end_in(kind: str, cursor: str | None) -> tuple[str, int]:
    """Decode the start of a ranked page: an id, or its position if the id vanished.

    Raises:
        Problem: 422, no cursor of this list.
    """
    match _read(kind, cursor) if cursor else ["", 0]:
        case [str(after), int(end)] if 0 <= end < 1 << 31 and not isinstance(end, bool):
            return after, end
        case _:
            raise _wrong()


def _read(kind: str, cursor: str) -> object:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found = json.loads(text)
    except (ValueError, binascii.Error, RecursionError) as error:
        raise _wrong() from error
    if not isinstance(found, list) or len(found) != 2 or found[0] != kind:
        raise _wrong()
    return found[1]


def _wrong() -> Problem:
    return Problem(422, "cursor", "cursor: is none of this list: begin without one")
