"""Rule-based names of a text, to validate empty model replies.

Rather too few than too many: headings, lists and tables, where capitals say little, do not count.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from ..passages import quality
from ..sentences import sentence_spans
from .language import LanguageExtractor

PROSE = 0.5
"""Minimum sentence quality that counts as prose (see `passages.quality`)."""


def plain_names(text: str) -> set[str]:
    """Return the keys of names in `text`; thread-safe."""
    spans = sentence_spans(text)
    prose = [quality(" ".join(text[start:end].split())) >= PROSE for start, end in spans]
    if not any(prose):
        return set()
    starts = [start for start, _ in spans]
    (found,) = _by_rules().extract([text])
    return {
        mention.key
        for mention in found.mentions
        if prose[max(0, bisect_right(starts, mention.start) - 1)]
    }


@cache
def _by_rules() -> LanguageExtractor:
    """Find names by capitals and the Chinese dictionary, without statistical models."""
    return LanguageExtractor(spacy_model="none", concepts=False)
