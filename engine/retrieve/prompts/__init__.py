"""The prompts of retrieval, one file a stage and language."""

from __future__ import annotations

from ...prompt_texts import Language, fenced_prompt


def prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """The prompt of a stage with its gaps `{name}` filled from `values`.

    The gap `{fence}` is made of a digest of `fenced`, the text that is shown as data.
    """
    return fenced_prompt(__package__, stage, language=language, fenced=fenced, **values)
