"""Documents whose files are gone from where they were looked for, or can no longer be read.

Of a folder in which nothing is left to read nothing is gone: its disk may only be away. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import TooManyRemovals
from .index.library import DocumentRow
from .ingest.sources import DiscoveredSources
from .namespaces import source_id
from .types import SourceFailure

MOST_REMOVED = 20
"""Number of documents that a run may always remove."""
SHARE_REMOVED = 5
"""One in so many of the documents that a run is about may go without a yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """What is to be removed, and what stays outdated, by id and with the reason."""

    missing: frozenset[str]
    outdated: Mapping[str, str]

    def reports(self) -> tuple[SourceFailure, ...]:
        """A row for each document that keeps the text of its last readable state."""
        return tuple(
            SourceFailure(
                source=name,
                reason=f"keeps the text of its last readable state: its source {reason}",
            )
            for name, reason in sorted(self.outdated.items())
        )


def leaving(
    rows: Sequence[DocumentRow],
    found: DiscoveredSources,
    *,
    namespace: str,
    strict: bool,
    missing: Collection[str],
    outdated: Mapping[str, str],
) -> Leaving:
    """Settle what goes and what stays outdated, of what was found missing and broken."""
    away = _away(rows, found, namespace=namespace)
    broken = {**_unreadable(rows, found, namespace=namespace), **outdated}
    gone_ = set(missing)
    if strict:
        gone_ |= broken.keys() - away.keys()
    kept = {name: why for name, why in (broken | away).items() if name not in gone_}
    return Leaving(missing=frozenset(gone_), outdated=kept)


def check_removals(missing: Collection[str], scope: Collection[str], *, agreed: bool) -> None:
    """Refuse to remove a large part of the documents that a run is about, unless agreed to.

    Raises:
        TooManyRemovals: more than a fifth of them, and more than 20.
    """
    if not agreed and (said := too_many(missing, scope)):
        raise TooManyRemovals(said)


def too_many(missing: Collection[str], scope: Collection[str]) -> str:
    """Why so many removals want a yes; empty where they want none."""
    count, whole = len(missing), len({*missing, *scope})
    if count <= MOST_REMOVED or count * SHARE_REMOVED <= whole:
        return ""
    return (
        f"{count:,} of {whole:,} documents would be removed, more than a fifth, and none was: "
        "check that their disk is not away, or agree with --yes (Python: remove_many=True)"
    )


def find_deleted(
    held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> set[str]:
    """Return the ids of documents whose source file is missing."""
    missing = set[str]()
    rows = list(held)
    for root, folder in found.folders:
        if not _is_spared(root, folder, found):
            missing |= _missing_from(root, folder, rows, found, namespace)
    return missing


def inside(held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str) -> set[str]:
    """The ids of documents that belong to the folders that were looked through."""
    rows = list(held)
    return {
        row.id
        for root, folder in found.folders
        for row in rows
        if _is_inside(row, root, folder, namespace)
    }


def emptied(held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str) -> set[str]:
    """The ids of documents whose files hold no byte, by a look alone."""
    empty = {source_id(namespace, each.id) for each in found.sources if _has_no_byte(each.path)}
    return {row.id for row in held if row.source in empty}


def protected_documents(
    held: Iterable[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> Iterator[str]:
    """Return a line for each protected folder: empty now, its documents kept."""
    rows = list(held)
    for root, folder in found.folders:
        kept = _missing_from(root, folder, rows, found, namespace)
        if kept and _is_spared(root, folder, found):
            number = "1 document is" if len(kept) == 1 else f"{len(kept):,} documents are"
            yield (
                f"nothing can be read in {root or str(folder)!r} any more: of it {number} "
                "kept, since it may only be away; `loregraph remove` removes them by id"
            )


def _away(
    rows: Sequence[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> dict[str, str]:
    """Documents of folders in which nothing is left to read, and why they are kept."""
    return {
        name: f"is away: nothing can be read in {root or str(folder)!r} any more"
        for root, folder in found.folders
        if _is_spared(root, folder, found)
        for name in _missing_from(root, folder, rows, found, namespace)
    }


def _unreadable(
    rows: Sequence[DocumentRow], found: DiscoveredSources, *, namespace: str
) -> dict[str, str]:
    """Documents whose file, or a folder that it lies in.

    Was found and could not be looked at.
    """
    reasons = {
        source_id(namespace, failure.source): failure.reason
        for failure in found.failures
        if not failure.is_empty
    }
    blocked = _blocked(found, namespace)
    why = {}
    for row in rows:
        if row.source in reasons:
            why[row.id] = reasons[row.source]
        elif folder := next((each for each in blocked if row.source.startswith(each)), ""):
            why[row.id] = f"lies in a folder that {reasons[folder.removesuffix('/')]}"
    return why


def _blocked(found: DiscoveredSources, namespace: str) -> tuple[str, ...]:
    """The folders inside those that were named that could not be looked through."""
    roots = {root for root, _ in found.folders}
    return tuple(
        f"{source_id(namespace, failure.source)}/"
        for failure in found.failures
        if failure.source not in roots and not failure.is_empty
    )


def _is_spared(root: str, folder: Path, found: DiscoveredSources) -> bool:
    """Check whether an empty folder is more likely unmounted than emptied."""
    failed = {failure.source for failure in found.failures}
    return root in failed or str(folder) in failed or not (found.sources or found.failures)


def _is_inside(row: DocumentRow, root: str, folder: Path, namespace: str) -> bool:
    if row.path is None:
        return False
    by_id = bool(root) and row.source.startswith(f"{source_id(namespace, root)}/")
    return by_id or (row.namespace == namespace and Path(row.path).is_relative_to(folder))


def _missing_from(
    root: str, folder: Path, held: Iterable[DocumentRow], found: DiscoveredSources, namespace: str
) -> set[str]:
    there = {source_id(namespace, source.id) for source in found.sources}
    there |= {source_id(namespace, failure.source) for failure in found.failures}
    blocked = _blocked(found, namespace)
    return {
        row.id
        for row in held
        if _is_inside(row, root, folder, namespace)
        and row.source not in there
        and not row.source.startswith(blocked)
    }


def _has_no_byte(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return False
