"""Resolution rules that link two name keys, with reasons.

Every rule blocks names by something that equal names share (surname, initials, plain form), so the
whole is near-linear in the number of names. A rule proposes links, `resolver` decides; where two
readings are possible, nothing is proposed. Abbreviations come from texts, or from a list of those
with a single meaning; short names of organisations are only such parts as texts shorten names by
("the Spurs", "Interscope"). Rules for persons are in `person_rules`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..extraction.class_nouns import han_type_of
from ..model import SAME, Judgement, Name
from ..text.cjk import HAN, has_han
from .name_parsing import (
    NameParts,
    han_surname,
    initials_match,
    initials_of,
    is_of_husband,
    parts_of,
    singular,
)
from .relational_names import means_owner, owners_of

Profiles = Mapping[str, "Profile"]
Root = Callable[[str], str]

MEMBER, READER, BOTH = 1, 2, 3
"""Part that a name has in a block: rules read it, it reads the members, or both."""

Block = tuple[str, int]
"""A form that names share, and the part that one has in it (see `blocks`)."""

CROWD = 50
"""Number of names that share a form above which the form says nothing of any of them."""

IDENTITY = "="
"""Begins the block of the one name of a key; that name itself need not be listed in it."""

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


@dataclass(frozen=True, kw_only=True)
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

    @cached_property
    def spoken_words(self) -> Sequence[str]:
        """The words of the key without titles; a double surname is one word."""
        words = self.name.key.replace("- ", "-").split()
        return words[len(self.parts.titles) :] or [self.name.key]

    @cached_property
    def is_relational(self) -> bool:
        """Check for a person or thing called after its owner ("Marley's Ghost", 曹操之子)."""
        return bool(owners_of(self.name.surfaces))

    @property
    def is_bare_title(self) -> bool:
        """Check for a document title that occurs in no text."""
        return not self.name.types and bool(self.name.titles)

    @property
    def is_han(self) -> bool:
        """Check whether the key begins with a Han character."""
        return has_han(self.name.key[:1])


def name_profile(name: Name) -> Profile:
    """Build a name's profile for entity resolution, in linear time."""
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


def is_owner(one: Profile, other: Profile) -> bool:
    """Check whether one name is relational and the other, which is not, means its owner."""
    first, second = owners_of(one.name.surfaces), owners_of(other.name.surfaces)
    if bool(first) == bool(second):
        return False
    owners, owner = (first, other) if first else (second, one)
    return means_owner(owner.name.key, owner.name.surfaces, owners=owners)


# --- variants of one spelling -------------------------------------------------------------------


def variant_links(profiles: Profiles) -> Iterator[Link]:
    """Link variants: titles, "the", corporate suffixes, hyphens, dots, plurals.

    A key with a title joins the same words without it only when two or more words are left: what
    is left of "Mr. Holmes" is a surname, which `person_rules` looks at. Two keys that differ
    only in their titles ("Mr Darling", "Mrs Darling") are not joined with each other.
    """
    for form, keys in blocking_keys(profiles, _variant_form):
        plain = min(keys, key=lambda key: (_adornments(profiles[key]), key))
        for key in keys:
            if key != plain and _may_be_same_ruler(profiles[key], profiles[plain]):
                reason = _variant_reason(profiles[key], form)
                lesser = key if _adornments(profiles[key]) > _adornments(profiles[plain]) else ""
                yield Link(key=key, other=plain, reason=reason, lesser=lesser)


def variant_blocks(profile: Profile) -> Iterator[Block]:
    """Yield the blocks of `variant_links` and `known_links`."""
    if form := _variant_form(profile):
        yield f"variant {form}", BOTH
    if (group := _GROUP_OF.get(profile.name.key)) is not None:
        yield f"known {group}", BOTH


def _may_be_same_ruler(one: Profile, other: Profile) -> bool:
    """Check that "Duke Henry I" and "Henry I" share a document: every house has one."""
    is_ruler = bool(one.parts.numbers) and one.parts.titles != other.parts.titles
    return not is_ruler or share_document(one, other)


def _variant_form(profile: Profile) -> str:
    parts = profile.parts
    if parts.han_title:
        return profile.name.key
    if is_of_husband(parts):
        return f"{' '.join(parts.titles)}|{parts.plain}"
    if profile.is_han and profile.kind in {"", "PLACE"} and _HAN_PLACE.fullmatch(profile.name.key):
        return profile.name.key[:-1]
    titles_count = not profile.may_be_person and profile.kind != ""
    if len(parts.words) == 1 or titles_count:
        person = "person" if profile.kind == "PERSON" else ""
        if parts.titles or person:
            return f"{person} {' '.join(parts.titles)}|{parts.plain}"
    if profile.kind == "CONCEPT" and not _is_acronym(profile.name):  # HTTPS is not many HTTP
        return "".join((*parts.words[:-1], singular(parts.words[-1])))
    return parts.plain


def _is_acronym(name: Name) -> bool:
    """Check for a name that stands in capitals more often than not, as "HTTPS"."""
    capitals = sum(count for surface, count in name.surfaces.items() if surface.isupper())
    return 2 * capitals > sum(name.surfaces.values())


_HAN_PLACE = re.compile(rf"[{HAN}]{{2,}}[省市县镇村]")
"""A place with the word of its rank, which texts leave out: 临澜市."""


def _adornments(profile: Profile) -> int:
    parts = profile.parts
    is_ranked = bool(profile.is_han and _HAN_PLACE.fullmatch(profile.name.key))
    return len(parts.titles) + parts.article + parts.suffix + is_ranked


def _variant_reason(profile: Profile, form: str) -> str:
    parts = profile.parts
    if parts != parts_of(profile.name.key):
        return "the same name as registers write it"
    if parts.titles:
        return f"the same name without the title {' '.join(parts.titles)!r}"
    if parts.suffix:
        return "the same name without its corporate suffix"
    if parts.article:
        return "the same name without its article"
    if profile.is_han:
        return "the same place without the word of its rank"
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
        owners[second].add(name)
    for name, second in sorted(stated):
        if len({root(owner) for owner in owners[second]} - {root(second)}) > 1 and not (
            _one_transliterated(owners[second])
        ):
            continue
        translated = profiles[name].is_han != profiles[second].is_han
        if translated and _is_surname_of_body(name, second, profiles):
            continue
        yield Link(
            key=second,
            other=name,
            reason=f"a text states that {name!r} is also known as {second!r}",
            lesser="" if (second, name) in stated or translated else second,
            stated=True,
            any_type=translated or _is_of_person(name, second, profiles),
        )


def alias_blocks(profile: Profile, aliases: Iterable[tuple[str, str]]) -> Iterator[Block]:
    """Yield the blocks of `alias_links` and `surname_links`, from a name's stated aliases."""
    key = profile.name.key
    if profile.is_han and len(key) > 2:
        yield f"surnamed {key}", READER
    words = key.rsplit(" ", 1)
    if len(words) > 1 and profile.may_be_person:
        yield f"last word {words[1]}", MEMBER
    for name, second in aliases:
        surname = han_surname(name)
        if surname and len(second) == 2 and surname + second != name:
            yield f"surnamed {surname + second}", MEMBER
        if key == second:
            yield f"{IDENTITY}{name}", READER
            yield f"{IDENTITY}{surname + second}", READER
            yield from ((f"last word {end}", READER) for end in (name, second) if " " not in end)


def _is_surname_of_body(one: str, other: str, profiles: Profiles) -> bool:
    """Check for "奎伦公司" beside "Quillon", which is a person's surname as well."""
    han, latin = (one, other) if profiles[one].is_han else (other, one)
    if " " in latin or han_type_of(han) != "ORGANISATION":
        return False
    return any(
        key.endswith(f" {latin}") and profile.may_be_person for key, profile in profiles.items()
    )


def _one_transliterated(names: Collection[str]) -> bool:
    """Check whether names are "莱昂内尔·加罗德-派克" and parts of it, as texts shorten it."""
    longest = max(names, key=lambda name: (len(name), name))
    parts = {longest, *longest.split("·")}
    return "·" in longest and all(any(part.startswith(name) for part in parts) for name in names)


def surname_links(
    aliases: Iterable[tuple[str, str]], profiles: Profiles, *, root: Root
) -> Iterator[Link]:
    """Link "关云长" to 关羽 with the stated name 云长: surname plus courtesy name.

    Nothing where two persons of that surname are stated to have that second name.
    """
    owners: defaultdict[str, set[str]] = defaultdict(set)
    named: defaultdict[str, set[str]] = defaultdict(set)
    for name, second in sorted(set(aliases)):
        surname = han_surname(name)
        whole = surname + second
        if surname and len(second) == 2 and whole in profiles and whole != name:
            owners[whole].add(name)
            named[whole] |= {name, second}
    for whole in sorted(owners):
        if len(named[whole]) > CROWD or len({root(name) for name in owners[whole]}) > 1:
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
        for initials in _expands(profile):
            expansions[initials].add(key)
    for key, profile in profiles.items():
        letters = _acronym(profile)
        if not letters:
            continue
        every = expansions.get(letters, ())
        if len(every) > CROWD:
            continue
        capitals = [s for s in profile.name.surfaces if s.isupper()]
        found = [o for o in every if initials_match(min(capitals), o)]
        if found and len({root(o) for o in found}) == 1:
            for other in sorted(found):
                if share_document(profile, profiles[other]):
                    yield Link(
                        key=key,
                        other=other,
                        reason=f"the initials of {other!r}, in the same document",
                        lesser=key,
                    )


def _expands(profile: Profile) -> frozenset[str]:
    """Return the initials that may stand for a name."""
    if len(profile.parts.words) > 1 and profile.kind not in {"PERSON", "CONCEPT"}:
        return initials_of(profile.name.key)
    return frozenset()


def _acronym(profile: Profile) -> str:
    """Return the letters of a name that may be an acronym; else ""."""
    key = profile.name.key
    letters = key.replace(".", "")
    if " " in key or len(key) < 3 or not letters.isalpha():
        return ""
    return letters if any(surface.isupper() for surface in profile.name.surfaces) else ""


def acronym_blocks(profile: Profile) -> Iterator[Block]:
    """Yield the blocks of `acronym_links`."""
    yield from ((f"initials {initials}", MEMBER) for initials in _expands(profile))
    if letters := _acronym(profile):
        yield f"initials {letters}", READER


def share_document(one: Profile, other: Profile) -> bool:
    """Check whether a document mentions both."""
    return not one.name.documents.isdisjoint(other.name.documents)


def blocking_keys(
    profiles: Profiles, form: Callable[[Profile], str]
) -> Iterator[tuple[str, list[str]]]:
    """Return names (keys) that share a form and so may be one entity, two or more, sorted.

    Names of a crowd are left out.
    """
    blocks: defaultdict[str, list[str]] = defaultdict(list)
    for key, profile in profiles.items():
        blocks[form(profile)].append(key)
    for shared in sorted(blocks):
        if shared and 1 < len(blocks[shared]) <= CROWD:
            yield shared, sorted(blocks[shared])


_KNOWN = """
us u.s usa u.s.a = united states = the united states = united states of america
    = the united states of america
uk u.k = united kingdom = the united kingdom
eu e.u = european union = the european union
un u.n uno = united nations = the united nations
ussr u.s.s.r = soviet union = the soviet union
uae u.a.e = united arab emirates = the united arab emirates
nyc = new york city
nato = north atlantic treaty organization = north atlantic treaty organisation
unesco = united nations educational, scientific and cultural organization
nasa = national aeronautics and space administration
美国 = 美利坚合众国
英国 = 大不列颠及北爱尔兰联合王国
中国 = 中华人民共和国
俄国 俄罗斯 = 俄罗斯联邦
苏联 = 苏维埃社会主义共和国联盟
欧盟 = 欧洲联盟
世卫组织 世卫 = 世界卫生组织
世贸组织 世贸 = 世界贸易组织
北约 = 北大西洋公约组织
"""
_NEVER = frozenset({"PERSON", "CONCEPT"})


def known_links(profiles: Profiles) -> Iterator[Link]:
    """Each abbreviation and the full names that the library has of the same thing.

    An English one must be written in capitals ("US", never "us"), and be taken for no person.
    """
    for group in _groups():
        present = [key for key in group if key in profiles and profiles[key].kind not in _NEVER]
        for key in present[1:]:
            if all(_is_written_so(profiles, each) for each in (present[0], key)):
                yield Link(
                    key=key,
                    other=present[0],
                    reason="a common abbreviation of the same name",
                    lesser=min(key, present[0], key=lambda each: (len(each), each)),
                )


def _groups() -> list[list[str]]:
    """Return groups of names of one thing, the fullest first."""
    lines = _KNOWN.strip().replace("\n    ", " ").splitlines()
    groups = []
    for line in lines:
        short, *full = line.split("=")
        groups.append([*(name.strip() for name in full), *short.split()])
    return groups


_GROUP_OF = {key: number for number, group in enumerate(_groups()) for key in group}


def _is_written_so(profiles: Profiles, key: str) -> bool:
    if " " in key or not key.isascii():
        return True
    return any(surface.strip().isupper() for surface in profiles[key].name.surfaces)


_KINDS_OF_ORGANISATION = """
records recordings music publishing publishers entertainment university college industries airlines
airways corporation company
"""
_KINDS = frozenset(_KINDS_OF_ORGANISATION.split())
"""Words that say what kind of organisation it is, and name no part of it."""

_SMALL = frozenset({"of", "for", "the", "to", "in", "on"})

_WHAT_IT_IS = """
academy agency army assembly association authority board bureau cabinet club commission committee
congress council court department federation foundation government institute legislature ministry
museum navy orchestra parliament senate society tribunal union
"""
_INSTITUTIONS = frozenset(_WHAT_IT_IS.split())
"""Institution nouns used for a named institution."""

_NO_TEAM_WORDS = """
of for the in on sciences arts services studies affairs news sports motors pictures studios brothers
sons nations states systems technologies schools awards games
"""
_NO_TEAM = _KINDS | frozenset(_NO_TEAM_WORDS.split())
"""Plurals, or what stands before one, that are no team's name by themselves."""

_ORDINAL = re.compile(
    r"\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh"
    r"|twelfth|\w+t(?:een|ie)th"
)
"""Of what is counted there are several."""

_TELLING = 3
"""A part of so many words, none of them small, is nothing else where it stands alone."""
_MEMBERS = 4
"""A team's name is a plural of at least so many letters."""


def part_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """Each short name and the only organisation that has it for a part of its name."""
    index: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        for part in _parts(profile):
            index[part].add(key)
    told: defaultdict[str, set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        told[root(key)] |= profile.name.documents
    for key, profile in profiles.items():
        if not _may_be_short(profile):
            continue
        owners = index.get(profile.parts.words, set())
        if len(owners) > CROWD:
            continue
        owners = owners - {key}
        is_telling = len(profile.parts.words) >= _TELLING and not {*profile.parts.words} & _SMALL
        named = told[root(key)] if is_telling else profile.name.documents
        near = {other for other in owners if not named.isdisjoint(profiles[other].name.documents)}
        if len({root(other) for other in near}) != 1:
            continue
        documents = frozenset().union(*(profiles[other].name.documents for other in near))
        alone = not profile.name.documents <= documents
        if alone and not (is_telling and len({root(other) for other in owners}) == 1):
            continue  # where it stands alone, Oxford is a town
        target = min(near, key=lambda other: (-profiles[other].count, other))
        if root(key) != root(target):
            yield Link(
                key=key,
                other=target,
                reason=f"the only {key!r} in the documents that mention it is {target!r}",
                lesser=key,
            )


def part_blocks(profile: Profile) -> Iterator[Block]:
    """Yield the blocks of `part_links`."""
    yield from ((f"part {' '.join(part)}", MEMBER) for part in _parts(profile))
    if _may_be_short(profile):
        yield f"part {' '.join(profile.parts.words)}", READER


def _may_be_short(profile: Profile) -> bool:
    parts = profile.parts
    if profile.is_han or parts.titles or parts.numbers:
        return False
    return profile.kind == "ORGANISATION"


def _parts(profile: Profile) -> Iterator[tuple[str, ...]]:
    """Return the possible short forms of an organisation's name."""
    words = profile.parts.words
    if profile.kind != "ORGANISATION" or len(words) < 2 or profile.is_han:
        return
    if any(map(_ORDINAL.fullmatch, words)):
        return
    head = words
    while len(head) > 1 and head[-1] in _KINDS:
        head = head[:-1]
    if head != words:
        yield head
    last = words[-1]
    is_team = (
        len(last) >= _MEMBERS
        and last.endswith("s")
        and not last.endswith("ss")
        and not {last, words[-2]} & _NO_TEAM
    )
    if (last in _INSTITUTIONS or is_team) and words[-2] not in _SMALL:
        yield (last,)  # of an "Act of Parliament", Parliament is no short name
    if "of" in words[1:-1]:
        head = words[: len(words) - 1 - words[::-1].index("of")]
        if len(head) > 1 or head[0] in _INSTITUTIONS:
            yield head


def judged_links(judgements: Iterable[Judgement], profiles: Profiles) -> Iterator[Link]:
    """Return positive verdicts as links; unknown keys are skipped."""
    for value in sorted(judgements):
        keys = (value.first_key, value.second_key)
        if value.verdict == SAME and all(key in profiles for key in keys):
            shorter = value.reason in {"short form", "abbreviation", "nickname"}
            because = f" ({value.reason})" if value.reason else ""
            yield Link(
                key=value.first_key,
                other=value.second_key,
                reason=f"{value.model} judged that both names mean one thing{because}",
                lesser=min(keys, key=lambda key: (len(key), key)) if shorter else "",
            )
