"""The prompts of retrieval, one file a stage and language, and how their gaps are filled.

What passages say stands between two lines with a word that no passage can foresee, because it
comes from a digest of all that is shown. Knows nothing of models.
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


def prompt(stage: str, *, language: Language, fenced: str = "", **values: str) -> str:
    """The prompt of a stage with its gaps `{name}` filled from `values`.

    The gap `{fence}` is made of a digest of `fenced`, the text that is shown as data.
    """
    digest = hashlib.sha256(fenced.encode("utf8", "surrogatepass"))
    values["fence"] = f"data {digest.hexdigest()[:12]}"
    # One pass: what stands in a value is never filled again.
    return re.sub(
        r"\{(\w+)\}",
        lambda match: values.get(match.group(1), match.group()),
        _template(stage, language),
    )


def language_of(question: str) -> Language:
    """The language to speak about a question in: Chinese where it has more Han than other words."""
    return "zh" if len(_HAN.findall(question)) > len(_WORD.findall(question)) else "en"


@cache
def _template(stage: str, language: Language) -> str:
    return (files(__package__) / f"{stage}.{language}.txt").read_text(encoding="utf8").strip()
