"""The tools that change a library: texts and documents in, documents out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import SourceError, UnknownName
from ..types import IngestReport, MetaValue
from .call import Call, Result
from .rights import Access, admitted_source, without_addresses
from .values import AddDocumentArguments, AddTextArguments, Changed, Metadata, RemoveArguments

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine


def add_text(engine: KnowledgeEngine, wanted: AddTextArguments, call: Call) -> Result:
    """Add a text as a document."""
    namespace = call.rights.home(call.namespace)
    document_id = wanted.document_id or _made_from(wanted.text)
    report = engine.add_text(
        wanted.text,
        document_id=document_id,
        title=wanted.title,
        metadata=_metadata(wanted.metadata),
        namespace=namespace,
        progress=call.progress,
    )
    return _result(report, call.rights)


def add_document(engine: KnowledgeEngine, wanted: AddDocumentArguments, call: Call) -> Result:
    """Add a file, a folder's files, or a web address."""
    namespace = call.rights.home(call.namespace)
    admitted = admitted_source(wanted.source, folders=call.folders)
    report = engine.add(
        admitted.source,
        include=admitted.include,
        metadata=_metadata(wanted.metadata),
        namespace=namespace,
        progress=call.progress,
    )
    return _result(report, call.rights)


def remove(engine: KnowledgeEngine, wanted: RemoveArguments, call: Call) -> Result:
    """Remove a document and everything derived from it alone."""
    rights = call.rights
    found = engine.catalogue.from_source(wanted.document_id)
    if not found or not all(rights.can_access(one.namespace) for one in found):
        raise UnknownName(f"no document {wanted.document_id!r}: `list_documents` shows the ids")
    for one in found:
        rights.home(one.namespace)
    return _result(engine.remove(wanted.document_id, progress=call.progress), rights)


def _made_from(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()
    return f"text-{digest[:16]}"


def _metadata(given: Metadata) -> Mapping[str, MetaValue] | None:
    if not given:
        return None
    return {key: tuple(one) if isinstance(one, list) else one for key, one in given.items()}


def _result(report: IngestReport, rights: Access) -> Result:
    """Return the result; raises `SourceError` if nothing was done."""
    if rights.reads is not None:
        report = without_addresses(report)
    failed = tuple(f"{one.source}: {one.reason}" for one in report.failed)
    done = report.added or report.changed or report.unchanged or report.removed
    if failed and not done:
        raise SourceError("; ".join(failed))
    value = Changed(
        added=report.added,
        changed=report.changed,
        unchanged=report.unchanged,
        removed=report.removed,
        failed=failed,
        partial=tuple(f"{one.source}: {one.reason}" for one in report.partial),
        notes=report.notes,
        pending_chunks=len(report.pending),
    )
    lines = [
        f"{what}: {', '.join(names)}"
        for what, names in (
            ("added", value.added),
            ("changed", value.changed),
            ("unchanged", value.unchanged),
            ("removed", value.removed),
            ("failed", value.failed),
            ("partial", value.partial),
            ("note", value.notes),
        )
        if names
    ]
    if value.pending_chunks:
        lines.append(f"{value.pending_chunks} chunks wait for a language model")
    return Result.of(lines or ["there was nothing to do"], value)
