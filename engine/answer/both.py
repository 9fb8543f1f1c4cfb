"""Two answers to one question, from passages and from the whole, put together as one.

The local part comes first, the overview after it under a line of its own; one that abstains leaves
the other alone. Marks of the overview are renumbered, and a span that both cite has one number. A
listener hears one answer too. Knows nothing of how either part is found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import zip_longest

from ..events import Event, Listener, PassagesEvent, TokensEvent, heard_as
from ..types import Answer, Citation, Passage, TraceStep
from .language import ABSTENTION, Language, language_of

LEAD: dict[Language, str] = {"en": "On the whole:", "zh": "总的来看："}
_MARK = re.compile(r"\[(\d{1,4})\]")
_LEADS = re.compile(r"[:：]$")
_REPEATED = re.compile(r"(\[\d{1,4}\])(?:\1)+")


def merged(local: Answer, overview: Answer) -> Answer:
    """One answer of mode `both`, with the passages, steps and costs of the two.

    It abstains where both do, in the local one's words.
    """
    telling = [part for part in (local, overview) if not part.abstained]
    citations, numbers = _together(local, overview)
    if len(telling) == 2:
        lead = LEAD[language_of(local.question)]
        known = {each.number for each in local.citations}
        told = _unrepeated(_renumbered(overview.text, numbers), known)
        text = f"{local.text}\n\n{lead}\n\n{told}" if told else local.text
    else:
        only = telling[0] if telling else local
        text, citations = only.text, only.citations
    shared = len(local.citations) + len(overview.citations) - len(citations)
    step = TraceStep(
        stage="merge",
        detail=_said(local, overview),
        seconds=0.0,
        figures={"shared_citations": float(shared)} if len(telling) == 2 else {},
    )
    return replace(
        telling[0] if telling else local,
        text=text,
        mode="both",
        citations=citations,
        passages=_all_passages(local, overview),
        trace=(*local.trace, *overview.trace, step),
        usage=local.usage + overview.usage,
        abstained=not telling,
    )


def first_part(tell: Listener) -> Listener:
    """What hears the local part: that it abstains is not said, for the overview may not."""

    def heard(event: Event) -> None:
        if not (isinstance(event, TokensEvent) and event.text in ABSTENTION.values()):
            tell(event)

    return heard_as(tell, heard)


def second_part(tell: Listener, first: Answer) -> Listener:
    """What hears the overview: after the first part's text and passages, numbered on.

    Marks in the pieces of an overview are whole, as `Spoken` gives them.
    """
    begun = first.abstained

    def heard(event: Event) -> None:
        nonlocal begun
        match event:
            case PassagesEvent(passages=passages):
                tell(PassagesEvent(passages=(*first.passages, *passages)))
            case TokensEvent(text=text) if text in ABSTENTION.values():
                if first.abstained:
                    tell(event)
            case TokensEvent(text=text):
                if not begun:
                    tell(TokensEvent(text=f"\n\n{LEAD[language_of(first.question)]}\n\n"))
                    begun = True
                tell(TokensEvent(text=_moved(text, by=len(first.passages))))
            case _:
                tell(event)

    return heard_as(tell, heard)


def _moved(text: str, *, by: int) -> str:
    return _MARK.sub(lambda match: f"[{int(match.group(1)) + by}]", text)


def _all_passages(local: Answer, overview: Answer) -> tuple[Passage, ...]:
    """Each once, the local answer's first."""
    held = {passage.chunk_id for passage in local.passages}
    return (*local.passages, *(each for each in overview.passages if each.chunk_id not in held))


def _together(local: Answer, overview: Answer) -> tuple[tuple[Citation, ...], dict[int, int]]:
    """All citations, numbered on; and for each number of the overview the one that it becomes."""
    number_of = {_span(each): each.number for each in local.citations}
    last = max((each.number for each in local.citations), default=0)
    citations = list(local.citations)
    numbers: dict[int, int] = {}
    for each in overview.citations:
        span = _span(each)
        if span not in number_of:
            last += 1
            number_of[span] = last
            citations.append(replace(each, number=last))
        numbers[each.number] = number_of[span]
    return tuple(citations), numbers


def _renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """A number that is no citation's is the text's own and stays."""

    def number(match: re.Match[str]) -> str:
        old = int(match.group(1))
        return f"[{numbers[old]}]" if old in numbers else match.group()

    return _REPEATED.sub(r"\1", _MARK.sub(number, text))


def _unrepeated(text: str, known: Collection[int]) -> str:
    """Without the lines of a list that rest on nothing but what the local part cites already.

    A line that introduces such lines alone goes with them.
    """
    kept: list[str] = []
    for line in text.split("\n"):
        marks = {int(number) for number in _MARK.findall(line)}
        if not (line.startswith("- ") and marks and marks <= set(known)):
            kept.append(line)
    lines = [
        line
        for line, after in zip_longest(kept, kept[1:], fillvalue="")
        if not (_LEADS.search(line) and not after.startswith("- ") and f"{line}\n- " in text)
    ]
    if all(_LEADS.search(line) for line in lines if line.strip()):
        return ""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _span(citation: Citation) -> tuple[str, int, int]:
    return citation.document_id, citation.start, citation.end


def _said(local: Answer, overview: Answer) -> str:
    match (local.abstained, overview.abstained):
        case (False, False):
            return "the local answer, then the overview"
        case (False, True):
            return "the local answer; the overview abstained"
        case (True, False):
            return "the overview; the local answer abstained"
        case _:
            return "both abstained"
