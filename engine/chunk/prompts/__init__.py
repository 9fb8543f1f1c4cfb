"""The prompts about chunks, one file a stage and language.

What is the same for all calls about one document comes first, so that a server can keep it.
"""

from __future__ import annotations

from ...prompt_texts import Language, delimited_prompt, detect_language

_SAMPLE_CHARACTERS = 4_000


def prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """Return a stage's prompt (`context`, `boundaries`) with placeholders filled.

    The fence is made of a digest of `fenced`, the text that is shown.
    """
    return delimited_prompt(__package__, stage, language=language, fenced=fenced, **values)


def language_of(text: str) -> Language:
    """Return the dominant language of a text's beginning."""
    return detect_language(text[:_SAMPLE_CHARACTERS])
