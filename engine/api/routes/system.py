"""System routes: health, counts, cost, settings, jobs, metrics."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import Any, Literal

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from ...types import StageUsage
from .. import schemas
from ..errors import Problem
from ..jobs import Caller, ServiceHere
from ..schemas import Cursor, JobStatus, Limit, Page

router = APIRouter(prefix="/v1", tags=["server"])
figures = APIRouter(tags=["server"])


class Health(BaseModel):
    """A sign of life."""

    status: Literal["ok"] = "ok"
    version: str


class WhoAmI(BaseModel):
    """Identity of the caller; null means all namespaces."""

    name: str
    read: list[str] | None
    write: list[str] | None
    admin: bool


class NamespaceCount(BaseModel):
    """Number of documents in a namespace; the default one is the empty text."""

    name: str
    documents: int


class Namespaces(BaseModel):
    """The namespaces that may be seen."""

    items: list[NamespaceCount]


class StageUsages(BaseModel):
    """LLM usage by day, stage and model."""

    items: list[StageUsage]


@router.get("/health", summary="Is the server well?")
async def health() -> Health:
    """Answers without a token."""
    return Health(version=version("loregraph"))


@router.get("/whoami", summary="What may I do?")
async def who_am_i(caller: Caller) -> WhoAmI:
    """Return what the request's token stands for."""
    readable = caller.readable
    everything = caller.is_admin or caller.writes is None
    return WhoAmI(
        name=caller.name,
        read=None if readable is None else sorted(readable),
        write=None if everything else sorted(caller.writes or ()),
        admin=caller.is_admin,
    )


@router.get("/namespaces", summary="List namespaces")
async def list_namespaces(service: ServiceHere, caller: Caller) -> Namespaces:
    """Return the namespaces visible to the token, with document counts."""
    found = await service.looking.run(service.engine.catalogue.namespaces)
    return Namespaces(
        items=[
            NamespaceCount(name=name, documents=count)
            for name, count in found.items()
            if caller.may_read(name)
        ]
    )


@router.get("/stats", summary="How much there is")
async def stats(service: ServiceHere, caller: Caller) -> dict[str, Any]:
    """Return counts; for a limited token those of its documents alone."""
    readable = caller.readable
    if readable is None:
        return await service.looking.run(service.engine.stats)
    count = partial(service.engine.catalogue.counts, readable)
    return dict(await service.looking.run(count))


@router.get("/usage", summary="What language models have cost")
async def usage(service: ServiceHere, caller: Caller) -> StageUsages:
    """By day, stage and model, of the whole library: for admin tokens."""
    caller.check_admin()
    return StageUsages(items=await service.looking.run(service.engine.usage))


@router.get("/settings", summary="The settings in force")
async def settings(service: ServiceHere, caller: Caller) -> dict[str, Any]:
    """Return all settings sections, which hold no secrets. Admin tokens only."""
    caller.check_admin()
    return service.settings.model_dump(mode="json")


@router.get("/jobs", summary="List jobs")
async def list_jobs(
    service: ServiceHere, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Page[JobStatus]:
    """Work that goes on or is done, the latest first."""
    jobs = [job for job in service.jobs.all() if caller.may_read(job.namespace)]
    after = schemas.place_in("jobs", cursor)
    begin = next((at + 1 for at, job in enumerate(jobs) if job.id == after), 0)
    some = jobs[begin : begin + limit]
    has_more = begin + limit < len(jobs)
    following = schemas.encode_cursor("jobs", some[-1].id) if has_more else None
    return Page(items=[JobStatus.of(job, caller) for job in some], total=len(jobs), next=following)


@router.get("/jobs/{id}", summary="One job")
async def get_job(service: ServiceHere, caller: Caller, id: str) -> JobStatus:  # noqa: A002
    """Return a job's progress, and its report when done."""
    job = service.jobs.get(id)
    if job is None or not caller.may_read(job.namespace):
        raise Problem(
            404, "not-found", f"unknown job: {id[:100]!r}; ids are returned when files are sent"
        )
    return JobStatus.of(job, caller)


@figures.get("/metrics", summary="Figures for Prometheus", response_class=Response)
async def metrics(service: ServiceHere, caller: Caller) -> Response:
    """In Prometheus' text format; for admin tokens."""
    caller.check_admin()
    text = await service.looking.run(service.metrics.text)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
