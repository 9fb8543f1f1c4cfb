"""The bytes of one source to its documents: itself, and whatever lies inside it.

Pure and without the library, so that it can run in a process of its own with limits. One member
that cannot be read is a failure noted, never the end of the others.
"""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..errors import SourceError
from .broken import broken_reason, is_memory_error, shown
from .content import Content, Member, ReadOptions, sanitise_text, title_from_filename
from .formats import Format, format_of_name, is_known

SEPARATOR = "!/"
"""Between a source's id and the path of a member inside it."""

_log = logging.getLogger("loregraph.ingest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One document of a source, or why it is none.

    `name` is empty for the source itself, else the member's path (`SEPARATOR` between levels).
    `content` is None where `failure` gives the reason, which can follow the source's name.
    """

    name: str
    type: str
    sha256: str
    content: Content | None = None
    failure: str = ""


def read_parts(data: bytes, *, name: str, options: ReadOptions) -> list[Part]:
    """Read everything in the source, in order; the suffix of `name` is its format.

    What a reader raises unforeseen on the source itself is raised here too; on a member, it is
    that member's failure, with its traceback in the log.
    """
    budget = _Budget(members=options.max_members, bytes=options.max_unpacked_bytes)
    return list(_parts(data, file_name=name, inside="", options=options, budget=budget, depth=0))


@dataclass(slots=True)
class _Budget:
    members: int
    bytes: int


def _parts(
    data: bytes, *, file_name: str, inside: str, options: ReadOptions, budget: _Budget, depth: int
) -> Iterator[Part]:
    format_ = format_of_name(file_name)
    sha256 = hashlib.sha256(data).hexdigest()

    def failed(reason: str) -> Part:
        return Part(name=inside, type=format_.type, sha256=sha256, failure=reason)

    if not data:
        yield failed("is empty: there is nothing to read in it")
        return
    try:
        _check_size(data, format_=format_, options=options)
        content = format_.read(data, options)
        _check(content, options)
    except SourceError as error:
        yield failed(str(error))
        return
    except RecursionError:
        yield failed("is nested too deeply to be read: flatten it")
        return
    except BaseException as error:
        # The border to foreign parsers: what one of them raises unforeseen (a panic of a Rust
        # library is no Exception) must not lose the members beside this one.
        if depth == 0 or _ends_the_reading(error):
            raise
        _log.info("a reader broke on the member %r\n%s", inside, traceback.format_exc())
        yield failed(broken_reason(shown(error)))
        return
    if content.text and not content.text.isspace():
        yield Part(name=inside, type=format_.type, sha256=sha256, content=content)
    for member in content.members:
        where = f"{inside}{SEPARATOR}{member.name}" if inside else member.name
        yield from _member(member, where, options=options, budget=budget, depth=depth + 1)


def _member(
    member: Member, where: str, *, options: ReadOptions, budget: _Budget, depth: int
) -> Iterator[Part]:
    suffix = PurePosixPath(member.name).suffix
    budget.members -= 1
    budget.bytes -= len(member.data)
    reason = member.failure
    if reason:
        pass
    elif not is_known(member.name):
        reason = f"is of a kind that no reader takes ({suffix or 'no suffix'})"
    elif depth > options.max_depth:
        reason = f"lies more than {options.max_depth} archives deep: unpack them first"
    elif budget.members < 0:
        reason = (
            f"is past the first {options.max_members:,} members: unpack the archive, "
            "or raise ingest.max_members"
        )
    elif budget.bytes < 0:
        reason = (
            f"is past the first {options.max_unpacked_bytes:,} unpacked bytes: unpack the archive, "
            "or raise ingest.max_unpacked_bytes"
        )
    if reason:
        sha256 = hashlib.sha256(member.data).hexdigest()
        type_ = format_of_name(member.name).type
        yield Part(name=where, type=type_, sha256=sha256, failure=reason)
        return
    yield from _parts(
        member.data,
        file_name=member.name,
        inside=where,
        options=options,
        budget=budget,
        depth=depth,
    )


def _ends_the_reading(error: BaseException) -> bool:
    """Check for errors beyond this file: interruption, or lack of memory."""
    if isinstance(error, KeyboardInterrupt | MemoryError):
        return True
    return is_memory_error("".join(traceback.format_exception(error)))


def _check_size(data: bytes, *, format_: Format, options: ReadOptions) -> None:
    """Refuse implausibly large input before parsing."""
    limit = format_.bytes_a_character * options.max_characters
    if limit and len(data) > limit:
        raise SourceError(
            f"is too large: {len(data):,} bytes of text, the limit is "
            f"{options.max_characters:,} characters; split it, "
            "or raise ingest.max_document_characters"
        )


def _check(content: Content, options: ReadOptions) -> None:
    if not content.members and (not content.text or content.text.isspace()):
        raise SourceError("is empty: there is no text in it")
    if len(content.text) > options.max_characters:
        raise SourceError(
            f"is too large: {len(content.text):,} characters, the limit is "
            f"{options.max_characters:,}; split it, or raise ingest.max_document_characters"
        )


def title_of(part: Part, *, file_name: str) -> str:
    """Return the content's title, else one from the file's or member's name."""
    own = part.content.title if part.content else None
    return sanitise_text(own or title_from_filename(PurePosixPath(part.name or file_name).stem))
