"""Relational names: names made of an owner's name ("Scrooge's nephew", "son of Marozia", 曹操之子).

Such a name means another thing than its owner, however alike their keys are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ..text.cjk import HAN, has_han
from ..text.names import name_key
from ..text.patterns import lazy_regex
from .name_parsing import parts_of

_RELATIONS = """
aunt brother child children companion corpse cousin daughter father friend ghost granddaughter
grandfather grandmother grandson heir husband mistress mother nephew niece parents partner pupil
servant sister son spirit spouse uncle widow widower wife
"""
_POSSESSIVE = lazy_regex(r"(?P<owner>.*\S)(?:['’]s|(?<=s)['’])\s+(?=\S)", re.IGNORECASE | re.DOTALL)
_OF_RELATION = lazy_regex(
    rf"(?:.*[\s,-])?(?:{'|'.join(_RELATIONS.split())})\s+of\s+(?:the\s+)?(?P<owner>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_HAN_OWNER = lazy_regex(rf"(?P<owner>[{HAN}·]+)[之的](?=[{HAN}])")
_OWN_POSSESSIVE = lazy_regex(r"(?:['’]s|s['’])$", re.IGNORECASE)


def owners_of(surfaces: Iterable[str]) -> frozenset[str]:
    """Return the keys of the owners that a name's spellings state; empty for most names."""
    return frozenset().union(*map(_owners, surfaces))


@lru_cache(maxsize=50_000)
def _owners(surface: str) -> frozenset[str]:
    patterns = (_POSSESSIVE, _OF_RELATION, _HAN_OWNER)
    found = (pattern.match(surface) for pattern in patterns)
    return frozenset(name_key(match["owner"]) for match in found if match) - {""}


def means_owner(key: str, surfaces: Iterable[str], *, owners: Iterable[str]) -> bool:
    """Check whether a name means one of these owners, in full or by a part of the name.

    "Lloyd's" is no owner of "Lloyd's of London", but a short form: it has the possessive itself.
    """
    owners = tuple(owners)
    if not owners or all(map(_OWN_POSSESSIVE.search, surfaces)):
        return False
    return any(_is_part(key, owner) or _is_part(owner, key) for owner in owners)


def _is_part(one: str, other: str) -> bool:
    if has_han(one) and has_han(other):
        return one in other
    return {*parts_of(one).words} <= {*parts_of(other).words}
