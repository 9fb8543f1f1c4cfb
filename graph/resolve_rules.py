"""The rules by which two name keys may mean one thing, each with its reason in words.

Every rule blocks names by something that equal names share (surname, initials, plain form), so the
whole is near-linear in the number of names. A rule proposes links; `resolve` decides. Wherever two
readings are possible, no link is proposed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .model import Name
from .name_parts import (
    NameParts,
    han_surname,
    initials_match,
    initials_of,
    parts_of,
    singular,
)
from .person_words import COMMON_GIVEN_NAMES

Profiles = Mapping[str, "Profile"]
Root = Callable[[str], str]

_EXCLUSIVE = ("PERSON", "PLACE", "ORGANISATION", "WORK", "EVENT", "PRODUCT", "CONCEPT")
_STRONG_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Link:
    """A proposal: `key` and `other` mean one thing. `lesser` is the less full name of the two."""

    key: str
    other: str
    reason: str
    lesser: str = ""
    stated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A name with what its key and its types say."""

    name: Name
    parts: NameParts
    count: int
    kind: str
    """The type that clearly prevails, else ""."""

    @property
    def may_be_person(self) -> bool:
        """Whether nothing says that this is something other than a person."""
        return self.kind == "PERSON" or (self.kind == "" and "PERSON" in self.name.types)

    @property
    def is_han(self) -> bool:
        """Whether the key begins with a Han character."""
        return "\u4e00" <= self.name.key[:1] <= "\u9fff"


def profile_of(name: Name) -> Profile:
    """A name's profile; costs no more than its key is long."""
    kind = prevailing_type(Counter(name.types))
    return Profile(
        name=name, parts=parts_of(name.key), count=sum(name.surfaces.values()), kind=kind
    )


def prevailing_type(types: Counter[str]) -> str:
    """The type of most of the typed mentions (NAME aside), or "" where none has three fifths."""
    typed = {kind: n for kind, n in types.items() if kind != "NAME" and n > 0}
    if not typed:
        return ""
    best = min(typed, key=lambda kind: (-typed[kind], kind))
    return best if typed[best] >= _STRONG_SHARE * sum(typed.values()) else ""


def types_conflict(one: Counter[str], other: Counter[str]) -> bool:
    """Whether both sides are clearly things of different kinds."""
    first, second = prevailing_type(one), prevailing_type(other)
    return first in _EXCLUSIVE and second in _EXCLUSIVE and first != second


# --- variants of one spelling -------------------------------------------------------------------


def variant_links(profiles: Profiles) -> Iterator[Link]:
    """Titles, "the", corporate suffixes, hyphens, dots, and the plural of noun phrases.

    A key with a title joins the same words without it only when two or more words are left: what
    is left of "Mr. Holmes" is a surname, which `short_name_links` looks at. Two keys that differ
    only in their titles ("Mr Darling", "Mrs Darling") are not joined with each other.
    """
    for form, keys in _blocks(profiles, _variant_form):
        plain = min(keys, key=lambda key: (_adornments(profiles[key]), key))
        for key in keys:
            if key != plain:
                reason = _variant_reason(profiles[key].parts, form)
                lesser = key if _adornments(profiles[key]) > _adornments(profiles[plain]) else ""
                yield Link(key=key, other=plain, reason=reason, lesser=lesser)


def _variant_form(profile: Profile) -> str:
    parts = profile.parts
    if parts.han_title:
        return profile.name.key
    titles_count = not profile.may_be_person and profile.kind != ""
    if len(parts.words) == 1 or titles_count:
        person = "person" if profile.kind == "PERSON" else ""
        if parts.titles or person:
            return f"{person} {' '.join(parts.titles)}|{parts.plain}"
    if profile.kind == "CONCEPT":
        return "".join((*parts.words[:-1], singular(parts.words[-1])))
    return parts.plain


def _adornments(profile: Profile) -> int:
    parts = profile.parts
    return len(parts.titles) + parts.article + parts.suffix


def _variant_reason(parts: NameParts, form: str) -> str:
    if parts.titles:
        return f"the same name without the title {' '.join(parts.titles)!r}"
    if parts.suffix:
        return "the same name without its corporate suffix"
    if parts.article:
        return "the same name without its article"
    if parts.plain != form and "|" not in form:
        return "singular and plural of one noun phrase"
    return "the same name spelt with other hyphens, dots or spaces"


# --- persons with more or fewer given names -----------------------------------------------------


def full_name_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """ "John Smith" / "John Q. Smith" / "J. Smith", where only one reading is possible.

    Two names must share a document, their surname and a first name or its initial; the shorter one
    must fit no other person of the library.
    """
    persons = {k: p for k, p in profiles.items() if _is_full_person(p)}
    for _, keys in _blocks(persons, lambda p: p.parts.words[-1] + p.parts.words[0][0]):
        if len(keys) > 50:
            continue  # an initial and a surname that half the library shares decides nothing
        for key in keys:
            fuller = [o for o in keys if o != key and _fits(persons[key].parts, persons[o].parts)]
            if not fuller or not _one_person([persons[o].parts for o in fuller]):
                continue
            near = [o for o in fuller if _share_document(persons[key], persons[o])]
            for other in near:
                if root(key) != root(other):
                    yield Link(
                        key=key,
                        other=other,
                        reason="the same surname, given names that fit, no other such person",
                        lesser=key if min(map(len, persons[key].parts.words)) == 1 else "",
                    )


def _is_full_person(profile: Profile) -> bool:
    words = profile.parts.words
    return profile.may_be_person and not profile.is_han and len(words) > 1 and len(words[-1]) > 1


def _fits(shorter: NameParts, longer: NameParts) -> bool:
    """Whether all words of `shorter` stand in `longer` in order, perhaps as initials."""
    if len(shorter.words) > len(longer.words) or shorter.words[-1] != longer.words[-1]:
        return False
    if shorter.numbers != longer.numbers or shorter.words == longer.words:
        return False
    place = 0
    for word in shorter.words[:-1]:
        while place < len(longer.words) - 1 and not _same_given(word, longer.words[place]):
            place += 1
        if place == len(longer.words) - 1:
            return False
        place += 1
    return _same_given(shorter.words[0], longer.words[0])


def _same_given(short: str, full: str) -> bool:
    return short == full or (len(short) == 1 and full.startswith(short))


def _one_person(candidates: list[NameParts]) -> bool:
    """Whether all candidates may be one person: each fits the longest."""
    longest = max(candidates, key=lambda p: (len(p.words), len(p.plain), p.words))
    return all(p.words == longest.words or _fits(p, longest) for p in candidates)


# --- stated aliases and acronyms ----------------------------------------------------------------


def alias_links(aliases: Iterable[tuple[str, str]], root: Root) -> Iterator[Link]:
    """Pairs that a text states, unless the second name is stated of two different things."""
    stated = set(aliases)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for name, second in sorted(stated):
        owners[second].add(root(name))
    for name, second in sorted(stated):
        if len(owners[second] - {root(second)}) > 1:
            continue
        yield Link(
            key=second,
            other=name,
            reason=f"a text states that {name!r} is also known as {second!r}",
            lesser="" if (second, name) in stated else second,
            stated=True,
        )


def acronym_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """An acronym and the only name with its initials in the library, if they share a document."""
    expansions: defaultdict[str, set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        if len(profile.parts.words) > 1 and profile.kind not in {"PERSON", "CONCEPT"}:
            for initials in initials_of(key):
                expansions[initials].add(key)
    for key, profile in profiles.items():
        capitals = [s for s in profile.name.surfaces if s.isupper()]
        if not capitals or len(profile.parts.words) != 1 or len(key) < 3:
            continue
        letters = key.replace(".", "")
        found = [o for o in expansions.get(letters, ()) if initials_match(min(capitals), o)]
        if found and len({root(o) for o in found}) == 1:
            for other in sorted(found):
                if _share_document(profile, profiles[other]):
                    yield Link(
                        key=key,
                        other=other,
                        reason=f"the initials of {other!r}, in the same document",
                        lesser=key,
                    )


# --- a part of a name for the whole -------------------------------------------------------------


def short_name_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """Surnames, given names and "surname + title" for the one person they can mean."""
    index = _persons_by_part(profiles, root)
    titled = _titled_by_surname(profiles)
    titled_keys = _titled_short(profiles)
    for key, profile in profiles.items():
        part = _short_part(profile)
        if not part:
            continue
        owners = index.get(part, {})
        if not owners:
            yield from _bare_for_titled(key, profile, titled_keys.get(part, ()), profiles)
            continue
        near = {r: ks for r, ks in owners.items() if _near(profile, profiles, ks)}
        if len(near) != 1:
            continue
        owner, keys = next(iter(near.items()))
        if len(owners) > 1 and not _covered(profile, profiles, keys):
            continue  # somewhere it stands without a full name, and there is another such person
        if not _one_gender(profile, titled.get(part, ()), profiles, keys):
            continue  # Mr and Mrs Darling: either may be meant
        target = min(keys, key=lambda k: (-profiles[k].count, k))
        if root(key) == owner or not _may_stand_for(profile, part, profiles[target]):
            continue
        yield Link(
            key=key,
            other=target,
            reason=f"the only {part!r} in the documents that mention it is {target!r}",
            lesser=key,
        )


def _titled_short(profiles: Profiles) -> dict[str, list[str]]:
    """Surname → the keys that are a title and that surname alone."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        if profile.parts.titles and not profile.parts.han_title and _short_part(profile):
            found[_short_part(profile)].append(key)
    return dict(found)


def _bare_for_titled(
    key: str, profile: Profile, titled: Sequence[str], profiles: Profiles
) -> Iterator[Link]:
    """ "Watson" for "Dr. Watson", when no other title and no full name goes with the surname."""
    if profile.parts.titles or len(titled) != 1 or profile.name.key in COMMON_GIVEN_NAMES:
        return
    other = profiles[titled[0]]
    if _share_document(profile, other):
        yield Link(
            key=key,
            other=titled[0],
            reason=f"the only name with {key!r} in the library is {titled[0]!r}",
            lesser=key,
        )


def _short_part(profile: Profile) -> str:
    """The surname or given name that the whole key is, titles aside; "" for fuller names."""
    parts = profile.parts
    if parts.numbers or parts.article or parts.suffix or profile.kind not in {"", "PERSON"}:
        return ""
    if parts.han_title:
        return parts.words[0]
    if profile.is_han:
        return profile.name.key if len(profile.name.key) == 2 else ""
    return parts.words[0] if len(parts.words) == 1 and len(parts.words[0]) > 2 else ""


def _persons_by_part(profiles: Profiles, root: Root) -> dict[str, dict[str, list[str]]]:
    """Surname or given name → cluster → the full names in it."""
    index: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, profile in profiles.items():
        for part in _long_parts(profile):
            index[part][root(key)].append(key)
    return {part: dict(owners) for part, owners in index.items()}


def _long_parts(profile: Profile) -> set[str]:
    if not profile.may_be_person or profile.parts.han_title:
        return set()
    if profile.is_han:
        surname = han_surname(profile.name.key)
        given = profile.name.key[len(surname) :]
        return {surname, given} - {""} if surname and len(given) == 2 else {surname} - {""}
    words = profile.parts.words
    if len(words) < 2:
        return set()
    last = (
        words[-2] if words[-1] in {"jr", "sr", "ii", "iii", "iv"} and len(words) > 2 else words[-1]
    )
    return {part for part in (words[0], last) if len(part) > 2}


def _titled_by_surname(profiles: Profiles) -> dict[str, list[Profile]]:
    titled: defaultdict[str, list[Profile]] = defaultdict(list)
    for profile in profiles.values():
        if profile.parts.gender:
            titled[profile.parts.words[-1]].append(profile)
    return dict(titled)


def _one_gender(
    profile: Profile, titled: Iterable[Profile], profiles: Profiles, keys: Iterable[str]
) -> bool:
    """Whether titles beside `profile` leave one person only, or the full names tell which."""
    near = [p for p in titled if p is profile or _share_document(p, profile)]
    genders = {p.parts.gender for p in near}
    of_owner = {profiles[key].parts.gender for key in keys} - {""}
    return len(genders) < 2 or (len(of_owner) == 1 and profile.parts.gender in of_owner)


def _may_stand_for(profile: Profile, part: str, target: Profile) -> bool:
    words = target.parts.words
    is_given = not profile.is_han and part == words[0] and part != words[-1]
    if is_given:
        return not (profile.parts.titles or part in COMMON_GIVEN_NAMES) and _inside(profile, target)
    if profile.is_han and not profile.parts.han_title:
        return _inside(profile, target)
    return True


def _near(profile: Profile, profiles: Profiles, keys: Iterable[str]) -> bool:
    return any(_share_document(profile, profiles[key]) for key in keys)


def _covered(profile: Profile, profiles: Profiles, keys: Iterable[str]) -> bool:
    return profile.name.documents <= frozenset().union(*(profiles[k].name.documents for k in keys))


def _inside(profile: Profile, target: Profile) -> bool:
    return profile.name.documents <= target.name.documents


def _share_document(one: Profile, other: Profile) -> bool:
    return not one.name.documents.isdisjoint(other.name.documents)


def _blocks(profiles: Profiles, form: Callable[[Profile], str]) -> Iterator[tuple[str, list[str]]]:
    """Keys that share a form, two or more, sorted, in the order of the forms."""
    blocks: defaultdict[str, list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        blocks[form(profile)].append(key)
    for shared in sorted(blocks):
        if shared and len(blocks[shared]) > 1:
            yield shared, sorted(blocks[shared])
