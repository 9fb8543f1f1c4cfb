"""Names that may be short for a fuller one: who "Clarence Brown" is where a text introduces
"Clarence Leon Brown".

Resolution makes one entity of two names only where it can be sure; a walk may follow what is merely
likely, since the question chooses among the passages that it leads to. Pure; knows keys alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from .name_parts import parts_of

Words = tuple[str, ...]
_JOINING = frozenset({"of", "in", "on", "at", "and", "the", "for", "to", "with", "from", "&"})
"""Where these stand, a longer name is another thing: "Beer in Hong Kong", "Bank of England"."""


def shorter_names(
    known: Iterable[str], introduced: Iterable[tuple[str, str]]
) -> dict[str, set[str]]:
    """Place → those of the known names that may be short for one that is introduced there.

    `introduced` are places and name keys, in any order. Looks only at names of two words and more
    that end alike, so the cost is that of the names, not of their pairs.
    """
    fuller: defaultdict[str, defaultdict[Words, set[str]]] = defaultdict(lambda: defaultdict(set))
    for place, key in introduced:
        words = _words(key)
        if words:
            fuller[words[-1]][words].add(place)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for key in known:
        if key.rpartition(" ")[2] not in fuller:
            continue
        words = _words(key)
        for longer, places in fuller[words[-1]].items() if words else ():
            if is_short_for(words, longer):
                for place in places:
                    found[place].add(key)
    return dict(found)


def is_short_for(shorter: Words, longer: Words) -> bool:
    """Whether all words of one name stand in another in this order, the last as the last.

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
    """The words of a name that is made of words alone, two or more; else none."""
    if " " not in key:
        return ()
    words = parts_of(key).words
    whole = len(words) > 1 and len(words[-1]) > 1 and all(word.isalpha() for word in words)
    return words if whole and not _JOINING.intersection(words) else ()
