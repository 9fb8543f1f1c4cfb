"""Frames between the library and reader processes.

A frame is two lengths (of the JSON and of the raw bytes behind it), then both. JSON, because what
comes back was made from a file that may be hostile: nothing that is read can become code. Knows
nothing of processes.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields
from typing import IO, Any, NamedTuple

from ..content import Content, ReadOptions
from ..parts import Part

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


def packed(message: Json, *, limit: int) -> bytes:
    """Serialise a message as UTF-8 JSON; lone surrogates (in file names) survive.

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
        raise BrokenFrame("cut off in its lengths")
    body_length, data_length = _LENGTHS.unpack(lengths)
    if body_length + data_length > limit:
        raise BrokenFrame(f"{body_length + data_length:,} bytes, the limit is {limit:,}")
    body = _exactly(stream, body_length)
    data = _exactly(stream, data_length)
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise BrokenFrame("its message is no JSON") from error
    if not isinstance(message, dict):
        raise BrokenFrame("its message is no JSON object")
    return Frame(message, data)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise BrokenFrame(f"cut off after {len(data):,} of {length:,} bytes")
    return data


def part_as_json(part: Part) -> Json:
    """Convert a part to JSON, without members."""
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
        raise BrokenFrame(f"no part: {error}") from error


def options_as_json(options: ReadOptions) -> Json:
    """Convert options to JSON."""
    return {field.name: getattr(options, field.name) for field in fields(ReadOptions)}


def options_from_json(value: object) -> ReadOptions:
    """Convert JSON to options."""
    return ReadOptions(**_thawed(value))


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise BrokenFrame("no JSON object")
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
