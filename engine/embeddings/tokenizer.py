"""Tokeniser for all sizes, and windows of long texts.

The embedding model's own word pieces (BERT's English vocabulary, 30,522 pieces) where its file is
installed, else a simple rule under the same protocol.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from graph.text.patterns import lazy_regex

from ..errors import ModelUnavailable
from .model_files import EMBEDDING, model_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer as _HubTokeniser

TokenCount = Callable[[str], int]
"""Number of tokens of a text."""

_LOGGER = logging.getLogger("loregraph.models")

_SENTENCE_END = lazy_regex(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bNo)(?<!\b[A-Z])[.!?]+[\"'”’)\]]*\s+"
    r"|[。！？；…]+[」』”’）》]*\s*|\n\s*\n\s*"
)
_CLAUSE_END = lazy_regex(r"[,;:]\s+|[，、：]\s*|\n\s*")
_WORD_END = lazy_regex(r"\s+")


class _Counter(Protocol):
    def count(self, text: str) -> int: ...
    def spans(self, text: str) -> list[tuple[int, int]]: ...


def split_windows(text: str, *, prefix: str = "", limit: int, tokeniser: _Counter) -> list[str]:
    """Split a text into consecutive encoder windows of at most `limit` tokens, `prefix` in front.

    The pieces without their prefix join to exactly `text`. They are of about equal size, so that
    none is a mere tail, and end with a sentence where one ends within reach, else with a clause,
    a word, or anywhere. One piece where all fits. A prefix of more than half the limit is cut to
    that half, so that every window has room for text; below three tokens nothing can be promised.

    Raises:
        ValueError: `limit` is below 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1 token, got {limit}")
    if tokeniser.count(prefix + text) <= limit:
        return [prefix + text]
    prefix = _shortened(prefix, limit=limit // 2, tokeniser=tokeniser)
    room = limit - tokeniser.count(prefix)
    pieces: list[str] = []
    begin = 0
    spans = tokeniser.spans(text)
    first = 0
    while first < len(spans) or (pieces and tokeniser.count(text[begin:])):
        end = len(text)  # of a rest of a token, which may be several by itself
        if first < len(spans):
            end = _window_end(text, spans, first=first, begin=begin, room=room)
        end = _fitting(text, begin, end=end, prefix=prefix, limit=limit, tokeniser=tokeniser)
        pieces.append(text[begin:end])
        begin = end
        while first < len(spans) and spans[first][0] < begin:
            first += 1
    pieces[-1:] = [pieces[-1] + text[begin:]] if pieces else [text]
    return [prefix + piece for piece in pieces]


def windows_and_sentences(
    text: str,
    *,
    prefix: str = "",
    limit: int,
    tokeniser: _Counter,
    sentence_spans: Callable[[str], list[tuple[int, int]]],
) -> list[str]:
    """Return a text's windows, and those of its sentences if it has several.

    So that a passage is found by its nearest sentence, too; none twice, in the order of the text.
    """
    found = split_windows(text, prefix=prefix, limit=limit, tokeniser=tokeniser)
    spans = sentence_spans(text)
    for start, end in spans if len(spans) > 1 else ():
        found += split_windows(text[start:end], prefix=prefix, limit=limit, tokeniser=tokeniser)
    return list(dict.fromkeys(found))


def _shortened(prefix: str, *, limit: int, tokeniser: _Counter) -> str:
    spans = tokeniser.spans(prefix)
    if len(spans) <= limit:
        return prefix
    return f"{prefix[: spans[limit - 1][1]].rstrip()} " if limit else ""


def _window_end(
    text: str, spans: list[tuple[int, int]], *, first: int, begin: int, room: int
) -> int:
    """Return the end offset of the window that starts at token `first`."""
    remaining = len(spans) - first
    if remaining <= room:
        return len(text)
    share = -(-remaining // -(-remaining // room))
    latest = max(spans[first + room][0], begin + 1)
    wanted = spans[first + share][0] if first + share < len(spans) else latest
    earliest = spans[first + share // 2][0]
    for mark in (_SENTENCE_END, _CLAUSE_END, _WORD_END):
        ends = [
            match.end()
            for match in mark.finditer(text, begin, latest)
            if earliest < match.end() <= latest
        ]
        if ends:
            return min(ends, key=lambda end: (abs(end - wanted), end))
    return latest


def _fitting(
    text: str, begin: int, *, end: int, prefix: str, limit: int, tokeniser: _Counter
) -> int:
    """`end`, or the nearest offset before it with which the joined window keeps the limit.

    Cutting inside a word, or a prefix that runs into the first word, changes the word's pieces.
    """
    while end - begin > 1:
        excess = tokeniser.count(prefix + text[begin:end]) - limit
        if excess <= 0:
            break
        spans = tokeniser.spans(text[begin:end])
        cut = spans[-min(excess, len(spans))][0]
        end = begin + cut if 0 < cut < end - begin else end - 1
    return end


_BLOCK_CHARACTERS = 4_000
_UNKNOWN_PIECE_CHARACTERS = 4
_UNREADABLE_SHARE = 0.2
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_CJK = f"{_IDEOGRAPHS}\u2e80-\u33ff\uac00-\ud7af\uff00-\uffef"
_WORD_BREAK = lazy_regex(f"[\\s!-/:-@\\[-`{{-~，。！？；：、{_IDEOGRAPHS}]")
"""Word boundaries of the word-piece tokeniser; a cut there changes no token."""
_MARK = f"!-/:-@\\[-`{{-~{_HAN}"
_WORD = lazy_regex(f"[{_MARK}]|[^ \\t\\r\\n{_MARK}]+")
"""Words and marks that the word-piece tokeniser takes apart each by itself, whatever is beside."""
_LONGEST_WORD = 64
"""Maximum characters of a word whose size is remembered."""
_REMEMBERED_WORDS = 32_768
_SIMPLE_PIECE = lazy_regex(f"[{_CJK}]|[^\\W_{_CJK}]{{1,4}}|_|[^\\w\\s]")

_Piece = tuple[int, int, bool]
"""Start, end, and whether the vocabulary knows it."""


class Tokeniser(Protocol):
    """Tokeniser protocol for sizes, windows and the weight of dense retrieval."""

    @property
    def identity(self) -> str:
        """Names the rule; sizes counted by different rules must not be compared."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, without [CLS] and [SEP]."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the span `[start, end)` of each token, in order; `len(spans(t)) == count(t)`.

        Starts never go back. Several tokens may share the span of one character (a Hangul
        syllable is several pieces). White space and control characters belong to no token.
        """
        ...

    def coverage(self, text: str) -> float:
        """Return the share, 0–1, of tokens with letters or digits known to the vocabulary.

        1.0 where there are none. Knowing is not reading: see `readable`.
        """
        ...

    def readable(self, text: str) -> float:
        """Return the share of `text` that the English model reads, 0–1; 1.0 without letters.

        It learned English. Of other scripts its vocabulary holds single characters, so that
        Russian is all "known" and two in five Chinese characters are, and neither is understood.
        A token with letters counts as read if it is known and all its letters are Latin; digits
        and punctuation count for nothing, since every script has them. A share of up to a fifth
        is what Latin abbreviations in Chinese text come to (CMRC 2018: median .01, 99th percentile
        .16; English corpora: first percentile above .91), so `(share − 0.2) / 0.8`, floor 0.
        """
        ...


class _PieceTokeniser(ABC):
    """The protocol over one primitive: the pieces of a text, in order."""

    def count(self, text: str) -> int:
        return sum(1 for _ in self._pieces(text))

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(start, end) for start, end, _ in self._pieces(text)]

    def coverage(self, text: str) -> float:
        words = known_words = 0
        for start, end, known in self._pieces(text):
            if any(character.isalnum() for character in text[start:end]):
                words += 1
                known_words += known
        return known_words / words if words else 1.0

    def readable(self, text: str) -> float:
        words = read_words = 0
        for start, end, known in self._pieces(text):
            surface = text[start:end]
            if any(character.isalpha() for character in surface):
                words += 1
                read_words += known and _all_latin(surface)
        share = read_words / words if words else 1.0
        return max(0.0, (share - _UNREADABLE_SHARE) / (1.0 - _UNREADABLE_SHARE))

    @abstractmethod
    def _pieces(self, text: str) -> Iterator[_Piece]: ...


class WordPieceTokeniser(_PieceTokeniser):
    """The embedding model's own tokeniser.

    An unknown run (a word of a script it lacks, more than a hundred letters without a space) is
    one [UNK] to the encoder, however long. For sizes it counts as one token per four characters,
    so that counts are never below the encoder's and a long blob is never a "small" text.
    """

    identity = "bert-wordpiece"

    def __init__(self, tokeniser: _HubTokeniser) -> None:
        self._tokeniser = tokeniser
        self._unknown = tokeniser.token_to_id("[UNK]")
        self._word_size = lru_cache(maxsize=_REMEMBERED_WORDS)(super().count)

    def count(self, text: str) -> int:
        """Return the number of tokens, as many as `spans` has."""
        return sum(self._block_size(text[begin:end]) for begin, end in _blocks(text))

    def _block_size(self, text: str) -> int:
        """Add the sizes of words, most of which were met before."""
        words = _WORD.findall(text)
        if max(map(len, words), default=0) > _LONGEST_WORD:
            return super().count(text)
        return sum(map(self._word_size, words))

    def _pieces(self, text: str) -> Iterator[_Piece]:
        for begin, end in _blocks(text):
            encoding = self._tokeniser.encode(text[begin:end], add_special_tokens=False)
            for token, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
                if token != self._unknown:
                    yield begin + start, begin + stop, True
                    continue
                for at in range(begin + start, begin + stop, _UNKNOWN_PIECE_CHARACTERS):
                    yield at, min(at + _UNKNOWN_PIECE_CHARACTERS, begin + stop), False


class SimpleTokeniser(_PieceTokeniser):
    """Fallback without a vocabulary: four letters, one CJK character or one mark a token.

    It counts as known what it takes for readable: tokens whose letters are all Latin.
    """

    identity = "simple"

    def _pieces(self, text: str) -> Iterator[_Piece]:
        for match in _SIMPLE_PIECE.finditer(text):
            yield *match.span(), _all_latin(match.group())


def load_tokeniser(environment: Mapping[str, str] | None = None) -> Tokeniser:
    """Load the embedding model's tokeniser, or the simple one if not installed."""
    try:
        return _word_pieces(model_file(EMBEDDING, "tokenizer.json", environment))
    except ModelUnavailable as error:
        return _simple(str(error))


@lru_cache(maxsize=4)
def _word_pieces(path: Path) -> Tokeniser:
    return WordPieceTokeniser(read_tokeniser(path))


@lru_cache(maxsize=4)
def _simple(reason: str) -> Tokeniser:
    _LOGGER.info("sizes are estimated by a simple rule: %s", reason)
    return SimpleTokeniser()


def read_tokeniser(path: Path) -> _HubTokeniser:
    """Read a `tokenizer.json`, without padding and truncation.

    A literal "[SEP]" in a text is text to it, not the special token.

    Raises:
        ModelUnavailable: the file cannot be read or is damaged.
    """
    from tokenizers import Tokenizer as HubTokeniser

    try:
        text = path.read_text(encoding="utf8")
        content = json.loads(text)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"cannot read tokeniser: {str(path)!r} ({error}); check the file"
        ) from error
    if not isinstance(content, dict) or "[UNK]" not in content.get("model", {}).get("vocab", {}):
        raise ModelUnavailable(
            f"not a word-piece tokeniser: {str(path)!r}; use the tokeniser of the embedding model"
        )
    tokeniser = HubTokeniser.from_str(text)
    tokeniser.no_padding()
    tokeniser.no_truncation()
    tokeniser.encode_special_tokens = True
    return tokeniser


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Split into ranges of at most 4,000 characters, at word ends where possible."""
    begin = 0
    while len(text) - begin > _BLOCK_CHARACTERS:
        limit = begin + _BLOCK_CHARACTERS
        end = next(
            (at for at in range(limit, limit - 1_000, -1) if _WORD_BREAK.match(text, at)),
            limit,
        )
        yield begin, end
        begin = end
    yield begin, len(text)


def _all_latin(surface: str) -> bool:
    """No letter outside Latin's blocks (Basic to Extended-B, Extended Additional)."""
    return surface.isascii() or all(
        character < "\u0250" or "\u1e00" <= character < "\u1f00"
        for character in surface
        if character.isalpha()
    )
