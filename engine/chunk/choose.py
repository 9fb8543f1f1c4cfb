"""Chunking entry point: a parsed text to chunks by the chosen strategy.

LlamaIndex is imported here when the first text is chunked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import SettingsError
from ..types import Shape, SourceText, Strategy
from .measure import Tokeniser

if TYPE_CHECKING:
    from llama_index.core import Document
    from llama_index.core.schema import TextNode

    from .parser import SpanNodeParser

Embed = Callable[[Sequence[str]], list[list[float]]]
Complete = Callable[[str], str]

CHUNKS_VERSION = "chunks-2"
"""Version of chunk boundaries; raising it re-indexes documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """Chunking options: strategy, sizes in tokens, and models for some strategies.

    `child_tokens` is for `parent_child`, `window_sentences` (to each side) for `sentence_window`.
    `semantic` compares words, or with `semantic_by_model` the vectors of `embed`, which it then
    needs; `agentic` uses `complete` (prompt to answer) where there is one, and so do contexts:
    above 0, `context_tokens` is how long a context may be put before each chunk to find it by.
    """

    strategy: Strategy = "auto"
    size_tokens: int = 512
    overlap_tokens: int = 64
    child_tokens: int = 128
    window_sentences: int = 3
    context_tokens: int = 0
    semantic_by_model: bool = False
    embed: Embed | None = None
    complete: Complete | None = None

    def __post_init__(self) -> None:
        if 2 * self.overlap_tokens > self.size_tokens:
            raise SettingsError(
                f"chunk.overlap_tokens={self.overlap_tokens!r} is more than half of "
                f"chunk.size_tokens={self.size_tokens!r}: lower the one or raise the other"
            )


def chunk(source: SourceText, *, options: ChunkOptions, tokeniser: Tokeniser) -> list[TextNode]:
    """Chunk `source` in order; `source.text[start_char_idx:end_char_idx] == text`.

    Raises:
        SettingsError: the strategy cannot be had.
    """
    from llama_index.core.schema import TextNode

    strategy = options.strategy
    if strategy == "auto":
        strategy = select_strategy(source.text, source.shape)
    parser = node_parser(strategy, options=options, tokeniser=tokeniser)
    if options.context_tokens:
        from .in_context import ContextNodeParser

        parser = ContextNodeParser(
            size_tokens=options.size_tokens,
            overlap_tokens=options.overlap_tokens,
            tokeniser=tokeniser,
            inner=parser,
            context_tokens=options.context_tokens,
            complete=options.complete,
        )
    nodes = parser.get_nodes_from_documents([llama_document(source)])
    return [node for node in nodes if isinstance(node, TextNode)]


def select_strategy(text: str, shape: Shape) -> Strategy:
    """Select the strategy by the text's declared shape, then by its structure."""
    from .detect import looks_like_faq, looks_like_legal, looks_like_transcript
    from .entries import looks_like_entries

    match shape:
        case "code":
            return "code"
        case "transcript":
            return "transcript"
        case _ if looks_like_transcript(text):
            return "transcript"
        case _ if looks_like_faq(text, markdown=shape == "markdown"):
            return "faq"
        case _ if looks_like_legal(text):
            return "legal"
        case _ if looks_like_entries(text, markdown=shape == "markdown"):
            return "entries"
        case _:
            return "recursive"


def node_parser(
    strategy: Strategy, *, options: ChunkOptions, tokeniser: Tokeniser
) -> SpanNodeParser:
    """Return the LlamaIndex node parser of a strategy; not available for `auto`.

    Raises:
        SettingsError: there is no such strategy, or it needs a model that is not there.
    """
    size, overlap = options.size_tokens, options.overlap_tokens
    match strategy:
        case "semantic":
            from .semantic import SemanticNodeParser

            return SemanticNodeParser(
                size_tokens=size,
                overlap_tokens=overlap,
                tokeniser=tokeniser,
                embed=_semantic_vectors(options),
            )
        case "agentic":
            from .agentic import AgenticNodeParser

            return AgenticNodeParser(
                size_tokens=size,
                overlap_tokens=overlap,
                tokeniser=tokeniser,
                complete=options.complete,
            )
        case "parent_child":
            from .parent_child import ParentChildNodeParser

            return ParentChildNodeParser(
                size_tokens=size,
                overlap_tokens=overlap,
                tokeniser=tokeniser,
                child_tokens=options.child_tokens,
            )
        case "sentence_window":
            from .sentence_window import SentenceWindowNodeParser

            return SentenceWindowNodeParser(
                size_tokens=size,
                overlap_tokens=overlap,
                tokeniser=tokeniser,
                window_sentences=options.window_sentences,
            )
        case _:
            kind = _needing_no_model(strategy)
            return kind(size_tokens=size, overlap_tokens=overlap, tokeniser=tokeniser)


def _semantic_vectors(options: ChunkOptions) -> Embed:
    """Return the vectors for semantic chunking.

    Hashed words, unless a model is configured.

    On three real sets words did as well as MiniLM at a twentieth of the time, and they read every
    language.
    """
    if not options.semantic_by_model:
        from ..retrieve.tokens import tokens
        from .semantic import term_vectors

        return term_vectors(tokens)
    if options.embed is None:
        raise SettingsError(
            "chunk.semantic_by_model=True needs an embedding model, and embedding.kind is 'none': "
            "set it to False (words are compared) or choose an embedding"
        )
    return options.embed


def _needing_no_model(strategy: str) -> type[SpanNodeParser]:
    from .code import CodeNodeParser
    from .entries import GlossaryNodeParser
    from .faq import FaqNodeParser
    from .fixed import FixedNodeParser
    from .legal import LegalNodeParser
    from .markdown import MarkdownNodeParser
    from .page import PageNodeParser
    from .recursive import RecursiveNodeParser
    from .sentence import SentenceNodeParser
    from .transcript import TranscriptNodeParser

    kinds: dict[str, type[SpanNodeParser]] = {
        "code": CodeNodeParser,
        "entries": GlossaryNodeParser,
        "faq": FaqNodeParser,
        "fixed": FixedNodeParser,
        "legal": LegalNodeParser,
        "markdown": MarkdownNodeParser,
        "page": PageNodeParser,
        "recursive": RecursiveNodeParser,
        "sentence": SentenceNodeParser,
        "transcript": TranscriptNodeParser,
    }
    if strategy not in kinds:
        raise SettingsError(f"chunk.strategy={strategy!r} is unknown: choose {', '.join(kinds)}")
    return kinds[strategy]


def llama_document(source: SourceText) -> Document:
    """Convert the text to a LlamaIndex document with the same id.

    Metadata stay out of prompts.
    """
    from llama_index.core import Document

    from .parser import PAGE_STARTS, SHAPE

    metadata: dict[str, object] = {**source.metadata, "title": source.title}
    metadata["type"] = source.type
    metadata[SHAPE] = source.shape
    if source.pages:
        metadata[PAGE_STARTS] = list(source.pages)
    return Document(
        id_=source.id,
        text=source.text,
        metadata=metadata,
        excluded_embed_metadata_keys=sorted(metadata),
        excluded_llm_metadata_keys=sorted(metadata),
    )
