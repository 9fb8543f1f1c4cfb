"""Processes that begin where another one has already imported everything heavy.

    process = forked(["stats", "--json"], cwd=folder, env=environment, stdout=out, stderr=err)
    process.wait(timeout=60)

A command of ours takes two seconds to import what it works with, and the tests run it hundreds of
times. Here one process imports that once and forks for each command, which is then a process of its
own: with its folder, environment, streams, signals, memory and exit code. Nothing of `engine.cli`
is imported before the fork, so that the command line sees the environment that it is given.

Processes that read files take a fifth of a second each, and are started by nearly all that adds
files. `warm_readers` has them begin in a second such process, which imports their module alone.

This file is also the program of the processes that fork.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import IO, Any

_READY = b"ready"
_FIELD_BYTES = 12
_LONGEST_ORDER_BYTES = 1 << 18
_START_SECONDS = 600
_SURROUNDINGS = {
    "PYTHONPATH": str(Path(__file__).parents[1]),
    "PYTHONWARNINGS": "",
    "OPENBLAS_NUM_THREADS": "1",  # what forks has one thread
}
HEAVY = (
    "engine.engine",
    "engine.config",
    "engine.chunking.code",
    "engine.chunking.recursive",
    "engine.ingest.http",
    "fastapi",
    "prometheus_client",
    "scipy.sparse.csgraph",
    "tokenizers",
    "uvicorn",
)
"""What commands and the server import one by one; what reads the environment is not among it."""
READER = "engine.ingest.worker"
_COMMANDS, _READERS = "commands", "readers"
_OPTIONS = {_COMMANDS: (), _READERS: ("-X", "utf8")}
_starting = threading.Lock()


class Forked:
    """As `subprocess.Popen` has it: what a test needs of a process that runs."""

    stdin: IO[bytes] | None = None
    stdout: IO[bytes] | None = None
    stderr: IO[bytes] | None = None

    def __init__(self, arguments: Sequence[str], pid: int, told: int) -> None:
        self.args = list(arguments)
        self.pid = pid
        self.returncode: int | None = None
        self._told = told
        self._looking = threading.Lock()

    def poll(self) -> int | None:
        """Its exit code once it has ended; of a signal, the signal's number below zero."""
        return self._looked(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it has not in time.
        """
        code = self._looked(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Unless it is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """By SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """By SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _looked(self, seconds: float | None) -> int | None:
        with self._looking:
            if self.returncode is None and select.select([self._told], [], [], seconds)[0]:
                self.returncode = int(os.read(self._told, _FIELD_BYTES))
                os.close(self._told)
            return self.returncode


def forked(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdout: IO[bytes],
    stderr: IO[bytes],
    stdin: IO[bytes] | None = None,
    prelude: str = "",
) -> Forked:
    """`loregraph <arguments>`, running; Ctrl-C reaches it as in a terminal's foreground.

    `prelude` is Python that runs in it first, such as what breaks a part of ours.
    """
    with Path(os.devnull).open("rb") as nothing:
        streams = [(each or nothing).fileno() for each in (stdin, stdout, stderr)]
        return _ordered(_forker(_COMMANDS), streams, arguments, cwd=cwd, env=env, prelude=prelude)


def warm_readers(line: Callable[[], socket.socket] | None = None) -> None:
    """Have this process's reading processes forked too; `line` leads to what forks them.

    Those of which a test replaces the program are started as ever.
    """
    from engine.ingest import child_process

    cold = child_process._started

    @wraps(cold)
    def started(entry: str) -> Any:
        return _reader((line or reader_line)()) if entry == READER else cold(entry)

    child_process._started = started


def reader_line() -> socket.socket:
    """The line to the process that forks reading processes."""
    with _starting:
        return _forker(_READERS)


def _reader(line: socket.socket) -> Forked:
    (read, stdin), (stdout, write), (stderr, write_errors) = os.pipe(), os.pipe(), os.pipe()
    streams = [read, write, write_errors]
    folders = [os.path.abspath(folder) for folder in sys.path]  # noqa: PTH100 - as the product does
    env = {**_few_threads(), **os.environ}
    process = _ordered(line, streams, folders, cwd=Path("/"), env=env, prelude="")
    for stream in streams:
        os.close(stream)
    process.stdin = os.fdopen(stdin, "wb")
    process.stdout, process.stderr = os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb")
    return process


def _few_threads() -> dict[str, str]:
    from engine.ingest.child_process import _FEW_THREADS

    return _FEW_THREADS


def _ordered(
    line: socket.socket,
    streams: Sequence[int],
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    prelude: str,
) -> Forked:
    order = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "prelude": prelude}
    told, on_event = os.pipe()
    socket.send_fds(line, [json.dumps(order).encode()], [*streams, on_event])
    os.close(on_event)
    return Forked(arguments, int(os.read(told, _FIELD_BYTES)), told)


def _field(number: int) -> bytes:
    return f"{number:{_FIELD_BYTES}}".encode()


@cache
def _forker(kind: str) -> socket.socket:
    """The line to a process that forks, which ends when this one does."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    readers = [reader_line()] if kind == _COMMANDS else []
    lines = [line.fileno() for line in (there, *readers)]
    with there:
        subprocess.Popen(
            [sys.executable, "-P", *_OPTIONS[kind], __file__, kind, *map(str, lines)],
            pass_fds=lines,
            stdin=subprocess.DEVNULL,
            env=os.environ | _SURROUNDINGS | ({} if readers else _few_threads()),
        )
    here.settimeout(_START_SECONDS)
    assert here.recv(len(_READY)) == _READY
    here.settimeout(None)  # for whoever else sends along it, too
    return here


# --- in the process that forks ------------------------------------------------------------------


def _next_order(line: socket.socket, *, is_session: bool) -> list[str]:
    """The arguments of a process, in the process that is to be it; the one that forks goes on."""
    while True:
        order, streams, _, _ = socket.recv_fds(line, _LONGEST_ORDER_BYTES, 4)
        if not order:
            _reap()
            os._exit(0)
        if os.fork() == 0:
            line.close()
            *streams, on_event = streams
            _fork_again(on_event, is_session=is_session)
            return _become(streams, **json.loads(order))
        for stream in streams:
            os.close(stream)
        _reap()


def _reap() -> None:
    """Wait for the processes between that have ended, so that their computing is counted."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_again(on_event: int, *, is_session: bool) -> None:
    """Return in the new process, which says which it is; the one between says how it ended."""
    process = os.fork()
    if process:
        _, status = os.waitpid(process, 0)
        os.write(on_event, _field(os.waitstatus_to_exitcode(status)))
        os._exit(0)
    if is_session:
        os.setsid()
    os.write(on_event, _field(os.getpid()))
    os.close(on_event)


def _become(
    streams: Sequence[int], *, arguments: list[str], cwd: str, env: dict[str, str], prelude: str
) -> list[str]:
    """Take on what a process of its own begins with."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for stream, given in enumerate(streams):
        os.dup2(given, stream)
        os.close(given)
    sys.stdin = io.TextIOWrapper(open(0, "rb"), encoding="utf8")  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb"), encoding="utf8")  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(  # its own buffer, which the forking process does not share
        open(2, "wb"),  # noqa: SIM115
        encoding="utf8",
        errors="backslashreplace",
        line_buffering=True,
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)
    exec(prelude, {})  # noqa: S102
    return arguments


def main() -> None:
    """Import what is heavy, and then be each command, or each reader, that is wanted."""
    kind, line, *others = sys.argv[1], *(socket.socket(fileno=int(each)) for each in sys.argv[2:])
    for name in HEAVY if kind == _COMMANDS else (READER,):
        importlib.import_module(name)
    gc.freeze()  # nothing that is shared is looked at again, and so copied
    line.send(_READY)
    arguments = _next_order(line, is_session=kind == _READERS)
    if kind == _READERS:
        faulthandler.enable()
        sys.path[:] = arguments
        importlib.import_module(READER).main()
        return
    warm_readers(lambda: others[0])
    sys.argv = ["loregraph", *arguments]
    runpy.run_module("engine.cli", run_name="__main__")


if __name__ == "__main__":
    main()
