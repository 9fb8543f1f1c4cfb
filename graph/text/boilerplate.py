"""Text that is about a publication, not of it: licences, terms of use, a distributor's marks.

A passage is a licence where many different words of licences stand close together. Contracts and
texts that speak of a licence have fewer kinds of them, or none of publishing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PUBLISHING = re.compile(
    r"copyright|trademark|royalt|\b(?:re)?distribut(?:e|ed|ing|ion)\b|public domain"
    r"|electronic works?|\be-?books?\b|donat|free of charge|without charge|licen[cs]e|\bcopies\b"
    r"|all rights reserved|™",
    re.IGNORECASE,
)
_LEGAL = re.compile(
    r"permission|\bas[ -]is\b|warrant|refund|liab|damages|disclaim|agreement|provision|\btax"
    r"|\bfees?\b|infring|compl[yi]|\bterms\b|invalid|indemn|volunteer|proofread|transcrib",
    re.IGNORECASE,
)
_FEWEST_OF_PUBLISHING = 3
_LICENCE = 0.45
"""Least product of the kinds of such words and their share of all words."""
_KIND = 6
"""Characters by which words are of one kind: "distribute", "distribution"."""
_START = re.compile(r"^\*{3} ?START OF .*\*{3}[ \t\r]*$", re.MULTILINE)
_END = re.compile(r"^\*{3} ?END OF .*\*{3}[ \t\r]*$", re.MULTILINE)
_STATES_ITS_WORK = re.compile(
    r"^(?:Title|Author|Editor|Illustrator|Translator): .*$", re.MULTILINE | re.IGNORECASE
)


def boilerplate_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of `text` that are no part of a work, in order, without overlap.

    Before a mark of a work's start the lines stay that state its title and its makers.
    """
    if is_licence(text):
        yield 0, len(text)
        return
    start, end = _START.search(text), _END.search(text)
    if start is not None:
        done = 0
        for line in _STATES_ITS_WORK.finditer(text, 0, start.start()):
            yield done, line.start()
            done = line.end()
        yield done, start.end()
    if end is not None and (start is None or start.end() <= end.start()):
        yield end.start(), len(text)


def is_licence(text: str) -> bool:
    """Check for a passage of a licence or of terms of use."""
    publishing = [word.lower()[:_KIND] for word in _PUBLISHING.findall(text)]
    if len({*publishing}) < _FEWEST_OF_PUBLISHING:
        return False
    words = publishing + [word.lower()[:_KIND] for word in _LEGAL.findall(text)]
    return len({*words}) * len(words) >= _LICENCE * len(text.split())
