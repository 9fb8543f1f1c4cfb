"""A local and a global answer as one.

The local part comes first, the overview after it under a line of its own; one that abstains leaves
the other alone. Marks of the overview are renumbered, and a span that both cite has one number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from graph.text.cjk import in_script_of

from ..events import Event, Listener, PassagesEvent, TokensEvent, compose_listeners
from ..plain_text import outside_code
from ..prompts import Language, is_abstention, language_of
from ..types import Answer, Citation, Passage, TraceStep
from .extractive.likeness import is_doubtful

LEAD: dict[Language, str] = {"en": "On the whole:", "zh": "总的来看："}
"""The line between the two parts."""
_MARK = re.compile(r"\[(\d{1,4})\]")
_REPEATED = re.compile(r"(\[\d{1,4}\])(?:\1)+")


ENOUGH = 0.5
"""Evidence from which a local answer is likelier right than wrong, and needs no overview."""


def stands_by_itself(local: Answer) -> bool:
    """Check for a local answer without a word of doubt that is likelier right than wrong."""
    return not is_doubtful(local, local.question) and (local.evidence or 0.0) >= ENOUGH


def combine_answers(local: Answer, overview: Answer) -> Answer:
    """One answer of mode `both`, with the passages, steps and costs of the two.

    It abstains where both do, in the local one's words.
    """
    telling = [part for part in (local, overview) if not part.abstained]
    citations, numbers = _together(local, overview)
    if len(telling) == 2:
        lead = in_script_of(local.question, LEAD[language_of(local.question)])
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
    """Return a listener that passes on the events of the local part of a two-part answer.

    Withholds its abstention, which may not be final.
    """

    def heard(event: Event) -> None:
        if not (isinstance(event, TokensEvent) and is_abstention(event.text)):
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
            case TokensEvent(text=text) if is_abstention(text):
                if first.abstained:
                    on_event(event)
            case TokensEvent(text=text):
                if not begun:
                    lead = in_script_of(first.question, LEAD[language_of(first.question)])
                    on_event(TokensEvent(text=f"\n\n{lead}\n\n"))
                    begun = True
                on_event(TokensEvent(text=_moved(text, by=len(first.passages))))
            case _:
                on_event(event)

    return compose_listeners(on_event, heard)


def _moved(text: str, *, by: int) -> str:
    def moved(part: str) -> str:
        return _MARK.sub(lambda match: f"[{int(match.group(1)) + by}]", part)

    return outside_code(text, moved)


def _all_passages(local: Answer, overview: Answer) -> tuple[Passage, ...]:
    """Each once, the local answer's first."""
    held = {passage.chunk_id for passage in local.passages}
    return (*local.passages, *(each for each in overview.passages if each.chunk_id not in held))


def _together(local: Answer, overview: Answer) -> tuple[tuple[Citation, ...], dict[int, int]]:
    """Concatenate the citations; map each number of the overview to its new one."""
    last = max((each.number for each in local.citations), default=0)
    citations = list(local.citations)
    numbers: dict[int, int] = {}
    for each in overview.citations:
        known = next((one.number for one in citations if _contains(one, each)), 0)
        if not known:
            last = known = last + 1
            citations.append(replace(each, number=last))
        numbers[each.number] = known
    return tuple(citations), numbers


def _renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """Renumber citation marks; other numbers in brackets stay."""

    def number(match: re.Match[str]) -> str:
        old = int(match.group(1))
        return f"[{numbers[old]}]" if old in numbers else match.group()

    return outside_code(text, lambda part: _REPEATED.sub(r"\1", _MARK.sub(number, part)))


def _unrepeated(text: str, known: Collection[int]) -> str:
    """Drop list lines that rest only on sources the local part cites.

    A block that has no other cited line goes with them; empty where nothing else is cited.
    """
    blocks: list[str] = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        kept = [line for line in lines if not _rests_on(line, known)]
        if len(kept) == len(lines) or any(_MARK.search(line) for line in kept):
            blocks.append("\n".join(kept))
    left = "\n\n".join(blocks)
    return left if _MARK.search(left) or not _MARK.search(text) else ""


def _rests_on(line: str, known: Collection[int]) -> bool:
    marks = {int(number) for number in _MARK.findall(line)}
    return line.startswith("- ") and bool(marks) and marks <= set(known)


def _contains(citation: Citation, other: Citation) -> bool:
    is_same = citation.document_id == other.document_id
    return is_same and citation.start <= other.start and other.end <= citation.end


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
