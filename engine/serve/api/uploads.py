"""Uploads on disk: safe names, hashes, and owed work that survives a crash and a second server.

Nothing that a client says becomes a path: of a file name only its last part is kept, and of that
only what is harmless. Each server owns a folder in `incoming/`, held by an operating-system lock
that its death releases. An accepted upload lies there with a manifest until it was added; another
server takes it over once its owner is dead.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import unicodedata
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from .problems import Problem

_LONGEST_NAME_BYTES = 200
_HARMFUL = re.compile(r'[<>:"|?*]+')
_PIECE = 1 << 20
_MANIFEST = "upload.json"
_JOBS = "jobs.json"
_log = logging.getLogger("loregraph.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file as it was taken in."""

    name: str
    path: Path
    sha256: str


def safe_name(name: str) -> str:
    """Sanitise a client's file name: no folder, not hidden, no odd characters.

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


def save_upload(file: BinaryIO, *, name: str, folder: Path) -> Upload:
    """Copy a file into a folder under its safe name; its hash is of what was written."""
    safe = safe_name(name)
    digest = hashlib.sha256()
    place = folder / safe
    with place.open("xb") as target:
        while piece := file.read(_PIECE):
            digest.update(piece)
            target.write(piece)
        target.flush()
        os.fsync(target.fileno())
    return Upload(name=safe, path=place, sha256=digest.hexdigest())


def no_room(error: OSError) -> Problem:
    """Return the problem of a full disk."""
    _log.error("an upload cannot be taken in: %s", error)
    return Problem(507, "storage", f"the server cannot take files in: {error.strerror}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """An accepted upload: its folder, and what is to be done with it."""

    folder: Path
    manifest: Mapping[str, object]


class UploadFolder:
    """Accepted uploads of one server, in a folder that its lock marks as owned.

    Args:
        place: the library's folder for uploads, shared by all its servers.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._own = place / f"server-{uuid.uuid4().hex[:16]}"
        self._lock = FileLock(_lock_of(self._own))

    @property
    def jobs_file(self) -> Path:
        """File in which this server remembers its jobs."""
        return self._own / _JOBS

    def open(self) -> None:
        """Create this server's folder.

        Its lock is taken first, so it is never seen without owner.

        A disk that refuses costs uploads, not the server.
        """
        try:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock.acquire(blocking=False)
            self._own.mkdir(mode=0o700)
        except (OSError, Timeout) as error:
            _log.warning("uploads are not possible: %s", error)

    def folder(self) -> Path:
        """Return a new folder, readable by this process's user alone.

        Raises:
            Problem: 507, the disk refuses.
        """
        try:
            return Path(tempfile.mkdtemp(dir=self._own))
        except OSError as error:
            raise no_room(error) from error

    def accept(self, folder: Path, manifest: Mapping[str, object]) -> None:
        """Store the manifest durably; from then on the upload is owed.

        Raises:
            Problem: 507, the disk refuses.
        """
        part = folder / f"{_MANIFEST}.part"
        try:
            with part.open("x", encoding="utf8") as target:
                json.dump(manifest, target, ensure_ascii=False)
                target.flush()
                os.fsync(target.fileno())
            part.replace(folder / _MANIFEST)
            for each in (folder, self._own):
                _sync_folder(each)
        except OSError as error:
            raise no_room(error) from error

    def discard(self, folder: Path) -> None:
        """Delete the folder of an upload."""
        shutil.rmtree(folder, ignore_errors=True)

    def orphans(self) -> Iterator[Path]:
        """Yield the folders of servers that are dead, each under its lock, then delete it."""
        for folder in self._others():
            with contextlib.suppress(Timeout, OSError):
                lock = FileLock(_lock_of(folder))
                with lock.acquire(blocking=False):
                    if folder.is_dir():  # another server may have been quicker
                        yield folder
                        shutil.rmtree(folder, ignore_errors=True)
                    _lock_of(folder).unlink(missing_ok=True)

    def taken_over(self, folder: Path) -> list[Owed]:
        """Move the accepted uploads of a dead server's folder here."""
        found = []
        for manifest in sorted(folder.glob(f"*/{_MANIFEST}")):
            try:
                values = json.loads(manifest.read_text(encoding="utf8"))
                target = self.folder()
                target.rmdir()
                manifest.parent.rename(target)
            except (OSError, ValueError, Problem) as error:
                _log.error("an upload of an earlier server is lost: %s", error)
                continue
            found.append(Owed(folder=target, manifest=values))
        return found

    def jobs_of_others(self) -> list[Path]:
        """Return the job files of the other servers of this library."""
        return [folder / _JOBS for folder in self._others()]

    def close(self) -> None:
        """Release the folder; uploads that are still owed wait there for the next server."""
        self._lock.release()

    def _others(self) -> list[Path]:
        with contextlib.suppress(OSError):
            return sorted(
                each for each in self._place.iterdir() if each.is_dir() and each != self._own
            )
        return []


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
