"""Texts of others on a terminal: no control character of theirs reaches it."""

from __future__ import annotations

_CONTROL = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\N{REPLACEMENT CHARACTER}")
_CONTROL_BUT_LINES = {code: mark for code, mark in _CONTROL.items() if chr(code) not in "\n\t"}


def safe_text(text: str, *, lines: bool = False) -> str:
    """Escape a text for the terminal, on one line or with its `lines`."""
    return text.translate(_CONTROL_BUT_LINES if lines else _CONTROL)
