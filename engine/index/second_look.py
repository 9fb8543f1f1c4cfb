"""A language model's second look at a graph: doubtful pairs of names, descriptions that are long.

What it says is kept as it arrives, and what is derived is then to be derived anew. Nothing is asked
twice; what could not be answered is asked again by the next run. Knows nothing of prompts, or of
how a call is paid for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..errors import BudgetExceeded, ModelError, ModelUnavailable
from ..progress import Progress
from .door import (
    Ask,
    Described,
    Judged,
    NameQuestion,
    Summaries,
    generation,
    judge,
    keep_judgements,
    packed,
    packed_things,
    pending_questions,
    pending_things,
    put_digests,
    read_state,
    summarise_descriptions,
    write_state,
)
from .library import Library
from .side_by_side import side_by_side

OUTAGE = 3
"""After so many calls in a row to which nobody answered no further one is tried in this run."""

JUDGED = "judged"
"""The generation in which no pair of names was in doubt that nobody had judged."""

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Looked:
    """How many pairs were joined or descriptions summarised, and of how many more not, with why."""

    done: int = 0
    failed: Counter[str] = field(default_factory=Counter)


class SecondLook:
    """Asks about a library's names and descriptions.

    Args:
        library: where both are, and where the answers are kept.
        ask_names: answers whether names mean one thing.
        ask_summaries: answers with descriptions.
        model: the name that answers are signed with.
        pairs: how many pairs of names a run may ask about; 0 for none.
        summarise: whether descriptions are summarised.
        workers: calls at a time.
    """

    def __init__(
        self,
        library: Library,
        *,
        ask_names: Ask,
        ask_summaries: Ask,
        model: str,
        pairs: int,
        summarise: bool,
        workers: int,
    ) -> None:
        self._library = library
        self._ask_names = ask_names
        self._ask_summaries = ask_summaries
        self._model = model
        self._pairs = pairs
        self._summarise = summarise
        self._workers = workers

    def judge_names(self, *, progress: Progress) -> Looked:
        """Ask about the pairs in doubt that nobody judged, the most alike first.

        A model that fails or a budget that is used up is no error: what is left has its reason.
        """
        looked = Looked()
        with self._library.read() as connection:
            judged = read_state(connection, JUDGED) == str(generation(connection))
            questions: Sequence[NameQuestion] = ()
            if self._pairs and not judged:
                questions = pending_questions(connection, limit=self._pairs)
        calls = _Calls[Sequence[NameQuestion], Judged](
            lambda some: judge(some, self._ask_names, model=self._model)
        )
        said = 0
        for some, answer in calls.answers(packed(questions), workers=self._workers):
            if isinstance(answer, Judged):
                with self._library.write() as connection:
                    looked.done += keep_judgements(connection, answer.judgements)
                looked.failed.update(answer.unusable.values())
            else:
                looked.failed[answer] += len(some)
            said += len(some)
            progress("judge names", said, len(questions))
        _leave(looked, len(questions) - said, calls.stopped)
        if self._pairs and not judged and not looked.failed and len(questions) < self._pairs:
            with self._library.write() as connection:
                write_state(connection, JUDGED, str(generation(connection)))
        return looked

    def summarise(self, *, progress: Progress) -> Looked:
        """Ask for the descriptions of things of which more is said than fits.

        Errors as in `judge_names`. Where somebody changes the documents meanwhile, what was
        summarised of them is dropped, and the run ends.
        """
        looked = Looked()
        things: Sequence[Described] = ()
        with self._library.read() as connection:
            asked_in = generation(connection)
            if self._summarise:
                things = pending_things(connection)
        calls = _Calls[Sequence[Described], Summaries](
            lambda some: summarise_descriptions(some, self._ask_summaries)
        )
        said = 0
        for some, answer in calls.answers(packed_things(things), workers=self._workers):
            if isinstance(answer, Summaries):
                with self._library.write() as connection:
                    if generation(connection) != asked_in:
                        calls.stopped = "the documents have changed meanwhile"
                        continue
                    put_digests(connection, some, answer.texts, model=self._model)
                    asked_in = generation(connection)
                looked.done += len(answer.texts)
                looked.failed.update(answer.unusable.values())
            else:
                looked.failed[answer] += len(some)
            said += len(some)
            progress("summarise", said, len(things))
        _leave(looked, len(things) - said, calls.stopped)
        return looked


def _leave(looked: Looked, count: int, reason: str) -> None:
    """Note what was not asked any more."""
    if count:
        looked.failed[reason] += count


class _Calls(Generic[Asked, Answer]):
    """The calls of one stage; none after the end of the budget, or while nobody answers.

    `stopped` says why no further one is made, once that is so.
    """

    def __init__(self, ask: Callable[[Asked], Answer]) -> None:
        self._ask = ask
        self._unanswered = 0
        self.stopped = ""

    def answers(
        self, packs: Iterable[Asked], *, workers: int
    ) -> Iterator[tuple[Asked, Answer | str]]:
        """Each pack with its answer, or with why there is none, in order of arrival."""
        yield from side_by_side(self._until_stopped(packs), self._answer, workers=workers)

    def _until_stopped(self, packs: Iterable[Asked]) -> Iterator[Asked]:
        for pack in packs:
            if self.stopped:
                return
            yield pack

    def _answer(self, pack: Asked) -> tuple[Asked, Answer | str]:
        try:
            answer = self._ask(pack)
        except ModelError as error:
            self._unanswered += isinstance(error, ModelUnavailable)
            if isinstance(error, BudgetExceeded) or self._unanswered >= OUTAGE:
                self.stopped = str(error)
            return pack, str(error)
        self._unanswered = 0
        return pack, answer
