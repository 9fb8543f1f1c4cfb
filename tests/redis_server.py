"""A real Redis for tests, on loopback and a free port, with a password and nothing on disk.

with RedisServer() as server:
    Redis.from_url(server.url, password=server.password)
"""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

_READY_SECONDS = 120


class RedisServer:
    """Starts on entering, stops on leaving; `stop` and `start` in between, on the same port."""

    def __init__(self) -> None:
        self.password = secrets.token_hex(8)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> RedisServer:
        self._place = Path(tempfile.mkdtemp(prefix="redis-test-"))
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self._place, ignore_errors=True)

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program is not None, "no Redis is installed: apt-get install redis-server"
        settings = {
            "port": self.port,
            "bind": "127.0.0.1",
            "requirepass": self.password,
            "save": "",
            "appendonly": "no",
            "dir": self._place,
        }
        lines = (f'{name} "{value}"' for name, value in settings.items())
        with (self._place / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, "-"], stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        assert self._process.stdin is not None
        self._process.stdin.write("\n".join(lines).encode())
        self._process.stdin.close()
        self._wait()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=30)
            self._process = None

    def _wait(self) -> None:
        end = time.monotonic() + _READY_SECONDS
        log = self._place / "log"
        while time.monotonic() < end:
            assert self._process is not None
            assert self._process.poll() is None, log.read_text(errors="replace")
            if "Ready to accept connections" in log.read_text(errors="replace"):
                return
            time.sleep(0.02)
        raise AssertionError(f"Redis did not start: {log.read_text(errors='replace')}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
