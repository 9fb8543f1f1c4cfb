"""Handle of one reader process: pipes, deadline and exit status.

Knows the process (`process`) by its command line and its frames alone, and nothing of which
jobs there are or what to do when one fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...errors import EngineError
from ..broken import is_memory_error
from ..content import ReadOptions
from .frames import (
    BrokenFrame,
    Json,
    frame_limit,
    options_as_json,
    packed,
    read_frame,
    write_frame,
)

ENTRY = f"{__package__}.process"
"""The module whose `main` the process runs."""
_START_SECONDS = 60.0
_GOODBYE_SECONDS = 2.0
_TAIL_BYTES = 8_000
_LAST_LINE_LIMIT = 200
_FAULT = "Fatal Python error"
_ABORTS = frozenset({"SIGABRT", "SIGILL", "SIGTRAP"})
_PDF_LIBRARY = "pypdfium2"
"""PDFium ends its process, without a word, where it is given no memory."""
_FEW_THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",  # its buffers a thread eat the memory limit on big machines
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


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


class ProcessDied(Exception):
    """Raised when a process died without a reply."""


class TookTooLong(ProcessDied):
    """It was ended because it took too long: once more would take as long again."""


class WorkerHandle:
    """A running process. One thread asks; any thread may kill.

    Raises:
        EngineError: the operating system starts none.
    """

    def __init__(self, terms: WorkerLimits) -> None:
        self.jobs = 0
        self._terms = terms
        self._timed_out = False
        self._tail = bytearray()
        try:
            self._process = _started()
        except OSError as error:
            raise EngineError(f"no reading process could be started: {error}") from error
        self._requests, self._replies = _open(self._process.stdin), _open(self._process.stdout)
        errors = _open(self._process.stderr)
        self._listener = threading.Thread(target=self._listen, args=(errors,), daemon=True)
        self._listener.start()

    def greet(self) -> None:
        """Send the limits and wait until the process is ready.

        Raises:
            ProcessDied: it ended, or was not ready in time.
        """
        reply = self._exchange(self._terms.as_json(), data=b"", seconds=_START_SECONDS)
        if reply["kind"] != "ready":
            raise ProcessDied("it does not answer as it should")

    def ask(self, name: str, *, path: Path | None, data: bytes) -> Json:
        """Run one job; the reply's `kind` is a reading or a failure.

        Raises:
            ProcessDied: there is none.
        """
        self.jobs += 1
        self._tail.clear()
        message: Json = {"name": name, "path": None if path is None else str(path)}
        return self._exchange(message, data=data, seconds=self._terms.timeout_seconds)

    def is_alive(self) -> bool:
        """Check whether it can take a job."""
        return not self._timed_out and self._process.poll() is None

    def kill(self) -> None:
        """Kill the process and its children without waiting."""
        if self._process.returncode is None:
            _kill_group(self._process)

    def end(self) -> None:
        """End the process and release its resources."""
        _kill_group(self._process)  # it may be gone and have left others behind
        self._process.wait()
        self._listener.join(_GOODBYE_SECONDS)
        for pipe in (self._requests, self._replies):
            with suppress(OSError):  # what was not yet flushed has nowhere to go
                pipe.close()

    def stderr_tail(self) -> str:
        """Return the end of its last error output."""
        return self._tail.decode("utf-8", "replace").strip()

    def _exchange(self, message: Json, *, data: bytes, seconds: float) -> Json:
        clock = threading.Timer(seconds, self._time_out)
        clock.daemon = True
        clock.start()
        try:
            write_frame(self._requests, packed(message, limit=sys.maxsize), data=data)
            frame = read_frame(self._replies, limit=frame_limit(self._terms.options))
        except (OSError, BrokenFrame) as error:
            raise self._cause() from error
        finally:
            clock.cancel()
            clock.join()  # it may be at its work: the next job must not meet it
        if frame is None:
            raise self._cause()
        if "kind" not in frame.message:
            raise ProcessDied("broke its reader, which answers nonsense")
        return frame.message

    def _time_out(self) -> None:
        self._timed_out = True
        self.kill()

    def _listen(self, errors: IO[bytes]) -> None:
        """Drain the error pipe, keeping its end."""
        with errors:
            while piece := os.read(errors.fileno(), 65_536):
                self._tail += piece
                del self._tail[:-_TAIL_BYTES]

    def _cause(self) -> ProcessDied:
        """Why there was no reply."""
        try:
            code = self._process.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            return ProcessDied("broke its reader, which fell silent: convert it to another format")
        self._listener.join(_GOODBYE_SECONDS)
        if self._timed_out or _signal_of(code) == "SIGALRM":
            return TookTooLong(
                f"took longer than {self._terms.timeout_seconds:g} s to read: "
                "split it, or raise ingest.read_timeout_seconds"
            )
        return ProcessDied(_cause_of_end(code, words=self.stderr_tail(), terms=self._terms))


def needs_memory(terms: WorkerLimits) -> str:
    """Return the reason for exceeding the memory limit."""
    return (
        f"needs more than {terms.memory_bytes:,} bytes of memory to be read: "
        "split it, or raise ingest.read_memory_bytes"
    )


def _cause_of_end(code: int, *, words: str, terms: WorkerLimits) -> str:
    if is_memory_error(words):
        return needs_memory(terms)
    name = _signal_of(code)
    if name == "SIGKILL":
        return (
            "was given up: the system killed its reader, most likely for want of memory; "
            "split it, or let fewer files be read at a time (ingest.read_workers)"
        )
    first_frame = words.partition(_FAULT)[2].partition("\n  File ")[2].partition("\n")[0]
    if name in _ABORTS and _PDF_LIBRARY in first_frame:
        return (
            "made the PDF library give up, as it does where "
            f"{terms.memory_bytes:,} bytes of memory are not enough: split it, "
            "or raise ingest.read_memory_bytes"
        )
    how = name or f"exit code {code}"
    said = words.partition(_FAULT)[0].strip().rpartition("\n")[2][:_LAST_LINE_LIMIT]
    detail = f"{how}, {said}" if said else how
    return f"crashed its reader ({detail}): it is damaged or hostile; convert it, or leave it out"


def _signal_of(code: int) -> str:
    """Return the name of the terminating signal (POSIX), else empty."""
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _started() -> subprocess.Popen[bytes]:
    """Start an interpreter with the same import path.

    Isolated (`-I`): neither the environment nor the folder it is in may put another module in the
    way. In a session of its own: what ends this run from the terminal is not meant for it.

    Raises:
        EngineError: this is a frozen program, or an embedded interpreter that has no program.
        OSError: the operating system starts none.
    """
    if not sys.executable or getattr(sys, "frozen", False):  # a frozen program would start itself
        raise EngineError("no reading process can be started: there is no Python interpreter")
    folders = [os.path.abspath(folder) for folder in sys.path]  # noqa: PTH100 - "" is this folder
    program = (
        f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {ENTRY} import main; main()"
    )
    command = [sys.executable, "-I", "-X", "utf8", "-X", "faulthandler", "-c", program]
    return subprocess.Popen(  # noqa: S603 - our own interpreter and our own program
        [*command, json.dumps(folders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**_FEW_THREADS, **os.environ},
        start_new_session=True,
        creationflags=_CREATION_FLAGS,
    )


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise EngineError("a reading process was started without its pipes")
    return pipe


if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW

    def _kill_group(process: subprocess.Popen[bytes]) -> None:
        process.kill()

else:
    _CREATION_FLAGS = 0

    def _kill_group(process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError, PermissionError):  # gone already (macOS: forbidden)
            os.killpg(process.pid, signal.SIGKILL)
