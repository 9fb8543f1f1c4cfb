"""What stood in folders that were looked through, and stands there no more.

Of a folder in which nothing is left to read nothing is gone: its disk may only be away. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .index.library import DocumentRow
from .ingest.sources import Found
from .namespaces import id_in


def gone(held: Iterable[DocumentRow], found: Found, *, namespace: str) -> set[str]:
    """The ids of documents whose files are no more among what was found."""
    missing = set[str]()
    rows = list(held)
    for root, folder in found.folders:
        if not _is_spared(root, folder, found):
            missing |= _missing_from(root, folder, rows, found, namespace)
    return missing


def spared(held: Iterable[DocumentRow], found: Found, *, namespace: str) -> Iterator[str]:
    """A line for each folder in which nothing is left, and whose documents are kept."""
    rows = list(held)
    for root, folder in found.folders:
        kept = _missing_from(root, folder, rows, found, namespace)
        if kept and _is_spared(root, folder, found):
            number = "1 document is" if len(kept) == 1 else f"{len(kept):,} documents are"
            yield (
                f"nothing can be read in {root or str(folder)!r} any more: of it {number} "
                "kept, since it may only be away; `loregraph remove` removes them by id"
            )


def _is_spared(root: str, folder: Path, found: Found) -> bool:
    """Whether a folder in which nothing is left to read is more likely away than emptied."""
    failed = {failure.source for failure in found.failures}
    return root in failed or str(folder) in failed or not (found.sources or found.failures)


def _missing_from(
    root: str, folder: Path, held: Iterable[DocumentRow], found: Found, namespace: str
) -> set[str]:
    there = {id_in(namespace, source.id) for source in found.sources}
    there |= {id_in(namespace, failure.source) for failure in found.failures}
    inside = f"{id_in(namespace, root)}/" if root else None
    missing = set()
    for row in held:
        if row.path is None or row.source in there:
            continue
        by_id = inside is not None and row.source.startswith(inside)
        by_path = Path(row.path).is_relative_to(folder)
        if row.namespace == namespace and (by_id or by_path):
            missing.add(row.id)
    return missing
