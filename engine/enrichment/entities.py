"""Entity refinement by a language model: doubtful pairs of names, and long descriptions.

Each answer is committed as it arrives and then derived from. What is answered in no usable way is
asked once more and then not again; what could not be asked is asked by the next run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..concurrency import parallel_map
from ..errors import ModelError
from ..events import Progress
from ..llm.client import LLMClient
from ..llm.retry import CircuitBreaker
from ..storage.graph_api import (
    Described,
    PairQuestion,
    PairVerdicts,
    Prompt,
    Summaries,
    batch_descriptions,
    batch_questions,
    facts_generation,
    judge_pairs,
    judge_prompt,
    pending_descriptions,
    read_state,
    save_summaries,
    save_verdicts,
    summarise_descriptions,
    summary_prompt,
    uncertain_pairs,
    write_state,
)
from ..storage.library import Library
from .unanswered import JUDGED, Unanswered, is_final

NAMES, SUMMARIES = "names", "summaries"
"""The stages under which calls are booked."""

CHANGED = "the documents have changed meanwhile"

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class RefineResult:
    """Numbers of pairs merged and descriptions summarised, and failures with reasons.

    `failed` is what the next run asks again, `given_up` what it does not.
    """

    done: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    given_up: Counter[str] = field(default_factory=Counter)


class EntityRefiner:
    """Asks about a library's names and descriptions.

    Args:
        library: where both are, and where the answers are kept.
        client: the model, whose name signs its answers.
        pairs: how many pairs of names a run may ask about; 0 for none.
        summarise: whether descriptions are summarised.
    """

    def __init__(self, library: Library, *, client: LLMClient, pairs: int, summarise: bool) -> None:
        self._library = library
        self._client = client
        self._pairs = pairs
        self._summarise = summarise
        self._unjudged = Unanswered(library, stage=NAMES, asker=client.identity)
        self._unsummarised = Unanswered(library, stage=SUMMARIES, asker=client.identity)

    @property
    def pairs(self) -> int:
        """Maximum name pairs judged in a run."""
        return self._pairs

    def planned(self, library: Library) -> dict[str, list[tuple[Prompt, int]]]:
        """Return by stage the calls this library would need now, with items of each."""
        with library.read() as connection:
            questions = uncertain_pairs(connection, limit=self._pairs) if self._pairs else []
            things = pending_descriptions(connection) if self._summarise else []
        questions, things = self._open_questions(questions), self._open_things(things)
        return {
            NAMES: [(judge_prompt(some), len(some)) for some in batch_questions(questions)],
            SUMMARIES: [(summary_prompt(some), len(some)) for some in batch_descriptions(things)],
        }

    def judge_names(self, *, progress: Progress) -> RefineResult:
        """Ask about the pairs in doubt that nobody judged, the most alike first.

        A model that fails or a budget that is used up is no error: what is left has its reason.
        """
        with self._library.read() as connection:
            if not self._pairs or read_state(connection, JUDGED) == str(
                facts_generation(connection)
            ):
                return RefineResult()
            limit = self._pairs + len(self._unjudged.reasons())
            found = uncertain_pairs(connection, limit=limit)
        questions = self._open_questions(found)[: self._pairs]

        def ask(some: Sequence[PairQuestion]) -> PairVerdicts:
            return judge_pairs(some, self._ask(NAMES), model=self._client.model)

        def keep(
            asked: Sequence[PairQuestion], answer: PairVerdicts
        ) -> tuple[int, Mapping[str, str]]:
            keys = {question.keys: _question_key(question) for question in asked}
            with self._library.write() as connection:
                same = save_verdicts(connection, answer.judgements)
            return same, {keys[pair]: reason for pair, reason in answer.unusable.items()}

        work = _Work(
            stage=NAMES,
            key=_question_key,
            packed=batch_questions,
            ask=ask,
            keep=keep,
            patience=CircuitBreaker(),
        )
        told = _Told("judge names", len(questions), progress)
        looked, final = self._asked(questions, work, told=told)
        self._unjudged.keep(final, asked={_question_key(question) for question in found})
        if not looked.failed and len(questions) < self._pairs:
            with self._library.write() as connection:
                write_state(connection, JUDGED, str(facts_generation(connection)))
        return looked

    def summarise(self, *, progress: Progress) -> RefineResult:
        """Ask for the descriptions of things of which more is said than fits.

        Errors as in `judge_names`. Where another process changes the documents meanwhile, what was
        summarised of them is dropped, and the run ends.
        """
        if not self._summarise:
            return RefineResult()
        with self._library.read() as connection:
            asked_in = facts_generation(connection)
            found = pending_descriptions(connection)
        things = self._open_things(found)
        patience = CircuitBreaker()

        def ask(some: Sequence[Described]) -> Summaries:
            return summarise_descriptions(some, self._ask(SUMMARIES))

        def keep(asked: Sequence[Described], answer: Summaries) -> tuple[int, Mapping[str, str]]:
            nonlocal asked_in
            keys = {thing.id: _thing_key(thing) for thing in asked}
            with self._library.write() as connection:
                if facts_generation(connection) != asked_in:
                    patience.over = CHANGED
                    return 0, dict.fromkeys(keys.values(), CHANGED)
                save_summaries(connection, asked, answer.texts, model=self._client.model)
                asked_in = facts_generation(connection)
            return len(answer.texts), {keys[id_]: why for id_, why in answer.unusable.items()}

        work = _Work(
            stage=SUMMARIES,
            key=_thing_key,
            packed=batch_descriptions,
            ask=ask,
            keep=keep,
            patience=patience,
        )
        told = _Told("summarise", len(things), progress)
        looked, final = self._asked(things, work, told=told)
        self._unsummarised.keep(final, asked={_thing_key(thing) for thing in found})
        return looked

    def _ask(self, stage: str) -> Callable[[Prompt], str]:
        return lambda prompt: self._client.ask(prompt, stage=stage).text

    def _open_questions(self, questions: Sequence[PairQuestion]) -> list[PairQuestion]:
        closed = self._unjudged.reasons()
        return [one for one in questions if not closed or _question_key(one) not in closed]

    def _open_things(self, things: Sequence[Described]) -> list[Described]:
        closed = self._unsummarised.reasons()
        return [one for one in things if not closed or _thing_key(one) not in closed]

    def _asked(
        self, things: Sequence[Thing], work: _Work[Thing, Answer], *, told: _Told
    ) -> tuple[RefineResult, dict[str, str]]:
        """Keep each answer as it comes; by key why the model is not asked about others again."""
        looked, failed, refused = RefineResult(), dict[str, str](), dict[str, ModelError]()

        def ask_about(some: Sequence[Thing]) -> None:
            taken = work.patience.guard(work.packed(some))
            for asked, answer in parallel_map(
                taken, work.answer_to, workers=self._client.concurrency
            ):
                keys = [work.key(one) for one in asked]
                if isinstance(answer, ModelError):
                    failed.update(dict.fromkeys(keys, str(answer)))
                    refused.update(dict.fromkeys(keys, answer))
                    continue
                done, reasons = work.keep(asked, answer)
                looked.done += done
                for key in keys:
                    failed.pop(key, None)
                    refused.pop(key, None)
                failed.update(reasons)
                if len(reasons) == len(asked):
                    self._client.unusable(work.stage)
                told.more(len(asked) - len(reasons))

        def is_over(key: str) -> bool:
            error = refused.get(key)
            said = failed[key] != CHANGED
            return said if error is None else is_final(error, heard=work.patience.heard)

        ask_about(things)
        ask_about([one for one in things if (key := work.key(one)) in failed and is_over(key)])
        final = {key: reason for key, reason in failed.items() if is_over(key)}
        looked.given_up.update(final.values())
        looked.failed.update(why for key, why in failed.items() if key not in final)
        if told.done + len(failed) < told.total:
            looked.failed[work.patience.over] += told.total - told.done - len(failed)
        return looked, final


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work(Generic[Thing, Answer]):
    """One kind of question: how things go into calls, who answers, and what is done with that.

    `keep` says how much came of an answer, and by key why not more.
    """

    stage: str
    key: Callable[[Thing], str]
    packed: Callable[[Sequence[Thing]], Iterable[Sequence[Thing]]]
    ask: Callable[[Sequence[Thing]], Answer]
    keep: Callable[[Sequence[Thing], Answer], tuple[int, Mapping[str, str]]]
    patience: CircuitBreaker

    def answer_to(self, pack: Sequence[Thing]) -> tuple[Sequence[Thing], Answer | ModelError]:
        """Return the model's answer, or the reason for none."""
        try:
            answer = self.ask(pack)
        except ModelError as error:
            self.patience.failed(error)
            return pack, error
        self.patience.answered()
        return pack, answer


def _question_key(question: PairQuestion) -> str:
    return _digest(judge_prompt([question]))


def _thing_key(thing: Described) -> str:
    return _digest(summary_prompt([thing]))


def _digest(prompt: Prompt) -> str:
    """Return a digest of everything a model is shown about one item."""
    shown = f"{prompt.system}\x1f{prompt.user}"
    return hashlib.sha256(shown.encode("utf8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class _Told:
    """Progress of a stage."""

    stage: str
    total: int
    progress: Progress
    done: int = 0

    def more(self, count: int) -> None:
        """Advance the progress."""
        self.done += count
        self.progress(self.stage, self.done, self.total)
