"""Source discovery: files, addresses, databases and documents behind what was named, and ids.

A document's id does not depend on the machine: it is the POSIX path in NFC, relative to the current
folder where the named path lies inside it, else to that path's parent. So `docs`, `./docs/` and its
absolute path all give `docs/sub/a.md`.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import SourceError
from ..types import SourceFailure
from .document import sanitise_text
from .registry import is_known

if TYPE_CHECKING:
    from llama_index.core.schema import Document

_NAMES_IN_A_NOTE = 3
_MADE_BY_PROGRAMS = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FileSource:
    """One file to read: the id of the document it will be, and where it is."""

    id: str
    path: Path


class DiscoveredSources(NamedTuple):
    """Discovered sources, sorted.

    `notes` and `skipped` list skipped ones. `folders` are the walked folders: id and
    real path.
    """

    sources: list[FileSource]
    failures: list[SourceFailure]
    notes: list[str]
    skipped: list[SourceFailure]
    folders: list[tuple[str, Path]]


def find_sources(
    paths: Sequence[str | Path],
    *,
    not_in: Sequence[str | Path] = (),
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> DiscoveredSources:
    """Find the files behind `paths`, in any order.

    Folders are walked whole. Hidden names, `node_modules`, `__pycache__` and the folders in
    `not_in` are passed over; so is, of what lies in a folder, what no pattern of `include` or any
    of `exclude` matches (patterns as in `.gitignore`, relative to the folder that was named);
    files that no reader takes are noted; a file that is named itself is taken whatever its suffix.
    No real folder or file is taken twice: links are followed last, and noted where they lead to
    what is there already. Two files with one id are a failure that names both; neither is taken.
    """
    walk = _Walk(
        excluded={os.path.realpath(path) for path in not_in},
        patterns=_Patterns(include, exclude),
    )
    for given in sorted({os.fspath(path) for path in paths}, key=lambda path: (len(path), path)):
        walk.start(given)
    walk.follow_links()
    return walk.found()


def sha256_of(path: Path, *, max_bytes: int) -> str:
    """Return a file's SHA-256 in hex, read in blocks.

    Raises:
        SourceError: it is larger than `max_bytes`, gone, or may not be read.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            check_size(os.fstat(file.fileno()).st_size, max_bytes=max_bytes)
            while piece := file.read(1 << 20):
                size += len(piece)
                check_size(size, max_bytes=max_bytes)
                digest.update(piece)
    except OSError as error:
        raise SourceError(why_unreadable(error)) from error
    return digest.hexdigest()


def check_size(size: int, *, max_bytes: int) -> None:
    """Raise `SourceError` if `size` exceeds the limit; names the setting."""
    if size > max_bytes:
        raise SourceError(
            f"is too large: {size:,} bytes, the limit is {max_bytes:,}; "
            "split it, or raise ingest.max_file_bytes"
        )


def why_unreadable(error: OSError) -> str:
    """Return an operating system error as a reason."""
    match error:
        case FileNotFoundError():
            return "vanished before it could be read: add it again once it is back"
        case PermissionError():
            return "permission denied: make it readable for this user"
        case _:
            return f"cannot be read: {error.strerror or error}"


class _Entry(NamedTuple):
    """Directory entry; `real` is the link-free path, inherited from the parent."""

    id: str
    path: Path
    real: str
    named: bool = False
    inside: str = ""  # its path within the folder that was named


@dataclass(slots=True)
class _Walk:
    """State of one search. Sorted results hide the order of discovery."""

    excluded: set[str]
    patterns: _Patterns
    roots: dict[str, _Entry] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))
    real_files: dict[str, str] = field(default_factory=dict)
    real_folders: dict[str, str] = field(default_factory=dict)
    links: list[_Entry] = field(default_factory=list)
    other: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unwanted: list[str] = field(default_factory=list)
    failures: list[SourceFailure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def start(self, given: str) -> None:
        """Take one path as the user named it."""
        path = Path(os.path.normpath(Path(given).absolute()))
        entry = _Entry(_root_id(path), path, os.path.realpath(path), named=True)
        if not os.path.lexists(path):
            self.fail(given, "does not exist: check the path")
            return
        self.take(entry)
        if path.is_dir():
            self.roots[given] = entry

    def follow_links(self) -> None:
        """Links come last, so that what they lead to keeps the id of its own place."""
        heapq.heapify(self.links)
        while self.links:
            entry = heapq.heappop(self.links)
            self.take_real(entry)

    def take(self, entry: _Entry) -> None:
        if entry.path.is_symlink():
            heapq.heappush(self.links, entry)
        else:
            self.take_real(entry)

    def take_real(self, entry: _Entry) -> None:
        pending = [entry]
        while pending:
            entry = pending.pop()
            try:
                mode = entry.path.stat().st_mode
                if stat.S_ISDIR(mode):
                    pending += self.entries(entry)
                elif stat.S_ISREG(mode):
                    self.take_file(entry)
                elif entry.named or self.is_known(entry):
                    self.fail(entry.id, "is not a regular file (a pipe, socket or device)")
            except FileNotFoundError as error:
                broken = entry.path.is_symlink()
                if entry.named or self.is_known(entry):
                    reason = "is a broken link: repair or remove it"
                    self.fail(entry.id, reason if broken else why_unreadable(error))
            except OSError as error:
                self.fail(entry.id or str(entry.path), why_unreadable(error))

    def entries(self, folder: _Entry) -> list[_Entry]:
        """Return entries of an unseen folder, links separated."""
        if folder.real in self.excluded:
            self.notes.append(f"skipped {_shown(folder)}: it is excluded")
            return []
        if not self.is_new(folder, self.real_folders, kind="folder"):
            return []
        found: list[_Entry] = []
        base = f"{folder.inside}/" if folder.inside else ""
        with os.scandir(folder.path) as entries:
            names = sorted(entry.name for entry in entries if not _is_beside_the_point(entry.name))
        for name in names:
            path, real = folder.path / name, os.path.join(folder.real, name)  # noqa: PTH118
            if path.is_symlink():
                link = _Entry(
                    _joined(folder.id, name), path, os.path.realpath(path), inside=base + name
                )
                heapq.heappush(self.links, link)
            else:
                found.append(_Entry(_joined(folder.id, name), path, real, inside=base + name))
        return found

    def take_file(self, entry: _Entry) -> None:
        if not entry.named and not self.patterns.take(entry.inside):
            self.unwanted.append(entry.id)
        elif not (entry.named or self.is_known(entry)):
            self.other[_suffix(entry.path)].append(entry.id)
        elif self.is_new(entry, self.real_files, kind="file"):
            self.files[entry.id].append(entry.path)

    def is_new(self, entry: _Entry, known: dict[str, str], *, kind: str) -> bool:
        if entry.real not in known:
            known[entry.real] = entry.id
            return True
        first = known[entry.real]
        if first != entry.id:
            self.notes.append(f"{_shown(entry)} is the same {kind} as {first or '.'!r}: read once")
        return False

    def is_known(self, entry: _Entry) -> bool:
        return is_known(entry.path.name)

    def fail(self, source: str, reason: str) -> None:
        self.failures.append(SourceFailure(source=sanitise_text(source), reason=reason))

    def found(self) -> DiscoveredSources:
        sources = []
        for id_, paths in sorted(self.files.items()):
            if len(paths) == 1:
                sources.append(FileSource(id=id_, path=paths[0]))
            elif paths:
                both = " and ".join(repr(sanitise_text(str(path))) for path in sorted(paths))
                reason = f"would be the id of {both}: add a folder that contains all of them"
                self.fail(id_, reason)
        for given, root in self.roots.items():
            if not any(Path(file).is_relative_to(root.real) for file in self.real_files):
                self.fail(given, self.why_nothing())
        failures = sorted(set(self.failures), key=lambda failure: (failure.source, failure.reason))
        return DiscoveredSources(
            sources,
            failures,
            sorted({*self.notes, *self.notes_on_others()}),
            self.skipped(),
            sorted((root.id, root.path) for root in self.roots.values()),
        )

    def why_nothing(self) -> str:
        if self.unwanted:
            return "contains no file that matches: check --include and --exclude"
        return (
            "contains no readable file: documents, tables, mail, code, archives and pictures are "
            "read (the README lists the formats)"
        )

    def skipped(self) -> list[SourceFailure]:
        found = [(id_, "is excluded by --include or --exclude") for id_ in self.unwanted]
        found += [
            (
                id_,
                f"unsupported format {suffix!r}"
                if suffix
                else "has neither a suffix nor a known name",
            )
            for suffix, ids in self.other.items()
            for id_ in ids
        ]
        return [SourceFailure(source=source, reason=reason) for source, reason in sorted(found)]

    def notes_on_others(self) -> list[str]:
        notes = []
        for suffix, ids in self.other.items():
            shown = ", ".join(sorted(ids)[:_NAMES_IN_A_NOTE])
            more = ", …" if len(ids) > _NAMES_IN_A_NOTE else ""
            count = "1 file" if len(ids) == 1 else f"{len(ids)} files"
            kind = f"with suffix {suffix!r}" if suffix else "without a suffix"
            notes.append(f"skipped {count} {kind} (unsupported format): {shown}{more}")
        if self.unwanted:
            notes.append(f"skipped {len(self.unwanted)} excluded by --include and --exclude")
        return notes


class _Patterns:
    """Include and exclude patterns; everything by default."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        from pathspec import GitIgnoreSpec

        self._include = GitIgnoreSpec.from_lines(include) if include else None
        self._exclude = GitIgnoreSpec.from_lines(exclude) if exclude else None

    def take(self, inside: str) -> bool:
        if self._exclude is not None and self._exclude.match_file(inside):
            return False
        return self._include is None or self._include.match_file(inside)


def _is_beside_the_point(name: str) -> bool:
    """Hidden, or what programs fetch and make for themselves."""
    return name.startswith(".") or name in _MADE_BY_PROGRAMS


def _root_id(path: Path) -> str:
    """Return the id of a named path; empty for the current folder."""
    here = Path.cwd()
    for place, base in ((path, here), (path.resolve(), here.resolve())):
        if place.is_relative_to(base):
            return "" if place == base else _normal(place.relative_to(base).as_posix())
    return _normal(path.name)


def _joined(folder_id: str, name: str) -> str:
    return f"{folder_id}/{_normal(name)}" if folder_id else _normal(name)


def _normal(path: str) -> str:
    return unicodedata.normalize("NFC", sanitise_text(path))


def _shown(entry: _Entry) -> str:
    return repr(entry.id or ".")


def _suffix(path: Path) -> str:
    return path.suffix.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifiedSources:
    """Sources by kind, each in the order given."""

    paths: list[str | Path]
    addresses: list[str]
    databases: list[str]
    documents: list[Document]

    @classmethod
    def of(cls, sources: Sequence[str | Path | Document]) -> ClassifiedSources:
        """Classify sources by form; anything else is a path."""
        from .readers.database.connection import is_database_url

        named = cls(paths=[], addresses=[], databases=[], documents=[])
        for source in sources:
            if not isinstance(source, (str, Path)):
                named.documents.append(source)
            elif isinstance(source, str) and source.lower().startswith(("http://", "https://")):
                named.addresses.append(source)
            elif isinstance(source, str) and is_database_url(source):
                named.databases.append(source)
            else:
                named.paths.append(source)
        return named
