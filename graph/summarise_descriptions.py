"""Summaries of long descriptions by a language model.

Several things go into one call. Pure: who answers comes by argument, and where the text is kept
others know; it is kept under the fingerprint of what it was made from, and goes with that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .asking import Ask, Prompt
from .descriptions import MAX_CHARACTERS, distinct_sentences, is_too_much
from .extract.model_json import find_json
from .model import content_id
from .prompt_files import fence, load

THINGS_A_CALL = 6
CALL_CHARACTERS = 9_000
"""Number of items and characters per call; a single item may be longer."""

SHOWN_CHARACTERS = 3_000
"""Maximum characters shown of one item, best first."""

OUTPUT_TOKENS = 200
"""Answer tokens for one description."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "descriptions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "text": {"type": "string"}},
                "required": ["n", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["descriptions"],
    "additionalProperties": False,
}

_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Described:
    """Item with all its descriptions; `id` is unique."""

    id: str
    name: str
    texts: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The same for the same name and statements, in any order."""
        return content_id("d", self.name, *sorted(set(self.texts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summaries:
    """Texts by the id of the thing, and why there is none of others."""

    texts: Mapping[str, str]
    unusable: Mapping[str, str]


def to_summarise(things: Sequence[Described]) -> list[Described]:
    """Those of which more is said than is shown without a summary, sorted by id."""
    return sorted(thing for thing in things if is_too_much(thing.texts))


def summarise_descriptions(things: Sequence[Described], ask: Ask) -> Summaries:
    """Summarise each item, several per call, in order.

    What `ask` raises passes through: whoever wants to keep what was answered until then asks for
    fewer things at a time.
    """
    texts: dict[str, str] = {}
    unusable: dict[str, str] = {}
    for some in packed_things(things):
        found = read_summaries(ask(summary_prompt(some)), some)
        texts |= found.texts
        unusable |= found.unusable
    return Summaries(texts=texts, unusable=unusable)


def packed_things(things: Iterable[Described]) -> Iterator[list[Described]]:
    """Batch the items into calls, in order."""
    pack: list[Described] = []
    size = 0
    for thing in things:
        shown = min(SHOWN_CHARACTERS, sum(map(len, thing.texts)))
        if pack and (len(pack) == THINGS_A_CALL or size + shown > CALL_CHARACTERS):
            yield pack
            pack, size = [], 0
        pack.append(thing)
        size += shown
    if pack:
        yield pack


def summary_prompt(things: Sequence[Described]) -> Prompt:
    """Build the request for descriptions, in their main language."""
    parts: list[str] = []
    for number, thing in enumerate(things, start=1):
        parts.append(f"# {number} {' '.join(thing.name.split())}")
        left = SHOWN_CHARACTERS
        for sentence in distinct_sentences(thing.texts):
            if len(sentence) <= left:
                parts.append(f"- {sentence}")
                left -= len(sentence)
    body = "\n".join(parts)
    chinese = 3 * len(_HAN.findall(body)) > len(_LETTER.findall(_HAN.sub("", body)))
    mark = fence(body)
    return Prompt(
        system=load("summarise_descriptions", "zh" if chinese else "en"),
        user=f"<{mark}>\n{body}\n</{mark}>",
        max_output_tokens=OUTPUT_TOKENS * len(things) + 50,
        schema=SCHEMA,
    )


def read_summaries(reply: str, things: Sequence[Described]) -> Summaries:
    """Parse the usable summaries of a reply; never raises.

    A text of which the last sentence is cut off loses it.
    """
    found = find_json(reply)
    rows: dict[int, str] = {}
    for row in _rows(found.values):
        digits = re.search(r"\d{1,6}", str(row.get("n", "")))
        if digits:
            rows.setdefault(int(digits.group()), _whole(row["text"]))
    texts = {
        thing.id: rows[number] for number, thing in enumerate(things, start=1) if rows.get(number)
    }
    reason = found.problem or "the model left it out"
    return Summaries(
        texts=texts,
        unusable={thing.id: reason for thing in things if thing.id not in texts},
    )


def _rows(values: Sequence[object]) -> Iterator[Mapping[str, Any]]:
    for value in values:
        if isinstance(value, list):
            yield from _rows(value)
        elif isinstance(value, dict) and isinstance(value.get("text"), str):
            yield value
        elif isinstance(value, dict):
            yield from _rows([inner for inner in value.values() if isinstance(inner, list | dict)])


def _whole(text: str) -> str:
    """Truncate a text behind a sentence."""
    plain = " ".join(text.split())
    if len(plain) <= MAX_CHARACTERS:
        return plain
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)|[。！？]", plain[:MAX_CHARACTERS])]
    return plain[: ends[-1]] if ends else f"{plain[: MAX_CHARACTERS - 1]}…"
