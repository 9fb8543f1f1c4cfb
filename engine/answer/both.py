"""Combination of a local and a global answer to one question.

The local part comes first, the overview after it under a line of its own; one that abstains leaves
the other alone. Marks of the overview are renumbered, and a span that both cite has one number. A
listener hears one answer too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import zip_longest

from ..events import Event, Listener, PassagesEvent, TokensEvent, compose_listeners
from ..types import Answer, Citation, Passage, TraceStep
from .language import ABSTENTION, Language, language_of

LEAD: dict[Language, str] = {"en": "On the whole:", "zh": "总的来看："}
_MARK = re.compile(r"\[(\d{1,4})\]")
_LEADS = re.compile(r"[:：]$")
_REPEATED = re.compile(r"(\[\d{1,4}\])(?:\1)+")


def combine_answers(local: Answer, overview: Answer) -> Answer:
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


def local_events(on_event: Listener) -> Listener:
    """Return the listener of the local part.

    Withholds its abstention, which may not be final.
    """

    def heard(event: Event) -> None:
        if not (isinstance(event, TokensEvent) and event.text in ABSTENTION.values()):
            on_event(event)

    return compose_listeners(on_event, heard)


def global_events(on_event: Listener, first: Answer) -> Listener:
    """Return the listener of the global part; numbers its passages after the first part's.

    Marks in the pieces of an overview are whole, as `Spoken` gives them.
    """
    begun = first.abstained

    def heard(event: Event) -> None:
        nonlocal begun
        match event:
            case PassagesEvent(passages=passages):
                on_event(PassagesEvent(passages=(*first.passages, *passages)))
            case TokensEvent(text=text) if text in ABSTENTION.values():
                if first.abstained:
                    on_event(event)
            case TokensEvent(text=text):
                if not begun:
                    on_event(TokensEvent(text=f"\n\n{LEAD[language_of(first.question)]}\n\n"))
                    begun = True
                on_event(TokensEvent(text=_moved(text, by=len(first.passages))))
            case _:
                on_event(event)

    return compose_listeners(on_event, heard)


def _moved(text: str, *, by: int) -> str:
    return _MARK.sub(lambda match: f"[{int(match.group(1)) + by}]", text)


def _all_passages(local: Answer, overview: Answer) -> tuple[Passage, ...]:
    """Each once, the local answer's first."""
    held = {passage.chunk_id for passage in local.passages}
    return (*local.passages, *(each for each in overview.passages if each.chunk_id not in held))


def _together(local: Answer, overview: Answer) -> tuple[tuple[Citation, ...], dict[int, int]]:
    """Concatenate the citations; map each number of the overview to its new one."""
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
    """Renumber citation marks; other numbers in brackets stay."""

    def number(match: re.Match[str]) -> str:
        old = int(match.group(1))
        return f"[{numbers[old]}]" if old in numbers else match.group()

    return _REPEATED.sub(r"\1", _MARK.sub(number, text))


def _unrepeated(text: str, known: Collection[int]) -> str:
    """Drop list lines that rest only on sources the local part cites.

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
