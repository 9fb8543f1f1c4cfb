"""Deletion of a library that was created for a run which stored nothing."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ..errors import LibraryError
from .library import Library

_HELD = ("documents", "curations", "usage")
"""Tables of user input and paid results; all others are derived."""


def delete_if_empty(path: Path) -> None:
    """Delete an empty library.

    One with content or a writer stays, as do files that cannot be moved.

    The folder is moved aside before it is deleted, under the writer's lock: whoever opened it
    meanwhile finds no place to lock, and can store nothing that would be lost.
    """
    with suppress(LibraryError, OSError):
        library = Library(path, create=False)
        try:
            with library.writer(timeout_seconds=0):
                counts = library.counts()
                if any(counts[name] for name in _HELD):
                    return
                library.close()
                aside = tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent)
                path.rename(Path(aside) / path.name)
        finally:
            library.close()
        shutil.rmtree(aside)
