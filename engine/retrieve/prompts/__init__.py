"""The prompts of retrieval, one file a stage and language."""

from __future__ import annotations

from ...prompt_texts import Language, delimited_prompt


def prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """Return a stage's prompt with `{name}` placeholders filled from `values`.

    The gap `{fence}` is made of a digest of `fenced`, the text that is shown as data.
    """
    return delimited_prompt(__package__, stage, language=language, fenced=fenced, **values)
