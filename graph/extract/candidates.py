"""Spans that may be mentions, and which of them stay when they overlap.

Each reader (tagger, capitals, dictionary) proposes candidates; here the longest wins, types are
handed on from what it contains, and what is no name is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..model import ENTITY_TYPES, Mention
from ..name_words import CALENDAR, FUNCTION_WORDS, JOINTS
from ..names import is_generic, name_key
from ..person_words import COMMON_GIVEN_NAMES, NAMELIKE_TITLES, TITLES
from .segments import Layout, has_han
from .words import HEAD_WORDS

MAX_NAME_CHARACTERS = 120
_ROMAN = re.compile(r"[IVX]+")


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """Candidate span of a mention; `key` if it differs from the surface's own."""

    start: int
    end: int
    type: str
    key: str = ""


def resolve_overlaps(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Resolve overlaps: the longest name with the best type, sorted.

    An untyped run that holds two or more typed names is a list of names, not a name.
    """
    best = _best_types(candidates)
    typed = [c for c in best if c.type != "NAME"]
    runs = []
    for run in (c for c in best if c.type == "NAME"):
        inside = [c for c in typed if run.start <= c.start and c.end <= run.end]
        if len(_longest(inside)) < 2:
            runs.append(_with_type_of(run, inside))
    return _longest([*typed, *runs])


def _best_types(candidates: Iterable[Candidate]) -> list[Candidate]:
    best: dict[tuple[int, int], Candidate] = {}
    for candidate in sorted(candidates):
        span = (candidate.start, candidate.end)
        known = best.get(span)
        if known is None or _rank(candidate) < _rank(known):
            best[span] = candidate
    return [best[span] for span in sorted(best)]


def _rank(candidate: Candidate) -> int:
    return ENTITY_TYPES.index(candidate.type)


def _with_type_of(run: Candidate, inside: list[Candidate]) -> Candidate:
    """Return the run with the type of a name that is its head or most of it."""
    for name in inside:
        covers_most = 2 * (name.end - name.start) > run.end - run.start
        if covers_most or (name.end == run.end and name.type == "PERSON"):
            return Candidate(run.start, run.end, name.type)
    return run


def _longest(candidates: list[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    taken: set[int] = set()
    for candidate in sorted(candidates, key=lambda c: (c.start - c.end, _rank(c), c.start)):
        if taken.isdisjoint((candidate.start, candidate.end - 1)) and taken.isdisjoint(
            range(candidate.start, candidate.end)
        ):
            kept.append(candidate)
            taken.update(range(candidate.start, candidate.end))
    return sorted(kept)


def drop_overlapping(
    candidates: Iterable[Candidate], names: Iterable[Candidate]
) -> list[Candidate]:
    """Return the longest candidates disjoint from `names`, sorted."""
    taken: set[int] = set()
    for name in names:
        taken.update(range(name.start, name.end))
    free = [c for c in candidates if taken.isdisjoint(range(c.start, c.end))]
    return _longest(free)


def mentions_of(layout: Layout, candidates: Iterable[Candidate]) -> list[Mention]:
    """Convert candidates to sorted mentions.

    Non-names and sentence-crossing ones are dropped.
    """
    found = []
    for candidate in sorted(candidates):
        surface = layout.text[candidate.start : candidate.end]
        key = candidate.key or name_key(surface)
        if not _is_usable(layout, candidate, surface) or not is_name(surface, key):
            continue
        kind = candidate.type
        if kind != "CONCEPT":
            kind = type_from_words(key) or kind
        found.append(
            Mention(start=candidate.start, end=candidate.end, surface=surface, key=key, type=kind)
        )
    return _with_one_type(found)


def _with_one_type(mentions: list[Mention]) -> list[Mention]:
    """Assign each key its majority type; a person's surname is that person."""
    counts: dict[str, Counter[str]] = {}
    for mention in mentions:
        if mention.type != "NAME":
            counts.setdefault(mention.key, Counter())[mention.type] += 1
    types = {
        key: min(some, key=lambda kind: (-some[kind], ENTITY_TYPES.index(kind)))
        for key, some in counts.items()
    }
    persons = [key.split() for key, kind in types.items() if kind == "PERSON"]
    surnames = {words[-1] for words in persons if len(words) > 1}
    return [
        replace(m, type="PERSON" if m.key in surnames else types.get(m.key, m.type))
        if m.type != "CONCEPT"
        else m
        for m in mentions
    ]


def _is_usable(layout: Layout, candidate: Candidate, surface: str) -> bool:
    shadow = layout.shadow[candidate.start : candidate.end]
    index = layout.sentence_at(candidate.start)
    return (
        0 < len(surface) <= MAX_NAME_CHARACTERS
        and shadow == surface.replace("\n", " ")
        and index is not None
        and candidate.end <= layout.sentences[index][1]
    )


def is_name(surface: str, key: str) -> bool:
    """Check whether a surface can be a name.

    Not a heading, function word, date, number or letter.
    """
    if not key or is_generic(key) or _ROMAN.fullmatch(surface):
        return False
    if has_han(key):
        return len(key) >= 2
    words = key.replace("'", " ").split()
    letters = sum(c.isalpha() for c in key)
    return letters >= 2 and not all(
        w.rstrip(".,") in FUNCTION_WORDS or w.rstrip(".,") in CALENDAR or w[0].isdigit()
        for w in words
    )


def type_from_words(key: str) -> str:
    """Return the type given by a name's own words ("… Institute"); or ""."""
    words = [word.rstrip(".,") for word in key.split()]
    head = next((i for i, word in enumerate(words) if word in JOINTS), len(words)) - 1
    if len(words) < 2 or head < 0:
        return ""
    for kind, heads in HEAD_WORDS:
        if words[head] in heads and head > 0:
            return kind
    titled = words[0] in TITLES - NAMELIKE_TITLES and words[1] not in JOINTS
    given = words[0] in COMMON_GIVEN_NAMES and len(words) < 4 and head == len(words) - 1
    return "PERSON" if titled or given else ""
