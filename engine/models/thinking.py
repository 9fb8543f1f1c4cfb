"""Removal of reasoning text from LLM answers.

Knows the tags that models of open weights use; nothing of any vendor's own field for thoughts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAMES = "think|thinking|thought|reasoning"
_OPEN = re.compile(rf"\s*<({_NAMES})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_NAMES})>", re.IGNORECASE)
_LONGEST_TAG = len("</reasoning>")
_BEGINNINGS = tuple(f"<{name}>" for name in _NAMES.split("|"))


def strip_reasoning(text: str) -> str:
    """Return the answer without reasoning, stripped; empty if reasoning has no end.

    A thought stands before the answer. Its opening tag may be missing (the prompt of some models
    ends with it), so everything before a closing tag without an opening one is a thought too.
    """
    while match := _OPEN.match(text):
        close = _CLOSE.search(text, match.end())
        if close is None:
            return ""
        text = text[close.end() :]
    orphan = _CLOSE.search(text)
    if orphan is not None and _opening_before(text, orphan.start()) is None:
        text = text[orphan.end() :]
    return text.strip()


def _opening_before(text: str, end: int) -> re.Match[str] | None:
    return re.compile(rf"<(?:{_NAMES})>", re.IGNORECASE).search(text, 0, end)


def stream_without_thoughts(pieces: Iterator[str]) -> Iterator[str]:
    """Stream an answer without its reasoning; no piece is empty.

    What has been given cannot be taken back: a closing tag without an opening one is left.
    """
    held = ""
    for piece in pieces:
        held += piece
        while match := _OPEN.match(held):
            close = _CLOSE.search(held, match.end())
            if close is None:
                # Of a thought only what may be the beginning of its end is still of use.
                held = match.group() + held[match.end() :][-_LONGEST_TAG:]
                break
            held = held[close.end() :]
        else:
            begun = held.lstrip().lower()
            if begun and not any(tag.startswith(begun) for tag in _BEGINNINGS):
                yield held
                yield from pieces
                return
    if held.strip() and not _OPEN.match(held):
        yield held
