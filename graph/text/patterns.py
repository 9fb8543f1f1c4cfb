"""Regular expressions that are compiled when they are first used.

Compiling all of a module's takes longer than answering a question, which needs few of them.
"""

from __future__ import annotations

import re
from typing import AnyStr, cast


class _LazyPattern:
    """Stands for a compiled pattern; what is asked of it is taken from that and kept."""

    def __init__(self, pattern: object, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @property  # type: ignore[misc]
    def __class__(self) -> type[re.Pattern[str]]:  # type: ignore[override]
        """`isinstance` and the functions of `re` take it for a compiled pattern."""
        return re.Pattern

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # a copy or a pickle asks before anything is set
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)  # type: ignore[call-overload]
        value = self.__dict__[name] = getattr(compiled, name)
        return cast("object", value)


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern, compiled at the first use; a wrong one raises `re.error` then."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


FENCE = lazy_regex(r"[ \t]*(?:(?:[-*+•]|\d{1,3}[.)、])[ \t]+)?(`{3,}+(?![^\n]*`)|~{3,})")
"""The beginning of a line that opens or closes code in Markdown, also as the first of an item.

What is marked inside of a line (CommonMark 4.5: no backtick behind the mark) is none.
"""
