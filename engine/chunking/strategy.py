"""Entry point of chunking: the chosen strategy, or the one that format and structure suggest.

Detection of FAQ, transcript and legal text is careful: a text wrongly taken for one of these is cut
worse than one that is missed, so several features must come together. LlamaIndex is imported when
the first text is chunked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from graph.text.cjk import count_han

from ..errors import SettingsError
from ..types import Shape, SourceText, Strategy
from .dialogue import (
    Turn,
    count_faq_answers,
    ends_like_speech,
    faq_questions,
    qa_pairs,
    speaker_turns,
)
from .legal import PARAGRAPH, ClauseMarker, clause_markers, clause_rank
from .legal import legal_clauses as clause_units
from .span_parser import Tokeniser
from .structure import sections

if TYPE_CHECKING:
    from llama_index.core import Document
    from llama_index.core.schema import TextNode

    from .span_parser import SpanNodeParser

Embed = Callable[[Sequence[str]], list[list[float]]]
Complete = Callable[[str], str]

CHUNKS_VERSION = "chunks-3"
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
        from .llm import ContextNodeParser

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
    from .dialogue import looks_like_entries

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
            from .llm import AgenticNodeParser

            return AgenticNodeParser(
                size_tokens=size,
                overlap_tokens=overlap,
                tokeniser=tokeniser,
                complete=options.complete,
            )
        case "parent_child":
            from .recursive import ParentChildNodeParser

            return ParentChildNodeParser(
                size_tokens=size,
                overlap_tokens=overlap,
                tokeniser=tokeniser,
                child_tokens=options.child_tokens,
            )
        case "sentence_window":
            from .recursive import SentenceWindowNodeParser

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
        from ..storage.tokenization import tokens
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
    from .dialogue import FaqNodeParser, GlossaryNodeParser, TranscriptNodeParser
    from .legal import LegalNodeParser
    from .recursive import (
        FixedNodeParser,
        MarkdownNodeParser,
        PageNodeParser,
        RecursiveNodeParser,
        SentenceNodeParser,
    )

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

    from .span_parser import PAGE_STARTS, SHAPE

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


_SEEN_CHARACTERS = 200_000
"""Enough of a text to know it by."""
_MIN_QUESTIONS = 4
_MIN_TURNS = 8
_MIN_CLAUSES = 6
_OBLIGES = re.compile(
    r"\b(?:shall|hereby|herein|thereof|pursuant|notwithstanding|hereinafter|must not|may not"
    r"|is liable|agreement|parties|subsection)\b"
    r"|应当|不得|本法|本条例|本合同|本协议|本办法|本规定|依照|甲方|乙方|有权|违反|处以|规定",
    re.I,
)
_CHARACTERS_A_DUTY = 250
"""Maximum characters per duty word in legal text (a third of it in Chinese)."""


def looks_like_faq(text: str, *, markdown: bool = False) -> bool:
    """Detect an FAQ: several questions, most text in answers, hardly any unanswered."""
    seen = _seen(text)
    found = sections(seen, markdown=markdown)
    asked = faq_questions(seen, found)
    if len(asked) < _MIN_QUESTIONS:
        return False
    if asked[0].style == "label" and count_faq_answers(seen) < 0.7 * len(asked):
        return False
    units = qa_pairs(seen, markdown=markdown)
    answered = [unit for unit in units if unit.alone]
    inside = sum(unit.end - unit.start for unit in answered)
    bodies = [unit.end - unit.start - len(unit.carried) for unit in answered]
    said = sum(length > 10 for length in bodies)
    titles = sum(unit.carried == "" for unit in units)
    return (
        inside > 0.7 * len(seen.strip())
        and said >= 0.8 * len(asked)
        and titles <= len(answered) / 2
        and max(bodies, default=0) < 0.6 * len(seen)
    )


def looks_like_transcript(text: str) -> bool:
    """Detect a transcript.

    Many turns, recurring speakers, speech after names, little else.
    """
    seen = _seen(text)
    found = speaker_turns(seen, 0, len(seen))
    speakers = Counter(turn.speaker for turn in found if turn.speaker)
    again = [name for name, count in speakers.items() if count > 1]
    if len(found) < _MIN_TURNS or len(again) < 2 or sum(speakers.values()) < 0.5 * len(found):
        return False
    if sum(speakers[name] for name in again) < 0.7 * sum(speakers.values()):
        return False
    spoken = sum(turn.stamped or ends_like_speech(seen, turn) for turn in found)
    lines = sum(1 for line in seen.splitlines() if line.strip())
    return (
        spoken >= 0.4 * len(found)
        and (len(found) >= 0.25 * lines)
        and not _is_a_form(found)
        and found[0].start < 0.3 * len(seen)
    )


def looks_like_legal(text: str) -> bool:
    """Detect legal text: consecutive clauses with most of the text, and duty words."""
    seen = _seen(text)
    found = clause_markers(seen)
    rank = clause_rank(found)
    clauses = [marker for marker in found if marker.rank == rank]
    if rank < 1 or len(clauses) < _MIN_CLAUSES or not _in_order(clauses):
        return False
    inside = sum(unit.end - unit.start for unit in clause_units(seen) if unit.alone)
    wide = count_han(seen)
    duties = len(_OBLIGES.findall(seen))
    needed = (len(seen) - wide) / _CHARACTERS_A_DUTY + wide / (_CHARACTERS_A_DUTY / 3)
    named = rank <= PARAGRAPH
    enough = duties >= max(_MIN_CLAUSES // 2, (0.5 if named else 1.0) * needed)
    return inside > 0.6 * len(seen.strip()) and enough


def _seen(text: str) -> str:
    if len(text) <= _SEEN_CHARACTERS:
        return text
    cut = text.rfind("\n", 0, _SEEN_CHARACTERS)
    return text[: cut if cut > 0 else _SEEN_CHARACTERS]


def _is_a_form(found: Sequence[Turn]) -> bool:
    """Check whether names recur in a fixed order of three or more, as form fields do."""
    names = [turn.speaker for turn in found]
    if len(set(names)) < 3:
        return False
    followers = Counter(pairwise(names))
    usual = sum(
        max(count for (name, _), count in followers.items() if name == first)
        for first in sorted({name for name, _ in followers})
    )
    return usual >= 0.9 * max(1, len(names) - 1) and len(names) >= 2 * len(set(names))


def _in_order(clauses: Sequence[ClauseMarker]) -> bool:
    """Check whether most numbers follow the previous one or restart."""
    numbers = [_ordinal(clause.number) for clause in clauses]
    steps = sum(after == before + 1 or after == 1 for before, after in pairwise(numbers))
    return steps >= 0.7 * (len(numbers) - 1)


def _ordinal(number: str) -> int:
    """Return the value of a number's last part: arabic, roman, Chinese, letter.

    0 for none.
    """
    last = re.split(r"[.-]", number)[-1]
    digits = re.match(r"\d+", last)
    if digits:
        return int(digits.group())
    if re.fullmatch(r"[ivxlc]+", last, re.I):
        return _roman(last.lower())
    return _chinese(last) or (ord(last.lower()) - 96 if len(last) == 1 else 0)


def _roman(number: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[letter] for letter in number]
    return sum(
        -value if value < after else value
        for value, after in zip(values, [*values[1:], 0], strict=True)
    )


def _chinese(number: str) -> int:
    total, digit = 0, 0
    for character in number:
        if character in "十百千":
            total += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[character]
            digit = 0
        elif character in "零〇":
            digit = 0
        else:
            digit = "一二三四五六七八九".find(character) + 1
    return total + digit
