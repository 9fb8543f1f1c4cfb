"""Source that a question names: *According to the tide report, how high …*, *《…》里…*."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..storage.tokenization import TokenWeight, tokens
from .global_search.asked import is_document

_DETERMINER = r"(?:the|this|that|these|our|your|their|his|her|my|an?)\s+"
_SAYS = r"(?:say|tell(?: us| me)?|report|recommend|state|advise|write|explain|have to say)"
_NAMED = (
    re.compile(
        rf"^\W*(?:according to|as per|going by) (?:{_DETERMINER})?(?P<name>[^,?]{{3,60}}),"
        r"\s*(?P<asked>.{8,})$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^\W*(?:in|from) (?:{_DETERMINER})?(?P<name>[^,?]{{3,60}}),\s*(?P<asked>.{{8,}})$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?P<asked>.{{8,}}?),? according to (?:{_DETERMINER})?(?P<name>[^,?]{{3,60}}?)\W*$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^\W*what (?:do|does|did) (?:{_DETERMINER})?(?P<name>.{{3,60}}?) {_SAYS}"
        r" (?P<about>(?:about|of|on|regarding) .{3,})$",
        re.IGNORECASE,
    ),
    re.compile(r"^\W*(?:根据|按照?|依照?|据)(?P<name>[^，,。？?]{2,30})[，,](?P<asked>.{4,})$"),
    re.compile(r"^\W*在?(?P<name>《[^《》]{2,30}》)(?:里面?|中|上)[，,]?(?P<asked>.{4,})$"),
)
_KINDS = re.compile(
    r"\b(?:manual|guide|handbook|book|documents?|pages?|text|file|report|article)s?\b"
    r"|[《》]|手册|指南|文档|文件|报告|文章",
    re.IGNORECASE,
)
"""Words for documents that are in few titles."""

_HELD = 0.8
"""Least share of a name's weight in the title and path of its document."""


@dataclass(frozen=True, slots=True)
class NamedSource:
    """Name of a document as a question gives it, and what is asked of that document."""

    name: str
    asked: str

    def is_of(self, title: str, document_id: str, *, weight: TokenWeight) -> bool:
        """Check that a document's title and path have the words of the name, and not only kinds.

        A word that most documents have may be missing: *the Debian policy manual*.
        """
        words = {one: max(weight(one), 0.0) for one in tokens(_KINDS.sub(" ", self.name))}
        held = set(tokens(f"{title} {re.sub(r'[-_./]', ' ', document_id)}"))
        known = sum(value for one, value in words.items() if one in held)
        return known > 0 and known >= _HELD * sum(words.values())


def named_source(question: str) -> NamedSource | None:
    """Return the document that a question names as its source; None without one."""
    for pattern in _NAMED:
        found = pattern.search(" ".join(question.split()))
        if found is None or not is_document(found["name"]):
            continue
        parts = found.groupdict()
        asked = parts.get("asked") or f"What does it say {parts['about']}"
        return NamedSource(name=found["name"], asked=asked)
    return None
