"""Text normalisation for tokens, embedding input and keys; never for stored text."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff\ufffd\ud800-\udfff]"
)
_SPACES = re.compile(r"\s+")


def clean(text: str) -> str:
    """Return `text` in NFKC without control and zero-width characters, spaces folded.

    Applying it twice changes nothing. Joiners (U+200C, U+200D) stay: they carry meaning.
    """
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)))
    return _SPACES.sub(" ", visible).strip()
