"""Answer of several steps: the last step's sentence, those that lead to it, then the rest.

Each part keeps its citation, under a new number; of spans that overlap, the first one stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..prompts import is_doubted, without_doubt
from ..types import Answer, Citation, ShortAnswer

MOST_PARTS = 4
"""Sentences or excerpts of an answer of several steps."""
LEADS_FROM = 0.6
"""Confidence of the last step's short answer from which it stands before the first round's."""
_PART = re.compile(r".*?\[(?P<number>\d{1,4})\](?=\s|$)", re.DOTALL)

_Part = tuple[str, Citation]


def chain_answer(
    first: Answer, inner: Sequence[Answer], last: Answer, *, names: Collection[str] = ()
) -> Answer:
    """Put the answer to the last question and those to inner parts before the first round's.

    That is done where the last one is sure, and where the first round has no answer but a name in
    between, one of `names`; else the first round's stands.
    """
    sure = last.short is not None and last.short.confidence >= LEADS_FROM
    open_ = first.short is None or first.short.text in names
    if last.abstained or is_doubted(last.text) or not (sure or open_):
        return first
    ordered = [_parts(last)[:1], *(_parts(each)[:1] for each in inner)]
    ordered += [] if first.abstained else [_parts(first)]
    chosen: list[_Part] = []
    for part in (part for some in ordered for part in some):
        if not any(_overlap(part[1], told) for _, told in chosen):
            chosen.append(part)
    del chosen[MOST_PARTS:]
    if not chosen:
        return first
    return replace(
        first,
        text=_joined([text for text, _ in chosen]),
        citations=tuple(replace(cited, number=n) for n, (_, cited) in enumerate(chosen, start=1)),
        short=_short(last.short, chosen),
        evidence=last.evidence,
        abstained=False,
        nearest=(),
    )


def name_read(answer: Answer, names: Sequence[tuple[int, int, str]]) -> Answer:
    """Return an answer to an inner question with the name that its first quote gives for it.

    That is the first one of the kind asked for that the question does not hold; `names` are start,
    end and type of those in the quote. Without one the answer stays as it is.
    """
    cited = answer.citations[0]
    kinds = next((kinds for asked, kinds in _KINDS if answer.question.endswith(asked)), ())
    for start, end, kind in names:
        name = cited.quote[start:end]
        if kind in kinds and name not in answer.question:
            short = ShortAnswer(
                text=name,
                kind="name",
                confidence=LEADS_FROM,
                document_id=cited.document_id,
                start=cited.start + start,
                end=cited.start + end,
            )
            return replace(answer, short=short)
    return answer


_KINDS = (
    ("是谁？", ("PERSON",)),
    ("是哪里？", ("PLACE",)),
    ("是什么？", ("ORGANISATION", "PLACE", "NAME", "WORK")),
)


def _overlap(one: Citation, other: Citation) -> bool:
    same = one.document_id == other.document_id
    return same and max(one.start, other.start) < min(one.end, other.end)


def _joined(texts: Sequence[str]) -> str:
    """Number the parts, one a line; a blank line parts an excerpt from what is beside it."""
    joined, last = "", ""
    for number, part in enumerate(texts, start=1):
        if joined:
            joined += "\n\n" if "\n" in part + last else "\n"
        gap = "\n" if part.endswith(("```", "|")) else " "
        joined, last = f"{joined}{part}{gap}[{number}]", part
    return joined


def _parts(answer: Answer) -> list[_Part]:
    """Return the texts of an answer that each end with the mark of one citation."""
    cited = {each.number: each for each in answer.citations}
    parts = _PART.finditer(without_doubt(answer.text))
    found = [(each, int(each["number"])) for each in parts]
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
