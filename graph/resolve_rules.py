"""Resolution rules that link two name keys, with reasons.

Every rule blocks names by something that equal names share (surname, initials, plain form), so the
whole is near-linear in the number of names. A rule proposes links; `resolve` decides. Wherever two
readings are possible, no link is proposed. Rules for persons are in `person_rules`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
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

Profiles = Mapping[str, "Profile"]
Root = Callable[[str], str]

_EXCLUSIVE = ("PERSON", "PLACE", "ORGANISATION", "WORK", "EVENT", "PRODUCT", "CONCEPT")
_STRONG_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Link:
    """Proposed link of `key` and `other`; `lesser` is the less complete name.

    `stated` by a text; `any_type` holds against what kinds of thing the tagger took them for.
    """

    key: str
    other: str
    reason: str
    lesser: str = ""
    stated: bool = False
    any_type: bool = False


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
        """Check whether nothing rules out a person."""
        return self.kind == "PERSON" or (self.kind == "" and "PERSON" in self.name.types)

    @property
    def is_bare_title(self) -> bool:
        """Check for a document title that occurs in no text."""
        return not self.name.types and bool(self.name.titles)

    @property
    def is_han(self) -> bool:
        """Check whether the key begins with a Han character."""
        return "\u4e00" <= self.name.key[:1] <= "\u9fff"


def profile_of(name: Name) -> Profile:
    """Build a name's profile, in linear time."""
    kind = prevailing_type(Counter(name.types))
    return Profile(
        name=name, parts=parts_of(name.key), count=sum(name.surfaces.values()), kind=kind
    )


def prevailing_type(types: Counter[str]) -> str:
    """Return the type of three fifths of typed mentions, else ""."""
    typed = {kind: n for kind, n in types.items() if kind != "NAME" and n > 0}
    if not typed:
        return ""
    best = min(typed, key=lambda kind: (-typed[kind], kind))
    return best if typed[best] >= _STRONG_SHARE * sum(typed.values()) else ""


def types_conflict(one: Counter[str], other: Counter[str]) -> bool:
    """Check whether both types are clearly different."""
    first, second = prevailing_type(one), prevailing_type(other)
    return first in _EXCLUSIVE and second in _EXCLUSIVE and first != second


# --- variants of one spelling -------------------------------------------------------------------


def variant_links(profiles: Profiles) -> Iterator[Link]:
    """Link variants: titles, "the", corporate suffixes, hyphens, dots, plurals.

    A key with a title joins the same words without it only when two or more words are left: what
    is left of "Mr. Holmes" is a surname, which `person_rules` looks at. Two keys that differ
    only in their titles ("Mr Darling", "Mrs Darling") are not joined with each other.
    """
    for form, keys in blocks(profiles, _variant_form):
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


# --- stated aliases and acronyms ----------------------------------------------------------------


def alias_links(
    aliases: Iterable[tuple[str, str]], profiles: Profiles, *, root: Root
) -> Iterator[Link]:
    """Link stated aliases, unless an alias is stated of two things."""
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
            any_type=_is_of_person(name, second, profiles),
        )


def surname_links(
    aliases: Iterable[tuple[str, str]], profiles: Profiles, *, root: Root
) -> Iterator[Link]:
    """Link "关云长" to 关羽 with the stated name 云长: surname plus courtesy name.

    Nothing where two persons of that surname are stated to have that second name.
    """
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for name, second in sorted(set(aliases)):
        surname = han_surname(name)
        whole = surname + second
        if surname and len(second) == 2 and whole in profiles and whole != name:
            owners[whole].add(name)
    for whole in sorted(owners):
        if len({root(name) for name in owners[whole]}) > 1:
            continue
        name = min(owners[whole])
        yield Link(
            key=whole,
            other=name,
            reason=f"the surname of {name!r} with a name that a text states of them",
            lesser=whole,
            stated=True,
            any_type=True,
        )


def _is_of_person(name: str, second: str, profiles: Profiles) -> bool:
    """Check whether an alias may be a Chinese person's.

    No dictionary has style names: a tagger takes 云长 for a noun and 伯约 for a place. One that is
    a common word as well (公路) counts only where most documents with it mention the person, too.
    """
    surname = han_surname(name)
    if not surname or not profiles[second].is_han or not 2 <= len(second) <= 4:
        return False
    if "PERSON" not in profiles[second].name.types:
        return False
    near = profiles[name].name.documents
    whole = profiles.get(surname + second)
    if whole is not None:
        near |= whole.name.documents
    documents = profiles[second].name.documents
    return 2 * len(documents & near) >= len(documents)


def acronym_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """Link an acronym to the only name with its initials, if they share a document."""
    expansions: defaultdict[str, set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        if len(profile.parts.words) > 1 and profile.kind not in {"PERSON", "CONCEPT"}:
            for initials in initials_of(key):
                expansions[initials].add(key)
    for key, profile in profiles.items():
        capitals = [s for s in profile.name.surfaces if s.isupper()]
        letters = key.replace(".", "")
        if not capitals or " " in key or len(key) < 3 or not letters.isalpha():
            continue
        found = [o for o in expansions.get(letters, ()) if initials_match(min(capitals), o)]
        if found and len({root(o) for o in found}) == 1:
            for other in sorted(found):
                if share_document(profile, profiles[other]):
                    yield Link(
                        key=key,
                        other=other,
                        reason=f"the initials of {other!r}, in the same document",
                        lesser=key,
                    )


def share_document(one: Profile, other: Profile) -> bool:
    """Check whether a document mentions both."""
    return not one.name.documents.isdisjoint(other.name.documents)


def blocks(profiles: Profiles, form: Callable[[Profile], str]) -> Iterator[tuple[str, list[str]]]:
    """Keys that share a form, two or more, sorted, in the order of the forms."""
    blocks: defaultdict[str, list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        blocks[form(profile)].append(key)
    for shared in sorted(blocks):
        if shared and len(blocks[shared]) > 1:
            yield shared, sorted(blocks[shared])
