"""An answer's text on its way to a listener while it is written.

Marks in it are numbers of the passages that the listener was shown. What may yet turn out to be the
sentence that says that nothing was found is held back until that is known. Knows nothing of models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ..events import Listener, PassagesEvent, RouteEvent, StepEvent, TokensEvent, wants_pieces
from ..types import Answer, Citation, Passage
from .checks.marks import expand_marks
from .draft import Draft, as_passage
from .language import ABSTENTION

_BEGUN_MARK = re.compile(r"[\[【［][^\]】］\n]*$")
_LONGEST_MARK = 40


class Spoken:
    """One answer's pieces, to one listener.

    Args:
        tell: the listener.
        passages: what it was shown.
        numbers: what each mark of the pieces stands for, as numbers of passages; None where they
            are numbers of passages.
    """

    def __init__(
        self,
        tell: Listener,
        passages: Sequence[Passage],
        *,
        numbers: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self._tell = tell
        self._passages = passages
        self._numbers = numbers
        self._held = ""
        self._said = False

    @property
    def piece(self) -> Callable[[str], None] | None:
        """Takes a piece; None where nobody listens, so that none need be made."""
        return self._take if wants_pieces(self._tell) else None

    def end(self, draft: Draft) -> None:
        """The answer is written, whether or not it came in pieces."""
        if self._said:
            self._say(self._held, self._numbers)
        else:
            self._say(draft.text, self._of_citations(draft.citations))
        self._held = ""

    def _take(self, piece: str) -> None:
        self._held += piece
        if not self._said and may_abstain(self._held):
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
                if passage.document_id == citation.document_id
                and passage.start <= citation.start
                and citation.end <= passage.end
            )[:1]
            for citation in citations
        }


def retell(answer: Answer, tell: Listener) -> None:
    """Tell how an answer came about that was given before, its text as one piece."""
    if answer.route is not None:
        tell(RouteEvent(route=answer.route))
    for step in answer.trace:
        tell(StepEvent(step=step))
    passages = answer.passages or tuple(as_passage(each) for each in answer.citations)
    tell(PassagesEvent(passages=passages))
    Spoken(tell, passages).end(Draft(text=answer.text, citations=answer.citations))


def _before_begun_mark(text: str) -> int:
    """Where a mark begins that the text ends in the middle of; the end where there is none."""
    tail = max(0, len(text) - _LONGEST_MARK)
    begun = _BEGUN_MARK.search(text, tail)
    return begun.start() if begun else len(text)


def may_abstain(beginning: str) -> bool:
    """Could a reply that begins like this be the abstention sentence?"""
    said = letters(beginning)
    return any(letters(sentence).startswith(said) for sentence in ABSTENTION.values())


def letters(text: str) -> str:
    """The letters of a text in lower case, without marks and white space."""
    return re.sub(r"[\W\d_]+", "", text).casefold()
