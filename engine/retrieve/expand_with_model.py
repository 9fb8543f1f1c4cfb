"""Query expansion by a model: paraphrases, HyDE and sub-questions.

Multi-query expansion; hypothetical documents (Gao et al., "Precise Zero-Shot Dense Retrieval
without Relevance Labels", ACL 2023); decomposition. One call each. What a model writes is only
searched for, never shown or cited: a wrong guess costs a worse list and makes no wrong claim. Knows
nothing of servers: `complete` is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from ..prompt_texts import detect_language
from .prompts import prompt as filled_prompt

Complete = Callable[[str], str]
MAX_LINE_CHARACTERS = 300
MAX_PASSAGE_CHARACTERS = 1_500
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_BULLET = re.compile(
    r"^\s*(?:[-*•·]|\(?\d{1,2}[.)、:：]|[（(]?[一二三四五六七八九十][)）、.]|Q\d*[:：])\s*"
)
_LABEL = re.compile(
    r"^(?:question|query|sub-?question|passage|answer|search|问题|子问题|查询|检索|段落|答案)"
    r"\s*\d*\s*[:：]\s*",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’「」『』`*"
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"(\s*:)?')
_PREAMBLE = re.compile(r"[:：]\s*$")


def multi_query(question: str, *, complete: Complete, count: int = 3) -> list[str]:
    """Return up to `count` paraphrases; [] if none is usable.

    Raises what `complete` raises.
    """
    return lines_of(complete(prompt("mqe", question, count=count)), question, count=count)


def sub_questions(question: str, *, complete: Complete, count: int = 4) -> list[str]:
    """Return up to `count` sub-questions; [] for simple questions.

    Raises what `complete` raises.
    """
    found = lines_of(complete(prompt("decompose", question, count=count)), question, count=count)
    return found if len(found) > 1 else []


def hypothetical_passage(question: str, *, complete: Complete) -> str:
    """Return a hypothetical answer passage (HyDE); "" on failure.

    Raises what `complete` raises.
    """
    return single_line(complete(prompt("hyde", question)))[:MAX_PASSAGE_CHARACTERS]


def single_line(reply: str) -> str:
    """Reduce a reply to one line without fences, labels and quotes."""
    text = " ".join(_FENCE.sub("", reply).split())
    return _LABEL.sub("", text).strip(_QUOTES + " ")


def lines_of(reply: str, question: str, *, count: int) -> list[str]:
    """Parse up to `count` questions from JSON, a numbered list or bare lines.

    Each once; without what is too long to be one, and without the question itself.
    """
    text = _FENCE.sub("", reply).strip()
    items = _json_texts(text)
    if items is None:
        items = [line for line in text.splitlines() if not _PREAMBLE.search(line)]
    tidy = (_LABEL.sub("", _BULLET.sub("", item)).strip(_QUOTES + " \t") for item in items)
    fitting = (line for line in tidy if 1 < len(line) <= MAX_LINE_CHARACTERS)
    known = {question.strip().casefold()}
    found: list[str] = []
    for line in fitting:
        if line.casefold() not in known:
            known.add(line.casefold())
            found.append(line)
    return found[:count]


def _json_texts(text: str) -> list[str] | None:
    """Return the texts of a JSON list, or of an object's first list; None otherwise.

    Of one that broke off, or is not quite JSON, what stands in quotes and is no key.
    """
    if text[:1] not in ("[", "{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return [said for said, is_key in _QUOTED.findall(text) if not is_key]
    if isinstance(data, dict):
        data = next((value for value in data.values() if isinstance(value, list)), [])
    texts = [next(iter(each.values()), "") if isinstance(each, dict) else each for each in data]
    return [each for each in texts if isinstance(each, str)]


def prompt(stage: str, question: str, *, count: int = 1, fenced: str = "", **values: str) -> str:
    """`transform_<stage>` in the question's language, its gaps filled."""
    return filled_prompt(
        f"transform_{stage}",
        language=detect_language(question),
        fenced=fenced,
        question=question,
        count=str(count),
        **values,
    )
