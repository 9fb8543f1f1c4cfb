"""Names that may be short for others: "Clarence Brown" for an introduced "Clarence Leon Brown"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from .patterns import lazy_regex

Words = tuple[str, ...]
_SEPARATORS = lazy_regex(r"[.\-–—‐,\s]+")
_JOINING = frozenset({"of", "in", "on", "at", "and", "the", "for", "to", "with", "from", "&"})
"""Words that make a longer name another thing: "Beer in Hong Kong", "Bank of England"."""


def shorter_names(known: Iterable[str], introduced: Iterable[str]) -> dict[str, set[str]]:
    """Map introduced names to known ones that may be short for them.

    Compared are only names of two words and more whose last words are equal and whose first word,
    or initial, stands in the other.
    """
    ends: defaultdict[tuple[str, str], list[tuple[Words, str]]] = defaultdict(list)
    for key in known:
        words = name_words(key)
        if words:
            ends[words[0], words[-1]].append((words, key))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for key in introduced:
        words = name_words(key)
        for first in first_words(words):
            for shorter, name in ends.get((first, words[-1]), ()):
                if is_short_for(shorter, words):
                    found[key].add(name)
    return dict(found)


def first_words(longer: Words) -> set[str]:
    """Return the words that a name that is short for this one may begin with."""
    return {part for word in longer[:-1] for part in (word, word[0])}


def is_short_for(shorter: Words, longer: Words) -> bool:
    """Check whether one name's words occur in another in order, the last word last.

    Initials stand for words that begin so; of names of one length either may have them.
    """
    if shorter == longer or shorter[-1] != longer[-1] or len(shorter) > len(longer):
        return False
    if len(shorter) == len(longer):
        return all(_alike(a, b) or _alike(b, a) for a, b in zip(shorter, longer, strict=True))
    rest = iter(longer[:-1])
    return all(any(_alike(word, other) for other in rest) for word in shorter[:-1])


def _alike(short: str, full: str) -> bool:
    return short == full or (len(short) == 1 and full.startswith(short))


def name_words(key: str) -> Words:
    """Return the words of a multi-word name; empty for others."""
    if " " not in key:
        return ()
    words = tuple(filter(None, _SEPARATORS.split(key)))
    whole = len(words) > 1 and len(words[-1]) > 1 and all(map(str.isalpha, words))
    return words if whole and not _JOINING.intersection(words) else ()
