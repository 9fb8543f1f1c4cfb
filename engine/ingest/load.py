"""The bytes of one source to its documents: itself, and whatever lies inside it.

Needs no library, so that it can run in a process of its own with limits. One member that cannot be
read is a failure in the report and stops no other. A `SourceError` raised here gives its reason
alone: the caller adds the source's name.
"""

from __future__ import annotations

import hashlib
import json
import logging
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..types import MetaValue, SourceText
from .document import (
    Content,
    Member,
    ReadOptions,
    exception_line,
    is_memory_error,
    one_line,
    sanitise_text,
    title_from_filename,
    unexpected_failure_reason,
    unix_newlines,
)
from .readers.text import front_matter_values, plain_title
from .registry import Format, format_of_name, is_known

if TYPE_CHECKING:
    from llama_index.core import Document

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
        _log.info("a reader failed on the archive member %r\n%s", inside, traceback.format_exc())
        yield failed(unexpected_failure_reason(exception_line(error)))
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
        reason = f"has an unsupported format ({suffix or 'no suffix'})"
    elif depth > options.max_depth:
        reason = f"is nested more than {options.max_depth} archives deep: unpack them first"
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


def document_from_part(
    part: Part,
    content: Content,
    *,
    document_id: str,
    source: str,
    path: Path | None,
    file_name: str,
) -> SourceText:
    """Build the `SourceText` of one part that a reader returned.

    Its metadata: what the content says of itself, `path` (the id) and `type`.
    """
    return SourceText(
        id=document_id,
        title=title_of(part, file_name=file_name),
        text=content.text,
        type=part.type,
        shape=content.shape,
        sha256=part.sha256,
        path=sanitise_text(path.as_posix()) if path is not None else None,
        source=source,
        pages=content.pages,
        metadata={**content.metadata, "path": document_id, "type": part.type},
    )


def read_text(
    text: str,
    *,
    document_id: str,
    title: str = "",
    metadata: Mapping[str, MetaValue] | None = None,
    max_characters: int | None = None,
) -> SourceText:
    """Build a document from a text; `sha256` is of its UTF-8. No maximum means no limit.

    Raises:
        SourceError: nothing but white space, too large, or no id that can be stored.
    """
    if not document_id.strip():
        raise SourceError("has no id: give it a document_id")
    if sanitise_text(document_id) != document_id:
        raise SourceError(f"document_id {document_id!r} contains invalid characters: use another")
    text = unix_newlines(sanitise_text(text))
    _check_text(text, max_characters=max_characters)
    return SourceText(
        id=document_id,
        source=document_id,
        title=one_line(sanitise_text(title)) or plain_title(text) or document_id,
        text=text,
        type="text",
        sha256=hashlib.sha256(text.encode("utf-8")).hexdigest(),
        metadata={"type": "text", **(metadata or {})},
    )


def read_llama_document(document: Document, *, max_characters: int | None = None) -> SourceText:
    """Build a document from LlamaIndex's; its metadata become `described`.

    `title` or `file_name` names it. `sha256` is of text and metadata: other metadata make it
    another document. A random id that LlamaIndex gave (a UUID) is kept: who adds documents twice
    gives them ids.

    Raises:
        SourceError: nothing but white space, or too large.
    """
    metadata = front_matter_values(document.metadata)
    stem = title_from_filename(Path(str(metadata.get("file_name", ""))).stem)
    source = read_text(
        document.text,
        document_id=document.id_,
        title=str(metadata.get("title") or stem),
        metadata=metadata,
        max_characters=max_characters,
    )
    return replace(source, sha256=_with_metadata(source.sha256, metadata))


def _with_metadata(sha256: str, metadata: Mapping[str, MetaValue]) -> str:
    if not metadata:
        return sha256
    written = json.dumps([sha256, metadata], sort_keys=True)
    return hashlib.sha256(written.encode("ascii")).hexdigest()


def _check_text(text: str, *, max_characters: int | None) -> None:
    if not text or text.isspace():
        raise SourceError("is empty: there is no text in it")
    if max_characters is not None and len(text) > max_characters:
        raise SourceError(
            f"is too large: {len(text):,} characters, the limit is {max_characters:,}; "
            "split it, or raise ingest.max_document_characters"
        )
