"""A library that was made for a run which then stored nothing: as if it had not been made."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ..errors import LibraryError
from .library import Library

_HELD = ("documents", "curations", "usage")
"""What somebody brought, said or paid for; everything else follows from it."""


def unmake(path: Path) -> None:
    """Take a library away in which there is nothing; one that holds or is being given something
    stays, and so does whatever cannot be moved.

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
