"""Text of pictures: plain, measured, truncated or wrapped.

Widths are estimates in font sizes, the same whatever fonts there are.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\s\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]+|\s+"
)


def plain(text: str) -> str:
    """One line without control characters and lone surrogates."""
    kept = (c if unicodedata.category(c)[0] != "C" or c == "\u200d" else " " for c in text[:400])
    return " ".join("".join(kept).split())


def width_of(text: str) -> float:
    """About how wide a text is, in its font size."""
    return sum(_character_width(c) for c in text)


def _character_width(c: str) -> float:
    if unicodedata.combining(c) or c == "\u200d":
        return 0.0
    if unicodedata.east_asian_width(c) in "WF":
        return 1.0
    if c in " .,;:'|!()[]ilj":
        return 0.3
    return 0.66 if c.isupper() else 0.55


def shortened(text: str, width: float) -> str:
    """Truncate a text with "…" to `width` font sizes."""
    if width_of(text) <= width:
        return text
    kept = ""
    for c in text:
        if width_of(kept) + _character_width(c) + 0.9 > width:
            break
        kept += c
    return f"{kept.rstrip()}…"


def wrapped(text: str, width: float, *, most: int) -> list[str]:
    """Wrap a text in at most `most` lines of `width` font sizes; Chinese breaks anywhere."""
    lines = [""]
    pieces = _WORD.findall(text)
    for at, piece in enumerate(pieces):
        longer = lines[-1] + (piece if lines[-1] else piece.lstrip())
        if not lines[-1] or width_of(longer) <= width:
            lines[-1] = longer
        elif len(lines) < most:
            lines.append(piece.lstrip())
        else:
            lines[-1] = f"{lines[-1]}{''.join(pieces[at:])}"
            break
    return [shortened(line.strip(), width) for line in lines if line.strip()]
