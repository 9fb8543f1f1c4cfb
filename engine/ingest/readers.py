"""Conversion to `SourceText`: file parts, texts, LlamaIndex documents.

A `SourceError` raised here gives its reason alone ("is empty"): who reports it puts the source's
name in front.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SourceError
from ..types import MetaValue, SourceText
from .content import Content, one_line, sanitise_text, title_from_filename
from .parts import Part, title_of
from .text.markdown import described
from .text.plain import plain_title

if TYPE_CHECKING:
    from llama_index.core import Document


def document_of(
    part: Part,
    content: Content,
    *,
    document_id: str,
    source: str,
    path: Path | None,
    file_name: str,
) -> SourceText:
    """Build the document of a part.

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
        raise SourceError(
            f"{document_id!r} holds what is no character: give it another document_id"
        )
    text = sanitise_text(text)
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
    metadata = described(document.metadata)
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
