"""The command line as a user runs it: a process of its own, in a folder of its own.

    done = run(folder, "ask", "Who lit the lamp?", env={"COLUMNS": "120"})
    assert done.returncode == 0, done.stderr

Commands begin in a process that has imported everything (`warm_process`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from warm_process import forked

REPOSITORY = Path(__file__).parents[1]
WITHOUT_MODELS = {"LOREGRAPH_EMBEDDING__KIND": "none", "LOREGRAPH_GRAPH__SPACY_MODEL": "none"}
"""Quick to start; what is tested with it does not depend on vectors or entity types."""
LONGEST_SECONDS = 240

Finished = subprocess.CompletedProcess[str]


def environment(*, models: bool = False, **more: str) -> dict[str, str]:
    """The environment of a command: nothing of the caller's own settings in it."""
    inherited = {name: value for name, value in os.environ.items() if "LOREGRAPH" not in name}
    plain = {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "", "COLUMNS": "80"}
    return inherited | plain | ({} if models else WITHOUT_MODELS) | more


def run(
    folder: Path,
    *arguments: str | Path,
    models: bool = False,
    env: Mapping[str, str] | None = None,
    prelude: str = "",
    typed: str = "",
    stderr: IO[bytes] | None = None,
) -> Finished:
    """Run `loregraph <arguments>` there to its end; its errors are text unless they go to `stderr`.

    `prelude` is Python that runs in that process first, `typed` its standard input.
    """
    asked = [str(argument) for argument in arguments]
    there = environment(models=models, **(env or {}))
    with TemporaryFile() as out, TemporaryFile() as errors, TemporaryFile() as lines:
        lines.write(typed.encode())
        lines.seek(0)
        process = forked(
            asked, cwd=folder, env=there, stdout=out, stderr=stderr or errors, stdin=lines,
            prelude=prelude,
        )  # fmt: skip
        try:
            code = process.wait(timeout=LONGEST_SECONDS)
        finally:
            process.kill()
        return Finished(asked, code, _text_of(out), _text_of(errors))


def _text_of(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf8")


@contextmanager
def interrupts_heeded() -> Iterator[None]:
    """Start processes that Ctrl-C ends, though a shell in the background has it ignored.

    Not by a `preexec_fn`: it makes `Popen` fork for real, and where gRPC has threads in this
    process the child may abort before it is the command.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
