"""Names whose written form shows a person, and the forms in which registers write names.

A tagger sees one word at a time and takes "Maeve Tolland" now for a company, now for a ship. The
same words behind "Dr." elsewhere in the library, or with the years of a life, show a person; so
does an initial before such a person's surname. Whoever is shown to be a person is one for all
rules, whatever the tagger says of a single mention.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from ..extraction.aliases import TRANSLITERATION
from ..text.cjk import has_han
from .name_parsing import (
    EPITHETS,
    NAMED_AFTER_PERSONS,
    NAMELIKE_TITLES,
    NameParts,
    is_shorter_name,
    parts_of,
)
from .rules import CROWD, MEMBER, READER, Block, Link, Profile, Profiles, Root, share_document

_LIFE = re.compile(r"(?P<name>\D+?),? \(?(?P<born>1\d{3}|20\d\d) ?[-–—] ?(?P<died>1\d{3}|20\d\d)")
_EPITHET = re.compile(rf"(?:{'|'.join(sorted(EPITHETS))}) (?=\S+ \S)")
_LIFETIME = range(15, 116)
_TURNED = re.compile(r"(?P<surname>[^\s\d,]+), (?P<given>[^\d,]+)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)+|[^\W\d_]")
_LONGEST = 4
_SMALL = frozenset({"of", "the", "and", "&", "for", "in", "on", "at"})
_RARE = 20
"""A name of more documents says nothing of what two documents have in common."""
_COMMON_GROUND = 2
_FOREIGN = 3


def with_persons(profiles: Profiles) -> dict[str, Profile]:
    """Return the profiles; those whose form shows a person are of that type in all mentions.

    Register forms of their names have the parts of the plain name.
    """
    shown = {profile.parts.words for profile in profiles.values() if shows_person(profile)}
    told = {
        key: with_plain_parts(profile)
        if is_register_form(profile, profiles.get(plain_form(key)), shown)
        else profile
        for key, profile in profiles.items()
    }
    shown |= {told[key].parts.words for key in told if told[key] is not profiles[key]}
    known = {words[-1]: words for words in sorted(shown)}
    return {
        key: as_person(profile) if is_shown(profile, shown, known) else profile
        for key, profile in told.items()
    }


Words = tuple[str, ...]


def shows_person(profile: Profile) -> bool:
    """Check for a title that shows the words behind it to be a person's."""
    return (
        bool({*profile.parts.titles} - NAMELIKE_TITLES)
        and may_be_personal(profile.parts.words)
        and not profile.is_relational
    )


def is_register_form(profile: Profile, plain: Profile | None, shown: Collection[Words]) -> bool:
    """Check for "Tolland, Maeve" beside "Maeve Tolland" (`plain`, if known), if a person."""
    key = profile.name.key
    form = plain_form(key)
    if form == key:
        return False
    words = parts_of(form).words
    is_person = words in shown or (plain is not None and plain.may_be_person)
    return is_person and may_be_personal(words)


def with_plain_parts(profile: Profile) -> Profile:
    """Return the profile of a register form with the parts of the plain name."""
    return replace(profile, parts=parts_of(plain_form(profile.name.key)))


def form_blocks(profile: Profile) -> Iterator[Block]:
    """Yield the blocks of `titled_name_links` and `initial_links`."""
    words = profile.parts.words
    if may_be_personal(words) and _may_be_unknown(profile):
        yield from ((f"ends {' '.join(words[at:])}", MEMBER) for at in range(1, len(words) - 1))
    if profile.may_be_person:
        if len(words) > 1:
            yield f"ends {' '.join(words)}", READER
        if len(profile.spoken_words) > 1 and not profile.is_han:
            initialled = READER * is_initialled(profile)
            yield f"bearer {words[-1]} {words[0][0]}", MEMBER | initialled
        elif is_initialled(profile):
            yield f"bearer {words[-1]} {words[0][0]}", READER


def plain_form(key: str) -> str:
    """Return a name without epithet and the years of a life, the given names first."""
    life = _LIFE.fullmatch(key)
    if life and int(life["died"]) - int(life["born"]) in _LIFETIME:
        key = life["name"].strip()
    key = _EPITHET.sub("", key, count=1) if _EPITHET.match(key) else key
    turned = _TURNED.fullmatch(key)
    return f"{turned['given']} {turned['surname']}" if turned else key


def is_shown(profile: Profile, shown: Collection[Words], known: Mapping[str, Words]) -> bool:
    """Check whether the words of a name, or its initials and surname, are shown to be a person's.

    `known` has for a surname the full name that initials are compared with.
    """
    words = profile.parts.words
    if words in shown:
        return True
    full = known.get(words[-1]) if is_initialled(profile) else None
    return full is not None and is_shorter_name(profile.parts, NameParts(words=full))


def is_initialled(profile: Profile) -> bool:
    """Check for initials and a surname: "M. Tolland", "Mr. L. Garrod-Pyke"."""
    *initials, surname = profile.spoken_words
    return bool(initials) and len(surname) > 2 and all(map(_INITIALS.fullmatch, initials))


def may_be_personal(words: Words) -> bool:
    """Check that a name's words may be a person's."""
    return 2 <= len(words) <= _LONGEST and not {*words} & (NAMED_AFTER_PERSONS | _SMALL)


def as_person(profile: Profile) -> Profile:
    """Return the profile with all mentions taken for a person's."""
    types = Counter(PERSON=sum(profile.name.types.values()))
    return replace(profile, name=replace(profile.name, types=dict(+types)), kind="PERSON")


def titled_name_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """ "Ingrid Maeve Tolland" for "Maeve Tolland", in the document of that title.

    Nothing where two longer names of the library end so.
    """
    longer: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        words = profile.parts.words
        if may_be_personal(words) and _may_be_unknown(profile):
            for start in range(1, len(words) - 1):
                longer[words[start:]].append(key)
    for key, profile in profiles.items():
        others = longer.get(profile.parts.words, ())
        if not profile.may_be_person or len(others) > CROWD:
            continue
        if len({root(other) for other in others}) != 1:
            continue
        for other in others:
            if profile.name.titles & profiles[other].name.documents:
                yield Link(
                    key=other,
                    other=key,
                    reason=f"{other!r} ends so in the document of that title",
                )


def _may_be_unknown(profile: Profile) -> bool:
    """Check for a name that a tagger may have taken for nothing but a name."""
    return profile.kind in {"", "PERSON"} and not profile.is_han and not profile.is_relational


def initial_links(
    profiles: Profiles, root: Root, named: Mapping[str, Collection[str]] | None = None
) -> Iterator[Link]:
    """ "M. Tolland" for the only such Tolland of the library, in documents about the same things.

    About the same things are documents that have two names in common that few others have: those
    that `named` gives for each document, without it those of these profiles.
    """
    fuller = defaultdict[str, list[str]](list)
    for key, other in initial_candidates(profiles):
        fuller[key].append(other)
    named = _names_of_documents(profiles) if named is None else named
    for key in sorted(fuller):
        profile = profiles[key]
        if len({root(other) for other in fuller[key]} - {root(key)}) != 1:
            continue
        near = [
            other
            for other in sorted(fuller[key])
            if share_document(profile, profiles[other])
            or _common_ground(profile, profiles[other], named) >= _COMMON_GROUND
        ]
        for other in near[:1]:
            yield Link(
                key=key,
                other=other,
                reason="the only person of that surname whom the initials fit",
                lesser=key,
            )


def _names_of_documents(profiles: Profiles) -> dict[str, set[str]]:
    named: defaultdict[str, set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        if is_common_ground(profile):
            for document in profile.name.documents:
                named[document].add(key)
    return named


def is_common_ground(profile: Profile) -> bool:
    """Check whether documents with this name in common may be about the same things."""
    return profile.kind != "CONCEPT" and 1 < len(profile.name.documents) <= _RARE


def initial_candidates(profiles: Profiles) -> Iterator[tuple[str, str]]:
    """Yield each name with initials, and the fuller names that these fit."""
    bearers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        if profile.may_be_person and len(profile.spoken_words) > 1 and not profile.is_han:
            bearers[_surname_and_initial(profile)].append(key)
    for key, profile in profiles.items():
        if profile.may_be_person and is_initialled(profile):
            others = bearers[_surname_and_initial(profile)]
            for other in others if len(others) <= CROWD else ():
                if other != key and is_shorter_name(profile.parts, profiles[other].parts):
                    yield key, other


def _surname_and_initial(profile: Profile) -> tuple[str, str]:
    words = profile.parts.words
    return words[-1], words[0][0]


def _common_ground(one: Profile, other: Profile, named: Mapping[str, Collection[str]]) -> int:
    return len(
        _named_in(one.name.documents, named)
        & _named_in(other.name.documents, named) - {one.name.key, other.name.key}
    )


def _named_in(documents: Iterable[str], named: Mapping[str, Collection[str]]) -> set[str]:
    return set().union(*(named.get(document, set()) for document in documents))


def translated_part_links(aliases: Iterable[tuple[str, str]], profiles: Profiles) -> Iterator[Link]:
    """ "临澜" for "Linlan" where a text states "临澜海洋大学（Linlan Ocean University）".

    Both longer names begin with a shorter one of one type. Nothing where a name would have two
    translations.
    """
    found: set[tuple[str, str]] = set()
    for pair in aliases:
        for name, second in (pair, pair[::-1]):
            if has_han(name) and not has_han(second):
                found.update(_begun_alike(name, second, profiles))
    for place in (0, 1):
        times = Counter(pair[place] for pair in found)
        found = {pair for pair in found if times[pair[place]] == 1}
    for name, second in sorted(found):
        yield Link(
            key=name,
            other=second,
            reason="longer names that begin so are stated to be one in two languages",
            any_type=True,
        )


def beginnings(name: str) -> list[str]:
    """Return the shorter names that a name begins with, the longest first."""
    if has_han(name):
        return [name[:end] for end in range(len(name) - 1, 1, -1)]
    words = name.split()
    return [" ".join(words[:end]) for end in range(len(words) - 1, 0, -1)]


def _begun_alike(name: str, second: str, profiles: Profiles) -> Iterator[tuple[str, str]]:
    """Return the known names that both begin with, the longest of each, if of one type."""
    heads, begins = beginnings(name), beginnings(second)
    head = next((profiles[each] for each in heads if each in profiles), None)
    begin = next((profiles[each] for each in begins if each in profiles), None)
    if head and begin and _may_be_of_one_type(head, begin):
        yield head.name.key, begin.name.key


def _may_be_of_one_type(one: Profile, other: Profile) -> bool:
    if "CONCEPT" in (one.kind, other.kind):
        return False
    if len(one.name.key) >= _FOREIGN and {*one.name.key} <= TRANSLITERATION:
        return True  # of "布兰诺克" a tagger knows no more than that it is foreign
    if one.kind and other.kind:
        return one.kind == other.kind
    return one.kind in other.name.types or other.kind in one.name.types
