"""How much processor time does a command take, from the shell to its last line?

    python tests/benchmarks/startup.py [--runs N]

Each command runs in an interpreter of its own on a library of the sample corpus, with the models of
the default profile: by itself with `answer.reader: none` and with all models, and while
`loregraph serve` has the library open. CPU seconds of the process and its children, the median;
modules are compiled before, as pip does. `--library` names another library to ask.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "--help": ["--help"],
    "stats": ["stats"],
    "search": ["search", "tides in the harbour"],
    "ask": ["ask", "How long is the LANTERN cable?"],
    "ask, overview": ["ask", "What are the main topics?"],
}
NO_READER = {"LOREGRAPH_ANSWER__READER": "none"}
PATIENCE_SECONDS = 120


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--library", default="")
    given = parser.parse_args()
    runs = given.runs
    with tempfile.TemporaryDirectory(prefix="loregraph-startup-") as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
        library = given.library or str(Path(folder) / "library")
        if not given.library:
            run(["add", str(ROOT / "data" / "corpus"), "--library", library])
        print(f"{'':16}{'no reader':>11}{'all models':>12}{'while served':>14}")
        plain = {name: figure(name, library, runs, NO_READER) for name in COMMANDS}
        whole = {name: figure(name, library, runs) for name in COMMANDS}
        server = subprocess.Popen(
            command(["serve", "--library", library, "--port", "0"]), stdout=subprocess.PIPE
        )
        try:
            wait_for(Path(library) / "derived" / "serving")
            served = {name: figure(name, library, runs) for name in COMMANDS}
        finally:
            server.terminate()
            server.wait()
        for name in COMMANDS:
            print(f"{name:16}{plain[name]:11.2f}{whole[name]:12.2f}{served[name]:14.2f}")


def figure(name: str, library: str, runs: int, env: Mapping[str, str] | None = None) -> float:
    """Median CPU seconds of a command; the first run warms the disk."""
    at = [] if name == "--help" else ["--library", library]
    return median([run([*COMMANDS[name], *at], env) for _ in range(runs + 1)][1:])


def run(arguments: list[str], env: Mapping[str, str] | None = None) -> float:
    """CPU seconds of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command(arguments), env=os.environ | dict(env or {}), check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command(arguments: list[str]) -> list[str]:
    return [sys.executable, str(ROOT / "loregraph.py"), *arguments]


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            sys.exit(f"the server did not start: no {path}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
