"""Structure detection: FAQ, transcript or legal text.

Pure, one pass each, and careful: a text wrongly taken for one of these is cut worse than one that
is missed, so several signs must come together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from .blocks import sections
from .clauses import PARAGRAPH, ClauseMarker, clause_markers
from .faq import qa_pairs
from .legal import clause_rank
from .legal import clauses as clause_units
from .questions import answers, questions
from .turns import Turn, ends_like_speech, turns

_SEEN_CHARACTERS = 200_000
"""Enough of a text to know it by."""
_MIN_QUESTIONS = 4
_MIN_TURNS = 8
_MIN_CLAUSES = 6
_OBLIGES = re.compile(
    r"\b(?:shall|hereby|herein|thereof|pursuant|notwithstanding|hereinafter|must not|may not"
    r"|is liable|agreement|parties|subsection)\b"
    r"|应当|不得|本法|本条例|本合同|本协议|本办法|本规定|依照|甲方|乙方|有权|违反|处以|规定",
    re.I,
)
_CHARACTERS_A_DUTY = 250
"""Maximum characters per duty word in legal text (a third of it in Chinese)."""


def looks_like_faq(text: str, *, markdown: bool = False) -> bool:
    """Detect an FAQ: several questions, most text in answers, hardly any unanswered."""
    seen = _seen(text)
    found = sections(seen, markdown=markdown)
    asked = questions(seen, found)
    if len(asked) < _MIN_QUESTIONS:
        return False
    if asked[0].style == "label" and answers(seen) < 0.7 * len(asked):
        return False
    units = qa_pairs(seen, markdown=markdown)
    answered = [unit for unit in units if unit.alone]
    inside = sum(unit.end - unit.start for unit in answered)
    bodies = [unit.end - unit.start - len(unit.carried) for unit in answered]
    said = sum(length > 10 for length in bodies)
    titles = sum(unit.carried == "" for unit in units)
    return (
        inside > 0.7 * len(seen.strip())
        and said >= 0.8 * len(asked)
        and titles <= len(answered) / 2
        and max(bodies, default=0) < 0.6 * len(seen)
    )


def looks_like_transcript(text: str) -> bool:
    """Detect a transcript.

    Many turns, recurring speakers, speech after names, little else.
    """
    seen = _seen(text)
    found = turns(seen, 0, len(seen))
    speakers = Counter(turn.speaker for turn in found if turn.speaker)
    again = [name for name, count in speakers.items() if count > 1]
    if len(found) < _MIN_TURNS or len(again) < 2 or sum(speakers.values()) < 0.5 * len(found):
        return False
    if sum(speakers[name] for name in again) < 0.7 * sum(speakers.values()):
        return False
    spoken = sum(turn.stamped or ends_like_speech(seen, turn) for turn in found)
    lines = sum(1 for line in seen.splitlines() if line.strip())
    return (
        spoken >= 0.4 * len(found)
        and (len(found) >= 0.25 * lines)
        and not _is_a_form(found)
        and found[0].start < 0.3 * len(seen)
    )


def looks_like_legal(text: str) -> bool:
    """Detect legal text: consecutive clauses with most of the text, and duty words."""
    seen = _seen(text)
    found = clause_markers(seen)
    rank = clause_rank(found)
    clauses = [marker for marker in found if marker.rank == rank]
    if rank < 1 or len(clauses) < _MIN_CLAUSES or not _in_order(clauses):
        return False
    inside = sum(unit.end - unit.start for unit in clause_units(seen) if unit.alone)
    wide = sum("\u4e00" <= character <= "\u9fff" for character in seen)
    duties = len(_OBLIGES.findall(seen))
    needed = (len(seen) - wide) / _CHARACTERS_A_DUTY + wide / (_CHARACTERS_A_DUTY / 3)
    named = rank <= PARAGRAPH
    enough = duties >= max(_MIN_CLAUSES // 2, (0.5 if named else 1.0) * needed)
    return inside > 0.6 * len(seen.strip()) and enough


def _seen(text: str) -> str:
    if len(text) <= _SEEN_CHARACTERS:
        return text
    cut = text.rfind("\n", 0, _SEEN_CHARACTERS)
    return text[: cut if cut > 0 else _SEEN_CHARACTERS]


def _is_a_form(found: Sequence[Turn]) -> bool:
    """Check whether names recur in a fixed order of three or more, as form fields do."""
    names = [turn.speaker for turn in found]
    if len(set(names)) < 3:
        return False
    followers = Counter(pairwise(names))
    usual = sum(
        max(count for (name, _), count in followers.items() if name == first)
        for first in sorted({name for name, _ in followers})
    )
    return usual >= 0.9 * max(1, len(names) - 1) and len(names) >= 2 * len(set(names))


def _in_order(clauses: Sequence[ClauseMarker]) -> bool:
    """Check whether most numbers follow the previous one or restart."""
    numbers = [_ordinal(clause.number) for clause in clauses]
    steps = sum(after == before + 1 or after == 1 for before, after in pairwise(numbers))
    return steps >= 0.7 * (len(numbers) - 1)


def _ordinal(number: str) -> int:
    """Return the value of a number's last part: arabic, roman, Chinese, letter.

    0 for none.
    """
    last = re.split(r"[.-]", number)[-1]
    digits = re.match(r"\d+", last)
    if digits:
        return int(digits.group())
    if re.fullmatch(r"[ivxlc]+", last, re.I):
        return _roman(last.lower())
    return _chinese(last) or (ord(last.lower()) - 96 if len(last) == 1 else 0)


def _roman(number: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[letter] for letter in number]
    return sum(
        -value if value < after else value
        for value, after in zip(values, [*values[1:], 0], strict=True)
    )


def _chinese(number: str) -> int:
    total, digit = 0, 0
    for character in number:
        if character in "十百千":
            total += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[character]
            digit = 0
        elif character in "零〇":
            digit = 0
        else:
            digit = "一二三四五六七八九".find(character) + 1
    return total + digit
