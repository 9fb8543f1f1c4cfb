"""Limits that a chat client sets on a text: where it stops, and how many tokens it may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from graph.text.cjk import HAN

_ALONE = rf"{HAN}\u3040-\u30ff\uac00-\ud7af"
"""Characters that are words by themselves: Chinese, Japanese, Korean."""
_WORD = re.compile(rf"\s*(?:[{_ALONE}]|[^\s{_ALONE}]+|\S)|\s+")


class TextLimit:
    """Passes a text on, piece by piece, until a limit ends it.

    `finish` is then OpenAI's reason for the end. What may be the beginning of a stop sequence is
    held back until more of the text is known.

    Args:
        stop: sequences before which the text ends.
        max_tokens: how many tokens may pass; None is no limit.
        count: counts the tokens of a text.
    """

    def __init__(
        self, stop: Sequence[str], *, max_tokens: int | None, count: Callable[[str], int]
    ) -> None:
        self._stop = tuple(stop)
        self._left = max_tokens
        self._count = count
        self._held = ""
        self._is_over = False
        self.finish: Literal["stop", "length"] = "stop"

    def take(self, text: str) -> str:
        """Return what of the text so far may pass now."""
        if self._is_over:
            return ""
        known = self._held + text
        ends = [place for each in self._stop if (place := known.find(each)) >= 0]
        if ends:
            passed = self._within(known[: min(ends)])
            self._is_over = True
            return passed
        kept = self._beginning_of_stop(known)
        self._held = known[len(known) - kept :]
        return self._within(known[: len(known) - kept])

    def rest(self) -> str:
        """Return what was held back; the text is at its end."""
        held, self._held = self._held, ""
        return "" if self._is_over else self._within(held)

    def _beginning_of_stop(self, text: str) -> int:
        """Return the length of the longest end of a text with which a stop sequence begins."""
        lengths = (
            length
            for each in self._stop
            for length in range(min(len(each) - 1, len(text)), 0, -1)
            if text.endswith(each[:length])
        )
        return max(lengths, default=0)

    def _within(self, text: str) -> str:
        """Return the words of a text that the tokens suffice for."""
        if self._left is None:
            return text
        end = 0
        for word in _WORD.finditer(text):
            cost = self._count(word.group())
            if cost > self._left:
                self._is_over, self.finish = True, "length"
                break
            self._left -= cost
            end = word.end()
        return text[:end]
