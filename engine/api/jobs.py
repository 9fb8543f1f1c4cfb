"""Jobs that write to the library, accepted uploads on disk, and the state that routes share.

One thread works off a bounded queue: a library has one writer. Jobs and their outcomes are stored
in a small file, so that they are known after a restart. Each server owns a folder in `incoming/`,
held by an operating-system lock that its death releases; an accepted upload lies there with a
manifest until it was added, and another server takes it over once its owner is dead. A job without
its upload is `interrupted`: it has to be sent again. Of a client's file name only the harmless last
part is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import threading
import time
import unicodedata
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

from fastapi import Depends, Request
from filelock import FileLock, Timeout

from ..config import Settings
from ..engine import KnowledgeEngine
from ..errors import EngineError
from ..events import Progress
from ..types import IngestReport
from .auth import Principal, RateLimit, TokenStore, tokens_file
from .errors import Problem, problem_of
from .limits import ThreadLimiter
from .metrics import LibraryFigures, Metrics

Kind = Literal["add", "describe", "remove"]
State = Literal["queued", "running", "done", "failed", "interrupted"]
Work = Callable[[Progress], IngestReport]
After = Callable[[State], None]
_OPEN: tuple[State, ...] = ("queued", "running")
_REMEMBERED = 500
_OWN_FAULT = "the server failed at this; its log says more"
_log = logging.getLogger("loregraph.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Background job and its progress; `stage`, `done` and `total` are the engine's.

    `sources` are the documents' ids that it is about. `failed` is for work that could not be done
    at all: of documents that could not be read the report of a job that is `done` tells.
    """

    id: str
    kind: Kind
    namespace: str
    sources: tuple[str, ...]
    state: State = "queued"
    stage: str = ""
    done: int = 0
    total: int = 0
    report: IngestReport | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """Check whether the job has ended."""
        return self.state not in _OPEN


class Jobs:
    """The queue of one library. Safe to share by threads; to be closed at the end.

    Args:
        file: where jobs are remembered; None remembers them only while this lives.
        most_waiting: how many may wait.
        elsewhere: the job files of other servers of this library.
    """

    def __init__(
        self,
        file: Path | None,
        *,
        most_waiting: int,
        elsewhere: Callable[[], Sequence[Path]] = lambda: (),
    ) -> None:
        self._file = file
        self._elsewhere = elsewhere
        self._most_waiting = most_waiting
        self._guard = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        if file is not None:
            self.remember(file)
        self._closing = False
        self._open: set[Future[IngestReport]] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="loregraph-job")

    def remember(self, file: Path) -> None:
        """Take the jobs of an earlier server over; open ones were interrupted."""
        with self._guard:
            for job in _read(file):
                self._jobs[job.id] = job if job.is_over else replace(job, state="interrupted")
            self._forget_oldest()
            self._save()

    def resume(self, job: Job, work: Work, *, after: After) -> None:
        """Queue an interrupted job again under its own id, however many wait."""
        with self._guard:
            self._jobs.pop(job.id, None)
            self._jobs[job.id] = job
            self._save()
        self._start(job, work, after)

    def submit(self, job: Job, work: Work, *, after: After = lambda _state: None) -> Job:
        """Queue work; `after` is called with the state in which it ended.

        A job of this id that waits or runs, with nothing behind it about the same documents, is
        this one: it is given back, and the work is not done twice.

        Raises:
            Problem: 503, too many wait already, or the server is going down.
        """
        with self._guard:
            same = self._same(job)
            if same is not None:
                after("done")
                return same
            waiting = sum(each.state == "queued" for each in self._jobs.values())
            if self._closing or waiting >= self._most_waiting:
                after("failed")
                detail = f"job queue full: {waiting} jobs are waiting; try again later"
                raise Problem(503, "busy", detail, headers={"Retry-After": "30"})
            job = replace(job, id=self._free_id(job.id))
            self._jobs[job.id] = job
            self._forget_oldest()
            self._save()
        self._start(job, work, after)
        return job

    def get(self, job_id: str) -> Job | None:
        """Return one job, of this server or another one; None for an unknown id."""
        with self._guard:
            found = self._jobs.get(job_id)
        if found is None or found.state == "interrupted":
            others = (job for file in self._elsewhere() for job in _read(file))
            return next((job for job in others if job.id == job_id), found)
        return found

    def all(self) -> list[Job]:
        """All that are known, the latest first."""
        with self._guard:
            return list(reversed(self._jobs.values()))

    def counts(self) -> dict[str, int]:
        """Count the jobs by state."""
        with self._guard:
            found = Counter(job.state for job in self._jobs.values())
        return {state: found[state] for state in (*_OPEN, "done", "failed", "interrupted")}

    @property
    def is_busy(self) -> bool:
        """Check whether any job is running."""
        return any(not future.done() for future in self._open)

    def close(self, *, seconds: float = 5.0) -> None:
        """Take no more, drop what waits; what runs is given so long to end."""
        with self._guard:
            self._closing = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        wait(list(self._open), timeout=seconds)

    # --- how --------------------------------------------------------------------------------

    def _start(self, job: Job, work: Work, after: After) -> None:
        future = self._thread.submit(self._run, job.id, work)
        self._open.add(future)
        future.add_done_callback(partial(self._over, job.id, after))

    def _run(self, job_id: str, work: Work) -> IngestReport:
        def progress(stage: str, done: int, total: int) -> None:
            self._update(job_id, stage=stage, done=done, total=total)

        self._update(job_id, state="running", save=True)
        return work(progress)

    def _over(self, job_id: str, after: After, future: Future[IngestReport]) -> None:
        self._open.discard(future)
        error = None if future.cancelled() else future.exception()
        # First: a job that is over has left nothing behind.
        after("interrupted" if future.cancelled() else "done" if error is None else "failed")
        if future.cancelled():
            self._update(job_id, state="interrupted", save=True)
        elif error is None:
            self._update(job_id, state="done", report=future.result(), save=True)
        elif isinstance(error, EngineError):
            _log.warning("job %s failed: %s", job_id, error)
            self._update(job_id, state="failed", error=problem_of(error).detail, save=True)
        else:
            _log.error("job %s failed", job_id, exc_info=error)
            self._update(job_id, state="failed", error=_OWN_FAULT, save=True)

    def _update(self, job_id: str, *, save: bool = False, **values: object) -> None:
        with self._guard:
            self._jobs[job_id] = replace(self._jobs[job_id], **values)  # type: ignore[arg-type]  # fields of Job
            if save:
                self._save()

    def _same(self, wanted: Job) -> Job | None:
        """Return the latest open job about these documents, if identical."""
        for job in reversed(self._jobs.values()):
            if not job.is_over and set(job.sources) & set(wanted.sources):
                return job if job.id.partition("-")[0] == wanted.id else None
        return None

    def _free_id(self, wanted: str) -> str:
        if wanted not in self._jobs:
            return wanted
        number = 2
        while f"{wanted}-{number}" in self._jobs:
            number += 1
        return f"{wanted}-{number}"

    def _forget_oldest(self) -> None:
        over = [job.id for job in self._jobs.values() if job.is_over]
        for job_id in over[: max(len(self._jobs) - _REMEMBERED, 0)]:
            del self._jobs[job_id]

    def _save(self) -> None:
        """Whole or not at all; a disk that refuses costs only the memory of jobs."""
        if self._file is None:
            return
        rows = [{**asdict(job), "report": None} for job in self._jobs.values()]
        temporary = self._file.with_name(f"{self._file.name}.part")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf8")
            temporary.replace(self._file)
        except OSError as error:
            _log.warning("cannot store the list of jobs: %s", error)


def _read(file: Path) -> Sequence[Job]:
    """Load the stored jobs; none if the file is missing or invalid."""
    try:
        rows = json.loads(file.read_text(encoding="utf8"))
        return [job_of(row) for row in rows]
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.warning("cannot read the stored list of jobs: %s", error)
        return ()


def job_of(row: Mapping[str, object]) -> Job:
    """Return the job that a stored row describes; raises `ValueError` or `TypeError`."""
    known = {each.name for each in fields(Job)}
    if not known <= set(row):
        raise ValueError("incomplete job")
    sources = row["sources"]
    if not isinstance(sources, list):
        raise TypeError("sources must be a list")
    values = {name: row[name] for name in known} | {"sources": tuple(map(str, sources))}
    return Job(**values)  # type: ignore[arg-type]  # written by `_save`


_LONGEST_NAME_BYTES = 200
_HARMFUL = re.compile(r'[<>:"|?*]+')
_PIECE = 1 << 20
_MANIFEST = "upload.json"
_JOBS = "jobs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file as it was taken in."""

    name: str
    path: Path
    sha256: str


def safe_name(name: str) -> str:
    """Sanitise a client's file name: no folder, not hidden, no odd characters.

    Raises:
        Problem: 422, nothing is left of it.
    """
    shown = "".join(each if each.isprintable() else " " for each in name)
    last = re.split(r"[\\/]", unicodedata.normalize("NFC", shown))[-1]
    clean = " ".join(_HARMFUL.sub(" ", last).split()).lstrip(". ")
    stem, dot, suffix = clean.rpartition(".")
    if not dot:
        stem, suffix = clean, ""
    end = f"{dot}{suffix}".encode()[:20].decode("utf-8", "ignore").rstrip()
    room = _LONGEST_NAME_BYTES - len(end.encode())
    found = (stem.encode()[:room].decode("utf-8", "ignore") + end).rstrip()
    if not found.strip(". "):
        raise Problem(422, "file-name", f"file name not usable: {name[:100]!r}; rename the file")
    return found


def save_upload(file: BinaryIO, *, name: str, folder: Path) -> Upload:
    """Copy a file into a folder under its safe name; its hash is of what was written."""
    safe = safe_name(name)
    digest = hashlib.sha256()
    place = folder / safe
    with place.open("xb") as target:
        while piece := file.read(_PIECE):
            digest.update(piece)
            target.write(piece)
        target.flush()
        os.fsync(target.fileno())
    return Upload(name=safe, path=place, sha256=digest.hexdigest())


def disk_full_problem(error: OSError) -> Problem:
    """Return the HTTP problem of an upload that finds a full disk."""
    _log.error("cannot store an upload: %s", error)
    return Problem(
        507,
        "storage",
        f"cannot store the upload: {error.strerror}; make room on the disk of the server",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """An accepted upload: its folder, and what is to be done with it."""

    folder: Path
    manifest: Mapping[str, object]


class UploadFolder:
    """Accepted uploads of one server, in a folder that its lock marks as owned.

    Args:
        place: the library's folder for uploads, shared by all its servers.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._own = place / f"server-{uuid.uuid4().hex[:16]}"
        self._lock = FileLock(_lock_of(self._own))

    @property
    def jobs_file(self) -> Path:
        """File in which this server remembers its jobs."""
        return self._own / _JOBS

    def open(self) -> None:
        """Create this server's folder.

        Its lock is taken first, so it is never seen without owner.

        A disk that refuses costs uploads, not the server.
        """
        try:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock.acquire(blocking=False)
            self._own.mkdir(mode=0o700)
        except (OSError, Timeout) as error:
            _log.warning("cannot create the upload folder: %s", error)

    def folder(self) -> Path:
        """Return a new folder, readable by this process's user alone.

        Raises:
            Problem: 507, the disk refuses.
        """
        try:
            return Path(tempfile.mkdtemp(dir=self._own))
        except OSError as error:
            raise disk_full_problem(error) from error

    def accept(self, folder: Path, manifest: Mapping[str, object]) -> None:
        """Store the manifest durably; from then on the upload is owed.

        Raises:
            Problem: 507, the disk refuses.
        """
        part = folder / f"{_MANIFEST}.part"
        try:
            with part.open("x", encoding="utf8") as target:
                json.dump(manifest, target, ensure_ascii=False)
                target.flush()
                os.fsync(target.fileno())
            part.replace(folder / _MANIFEST)
            for each in (folder, self._own):
                _sync_folder(each)
        except OSError as error:
            raise disk_full_problem(error) from error

    def discard(self, folder: Path) -> None:
        """Delete the folder of an upload."""
        shutil.rmtree(folder, ignore_errors=True)

    def orphans(self) -> Iterator[Path]:
        """Yield the folders of servers that are dead, each under its lock, then delete it."""
        for folder in self._others():
            with contextlib.suppress(Timeout, OSError):
                lock = FileLock(_lock_of(folder))
                with lock.acquire(blocking=False):
                    if folder.is_dir():  # another server may have been quicker
                        yield folder
                        shutil.rmtree(folder, ignore_errors=True)
                    _lock_of(folder).unlink(missing_ok=True)

    def taken_over(self, folder: Path) -> list[Owed]:
        """Move the accepted uploads of a dead server's folder here."""
        found = []
        for manifest in sorted(folder.glob(f"*/{_MANIFEST}")):
            try:
                values = json.loads(manifest.read_text(encoding="utf8"))
                target = self.folder()
                target.rmdir()
                manifest.parent.rename(target)
            except (OSError, ValueError, Problem) as error:
                _log.error("cannot read a stored upload: %s", error)
                continue
            found.append(Owed(folder=target, manifest=values))
        return found

    def jobs_of_others(self) -> list[Path]:
        """Return the job files of the other servers of this library."""
        return [folder / _JOBS for folder in self._others()]

    def close(self) -> None:
        """Release the folder; uploads that are still owed wait there for the next server."""
        self._lock.release()

    def _others(self) -> list[Path]:
        with contextlib.suppress(OSError):
            return sorted(
                each for each in self._place.iterdir() if each.is_dir() and each != self._own
            )
        return []


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_LOOKING_AT_ONCE = 4


class Service:
    """One library as it is served.

    Args:
        engine: open; closed by whoever opened it.
        settings: all sections.
        place: the library's folder.
    """

    def __init__(self, engine: KnowledgeEngine, *, settings: Settings, place: Path) -> None:
        serve = settings.serve
        self.engine = engine
        self.settings = settings
        self.tokens = TokenStore(tokens_file(settings, place))
        self.rate = RateLimit(serve.requests_per_minute, clock=time.monotonic)
        self.asking = ThreadLimiter("asking", at_once=serve.concurrency, waiting=serve.max_waiting)
        self.looking = ThreadLimiter("looking", at_once=_LOOKING_AT_ONCE, waiting=serve.max_waiting)
        self.incoming = UploadFolder(place / "incoming")
        self.incoming.open()
        self.jobs = Jobs(
            self.incoming.jobs_file,
            most_waiting=serve.max_jobs,
            elsewhere=self.incoming.jobs_of_others,
        )
        self.metrics = Metrics()
        self.metrics.registry.register(
            LibraryFigures(stats=engine.stats, usage=engine.usage, jobs=self.jobs.counts)
        )

    @property
    def is_busy(self) -> bool:
        """Check whether a thread is still working."""
        return self.jobs.is_busy or self.asking.is_busy or self.looking.is_busy

    def close(self) -> None:
        """End what goes on; a job in hand gets a moment."""
        self.jobs.close()
        self.asking.close()
        self.looking.close()
        self.incoming.close()


def _service(request: Request) -> Service:
    found = request.app.state.service
    if not isinstance(found, Service):
        raise Problem(
            503,
            "starting",
            "library not open yet; try again in a moment",
            headers={"Retry-After": "2"},
        )
    return found


def _principal(request: Request) -> Principal:
    found = request.state.principal
    if not isinstance(found, Principal):  # the gate puts one there, always
        raise Problem(401, "unauthorised", "no token given; send `Authorization: Bearer …`")
    return found


ServiceHere = Annotated[Service, Depends(_service)]
Caller = Annotated[Principal, Depends(_principal)]
