"""Work that writes to the library, one piece at a time, told of while it goes on.

A queue of so many and one thread: a library has one writer. What a job is and how it ended is kept
in a small file, so that it is still known after a restart. A job that was waiting or running then
is resumed where its upload is still there, else `interrupted`: it has to be sent again.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Literal

from ...errors import EngineError
from ...progress import Progress
from ...types import IngestReport
from .problems import Problem, problem_of

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
                detail = f"{waiting} jobs wait already: send it again when some are done"
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
            _log.warning("jobs are not remembered: %s", error)


def _read(file: Path) -> Sequence[Job]:
    """Load the stored jobs; none if the file is missing or invalid."""
    try:
        rows = json.loads(file.read_text(encoding="utf8"))
        return [job_of(row) for row in rows]
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.warning("earlier jobs are not known: %s", error)
        return ()


def job_of(row: Mapping[str, object]) -> Job:
    """Return the job that a stored row describes; raises `ValueError` or `TypeError`."""
    known = {each.name for each in fields(Job)}
    if not known <= set(row):
        raise ValueError("a job lacks what it should have")
    sources = row["sources"]
    if not isinstance(sources, list):
        raise TypeError("sources is no list")
    values = {name: row[name] for name in known} | {"sources": tuple(map(str, sources))}
    return Job(**values)  # type: ignore[arg-type]  # written by `_save`
