"""Assignment of a reply's parts to the chunks of a pack.

A reply may wrap its objects, leave out their numbers, count from 0, give a chunk twice or one
that nobody asked for. Whether what it says is true of the text is `model_anchor`'s part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from .model_json import Damaged, FoundJson, Unfinished, find_json
from .model_packs import Pack
from .model_records import LISTS, RawExtraction, first, read_records

UNKNOWN_CHUNK = "chunk that was not asked for"
LEFT_OUT = "the model left it out"
CUT_OFF = "the reply was cut off"
DAMAGED = "its JSON is not well-formed"
_NUMBERS = ("n", "number", "no", "id", "index", "chunk", "text", "编号", "序号")
_MAX_ITEMS = 200
_MAX_LEVELS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReply:
    """Reply by chunk id, and reasons for chunks without usable content.

    `doubtful` are the chunks among the former of which something may be lost in broken JSON.
    `dropped` counts what could not be read; `cut_off`: the reply stopped before its end.
    """

    said: Mapping[str, RawExtraction] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()
    unusable: Mapping[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    """An object that speaks of one chunk, and whether its end was there."""

    fields: Mapping[str, object]
    number: int | None
    whole: bool
    damaged: bool


def parse_reply(reply: str, pack: Pack) -> ParsedReply:
    """Parse a reply by chunk; repeated chunks are merged. Never raises.

    Of a reply that was cut off, the chunks that are whole count.
    """
    found = find_json(reply)
    if found.problem:
        return ParsedReply(unusable=dict.fromkeys(pack.keys, found.problem))
    dropped: Counter[str] = Counter()
    said: dict[str, RawExtraction] = {}
    unusable: dict[str, str] = {}
    doubtful: set[str] = set()
    for item in _numbered(found, len(pack.keys)):
        if item.number is None or not 1 <= item.number <= len(pack.keys):
            dropped[UNKNOWN_CHUNK] += 1
            continue
        key = pack.keys[item.number - 1]
        read = read_records(item.fields, dropped) if item.whole else CUT_OFF
        if isinstance(read, str):
            unusable.setdefault(key, read)
        else:
            said[key] = said.get(key, RawExtraction()).with_more(read)
            doubtful |= {key} if item.damaged else set()
    for key in pack.keys:
        unusable.setdefault(key, CUT_OFF if found.cut_off else LEFT_OUT)
    left = {key: reason for key, reason in unusable.items() if key not in said}
    return ParsedReply(
        said=said,
        doubtful=frozenset(doubtful),
        unusable=left,
        dropped=+dropped,
        cut_off=CUT_OFF in left.values(),
    )


def _numbered(found: FoundJson, count: int) -> list[_Item]:
    """Number a reply's objects by position if unnumbered.

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
    """Return objects that hold record lists, a few levels deep, in order."""
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
            whole, damaged = not isinstance(value, Unfinished), isinstance(value, Damaged)
            yield _Item(fields, number, whole=whole, damaged=damaged)
            return
        for key, one in fields.items():
            for item in _items(one, depth + 1):
                yield item if item.number is not None else replace(item, number=_number(key))


_NUMBER = re.compile(r"(?<![\w.])\d{1,4}(?![\w.])")
_JOINED_NUMBER = re.compile(r"\D*(\d{1,4})\D*")
_MAX_LABEL = 30


def _number(value: object) -> int | None:
    """Parse a chunk number, also from "3", "[3f2a91c0 3]" or "text3"."""
    if isinstance(value, str) and len(value) <= _MAX_LABEL:
        alone = _NUMBER.findall(value)
        joined = _JOINED_NUMBER.fullmatch(value)
        return int(alone[-1]) if alone else int(joined[1]) if joined else None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10_000:
        return int(value)
    return None
