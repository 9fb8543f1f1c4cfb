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
from ..text.common_words import rarity
from ..text.names import (
    CALENDAR,
    CHINESE_FUNCTION_WORDS,
    FUNCTION_WORDS,
    bare_heading,
    is_generic,
    name_key,
)

MAX_NAMES = 2
MAX_NAMES_ALONE = 3
MAX_TOPICS = 2
_SECOND_TOPIC = 0.6
"""Least share of the first topic's score that a second one has."""
_HEADING_COUNTS = 2.0
"""A phrase in the heading of a sentence counts as much as in so many sentences more."""
_RARE_ENOUGH = 4.5
"""Rarity beyond which words count alike: the rarest words are no better topics."""
_ONE_WORD = 0.5
"""Factor for single words: phrases of several say more of a topic."""
_FEW = 2
"""A single word is a topic where more sentences than these have it."""
_MAX_HEADING_WORDS = 6
_MAX_CHARACTERS = 48
_MAIL = frozenset({"subj", "re", "fwd", "fw", "aw", "cc", "bcc"})
"""Words of the headers of mails."""
_LATIN = re.compile(r"[A-Za-z]")
_COLON = {False: ": ", True: "："}

Phrase = tuple[str, str]
"""Key and surface of a noun phrase."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence of a community: the noun phrases in it and beside it, the headings above it."""

    text: str
    phrases: tuple[Phrase, ...] = ()
    nearby: tuple[Phrase, ...] = ()
    headings: tuple[str, ...] = ()


def title_of(
    ranked: Sequence[Entity], sayings: Sequence[Saying], centrality: Mapping[str, float]
) -> str:
    """Return the title of a community of these members, the most central first.

    Where its own sentences have no key phrase, one that stands near them is taken.
    """
    chinese = is_chinese(" ".join([*(s.text for s in sayings), *(e.name for e in ranked[:9])]))
    names = _names(ranked, chinese)
    weight = {key: 1 + centrality[entity.id] for entity in ranked for key in entity.keys}
    topics = _topics(sayings, weight, chinese)
    if not topics:
        near = [Saying(text=s.text, phrases=s.nearby, headings=s.headings) for s in sayings]
        topics = _topics(near, weight, chinese)[:1]
    return _entitled(_unlike(topics, names), names, chinese) or _of_names(ranked, chinese)


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
    return _entitled(topics, names, chinese) or _of_names(ranked, chinese)


def _of_names(ranked: Sequence[Entity], chinese: bool) -> str:
    """Return a title of names in the other script, else of whatever the members are called."""
    names = _names(ranked, not chinese) or [entity.name for entity in ranked[:1]]
    return _enumeration(names, not chinese)


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


def _topics(sayings: Sequence[Saying], weight: Mapping[str, float], chinese: bool) -> list[str]:
    """Return the key phrases, best first; of equal ones what is said first."""
    counts: Counter[str] = Counter()
    surfaces: dict[str, Counter[str]] = defaultdict(Counter)
    for saying in sayings:
        headings = " ".join(saying.headings).casefold()
        for key, surface in saying.phrases:
            counts[key] += 1 + _HEADING_COUNTS * (surface.casefold() in headings)  # type: ignore[assignment]
            surfaces[key][surface] += 1
    for heading, count in _headings(sayings).items():
        counts[name_key(heading)] += _HEADING_COUNTS * count  # type: ignore[assignment]
        surfaces[name_key(heading)][heading] += 1
    usable = [key for key in counts if _is_topic(key, counts[key], chinese)]
    scores = {key: _score(key, counts[key] * weight.get(key, 1.0)) for key in usable}
    best = sorted(usable, key=lambda key: -scores[key])
    shown = [
        _most_used(surfaces[key])
        for key in best
        if key == best[0] or (counts[key] > 1 and scores[key] >= _SECOND_TOPIC * scores[best[0]])
    ]
    return shown[:1] if shown and " and " in shown[0] else shown


def _headings(sayings: Sequence[Saying]) -> Mapping[str, int]:
    """Count the sentences under each heading that is a short phrase, of half of them at least."""
    counts = Counter(bare_heading(s.headings[-1]) for s in sayings if s.headings)
    return {
        heading: count
        for heading, count in counts.items()
        if 2 * count >= len(sayings) and _is_phrase(heading)
    }


def _is_phrase(heading: str) -> bool:
    """Check that a heading is short, without marks, and neither a name nor a question."""
    words = heading.split()
    if len(words) > _MAX_HEADING_WORDS or not all(c.isalnum() or c in " -'’" for c in heading):
        return False
    if has_han(heading):
        return True
    return any(word.islower() and word not in FUNCTION_WORDS for word in words)


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
    if words[0] in FUNCTION_WORDS or words[-1] in FUNCTION_WORDS or not _MAIL.isdisjoint(words):
        return False
    return len(words) > 1 or (count > _FEW and key not in VAGUE_NOUNS)


def _score(key: str, count: float) -> float:
    words = [word for word in key.split() if word not in FUNCTION_WORDS]
    mean = min(_RARE_ENOUGH, sum(map(rarity, words)) / len(words))
    return round(
        math.log1p(count) * mean * (1.0 if len(words) > 1 or has_han(key) else _ONE_WORD), 9
    )


def _lowered(topic: str) -> str:
    first = topic.split(" ")[0]
    return topic if first[1:] != first[1:].lower() else topic[:1].lower() + topic[1:]


def _most_used(surfaces: Counter[str]) -> str:
    """Return the spelling with the fewest capitals, then the most frequent one."""
    return min(surfaces, key=lambda one: (sum(map(str.isupper, one)), -surfaces[one], one))


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
