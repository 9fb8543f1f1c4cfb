"""A deterministic stand-in for a language model: reads what our prompts show, answers as they ask.

    openai_server.answer_with(read_like_a_model)

Entities are names of two or more capitalised words (Chinese: what stands in 「」 or 《》), or with
`names=every_name` every capitalised phrase (Chinese: what is quoted or comes again). Relations are
their co-occurrence in a sentence, a description the sentence's first words; a report is made of the
numbered lines, and so are points, ratings and answers. Knows the marks of our prompts, nothing of
the code behind them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

_TEXT_MARK = re.compile(r"^\[([0-9a-f]{8}) (\d+)(?: \| [^\n]*)?\]$", re.MULTILINE)
_END = re.compile(r"^<<<end texts [0-9a-f]{8}>>>", re.MULTILINE)
_SOURCES = re.compile(r"^<<<(sources \w+)>>>\n(.*?)^<<<end \1>>>$", re.MULTILINE | re.DOTALL)
_FULL_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)+|[「《]([\u4e00-\u9fff]{2,8})[」》]")
_PHRASE = re.compile(r"\b[A-Z][\w'’-]*\w(?: [A-Z][\w'’-]*\w)*|[「《“]([\u4e00-\u9fff]{2,8})[」》”]")
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]{2,}")
_HAN_WORDS = frozenset("的了在是和与及或而也都就被把从对为以于中上下其这那一个年月日不有到他她它")
_SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]?")
_GROUP = re.compile(r"^# (\d+)(?: .*)?$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+)\.$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+)\.$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] ?(.+)$", re.MULTILINE)
_NO_NAMES = (
    "The This That These Those There Then They Their What When Where Which While Who Why How He "
    "His Her She It Its In On At As An And But Or Of For From With You Your We Our If So No Not "
    "Now Yes One After Before Both Each Every Some Such All Also By To Is Was Were Are Be Do Did "
    "Had Has Have My Me Him Nor Yet Oh Let Here Once Upon Into Over Under During Since Until "
    "Because"
)

Names = Callable[[str], list[tuple[int, str]]]
"""Where names begin in a text, in order, and what they are."""


class Chat(Protocol):
    """A request with its messages."""

    @property
    def body(self) -> Any: ...


def full_names(text: str) -> list[tuple[int, str]]:
    """Names of two or more capitalised words, and what stands in Chinese brackets."""
    return [(match.start(), match.group(1) or match.group()) for match in _FULL_NAME.finditer(text)]


def every_name(text: str) -> list[tuple[int, str]]:
    """Every capitalised phrase; of Chinese what is quoted, and what comes again in the text."""
    found = [(match.start(), match.group(1) or match.group()) for match in _PHRASE.finditer(text)]
    found = [(start, name) for start, name in found if name not in _NO_NAMES.split()]
    return sorted({*found, *_repeated(text)})


def some_name(text: str) -> list[tuple[int, str]]:
    """As `every_name`; of a Chinese text in which that finds nothing the first words."""
    runs = [] if (found := every_name(text)) else _HAN_RUN.finditer(text)
    return found or [(run.start(), run.group()[:3]) for run in list(runs)[:2]]


def _repeated(text: str) -> list[tuple[int, str]]:
    """Three or four Chinese characters that come at least twice, or two that come four times."""
    counts: Counter[str] = Counter()
    places: list[tuple[int, str]] = []
    for run in _HAN_RUN.finditer(text):
        for size in (4, 3, 2):
            for at in range(len(run.group()) - size + 1):
                name = run.group()[at : at + size]
                if not _HAN_WORDS.intersection(name):
                    counts[name] += 1
                    places.append((run.start() + at, name))
    taken: set[int] = set()
    found = []
    for start, name in sorted(places, key=lambda one: (-len(one[1]), one[0])):
        if counts[name] >= (2 if len(name) > 2 else 4) and taken.isdisjoint(
            range(start, start + len(name))
        ):
            taken.update(range(start, start + len(name)))
            found.append((start, name))
    return found


def read_like_a_model(request: Chat, *, names: Names = full_names) -> str:
    """The answer to one of our prompts; a plain sentence where it is none that is known."""
    messages = request.body["messages"]
    user = str(messages[-1]["content"])
    system = str(messages[0]["content"]) if len(messages) > 1 else ""
    if "<<<texts " in user:
        return _json({"chunks": extraction(user, names=names)})
    if user.startswith("<quoted ") and '"pairs"' in system:
        numbers = [int(number) for number in _PAIR.findall(user)]
        different = [{"n": number, "verdict": "different", "why": "other"} for number in numbers]
        return _json({"pairs": different})
    if user.startswith("<quoted ") and _GROUP.search(user):
        if '"descriptions"' in system:
            return _json({"descriptions": _descriptions(user)})
        return _json({"reports": reports(user, names=names)})
    if user.startswith("<quoted ") and '"verdict"' in system:
        return _json({"pairs": [{"n": int(n), "verdict": "unknown"} for n in _PAIR.findall(user)]})
    sources = _SOURCES.search(user)
    if sources is not None:
        return _of_sources(system, _NUMBERED.findall(sources.group(2)))
    return "The documents speak of it. [1]"


def _of_sources(system: str, lines: list[tuple[str, str]]) -> str:
    """Points, ratings or an answer, as the instructions want them, of numbered lines."""
    if '"ratings"' in system:
        return _json({"ratings": [{"report": int(n), "rating": 60} for n, _ in lines]})
    if '"points"' in system:
        points = [
            {"text": _first_words(text, 25), "score": 80 - place, "sources": [int(number)]}
            for place, (number, text) in enumerate(lines[:5])
        ]
        questions = [f"What is known of {_first_words(text, 6)}?" for _, text in lines[:3]]
        asked = {"questions": questions} if '"questions"' in system else {}
        return _json({"points": points, **asked})
    said = [f"{_first_words(text, 20)} [{number}]." for number, text in lines[:5]]
    return " ".join(said) or "The documents speak of it. [1]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _first_words(text: str, count: int) -> str:
    """The first words; of a language without spaces three characters count as one."""
    return " ".join(text.split()[:count])[: 12 * count].rstrip(" .。")


def texts_in(user: str) -> dict[int, str]:
    """The numbered texts of a request for extraction."""
    pieces = _TEXT_MARK.split(_END.split(user)[0])
    return {
        int(number): text.strip() for number, text in zip(pieces[2::3], pieces[3::3], strict=True)
    }


def extraction(user: str, *, names: Names = full_names) -> list[dict[str, Any]]:
    """What stands in each text, in the form that extraction asks for."""
    return [_read(number, text, names) for number, text in texts_in(user).items()]


def _read(number: int, text: str, names: Names) -> dict[str, Any]:
    entities: dict[str, list[str]] = {}
    relations: dict[tuple[str, str], list[str | int]] = {}
    found = names(text)
    for sentence in _SENTENCE.finditer(text):
        inside = [name for start, name in found if sentence.start() <= start < sentence.end()]
        said = _description(sentence.group())
        for name in dict.fromkeys(inside):
            entities.setdefault(name, [name, "PERSON", said])
        for source, target in pairwise(dict.fromkeys(inside)):
            relations.setdefault((source, target), [source, "appears with", target, said, 5])
    return {
        "n": number,
        "entities": list(entities.values()),
        "relations": list(relations.values()),
        "claims": [],
    }


def _description(sentence: str) -> str:
    """A sentence's first ten words; of Chinese its first thirty characters."""
    words = " ".join(sentence.split()[:10])
    return words[:30] if _HAN_RUN.search(words) else words


def reports(user: str, *, names: Names = full_names) -> list[dict[str, Any]]:
    """A report of each group, in the form that reports are asked for in."""
    found = []
    for number, body in _groups(user):
        lines = _NUMBERED.findall(body)
        named = list(dict.fromkeys(name for _, name in names(body)))
        found.append(
            {
                "n": number,
                "title": " and ".join(named[:3]) or "A group",
                "summary": " ".join(text for _, text in lines[:2]) or body[:80],
                "rating": min(10, len(lines)),
                "reason": "So many lines speak of it.",
                "findings": [{"text": text, "sources": [int(key)]} for key, text in lines[:5]],
            }
        )
    return found


def _descriptions(user: str) -> list[dict[str, Any]]:
    return [{"n": n, "text": " ".join(body.split()[:40])} for n, body in _groups(user)]


def _groups(user: str) -> list[tuple[int, str]]:
    pieces = _GROUP.split(user)
    return [(int(n), body) for n, body in zip(pieces[1::2], pieces[2::2], strict=True)]
