"""Chinese sentences with what adjoins them.

The sentence that says it stands first, and what follows it in its section behind it: the next one
often holds what the first leaves open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from graph.text.cjk import has_han

from ...retrieval.passages import Sentence
from ...types import Passage
from .blocks import count_words
from .sentence_scoring import ScoredSentence

LONGEST_TITLE = 40
"""Characters of a title, at most."""
ADJOINING_WORDS = 75
"""Words of a Chinese sentence with those that follow it, at most; two characters are one."""
_STATES = re.compile(r"[。！；，：、,.;:|`=]|^\s*[-*•]|\d")


def is_title(text: str) -> bool:
    """Check for a Chinese line without a mark of a sentence, a list or a table."""
    return has_han(text) and len(text) <= LONGEST_TITLE and not _STATES.search(text)


def join_adjoining(chosen: Sequence[Sentence], passages: Sequence[Passage]) -> list[Sentence]:
    """Join Chinese sentences that follow each other to one quote."""
    found: list[Sentence] = []
    for each in chosen:
        last, text = found[-1] if found else None, passages[each.passage].text
        if last is not None and _goes_on(last, each, text):
            found[-1] = replace(last, end=each.end, text=text[last.start : each.end])
        else:
            found.append(each)
    return found


def _goes_on(last: Sentence, sentence: Sentence, text: str) -> bool:
    """Check that a Chinese sentence stands right behind another, below the same heading."""
    return (
        (last.passage, last.heading) == (sentence.passage, sentence.heading)
        and last.end <= sentence.start
        and not text[last.end : sentence.start].strip()
        and not (last.columns or sentence.columns)
        and has_han(last.text)
    )


def with_adjoining(
    rows: Sequence[int], weighed: Sequence[ScoredSentence], passages: Sequence[Passage]
) -> list[int]:
    """Put behind the first sentence those that follow it in its section, up to a length."""
    sentence = weighed[rows[0]].sentence
    begin, found = sentence.start, [rows[0]]
    for row in range(rows[0] + 1, len(weighed)):
        behind = weighed[row].sentence
        text = passages[behind.passage].text
        is_next = _goes_on(sentence, behind, text)
        if not is_next or count_words(text[begin : behind.end]) > ADJOINING_WORDS:
            break
        found.append(row)
        sentence = behind
    return [*found, *(row for row in rows if row not in found)]
