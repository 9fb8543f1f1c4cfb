"""Chinese: relations from the words between two names of one clause.

Few patterns, read strictly: "甲创立了乙", "甲由乙创立", "甲被乙任命", "甲的学生乙", "甲是乙的学生",
"甲任乙所长", "甲在乙工作". A clause that fits none says nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..model import Mention
from .chinese import HanToken
from .words import HAN_AUXILIARIES, HAN_NEGATIONS, HAN_OFFICES

_CLAUSE_END = frozenset("，,。！？；;：:\n（）()")
_MARKS = frozenset(" \u3000《》“”「」『』\"'*_")
_LIGHT = frozenset({"ul", "uz", "ug", "d", "m", "q", "t", "mq", "zg", "f", "ad"})
"""Tags that leave subject and object unchanged: particles, adverbs, numbers."""
_PASSIVE = frozenset({"被", "由", "遭", "受"})
_WHERE = frozenset(
    {"在", "于", "从", "到", "向", "至", "往", "与", "和", "同", "跟", "对", "为", "给"}
)
_NOUN = re.compile(r"n|ng|vn|l")
_MAX_WORDS = 8


class HanRelation(NamedTuple):
    """A relation between two mentions of one clause."""

    subject: Mention
    predicate: str
    object: Mention


def relations(tokens: Sequence[HanToken], mentions: Sequence[Mention]) -> Iterator[HanRelation]:
    """Return relations between neighbouring mentions of each clause, in text order."""
    ordered = sorted(mentions)
    for index, (first, second) in enumerate(pairwise(ordered)):
        between = _inside(tokens, first.end, second.start)
        if len(between) > _MAX_WORDS or any(t.word in _CLAUSE_END for t in between):
            continue
        after = _clause_rest(tokens, second.end)
        relation = _read(first, second, [t for t in between if t.word not in _MARKS], after)
        if relation is None:
            continue
        if relation.subject is first and _word_before(tokens, first.start) in _WHERE:
            # "甲在乙创立丙": the subject is the name before the place
            earlier = ordered[index - 1] if index else None
            if earlier is None or not _one_clause(tokens, earlier.end, first.start):
                continue
            relation = relation._replace(subject=earlier)
        yield relation


def _start(token: HanToken) -> int:
    return token.start


def _inside(tokens: Sequence[HanToken], start: int, end: int) -> list[HanToken]:
    """The tokens of a span; tokens are in order and do not overlap."""
    first = bisect_left(tokens, start, key=_start)
    return [
        t for t in tokens[first : bisect_left(tokens, end, lo=first, key=_start)] if t.end <= end
    ]


def _word_before(tokens: Sequence[HanToken], offset: int) -> str:
    place = bisect_left(tokens, offset, key=_start)
    before = reversed(tokens[max(0, place - 2) : place])
    return next((t.word for t in before if t.end <= offset), "")


def _one_clause(tokens: Sequence[HanToken], start: int, end: int) -> bool:
    inside = [t.word for t in _inside(tokens, start, end)]
    return len(inside) <= _MAX_WORDS and _CLAUSE_END.isdisjoint(inside[1:])


def _clause_rest(tokens: Sequence[HanToken], start: int) -> list[HanToken]:
    rest: list[HanToken] = []
    first = bisect_left(tokens, start, key=_start)
    for token in tokens[first : first + _MAX_WORDS + 1]:
        if token.word in _CLAUSE_END or len(rest) == _MAX_WORDS:
            break
        rest.append(token)
    return [token for token in rest if token.word not in _MARKS]


def _read(
    first: Mention, second: Mention, between: list[HanToken], after: list[HanToken]
) -> HanRelation | None:
    words = [t.word for t in between]
    content = [t for t in between if t.tag not in _LIGHT and t.word not in {"了", "着", "过"}]
    if not content or any(word in HAN_NEGATIONS for word in words):
        return None
    head = content[0].word
    if len(content) == 1 and head in {"是", "为"}:
        return _office(first, second, after, "是")
    if len(content) == 1 and (head in HAN_OFFICES or head.removeprefix("曾") in HAN_OFFICES):
        return _office(first, second, after, "任")
    if len(content) == 1 and head in _PASSIVE | _WHERE:
        return _around(first, second, head, after)
    if len(content) == 2 and head == "的" and _NOUN.fullmatch(content[1].tag):
        return HanRelation(second, f"是…的{content[1].word}", first)
    if len(content) <= 2 and all(t.tag.startswith("v") for t in content):
        verb = "".join(t.word for t in content)
        return (
            None
            if _is_auxiliary(content[-1].word) or verb == "是"
            else HanRelation(first, verb, second)
        )
    if (
        len(content) == 2
        and content[0].tag == "v"
        and content[1].word in {"于", "到", "在", "给", "为"}
    ):
        return HanRelation(first, content[0].word + content[1].word, second)
    return None


def _is_auxiliary(word: str) -> bool:
    return word in HAN_AUXILIARIES


def _office(holder: Mention, of: Mention, after: list[HanToken], verb: str) -> HanRelation | None:
    """ "甲是乙（的）所长": the noun right behind the second name, if the clause ends with it."""
    words = [t for t in after if t.word not in {"的", " "}]
    nouns = [t for t in words if _NOUN.fullmatch(t.tag) or t.word.endswith(("长", "员", "人"))]
    if not words or len(words) > 2 or nouns != words:
        return None
    return HanRelation(holder, f"{verb}…的{''.join(t.word for t in words)}", of)


def _around(
    first: Mention, second: Mention, word: str, after: list[HanToken]
) -> HanRelation | None:
    """ "甲由乙创立", "甲在乙工作": the first verb behind the second name."""
    verbs = [t for t in after if t.tag.startswith("v") and not _is_auxiliary(t.word)]
    skipped = after[: after.index(verbs[0])] if verbs else []
    if not verbs or any(t.tag not in _LIGHT for t in skipped):
        return None
    if any(t.word in HAN_NEGATIONS for t in skipped):
        return None
    verb = verbs[0].word
    if word in _PASSIVE:
        return HanRelation(second, verb, first)
    return HanRelation(first, f"{word}…{verb}", second)
