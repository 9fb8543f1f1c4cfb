"""The prompts about chunks, one file a stage and language, and how their gaps are filled.

A document's text stands between two lines with a word that no document can foresee, because it
comes from a digest of that text. What is the same for all calls about one document comes first, so
that a server can keep it. Knows nothing of models.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Literal

Language = Literal["en", "zh"]
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_\u3400-\u4dbf\u4e00-\u9fff]+")
_SAMPLE_CHARACTERS = 4_000


def prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """The prompt of a stage (`context`, `boundaries`) with its gaps filled.

    The fence is made of a digest of `fenced`, the text that is shown.
    """
    digest = hashlib.sha256(fenced.encode("utf8", "surrogatepass"))
    values["fence"] = f"data {digest.hexdigest()[:12]}"
    # One pass: what stands in a value is never filled again.
    return re.sub(
        r"\{(\w+)\}",
        lambda match: values.get(match.group(1), match.group()),
        _template(stage, language),
    )


def language_of(text: str) -> Language:
    """The language to write about a text in; judged by its beginning, mixed text by what leads."""
    sample = text[:_SAMPLE_CHARACTERS]
    return "zh" if len(_HAN.findall(sample)) > len(_WORD.findall(sample)) else "en"


@cache
def _template(stage: str, language: Language) -> str:
    return (files(__package__) / f"{stage}.{language}.txt").read_text(encoding="utf8").strip()
