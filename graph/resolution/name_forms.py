"""Names whose written form shows a person, and the forms in which registers write names.

A tagger sees one word at a time and takes "Maeve Tolland" now for a company, now for a ship. The
same words behind "Dr." elsewhere in the library, or with the years of a life, show a person; so
does an initial before such a person's surname. Whoever is shown to be a person is one for all
rules, whatever the tagger says of a single mention.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from .name_parsing import NAMED_AFTER_PERSONS, NAMELIKE_TITLES, NameParts, is_shorter_name, parts_of
from .rules import Link, Profile, Profiles, Root, share_document

_LIFE = re.compile(r"(?P<name>[^\d,]+?),? \(?(?P<born>1\d{3}|20\d\d) ?[-–—] ?(?P<died>1\d{3}|20\d\d)")
_LIFETIME = range(15, 116)
_TURNED = re.compile(r"(?P<surname>[^\s\d,]+), (?P<given>[^\d,]+)")
_INITIALS = re.compile(r"(?:[^\W\d_]\. ?)+(?P<surname>[^\W\d_][^\s\d.,]{2,})")
_LONGEST = 4
_SMALL = frozenset({"of", "the", "and", "&", "for", "in", "on", "at"})
_RARE = 20
"""A name of more documents says nothing of what two documents have in common."""
_COMMON_GROUND = 2


def with_persons(profiles: Profiles) -> dict[str, Profile]:
    """Return the profiles; those whose form shows a person with that type for all mentions."""
    shown: set[tuple[str, ...]] = set()
    for key, profile in profiles.items():
        words = profile.parts.words
        if {*profile.parts.titles} - NAMELIKE_TITLES and _may_be_personal(words):
            shown.add(words)
        name = _of_a_life(key)
        if name is not None and _may_be_personal(parts_of(name).words):
            shown.add(parts_of(name).words)
    known = {words[-1]: words for words in sorted(shown)}
    return {
        key: _as_person(profile) if _is_shown(profile, shown, known) else profile
        for key, profile in profiles.items()
    }


def _is_shown(
    profile: Profile, shown: set[tuple[str, ...]], known: Mapping[str, tuple[str, ...]]
) -> bool:
    if profile.is_bare_title or profile.parts.words in shown:
        return profile.parts.words in shown
    initials = _INITIALS.fullmatch(profile.name.key)
    full = known.get(initials["surname"]) if initials else None
    return full is not None and is_shorter_name(profile.parts, NameParts(words=full))


def _may_be_personal(words: tuple[str, ...]) -> bool:
    return 2 <= len(words) <= _LONGEST and not {*words} & (NAMED_AFTER_PERSONS | _SMALL)


def _as_person(profile: Profile) -> Profile:
    types = Counter(PERSON=sum(profile.name.types.values()))
    return replace(profile, name=replace(profile.name, types=dict(+types)), kind="PERSON")


def _of_a_life(key: str) -> str | None:
    """Return the name before the years of a life ("maeve tolland, 1931–2009"), or None."""
    found = _LIFE.fullmatch(key)
    if found and int(found["died"]) - int(found["born"]) in _LIFETIME:
        return found["name"].strip()
    return None


def register_links(profiles: Profiles) -> Iterator[Link]:
    """ "Tolland, Maeve" and "Maeve Tolland, 1931–2009" for the person Maeve Tolland."""
    for key in profiles:
        turned = _TURNED.fullmatch(key)
        name = f"{turned['given']} {turned['surname']}" if turned else _of_a_life(key)
        other = profiles.get(name or "")
        if other is not None and other.may_be_person:
            yield Link(
                key=key,
                other=other.name.key,
                reason="the same name as registers write it",
                lesser=key,
                stated=True,
                any_type=True,
            )


def titled_name_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """ "Ingrid Maeve Tolland" for "Maeve Tolland", in the document of that title.

    Nothing where two longer names of the library end so.
    """
    longer: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        words = profile.parts.words
        if _may_be_personal(words) and profile.kind in {"", "PERSON"} and not profile.is_han:
            for start in range(1, len(words) - 1):
                longer[words[start:]].append(key)
    for key, profile in profiles.items():
        others = longer.get(profile.parts.words, ())
        if not profile.may_be_person or len({root(other) for other in others}) != 1:
            continue
        for other in others:
            if profile.name.titles & profiles[other].name.documents:
                yield Link(
                    key=other,
                    other=key,
                    reason=f"{other!r} ends so in the document of that title",
                )


def initial_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """ "M. Tolland" for the only Tolland of the library, in documents about the same things.

    About the same things are documents that have two names in common that few others have.
    """
    bearers: defaultdict[str, set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        words = profile.parts.words
        if profile.may_be_person and len(words) > 1 and not profile.is_han:
            bearers[words[-1]].add(key)
    named = _names_of_documents(profiles)
    for key, profile in sorted(profiles.items()):
        if not _INITIALS.fullmatch(key) or not profile.may_be_person:
            continue
        others = sorted(bearers[profile.parts.words[-1]] - {key})
        fuller = [o for o in others if is_shorter_name(profile.parts, profiles[o].parts)]
        if not fuller or len({root(other) for other in others} - {root(key)}) != 1:
            continue
        near = [
            other
            for other in fuller
            if share_document(profile, profiles[other])
            or _common_ground(profile, profiles[other], named) >= _COMMON_GROUND
        ]
        for other in near[:1]:
            yield Link(
                key=key,
                other=other,
                reason="the only person of that surname, and the initials fit",
                lesser=key,
            )


def _names_of_documents(profiles: Profiles) -> dict[str, set[str]]:
    named: defaultdict[str, set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        if profile.kind != "CONCEPT" and 1 < len(profile.name.documents) <= _RARE:
            for document in profile.name.documents:
                named[document].add(key)
    return named


def _common_ground(one: Profile, other: Profile, named: Mapping[str, set[str]]) -> int:
    return len(
        _named_in(one.name.documents, named) & _named_in(other.name.documents, named)
        - {one.name.key, other.name.key}
    )


def _named_in(documents: Iterable[str], named: Mapping[str, set[str]]) -> set[str]:
    return set().union(*(named.get(document, set()) for document in documents))
