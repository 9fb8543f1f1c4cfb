"""Chat history: parsing, trimming and formatting.

They come from whoever asks, so they are hostile: limited in every size, without what is no
character, and told as lines inside a fence. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ...ingest.content import sanitise_text
from ...types import Answer, History, Turn
from ..checks.claims import without_markers
from ..language import ABSTENTION

MOST_TURNS = 20
"""Earlier ones are not looked at."""
_LONGEST_QUESTION, _LONGEST_ANSWER = 2_000, 8_000


def parse_history(history: History) -> tuple[Turn, ...]:
    """Parse the last turns of a given history, oldest first; blank ones are dropped.

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
        question=" ".join(sanitise_text(asked[:_LONGEST_QUESTION]).split()),
        answer=without_markers(sanitise_text(answer[:_LONGEST_ANSWER])).strip(),
    )


def pair_messages(said: Iterable[tuple[str, str]]) -> list[Turn]:
    """Pair chat messages `(role, text)` into turns; other roles are dropped."""
    turns: list[Turn] = []
    for role, text in said:
        if role == "user":
            turns.append(Turn(text))
        elif role == "assistant" and turns:
            before = turns[-1]
            turns[-1] = Turn(before.question, f"{before.answer}\n{text}".strip())
    return turns


def format_history(turns: Sequence[Turn]) -> str:
    """Format turns for a prompt; empty without any."""
    return "\n\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in turns)


def trim_history(
    turns: Sequence[Turn], *, budget_tokens: int, count: Callable[[str], int]
) -> tuple[Turn, ...]:
    """Return the last turns that fit a token budget together.

    Of the very last one the answer is cut where it alone is too long; a question that is too long
    by itself is left out.
    """
    kept: list[Turn] = []
    for turn in reversed(turns):
        if count(format_history([turn, *kept])) > budget_tokens:
            cut = None if kept else _cut(turn, budget_tokens=budget_tokens, count=count)
            return (cut,) if cut is not None else tuple(kept)
        kept.insert(0, turn)
    return tuple(kept)


def _cut(turn: Turn, *, budget_tokens: int, count: Callable[[str], int]) -> Turn | None:
    """Truncate a turn's answer to fit; None if its question does not."""
    while True:
        if count(format_history([turn])) <= budget_tokens:
            return turn
        if not turn.answer:
            return None
        turn = replace(turn, answer=turn.answer[: len(turn.answer) * 3 // 4].rstrip())


def is_refusal(answer: str) -> bool:
    """Check whether an answer is only an abstention."""
    return any(answer.startswith(sentence) for sentence in ABSTENTION.values())
