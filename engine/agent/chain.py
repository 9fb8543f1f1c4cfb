"""Answer of several steps: the last step's sentence, those that lead to it, then the rest.

Each part keeps its citation, under a new number; a span that two steps cite stands once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..types import Answer, Citation, ShortAnswer

MOST_PARTS = 4
"""Sentences or excerpts of an answer of several steps."""
LEADS_FROM = 0.5
"""Confidence of the last step's short answer from which it stands before the first round's."""
_PART = re.compile(r".*?\[(?P<number>\d{1,4})\](?=\s|$)", re.DOTALL)

_Part = tuple[str, Citation]


def chain_answer(
    first: Answer, inner: Sequence[Answer], last: Answer, *, names: Collection[str] = ()
) -> Answer:
    """Join the first round's answer, those to inner parts, and that to the last question.

    The last one leads where it is sure, and where the first round has no answer but a name in
    between, one of `names`.
    """
    if last.abstained:
        return first
    leads = last.short is not None and last.short.confidence >= LEADS_FROM
    leads = leads or first.short is None or first.short.text in names
    steps = [_parts(last)[:1], *(_parts(each)[:1] for each in inner)]
    whole = [] if first.abstained else _parts(first)
    ordered = [*steps, whole] if leads or not whole else [whole, *steps]
    parts: dict[tuple[str, int, int], _Part] = {}
    for text, citation in (part for some in ordered for part in some):
        parts.setdefault((citation.document_id, citation.start, citation.end), (text, citation))
    chosen = list(parts.values())[:MOST_PARTS]
    if not chosen:
        return first
    return replace(
        first,
        text="\n".join(f"{text} [{n}]" for n, (text, _) in enumerate(chosen, start=1)),
        citations=tuple(replace(cited, number=n) for n, (_, cited) in enumerate(chosen, start=1)),
        short=_short(last.short if leads else first.short, chosen),
        evidence=last.evidence if leads else first.evidence,
        abstained=False,
    )


def _parts(answer: Answer) -> list[_Part]:
    """Return the texts of an answer that each end with the mark of one citation."""
    cited = {each.number: each for each in answer.citations}
    found = [(each, int(each["number"])) for each in _PART.finditer(answer.text)]
    return [
        (each.group()[: each.start("number") - each.start() - 1].strip(), cited[number])
        for each, number in found
        if number in cited
    ]


def _short(short: ShortAnswer | None, chosen: Sequence[_Part]) -> ShortAnswer | None:
    """Return the short answer with the new number of its citation; None where that is left out."""
    if short is None or short.document_id is None or short.start is None:
        return None
    for number, (_, cited) in enumerate(chosen, start=1):
        if cited.document_id == short.document_id and cited.start <= short.start < cited.end:
            return replace(short, citation_numbers=(number,))
    return None
