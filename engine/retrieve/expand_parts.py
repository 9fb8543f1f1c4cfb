"""Rule-based decomposition of compound questions.

"Who is older, A or B?" asks the same of A and of B; "the mother of the director of A" asks first
for the director of A. The parts are searched for, not answered: they need be no good sentences.
Pure text to texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_PARTS = 4
MAX_QUESTION_CHARACTERS = 600
"""Longer ones are stories, and their grammar says little."""
_WORD = r"[A-Z0-9\"“'(][^\s,?]*"
_BETWEEN = r"(?:of|the|de|la|von|van|in|on|at|to|for|&)"
_CAPITALISED = rf"{_WORD}(?:\s+(?:{_BETWEEN}\s+){{0,3}}{_WORD}){{0,12}}"
_EITHER = re.compile(
    r"^(?P<ask>.+?)[,:]\s*(?:the\s+)?(?P<a>[^,?]+?),?\s+or\s+(?P<b>[^,?]+?)\s*\?*$", re.IGNORECASE
)
_EITHER_WITHOUT_COMMA = re.compile(
    rf"^(?P<ask>.*?\b(?:between|out of|among|than)\s+(?:both\s+)?)(?P<a>{_CAPITALISED})"
    rf"\s+(?:and|or)\s+(?P<b>{_CAPITALISED})(?P<rest>.*)$"
)
_BOTH = re.compile(
    rf"^(?P<ask>(?:Are|Were|Do|Did|Does|Have|Has|Is|Was|Can|Could)\s+(?:both\s+)?(?:the\s+)?"
    rf"(?:[a-z]+s?,?\s+)?|.*?\bboth\s+)(?P<a>{_CAPITALISED}),?\s+and\s+(?P<b>{_CAPITALISED})"
    rf"(?P<rest>.*)$"
)
_HAN_THING = r"[^，。？?、；：\s和与跟及同]{1,24}?"
_HAN_EITHER = re.compile(
    rf"^(?P<a>{_HAN_THING})(?:和|与|跟|及|同|、)(?P<b>[^，。？?、；：\s]{{1,24}}?)"
    rf"[，,]?\s*(?P<rest>(?:相比|比较|之间|二者|两者|两人|两个|哪|谁|都|是否|有什么|有何|分别|各).*)$"
)
_HAN_OR = re.compile(
    rf"^(?P<a>{_HAN_THING})还是(?P<b>[^，。？?、；：\s]{{1,24}}?)(?P<rest>(?:更|比较|最|先|后).*|[?？]*)$"
)
_RELATIVE = re.compile(
    r"\b(?P<thing>(?:[Tt]he|an?)\s+(?:[\w'-]+\s+){0,3}?[\w'-]+),?\s+"
    r"(?:(?:in|on|at|by|for|from)\s+)?(?:which|whom|whose|where|when|that|who)\s+(?P<clause>[^?]+)"
)
_OF_CHAIN = re.compile(
    r"\bthe\s+[\w'-]+(?:\s+[\w'-]+){0,2}\s+(?:of|for|in)\s+"
    r"(?P<inner>the\s+[\w' -]+?\s+(?:of|in|for)\s+[^?]+)",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(rf"(?P<inner>{_CAPITALISED}['’]s?\s+[a-z][\w-]+)")
_ANCHOR = re.compile(r".\s[\"“'(]*[A-Z0-9]|[\u3400-\u9fff]")
"""Required content of a part: a name after its first word, or Chinese."""
_HAN_CHAIN = re.compile(
    r"^(?P<inner>[^，。？?；：\s的]{1,24}的[^，。？?；：\s的]{1,12})的[^，。？?；：\s]+"
)


def question_parts(question: str) -> list[str]:
    """Split a comparison or nested question into parts; [] for others.

    At most `MAX_PARTS`, in the order in which they stand, none equal to the question.
    """
    whole = " ".join(question.split())
    if len(whole) > MAX_QUESTION_CHARACTERS:
        return []
    found = _compared(whole) or list(_nested(whole))
    tidy = (part for part in map(_tidy, found) if part != _tidy(whole))
    kept = dict.fromkeys(part for part in tidy if _ANCHOR.search(part))
    return list(kept)[:MAX_PARTS]


def _compared(question: str) -> list[str]:
    for pattern in (_EITHER, _BOTH, _EITHER_WITHOUT_COMMA, _HAN_EITHER, _HAN_OR):
        match = pattern.match(question)
        if match is None:
            continue
        groups = match.groupdict(default="")
        ask, rest = groups.get("ask") or "", groups.get("rest") or ""
        return [f"{ask} {groups[name]} {rest}" for name in ("a", "b")]
    return []


def _nested(question: str) -> Iterator[str]:
    """Split a nested question: the inner fact first, then the outer question."""
    relative = _RELATIVE.search(question)
    if relative is not None:
        yield f"{relative['thing']} {relative['clause']}"
        yield f"{question[: relative.start()]}{relative['thing']}"
        return
    for pattern in (_OF_CHAIN, _POSSESSIVE, _HAN_CHAIN):
        match = pattern.search(question)
        if match is not None:
            yield match["inner"]
            return


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ?？,，.。:：")
