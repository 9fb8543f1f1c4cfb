"""The prompts about chunks, one file a stage and language.

What is the same for all calls about one document comes first, so that a server can keep it.
"""

from __future__ import annotations

from ...prompt_texts import Language, fenced_prompt, leading_language

_SAMPLE_CHARACTERS = 4_000


def prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """The prompt of a stage (`context`, `boundaries`) with its gaps filled.

    The fence is made of a digest of `fenced`, the text that is shown.
    """
    return fenced_prompt(__package__, stage, language=language, fenced=fenced, **values)


def language_of(text: str) -> Language:
    """The language to write about a text in; judged by its beginning, mixed text by what leads."""
    return leading_language(text[:_SAMPLE_CHARACTERS])
