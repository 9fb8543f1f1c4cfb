"""Documents: listed, read, added and removed."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from pydantic import BaseModel

from ...storage.documents import DocumentInfo, TextWindow
from ...types import SEPARATOR, IngestReport, MetaValue, check_namespace, source_id
from .. import schemas
from ..auth import Principal
from ..errors import Problem
from ..jobs import Caller, Job, Kind, Service, ServiceHere, Upload, disk_full_problem, save_upload
from ..schemas import (
    Accepted,
    Cursor,
    Description,
    JobStatus,
    Limit,
    Namespace,
    Page,
    TextRequest,
    Where,
    metadata_in,
    metadata_in_text,
    report_for,
)
from ..upload_jobs import submit_upload

router = APIRouter(prefix="/v1", tags=["documents"])
_MOST_CHARACTERS = 200_000
_WAIT_SECONDS = 10.0
_LOOK_SECONDS = 0.02
_KIND = "documents"
Metadata = Mapping[str, MetaValue] | None


class DocumentStatus(BaseModel):
    """A document, and how many of its chunks a language model is to read yet.

    `partial` says what a document lacks that a stage could not take, and why; empty for others.
    """

    id: str
    title: str
    type: str
    namespace: str
    source: str
    sha256: str
    chunks: int
    pages: int
    characters: int
    metadata: dict[str, MetaValue]
    given: dict[str, MetaValue]
    partial: str
    status: Literal["indexed", "pending", "partial"]
    outdated: str | None
    pending: int


@router.get("/documents", summary="List documents")
async def list_documents(
    service: ServiceHere,
    caller: Caller,
    namespace: Namespace = None,
    where: Where = [],  # noqa: B006  # never changed; FastAPI reads it
    query: Annotated[str, Query(max_length=200, description="Part of an id or a title.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[DocumentInfo]:
    """List documents by id; concurrent changes neither repeat nor skip rows."""
    page = await service.looking.run(
        partial(
            service.engine.catalogue.page,
            query=query,
            filters=where or None,
            namespace=caller.within(namespace),
            after=schemas.place_in(_KIND, cursor),
            limit=limit,
        )
    )
    following = schemas.encode_cursor(_KIND, page.items[-1].id) if page.has_more else None
    return Page(items=page.items, total=page.total, next=following)


@router.get("/document-text", summary="Read a document")
async def document_text(
    service: ServiceHere,
    caller: Caller,
    id: Annotated[str, Query(max_length=4_000)],  # noqa: A002  # the parameter's public name
    start: Annotated[int, Query(ge=0, le=1 << 31)] = 0,
    end: Annotated[int | None, Query(ge=0, le=1 << 31)] = None,
) -> TextWindow:
    """Return characters `start` to `end` of a document's stored text, as cited.

    At most 200,000 at a time; `pages` are the offsets at which its pages begin.
    """
    await _visible(service, caller, id)
    last = min(start + _MOST_CHARACTERS, end if end is not None else 1 << 31)
    window = await service.looking.run(
        partial(service.engine.catalogue.window, id, start=start, end=last)
    )
    if window is None:
        raise _unknown(id)
    return window


@router.post(
    "/documents",
    status_code=202,
    summary="Add files",
    responses={200: {"model": Accepted, "description": "All of it is in the library already."}},
)
async def add_documents(
    service: ServiceHere,
    caller: Caller,
    response: Response,
    files: Annotated[list[UploadFile], File(description="Files of any format that is read.")],
    namespace: Annotated[str, Form(max_length=64)] = "",
    metadata: Annotated[
        str, Form(description='A JSON object, such as `{"tags": ["red"]}`.', max_length=100_000)
    ] = "",
) -> Accepted:
    """Take files in, to be read in processes of their own and added by a job.

    A document's id is its file's name, in a namespace `namespace::name`; the same name later
    replaces it. Sending the very same again does nothing, and the answer says so.
    """
    check_namespace(namespace)
    caller.check_write(namespace)
    given = metadata_in_text(metadata)
    if len(files) > service.settings.serve.max_upload_files:
        most = service.settings.serve.max_upload_files
        raise Problem(
            413, "too-many-files", f"too many files: {len(files)}; send at most {most} at a time"
        )
    work = partial(_taken_in, service, files, namespace=namespace, given=given)
    accepted = await service.looking.run(work)
    if accepted.unchanged:
        response.status_code = 200
    return accepted


@router.post(
    "/texts",
    status_code=200,
    summary="Add a text",
    responses={202: {"model": JobStatus, "description": "It is being added."}},
)
async def add_text(
    service: ServiceHere, caller: Caller, response: Response, wanted: TextRequest
) -> IngestReport | JobStatus:
    """Add one text; where that takes longer than a moment, the job that does it."""
    check_namespace(wanted.namespace)
    caller.check_write(wanted.namespace)
    given = metadata_in(wanted.metadata)
    digest = hashlib.sha256(wanted.text.encode()).hexdigest()
    name = wanted.document_id or f"text-{digest[:16]}"
    if SEPARATOR in name or not name.isprintable() or not name.strip():
        raise Problem(
            422, "document-id", f"document_id: {SEPARATOR!r} separates namespaces; leave it out"
        )

    job = _job(
        "add",
        wanted.namespace,
        [source_id(wanted.namespace, name)],
        parts=[(name, digest), ("title", wanted.title)],
        given=given,
    )
    text = {"document_id": name, "title": wanted.title, "text": wanted.text}
    work = partial(submit_upload, service, job, given=given, text=text)
    return await _outcome(service, await service.looking.run(work), response, caller)


@router.get("/documents/{id:path}", summary="One document")
async def get_document(service: ServiceHere, caller: Caller, id: str) -> DocumentStatus:  # noqa: A002
    """Return a document's metadata, and whether chunks are pending."""
    info = await _visible(service, caller, id)
    pending = await service.looking.run(partial(service.engine.catalogue.pending, id))
    status = "pending" if pending else "partial" if info.partial else "indexed"
    return DocumentStatus(**asdict(info), status=status, pending=pending)


@router.patch(
    "/documents/{id:path}",
    summary="Describe a document",
    responses={202: {"model": JobStatus, "description": "It is being written."}},
)
async def describe_document(
    service: ServiceHere,
    caller: Caller,
    response: Response,
    id: str,  # noqa: A002
    wanted: Description,
) -> IngestReport | JobStatus:
    """Replace the user metadata (`given`) of a document: tags, a date, any filter field."""
    info = await _visible(service, caller, id)
    caller.check_write(info.namespace)
    given = metadata_in(wanted.metadata) or {}
    job = _job("describe", info.namespace, [id], parts=[("describe", id)], given=given)
    submitted = service.jobs.submit(
        job, lambda progress: service.engine.describe(id, given, progress=progress)
    )
    return await _outcome(service, submitted, response, caller)


@router.delete(
    "/documents/{id:path}",
    summary="Remove a document",
    responses={202: {"model": JobStatus, "description": "It is being removed."}},
)
async def remove_document(
    service: ServiceHere,
    caller: Caller,
    response: Response,
    id: str,  # noqa: A002
) -> IngestReport | JobStatus:
    """Remove a document and everything derived from it alone.

    An archive's id removes its members.
    """
    found = await service.looking.run(partial(service.engine.catalogue.from_source, id))
    if not any(caller.may_read(each.namespace) for each in found):
        raise _unknown(id)
    for each in found:
        caller.check_write(each.namespace)
    documents = [each.id for each in found]
    job = _job("remove", found[0].namespace, documents, parts=[("remove", id)], given=None)
    submitted = service.jobs.submit(
        job, lambda progress: service.engine.remove(id, progress=progress)
    )
    return await _outcome(service, submitted, response, caller)


def _taken_in(
    service: Service, files: Sequence[UploadFile], *, namespace: str, given: Metadata
) -> Accepted:
    """Store uploaded files with a job; nothing if all are unchanged."""
    folder = service.incoming.folder()
    try:
        uploads = [_one(file, folder) for file in files]
        documents = [source_id(namespace, each.name) for each in uploads]
        if all(
            _is_held(service, name, each, given)
            for name, each in zip(documents, uploads, strict=True)
        ):
            service.incoming.discard(folder)
            return Accepted(job=None, state="done", documents=documents, unchanged=True)
    except BaseException:
        service.incoming.discard(folder)
        raise
    parts = [(each.name, each.sha256) for each in uploads]
    job = _job("add", namespace, documents, parts=parts, given=given)
    names = [each.name for each in uploads]
    job = submit_upload(service, job, given=given, files=names, folder=folder)
    return Accepted(job=job.id, state=job.state, documents=documents, unchanged=False)


def _one(file: UploadFile, folder: Path) -> Upload:
    try:
        return save_upload(file.file, name=file.filename or "", folder=folder)
    except FileExistsError as error:
        detail = (
            f"file name given twice: {file.filename!r}; send one of the files under another name"
        )
        raise Problem(422, "file-name", detail) from error
    except OSError as error:
        raise disk_full_problem(error) from error


def _is_held(service: Service, name: str, upload: Upload, given: Metadata) -> bool:
    """Check whether the library holds this very file, id and metadata."""
    held = service.engine.catalogue.from_source(name)
    return bool(held) and all(
        each.source_sha256 == upload.sha256 and (given is None or dict(each.given) == dict(given))
        for each in held
    )


async def _outcome(
    service: Service, job: Job, response: Response, caller: Principal
) -> IngestReport | JobStatus:
    """Return the report of a job that ends soon, else the job."""
    now = job
    for _ in range(round(_WAIT_SECONDS / _LOOK_SECONDS)):
        now = service.jobs.get(job.id) or now
        if now.is_over:
            break
        await asyncio.sleep(_LOOK_SECONDS)
    if now.state == "failed":
        raise Problem(
            503, "not-done", now.error or "job failed; the log of the server gives the reason"
        )
    if now.report is not None:
        return report_for(caller, now.report)
    response.status_code = 202
    return JobStatus.of(now, caller)


async def _visible(service: Service, caller: Principal, name: str) -> DocumentInfo:
    """Return a document visible to this caller; others do not exist for it."""
    info = await service.looking.run(partial(service.engine.catalogue.document, name))
    if info is None or not caller.may_read(info.namespace):
        raise _unknown(name)
    return info


def _unknown(name: str) -> Problem:
    return Problem(
        404, "not-found", f"unknown document: {name[:200]!r}; GET /v1/documents lists the ids"
    )


def _job(
    kind: Kind,
    namespace: str,
    documents: Sequence[str],
    *,
    parts: Sequence[tuple[str, str]],
    given: Metadata,
) -> Job:
    """Work on some documents; `parts` tell it from other work on them.

    Its id is the same for the same work: what is sent twice while it is being done is done once.
    """
    text = json.dumps([namespace, sorted(parts), dict(sorted((given or {}).items()))])
    return Job(
        id=hashlib.sha256(text.encode()).hexdigest()[:16],
        kind=kind,
        namespace=namespace,
        sources=tuple(documents),
    )
