"""Python's cyclic collector, kept from looking through what is all meant to live on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Off meanwhile: of many small values, none of them in a cycle, looking for cycles among them
    over and over costs a third of making them, or more."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
