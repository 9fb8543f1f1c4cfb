"""Second names that a text states of its subject without saying its name again.

The subject is the name that the text begins with. The sentences after it speak of it as "he", "it"
or "the team" ("The team was formerly known as …", "She also wrote under the pseudonyms …"), and the
first one may define it: "Aspren or Asprenas was a saint", "Khooni Khanjar (Fighting Blade) is a
film".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..model import Mention
from ..text.patterns import lazy_regex

SENTENCES = 4
"""Of so many first sentences with names the subject is the text's."""
MOST = 5
_BEGINS = lazy_regex(r"[^\w]*(?:the\s+)?[^\w]*", re.IGNORECASE)
_GROUPS = (
    r"(?:band|club|company|duo|film|firm|group|organi[sz]ation|region|school|ship|team|town|zone)"
)
_STANDS_FOR = lazy_regex(rf"\s*(?:(?P<person>he|she)|it|they|the\s+{_GROUPS})\s+", re.IGNORECASE)
_ADVERB = r"(?:(?:also|later|now|then|first|once|sometimes|often|\w+ly)\s+)*"
_WHOSE = r"(?:(?:his|her|its|their|the|various|several)\s+)*"
_KNOWN_AS = lazy_regex(
    rf"""{_ADVERB}(?:
      (?:is|was|are|were|has\s+been)\s+{_ADVERB}
      (?:known\s+(?:as|(?:by|under)\s+{_WHOSE}(?:[\w-]+\s+)?names?(?:\s+of)?,?)
        |called|nicknamed|renamed|titled)
    | (?:\w+ed\s+and\s+)?(?:wrote|writes|published|performed|performs|recorded|acted)\s+
      (?:and\s+\w+ed\s+)?under\s+{_WHOSE}
      (?:pen\s+names?|stage\s+names?|pseudonyms?|names?)(?:\s+of)?,?
    )\s+(?:the\s+)?["“'‘]?\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_LISTED = lazy_regex(r"\s+under\s+.*names\b|\bpseudonyms\b|\bunder\s+the\s+name\b", re.IGNORECASE)
_NEXT = lazy_regex(
    r"""["”'’]?\s*(?:\([^()]{0,60}\)\s*)?(?:,|,?\s+(?:and|or|then)|,\s+then)\s+(?:the\s+)?["“'‘]?\s*""",
    re.IGNORECASE,
)
_OR = lazy_regex(r"""["”'’]?\s+or\s+(?:the\s+)?["“'‘]?\s*""")
_IN_BRACKETS = lazy_regex(r"""["”'’*]*\s*[(]["“'‘*]?\s*""")
_IS = lazy_regex(r"""["”'’*]*\s*(?:\([^()]{0,60}\)\s*)?,?\s*(?:is|was|are|were|also\s+known)\b""")
_IS_BEHIND_BRACKETS = lazy_regex(r"""\s*["”'’*]?\s*\)\s*(?:is|was|are|were)\b""")
_STRONG = frozenset({"PERSON", "ORGANISATION", "PLACE", "EVENT", "WORK"})
_UNTYPED = frozenset({"NAME", "WORK"})

Named = tuple[tuple[int, int], Sequence[Mention]]
"""The span of a sentence, and the names in it."""


def subject_aliases(text: str, named: Iterable[Named]) -> Iterator[tuple[int, Mention, Mention]]:
    """Return, with the number of the sentence, the subject and each second name of it."""
    first = list(named)[:SENTENCES]
    if not first:
        return
    (start, _), names = first[0]
    subject = names[0]
    if not _BEGINS.fullmatch(text[start : subject.start]):
        return
    for second in names[1:2]:
        if _is_defined(text, subject, second):
            yield 0, subject, second
    for number, ((start, _), names) in enumerate(first[1:], start=1):
        for second in _told(text, start, names, subject):
            yield number, subject, second


def _is_defined(text: str, subject: Mention, second: Mention) -> bool:
    """Check for "X or Y was", and "X (Y) is" of what is no person, place or organisation."""
    if _differ(subject, second):
        return False
    between = text[subject.end : second.start]
    if _OR.fullmatch(between):
        return bool(_IS.match(text, second.end))
    untyped = {subject.type, second.type} <= _UNTYPED
    return bool(
        untyped and _IN_BRACKETS.fullmatch(between) and _IS_BEHIND_BRACKETS.match(text, second.end)
    )


def _told(text: str, start: int, names: Sequence[Mention], subject: Mention) -> Iterator[Mention]:
    """Return the second names that a sentence states of the one whom its pronoun means."""
    stands = _STANDS_FOR.match(text, start)
    if stands is None or bool(stands["person"]) != (subject.type == "PERSON"):
        return
    said = text[stands.end() : names[0].start]
    if not _KNOWN_AS.fullmatch(said) or _differ(subject, names[0]):
        return
    yield names[0]
    separators = _NEXT if _LISTED.search(" " + said) else _OR
    for before, each in pairwise(names[:MOST]):
        if not separators.fullmatch(text[before.end : each.start]) or _differ(subject, each):
            return
        yield each


def _differ(one: Mention, other: Mention) -> bool:
    return {one.type, other.type} <= _STRONG and one.type != other.type
