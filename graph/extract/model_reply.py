"""Which part of a reply is about which chunk of a pack.

A reply may wrap its objects, leave out their numbers, count from 0, give a chunk twice or one
that nobody asked for. Whether what it says is true of the text is `model_anchor`'s part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from .model_json import FoundJson, Unfinished, find_json
from .model_packs import Pack
from .model_records import LISTS, Said, first, read_records

UNKNOWN_CHUNK = "chunk that was not asked for"
LEFT_OUT = "the model left it out"
CUT_OFF = "the reply was cut off"
_NUMBERS = ("n", "number", "no", "id", "index", "chunk", "text", "编号", "序号")
_MAX_ITEMS = 200
_MAX_LEVELS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReply:
    """What a reply says by chunk id, and chunks of which it says nothing usable, with the reason.

    `dropped` counts what could not be read; `cut_off`: the reply stopped before its end.
    """

    said: Mapping[str, Said] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    """An object that speaks of one chunk, and whether its end was there."""

    fields: Mapping[str, object]
    number: int | None
    whole: bool


def parse_reply(reply: str, pack: Pack) -> ParsedReply:
    """What the reply says of each chunk of the pack; a chunk twice counts together. Never raises.

    Of a reply that was cut off, the chunks that are whole count.
    """
    found = find_json(reply)
    if found.problem:
        return ParsedReply(unusable=dict.fromkeys(pack.keys, found.problem))
    dropped: Counter[str] = Counter()
    said: dict[str, Said] = {}
    unusable: dict[str, str] = {}
    for item in _numbered(found, len(pack.keys)):
        if item.number is None or not 1 <= item.number <= len(pack.keys):
            dropped[UNKNOWN_CHUNK] += 1
            continue
        key = pack.keys[item.number - 1]
        read = read_records(item.fields, dropped) if item.whole else CUT_OFF
        if isinstance(read, str):
            unusable.setdefault(key, read)
        else:
            said[key] = said.get(key, Said()).with_more(read)
    for key in pack.keys:
        unusable.setdefault(key, CUT_OFF if found.cut_off else LEFT_OUT)
    left = {key: reason for key, reason in unusable.items() if key not in said}
    return ParsedReply(said=said, unusable=left, dropped=+dropped, cut_off=CUT_OFF in left.values())


def _numbered(found: FoundJson, count: int) -> list[_Item]:
    """The objects of a reply, numbered by their place where no number is given at all.

    Numbers that begin with 0 are raised by one.
    """
    items = [item for value in found.values for item in _items(value, 1)][:_MAX_ITEMS]
    numbers = [item.number for item in items if item.number is not None]
    if not numbers and len(items) == count:
        return [replace(item, number=place) for place, item in enumerate(items, start=1)]
    if numbers and min(numbers) == 0 and max(numbers) < count:
        return [replace(i, number=None if i.number is None else i.number + 1) for i in items]
    return items


def _items(value: object, depth: int) -> Iterator[_Item]:
    """The objects that hold lists of records, in order, a few levels down at most."""
    if depth > _MAX_LEVELS:
        return
    if isinstance(value, list):
        for one in value:
            yield from _items(one, depth + 1)
    elif isinstance(value, dict):
        fields = {str(key).strip().casefold(): one for key, one in value.items()}
        number = _number(first(fields, _NUMBERS))
        flat = not any(isinstance(one, dict | list) for one in fields.values())
        if LISTS & fields.keys() or (number is not None and flat):
            yield _Item(fields, number, not isinstance(value, Unfinished))
            return
        for key, one in fields.items():
            for item in _items(one, depth + 1):
                yield item if item.number is not None else replace(item, number=_number(key))


_DIGITS = re.compile(r"(?<![\d.])\d{1,4}(?![\d.])")


def _number(value: object) -> int | None:
    """A chunk's number, also from "3", "[3]" or "text 3"."""
    if isinstance(value, str):
        match = _DIGITS.search(value) if len(value) <= 20 else None
        return int(match.group()) if match else None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10_000:
        return int(value)
    return None
