"""Processes that begin where another one has already imported everything heavy.

    process = forked(["stats", "--json"], cwd=folder, env=environment, stdout=out, stderr=err)
    process.wait(timeout=60)

A command of ours takes two seconds to import what it works with, and the tests run it hundreds of
times. Here one process imports that once and forks for each command, which is then a process of its
own: with its folder, environment, streams, signals, memory and exit code. Nothing of `engine.cli`
is imported before the fork, so that the command line sees the environment that it is given.

This file is also the program of the process that forks.
"""

from __future__ import annotations

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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

_READY = b"ready"
_FIELD_BYTES = 12
_LONGEST_ORDER_BYTES = 1 << 18
_START_SECONDS = 120
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


class Forked:
    """As `subprocess.Popen` has it: what a test needs of a process that runs."""

    def __init__(self, arguments: Sequence[str], pid: int, told: int) -> None:
        self.args = list(arguments)
        self.pid = pid
        self.returncode: int | None = None
        self._told = told

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
    prelude: str = "",
) -> Forked:
    """`loregraph <arguments>`, running; Ctrl-C reaches it as in a terminal's foreground.

    `prelude` is Python that runs in it first, such as what breaks a part of ours.
    """
    order = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "prelude": prelude}
    told, on_event = os.pipe()
    streams = [stdout.fileno(), stderr.fileno(), on_event]
    socket.send_fds(_forker(), [json.dumps(order).encode()], streams)
    os.close(on_event)
    return Forked(arguments, int(os.read(told, _FIELD_BYTES)), told)


def _field(number: int) -> bytes:
    return f"{number:{_FIELD_BYTES}}".encode()


@cache
def _forker() -> socket.socket:
    """The line to the process that forks, which ends when this one does."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        subprocess.Popen(
            [sys.executable, "-P", __file__, str(there.fileno())],
            pass_fds=[there.fileno()],
            stdin=subprocess.DEVNULL,
            env=os.environ | _SURROUNDINGS,
        )
    here.settimeout(_START_SECONDS)
    assert here.recv(len(_READY)) == _READY
    return here


# --- in the process that forks ------------------------------------------------------------------


def _next_command(line: socket.socket) -> list[str]:
    """The arguments of a command, in the process that is to be it; the one that forks goes on."""
    while True:
        order, streams, _, _ = socket.recv_fds(line, _LONGEST_ORDER_BYTES, 3)
        if not order:
            _reap()
            os._exit(0)
        if os.fork() == 0:
            line.close()
            *outputs, on_event = streams
            _fork_again(on_event)
            return _become(outputs, **json.loads(order))
        for stream in streams:
            os.close(stream)
        _reap()


def _reap() -> None:
    """Wait for the processes between that have ended, so that their computing is counted."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_again(on_event: int) -> None:
    """Return in the new process; the one between says which that is, and how it ended."""
    process = os.fork()
    if process:
        os.write(on_event, _field(process))
        _, status = os.waitpid(process, 0)
        os.write(on_event, _field(os.waitstatus_to_exitcode(status)))
        os._exit(0)
    os.close(on_event)


def _become(
    outputs: Sequence[int], *, arguments: list[str], cwd: str, env: dict[str, str], prelude: str
) -> list[str]:
    """Take on what a process of its own begins with."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for stream, output in enumerate(outputs, 1):
        os.dup2(output, stream)
        os.close(output)
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
    """Import what is heavy, and then be each command that is wanted."""
    for name in HEAVY:
        importlib.import_module(name)
    gc.freeze()  # nothing that is shared is looked at again, and so copied
    line = socket.socket(fileno=int(sys.argv[1]))
    line.send(_READY)
    sys.argv = ["loregraph", *_next_command(line)]
    runpy.run_module("engine.cli", run_name="__main__")


if __name__ == "__main__":
    main()
