"""Child process of this interpreter that answers one frame of JSON with another.

It is a fresh interpreter (never a fork: this one has threads), in a session of its own, and ends
when its request pipe closes: with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

from ..errors import EngineError
from .worker import BrokenFrame, Json, pack_frame, read_frame, write_frame

_START_SECONDS = 60.0
_GOODBYE_SECONDS = 2.0
_TAIL_BYTES = 8_000
_LAST_LINE_LIMIT = 200
FAULT = "Fatal Python error"
"""First words of the interpreter's own report of a crash."""
_FEW_THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",  # its buffers a thread eat the memory limit on big machines
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


class ProcessDied(Exception):
    """Raised when a process died without a reply."""


class ChildProcess:
    """A running process. One thread asks; any thread may kill.

    Args:
        entry: the module whose `main` it runs.
        reply_limit: the most bytes of a reply.

    Raises:
        EngineError: the operating system starts none.
    """

    def __init__(self, entry: str, *, reply_limit: int) -> None:
        self.jobs = 0
        self.timed_out = False
        self._reply_limit = reply_limit
        self._tail = bytearray()
        try:
            self._process = _started(entry)
        except OSError as error:
            raise EngineError(f"cannot start a process: {error}") from error
        self._requests, self._replies = _open(self._process.stdin), _open(self._process.stdout)
        errors = _open(self._process.stderr)
        self._listener = threading.Thread(target=self._listen, args=(errors,), daemon=True)
        self._listener.start()

    def greet(self, terms: Json) -> None:
        """Send the terms and wait until the process is ready.

        Raises:
            ProcessDied: it ended, or was not ready in time.
        """
        reply = self._exchange(terms, data=b"", seconds=_START_SECONDS)
        if reply["kind"] != "ready":
            raise ProcessDied("invalid handshake of the process")

    def ask(self, message: Json, *, data: bytes = b"", seconds: float | None = None) -> Json:
        """Run one job, killed after so many seconds; a reply has a `kind`.

        Raises:
            ProcessDied: there is none.
        """
        self.jobs += 1
        self._tail.clear()
        return self._exchange(message, data=data, seconds=seconds)

    def is_alive(self) -> bool:
        """Check whether it can take a job."""
        return not self.timed_out and self._process.poll() is None

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

    def cause_of_death(self, code: int) -> ProcessDied:
        """Return why there was no reply of a process that ended with this code."""
        return ProcessDied(f"ended with {how_it_ended(code, words=self.stderr_tail())}")

    def _exchange(self, message: Json, *, data: bytes, seconds: float | None) -> Json:
        clock = threading.Timer(threading.TIMEOUT_MAX if seconds is None else seconds, self._end_it)
        clock.daemon = True
        clock.start()
        try:
            write_frame(self._requests, pack_frame(message, limit=sys.maxsize), data=data)
            frame = read_frame(self._replies, limit=self._reply_limit)
        except (OSError, BrokenFrame) as error:
            raise self._cause() from error
        finally:
            clock.cancel()
            clock.join()  # it may be at its work: the next job must not meet it
        if frame is None:
            raise self._cause()
        if "kind" not in frame.message:
            raise ProcessDied("failed in its reader: invalid reply of the reading process")
        return frame.message

    def _end_it(self) -> None:
        self.timed_out = True
        self.kill()

    def _listen(self, errors: IO[bytes]) -> None:
        """Drain the error pipe, keeping its end."""
        with errors:
            while piece := os.read(errors.fileno(), 65_536):
                self._tail += piece
                del self._tail[:-_TAIL_BYTES]

    def _cause(self) -> ProcessDied:
        try:
            code = self._process.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            return ProcessDied("made its reader hang: convert it to another format")
        self._listener.join(_GOODBYE_SECONDS)
        return self.cause_of_death(code)


def how_it_ended(code: int, *, words: str) -> str:
    """Return the signal or exit code of a process, with the last line of its error output."""
    how = signal_of(code) or f"exit code {code}"
    said = words.partition(FAULT)[0].strip().rpartition("\n")[2][:_LAST_LINE_LIMIT]
    return f"{how}, {said}" if said else how


def signal_of(code: int) -> str:
    """Return the name of the terminating signal (POSIX), else empty."""
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _started(entry: str) -> subprocess.Popen[bytes]:
    """Start an interpreter with the same import path.

    Isolated (`-I`): neither the environment nor the folder it is in may put another module in the
    way. In a session of its own: what ends this run from the terminal is not meant for it.

    Raises:
        EngineError: this is a frozen program, or an embedded interpreter that has no program.
        OSError: the operating system starts none.
    """
    if not sys.executable or getattr(sys, "frozen", False):  # a frozen program would start itself
        raise EngineError("cannot start a process: no Python interpreter")
    folders = [os.path.abspath(folder) for folder in sys.path]  # noqa: PTH100 - "" is this folder
    program = (
        f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {entry} import main; main()"
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
        raise EngineError("no pipe to the process: pass PIPE when it is started")
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
