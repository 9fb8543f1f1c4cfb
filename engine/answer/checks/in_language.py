"""Language check of an answer, and the retry prompt for the right language.

Only English and Chinese are told apart, as in `language`; an answer of names and figures alone is
in either. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..language import HAN, Language
from ..prompts import load

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

_FUNCTION_EN = re.compile(
    r"\b(?:the|an?|of|is|are|was|were|in|on|to|and|for|by|has|have|had|with|that|it|from|at|as"
    r"|which|who|not)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"\n]*\"|《[^《》]*》|「[^「」]*」|\([^()]*\)|（[^（）]*）")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_MOST_FOREIGN = 0.2
"""Maximum share of words in the other language (Chinese: half of the characters)."""
_FEWEST_ENGLISH = 3
_FEWEST_HAN = 6


def in_other_language(answer: str, language: Language) -> bool:
    """Check whether an answer is in the other language, ignoring quotations and brackets."""
    said = _QUOTED.sub(" ", answer)
    chinese = len(HAN.findall(said))
    latin = len(_LATIN_WORD.findall(said))
    if language == "zh":
        words = chinese / 2 + latin
        return (
            len(_FUNCTION_EN.findall(said)) >= _FEWEST_ENGLISH
            and chinese / 2 < _MOST_FOREIGN * words
        )
    words = chinese / 2 + latin
    return chinese >= _FEWEST_HAN and latin < _MOST_FOREIGN * words


def retry_in_language(
    messages: Sequence[ChatMessage], reply: str, language: Language
) -> tuple[ChatMessage, ...]:
    """Return the conversation extended by the answer and a request for the language.

    What came before is unchanged, so that a provider's prompt cache holds.
    """
    from llama_index.core.llms import ChatMessage, MessageRole

    return (
        *messages,
        ChatMessage(role=MessageRole.ASSISTANT, content=reply),
        ChatMessage(role=MessageRole.USER, content=load("again", language)),
    )
