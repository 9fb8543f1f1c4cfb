"""Token budget for sources in a model's context window.

A model's window holds the instructions, what was said before, the sources, the question and the
answer. Our tokeniser is not the model's: a share of the window is kept free for the difference.
Pure.
"""

from __future__ import annotations

SMALLEST = 256
"""Minimum source tokens; smaller windows overflow and the server reports it."""

_OUR_COUNT = 0.9
"""Of a window this share is filled by our count."""


def window_budget_tokens(
    window_tokens: int,
    *,
    answer_tokens: int,
    instruction_tokens: int,
    question_tokens: int,
    history_tokens: int = 0,
    cap_tokens: int | None = None,
) -> int:
    """Tokens left for sources.

    Args:
        window_tokens: all that the model reads and writes at a time.
        answer_tokens: kept for the longest answer.
        instruction_tokens: of the system prompt, and of the frame around sources and question.
        question_tokens: of the question.
        history_tokens: of what was said before.
        cap_tokens: not more than this; None is no limit but the window.
    """
    read = int((window_tokens - answer_tokens) * _OUR_COUNT)
    free = read - instruction_tokens - question_tokens - history_tokens
    return max(SMALLEST, free if cap_tokens is None else min(free, cap_tokens))
