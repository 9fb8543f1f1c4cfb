"""Prompts as files, one a stage and language, and how their gaps are filled.

What others have written stands between two lines with a word that no text can foresee, because it
comes from a digest of all that is shown.
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


@cache
def load(package: str, stage: str, language: Language) -> str:
    """Return the text of `<stage>.<language>.txt` in a package."""
    return (files(package) / f"{stage}.{language}.txt").read_text(encoding="utf8").strip()


def fill(template: str, **values: str) -> str:
    """Replace every known `{name}` in one pass; inserted values are never expanded."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match.group(1), match.group()), template)


def delimited_prompt(
    package: str, stage: str, *, language: Language, fenced: str, **values: str
) -> str:
    """Build a stage's prompt; `{fence}` is derived from a digest of `fenced`."""
    digest = hashlib.sha256(fenced.encode("utf8", "surrogatepass")).hexdigest()
    return fill(load(package, stage, language), **values, fence=f"data {digest[:12]}")


def detect_language(text: str) -> Language:
    """Chinese where a text has more Han characters than other words."""
    return "zh" if len(_HAN.findall(text)) > len(_WORD.findall(text)) else "en"
