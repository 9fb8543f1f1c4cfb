"""Citation marks like `[1]`: parsing of the forms models write, and renumbering."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_NUMBERS = r"\d{1,4}(?:\s*[,，、;；–—-]\s*\d{1,4})*"
_MARK = re.compile(rf"(?<![ \t])[ \t]*+[\[【［]\^?\s*({_NUMBERS})\s*[\]】］](?!\()")
_LONGEST_RANGE = 20


def expand_marks(
    text: str, numbers: Mapping[int, Sequence[int]], *, unknown: Sequence[int] = (0,)
) -> str:
    """Replace each mark's number by the numbers it stands for.

    A number that is no key of `numbers` becomes 0, which no source has.
    """

    def expanded(match: re.Match[str]) -> str:
        new = [n for old in _numbers(match.group(1)) for n in numbers.get(old, unknown)]
        blank = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{blank}[{', '.join(map(str, new))}]" if new else ""

    return _MARK.sub(expanded, text)


def _numbers(inside: str) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r"[,，、;；]", inside):
        ends = [int(digits) for digits in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LONGEST_RANGE:
            numbers.extend(range(ends[0], ends[1] + 1))
        else:
            numbers.extend(ends)
    return numbers
