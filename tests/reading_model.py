"""A deterministic stand-in for a language model: reads what our prompts show, answers as they ask.

    openai_server.answer_with(read_like_a_model)

Entities are capitalised phrases (Chinese: what stands in 「」 or 《》), relations their
co-occurrence in a sentence, a description the sentence's first words; a report is made of the
numbered lines.
Knows the marks of our prompts, nothing of the code behind them.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any, Protocol

_TEXT_MARK = re.compile(r"^\[([0-9a-f]{8}) (\d+)\]$", re.MULTILINE)
_END = re.compile(r"^<<<end texts [0-9a-f]{8}>>>", re.MULTILINE)
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)+|[「《]([\u4e00-\u9fff]{2,8})[」》]")
_SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]?")
_GROUP = re.compile(r"^# (\d+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)


class Chat(Protocol):
    """A request with its messages."""

    @property
    def body(self) -> Any: ...


def read_like_a_model(request: Chat) -> str:
    """The answer to one of our prompts; a plain sentence where it is none that is known."""
    user = str(request.body["messages"][-1]["content"])
    if "<<<texts " in user:
        return json.dumps({"chunks": extraction(user)}, ensure_ascii=False)
    if user.startswith("<quoted ") and _GROUP.search(user):
        return json.dumps({"reports": reports(user)}, ensure_ascii=False)
    return "The documents speak of it. [1]"


def texts_in(user: str) -> dict[int, str]:
    """The numbered texts of a request for extraction."""
    pieces = _TEXT_MARK.split(_END.split(user)[0])
    return {
        int(number): text.strip() for number, text in zip(pieces[2::3], pieces[3::3], strict=True)
    }


def extraction(user: str) -> list[dict[str, Any]]:
    """What stands in each text, in the form that extraction asks for."""
    return [_read(number, text) for number, text in texts_in(user).items()]


def _read(number: int, text: str) -> dict[str, Any]:
    entities: dict[str, dict[str, str]] = {}
    relations: dict[tuple[str, str], dict[str, Any]] = {}
    for sentence in _SENTENCE.findall(text):
        names = [match.group(1) or match.group() for match in _NAME.finditer(sentence)]
        names = list(dict.fromkeys(names))
        said = " ".join(sentence.split()[:10])
        for name in names:
            entities.setdefault(name, {"name": name, "type": "PERSON", "description": said})
        for source, target in pairwise(names):
            relations.setdefault(
                (source, target),
                {
                    "source": source,
                    "target": target,
                    "predicate": "appears with",
                    "description": said,
                    "strength": 5,
                },
            )
    return {
        "n": number,
        "entities": list(entities.values()),
        "relations": list(relations.values()),
        "claims": [],
    }


def reports(user: str) -> list[dict[str, Any]]:
    """A report of each group, in the form that reports are asked for in."""
    pieces = _GROUP.split(user)
    found = []
    for number, body in zip(pieces[1::2], pieces[2::2], strict=True):
        lines = _NUMBERED.findall(body)
        names = list(dict.fromkeys(m.group(1) or m.group() for m in _NAME.finditer(body)))
        found.append(
            {
                "n": int(number),
                "title": " and ".join(names[:3]) or "A group",
                "summary": " ".join(text for _, text in lines[:2]) or body[:80],
                "rating": min(10, len(lines)),
                "reason": "So many lines speak of it.",
                "findings": [{"text": text, "sources": [int(key)]} for key, text in lines[:5]],
            }
        )
    return found
