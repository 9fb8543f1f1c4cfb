"""Second names that a text states itself: "Kestrel Marine Institute (KMI)", "刘备，字玄德".

Looks only at what stands between two neighbouring names of a sentence. Knows nothing of grammar,
and decides nothing: resolution may still refuse what is stated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ..model import ALSO_KNOWN_AS, Mention, Statement
from ..name_parts import initials_match
from .candidates import Candidate
from .cooccurrence import named_by_sentence
from .segments import Layout, Segment, has_han

_STRONG = frozenset({"PERSON", "ORGANISATION", "PLACE", "EVENT", "WORK"})

_ENGLISH = re.compile(
    r"""\s*(?:\([^()]{1,60}\)\s*|[;,][^()]{1,50}\)\s*)?  # the years of a life
    (?:
        [,(]?\s*(?:(?:who|which)\s+)?(?:(?:is|was|are|were)\s+)?
        (?:(?:also|better|best|formerly|previously|originally|commonly|sometimes|later|now|usually
            |professionally|popularly|widely|generally|affectionately|internationally)\s+)*
        (?:known\s+(?:(?:\w+ly\s+)?as|by\s+the\s+name\s+of
             |(?:by|under)\s+(?:(?:his|her|their|the)\s+)?(?:(?:pen|stage|code|birth)\s+name
               |nickname|pseudonym|alias)(?:\s+of)?,?)
          |a\.?k\.?a\.?|alias|abbreviated\s+(?:as|to)|short\s+for)
      | (?:[,(]\s*|\s(?:is|was|are|were)\s+|\s(?:also|later|formerly)\s+)
        (?:(?:also|later|now|formerly|originally)\s+)*
        (?:called|nicknamed|renamed|dubbed|n[ée]e|formerly|hereafter|henceforth)
      | [,;]?\s*(?:who\s+)?(?:wrote|writes|writing|performed|performs|performing|publishing)\s+
        under\s+(?:(?:his|her|the)\s+)?(?:pen\s+name|stage\s+name|pseudonym|name)(?:\s+of)?,?
      | ,?\s*(?:and\s+)?whose\s+(?:real|birth|stage|pen|maiden|full)\s+name\s+(?:is|was)
    )\s+(?:simply\s+)?(?:the\s+)?["“'‘]?""",
    re.VERBOSE | re.IGNORECASE,
)
_BORN = re.compile(r"\s*[,(]\s*born\s+(?:as\s+)?", re.IGNORECASE)
_CHINESE_VERB = (
    r"(?:以下)?(?:[又也亦后原旧曾古简全俗别人合统](?:被)?(?:称|名)|又叫|别号|外号|绰号|笔名|艺名|小名|化名"
    r"|英文名称?|中文名称?|英文|英语|缩写|代号|本名)(?:[为作曰是叫])?"
)
_CHINESE = re.compile(
    r"\s*(?:[（(][^（()）]{1,50}[）)]\s*)?"  # the years of a life
    rf"(?:[，,（(]?\s*{_CHINESE_VERB}|[，,（(]\s*(?:表?字|号))[：:\s]*[“\"「『]?"
)
_THAT_IS = re.compile(r"\s*[，,（(]\s*即[：:\s]*[“\"「『]?")
_THAT_IS_END = re.compile(r"[”\"」』']?\s*[)）,，;；。]")
_OPEN = re.compile(r"\s*[（(]\s*(?P<label>[^（()）\w]*)")
_CLOSE = re.compile(r"[”\"」』']?\s*[)）,，;；]")
_STYLE_NAME = re.compile(
    r"(?<=[，,（(])(?:表?字|号|又名|别号|小名)(?P<name>[\u4e00-\u9fff]{2,3}?)(?=[，,。；;、）)]|$|[是乃])"
)
_ORGANISATION_WORD = re.compile(
    r"\b(?:institute|university|company|ltd|inc|council|society|college|laboratory|agency)\b"
)


def style_names(segment: Segment) -> list[Candidate]:
    """Courtesy and pen names ("，字玄德，"), which no tagger finds, as candidates."""
    return [
        Candidate(segment.start + m.start("name"), segment.start + m.end("name"), "PERSON")
        for m in _STYLE_NAME.finditer(segment.shadow)
    ]


def stated_aliases(layout: Layout, mentions: Iterable[Mention]) -> Iterator[Statement]:
    """A statement `(name, "also known as", second name)` for each that the text makes."""
    for index, named in named_by_sentence(layout, mentions):
        start, end = layout.sentences[index]
        for first, second in pairwise(named):
            if first.key != second.key and _is_alias(layout.text, first, second):
                yield Statement(
                    start=start,
                    end=end,
                    subject=first.key,
                    predicate=ALSO_KNOWN_AS,
                    object=second.key,
                )


def _is_alias(text: str, first: Mention, second: Mention) -> bool:
    if {first.type, second.type} <= _STRONG and first.type != second.type:
        return False
    between = text[first.end : second.start]
    if len(between) > 120:
        return False
    if _BORN.fullmatch(between):  # "born Paris" in a table of places is no name
        return first.type == second.type == "PERSON"
    if _ENGLISH.fullmatch(between) or _CHINESE.fullmatch(between):
        return True
    if _THAT_IS.fullmatch(between):  # "，即袁绍次子" says of somebody else
        return bool(_THAT_IS_END.match(text, second.end))
    if not _OPEN.fullmatch(between) or not _CLOSE.match(text, second.end):
        return False
    return _brackets_name(first, second)


def _brackets_name(first: Mention, second: Mention) -> bool:
    """Whether a name in brackets is another name of the one before them."""
    if initials_match(second.surface, first.surface) or initials_match(
        first.surface, second.surface
    ):
        return True
    if has_han(first.key) == has_han(second.key):
        return False
    kinds = {first.type, second.type}
    latin = second.key if has_han(first.key) else first.key
    is_organisation = bool(_ORGANISATION_WORD.search(latin))
    return not ("PERSON" in kinds and (is_organisation or len(latin.split()) > 4))
