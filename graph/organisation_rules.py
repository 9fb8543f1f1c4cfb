"""Resolution rules for organisations: partial names ("the Spurs", "Interscope").

Proposes links as `resolve_rules` does. Only such parts count as a text shortens names by: what is
left without a word for the kind of organisation, a team's name without its town, an institution
without its country. Where two organisations of the documents at hand have that part, nothing is
proposed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from .resolve_rules import Link, Profile, Profiles, Root, share_document

_KINDS_OF_ORGANISATION = """
records recordings music publishing publishers entertainment university college industries airlines
airways corporation company
"""
_KINDS = frozenset(_KINDS_OF_ORGANISATION.split())
"""Words that say what kind of organisation it is, and name no part of it."""

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

_MEMBERS = 4
"""A team's name is a plural of at least so many letters."""


def part_links(profiles: Profiles, root: Root) -> Iterator[Link]:
    """Each short name and the only organisation that has it for a part of its name."""
    index: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        for part in _parts(profile):
            index[part].add(key)
    for key, profile in profiles.items():
        if not _may_be_short(profile):
            continue
        owners = index.get(profile.parts.words, set()) - {key}
        near = {other for other in owners if share_document(profile, profiles[other])}
        if len({root(other) for other in near}) != 1:
            continue
        documents = frozenset().union(*(profiles[other].name.documents for other in near))
        if not profile.name.documents <= documents:
            continue  # where it stands alone, Oxford is a town
        target = min(near, key=lambda other: (-profiles[other].count, other))
        if root(key) != root(target):
            yield Link(
                key=key,
                other=target,
                reason=f"the only {key!r} in the documents that mention it is {target!r}",
                lesser=key,
            )


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
    if last in _INSTITUTIONS or (
        len(last) >= _MEMBERS
        and last.endswith("s")
        and not last.endswith("ss")
        and not {last, words[-2]} & _NO_TEAM
    ):
        yield (last,)
    if "of" in words[1:-1]:
        head = words[: len(words) - 1 - words[::-1].index("of")]
        if len(head) > 1 or head[0] in _INSTITUTIONS:
            yield head
