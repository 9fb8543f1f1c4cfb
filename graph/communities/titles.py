"""Titles of communities: key phrases of what is said in them, and their chief names.

"Seafloor observatory and repair fund: LANTERN cable". A phrase counts by how many of the sentences
and headings have it and by how rare its words are in a fixed reference list, so that a title
depends on its community's own sentences alone. A title is in one script.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..extraction.aliases import HAN_VAGUE, VAGUE_NOUNS
from ..model import Entity
from ..text.cjk import has_han, is_chinese
from ..text.names import (
    CALENDAR,
    CHINESE_FUNCTION_WORDS,
    FUNCTION_WORDS,
    bare_heading,
    is_generic,
    name_key,
)
from .common_words import rarity

MAX_NAMES = 2
MAX_NAMES_ALONE = 3
MAX_TOPICS = 2
_SECOND_TOPIC = 0.6
"""Least share of the first topic's score that a second one has."""
_HEADING_COUNTS = 2.0
"""A phrase in the heading of a sentence counts as much as in so many sentences more."""
_MANY_WORDS = 1.25
"""Factor for phrases of several words: they say more of a topic than one."""
_MAX_HEADING_WORDS = 6
_MAX_CHARACTERS = 48
_LATIN = re.compile(r"[A-Za-z]")
_COLON = {False: ": ", True: "："}

Phrase = tuple[str, str]
"""Key and surface of a noun phrase."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence of a community with the noun phrases in it and the headings above it."""

    text: str
    phrases: tuple[Phrase, ...] = ()
    headings: tuple[str, ...] = ()


def title_of(ranked: Sequence[Entity], sayings: Sequence[Saying]) -> str:
    """Return the title of a community of these members, the most central first."""
    chinese = is_chinese(" ".join([*(s.text for s in sayings), *(e.name for e in ranked[:9])]))
    names = _names(ranked, chinese)
    topics = _topics(sayings, names, chinese)
    title = _entitled(topics, names, chinese)
    return title or _entitled([], _names(ranked, not chinese), not chinese)


def joined_title(parts: Iterable[tuple[str, float]], ranked: Sequence[Entity]) -> str:
    """Return the title of a large community from its parts' titles and weights."""
    weights: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for title, weight in sorted(parts):
        for topic in topics_of(title):
            weights[has_han(topic)][topic] += weight  # type: ignore[assignment]
    said = {chinese: sum(some.values()) for chinese, some in weights.items()}
    chinese = said[True] > said[False] or (not said[False] and has_han(ranked[0].name))
    names = _names(ranked, chinese)
    best = sorted(weights[chinese].items(), key=lambda item: (-item[1], item[0]))
    topics = _unlike([topic for topic, _ in best], names)
    return _entitled(topics, names, chinese) or _entitled(
        [], _names(ranked, not chinese), not chinese
    )


def topics_of(title: str) -> list[str]:
    """Return the topics of a title that was made here; none of one that has names alone."""
    for chinese, colon in _COLON.items():
        topics, found, _ = title.partition(colon)
        if found:
            parts = topics.split("与" if chinese else " and ")
            return [part if chinese else _lowered(part) for part in parts]
    return []


def _names(ranked: Sequence[Entity], chinese: bool) -> list[str]:
    """Return the first proper names in the script, none of which contains another."""
    chosen: list[str] = []
    for entity in ranked:
        fitting = (n for n in (entity.name, *entity.aliases) if _is_in_script(n, chinese))
        name = " ".join(next(fitting, "").split())
        if entity.type != "CONCEPT" and name and not _overlaps(name, chosen):
            chosen.append(name)
        if len(chosen) == MAX_NAMES_ALONE:
            break
    return chosen


def _is_in_script(text: str, chinese: bool) -> bool:
    return has_han(text) == chinese and not (chinese and _LATIN.search(text))


def _overlaps(text: str, others: Iterable[str]) -> bool:
    folded = text.casefold()
    return any(folded in other.casefold() or other.casefold() in folded for other in others)


def _topics(sayings: Sequence[Saying], names: Sequence[str], chinese: bool) -> list[str]:
    counts: Counter[str] = Counter()
    surfaces: dict[str, Counter[str]] = defaultdict(Counter)
    for saying in sayings:
        headings = " ".join(saying.headings).casefold()
        for key, surface in saying.phrases:
            counts[key] += 1 + _HEADING_COUNTS * (surface.casefold() in headings)  # type: ignore[assignment]
            surfaces[key][_shown(surface)] += 1
    for heading, count in _headings(sayings).items():
        counts[name_key(heading)] += _HEADING_COUNTS * count  # type: ignore[assignment]
        surfaces[name_key(heading)][heading] += 1
    scores = {
        key: _score(key, counts[key]) for key in counts if _is_topic(key, counts[key], chinese)
    }
    best = sorted(scores, key=lambda key: (-scores[key], key))
    least = _SECOND_TOPIC * scores[best[0]] if best else 0.0
    shown = [_most_used(surfaces[key]) for key in best if scores[key] >= least]
    return _unlike(shown, names)


def _headings(sayings: Sequence[Saying]) -> Mapping[str, int]:
    """Count the sentences under each heading that is a short phrase, of half of them at least."""
    counts = Counter(bare_heading(s.headings[-1]) for s in sayings if s.headings)
    return {
        heading: count
        for heading, count in counts.items()
        if 2 * count >= len(sayings)
        and len(heading.split()) <= _MAX_HEADING_WORDS
        and heading[-1:].isalpha()
    }


def _is_topic(key: str, count: float, chinese: bool) -> bool:
    words = key.split()
    if not key or len(key) > _MAX_CHARACTERS or is_generic(key) or any(c.isdigit() for c in key):
        return False
    if not _is_in_script(key, chinese):
        return False
    if chinese:
        return key not in HAN_VAGUE and key not in CHINESE_FUNCTION_WORDS
    if any(word in CALENDAR for word in words) or not all(len(word) > 1 for word in words[-1:]):
        return False
    if words[0] in FUNCTION_WORDS or words[-1] in FUNCTION_WORDS:
        return False
    return len(words) > 1 or (count > 1 and key not in VAGUE_NOUNS)


def _score(key: str, count: float) -> float:
    words = [word for word in key.split() if word not in FUNCTION_WORDS]
    mean = sum(map(rarity, words)) / len(words)
    return round(math.log1p(count) * mean * (_MANY_WORDS if len(words) > 1 else 1.0), 9)


def _shown(surface: str) -> str:
    """Return a phrase as it is shown: in lower case but for words of capitals."""
    words = surface.split()
    return " ".join(word if word[1:] != word[1:].lower() else word.lower() for word in words)


def _lowered(topic: str) -> str:
    first = topic.split(" ")[0]
    return topic if first[1:] != first[1:].lower() else topic[:1].lower() + topic[1:]


def _most_used(surfaces: Counter[str]) -> str:
    return min(surfaces, key=lambda one: (-surfaces[one], one))


def _unlike(topics: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the first topics that share no word with each other and are no name."""
    chosen: list[str] = []
    for topic in topics:
        words = {name_key(word) for word in topic.split()}
        known = {name_key(word) for one in chosen for word in one.split()}
        same = any(topic.casefold() == name.casefold() for name in names)
        if not same and words.isdisjoint(known) and not _overlaps(topic, chosen):
            chosen.append(topic)
        if len(chosen) == MAX_TOPICS:
            break
    return chosen


def _entitled(topics: Sequence[str], names: Sequence[str], chinese: bool) -> str:
    """Return "Topic and topic: Name and Name", or what there is of it."""
    if not topics:
        return _enumeration(names, chinese)
    about = _enumeration(topics, chinese)
    about = about[:1].upper() + about[1:]
    chief = [name for name in names if not _overlaps(name, topics)][:MAX_NAMES]
    return about + (_COLON[chinese] + _enumeration(chief, chinese) if chief else "")


def _enumeration(parts: Sequence[str], chinese: bool) -> str:
    comma, last = ("、", "与") if chinese else (", ", " and ")
    return last.join(filter(None, (comma.join(parts[:-1]), *parts[-1:])))
