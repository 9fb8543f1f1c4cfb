"""Resolution rules for persons: fitting given names, unique surnames.

Propose links as those in `rules` do; where a name could mean two persons of the documents that
mention it, nothing is proposed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..text.cjk import HAN
from .name_parsing import (
    COMMON_GIVEN_NAMES,
    DIMINUTIVES,
    EPITHETS,
    FAMILY_TITLES,
    GENERATIONS,
    HAN_TITLES,
    MARRIED_TITLES,
    PARTICLES,
    RANKS,
    VENERABLE,
    NameBeginning,
    NameParts,
    beginnings_of,
    fit_together,
    han_surname,
    is_of_husband,
    is_shorter_name,
    one_person,
)
from .rules import (
    BOTH,
    CROWD,
    IDENTITY,
    MEMBER,
    READER,
    Block,
    Link,
    Profile,
    Profiles,
    Root,
    blocking_keys,
    share_document,
)

_HONOURED = re.compile(rf"(?P<name>[{HAN}]{{2,4}}?)(?P<title>{'|'.join(HAN_TITLES)})")
FOREMOST_DOCUMENTS, FOREMOST_MENTIONS = 5, 30
"""In fewer documents, where name and title have fewer mentions, nobody of a surname is foremost."""
FOREMOST_FACTOR, FOREMOST_LEAD = 5, 2
"""Frequency ratio that makes one bearer of a surname the main one, and the least without what may
be called so: 关公 stands oftener for 关羽 than that name."""
FIRST_NAME_TERMS = 5
"""Mentions from which a usual given name, "Bob", is how a text calls the one who has it."""
MOST_INFORMAL, KNOWN = 20, 3
"""Frequency ratio above which a given name belongs to another person than the rare full name, that
is said fewer times than this."""
TOLD_APART = 10
"""Mentions in a document, on average, by title and full name, which the surname alone would spare.
"""
IN_PASSING = 20
"""Mentions of a short name from which what is said once besides is no full name of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cluster:
    count: int
    documents: frozenset[str]


# --- persons with more or fewer given names -----------------------------------------------------


def full_name_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """ "John Smith" / "John Q. Smith" / "J. Smith", where only one reading is possible.

    Two names must share a document, their surname and a first name or its initial; the shorter one
    must fit no other person of the library.
    """
    persons = {k: p for k, p in profiles.items() if _is_full_person(p)}
    for _, keys in blocking_keys(persons, lambda p: p.parts.words[-1] + p.parts.words[0][0]):
        for key in keys:
            fuller = [
                o
                for o in keys
                if o != key
                and is_shorter_name(persons[key].parts, persons[o].parts)
                and not _is_familiar(persons[key], persons[o])
            ]
            if not fuller or not one_person([persons[o].parts for o in fuller]):
                continue
            near = [o for o in fuller if share_document(persons[key], persons[o])]
            if persons[key].is_bare_title:
                near = [o for o in near if persons[o].may_be_person]
            for other in near:
                if root(key) != root(other):
                    yield Link(
                        key=key,
                        other=other,
                        reason="the same surname, given names that fit, no other such person",
                        lesser=key if _is_lesser(persons[key], persons[other]) else "",
                    )


def _is_familiar(profile: Profile, other: Profile) -> bool:
    """Check for "Tom Bertram" beside "Sir Thomas Bertram", who may be his father."""
    is_short = other.parts.words[0] in DIMINUTIVES.get(profile.parts.words[0], ())
    return is_short and bool({*other.parts.titles} - {*profile.parts.titles})


def _is_lesser(profile: Profile, other: Profile) -> bool:
    """Check for an initial, or a short given name that stands for the other's: "Eliza Bennet"."""
    given, full = profile.parts.words[0], other.parts.words[0]
    return min(map(len, profile.parts.words)) == 1 or full in DIMINUTIVES.get(given, ())


def person_blocks(profile: Profile) -> Iterator[Block]:
    """Yield the blocks of this module's rules."""
    words = profile.parts.words
    match = _HONOURED.fullmatch(profile.name.key)
    if match and not profile.parts.han_title:
        yield f"{IDENTITY}{match['name']}", READER
    if _is_full_person(profile):
        yield f"full name {words[-1]}{words[0][0]}", BOTH
        if profile.may_be_person:
            yield from ((_begun(each), MEMBER) for each in beginnings_of(profile.parts))
    if " " in profile.name.key and (profile.may_be_person or profile.is_bare_title):
        yield _begun((words, profile.parts.numbers)), READER
    part = _short_part(profile)
    for each in sorted(_parts_shared(profile)):
        yield f"short {each}", BOTH if each == part else MEMBER


def _begun(beginning: NameBeginning) -> str:
    words, numbers = beginning
    return f"begun {' '.join(words)}|{' '.join(numbers)}"


def _parts_shared(profile: Profile) -> set[str]:
    """Return the surnames and given names by which `short_name_links` finds a name."""
    found = {_short_part(profile)}
    if profile.may_be_person or profile.is_bare_title:
        found |= _long_parts(profile)
    if profile.is_han:
        found.add(profile.name.key)
    if profile.parts.gender:
        found.add(_surname(profile))
    return found - {""}


def begun_name_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """ "Gregorio Pacheco" for "Gregorio Pacheco Leyes", in the document of that title.

    Nothing where two longer names begin so. No son's name for the father's, and no "Adam Smith
    Prize", which a tagger takes for a person.
    """
    longer: defaultdict[NameBeginning, list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        if profile.may_be_person and _is_full_person(profile):
            for beginning in beginnings_of(profile.parts):
                longer[beginning].append(key)
    for key, profile in profiles.items():
        if " " not in key or profile.is_han or not (profile.may_be_person or profile.is_bare_title):
            continue
        found = longer.get((profile.parts.words, profile.parts.numbers), ())
        if len(found) > CROWD:
            continue
        near = [o for o in found if profile.name.titles & profiles[o].name.documents]
        if len({root(other) for other in found}) == 1:
            for other in near:
                yield Link(
                    key=key,
                    other=other,
                    reason=f"{other!r} begins so in the document of that title",
                    lesser=key if profile.is_bare_title else "",
                )


def _is_full_person(profile: Profile) -> bool:
    words = profile.spoken_words
    may_be = profile.may_be_person or profile.is_bare_title
    if profile.is_relational or len({*words}) < len(words):
        return False
    return may_be and not profile.is_han and len(words) > 1 and len(profile.parts.words[-1]) > 1


def honorific_links(profiles: Profiles) -> Iterator[Link]:
    """ "玄德公", "林若溪教授": a Chinese person's name of two characters or more, and a title."""
    for key, profile in profiles.items():
        match = _HONOURED.fullmatch(key)
        if not match or profile.parts.han_title or match["title"] in MARRIED_TITLES:
            continue
        other = profiles.get(match["name"])
        if other is not None and other.may_be_person and share_document(profile, other):
            yield Link(
                key=key,
                other=match["name"],
                reason=f"the same name without the title {match['title']!r}",
                lesser=key,
                any_type=profile.kind in {"", "CONCEPT"},
            )


# --- a part of a name for the whole -------------------------------------------------------------


def short_name_links(
    profiles: Profiles, root: Root, told: Mapping[str, Sequence[NameParts]] | None = None
) -> Iterator[Link]:
    """Surnames, given names and "surname + title" for the one person they can mean.

    `told` maps documents to the parts of their titles; without it, those of these profiles.
    """
    index = _persons_by_part(profiles, root)
    titled = _titled_by_surname(profiles)
    shorts = _short_names(profiles)
    titled_keys = {
        part: [k for k in keys if profiles[k].parts.titles and not profiles[k].parts.han_title]
        for part, keys in shorts.items()
    }
    clusters = _clusters(profiles, root)
    told = _titles_of(profiles) if told is None else told
    shared = Counter(part for profile in profiles.values() for part in _parts_shared(profile))
    for key, profile in profiles.items():
        part = _short_part(profile)
        if not part or shared[part] > CROWD:
            continue
        owners = index.get(part, {})
        if titled_keys.get(part):
            said = sum(profiles[k].count for k in shorts[part])
            owners = {
                top: ks for top, ks in owners.items() if not _is_in_passing(ks, said, profiles)
            }
        near = {r: ks for r, ks in owners.items() if _near(profile, profiles, ks)}
        subject = ""
        if len(near) > 1:
            subject = _of_the_title(profile, near, profiles)
            subject = subject or _subject(profile, near, profiles, told)
            subject = subject or _far_foremost(profile, near, profiles)
        if subject:
            near = {subject: near[subject]}
        near_titled = (*titled.get(part, ()), *(profiles[k] for k in titled_keys.get(part, ())))
        owner, keys = next(iter(near.items())) if len(near) == 1 else ("", ())
        # Somewhere it stands without a full name, and there is another such person; or Mr and Mrs
        # Darling are named, and either may be meant.
        is_one = len(near) == 1 and profile.parts.titles != (VENERABLE,)
        is_sure = bool(subject) or len(owners) < 2 or _covered(profile, profiles, keys)
        if not (is_one and is_sure) or not _one_bearer(profile, near_titled, profiles, keys):
            yield from _for_the_foremost(key, owners, profiles, clusters)
            yield from _bare_for_titled(key, owners, titled_keys.get(part, ()), profiles)
            continue
        target = min(keys, key=lambda k: (-profiles[k].count, k))
        if root(key) == owner or not _may_stand_for(profile, part, target, keys, profiles):
            continue
        yield Link(
            key=key,
            other=target,
            reason=f"the only {part!r} in the documents that mention it is {target!r}",
            lesser=key,
        )


def _clusters(profiles: Profiles, root: Root) -> dict[str, _Cluster]:
    """Root → how often an entity is named so far, and in which documents."""
    members: defaultdict[str, list[Profile]] = defaultdict(list)
    for key, profile in profiles.items():
        members[root(key)].append(profile)
    return {
        top: _Cluster(
            count=sum(p.count for p in some),
            documents=frozenset().union(*(p.name.documents for p in some)),
        )
        for top, some in members.items()
    }


def _for_the_foremost(
    key: str,
    owners: Mapping[str, Sequence[str]],
    profiles: Profiles,
    clusters: Mapping[str, _Cluster],
) -> Iterator[Link]:
    """ "曹丞相" for 曹操 in a library of many 曹, where he is by far the foremost of them.

    A Chinese surname with a title, said in several documents or often, of which most name him, who
    is named several times as often as any other of that surname, the name with the title counted.
    No husband's name for a wife's.
    """
    profile = profiles[key]
    documents = profile.name.documents
    if not profile.parts.han_title or MARRIED_TITLES & {*profile.parts.titles}:
        return
    if not owners:
        return
    first, *others = sorted(owners, key=lambda top: (-clusters[top].count, top))
    shared = len(documents & clusters[first].documents)
    rivals = max((clusters[top].count for top in others), default=0)
    own = clusters[first].count
    is_often = min(own, profile.count) >= FOREMOST_MENTIONS and own >= FOREMOST_LEAD * rivals
    if len(documents) < FOREMOST_DOCUMENTS and not is_often:
        return
    is_far = own + (profile.count if is_often else 0) >= FOREMOST_FACTOR * rivals
    if 3 * shared <= 2 * len(documents) or not is_far:
        return
    target = min(owners[first], key=lambda k: (-profiles[k].count, k))
    if profiles[target].kind != "PERSON":
        return
    yield Link(
        key=key,
        other=target,
        reason=f"of all {profile.parts.words[0]!r} by far the most named is {target!r}, in most "
        "documents that mention it",
        lesser=key,
        any_type=True,  # style names among the others may be taken for words by a tagger
    )


def _of_the_title(profile: Profile, near: Mapping[str, Sequence[str]], profiles: Profiles) -> str:
    """Return the only person who has the title of "Captain Bastienne" before a full name."""
    titles = {*profile.parts.titles} - FAMILY_TITLES
    found = [
        top
        for top, keys in near.items()
        if any(titles & {*profiles[key].parts.titles} for key in keys)
    ]
    return found[0] if titles and len(found) == 1 else ""


def _far_foremost(profile: Profile, near: Mapping[str, Sequence[str]], profiles: Profiles) -> str:
    """Return the person who is named far more often than any other of that name, or "".

    In a novel that says "Anne Elliot" now and then, and "Anne Grierson" once, "Anne" is the former.
    What is said once is often a slip of a tagger.
    """
    if profile.is_han or profile.parts.titles:
        return ""
    said = {top: sum(profiles[key].count for key in keys) for top, keys in near.items()}
    first, *others = sorted(near, key=lambda top: (-said[top], top))
    is_far = said[first] >= KNOWN and all(
        said[each] == 1 or said[first] >= FOREMOST_FACTOR * said[each] for each in others
    )
    is_here = any(_inside(profile, profiles[key]) for key in near[first])
    return first if is_far and is_here else ""


def _titles_of(profiles: Profiles) -> dict[str, list[NameParts]]:
    """Document → the parts of its titles."""
    told: defaultdict[str, list[NameParts]] = defaultdict(list)
    for profile in profiles.values():
        for document in profile.name.titles:
            told[document].append(profile.parts)
    return dict(told)


def _subject(
    profile: Profile,
    near: Mapping[str, Sequence[str]],
    profiles: Profiles,
    told: Mapping[str, Sequence[NameParts]],
) -> str:
    """Return the person that all documents with a bare name are titled after, or "".

    In the life of Franck Piccard, which names his brothers in full, "Piccard" is he.
    """
    if profile.is_han or profile.parts.titles:
        return ""
    subject = ""
    for document in sorted(profile.name.documents):
        titled = _titled(near, told.get(document, ()), profiles)
        if not titled or subject not in {"", titled}:
            return ""
        subject = titled
    return subject


def _titled(
    near: Mapping[str, Sequence[str]], titles: Sequence[NameParts], profiles: Profiles
) -> str:
    """Return the only cluster with a title for a name, else the only fitting one."""
    for agree in (_same_words, fit_together):
        found = {
            top
            for top, keys in near.items()
            if any(agree(title, profiles[k].parts) for title in titles for k in keys)
        }
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""


def _same_words(one: NameParts, other: NameParts) -> bool:
    return one.words == other.words


def _short_names(profiles: Profiles) -> dict[str, list[str]]:
    """Surname or given name → the keys that are that alone, with a title or without."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        if part := _short_part(profile):
            found[part].append(key)
    return dict(found)


def _is_in_passing(keys: Sequence[str], said: int, profiles: Profiles) -> bool:
    """Check for "Enter Ahab", said once in a library that says "Captain Ahab" all the time.

    `said` counts the mentions by the short name. A usual given name makes a full name of it.
    """
    given = {profiles[key].parts.words[0] for key in keys}
    is_once = sum(profiles[key].count for key in keys) == 1
    is_named = not given.isdisjoint(COMMON_GIVEN_NAMES | DIMINUTIVES.keys())
    return is_once and said >= IN_PASSING and not is_named


def _bare_for_titled(
    key: str, owners: Mapping[str, Sequence[str]], titled: Sequence[str], profiles: Profiles
) -> Iterator[Link]:
    """Link "Watson" to "Dr. Watson" if the surname has no other title, and hardly a full name.

    In a tale "Harville" is the Captain also beside a Mrs, a Miss and once a Fanny Harville.
    """
    profile = profiles[key]
    if profile.parts.titles or profile.name.key in COMMON_GIVEN_NAMES:
        return
    alone = [each for each in titled if not FAMILY_TITLES & {*profiles[each].parts.titles}]
    found = titled if len(titled) == 1 else alone
    if len(found) != 1 or not share_document(profile, profiles[found[0]]):
        return
    said = profiles[found[0]].count
    if all(
        said >= FOREMOST_FACTOR * sum(profiles[each].count for each in keys)
        for keys in owners.values()
    ):
        yield Link(
            key=key,
            other=found[0],
            reason=f"the only one called {key!r} alone in the library is {found[0]!r}",
            lesser=key,
        )


def _short_part(profile: Profile) -> str:
    """Return the surname or given name that is the whole key, titles aside; else ""."""
    parts = profile.parts
    if parts.numbers or parts.article or parts.suffix or profile.kind not in {"", "PERSON"}:
        return ""
    if parts.han_title:
        return parts.words[0]
    if profile.is_han:
        return profile.name.key if len(profile.name.key) <= 5 and "·" not in parts.plain else ""
    surname = _particled(profile)
    spoken = profile.spoken_words
    spoken = spoken[1:] if len(spoken) > 1 and spoken[0] in EPITHETS else spoken
    is_short = len(spoken) == len(surname.split()) and len(_surname(profile)) > 2
    return surname if is_short else ""


def _particled(profile: Profile) -> str:
    """Return the surname with the small words before it, as "de la rocha"."""
    start = len(profile.spoken_words) - 1
    while start > 0 and profile.spoken_words[start - 1] in PARTICLES:
        start -= 1
    return " ".join([*profile.spoken_words[start:-1], _surname(profile)])


def _surname(profile: Profile) -> str:
    """Return the last word of a name, a double surname with its hyphen."""
    words = profile.parts.words
    last = profile.spoken_words[-1]
    count = last.count("-") + 1
    doubled = "-".join(words[-count:])
    return doubled if doubled == last else words[-1]


def _persons_by_part(profiles: Profiles, root: Root) -> dict[str, dict[str, list[str]]]:
    """Surname or given name → cluster → the full names in it."""
    index: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    persons = {root(key) for key, profile in profiles.items() if profile.may_be_person}
    for key, profile in profiles.items():
        is_title = profile.is_bare_title and root(key) in persons
        for part in _long_parts(profile) if profile.may_be_person or is_title else ():
            if _is_run_on(profile, profiles.get(part)):
                continue
            index[part][root(key)].append(key)
    return {part: dict(owners) for part, owners in index.items()}


def _is_run_on(profile: Profile, rest: Profile | None) -> bool:
    """Check for "于孙策": a word before a full name that is more frequent."""
    is_full = rest is not None and profile.is_han and han_surname(rest.name.key) != ""
    return is_full and rest is not None and rest.count > profile.count


def _long_parts(profile: Profile) -> set[str]:
    if profile.parts.han_title:
        return set()
    if profile.is_han and "·" in profile.name.key:
        dotted = re.split("[·-]", profile.name.key)
        return {part for part in (dotted[0], dotted[-1]) if len(part) > 1}
    if profile.is_han:
        surname = han_surname(profile.name.key)
        given = profile.name.key[len(surname) :]
        return {surname, given} - {""} if surname and len(given) == 2 else {surname} - {""}
    words = profile.parts.words
    is_of_place = "of" in words or words[0] in RANKS
    if (
        len(profile.spoken_words) < 2
        or "and" in words
        or is_of_place
        or profile.is_relational
        or words[0] == words[-1]
    ):
        return set()
    if len(words) == 2 and words[0] in EPITHETS:
        return {words[0]}
    last = words[-2] if words[-1] in GENERATIONS and len(words) > 2 else _surname(profile)
    given = "" if is_of_husband(profile.parts) else words[0]
    parts = {given, last, _particled(profile)} - {" ".join(profile.spoken_words)}
    return {part for part in parts if len(part) > 2}


def _titled_by_surname(profiles: Profiles) -> dict[str, list[Profile]]:
    titled: defaultdict[str, list[Profile]] = defaultdict(list)
    for profile in profiles.values():
        if profile.parts.gender:
            titled[_surname(profile)].append(profile)
    return dict(titled)


def _one_bearer(
    profile: Profile, titled: Iterable[Profile], profiles: Profiles, keys: Iterable[str]
) -> bool:
    """Check whether titles or full names leave one person only.

    Where there is a Mrs or a Miss Harville, a Captain Harville is another person, and the bare name
    may mean either; "Captain James Harville" has his title.
    """
    near = [p for p in titled if p is profile or share_document(p, profile)]
    titles = {*profile.parts.titles}
    of_owner = [profiles[key].parts for key in keys]
    if any((titles - FAMILY_TITLES) & {*parts.titles} for parts in of_owner):
        return True
    genders = {p.parts.gender for p in near} - {""}
    is_family = any(FAMILY_TITLES & {*p.parts.titles} for p in near)
    is_mixed = len(genders) > 1 or (is_family and any(not p.parts.gender for p in near))
    if not is_mixed and not MARRIED_TITLES & titles:
        return True
    known = {parts.gender for parts in of_owner} - {""}
    is_alike = not FAMILY_TITLES & titles or any(titles & {*parts.titles} for parts in of_owner)
    return is_alike and len(known) == 1 and profile.parts.gender in known


def _may_stand_for(
    profile: Profile, part: str, target: str, keys: Iterable[str], profiles: Profiles
) -> bool:
    """Check that a short name may mean the person of these keys, of whom one is the `target`."""
    titles, full = {*profile.parts.titles}, profiles[target]
    words = full.parts.words
    if MARRIED_TITLES & titles and all(is_of_husband(profiles[key].parts) for key in keys):
        return False  # Mrs Charles Musgrove is called so beside a Mrs Musgrove
    is_given = not profile.is_han and part == words[0] and part != words[-1]
    if is_given:
        if part in COMMON_GIVEN_NAMES and not _on_first_name_terms(profile, keys, profiles):
            return False
        is_titled = any(titles <= {*profiles[key].parts.titles} for key in keys)  # Sir Walter
        return (not titles or is_titled) and _inside(profile, full)
    if profile.is_han and not profile.parts.han_title:
        return _inside(profile, full)
    # Mr. John Knightley, called so again and again, is not the Mr. Knightley beside him.
    return not any(
        titles & {*profiles[k].parts.titles} and _is_told_apart(profiles[k]) for k in keys
    )


def _is_told_apart(profile: Profile) -> bool:
    """Check for a title and a full name that texts say again and again."""
    words = len(profile.spoken_words)
    return words > 1 and profile.count >= TOLD_APART * len(profile.name.documents)


def _on_first_name_terms(profile: Profile, keys: Iterable[str], profiles: Profiles) -> bool:
    """Check that a text calls one by a usual given name, and by the full one now and then."""
    is_fond = profile.spoken_words[0] in EPITHETS
    in_full = sum(profiles[key].count for key in keys)
    return (is_fond or profile.count >= FIRST_NAME_TERMS) and (
        in_full >= KNOWN or profile.count <= MOST_INFORMAL * in_full
    )


def _near(profile: Profile, profiles: Profiles, keys: Iterable[str]) -> bool:
    return any(share_document(profile, profiles[key]) for key in keys)


def _covered(profile: Profile, profiles: Profiles, keys: Iterable[str]) -> bool:
    return profile.name.documents <= frozenset().union(*(profiles[k].name.documents for k in keys))


def _inside(profile: Profile, target: Profile) -> bool:
    return profile.name.documents <= target.name.documents
