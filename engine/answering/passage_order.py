"""Passages in the order in which an excerpt is looked for in them."""

from __future__ import annotations

from collections.abc import Sequence

from graph.text.cjk import is_chinese

from ..prompts import language_of
from ..types import Passage
from .extractive.blocks import is_contents
from .extractive.chinese.known_as import UNKNOWN, KnownAs
from .extractive.intent import asked_person, is_defined_by, question_intent, shows_intent
from .introductions import introduction

FIRST = 6
"""Passages whose language is looked at."""
NEAREST = 5
"""Passages that are nearest by themselves, and looked at wherever the walk puts them."""
OF_SIDE, BEFORE_SIDES = 2, 4
"""Passages that are found for each thing that is compared, and those of the question before."""
DEFINES = 0.25
"""Bonus of a passage that defines what is asked about; its nearness is 1 at most."""


def is_across(question: str, passages: Sequence[Passage]) -> bool:
    """Check that most of the first passages are in another language than the question."""
    first = passages[:FIRST]
    chinese = language_of(question) == "zh"
    return 2 * sum(is_chinese(each.text) != chinese for each in first) > len(first)


def in_own_language(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages with a paragraph in the language of the question, in their order."""
    chinese = language_of(question) == "zh"
    return [each for each in passages if _has_paragraph(each.text, chinese=chinese)]


def in_other_language(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages that are in another language than the question, in their order."""
    chinese = language_of(question) == "zh"
    return [each for each in passages if is_chinese(each.text) != chinese]


def _has_paragraph(text: str, *, chinese: bool) -> bool:
    said = [each for each in text.split("\n\n") if not each.lstrip().startswith("#")]
    return any(is_chinese(each) == chinese for each in said or [text])


def direct_first(
    question: str, passages: Sequence[Passage], known_as: KnownAs = UNKNOWN
) -> list[Passage]:
    """Order passages by how near they are to the question by themselves (see `direct_rows`)."""
    return [passages[row] for row in direct_rows(question, passages, known_as)]


def direct_rows(
    question: str, passages: Sequence[Passage], known_as: KnownAs = UNKNOWN
) -> list[int]:
    """Return the rows of passages by how near they are by themselves, without the graph.

    What an excerpt answers is said in one place: a passage that many others lead to is not it, and
    a table of contents is last. What introduces the person who is asked for, by any name, is first.
    """
    intent, near = question_intent(question), _nearness(passages)
    person = asked_person(question)
    names = known_as.all_of(person) if person else ()

    def key(row: int) -> tuple[bool, float, int]:
        passage = passages[row]
        defines = intent == "definition" and (
            is_defined_by(" ".join(passage.headings[-1:]) or passage.title, intent, question)
            or shows_intent(intent, passage.text, question)
        )
        told = max((introduction(passage.text, name) for name in names), default=0)
        return is_contents(passage.text), -near[row] - DEFINES * defines - told, row

    return sorted(range(len(passages)), key=key)


def with_nearest(question: str, passages: Sequence[Passage], *, first: int) -> list[Passage]:
    """Return the first passages, and behind them the nearest by themselves.

    The graph leads over several documents, and away from the one page of a manual that says it.
    """
    near = [row for row in direct_rows(question, passages)[:NEAREST] if row >= first]
    return [*passages[:first], *(passages[row] for row in near)]


def with_sides(passages: Sequence[Passage], found: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Return the first passages, those found for each thing that is compared, then the others.

    Passages near to the whole question are often all about the better known one.
    """
    own = [each for some in found for each in some]
    told: dict[str, Passage] = {}
    for each in (*passages[:BEFORE_SIDES], *own, *passages[BEFORE_SIDES:]):
        told.setdefault(each.chunk_id, each)
    return list(told.values())


def _nearness(passages: Sequence[Passage]) -> list[float]:
    """Return the fused score of each passage, from 0 for the lowest to 1."""
    fused = [each.scores.get("fused", 0.0) for each in passages]
    low, high = min(fused, default=0.0), max(fused, default=0.0)
    return [(each - low) / (high - low) if high > low else 0.0 for each in fused]
