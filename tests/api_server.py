"""A real `loregraph serve` in a process of its own, on a free port, over a library of its own.

    with ApiServer(folder) as server:
        server.client().get("/v1/health")
        server.add_text("The lamp …", document_id="lamp", namespace="north")

It starts without models and where all is imported (`warm_process`), so that it is quick; `env` and
`models` say otherwise. What it wrote to its log is in
`server.log()`, and shown where it does not start.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from command_line import environment
from warm_process import Forked, forked

NO_RATE = {"LOREGRAPH_SERVE__REQUESTS_PER_MINUTE": "null"}
_PATIENCE_SECONDS = 120.0
_ADDRESS = re.compile(rb"listens at (https?://\S+)")


class ApiServer:
    """Started by `with`, ended by SIGTERM; `library` is inside `folder` unless it is given."""

    def __init__(
        self,
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        models: bool = False,
        library: Path | None = None,
    ) -> None:
        self.folder = folder
        self.library = library or folder / "library"
        self.url = ""
        self._env = environment(models=models, **NO_RATE | dict(env or {}))
        self._arguments = list(arguments)
        self._log = folder / "server.log"
        self.process: Forked | None = None

    def __enter__(self) -> ApiServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *, port: int = 0) -> None:
        """Start, and wait until it says where it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["serve", "--library", str(self.library), "--port", str(port), *self._arguments]
        before = len(self.log().encode())
        with self._log.open("ab") as log:
            self.process = forked(command, cwd=self.folder, env=self._env, stdout=log, stderr=log)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (found := _ADDRESS.search(self._log.read_bytes()[before:])) is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"the server did not start:\n{self.log()}")
            time.sleep(0.05)
        self.url = found.group(1).decode()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self) -> int:
        """End it as a user would; its exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not end:\n{self.log()}") from None

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=_PATIENCE_SECONDS)

    def log(self) -> str:
        """Everything that it wrote."""
        return self._log.read_text(encoding="utf8", errors="replace") if self._log.exists() else ""

    # --- what many tests do -----------------------------------------------------------------

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """A client of this server, with a token or without."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Without certificates, which would be read anew for each client.
        options = {"timeout": 60.0, "trust_env": False, "verify": False} | options
        return httpx.Client(base_url=self.url, headers=headers, **options)

    def add_text(self, text: str, *, token: str | None = None, **values: Any) -> dict[str, Any]:
        """Add a text and wait until it is there."""
        with self.client(token) as client:
            response = client.post("/v1/texts", json={"text": text, **values})
            assert response.status_code in (200, 202), response.text
            body: dict[str, Any] = response.json()
            return body if response.status_code == 200 else self.finished(body["id"], token=token)

    def finished(self, job: str, *, token: str | None = None) -> dict[str, Any]:
        """A job when it is over."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with self.client(token) as client:
            while True:
                found: dict[str, Any] = client.get(f"/v1/jobs/{job}").json()
                if found["state"] not in ("queued", "running"):
                    return found
                assert time.monotonic() < deadline, found
                time.sleep(0.05)

    def token(
        self,
        name: str,
        *,
        reads: Sequence[str] = (),
        writes: Sequence[str] = (),
        is_admin: bool = False,
        user: str = "",
    ) -> str:
        """A new token of this library; it counts at once, and from then on one is needed."""
        from engine.api.auth import TokenStore

        store = TokenStore(self.library / "tokens.json")
        made = store.create(name, reads=reads, writes=writes, is_admin=is_admin, user=user)
        return made[1]
