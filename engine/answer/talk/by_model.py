"""A language model's reading of a question after what was said before it.

What it sends is checked like a hostile file: one line, no longer than a question may be, about what
was asked, and without a name or a figure that neither the question nor the conversation holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...retrieve.tokens import tokens
from ...types import Turn
from ..checks.figures import extract_quantities
from ..checks.judge import read_object
from ..checks.names import Beside, missing_names
from ..checks.stage import names_in
from ..language import language_of
from ..prompts import stage_prompt
from .turns import format_history

if TYPE_CHECKING:
    from ...index.door import Prompt

_MOST_CHARACTERS = 600
_KEPT = 0.5
_SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}


def follow_up_prompt(question: str, turns: Sequence[Turn]) -> Prompt:
    """Asks for the question as it would be asked by itself."""
    return stage_prompt(
        "follow_up",
        language=language_of(question),
        context=format_history(turns),
        question=question,
        max_output_tokens=256,
        schema=_SCHEMA,
    )


def read_follow_up(reply: str, question: str, turns: Sequence[Turn]) -> tuple[str, str]:
    """Parse the rewritten question of a reply, or return the reason against it."""
    said = read_object(reply).get("question")
    text = " ".join(said.split()) if isinstance(said, str) else ""
    if not any(map(str.isalnum, text)):
        return "", "no question in the reply"
    if len(text) > max(_MOST_CHARACTERS, len(question)):
        return "", "the reply is too long for a question"
    known = f"{format_history(turns)}\n{question}"
    held = set(tokens(question))
    if len(held.intersection(tokens(text))) < _KEPT * len(held):
        return "", "the reply is another question"
    invented = missing_names(names_in(text), known, Beside(), claim=text)
    if invented or extract_quantities(text).numbers - extract_quantities(known).numbers:
        return "", "the reply names what nobody said"
    return text, ""
