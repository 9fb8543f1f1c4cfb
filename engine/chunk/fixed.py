"""Fixed token windows: the baseline strategy."""

from __future__ import annotations

from collections.abc import Iterator

from .cuts import safe_cut
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser


class FixedNodeParser(SpanNodeParser):
    """Node parser of `size_tokens` windows overlapping by `overlap_tokens`.

    Cut between tokens and never inside a character of several code points.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """One window after the other, without white space at its ends."""
        measure = Measure(subject.text, self.tokeniser)
        overlap = min(self.overlap_tokens, self.size_tokens // 2)
        return list(_windows(subject.text, measure, size_tokens=self.size_tokens, overlap=overlap))


def _windows(text: str, measure: Measure, *, size_tokens: int, overlap: int) -> Iterator[Span]:
    start = _past_space(text, 0)
    while start < len(text):
        cut = _window_end(text, measure, start, size_tokens)
        end = start + len(text[start:cut].rstrip())
        yield Span(start=start, end=end)
        if cut >= len(text) or _past_space(text, cut) >= len(text):
            return
        back = safe_cut(text, measure.backward(cut, overlap)) if overlap else cut
        start = _past_space(text, back if start < back < cut else cut)


def _window_end(text: str, measure: Measure, start: int, size_tokens: int) -> int:
    limit = measure.forward(start, size_tokens)
    if measure.tokens(start, limit) > size_tokens:  # it begins inside a token, which counts too
        limit = measure.forward(start, size_tokens - 1)
    cut = safe_cut(text, limit)
    return cut if cut > start else limit


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
