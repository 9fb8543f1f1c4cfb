"""Earlier turns of a conversation: taken as they come, cut to what is read, and shown to a model.

They come from whoever asks, so they are hostile: limited in every size, without what is no
character, and told as lines inside a fence. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ...ingest.content import storable
from ...types import Answer, History, Turn
from ..checks.claims import unmarked
from ..language import ABSTENTION

MOST_TURNS = 20
"""Earlier ones are not looked at."""
_LONGEST_QUESTION, _LONGEST_ANSWER = 2_000, 8_000


def turns_of(history: History) -> tuple[Turn, ...]:
    """The last turns of what a caller hands over, oldest first; blank questions are none.

    An `Answer` is the turn of the question as it was understood. Marks, and the list of sources at
    the end of an answer, are left out: their numbers mean nothing here.
    """
    turns = (_turn(each) for each in history[-MOST_TURNS:])
    return tuple(turn for turn in turns if turn.question)


def _turn(said: Turn | Answer) -> Turn:
    if isinstance(said, Answer):
        asked, answer = said.understood or said.question, said.text
    else:
        asked, answer = said.question, said.answer
    return Turn(
        question=" ".join(storable(asked[:_LONGEST_QUESTION]).split()),
        answer=unmarked(storable(answer[:_LONGEST_ANSWER])).strip(),
    )


def paired(said: Iterable[tuple[str, str]]) -> list[Turn]:
    """A chat's messages, `(role, text)` each, as turns; those of other roles are left out."""
    turns: list[Turn] = []
    for role, text in said:
        if role == "user":
            turns.append(Turn(text))
        elif role == "assistant" and turns:
            before = turns[-1]
            turns[-1] = Turn(before.question, f"{before.answer}\n{text}".strip())
    return turns


def told(turns: Sequence[Turn]) -> str:
    """The turns as a prompt shows them; empty for none."""
    return "\n\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in turns)


def recent(
    turns: Sequence[Turn], *, budget_tokens: int, count: Callable[[str], int]
) -> tuple[Turn, ...]:
    """The last turns that fit together into so many tokens, as they are told.

    Of the very last one the answer is cut where it alone is too long; a question that is too long
    by itself is left out.
    """
    kept: list[Turn] = []
    for turn in reversed(turns):
        if count(told([turn, *kept])) > budget_tokens:
            cut = None if kept else _cut(turn, budget_tokens=budget_tokens, count=count)
            return (cut,) if cut is not None else tuple(kept)
        kept.insert(0, turn)
    return tuple(kept)


def _cut(turn: Turn, *, budget_tokens: int, count: Callable[[str], int]) -> Turn | None:
    """The turn with as much of its answer as fits; None where its question does not."""
    while True:
        if count(told([turn])) <= budget_tokens:
            return turn
        if not turn.answer:
            return None
        turn = replace(turn, answer=turn.answer[: len(turn.answer) * 3 // 4].rstrip())


def is_refusal(answer: str) -> bool:
    """Whether an answer only says that nothing was found."""
    return any(answer.startswith(sentence) for sentence in ABSTENTION.values())
