"""A language model's second look at a graph: doubtful pairs of names, descriptions that are long.

What it says is kept as it arrives, and what is derived is then to be derived anew. Nothing is asked
twice; what could not be answered is asked again by the next run. Knows nothing of prompts, or of
how a call is paid for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..errors import ModelError
from ..progress import Progress
from .door import (
    Ask,
    Described,
    Judged,
    NameQuestion,
    Prompt,
    Summaries,
    generation,
    judge,
    judge_prompt,
    keep_judgements,
    packed,
    packed_things,
    pending_questions,
    pending_things,
    put_digests,
    read_state,
    summarise_descriptions,
    summary_prompt,
    write_state,
)
from .library import Library
from .patience import Patience
from .side_by_side import side_by_side

NAMES, SUMMARIES = "names", "summaries"
"""The stages under which calls are booked."""

JUDGED = "judged"
"""The generation in which no pair of names was in doubt that nobody had judged."""

CHANGED = "the documents have changed meanwhile"

Thing = TypeVar("Thing")
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
        unusable: is told the stage of each reply of which nothing could be used.
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
        unusable: Callable[[str], None],
    ) -> None:
        self._unusable = unusable
        self._library = library
        self._ask_names = ask_names
        self._ask_summaries = ask_summaries
        self._model = model
        self._pairs = pairs
        self._summarise = summarise
        self._workers = workers

    @property
    def pairs(self) -> int:
        """How many pairs of names a run may ask about."""
        return self._pairs

    def planned(self, library: Library) -> dict[str, list[tuple[Prompt, int]]]:
        """By stage what would be asked of this library now, each call with its number of things."""
        with library.read() as connection:
            questions = pending_questions(connection, limit=self._pairs) if self._pairs else []
            things = pending_things(connection) if self._summarise else []
        return {
            NAMES: [(judge_prompt(some), len(some)) for some in packed(questions)],
            SUMMARIES: [(summary_prompt(some), len(some)) for some in packed_things(things)],
        }

    def judge_names(self, *, progress: Progress) -> Looked:
        """Ask about the pairs in doubt that nobody judged, the most alike first.

        A model that fails or a budget that is used up is no error: what is left has its reason.
        """
        with self._library.read() as connection:
            if not self._pairs or read_state(connection, JUDGED) == str(generation(connection)):
                return Looked()
            questions = pending_questions(connection, limit=self._pairs)

        def ask(some: Sequence[NameQuestion]) -> Judged:
            return judge(some, self._ask_names, model=self._model)

        def keep(_asked: Sequence[NameQuestion], answer: Judged) -> tuple[int, Collection[str]]:
            with self._library.write() as connection:
                return keep_judgements(connection, answer.judgements), answer.unusable.values()

        told = _Told("judge names", len(questions), progress)
        looked = self._asked(
            packed(questions), ask, keep=keep, stage=NAMES, patience=Patience(), told=told
        )
        if not looked.failed and len(questions) < self._pairs:
            with self._library.write() as connection:
                write_state(connection, JUDGED, str(generation(connection)))
        return looked

    def summarise(self, *, progress: Progress) -> Looked:
        """Ask for the descriptions of things of which more is said than fits.

        Errors as in `judge_names`. Where somebody changes the documents meanwhile, what was
        summarised of them is dropped, and the run ends.
        """
        if not self._summarise:
            return Looked()
        with self._library.read() as connection:
            asked_in = generation(connection)
            things = pending_things(connection)
        patience = Patience()

        def ask(some: Sequence[Described]) -> Summaries:
            return summarise_descriptions(some, self._ask_summaries)

        def keep(asked: Sequence[Described], answer: Summaries) -> tuple[int, Collection[str]]:
            nonlocal asked_in
            with self._library.write() as connection:
                if generation(connection) != asked_in:
                    patience.over = CHANGED
                    return 0, [CHANGED] * len(asked)
                put_digests(connection, asked, answer.texts, model=self._model)
                asked_in = generation(connection)
            return len(answer.texts), answer.unusable.values()

        told = _Told("summarise", len(things), progress)
        return self._asked(
            packed_things(things), ask, keep=keep, stage=SUMMARIES, patience=patience, told=told
        )

    def _asked(
        self,
        packs: Iterable[Sequence[Thing]],
        ask: Callable[[Sequence[Thing]], Answer],
        *,
        keep: Callable[[Sequence[Thing], Answer], tuple[int, Collection[str]]],
        stage: str,
        patience: Patience,
        told: _Told,
    ) -> Looked:
        """Keep each answer as it comes; `keep` says how much came of it, and why not more."""

        def answer_to(pack: Sequence[Thing]) -> tuple[Sequence[Thing], Answer | ModelError]:
            try:
                answer = ask(pack)
            except ModelError as error:
                patience.failed(error)
                return pack, error
            patience.answered()
            return pack, answer

        looked, taken = Looked(), patience.while_it_lasts(packs)
        for asked, answer in side_by_side(taken, answer_to, workers=self._workers):
            if isinstance(answer, ModelError):
                looked.failed[str(answer)] += len(asked)
            else:
                done, reasons = keep(asked, answer)
                looked.done += done
                looked.failed.update(reasons)
                if len(reasons) == len(asked):
                    self._unusable(stage)
            told.more(len(asked))
        if told.done < told.total:
            looked.failed[patience.over] += told.total - told.done
        return looked


@dataclass(slots=True)
class _Told:
    """How far a stage is, and whom that is told."""

    stage: str
    total: int
    progress: Progress
    done: int = 0

    def more(self, count: int) -> None:
        """So many more are done."""
        self.done += count
        self.progress(self.stage, self.done, self.total)
