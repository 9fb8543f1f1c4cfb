"""Names: their keys, and where they stand in a text.

A *key* is what two spellings of one name share: no accents, no case, no possessive, no trailing
brackets, single spaces. Two surfaces with one key are one name; two keys may still be one entity
(see `resolve`).
"""

from __future__ import annotations

import re
import unicodedata

_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]\s*$")
_POSSESSIVE = re.compile(r"['’]s\b|(?<=s)['’](?=\s|$)")
_SPACES = re.compile(r"[\s_]+")
_EDGES = " \t\n.,;:!?'\"“”‘’«»《》「」『』【】〈〉()（）[]*#`~|<>-–—·/\\"


def name_key(surface: str) -> str:
    """The key of a name; empty where nothing of a name is left."""
    text = _BRACKETS.sub("", unicodedata.normalize("NFKC", surface))
    text = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", text))
    text = "".join(c for c in text if not unicodedata.combining(c)).casefold()
    return unicodedata.normalize("NFC", _SPACES.sub(" ", text).strip(_EDGES))
