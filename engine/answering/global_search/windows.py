"""Windows of sentences that tell of a subject, put in order by a reader.

A window is a sentence that can be read alone with those that follow it in its paragraph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...storage.graph_api import Chunk, sentence_spans
from ...storage.tokenization import tokens_of
from ..extractive.block_candidates import Reader
from .asked import Found
from .sentences import Said, is_alike, is_in, sentences_of
from .standalone import word_count

_LONGEST = 60
"""Words of a window."""
_READ = 32
"""Windows that are read: those with most words of the subject, in the best passages."""
_SHARE = 1 / 3
"""Least share of the subject's weight in a window and its headings."""
_BREAK = re.compile(r"\n\s*(?:\n|[-*+|#>]|\d+[.)]\s|[^\W\d_][^\n:：]{0,30}[:：]\s)")
"""End of a paragraph: an empty line, or a line that begins an item, a heading or a speech."""
_SURELY = 1 / 3
"""Share of the way that others are behind the best, which windows that surely tell may be."""
_NEARLY = 1.5
"""Logits below the best window."""
_LEAST_EACH = 2
"""Windows of a document at most where there are many documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Meaning of the logits of a reader.

    Attributes:
        ranked: what the best passage of the search adds to one that scores nothing.
        own: what a window in the question's language adds.
        said: worth from which a window surely tells of the subject.
        behind: how far below that, or below the best, another may be.
        close: the same where the best has a logit above 0.
        near: logit from which a window needs no word of the subject.
        least: the fewest that the best has.
        floor: the fewest that another has; where the best is sure, the logit `near`.
    """

    ranked: float
    own: float
    said: float
    behind: float
    close: float
    near: float
    least: float
    floor: float


_CROSS = _Scale(
    ranked=4.0, own=0.0, said=2.0, behind=9.0, close=6.0, near=-5.0, least=-7.0, floor=-9.0
)
_TOKENS = _Scale(
    ranked=0.7, own=0.5, said=9.0, behind=1.8, close=1.8, near=-9.0, least=1.0, floor=-9.0
)
"""Of the English cross-encoder, and of the reader of tokens, which reads all languages."""


def read_windows(
    topic: str,
    found: Found,
    read: Reader,
    *,
    chinese: bool,
    headed: Callable[[Chunk], str],
) -> list[Said]:
    """Return the windows that tell of a topic, the best first, worth their logits and rank.

    Those that are far behind the best are left out; none where a reader finds nothing near.
    """
    scores = found.scores
    ordered = sorted(found.near.values(), key=lambda one: (-scores[one.id], one.id))
    said = [one for one in map(widened, sentences_of(ordered, chinese=chinese)) if one.worth > 0]
    top = max(scores.values(), default=0.0) or 1.0
    told = [found.weight(one.words) + scores[one.chunk.id] / top for one in said]
    near = sorted(range(len(said)), key=lambda row: (-told[row], row))[:_READ]
    some = [said[row] for row in near]
    if not some:
        return []
    logits = read(topic, [f"{headed(one.chunk)}\n{one.text}" for one in some])
    scale = _TOKENS if chinese else _CROSS
    if float(logits.max()) < scale.least:
        return []
    worth = [
        float(logit)
        + scale.ranked * scores[one.chunk.id] / top
        + scale.own * is_in(one.text, chinese)
        for logit, one in zip(logits, some, strict=True)
    ]
    is_sure = float(logits.max()) > 0.0
    behind, floor = (scale.close, scale.near) if is_sure else (scale.behind, scale.floor)
    least = min(max(worth), scale.said) - behind
    kept = [
        replace(one, worth=round(value, 3))
        for one, value, logit in zip(some, worth, logits, strict=True)
        if value > least and logit > floor and (logit > scale.near or _is_about(one, found))
    ]
    return sorted(kept, key=lambda one: (-one.worth, one.place))


def sure_windows(found: Sequence[Said], *, chinese: bool) -> list[Said]:
    """Return the windows that surely tell of the topic, of all that tell of it, the best first."""
    scale = _TOKENS if chinese else _CROSS
    best = found[0].worth if found else 0.0
    least = min(best, scale.said) - _SURELY * scale.behind
    return [one for one in found if one.worth >= least]


def _is_about(said: Said, found: Found) -> bool:
    """Check for words of the subject in a window or above it."""
    heads = tokens_of(said.chunk.title, *said.chunk.headings)
    return found.weight(said.words | heads) >= _SHARE


def best_windows(
    found: Sequence[Said], most: int, *, said: Sequence[frozenset[str]] = ()
) -> list[Said]:
    """Return the first windows that say something new, at most so many.

    Documents, or the sections of a single one, have a fair share each; half of all at most where
    the windows are nearly as good as the best.
    """
    single = len({one.chunk.document_id for one in found}) == 1
    home = {one: one.chunk.headings if single else one.chunk.document_id for one in found}
    share = max(_LEAST_EACH, most // max(1, len(set(home.values()))))
    chosen: list[Said] = []
    taken = Counter[object]()
    told = list(said)
    for one in found:
        is_new = not any(is_alike(one.words, words) for words in told)
        is_new = is_new and not any(_overlap(one, other) for other in chosen)
        is_good = one.worth >= found[0].worth - _NEARLY
        room = max(share, most // 2) if is_good else share
        if len(chosen) < most and taken[home[one]] < room and is_new:
            chosen.append(one)
            taken[home[one]] += 1
            told.append(one.words)
    return chosen


def _overlap(one: Said, other: Said) -> bool:
    """Check whether two windows share characters of a document."""
    if one.chunk.document_id != other.chunk.document_id:
        return False
    ends = [some.chunk.start + some.end for some in (one, other)]
    return max(one.place[1], other.place[1]) < min(ends)


_CLOSING = 20
"""Last characters of a sentence, among which its end is."""
_FINISHED = re.compile(r"[.!?:;。！？：；…][\W\d]*$")
"""End of a whole sentence, with closing marks; a page may break one off."""


def widened(said: Said) -> Said:
    """Return a sentence with those after it in its paragraph, while it stays short."""
    text = said.chunk.text
    broken = _BREAK.search(text, said.end)
    stop = broken.start() if broken else len(text)
    for start, end in sentence_spans(text):
        if start >= said.end and end <= stop:
            is_said = any(map(str.isalnum, text[start:end]))
            is_torn = is_said and _FINISHED.search(text[max(start, end - _CLOSING) : end]) is None
            if is_torn or word_count(text[said.start : end]) > _LONGEST:
                break
            said = replace(said, end=end)
    return said
