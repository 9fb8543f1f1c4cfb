"""Derived model files, kept between runs: one write, cheap to trust again.

A file is written beside its place and moved there whole. Its stamp (size, time of change, SHA-256)
lies next to it: while size and time agree nothing is read; when only the time differs the content
is hashed; anything else is built anew. Where the folder cannot be written the bytes are handed
over in memory.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

_LOGGER = logging.getLogger("loregraph.models")
CACHE_VARIABLE = "LOREGRAPH_CACHE"


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of `LOREGRAPH_CACHE`, or the user's cache folder for this product."""
    import platformdirs

    environment = os.environ if environment is None else environment
    named = environment.get(CACHE_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("loregraph", appauthor=False))


def cached_file(name: str, build: Callable[[], bytes], *, folder: Path) -> Path | bytes:
    """Return a cached file, rebuilt if missing or damaged; bytes if not writable."""
    path = folder / name
    if _is_sound(path):
        return path
    content = build()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_whole(path, content)
        _write_stamp(path, hashlib.sha256(content).hexdigest())
    except OSError as error:
        _LOGGER.warning("the model is built at every start: cannot cache %s: %s", path, error)
        return content
    return path


def _stamp_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.stamp")


def _is_sound(path: Path) -> bool:
    try:
        status = path.stat()
        stamp = json.loads(_stamp_path(path).read_text(encoding="utf8"))
        if not isinstance(stamp, dict) or stamp.get("size") != status.st_size:
            return False
        if stamp.get("changed_ns") == status.st_mtime_ns:
            return True
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return False
    if found != stamp.get("sha256"):
        return False
    try:
        _write_stamp(path, found)
    except OSError as error:
        _LOGGER.info("%s is hashed at every start: cannot write its stamp: %s", path, error)
    return True


def _write_stamp(path: Path, sha256: str) -> None:
    status = path.stat()
    stamp = {"size": status.st_size, "changed_ns": status.st_mtime_ns, "sha256": sha256}
    _write_whole(_stamp_path(path), json.dumps(stamp).encode())


def _write_whole(path: Path, content: bytes) -> None:
    """Write beside, flush to disk, move over; leaves nothing behind when it fails."""
    handle, temporary = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
