"""Chinese characters: what counts as one, what counts as Chinese text, and simplified script.

Every regular expression about Han characters is built from `HAN` or `CJK`, so that extraction,
retrieval and answers agree on them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""Ranges of Han characters for a character class: unified ideographs, all extensions to H, and
compatibility ideographs (Unicode 15)."""
CJK = f"{HAN}\u3040-\u30ff\uac00-\ud7af"
"""Ranges of all characters that stand without spaces between words: Han, kana, Hangul."""
HAN_CHARACTER = re.compile(f"[{HAN}]")
_LATIN_LETTER = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LETTERS_PER_HAN = 3
"""A Han character says about as much as this many Latin letters."""
_CONVERTED = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00))
"""Blocks with traditional characters that have a simplified form of one character."""


def has_han(text: str) -> bool:
    """Check for any Han character in `text`."""
    return HAN_CHARACTER.search(text) is not None


def count_han(text: str) -> int:
    """Count the Han characters of `text`."""
    return len(HAN_CHARACTER.findall(text))


def is_chinese(text: str) -> bool:
    """Check whether Han characters outweigh Latin letters."""
    han = count_han(text)
    return han > 0 and han * _LETTERS_PER_HAN >= len(_LATIN_LETTER.findall(text))


def is_latin(text: str) -> bool:
    """Check whether all letters are Latin; modifiers such as ʿ are not."""
    letters = (c for c in text if unicodedata.category(c) in {"Lu", "Ll", "Lo"})
    return all(unicodedata.name(c, "").startswith("LATIN") for c in letters)


def simplified(text: str) -> str:
    """Convert traditional to simplified characters, one for one: the length stays.

    The table is OpenCC's (TSCharacters). Phrases are not looked at, for offsets must stay.
    """
    return text.translate(_simplified_table()) if has_han(text) else text


def in_script_of(model: str, text: str) -> str:
    """Convert a text to traditional script if `model` is written in it."""
    if simplified(model) == model:
        return text
    import opencc

    converted: str = opencc.OpenCC("s2t").convert(text)
    return converted


@cache
def _simplified_table() -> dict[int, str]:
    import opencc

    characters = [chr(point) for first, last in _CONVERTED for point in range(first, last)]
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    pairs = zip(characters, converted, strict=True)
    return {ord(one): other for one, other in pairs if one != other and len(other) == 1}
