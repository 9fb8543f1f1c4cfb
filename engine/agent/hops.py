"""Two-step questions: the inner part that has to be answered first, and the question after it.

"Who is the mother of the director of film X?" holds "the director of film X". That is asked by
itself; the name found takes its place, so that the second question stands alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOUNS = r"[a-z][a-z'-]*(?: [a-z][a-z'-]*){0,3}?"
_NAME = r"(?=[^?]*[A-Z0-9\"“])[^?,]+?"
_ENDS = (
    r"(?= (?:born|die|died|buried|educated|located|from|work|worked|live|lived|study|studied"
    r"|graduate|graduated|founded|made|created|formed|established|play|played|belong|come|end|"
    r"begin|start|was|is|were|are|has|have|had|did|does)\b[^A-Z]*\?|\s*\?|$)"
)
_INNER_EN = re.compile(
    rf"\bthe (?P<role>{_NOUNS}) (?P<link>of|that|which|who|where|for|by|in)"
    rf" (?P<rest>{_NAME}){_ENDS}"
)
_CLAUSE = re.compile(
    r" (?:(?:is|was|are|were) (?:[a-z]+ed\b(?: to [a-z]+)?|found|born|from|held)|took place|died)"
)
"""Verb that ends a clause such as "where X is located"; it belongs to the inner part."""
_INNER_ZH = re.compile(
    r"(?P<inner>[^，。？?的]{2,40}?的[^，。？?的]{1,8})的(?P<slot>[^，。？?的]{1,12})"
)
_CHOICE = re.compile(r"\b(?:or|both|same|older|younger|first or|more)\b|,")
_PERSON = re.compile(
    r"\b(?:director|author|writer|founder|president|mother|father|husband|wife|spouse|performer"
    r"|singer|composer|artist|actor|actress|son|daughter|leader|owner|creator|designer|king|queen"
    r"|mayor|governor|minister|player|producer|screenwriter|editor|child|sibling|person|man|woman)s?$"
)


@dataclass(frozen=True, slots=True)
class Hop:
    """Inner question, and the outer one with a gap for its answer."""

    inner: str
    before: str
    after: str

    def outer(self, name: str) -> str:
        """Return the question that is left, with the name found in its gap."""
        return f"{self.before}{name}{self.after}"


def find_hop(question: str) -> Hop | None:
    """Return the inner part of a two-step question; None where one step is asked."""
    chinese = _INNER_ZH.search(question)
    if chinese is not None:
        start, end = chinese.span("inner")
        return Hop(f"{chinese['inner']}是谁？", question[:start], question[end:])
    if _CHOICE.search(question) or not question.rstrip().endswith("?"):
        return None
    found = None
    for place in re.finditer(r"\bthe [a-z]", question):
        found = _INNER_EN.match(question, place.start()) or found
    if found is None or not _asks_beside(question, found):
        return None
    if found["link"] in ("of", "for", "by", "in") and not _PERSON.search(found["role"]):
        return None  # "the laws of X" names no one thing
    role, link, rest, end = found["role"], found["link"], found["rest"], found.end()
    clause = _CLAUSE.match(question, end) if link not in ("of", "for", "by") else None
    if clause is not None:
        rest, end = rest + clause.group(), clause.end()
    return Hop(_asked(role, link, rest), question[: found.start()], question[end:])


def _asks_beside(question: str, found: re.Match[str]) -> bool:
    """Check whether more is asked than the inner phrase itself."""
    left = f"{question[: found.start()]} {question[found.end() :]}".casefold()
    plain = {"who", "what", "which", "is", "was", "are", "were", "where", "when", "name"}
    return bool(set(re.findall(r"\w+", left)) - plain)


def _asked(role: str, link: str, rest: str) -> str:
    if link in ("that", "which", "who"):
        return f"Which {role} {rest}?"
    wh = "Who" if _PERSON.search(role) else "What"
    return f"{wh} is the {role} {link} {rest}?"
