"""Second names that a document's front matter states of its title.

    ---
    title: Tolland Marine Station
    aliases: [TMS, Gannet Head Marine Laboratory, 托兰海洋站]
    ---

Only text that begins with front matter is looked at. Names in lower case and those that begin with
an article ("the Station") say too little about who is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ..model import ALSO_KNOWN_AS, Mention, Statement
from ..text.cjk import has_han
from ..text.names import name_key

_BLOCK = re.compile(
    r"\ufeff?(?P<rule>---|\+\+\+)[ \t]*\n(?P<body>.*?)\n(?P=rule)[ \t]*(?:\n|$)", re.DOTALL
)
_FIELD = re.compile(r"^(?P<name>[^\s:=\-][^:=\n]*?)[ \t]*[:=][ \t]*(?P<value>.*)$", re.MULTILINE)
_VALUE = re.compile(
    r"\"(?P<double>[^\"\n]+)\"|'(?P<single>[^'\n]+)'|(?P<plain>[^\[\],，、\"'\s][^\[\],，、\n]*)"
)
_ITEM = re.compile(r"^[ \t]*-[ \t]+", re.MULTILINE)
_TITLES = frozenset({"title", "name", "标题", "名称"})
_ALIASES = frozenset(
    {"alias", "aliases", "also_known_as", "also known as", "aka", "other_names", "别名", "又名"}
)
_ARTICLES = ("the ", "a ", "an ")


def front_matter_aliases(text: str) -> tuple[list[Mention], list[Statement]]:
    """Return mentions of the title and its aliases, and a statement for each alias."""
    block = _BLOCK.match(text)
    if block is None:
        return [], []
    values = {name: list(_values(text, span)) for name, span in _fields(block)}
    titles = [one for name in values if name in _TITLES for one in values[name]][:1]
    aliases = [one for name in values if name in _ALIASES for one in values[name]]
    if not titles or not aliases:
        return [], []
    title = titles[0]
    known = [one for one in aliases if one.key != title.key and _is_telling(one.surface)]
    statements = [
        Statement(
            start=title.start,
            end=max(title.end, one.end),
            subject=title.key,
            predicate=ALSO_KNOWN_AS,
            object=one.key,
        )
        for one in known
    ]
    return [title, *known] if known else [], statements


def _fields(block: re.Match[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Return each field's name and the span of its value, up to the next field."""
    start, end = block.span("body")
    found = [*_FIELD.finditer(block.string, start, end)]
    ends = [after.start() for _, after in pairwise(found)] + [end]
    for field, last in zip(found, ends, strict=True):
        yield field["name"].strip().casefold(), (field.start("value"), last)


def _values(text: str, span: tuple[int, int]) -> Iterator[Mention]:
    blanked = _ITEM.sub(lambda item: " " * len(item[0]), text[span[0] : span[1]])
    for found in _VALUE.finditer(blanked):
        group = next(name for name, value in found.groupdict().items() if value)
        surface = found[group].rstrip()
        start = span[0] + found.start(group)
        if key := name_key(surface):
            yield Mention(
                start=start, end=start + len(surface), surface=surface, key=key, type="NAME"
            )


def _is_telling(surface: str) -> bool:
    if surface.casefold().startswith(_ARTICLES):
        return False
    return has_han(surface) or any(map(str.isupper, surface))
