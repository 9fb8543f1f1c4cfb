"""Pool of reader processes, so that no file can take the run down.

A parser that hangs, crashes or asks for all memory ends its process and costs its own file only.
Each process is a fresh interpreter (never a fork: this one has threads), started when first needed,
used for many jobs, and replaced after it ended. Processes end when the pool is closed or when this
process dies.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import LifoQueue
from types import TracebackType
from typing import Self, TypeVar

from ..errors import EngineError, SourceError
from .child_process import FAULT, ChildProcess, ProcessDied, how_it_ended, signal_of
from .discovery import check_size
from .document import ReadOptions, is_memory_error, unexpected_failure_reason
from .load import Part
from .worker import BrokenFrame, Json, frame_limit, options_as_json, part_from_json

ENTRY = f"{__package__}.worker"
"""The module whose `main` the process runs."""
_ABORTS = frozenset({"SIGABRT", "SIGILL", "SIGTRAP"})
_PDF_LIBRARY = "pypdfium2"
"""PDFium ends its process, without a word, where it is given no memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Limits of a reader process, sent once."""

    options: ReadOptions
    max_bytes: int
    timeout_seconds: float
    memory_bytes: int

    def as_json(self) -> Json:
        """Return the first frame of the process."""
        return {
            "options": options_as_json(self.options),
            "max_bytes": self.max_bytes,
            "timeout_seconds": self.timeout_seconds,
            "memory_bytes": self.memory_bytes,
        }


class TookTooLong(ProcessDied):
    """It was ended because it took too long: once more would take as long again."""


class WorkerHandle(ChildProcess):
    """A running reader process."""

    def __init__(self, terms: WorkerLimits) -> None:
        self._terms = terms
        super().__init__(ENTRY, reply_limit=frame_limit(terms.options))

    def read(self, name: str, *, path: Path | None, data: bytes) -> Json:
        """Read one source; the reply's `kind` is a reading or a failure.

        Raises:
            ProcessDied: there is none.
        """
        message: Json = {"name": name, "path": None if path is None else str(path)}
        return self.ask(message, data=data, seconds=self._terms.timeout_seconds)

    def cause_of_death(self, code: int) -> ProcessDied:
        """Return why there was no reading, and what the owner of the file can do."""
        if self.timed_out or signal_of(code) == "SIGALRM":
            return TookTooLong(
                f"took longer than {self._terms.timeout_seconds:g} s to read: "
                "split it, or raise ingest.read_timeout_seconds"
            )
        return ProcessDied(_cause_of_end(code, words=self.stderr_tail(), terms=self._terms))


def memory_limit_reason(terms: WorkerLimits) -> str:
    """Return the reason of a file whose reader process exceeded the memory limit."""
    return (
        f"needs more than {terms.memory_bytes:,} bytes of memory to be read: "
        "split it, or raise ingest.read_memory_bytes"
    )


def _cause_of_end(code: int, *, words: str, terms: WorkerLimits) -> str:
    if is_memory_error(words):
        return memory_limit_reason(terms)
    name = signal_of(code)
    if name == "SIGKILL":
        return (
            "was not read: the system killed its reader, most likely out of memory; "
            "split it, or let fewer files be read at a time (ingest.read_workers)"
        )
    first_frame = words.partition(FAULT)[2].partition("\n  File ")[2].partition("\n")[0]
    if name in _ABORTS and _PDF_LIBRARY in first_frame:
        return (
            "made the PDF library abort, as it does where "
            f"{terms.memory_bytes:,} bytes of memory are not enough: split it, "
            "or raise ingest.read_memory_bytes"
        )
    detail = how_it_ended(code, words=words)
    return f"crashed its reader ({detail}): it is damaged or hostile; convert it, or leave it out"


Key = TypeVar("Key")

_log = logging.getLogger("loregraph.ingest")

_JOBS_A_PROCESS = 500
_LOOK_AHEAD = 2
_STOPPED = "was not read: reading was cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Read job: a path or bytes. The suffix of `name` is the format."""

    name: str
    path: Path | None = None
    data: bytes | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.data is None):
            raise ValueError(f"job {self.name!r}: give either a path or data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Content of a source like `parts.read_parts`, without members' bytes.

    `sha256` is of the very bytes that were read.
    """

    sha256: str
    parts: tuple[Part, ...]


class ReaderPool:
    """Reads sources in a few processes, each job under a limit of time and memory.

    A pool is used by one thread, in a `with` block; that starts nothing until the first job.

    Args:
        options: limits on what one source may unfold to.
        max_bytes: the largest source that is read.
        workers: how many processes read at a time.
        timeout_seconds: the longest that one source may take, by the clock on the wall.
        memory_bytes: the most private memory that a process may take (Linux; elsewhere no limit).
    """

    def __init__(
        self,
        *,
        options: ReadOptions,
        max_bytes: int,
        workers: int = 2,
        timeout_seconds: float = 120.0,
        memory_bytes: int = 2 << 30,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers!r}")
        terms = WorkerLimits(
            options=options,
            max_bytes=max_bytes,
            timeout_seconds=timeout_seconds,
            memory_bytes=memory_bytes,
        )
        self._look_ahead = _LOOK_AHEAD * workers
        self._workers = [_Worker(terms) for _ in range(workers)]
        self._idle: LifoQueue[_Worker] = LifoQueue()  # the last used first: few jobs, few processes
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="loregraph-read")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill all processes, running jobs included; idempotent."""
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.release()

    def read(self, jobs: Iterable[tuple[Key, Job]]) -> Iterator[tuple[Key, Reading | SourceError]]:
        """Yield each job's reading or error, in job order.

        Jobs are pulled as they are needed, at most two a worker ahead of what was taken, so that
        reading runs beside whatever is done with the results.

        Raises:
            EngineError: no reading process could be started.
        """
        pending: deque[tuple[Key, Future[Reading | SourceError]]] = deque()
        try:
            for key, job in jobs:
                pending.append((key, self._threads.submit(self._run, _anchored(job))))
                if len(pending) >= self._look_ahead:
                    first, future = pending.popleft()
                    yield first, future.result()
            while pending:
                first, future = pending.popleft()
                yield first, future.result()
        finally:
            for _, future in pending:
                future.cancel()

    def _run(self, job: Job) -> Reading | SourceError:
        worker = self._idle.get()
        try:
            return worker.read(job)
        except SourceError as error:
            return error
        finally:
            self._idle.put(worker)


def _anchored(job: Job) -> Job:
    """Return an absolute path; the process keeps its own folder."""
    return job if job.path is None else Job(name=job.name, path=job.path.absolute())


class _Worker:
    """Worker slot: one process after another. One thread reads; any may stop it."""

    def __init__(self, terms: WorkerLimits) -> None:
        self._terms = terms
        self._process: WorkerHandle | None = None
        self._closed = False
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Stop the process and its waiter; no other is started."""
        with self._lock:
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()

    def release(self) -> None:
        """Lets go of the process; nobody may be reading any more."""
        if self._process is not None:
            self._end(self._process)

    def read(self, job: Job) -> Reading:
        """One job; where a used process fails it by dying, once more in a fresh one.

        For what kills a process may be what an earlier file left behind in its memory.

        Raises:
            SourceError: why there is no reading.
        """
        if job.data is not None:
            check_size(len(job.data), max_bytes=self._terms.max_bytes)
        process = self._ready()
        was_used = process.jobs > 0
        try:
            return self._read_in(process, job)
        except ProcessDied as error:
            if not was_used or isinstance(error, TookTooLong):
                raise SourceError(str(error)) from error
        try:
            return self._read_in(self._ready(), job)
        except ProcessDied as error:
            raise SourceError(str(error)) from error

    def _read_in(self, process: WorkerHandle, job: Job) -> Reading:
        try:
            reply = process.read(job.name, path=job.path, data=job.data or b"")
        except ProcessDied as error:
            self._end(process)
            if self._closed:
                raise SourceError(_STOPPED) from error
            _log.info("a reading process died: %r %s\n%s", job.name, error, process.stderr_tail())
            raise
        if reply["kind"] == "memory" or process.jobs >= _JOBS_A_PROCESS:
            self._end(process)
        return self._judged(reply, job=job)

    def _judged(self, reply: Json, *, job: Job) -> Reading:
        match reply["kind"]:
            case "reading":
                reading = _reading(reply)
                for note in _listed(reply.get("notes")):
                    _log.info("in %r: %s", job.name, note)
                return reading
            case "memory":
                raise ProcessDied(memory_limit_reason(self._terms))
            case "broken":
                _log.info("a reader failed on %r\n%s", job.name, reply["trace"])
                raise SourceError(unexpected_failure_reason(str(reply["reason"])))
            case _:
                raise SourceError(str(reply["reason"]))

    def _ready(self) -> WorkerHandle:
        """Return a live process, started if needed.

        Starting happens outside the lock, so that closing never waits for it.
        """
        if self._process is not None and self._process.is_alive():
            return self._process
        if self._process is not None:
            self._end(self._process)
        if self._closed:
            raise SourceError(_STOPPED)
        process = WorkerHandle(self._terms)
        with self._lock:
            self._process = process
            closed = self._closed
        try:
            if closed:
                raise SourceError(_STOPPED)
            process.greet(self._terms.as_json())
        except ProcessDied as error:
            self._end(process)
            if self._closed:
                raise SourceError(_STOPPED) from error
            said = process.stderr_tail().rpartition("\n")[2]
            raise EngineError(
                f"cannot start a reading process with {sys.executable!r} ({said}): "
                "check the installation"
            ) from error
        return process

    def _end(self, process: WorkerHandle) -> None:
        process.end()
        with self._lock:
            self._process = None


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _reading(reply: Json) -> Reading:
    try:
        parts = reply["parts"]
        if not isinstance(parts, list):
            raise BrokenFrame("the parts are not a list")
        return Reading(
            sha256=str(reply["sha256"]), parts=tuple(part_from_json(part) for part in parts)
        )
    except (BrokenFrame, KeyError) as error:
        raise SourceError(
            f"failed in its reader: invalid reply of the reading process ({error})"
        ) from error
