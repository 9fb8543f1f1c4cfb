"""Commands answered by a `loregraph serve` of the same user that has the library open.

An open library with its models answers in milliseconds; a command that opens it first imports for
seconds. `serve` listens on a socket in a folder of its own that nobody else may enter, and names it
in the library's `derived/serving`. A command that only reads sends its words there and prints what
comes back. Wherever that is not possible (no server, other settings, a terminal that a language
model would stream to) it opens the library itself.

A frame is a JSON line. Asked: `arguments`, `state`, `terminal`, `encoding`. Answered: `out` and
`err` with text, `exit` with a code, or `declined`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..engine import KnowledgeEngine

COMMANDS = frozenset({"ask", "search", "stats"})
"""Commands that a server answers: they read, and read no file of their own."""
_OWN_FILES = frozenset({"--history", "--help", "-h"})
DEFAULT_LIBRARY = "library"
POINTER = Path("derived", "serving")
_LONGEST_BYTES = 1_000_000
"""Maximum length of a request."""
_CONNECT_SECONDS, _REQUEST_SECONDS, _ANSWER_SECONDS = 0.5, 5.0, 600.0
_AT_ONCE = 4
"""Commands that run at a time; others wait."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

SERVED: ContextVar[KnowledgeEngine | None] = ContextVar("SERVED", default=None)
"""The open engine of the server that runs a command."""


# --- the command -------------------------------------------------------------------------------


def answer_elsewhere(arguments: Sequence[str]) -> int | None:
    """Have a server answer a command and print it; return its exit code, None if none did."""
    options = _options(arguments)
    if options is None or not hasattr(socket, "AF_UNIX"):
        return None
    library, profile = options
    try:
        connection = _connected(Path(library))
    except (OSError, ValueError):
        return None
    with connection:
        asked = {
            "arguments": list(arguments),
            "state": state_digest(profile),
            "terminal": [sys.stdout.isatty(), sys.stderr.isatty()],
            "encoding": sys.stdout.encoding or "utf-8",
        }
        try:
            connection.sendall(_frame(asked))
            connection.settimeout(_ANSWER_SECONDS)
            return _printed(connection.makefile("rb"))
        except (OSError, ValueError):
            return None


def _options(arguments: Sequence[str]) -> tuple[str, str | None] | None:
    """Return the library and the profile of a command that a server may answer."""
    if not arguments or arguments[0] not in COMMANDS:
        return None
    found: dict[str, str | None] = {"library": DEFAULT_LIBRARY, "profile": None}
    names = {"--library": "library", "-l": "library", "--profile": "profile", "-p": "profile"}
    rest = iter(arguments[1:])
    for each in rest:
        if each == "--":
            break
        name, equals, value = each.partition("=")
        if name in _OWN_FILES:
            return None
        if name in names:
            found[names[name]] = value if equals else next(rest, None)
    library = found["library"]
    return None if library is None else (library, found["profile"])


def _connected(library: Path) -> socket.socket:
    """Connect to the server that has a library open, if it is the same user's."""
    pointer = library / POINTER
    if pointer.lstat().st_uid != os.getuid():
        raise OSError("another user's server")
    address = pointer.read_text(encoding="utf8").strip()
    if os.lstat(address).st_uid != os.getuid():
        raise OSError("another user's socket")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_CONNECT_SECONDS)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def _printed(frames: IO[bytes]) -> int | None:
    """Print frames as they come; None where the server declines."""
    begun = False
    for line in frames:
        frame = json.loads(line)
        if "declined" in frame:
            return None
        if "exit" in frame:
            return int(frame["exit"])
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            if text := frame.get(name):
                begun = True
                encoding = stream.encoding or "utf-8"
                stream.write(text.encode(encoding, "replace").decode(encoding))
                stream.flush()
    if begun:
        sys.stderr.write("loregraph: the server ended before its answer did; run it again\n")
        return 1
    return None


def state_digest(profile: str | Path | None) -> str:
    """Return a digest of what settings rest on: the profile's content and the environment."""
    text = ""
    if profile is not None:
        path = Path(profile)
        text = path.read_text(encoding="utf8") if path.is_file() else str(profile)
    kept = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("LOREGRAPH_") or name.endswith("_API_KEY")
    }
    return hashlib.sha256(json.dumps([text, kept]).encode()).hexdigest()


def _frame(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"


# --- the server --------------------------------------------------------------------------------


@contextmanager
def answering_commands(
    library: Path, engine: KnowledgeEngine, *, profile: Path | None, run: Callable[[list[str]], int]
) -> Iterator[None]:
    """Answer commands on a library while it is served.

    Args:
        library: its folder, where the socket is named.
        engine: the open library.
        profile: that the server was started with.
        run: runs the command line and returns the exit code.
    """
    if not hasattr(socket, "AF_UNIX"):
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="loregraph-"))  # 0700: nobody else enters
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    pointer = library / POINTER
    routed = (_Routed(sys.stdout, "out"), _Routed(sys.stderr, "err"))
    plain = (sys.stdout, sys.stderr)
    try:
        address = folder / "commands"
        listener.bind(str(address))
        listener.listen(16)
        with suppress(OSError):  # a library that cannot be written is served without this
            pointer.parent.mkdir(exist_ok=True)
            pointer.write_text(f"{address}\n", encoding="utf8")
            pointer.chmod(0o600)
        server = _CommandServer(engine, state=state_digest(profile), run=run)
        sys.stdout, sys.stderr = routed
        threading.Thread(target=server.accept, args=(listener,), daemon=True).start()
        yield
    finally:
        sys.stdout, sys.stderr = plain
        listener.close()
        with suppress(OSError):
            if pointer.read_text(encoding="utf8").strip() == str(folder / "commands"):
                pointer.unlink()
        shutil.rmtree(folder, ignore_errors=True)


class _CommandServer:
    """Runs the commands of connections, each in a thread of its own."""

    def __init__(
        self, engine: KnowledgeEngine, *, state: str, run: Callable[[list[str]], int]
    ) -> None:
        self._engine = engine
        self._state = state
        self._run = run
        self._places = threading.Semaphore(_AT_ONCE)

    def accept(self, listener: socket.socket) -> None:
        """Take connections until the socket is closed."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, ValueError), self._places:
            if not _is_own(connection):
                return
            connection.settimeout(_REQUEST_SECONDS)
            line = connection.makefile("rb").readline(_LONGEST_BYTES)
            asked = json.loads(line) if line.endswith(b"\n") else {}
            connection.settimeout(_ANSWER_SECONDS)
            if not self._may_answer(asked):
                connection.sendall(_frame({"declined": True}))
                return
            target = _Target(connection, asked["terminal"][0] is True, str(asked["encoding"]))
            served, output = SERVED.set(self._engine), _OUTPUT.set(target)
            try:
                code = self._run([str(each) for each in asked["arguments"]])
            finally:
                SERVED.reset(served)
                _OUTPUT.reset(output)
            connection.sendall(_frame({"exit": code}))

    def _may_answer(self, asked: dict[str, Any]) -> bool:
        """Check the words, and that the settings are those of the server."""
        arguments, terminal = asked.get("arguments"), asked.get("terminal")
        is_whole = isinstance(arguments, list) and all(isinstance(one, str) for one in arguments)
        if not (is_whole and arguments and isinstance(terminal, list) and len(terminal) == 2):
            return False
        streams = bool(terminal[1]) and self._engine.writes_answers
        options = _options(arguments)
        return asked.get("state") == self._state and options is not None and not streams


def _is_own(connection: socket.socket) -> bool:
    """Check that the other side is the same user, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return bool(struct.unpack("3i", told)[1] == os.getuid())


class _Target:
    """Destination of the running command's output: a connection, and how to write for it."""

    def __init__(self, connection: socket.socket, is_terminal: bool, encoding: str) -> None:
        self.connection = connection
        self.is_terminal = is_terminal
        self.encoding = encoding

    def send(self, name: str, text: str) -> None:
        if not self.is_terminal or name == "err":
            text = _COLOURS.sub("", text)
        self.connection.sendall(_frame({name: text}))


_OUTPUT: ContextVar[_Target | None] = ContextVar("_OUTPUT", default=None)


class _Routed(io.TextIOBase):
    """A standard stream whose text goes to the command that writes it, else where it always did."""

    def __init__(self, plain: Any, name: str) -> None:
        self._plain = plain
        self._name = name

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Return the encoding of where the text goes."""
        target = _OUTPUT.get()
        return target.encoding if target else self._plain.encoding

    def write(self, text: str, /) -> int:
        """Write, or send to the command."""
        target = _OUTPUT.get()
        if target is None:
            return int(self._plain.write(text))
        if text:
            target.send(self._name, text)
        return len(text)

    def flush(self) -> None:
        """Flush the plain stream."""
        if _OUTPUT.get() is None:
            self._plain.flush()

    def isatty(self) -> bool:
        """Check for a terminal; a command's errors are shown plainly."""
        target = _OUTPUT.get()
        if target is None:
            return bool(self._plain.isatty())
        return target.is_terminal and self._name == "out"

    def fileno(self) -> int:
        """Return the plain stream's number."""
        return int(self._plain.fileno())

    def writable(self) -> bool:
        """It can be written."""
        return True
