"""Co-occurrence relations, and evidence sentences of triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from ..model import NAMED_TYPES, OCCURS_WITH, Mention, Statement
from .segments import Layout

NEIGHBOURS = 2
"""Each name is tied to so many different names that follow it in its sentence."""


def named_by_sentence(
    layout: Layout, mentions: Iterable[Mention]
) -> list[tuple[int, list[Mention]]]:
    """`(sentence index, its named mentions in order)` for sentences that hold any."""
    named = (m for m in sorted(mentions) if m.type in NAMED_TYPES)
    placed = ((layout.sentence_at(m.start), m) for m in named)
    known = [(index, m) for index, m in placed if index is not None]
    return [
        (index, [m for _, m in group]) for index, group in groupby(known, key=lambda pair: pair[0])
    ]


def co_occurrences(
    layout: Layout, mentions: Iterable[Mention], typed: Iterable[Statement]
) -> Iterator[Statement]:
    """Return a statement for neighbouring names without a typed relation in their sentence.

    Subject and object are ordered by key, so that the direction is the same everywhere.
    """
    linked = {(s.start, frozenset((s.subject, s.object))) for s in typed}
    for index, named in named_by_sentence(layout, mentions):
        start, end = layout.sentences[index]
        keys = list(dict.fromkeys(m.key for m in named))
        for place, key in enumerate(keys):
            for other in keys[place + 1 : place + 1 + NEIGHBOURS]:
                if (start, frozenset((key, other))) not in linked:
                    first, second = sorted((key, other))
                    yield Statement(
                        start=start, end=end, subject=first, predicate=OCCURS_WITH, object=second
                    )
