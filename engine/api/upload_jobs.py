"""Jobs that add accepted uploads, and those of servers that died before they were done."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..errors import SourceError
from ..events import Progress
from ..types import IngestReport, MetaValue
from .jobs import Job, Owed, Service, State, job_of
from .schemas import metadata_in

_log = logging.getLogger("loregraph.serve")


def submit_upload(
    service: Service,
    job: Job,
    *,
    given: Mapping[str, MetaValue] | None,
    text: Mapping[str, str] | None = None,
    files: Sequence[str] = (),
    folder: Path | None = None,
) -> Job:
    """Store an upload with its manifest, so that a crash loses nothing, and queue its job."""
    take_over_uploads(service)
    folder = folder or service.incoming.folder()
    stated = {**asdict(job), "given": given, "text": text, "files": list(files)}
    manifest = json.loads(json.dumps(stated))  # as it is read back after a crash
    owed = Owed(folder=folder, manifest=manifest)
    try:
        work = _work_of(service, owed)
        service.incoming.accept(folder, manifest)
    except BaseException:
        service.incoming.discard(folder)
        raise
    return service.jobs.submit(job, work, after=_after(service, owed))


def take_over_uploads(service: Service) -> None:
    """Queue the accepted uploads of servers of this library that are dead."""
    for place in service.incoming.orphans():
        service.jobs.remember(place / service.incoming.jobs_file.name)
        for owed in service.incoming.taken_over(place):
            try:
                row = {**owed.manifest, "report": None, "state": "queued"}
                service.jobs.resume(
                    job_of(row), _work_of(service, owed), after=_after(service, owed)
                )
            except (KeyError, TypeError, ValueError) as error:
                _log.error("cannot read a stored upload: %s", error)
                service.incoming.discard(owed.folder)


def _after(service: Service, owed: Owed) -> Callable[[State], None]:
    """Delete an upload once its job ended; an interrupted one is still owed."""

    def after(state: State) -> None:
        if state != "interrupted":
            service.incoming.discard(owed.folder)

    return after


def _work_of(service: Service, owed: Owed) -> Callable[[Progress], IngestReport]:
    """Return the work that a manifest asks for."""
    manifest = owed.manifest
    namespace = str(manifest["namespace"])
    given = metadata_in(manifest["given"])
    text, names = manifest["text"], manifest["files"]

    def add_text(progress: Progress) -> IngestReport:
        assert isinstance(text, Mapping)  # noqa: S101  # read back from our own manifest
        return service.engine.add_text(
            str(text["text"]),
            document_id=str(text["document_id"]),
            title=str(text["title"]),
            metadata=given,
            namespace=namespace,
            progress=progress,
        )

    def add_files(progress: Progress) -> IngestReport:
        files = {name: owed.folder / name for name in names} if isinstance(names, list) else {}
        missing = sorted(name for name, path in files.items() if not path.is_file())
        if missing:
            shown = ", ".join(map(repr, missing))
            raise SourceError(f"uploaded file missing on the server: {shown}; send it again")
        return service.engine.add_files(
            files, metadata=given, namespace=namespace, progress=progress
        )

    return add_text if text is not None else add_files
