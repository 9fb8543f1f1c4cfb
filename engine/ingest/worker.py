"""Reader process: takes jobs from a pipe, reads under limits, replies.

It imports only what reading needs, so that it starts in a fraction of a second. Memory is limited
by the operating system where it has such a limit (Linux), time by an alarm that ends the process
even where a parser in C holds the interpreter. A frame is two lengths, JSON and raw bytes: JSON,
because replies are made from files that may be hostile and must never become code.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import struct
import sys
import threading
import traceback
from dataclasses import fields
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, NamedTuple

from ..errors import SourceError
from .discovery import check_size, why_unreadable
from .document import Content, ReadOptions, exception_line, is_memory_error
from .load import Part, read_parts

Json = dict[str, object]

_LENGTHS = struct.Struct(">QQ")
_ROOM_FOR_NAMES = 16 << 20
_BYTES_A_CHARACTER = 4
_MEMBERS = "members"


class BrokenFrame(ValueError):
    """The bytes are no frame, are cut off, or are more than was agreed."""


class Frame(NamedTuple):
    """A message and the bytes that go with it."""

    message: Json
    data: bytes = b""


def frame_limit(options: ReadOptions) -> int:
    """Return the maximum frame size from the unpacking limits."""
    unfolded = options.max_characters * _BYTES_A_CHARACTER + 2 * options.max_unpacked_bytes
    return unfolded + _ROOM_FOR_NAMES


def pack_frame(message: Json, *, limit: int) -> bytes:
    """Serialise a reader process's message as UTF-8 JSON; lone surrogates survive.

    Raises:
        BrokenFrame: it would be larger than `limit` bytes.
    """
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    body = text.encode("utf-8", "surrogatepass")
    if len(body) > limit:
        raise BrokenFrame(f"{len(body):,} bytes, the limit is {limit:,}")
    return body


def write_frame(stream: IO[bytes], body: bytes, *, data: bytes = b"") -> None:
    """Write a frame made by `packed`."""
    stream.write(_LENGTHS.pack(len(body), len(data)))
    stream.write(body)
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes], *, limit: int) -> Frame | None:
    """Read the next frame; None at end of stream.

    Raises:
        BrokenFrame: it is cut off, larger than `limit` bytes, or its message is no JSON object.
    """
    lengths = stream.read(_LENGTHS.size)
    if not lengths:
        return None
    if len(lengths) < _LENGTHS.size:
        raise BrokenFrame("cut off in the header")
    body_length, data_length = _LENGTHS.unpack(lengths)
    if body_length + data_length > limit:
        raise BrokenFrame(f"{body_length + data_length:,} bytes, the limit is {limit:,}")
    body = _exactly(stream, body_length)
    data = _exactly(stream, data_length)
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise BrokenFrame("the message is not JSON") from error
    if not isinstance(message, dict):
        raise BrokenFrame("the message is not a JSON object")
    return Frame(message, data)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise BrokenFrame(f"cut off after {len(data):,} of {length:,} bytes")
    return data


def part_as_json(part: Part) -> Json:
    """Convert a reader's part to JSON for the pipe, without members."""
    content: Json | None = None
    if part.content is not None:
        names = sorted(field.name for field in fields(Content) if field.name != _MEMBERS)
        content = {name: getattr(part.content, name) for name in names}
        content["metadata"] = dict(part.content.metadata)
    return {
        "name": part.name,
        "type": part.type,
        "sha256": part.sha256,
        "content": content,
        "failure": part.failure,
    }


def part_from_json(value: object) -> Part:
    """Convert JSON to a part.

    Raises:
        BrokenFrame: it is no part.
    """
    try:
        given = _object(value)
        content = given["content"]
        return Part(
            name=str(given["name"]),
            type=str(given["type"]),
            sha256=str(given["sha256"]),
            content=None if content is None else Content(**_thawed(content)),
            failure=str(given["failure"]),
        )
    except (KeyError, TypeError) as error:
        raise BrokenFrame(f"invalid part: {error}") from error


def options_as_json(options: ReadOptions) -> Json:
    """Convert options to JSON."""
    return {field.name: getattr(options, field.name) for field in fields(ReadOptions)}


def options_from_json(value: object) -> ReadOptions:
    """Convert JSON to options."""
    return ReadOptions(**_thawed(value))


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise BrokenFrame("not a JSON object")
    return value


def _thawed(value: object) -> dict[str, Any]:
    """Restore a dataclass's tuples from JSON lists."""
    return {key: _tupled(entry) for key, entry in _object(value).items()}


def _tupled(value: object) -> object:
    match value:
        case list():
            return tuple(_tupled(entry) for entry in value)
        case dict():
            return {key: _tupled(entry) for key, entry in value.items()}
        case _:
            return value


LOGGER = "loregraph.ingest"
MAX_REQUEST_BYTES = 1 << 40
"""A request comes from the library itself: its bytes are bounded there."""
_ALARM_GRACE_SECONDS = 10
_MAPPED_BYTES = 2 << 30
_TRACEBACK_LIMIT = 20_000


class _Terms(NamedTuple):
    """Limits agreed at start."""

    options: ReadOptions
    max_bytes: int
    timeout_seconds: float
    memory_bytes: int


def main() -> None:
    """Serve jobs of the reader process until its pipe closes. The first frame sets the limits."""
    requests, replies = take_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = read_frame(requests, limit=MAX_REQUEST_BYTES)
    if first is None:
        return
    terms = _terms(first.message)
    notes = Notes(LOGGER, logging.INFO)
    _limit_memory(terms.memory_bytes)
    write_frame(replies, pack_frame({"kind": "ready"}, limit=frame_limit(terms.options)))
    pending: SimpleQueue[Frame] = SimpleQueue()
    threading.Thread(target=receive, args=(requests, pending), daemon=True).start()
    while True:
        job = pending.get()
        _set_alarm(terms.timeout_seconds + _ALARM_GRACE_SECONDS)
        reply = _reply_to(job, terms=terms, notes=notes)
        write_frame(replies, reply)
        _set_alarm(0)


def take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Move the pipes away from parsers: stdin is empty, stdout goes to stderr."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return requests, replies


def receive(requests: IO[bytes], pending: SimpleQueue[Frame]) -> None:
    """Receive in a thread, so that a process without parent exits."""
    while True:
        try:
            frame = read_frame(requests, limit=MAX_REQUEST_BYTES)
        except (BrokenFrame, OSError):
            frame = None
        if frame is None:
            os._exit(0)
        pending.put(frame)


def _terms(message: Json) -> _Terms:
    return _Terms(
        options=options_from_json(message["options"]),
        max_bytes=int(str(message["max_bytes"])),
        timeout_seconds=float(str(message["timeout_seconds"])),
        memory_bytes=int(str(message["memory_bytes"])),
    )


class Notes(logging.Handler):
    """Log records of this process, forwarded to the library."""

    def __init__(self, name: str, level: int) -> None:
        super().__init__(level)
        self._lines: list[str] = []
        self._left = 0
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, while there is room."""
        line = record.getMessage()[-self._left :] if self._left else ""
        self._left -= len(line)
        if line:
            self._lines.append(line)

    def begin(self) -> None:
        """Forget the job before."""
        self._lines, self._left = [], _TRACEBACK_LIMIT

    def lines(self) -> list[str]:
        """Return what was logged in this job."""
        return self._lines


def _reply_to(job: Frame, *, terms: _Terms, notes: Notes) -> bytes:
    """Return a reading, or the failure.

    This is where everything is caught (on a member of a source, `parts` does so already). A
    reader is many parsers of other people, fed with files of yet others; what one raises
    unforeseen (a ValueError, a panic of a Rust library, which is no Exception) is a fact about
    this file. It must not end the run, nor pass unseen: it becomes a failure that names the
    exception, and its traceback goes to the library's log.
    """
    limit = frame_limit(terms.options)
    notes.begin()
    try:
        return pack_frame({**_read(job, terms=terms), "notes": notes.lines()}, limit=limit)
    except SourceError as error:
        return _failure("source", str(error))
    except MemoryError:
        return _failure("memory", "")
    except BrokenFrame as error:
        return _failure(
            "source", f"has too much text for one source: {error}; split it in several files"
        )
    except BaseException as error:  # noqa: BLE001 - the border to foreign parsers, see above
        trace = traceback.format_exc()
        kind = "memory" if is_memory_error(trace) else "broken"  # wrapped, or a C++ library's own
        return _failure(kind, exception_line(error), trace=trace)


def _read(job: Frame, *, terms: _Terms) -> Json:
    path = job.message["path"]
    data = job.data if path is None else _bytes_of(Path(str(path)), max_bytes=terms.max_bytes)
    parts = read_parts(data, name=str(job.message["name"]), options=terms.options)
    return {
        "kind": "reading",
        "sha256": hashlib.sha256(data).hexdigest(),
        "parts": [part_as_json(part) for part in parts],
    }


def _bytes_of(path: Path, *, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            check_size(os.fstat(file.fileno()).st_size, max_bytes=max_bytes)
            data = file.read(max_bytes + 1)  # it may have grown since
    except OSError as error:
        raise SourceError(why_unreadable(error)) from error
    check_size(len(data), max_bytes=max_bytes)
    return data


def _failure(kind: str, reason: str, *, trace: str = "") -> bytes:
    message: Json = {"kind": kind, "reason": reason, "trace": trace[-_TRACEBACK_LIMIT:]}
    return pack_frame(message, limit=sys.maxsize)


if sys.platform == "win32":

    def _limit_memory(limit: int) -> None:
        """Windows has no such limit for a process of its own."""

    def _set_alarm(seconds: float) -> None:
        """Windows has no alarm: there the library's clock stands alone."""

else:
    import resource

    def _limit_memory(limit: int) -> None:
        """Private memory to `limit` bytes, and all addresses to that and room for mapped files.

        The first is what a parser really takes (Linux 4.7 on), without the shared libraries and
        the model files that are mapped; the second holds on kernels that do not know the first.
        """
        for kind, size in (
            (resource.RLIMIT_DATA, limit),
            (resource.RLIMIT_AS, limit + _MAPPED_BYTES),
            (resource.RLIMIT_CORE, 0),
        ):
            hard = resource.getrlimit(kind)[1]
            size = size if hard == resource.RLIM_INFINITY else min(size, hard)
            try:
                resource.setrlimit(kind, (size, size))
            except (ValueError, OSError) as error:  # macOS refuses some: said, and gone on without
                sys.stderr.write(f"cannot set limit {kind}: {error}\n")

    def _set_alarm(seconds: float) -> None:
        """The default action of the alarm ends the process, whatever it is doing; 0 takes it
        back."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
