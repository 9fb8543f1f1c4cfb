"""Names that a text plainly has, by rules alone: who reads it and names nothing has not read it.

Rather too few than too many: headings, lists and tables, where capitals say little, do not count.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from ..passages import quality
from ..sentences import sentence_spans
from .language import LanguageExtractor

PROSE = 0.5
"""From this quality on a sentence is one that somebody wrote as such (see `passages.quality`)."""


def plain_names(text: str) -> set[str]:
    """The keys of the names in the sentences of `text`; safe to call from several threads."""
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
    """Capitals and the Chinese dictionary; no statistical model, which is not for many threads."""
    return LanguageExtractor(spacy_model="none", concepts=False)
