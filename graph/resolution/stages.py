"""Stages of entity resolution: the rules in their order, and what each reads.

A stage proposes links from names and from the clusters that the stages before it made. Where only
some names changed, links of the others are those stored of the last time; a link belongs to one of
its two names, its owner, whose blocks hold all that the rule read to propose it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..model import Judgement
from ..text.cjk import has_han
from ..text.names import name_key
from .clusters import Clusters
from .name_forms import (
    form_blocks,
    initial_candidates,
    initial_links,
    titled_name_links,
    translated_part_links,
)
from .name_parsing import NameParts
from .person_rules import (
    begun_name_links,
    full_name_links,
    honorific_links,
    person_blocks,
    short_name_links,
)
from .rules import (
    IDENTITY,
    Block,
    Link,
    Profile,
    Profiles,
    Root,
    acronym_blocks,
    acronym_links,
    alias_blocks,
    alias_links,
    judged_links,
    known_links,
    part_blocks,
    part_links,
    surname_links,
    variant_blocks,
    variant_links,
)
from .similarity import Neighbours, similar_blocks, similar_links

LookUp = Callable[[str], Profile | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All that rules read besides the clusters so far.

    Args:
        profiles: the names to resolve, by key in sorted order.
        stated: pairs of these that texts state, sorted.
        neighbours: keys that stand beside a key.
        judgements: what a model said of pairs.
        look_up: the profile of any name of the library, also of one that is not to be resolved.
        named: for a document the names that documents about the same things share.
        told: for a document the parts of its titles.
        asked: names of which links are asked for; None for all.
        reads: blocks that rules read besides those of `blocks_of`, by the owner of links; filled
            while rules run.
    """

    profiles: Profiles
    stated: Sequence[tuple[str, str]] = ()
    neighbours: Neighbours = field(default_factory=dict)
    judgements: Sequence[Judgement] = ()
    look_up: LookUp
    named: Mapping[str, Collection[str]] | None = None
    told: Mapping[str, Sequence[NameParts]] | None = None
    asked: Collection[str] | None = None
    reads: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


BESIDE, AMONG, DOCUMENT = "beside ", "among ", "document "
"""Blocks that are read for the degree of a key, for a key's own words, for a document's names."""


Stage = Callable[[Inputs, Root], Iterable[Link]]


def _similar(given: Inputs, _root: Root) -> Iterator[Link]:
    def note(first: str, second: str) -> None:
        near = {*given.neighbours.get(first, ()), *given.neighbours.get(second, ())}
        given.reads[first].update(BESIDE + key for key in near)

    return similar_links(given.profiles, neighbours=given.neighbours, only=given.asked, note=note)


def _asked(links: Iterable[Link], given: Inputs) -> Iterator[Link]:
    """Leave out links of names that are not asked for, before more is read for them."""
    return (link for link in links if given.asked is None or link.key in given.asked)


def _full_names(given: Inputs, root: Root) -> Iterator[Link]:
    for link in _asked(full_name_links(given.profiles, root), given):
        beside = once_beside((link.key, link.other), given)
        given.reads[link.key].update(AMONG + key for key in beside)
        if not _is_relative(link, given):
            yield link


def _initials(given: Inputs, root: Root) -> Iterator[Link]:
    for key, other in initial_candidates(given.profiles):
        documents = given.profiles[key].name.documents | given.profiles[other].name.documents
        given.reads[key].update(DOCUMENT + document for document in documents)
    return initial_links(given.profiles, root, given.named)


def _parts(given: Inputs, root: Root) -> Iterator[Link]:
    links = _asked(part_links(given.profiles, root), given)
    return (link for link in links if not _is_beside(link, given))


def _short_names(given: Inputs, root: Root) -> Iterator[Link]:
    links = _asked(short_name_links(given.profiles, root, given.told), given)
    return (link for link in links if not _is_beside(link, given))


def _aliases(given: Inputs, root: Root) -> Iterator[Link]:
    return alias_links(given.stated, given.profiles, root=root)


STAGES: Mapping[str, Stage] = {
    "variant": lambda given, _: variant_links(given.profiles),
    "similar": _similar,
    "known": lambda given, _: known_links(given.profiles),
    "honorific": lambda given, _: honorific_links(given.profiles),
    "full name": _full_names,
    "titled name": lambda given, root: titled_name_links(given.profiles, root),
    "initials": _initials,
    "translated": lambda given, _: translated_links(given.profiles, given.stated),
    "surname": lambda given, root: surname_links(given.stated, given.profiles, root=root),
    "alias": _aliases,
    # 孔明 and 诸葛亮 are two owners of 卧龙 until they are known to be one.
    "alias again": _aliases,
    "acronym": lambda given, root: acronym_links(given.profiles, root),
    "begun name": lambda given, root: begun_name_links(given.profiles, root),
    "part": _parts,
    "short name": _short_names,
    "judged": lambda given, _: judged_links(given.judgements, given.profiles),
}

COMPACT = ("translated", "judged")
"""Stages that rest on few names and on no clusters: they are always run whole."""


def owner_of(stage: str, link: Link) -> str:
    """Return the name whose blocks hold what the link rests on."""
    return link.other if stage == "titled name" else link.key


def carry_out_stages(
    clusters: Clusters,
    links_of: Callable[[str, Root], Collection[Link]],
    *,
    groups: Iterable[Sequence[str]] = (),
) -> Iterator[tuple[str, Collection[Link]]]:
    """Carry out the links of each stage, then what users joined; yield stages and their links."""
    for stage in STAGES:
        links = links_of(stage, clusters.root)
        clusters.carry_out(links)
        yield stage, links
    clusters.join_by_hand(groups)
    yield "", ()


def blocks_of(profile: Profile, aliases: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the blocks of a name, and its part in each, from it and its stated aliases."""
    found: dict[str, int] = {}
    every: Iterable[Iterable[Block]] = (
        variant_blocks(profile),
        similar_blocks(profile),
        person_blocks(profile),
        form_blocks(profile),
        alias_blocks(profile, aliases),
        acronym_blocks(profile),
        part_blocks(profile),
    )
    for blocks in every:
        for block, part in blocks:
            found[block] = found.get(block, 0) | part
    return found


def identities_of(profile: Profile, aliases: Iterable[tuple[str, str]]) -> set[str]:
    """Return the keys that rules look up for a name, whatever they share with it."""
    blocks = (*person_blocks(profile), *alias_blocks(profile, aliases))
    return {block.removeprefix(IDENTITY) for block, _ in blocks if block.startswith(IDENTITY)}


def translated_links(profiles: Profiles, stated: Iterable[tuple[str, str]]) -> Iterator[Link]:
    """Return the links of names that begin others stated to be one in two languages."""
    return translated_part_links(translated_pairs(profiles, stated), profiles)


def translated_pairs(
    profiles: Profiles, stated: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return pairs of names that are stated to be one, or written as one, in two languages."""
    pairs = [pair for pair in stated if has_han(pair[0]) != has_han(pair[1])]
    return [*pairs, *_bilingual(profiles)]


def is_bilingual(profile: Profile) -> bool:
    """Check for a name in Latin letters that is written in Han characters, too."""
    return bool(han_spellings(profile))


def han_spellings(profile: Profile) -> list[str]:
    """Return the Han spellings of a name whose key is in Latin letters."""
    if profile.is_han:
        return []
    return [name_key(surface) for surface in profile.name.surfaces if has_han(surface)]


def _bilingual(profiles: Profiles) -> Iterator[tuple[str, str]]:
    """Yield the Han spellings of names whose key is in Latin letters, with the key."""
    for key, profile in profiles.items():
        yield from ((spelling, key) for spelling in han_spellings(profile))


def _is_beside(link: Link, given: Inputs) -> bool:
    """Check whether a short name occurs once beside the full one, as relatives' names do.

    Or beside another part of the full one: no sentence calls one person first "Franck", then
    "Piccard". In Chinese the given name alone often follows the full one.
    """
    profile = given.profiles[link.key]
    if profile.count != 1 or profile.is_han:
        return False
    near = given.neighbours.get(link.key, ())
    rest = {*given.profiles[link.other].parts.words} - {*profile.parts.words}
    return link.other in near or not rest.isdisjoint(near)


def _is_relative(link: Link, given: Inputs) -> bool:
    """Check whether a similar full name is said beside it, or once among others of its surname.

    So children are told of: "Lilianne Roche, Marcel Roche and Luis Armando Roche" in the life of
    their father, Luis Roche. A single other may be wife or husband; an initial tells nobody apart.
    """
    profiles, pair = given.profiles, (link.key, link.other)
    if link.other in given.neighbours.get(link.key, ()):
        return True
    if any(len(word) == 1 for key in pair for word in profiles[key].parts.words):
        return False
    shorter, longer = sorted(pair, key=lambda key: len(profiles[key].parts.words))
    if (
        profiles[longer].name.titles
        & profiles[shorter].name.documents - profiles[shorter].name.titles
    ):
        return profiles[shorter].count == 1  # the father, in the life of the son
    others = map(given.look_up, once_beside(pair, given))
    after_the_first = [other.parts.words[1:] for other in others if other is not None]
    surname = profiles[link.key].parts.words[-1]
    return sum(words[-1:] == (surname,) for words in after_the_first) > 1


def once_beside(pair: tuple[str, str], given: Inputs) -> set[str]:
    """Return the keys beside those of a pair that are said once."""
    once = [key for key in pair if given.profiles[key].count == 1]
    return {other for key in once for other in given.neighbours.get(key, ())} - {*pair}
