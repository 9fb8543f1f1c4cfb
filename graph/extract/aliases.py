"""Stated aliases: "Kestrel Marine Institute (KMI)", "刘备，字玄德".

Looks only at what stands between two neighbouring names of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..model import ALSO_KNOWN_AS, Mention, Statement
from ..name_parts import abbreviates, initials_match
from .candidates import Candidate
from .cooccurrence import named_by_sentence
from .segments import Layout, Segment, is_latin

_STRONG = frozenset({"PERSON", "ORGANISATION", "PLACE", "EVENT", "WORK"})

_ADVERB = r"(?:also|better|best|often|sometimes|later|now|then|first|once|\w+ly)"
_KINDS = r"(?:pen|stage|code|birth|ring)\s+name"
_ENGLISH = re.compile(
    rf"""\s*(?:\([^()]{{1,60}}\)\s*|[;,][^()]{{1,50}}\)\s*)?  # the years of a life
    (?:
        [;,(]?\s*(?:(?:who|which)\s+)?(?:(?:is|was|are|were)\s+)?(?:{_ADVERB}\s+)*
        (?:known\s+(?:(?:(?:\w+ly|(?:in|to|by)\s+(?:\w+\s+){{0,2}}\w+)\s+)?as|by\s+the\s+name\s+of
             |(?:by|under)\s+(?:(?:his|her|their|the)\s+)?(?:{_KINDS}
               |nickname|pseudonym|alias)(?:\s+of)?,?)
          |referred\s+to\s+(?:{_ADVERB}\s+)*as|spel(?:t|led)(?:\s+as)?
          |a\.?k\.?a\.?|alias|abbreviated\s+(?:as|to)|short\s+for)
      | (?:[,(]\s*|\s(?:is|was|are|were)\s+|\s(?:also|later|formerly)\s+
           |[,(]\s*(?:which|who)\s+(?:is|was|are|were)\s+)
        (?:(?:also|later|now|formerly|originally)\s+)*
        (?:called|nicknamed|renamed(?:\s+(?:as|to))?|dubbed|n[ée]e|formerly|hereafter|henceforth
          |(?:originally|formerly|previously|initially|first)\s+named)
      | [,;]?\s*(?:who\s+)?(?:wrote|writes|writing|performed|performs|performing|publishing)\s+
        under\s+(?:(?:his|her|the)\s+)?(?:pen\s+name|stage\s+name|pseudonym|name)(?:\s+of)?,?
      | ,?\s*(?:and\s+)?whose\s+(?:real|birth|stage|pen|maiden|full)\s+name\s+(?:is|was)
      | ,?\s+or\s+(?:simply|just)
    )\s+(?:(?:simply|just)\s+)?(?:the\s+)?["“'‘]?""",
    re.VERBOSE | re.IGNORECASE,
)
_FURTHER = re.compile(
    r"""["”'’]?,?\s+or\s+(?:(?:as|simply|just|also|sometimes)\s+)*(?:the\s+)?["“'‘]?"""
)
"""Between two second names: "also known as the Long Pier or simply Pier"."""
_SPELT = re.compile(r"\bspel(?:t|led)\b", re.IGNORECASE)
_LIKENED = re.compile(r"\bthe\s+[\"“'‘]?$")
_IN_BRACKETS = re.compile(
    r"""\s*(?:\([^()]{1,60}\)\s*)?[(;]\s*(?:(?P<when>now|then|later|today|originally|formerly|previously|once|initially)
    |or|also|(?:lit(?:erally|\.)?|(?:in\s+)?English(?:\s+title)?|abbreviated|abbr\.)\s*:?)
    \s+(?:simply\s+)?(?:the\s+)?["“'‘]?""",
    re.VERBOSE | re.IGNORECASE,
)
_BORN = re.compile(r"\s*[;,(]\s*born\s+(?:as\s+)?", re.IGNORECASE)
_CHINESE_VERB = (
    r"(?:以下)?(?:[又也亦后原旧曾古简全俗别人合统](?:被)?(?:称|名)|又叫|别号|外号|绰号|笔名|艺名|小名|化名"
    r"|英文名称?|中文名称?|英文|英语|缩写|代号|本名)(?:[为作曰是叫])?"
)
_CHINESE = re.compile(
    r"\s*(?:[（(][^（()）]{1,50}[）)]\s*)?"  # the years of a life
    rf"(?:的?[》”」』]?[，,（(]?\s*{_CHINESE_VERB}|[，,（(]\s*(?:表?字|号))[：:\s]*[“\"「『《]?"
)
_GOES_ON = re.compile(r"(?![是为等和与及或的在于后、])[\u4e00-\u9fff]")
_THAT_IS = re.compile(r"\s*[，,（(]\s*即[：:\s]*[“\"「『]?")
_THAT_IS_END = re.compile(r"[”\"」』']?\s*[)）,，;；。]")
_LANGUAGES = """
Afrikaans Albanian Amharic Arabic Armenian Basque Bengali Breton Bulgarian Burmese Cantonese Catalan
Chinese Croatian Czech Danish Dutch English Estonian Finnish French Galician Georgian German Greek
Gujarati Hawaiian Hebrew Hindi Hungarian Icelandic Indonesian Irish Italian Japanese Kannada Kazakh
Khmer Korean Kurdish Lao Latin Latvian Lithuanian Malay Malayalam Maltese Mandarin Marathi Mongolian
Nepali Norwegian Pashto Persian Polish Portuguese Punjabi Romanian Russian Sanskrit Scots Serbian
Sinhala Slovak Slovene Somali Spanish Swahili Swedish Tagalog Tamil Telugu Thai Tibetan Turkish
Ukrainian Urdu Uzbek Vietnamese Welsh
"""
_OPEN = re.compile(
    r"\s*[（(]\s*(?:(?P<language>(?:(?:in|[Ss]implified|[Tt]raditional)\s+)?"
    rf"(?:{'|'.join(_LANGUAGES.split())}))\s*[:：;；]\s*)?[^（()）\w]*"
)
_MAX_GAP = 120
_MOST_IN_BRACKETS = 3
_MOST_FURTHER = 4
_AFTER_BRACKETS = re.compile(r"\s*[（(][^（()）]*[）)]")
_OF = re.compile(r"[\"”'’]?\s+of\b")
_CLOSE = re.compile(r"[”\"」』']?\s*[)）,，;；]")
_STYLE_NAME = re.compile(
    r"(?<=[，,（(])(?:表?字|号|又名|别号|小名)(?P<name>[\u4e00-\u9fff]{2,3}?)(?=[，,。；;、）)]|$|[是乃])"
)
_ORGANISATION_WORD = re.compile(
    r"\b(?:institute|university|company|ltd|inc|council|society|college|laboratory|agency)\b"
)


def style_name_aliases(segment: Segment) -> list[Candidate]:
    """Courtesy and pen names ("，字玄德，"), which no tagger finds, as candidates."""
    return [
        Candidate(segment.start + m.start("name"), segment.start + m.end("name"), "PERSON")
        for m in _STYLE_NAME.finditer(segment.shadow)
    ]


def stated_aliases(layout: Layout, mentions: Iterable[Mention]) -> Iterator[Statement]:
    """Return a statement `(name, "also known as", alias)` for each stated alias."""
    for index, named in named_by_sentence(layout, mentions):
        start, end = layout.sentences[index]
        for first, second in _alias_pairs(layout.text, named):
            if first.key != second.key:
                yield Statement(
                    start=start,
                    end=end,
                    subject=first.key,
                    predicate=ALSO_KNOWN_AS,
                    object=second.key,
                )


def _alias_pairs(text: str, named: Sequence[Mention]) -> Iterator[tuple[Mention, Mention]]:
    """Return a sentence's names with adjacent or bracketed aliases."""
    for place, first in enumerate(named):
        for beside in range(place + 1, min(place + 2 + _MOST_IN_BRACKETS, len(named))):
            second = named[beside]
            between = text[first.end : second.start]
            if len(between) > _MAX_GAP:
                break
            if beside > place + 1 and not _passes_brackets(between):
                break
            if _is_alias(text, first, second):
                yield first, second
                if _ENGLISH.fullmatch(between):
                    further = named[beside : beside + 1 + _MOST_FURTHER]
                    yield from ((first, each) for each in _further(text, further))


def _passes_brackets(between: str) -> bool:
    """Check whether names occur only in brackets, or as a language label."""
    if _AFTER_BRACKETS.match(between):
        return True
    opened = _OPEN.fullmatch(between)
    return opened is not None and bool(opened["language"])


def _further(text: str, named: Sequence[Mention]) -> Iterator[Mention]:
    """Return further aliases joined by "or"."""
    for before, each in pairwise(named):
        if not _FURTHER.fullmatch(text[before.end : each.start]) or _types_differ(before, each):
            return
        yield each


def _types_differ(first: Mention, second: Mention) -> bool:
    return {first.type, second.type} <= _STRONG and first.type != second.type


def _is_alias(text: str, first: Mention, second: Mention) -> bool:
    if _types_differ(first, second):
        return False
    between = text[first.end : second.start]
    if _BORN.fullmatch(between):  # "born Paris" in a table of places is no name
        return first.type == second.type == "PERSON"
    if _ENGLISH.fullmatch(between):  # "known as the Venice of the North" says what it is like
        is_likened = _LIKENED.search(between) and _OF.match(text, second.end)
        return not (is_likened or (_SPELT.search(between) and _is_surname_of(first, second)))
    if _CHINESE.fullmatch(between):  # of "蒙古褶" a tagger finds 蒙古
        is_part = between[0] in "》”」』" and text[first.start - 1 : first.start] not in set(
            "《“「『"
        )
        return not (is_part or _GOES_ON.match(text, second.end))
    if _THAT_IS.fullmatch(between):  # "，即袁绍次子" says of somebody else
        return bool(_THAT_IS_END.match(text, second.end))
    if not _CLOSE.match(text, second.end):
        return False
    inside = _IN_BRACKETS.fullmatch(between)
    if inside and first.type == second.type:  # a town "(now Ukraine)" is in it
        return not (inside["when"] and first.type == "PLACE") and not _is_surname_of(first, second)
    opened = _OPEN.fullmatch(between)
    return opened is not None and (bool(opened["language"]) or _brackets_name(first, second))


def _is_surname_of(first: Mention, second: Mention) -> bool:
    """Check for a surname after a full name: "George Stewart (or Stuart)" is ambiguous."""
    return first.type == "PERSON" and " " in first.key and " " not in second.key


def _brackets_name(first: Mention, second: Mention) -> bool:
    """Check whether a bracketed name is an alias of the preceding one."""
    one, other = first.surface, second.surface
    if initials_match(other, one) or initials_match(one, other):
        return True
    kinds = {first.type, second.type}
    if "PERSON" not in kinds and (abbreviates(other, one) or abbreviates(one, other)):
        return True
    if is_latin(one) == is_latin(other):
        return False
    latin = first.key if is_latin(one) else second.key
    is_organisation = bool(_ORGANISATION_WORD.search(latin))
    return not ("PERSON" in kinds and (is_organisation or len(latin.split()) > 4))
