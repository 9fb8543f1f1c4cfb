"""Tokenisation of passages and questions for BM25: English, Chinese, mixed, numbers and codes."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from graph.text.cjk import CJK, simplified
from graph.text.patterns import lazy_regex

from ..errors import SettingsError

TokenWeight = Callable[[str], float]
"""Weight of a token: its idf, highest for one that no document holds."""

TOKENS_VERSION = "tokens-4"
"""Raised when the same text gives other tokens: documents are then indexed anew."""
_STOP = """
a an and are as at be been but by did do does for from had has have he her his i if in into is it
its my no not of on or our s she so such t than that the their them then there these they this
those to was we were what when where which while who whom whose why how will with would you your
"""
_STOP_WORDS = frozenset(_STOP.split())
_PIECE = lazy_regex(rf"[{CJK}]+|[^\W_{CJK}]+(?:[-/._'’&][^\W_{CJK}]+)*")
_IS_CJK = lazy_regex(rf"[{CJK}]")
_MARKS = lazy_regex(r"[-/._'’&]+")
_DECIMAL = lazy_regex(r"\d+(?:\.\d+)+")
_LETTERS_NUMBER = lazy_regex(r"([^\W\d_]{2,})(\d{3,})")
_DIGIT = lazy_regex(r"\d")
_CODE = lazy_regex(r"(?<![A-Za-z\d_])([A-Z]{2,})[ ](\d+)(?![A-Za-z\d_])")
_OPTION = lazy_regex(r"(?<![a-z\d_./-])--?[a-z][a-z\d]*(?:-[a-z\d]+)*")
_REMEMBERED = 16_384
"""Words whose tokens are remembered."""
_POSSESSIVE = lazy_regex(r"['’]s?\b(?![\w'’])")


def tokens(text: str) -> list[str]:
    """Return the tokens of `text` in order, with repeats.

    Words are folded (width, case, accents), stemmed (Snowball English), and left out if they are
    among a few dozen function words. What marks join ("KMI-2031/7", "IL-6") gives its parts and the
    whole; so do "ISO27001" and "ISO 27001". An option of a command ("--configure") gives itself,
    too. Chinese, in simplified characters, gives overlapping pairs of characters, which need no
    dictionary.
    """
    wide = text if text.isascii() else simplified(unicodedata.normalize("NFKC", text))
    found: list[str] = []
    folded = _folded(wide)
    words: list[str] = _PIECE.findall(folded)
    if not folded.isascii():
        pieces, words = words, []
        for piece in pieces:
            if _IS_CJK.match(piece):
                found.extend(_pairs(piece))
            else:
                words.append(piece)
    found.extend(chain.from_iterable(map(_stems, words)))
    if _DIGIT.search(wide):
        found.extend((match[1] + match[2]).lower() for match in _CODE.finditer(wide))
    if "-" in folded:
        found.extend(_OPTION.findall(folded))
    return found


def tokens_of(*texts: str) -> frozenset[str]:
    """Return the words of texts as the keyword index has them."""
    return frozenset(tokens(" ".join(texts)))


def tokens_with(words: Iterable[str]) -> Callable[[str], list[str]]:
    """`tokens`, and after them each of these words as one token wherever it stands.

    For Chinese words of three characters or more, which pairs alone cannot find: names and
    terms of the trade. Other words are tokens already and are left out.
    """
    by_head: dict[str, set[int]] = defaultdict(set)
    known = {simplified(unicodedata.normalize("NFKC", word.strip())) for word in words}
    known = {word for word in known if len(word) > 2 and all(map(_IS_CJK.match, word))}
    for word in known:
        by_head[word[:2]].add(len(word))
    if not known:
        return tokens

    def found(text: str) -> list[str]:
        plain = tokens(text)
        wide = text if text.isascii() else simplified(unicodedata.normalize("NFKC", text))
        return plain + [
            wide[start : start + length]
            for run in re.finditer(f"[{CJK}]{{3,}}", wide)
            for start in range(run.start(), run.end() - 2)
            for length in sorted(by_head.get(wide[start : start + 2], ()))
            if wide[start : start + length] in known
        ]

    return found


def dictionary_words(path: Path) -> list[str]:
    """Read a jieba-style word list: first field of each line.

    Raises:
        SettingsError: it is not there, or no text in UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(
            f"cannot read retrieve.dictionary: {str(path)!r} ({reason}); check the file"
        ) from error
    return [line.split()[0] for line in lines if line.split()]


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFD", text.casefold())
    for accent in {c for c in set(parts) if unicodedata.category(c) == "Mn"}:
        parts = parts.replace(accent, "")
    return unicodedata.normalize("NFC", parts)


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=_REMEMBERED)
def _stems(piece: str) -> Sequence[str]:
    """Return the stems of a word, of its parts and of the whole."""
    words = [piece] if piece.isascii() and piece.isalpha() else _joined_and_parts(piece)
    stems: list[str] = _stemmer().stemWords([word for word in words if word not in _STOP_WORDS])
    return stems


def _joined_and_parts(piece: str) -> Sequence[str]:
    bare = _POSSESSIVE.sub("", piece)
    if _DECIMAL.fullmatch(bare):
        return [bare]
    parts = [part for part in _MARKS.split(bare) if part]
    if len(parts) == 1:
        code = _LETTERS_NUMBER.fullmatch(bare)
        return [bare, code[1], code[2]] if code else parts
    whole = "".join(parts)
    initials = whole.isalpha() and len(whole) == len(parts)  # U.S. is one word
    return [whole] if initials else [*parts, whole]


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")
