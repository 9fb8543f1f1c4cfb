"""Traditional to simplified Chinese, one character for one.

So that 劉備 and 刘备 are one name, and a question in one script finds a text in the other. The
characters are OpenCC's (TSCharacters); phrases are not looked at, for offsets must stay.
"""

from __future__ import annotations

import re
from functools import cache

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00))


def simplified(text: str) -> str:
    """Return the text in simplified characters, of the same length."""
    return text.translate(_table()) if _HAN.search(text) else text


@cache
def _table() -> dict[int, str]:
    import opencc

    characters = [chr(point) for first, last in _BLOCKS for point in range(first, last)]
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    pairs = zip(characters, converted, strict=True)
    return {ord(one): other for one, other in pairs if one != other and len(other) == 1}
