"""Base class of all node parsers: a strategy gives spans, this makes nodes of them.

`document.text[node.start_char_idx:node.end_char_idx] == node.text`, always. Chunk ids are derived
from content, so that equal documents give equal chunks. Tokens of a text are counted once.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from llama_index.core.bridge.pydantic import Field
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, TextNode

from ..embeddings.tokenizer import load_tokeniser
from ..types import Shape


def chunk_id(document_id: str, start: int, text: str) -> str:
    """Return `c` and 16 hex digits of SHA-256 over document id, start and text."""
    parts = "\x1f".join((document_id, str(start), text))
    return "c" + hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_SLAB_CHARACTERS = 1 << 16
_LONGEST_TOKEN_CHARACTERS = 32


@runtime_checkable
class Tokeniser(Protocol):
    """Tokeniser protocol of chunking. `spans` are in order, without special tokens."""

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`."""
        ...

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Each token's `(start, end)` in characters of `text`."""
        ...


class Measure:
    """The token starts of one text; counting a span is two binary searches.

    Runs that the tokeniser takes for one token or skips, although they are long (unknown words,
    encoded data), count a token a character: cut in two they would not stay one token, so the
    counts given here are never below what a piece really has.
    """

    def __init__(self, text: str, tokeniser: Tokeniser) -> None:
        self._starts = _token_starts(text, tokeniser)
        self._length = len(text)

    def tokens(self, start: int, end: int) -> int:
        """Return the number of tokens in `[start, end)`; a straddling one counts as one."""
        first = bisect_left(self._starts, start)
        inside = bisect_left(self._starts, end) - first
        begins_here = first < len(self._starts) and self._starts[first] == start
        return inside if begins_here else inside + 1

    def forward(self, start: int, tokens: int) -> int:
        """Return the offset after `tokens` tokens from `start`."""
        index = bisect_left(self._starts, start) + tokens
        return self._starts[index] if index < len(self._starts) else self._length

    def backward(self, end: int, tokens: int) -> int:
        """Return the offset where the last `tokens` tokens before `end` begin."""
        index = max(0, bisect_left(self._starts, end) - tokens)
        return self._starts[index] if index < len(self._starts) else end


def _token_starts(text: str, tokeniser: Tokeniser) -> array[int]:
    """Slab by slab, so that a long text needs little memory besides its starts."""
    starts = array("q")
    begin = 0
    while begin < len(text):
        end = _slab_end(text, begin)
        covered = begin
        for first, last in tokeniser.spans(text[begin:end]):
            start, stop = first + begin, last + begin
            if start - covered > _LONGEST_TOKEN_CHARACTERS:
                starts.extend(_every_character(text, covered, start))
            if stop - start > _LONGEST_TOKEN_CHARACTERS:
                starts.extend(range(start, stop))
            else:
                starts.append(start)
            covered = stop
        if end - covered > _LONGEST_TOKEN_CHARACTERS:
            starts.extend(_every_character(text, covered, end))
        begin = end
    return starts


def _every_character(text: str, start: int, end: int) -> Iterator[int]:
    """Return characters the tokeniser skips, except white space."""
    return (at for at in range(start, end) if not text[at].isspace())


def _slab_end(text: str, begin: int) -> int:
    limit = begin + _SLAB_CHARACTERS
    if limit >= len(text):
        return len(text)
    cut = max(text.rfind(mark, begin, limit) for mark in ("\n", " ", "。"))
    return cut + 1 if cut > begin else limit


PAGE_STARTS = "page_starts"
"""The key of a document's metadata that holds the start offset of each page."""
SHAPE = "shape"
"""Metadata key of a document's shape (`engine.types.Shape`)."""
_INTERNAL = frozenset({PAGE_STARTS, SHAPE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A chunk to be: `text[start:end]` under the headings of `path`, outermost first.

    `read` is the wider span to show a reader where the chunk alone is only good to be found;
    `context` is put before the chunk to embed and index it, and never cited.
    """

    start: int
    end: int
    path: tuple[str, ...] = ()
    read: tuple[int, int] | None = None
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSource:
    """Input of a strategy: the text, its shape and known metadata."""

    text: str
    shape: Shape = "text"
    title: str = ""
    language: str = ""
    page_starts: tuple[int, ...] = ()


class SpanNodeParser(NodeParser):  # type: ignore[misc, unused-ignore]
    """A LlamaIndex node parser with exact spans; subclasses say where to cut.

    A node's id is made of its document, offset and text. Its metadata are the document's and
    `title`, `headings` (from the root), `position`, `page` where pages are known, `read_start` and
    `read_end` where more is to be read than is found, and `context`; none of it enters the text
    that LlamaIndex itself would embed or show to a model.
    """

    size_tokens: int = Field(default=512, ge=16)
    overlap_tokens: int = Field(default=64, ge=0)
    tokeniser: Tokeniser = Field(default_factory=load_tokeniser, exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of this parser."""
        return cls.__name__

    @abstractmethod
    def spans(self, subject: ContextSource) -> list[Span]:
        """Return chunk spans by start.

        Together they hold every character except surrounding white space; none exceeds
        `size_tokens`.
        """

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_kwargs: Any
    ) -> list[BaseNode]:
        return [chunk for node in nodes for chunk in self._chunks(node)]

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Any]
    ) -> list[BaseNode]:
        """Skip the inherited step: it would locate chunks by text and fail on repeats."""
        return nodes

    def _chunks(self, document: BaseNode) -> list[TextNode]:
        subject = context_source(document)
        source = document.source_node or document.as_related_node_info()
        chunks = [
            _node(subject, span, document=document, position=position)
            for position, span in enumerate(self.spans(subject))
        ]
        for chunk in chunks:
            chunk.relationships[NodeRelationship.SOURCE] = source
        if self.include_prev_next_rel:
            _link(chunks)
        return chunks


def context_source(document: BaseNode) -> ContextSource:
    """Build the input of contextual chunking from a LlamaIndex document.

    Unknown shapes are plain text, unless its `type` is Markdown.
    """
    given = document.metadata
    shape: Shape = "markdown" if given.get("type") in ("markdown", "html") else "text"
    return ContextSource(
        text=document.get_content(metadata_mode=MetadataMode.NONE),
        shape=given.get(SHAPE) or shape,
        title=str(given.get("title") or ""),
        language=str(given.get("language") or ""),
        page_starts=tuple(given.get(PAGE_STARTS) or ()),
    )


def _node(subject: ContextSource, span: Span, *, document: BaseNode, position: int) -> TextNode:
    content = subject.text[span.start : span.end]
    metadata = {key: value for key, value in document.metadata.items() if key not in _INTERNAL}
    metadata |= {"title": subject.title, "headings": list(span.path), "position": position}
    if subject.page_starts:
        metadata["page"] = bisect_right(subject.page_starts, span.start)
    if span.read is not None:
        metadata["read_start"], metadata["read_end"] = span.read
    if span.context:
        metadata["context"] = span.context
    return TextNode(
        id_=chunk_id(document.node_id, span.start, content),
        text=content,
        start_char_idx=span.start,
        end_char_idx=span.end,
        metadata=metadata,
        excluded_embed_metadata_keys=sorted(metadata),
        excluded_llm_metadata_keys=sorted(metadata),
    )


def _link(chunks: list[TextNode]) -> None:
    """Each chunk knows its neighbours; every fingerprint is taken once."""
    infos = [chunk.as_related_node_info() for chunk in chunks]
    for before, chunk in zip(infos, chunks[1:], strict=False):
        chunk.relationships[NodeRelationship.PREVIOUS] = before
    for chunk, after in zip(chunks, infos[1:], strict=False):
        chunk.relationships[NodeRelationship.NEXT] = after
