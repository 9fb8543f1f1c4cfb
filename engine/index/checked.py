"""A note of how the database's file looked when it was last found sound, or written by us.

Looking for damage reads the whole file; while the file looks as noted, that is spared. Kept in
`derived/`, so it can be thrown away at any time.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from .seen import Look

FILE_NAME = "checked.json"


def is_noted(library: Path, look: Look | None) -> bool:
    """Return whether the file looks as it did when it was noted as sound."""
    try:
        noted = json.loads((library / "derived" / FILE_NAME).read_text(encoding="utf8"))
    except (OSError, ValueError):
        return False
    return look is not None and noted == list(look)


def note(library: Path, look: Look | None) -> None:
    """Note that a database that looks like this is sound; a disk that refuses costs a look."""
    if look is None or not look[0] or is_noted(library, look):
        return
    file = library / "derived" / FILE_NAME
    temporary = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(exist_ok=True)
        temporary.write_text(json.dumps(look), encoding="utf8")
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def forget(library: Path, look: Look | None) -> None:
    """Drop the note where it says that this is sound: the next one who opens it looks again."""
    if is_noted(library, look):
        with suppress(OSError):
            (library / "derived" / FILE_NAME).unlink(missing_ok=True)


__all__ = ["forget", "is_noted", "note"]
