"""Answer synthesis by a language model, and the answer's text on its way to a listener.

`synthesise` makes messages of the packed context, calls the model and hands the reply to the
check. `TokenStreamer` tells pieces as they are written: marks are numbers of the passages that the
listener was shown, and what may yet turn out to be the abstention is held back until it is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..events import Listener, PassagesEvent, RouteEvent, StepEvent, TokensEvent, wants_tokens
from ..prompts import ABSTENTION, chat_messages, language_of
from ..types import Answer, Citation, Passage, Usage
from .packing import Draft, PackedContext, abstain, as_passage, expand_marks

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

_BEGUN_MARK = re.compile(r"[\[【［][^\]】］\n]*$")
_LONGEST_MARK = 40


class TokenStreamer:
    """One answer's pieces, to one listener.

    Args:
        on_event: the listener.
        passages: what it was shown.
        numbers: what each mark of the pieces stands for, as numbers of passages; None where they
            are numbers of passages.
    """

    def __init__(
        self,
        on_event: Listener,
        passages: Sequence[Passage],
        *,
        numbers: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self._tell = on_event
        self._passages = passages
        self._numbers = numbers
        self._held = ""
        self._said = False

    @property
    def piece(self) -> Callable[[str], None] | None:
        """Takes a piece; None where nobody listens, so that none need be made."""
        return self._take if wants_tokens(self._tell) else None

    def end(self, draft: Draft) -> None:
        """Finish the stream, whether or not it came in pieces."""
        if self._said:
            self._say(self._held, self._numbers)
        else:
            self._say(draft.text, self._of_citations(draft.citations))
        self._held = ""

    def _take(self, piece: str) -> None:
        self._held += piece
        if not self._said and could_be_refusal(self._held):
            return
        text = self._held if self._said else self._held.lstrip()
        ready = len(text) if self._numbers is None else _before_begun_mark(text)
        self._held = text[ready:]
        self._say(text[:ready], self._numbers)

    def _say(self, text: str, numbers: Mapping[int, Sequence[int]] | None) -> None:
        if numbers is not None:
            text = expand_marks(text, numbers, unknown=())
        if text:
            self._said = True
            self._tell(TokensEvent(text=text))

    def _of_citations(self, citations: Sequence[Citation]) -> dict[int, tuple[int, ...]]:
        """Each citation's number as that of the first passage that holds it."""
        return {
            citation.number: tuple(
                number
                for number, passage in enumerate(self._passages, start=1)
                if _holds(passage, citation)
            )[:1]
            for citation in citations
        }


def replay_events(answer: Answer, on_event: Listener) -> None:
    """Tell how an answer came about that was given before, its text as one piece."""
    if answer.route is not None:
        on_event(RouteEvent(route=answer.route))
    for step in answer.trace:
        on_event(StepEvent(step=step))
    say_answer(answer, on_event)


def say_answer(answer: Answer, on_event: Listener) -> None:
    """Tell the passages of an answer, and its text as one piece whose marks count them.

    Quotes from elsewhere stand behind the passages.
    """
    elsewhere = (
        each for each in answer.citations if not any(_holds(one, each) for one in answer.passages)
    )
    passages = (*answer.passages, *map(as_passage, elsewhere))
    on_event(PassagesEvent(passages=passages))
    TokenStreamer(on_event, passages).end(Draft(text=answer.text, citations=answer.citations))


def _holds(passage: Passage, citation: Citation) -> bool:
    is_same = passage.document_id == citation.document_id
    return is_same and passage.start <= citation.start and citation.end <= passage.end


def _before_begun_mark(text: str) -> int:
    """Return the start of an unfinished mark at the end of the text, or its end."""
    tail = max(0, len(text) - _LONGEST_MARK)
    begun = _BEGUN_MARK.search(text, tail)
    return begun.start() if begun else len(text)


def could_be_refusal(beginning: str) -> bool:
    """Could a reply that begins like this be the abstention sentence?"""
    said = strip_markers(beginning)
    return any(strip_markers(sentence).startswith(said) for sentence in ABSTENTION.values())


def strip_markers(text: str) -> str:
    """Return lower-case letters without marks and white space."""
    return re.sub(r"[\W\d_]+", "", text).casefold()


Complete = Callable[[Sequence["ChatMessage"]], tuple[str, Usage]]


class Check(Protocol):
    """Makes the draft of a reply whose marks `[n]` name `packed.passages[n - 1]`."""

    def __call__(self, question: str, packed: PackedContext, *, reply: str, usage: Usage) -> Draft:
        """Build the draft."""
        ...


def synthesise(
    question: str, packed: PackedContext, *, complete: Complete, check: Check, earlier: str = ""
) -> Draft:
    """Generate an answer from the packed context; abstain without sources or call.

    `earlier` is what was said before, which the model is shown but cannot cite.
    Errors of `complete` pass through unchanged.
    """
    if not packed.passages:
        return abstain(language_of(question), detail="no sources")
    reply, usage = complete(synthesis_messages(question, packed, earlier=earlier))
    return read_synthesis(question, packed, reply=reply, usage=usage, check=check)


def synthesis_messages(
    question: str, packed: PackedContext, *, earlier: str = ""
) -> tuple[ChatMessage, ...]:
    """Build the messages: constant instructions, then sources and question."""
    return chat_messages(
        "answer",
        language=language_of(question),
        context=packed.text,
        question=question,
        earlier=earlier,
    )


def read_synthesis(
    question: str, packed: PackedContext, *, reply: str, usage: Usage, check: Check
) -> Draft:
    """Build the draft of a reply; an abstention is detected before verification."""
    language = language_of(question)
    if not reply.strip():
        return abstain(language, detail="the model gave an empty reply", usage=usage)
    if is_abstention(reply):
        return abstain(language, detail="the model found no answer in the sources", usage=usage)
    return check(question, packed, reply=reply, usage=usage)


def is_abstention(reply: str) -> bool:
    """Check whether the reply is only the abstention sentence."""
    said = strip_markers(reply)
    return any(strip_markers(sentence) == said for sentence in ABSTENTION.values())
