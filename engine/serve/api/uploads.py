"""Files that come by HTTP: a name that is no path, a folder of its own, a hash.

Nothing that a client says becomes a path: of a file name only its last part is kept, and of that
only what is harmless; the file itself lies in a numbered folder until it was read.
"""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import tempfile
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .problems import Problem

_LONGEST_NAME_BYTES = 200
_HARMFUL = re.compile(r'[<>:"|?*]+')
_PIECE = 1 << 20
_log = logging.getLogger("loregraph.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file as it was taken in."""

    name: str
    path: Path
    sha256: str


def safe_name(name: str) -> str:
    """A client's name for a file as a plain name: no folder, nothing hidden, no odd character.

    Raises:
        Problem: 422, nothing is left of it.
    """
    shown = "".join(each if each.isprintable() else " " for each in name)
    last = re.split(r"[\\/]", unicodedata.normalize("NFC", shown))[-1]
    clean = " ".join(_HARMFUL.sub(" ", last).split()).lstrip(". ")
    stem, dot, suffix = clean.rpartition(".")
    if not dot:
        stem, suffix = clean, ""
    end = f"{dot}{suffix}".encode()[:20].decode("utf-8", "ignore")
    room = _LONGEST_NAME_BYTES - len(end.encode())
    found = stem.encode()[:room].decode("utf-8", "ignore") + end
    if not found.strip(". "):
        raise Problem(422, "file-name", f"{name[:100]!r} is no name for a file")
    return found


def take_in(file: BinaryIO, *, name: str, folder: Path) -> Upload:
    """Copy a file into a folder under its safe name; its hash is of what was written."""
    safe = safe_name(name)
    digest = hashlib.sha256()
    place = folder / safe
    with place.open("xb") as target:
        while piece := file.read(_PIECE):
            digest.update(piece)
            target.write(piece)
    return Upload(name=safe, path=place, sha256=digest.hexdigest())


def no_room(error: OSError) -> Problem:
    """What is said where the disk does not take a file."""
    _log.error("an upload cannot be taken in: %s", error)
    return Problem(507, "storage", f"the server cannot take files in: {error.strerror}")


class Incoming:
    """Folders for what is on its way in; what a killed run left is thrown away at the start."""

    def __init__(self, place: Path) -> None:
        self._place = place
        shutil.rmtree(place, ignore_errors=True)

    def folder(self) -> Path:
        """A new folder, for this process's user alone.

        Raises:
            Problem: 507, the disk refuses.
        """
        try:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(dir=self._place))
        except OSError as error:
            raise no_room(error) from error

    def discard(self, folder: Path) -> None:
        """Throw a folder away with all that is in it."""
        shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Throw everything away."""
        shutil.rmtree(self._place, ignore_errors=True)
