"""Access control of tools: namespaces, and sources that may be added."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import NotAllowed
from ..ingest.sources import find_sources
from ..namespaces import check_namespace
from ..types import IngestReport

_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
_OTHER_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_ADDRESS = re.compile(r"https?://[^\s'\"),;]+", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\*?\[\] !#])")
_LONGEST_SOURCE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Readable and writable namespaces; None is all, the empty set is none."""

    reads: frozenset[str] | None = None
    writes: frozenset[str] | None = None

    def within(self, namespace: str | None) -> str | frozenset[str] | None:
        """Return the visible namespaces of a call for this one (None: all permitted).

        Raises:
            NotAllowed: that one may not be seen.
        """
        if namespace is None:
            return self.reads
        check_namespace(namespace)
        if self.reads is not None and namespace not in self.reads:
            raise NotAllowed(f"namespace {namespace!r} may not be read here")
        return namespace

    def home(self, namespace: str | None) -> str:
        """Return the namespace for new documents: the given one, or the only one permitted.

        Raises:
            NotAllowed: that one may not be written to, or one must be said.
        """
        if namespace is None:
            if self.writes is None or "" in self.writes:
                return ""
            if len(self.writes) != 1:
                known = ", ".join(sorted(self.writes)) or "none"
                raise NotAllowed(f"say which namespace it goes to (may be written to: {known})")
            return next(iter(self.writes))
        check_namespace(namespace)
        if not self.may_write(namespace):
            raise NotAllowed(f"namespace {namespace!r} may not be written to here")
        return namespace

    def can_access(self, namespace: str) -> bool:
        """Check whether documents of a namespace are readable."""
        return self.reads is None or namespace in self.reads

    def may_write(self, namespace: str) -> bool:
        """Check whether documents of a namespace are writable."""
        return self.writes is None or namespace in self.writes

    def only(self, namespace: str) -> Access:
        """Return the access restricted to this namespace."""
        return Access(
            reads=frozenset({namespace} if self.can_access(namespace) else ()),
            writes=frozenset({namespace} if self.may_write(namespace) else ()),
        )

    def read_only(self) -> Access:
        """Return the access without writing."""
        return Access(reads=self.reads, writes=frozenset())


ALL_RIGHTS = Access()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Permitted source: an address, or an allowed folder with patterns.

    Naming the folder, not the file, keeps two files of one name apart: ids begin at the folder.
    """

    source: str
    include: tuple[str, ...] = ()


def without_addresses(report: IngestReport) -> IngestReport:
    """Return a report that names no server address, for callers confined to namespaces."""

    def hide(text: str) -> str:
        return _ADDRESS.sub("(address not shown)", text)

    return replace(
        report,
        notes=tuple(map(hide, report.notes)),
        postponed={},  # counts of the whole library
        pending=tuple(replace(each, reason=hide(each.reason)) for each in report.pending),
    )


def admitted_source(source: str, *, folders: Sequence[Path]) -> Admitted:
    """Validate a source: a web address, or a path really inside an allowed folder.

    A relative path is looked for in the allowed folders. Links are followed before it is judged
    where something lies, also those inside a folder. Which web addresses are fetched, the rules of
    `ingest` say.

    Raises:
        NotAllowed: anything else; what lies elsewhere is not told from what is not there.
    """
    source = source.strip()
    if _WEB.fullmatch(source):
        return Admitted(source=source)
    if _OTHER_ADDRESS.match(source):
        raise NotAllowed("only files in allowed folders, and http(s) addresses, can be added")
    if not folders:
        raise NotAllowed("no folder is allowed to add files from: start with `--allow FOLDER`")
    real = [folder.resolve() for folder in folders]
    found = next((path for path in _places(source, real) if _lies_in(path, real)), None)
    if found is None:
        names = ", ".join(repr(str(folder)) for folder in folders)
        raise NotAllowed(f"{source!r} is not in the allowed folders ({names})")
    if found.is_dir():
        _check_links(found, real)
    root = next(root for root in real if found.is_relative_to(root))
    if found == root:
        return Admitted(source=str(root))
    return Admitted(source=str(root), include=(_pattern(found.relative_to(root)),))


def _pattern(path: Path) -> str:
    """Return a `.gitignore` pattern for exactly this path."""
    return "/" + _SPECIAL.sub(r"\\\1", path.as_posix())


def _places(source: str, roots: Sequence[Path]) -> list[Path]:
    """Return existing targets a path may mean, links resolved."""
    if not source or "\0" in source or len(source) > _LONGEST_SOURCE:
        return []
    found = []
    for base in (Path(), *roots, *(root.parent for root in roots)):
        try:
            found.append((base / source).resolve(strict=True))
        except (OSError, RuntimeError):  # it is not there, or links lead in a circle
            continue
    return found


def _lies_in(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _check_links(folder: Path, roots: Sequence[Path]) -> None:
    """Raise `NotAllowed` if a link in a folder leads outside the allowed ones."""
    for file in find_sources([folder]).sources:
        if not _lies_in(file.path.resolve(), roots):
            raise NotAllowed(f"a link in {str(folder)!r} leads out of the allowed folders")
