"""Glossary chunking: a text of many independent entries.

Where neighbours have nothing to do with each other, a chunk of several is about none of them: each
entry is found by itself, and read with those around it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .blocks import sections
from .cuts import stripped_spans
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser
from .units import Limits, Unit, fill

MIN_ENTRIES = 6
OPENING_SHARE = 1 / 3
"""Minimum share of paragraphs that open with a name and define it."""
COHESION = 0.05
"""Maximum cohesion of an entry text.

Extra word overlap of neighbours over distant paragraphs.
"""
_SEEN_CHARACTERS = 200_000
_SHORT = 40
"""Characters below which a paragraph without a name joins the previous one."""
_BLANK = re.compile(r"\n[^\S\n]*\n\s*")
_CAPITAL = r"[A-Z\u00c0-\u00de\d][^\W_]*(?:['’.&-][^\W_]+)*\.?"
_NAME = re.compile(
    r"[\"“‘'(]?(?:The |An? )?[\"“‘']?"
    rf"({_CAPITAL}(?:,? (?:(?:of|the|de|la|von|van|and|del|der|di|in|for|&) )*{_CAPITAL}){{0,7}})"
    r"[\"”’']?(?=\s*(?:[(（,，]|[^.:;\n(]{0,30}?\b(?:is|was|are|were|refers)\b))"
    r"|([\u3400-\u9fff·]{2,12}?)(?:是|（|\()"
)
_NO_NAME = re.compile(
    r"(?:In|On|At|It|He|She|They|We|You|This|That|These|Those|There|Here|As|When|While|After|Before"
    r"|During|For|From|By|With|However|Although|His|Her|Its|Their|If|But|And|Most|Many|Some)\b"
)
_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]{4,}|[\u3400-\u9fff]{2}")
_COMMON_SHARE = 0.2


class GlossaryNodeParser(SpanNodeParser):
    """Node parser with a chunk for each entry.

    `read` is the run of entries that fits `size_tokens`.

    An entry that does not fit is cut at its sentences, without overlap.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Entry by entry, in order."""
        text = subject.text
        measure = Measure(text, self.tokeniser)
        units = [Unit(start=start, end=end, alone=True) for start, end in glossary_entries(text)]
        limits = Limits(measure=measure, size_tokens=self.size_tokens)
        return _with_readings(fill(text, units, limits), measure, self.size_tokens)


def looks_like_entries(text: str, *, markdown: bool = False) -> bool:
    """Detect an entry text: many paragraphs, a third opening with names, low cohesion."""
    seen = text[:_SEEN_CHARACTERS]
    found = [seen[start:end] for start, end in glossary_entries(seen)]
    if len(found) < MIN_ENTRIES or len(sections(seen, markdown=markdown)) > 2:
        return False
    names = {opening(entry) for entry in found} - {""}
    return len(names) >= OPENING_SHARE * len(found) and _cohesion(found) <= COHESION


def glossary_entries(text: str) -> list[tuple[int, int]]:
    """Split a text into paragraph spans; short ones without a name join the previous."""
    cuts = [match.end() for match in _BLANK.finditer(text)]
    joined: list[tuple[int, int]] = []
    for start, end in stripped_spans(text, 0, len(text), cuts):
        if joined and end - start < _SHORT and not opening(text[start:end]):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def opening(entry: str) -> str:
    """Return the name that an entry defines at its beginning, or ""."""
    match = _NAME.match(entry)
    name = (match[1] or match[2]) if match else ""
    return "" if not name or _NO_NAME.match(name) else name


def _cohesion(found: Sequence[str]) -> float:
    """Return the extra word overlap of neighbours over paragraphs half a text apart, −1–1.

    Words that a fifth of the paragraphs have tell nothing.
    """
    words = [frozenset(_WORD.findall(entry.casefold())) for entry in found]
    counts = Counter(word for some in words for word in some)
    common = {word for word, n in counts.items() if n > max(2, _COMMON_SHARE * len(found))}
    told = [some - common for some in words]
    half = len(told) // 2
    near = [_shared(one, other) for one, other in pairwise(told)]
    far = [_shared(told[place], told[place - half]) for place in range(len(told))]
    return sum(near) / len(near) - sum(far) / len(far)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def _with_readings(spans: Sequence[Span], measure: Measure, size_tokens: int) -> list[Span]:
    runs: list[list[Span]] = []
    for span in spans:
        if runs and measure.tokens(runs[-1][0].start, span.end) <= size_tokens:
            runs[-1].append(span)
        else:
            runs.append([span])
    return [
        replace(span, read=(run[0].start, run[-1].end)) if len(run) > 1 else span
        for run in runs
        for span in run
    ]
