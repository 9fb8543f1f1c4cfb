"""File state cache: stat and ETag hints that avoid re-reading sources.

A file whose size and times are as they were is taken to hold the same bytes; an address gives back
the marks (ETag, Last-Modified) with which its server says "not modified". Kept in one file in
`derived/` that can be thrown away at any time; it only ever saves work, and decides nothing.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

FILE_NAME = "seen.json"
_RACY_NANOSECONDS = 2_000_000_000
"""Files modified this shortly before reading are not cached.

A later write within one clock tick would go unseen.
"""

Look = tuple[int, int, int, int]
"""Size, time of change of content and of the entry (ns), and inode number."""


class FileStateCache:
    """Hints of one library; nothing is written before `save`."""

    def __init__(self, library: Path) -> None:
        self._path = library / "derived" / FILE_NAME
        self._files: dict[str, list[Any]] = {}
        self._addresses: dict[str, list[str]] = {}
        self._changed = False
        self._load()

    def sha256_of(self, source: str, look: Look | None) -> str | None:
        """Return the hash of an unchanged file; None if it must be read."""
        held = self._files.get(source)
        if look is None or held is None or held[:-1] != list(look):
            return None
        return str(held[-1])

    def note_file(self, source: str, look: Look | None, sha256: str) -> None:
        """Remember how a file looked when its bytes had this hash."""
        settled = look is not None and time.time_ns() - max(look[1], look[2]) > _RACY_NANOSECONDS
        entry = [*look, sha256] if look is not None and settled else None
        if entry is None:
            self._changed |= self._files.pop(source, None) is not None
        elif self._files.get(source) != entry:
            self._files[source] = entry
            self._changed = True

    def marks_of(self, source: str) -> tuple[str, str]:
        """ETag and Last-Modified of an address; empty where none is known."""
        etag, modified = self._addresses.get(source, ("", ""))
        return etag, modified

    def note_address(self, source: str, *, etag: str, last_modified: str) -> None:
        """Remember what a server said of an address."""
        if self._addresses.get(source) != [etag, last_modified]:
            self._addresses[source] = [etag, last_modified]
            self._changed = True

    def save(self, *, sources: Collection[str]) -> None:
        """Save the state of these sources; others are dropped.

        A disk that refuses costs the hints alone.
        """
        for known in (self._files, self._addresses):
            for source in [source for source in known if source not in sources]:
                del known[source]
                self._changed = True
        if not self._changed:
            return
        values = {"files": self._files, "addresses": self._addresses}
        text = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        temporary = self._path.with_suffix(f".{os.getpid()}.part")
        try:
            self._path.parent.mkdir(exist_ok=True)
            temporary.write_text(text, encoding="utf8")
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)
        self._changed = False

    def _load(self) -> None:
        try:
            values = json.loads(self._path.read_text(encoding="utf8"))
            files, addresses = values["files"], values["addresses"]
        except (OSError, ValueError, KeyError, TypeError):
            return  # never written, or damaged: everything is looked at again
        if isinstance(files, dict) and isinstance(addresses, dict):
            self._files = {k: v for k, v in files.items() if _is_list(v, 5)}
            self._addresses = {k: v for k, v in addresses.items() if _is_list(v, 2)}


def stat_signature(path: Path) -> Look | None:
    """Return a file's stat signature; None if absent or not a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _is_list(value: object, length: int) -> bool:
    return isinstance(value, list) and len(value) == length
