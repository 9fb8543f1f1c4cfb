"""Short forms of names.

"Clarence Brown" where a text introduces "Clarence Leon Brown".

Resolution makes one entity of two names only where it can be sure; a walk may follow what is merely
likely, since the question chooses among the passages that it leads to. Pure; knows keys alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

Words = tuple[str, ...]
_SEPARATORS = re.compile(r"[.\-–—‐,\s]+")
_JOINING = frozenset({"of", "in", "on", "at", "and", "the", "for", "to", "with", "from", "&"})
"""Words that make a longer name another thing: "Beer in Hong Kong", "Bank of England"."""


def shorter_names(
    known: Collection[str], introduced: Iterable[tuple[str, str]]
) -> dict[str, set[str]]:
    """Map places to known names that may be short for one introduced there.

    `introduced` are places and name keys, in any order. Compared are only names of two words and
    more whose last words are equal and whose first word, or initial, stands in the other.
    """
    ends: defaultdict[tuple[str, str], list[tuple[Words, str]]] = defaultdict(list)
    for key in known:
        words = _words(key)
        if words:
            ends[words[0], words[-1]].append((words, key))
    found: defaultdict[str, set[str]] = defaultdict(set)
    for place, key in introduced:
        words = _words(key)
        for first in {part for word in words[:-1] for part in (word, word[0])}:
            for shorter, name in ends.get((first, words[-1]), ()):
                if is_short_for(shorter, words):
                    found[place].add(name)
    return dict(found)


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


def _words(key: str) -> Words:
    """Return the words of a multi-word name; empty for others."""
    if " " not in key:
        return ()
    words = tuple(filter(None, _SEPARATORS.split(key)))
    whole = len(words) > 1 and len(words[-1]) > 1 and all(map(str.isalpha, words))
    return words if whole and not _JOINING.intersection(words) else ()
