"""JSON in a model's reply, however it is wrapped or broken.

Reads past prose, code fences, thinking, trailing and missing commas, other quotes, quotes inside of
strings, Chinese punctuation and a missing end, in time linear in the reply's length; a text without
any JSON gives a reason instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_REPLY_CHARACTERS = 200_000
MAX_DEPTH = 30
_MAX_VALUES = 300
_THINKING = re.compile(
    r"\A(?:\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z))+", re.DOTALL | re.IGNORECASE
)
_START = re.compile(r"[{\[](?=\s*(?:[\]}\"'“‘{\[]|\w{1,40}\s*[:：]))")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJson:
    """The values found, in order; or none, and the `problem`.

    `cut_off`: the text stopped inside the last of them; what was open there is `Unfinished`.
    """

    values: tuple[object, ...] = ()
    cut_off: bool = False
    problem: str = ""


class Unfinished(dict[str, object]):
    """An object whose end is missing."""


class Damaged(dict[str, object]):
    """Object with damaged parts, which may be incomplete.

    Other quotes, bare keys, comments, Chinese punctuation and commas too many are no damage.
    """


def find_json(reply: str) -> FoundJson:
    """All JSON objects and arrays at the outermost level of a reply; never raises."""
    text = _THINKING.sub("", reply[:MAX_REPLY_CHARACTERS]).strip().lstrip("\ufeff")
    if not text:
        return FoundJson(problem="the reply is empty")
    values: list[object] = []
    cut_off = False
    start = _START.search(text)
    while start is not None and len(values) < _MAX_VALUES and not cut_off:
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            reader = _Lenient(text, start.start())
            try:
                value = reader.value(0)
            except _TooDeepError:
                return FoundJson(problem="the JSON of the reply is nested too deeply")
            end, cut_off = max(reader.place, start.end()), reader.cut_off
        values.append(value)
        start = _START.search(text, end)
    if values:
        return FoundJson(values=tuple(values), cut_off=cut_off)
    return FoundJson(
        problem=repetition_reason(text) or f"no JSON in the reply: {reply_opening(text)}"
    )


class _TooDeepError(Exception):
    """More brackets inside each other than any reply needs."""


_SKIPPED = re.compile(r"(?:\s+|(?P<comma>[,，;、])|//[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_COLON = re.compile(r"\s*(?:[:：]|=>?)")
_EMPTY = re.compile(r"\s*[,，]")
_BARE = re.compile(r"[^\s,，:：{}\[\]\"“”][^,，{}\[\]\n\"“”]*")
_BARE_KEY = re.compile(r"[^\s,，:：{}\[\]\"“”]{1,80}")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_CLOSES = re.compile(r"\s*(?:[,，:：}\]]|\Z)|[ \t]*\r?\n\s*[\"'“{\[]")
"""Characters that may follow a closing quote; other quotes belong to the string."""
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


class _Lenient:
    """A reader of one value that takes what is nearly JSON.

    `place` is where it stopped; `cut_off`: that is the text's end, with something open.
    """

    def __init__(self, text: str, place: int) -> None:
        self._text = text
        self.place = place
        self.cut_off = False
        self._damages = 0

    def value(self, depth: int) -> object:
        """Parse the value at `place`; None without one."""
        self._separated()
        character = self._text[self.place : self.place + 1]
        if character in ("{", "["):
            if depth >= MAX_DEPTH:
                raise _TooDeepError
            self.place += 1
            return self._object(depth + 1) if character == "{" else self._array(depth + 1)
        if character in _QUOTES:
            return self._string()
        bare = _BARE.match(self._text, self.place)
        if bare is None:
            self._damages += 1
            return None
        self.place = bare.end()
        value = _literal(bare.group().strip())
        self._damages += isinstance(value, str)
        return value

    def _separated(self) -> bool:
        """Skip what stands between values; whether a comma was there."""
        gap = _SKIPPED.match(self._text, self.place)
        self.place = gap.end() if gap else self.place
        return gap is not None and gap.lastgroup == "comma"

    def _goes_on(self, closing: str, *, started: bool) -> bool:
        """Check whether the open container has a further item.

        It ends with its bracket, with another's, which is left, or with the text.
        """
        separated = self._separated()
        character = self._text[self.place : self.place + 1]
        if character == closing:
            self.place += 1
            return False
        self.cut_off |= not character
        if character and (character in "}]" or (started and not separated)):
            self._damages += 1
        return bool(character) and character not in "}]"

    def _object(self, depth: int) -> dict[str, object]:
        fields: dict[str, object] = {}
        damages = self._damages
        while self._goes_on("}", started=bool(fields)):
            before = self.place
            key = self._key()
            colon = _COLON.match(self._text, self.place)
            self._damages += int(not key or colon is None or key in fields)
            if colon is not None:
                self.place = colon.end()
                fields[key] = self._after_colon(depth)
            elif self.place == before:
                self.place += 1  # nothing that belongs here
        if self.cut_off:
            return Unfinished(fields)
        return Damaged(fields) if self._damages > damages else fields

    def _key(self) -> str:
        if self._text[self.place] in _QUOTES:
            return self._string()
        bare = _BARE_KEY.match(self._text, self.place)
        self.place = bare.end() if bare else self.place
        return bare.group() if bare else ""

    def _after_colon(self, depth: int) -> object:
        missing = _EMPTY.match(self._text, self.place) is not None
        self._damages += missing
        return None if missing else self.value(depth)

    def _array(self, depth: int) -> list[object]:
        values: list[object] = []
        while self._goes_on("]", started=bool(values)):
            before = self.place
            value = self.value(depth)
            if self.place == before:
                self.place += 1
            else:
                values.append(value)
        return values

    def _string(self) -> str:
        """Parse a string; unterminated ones reach the end."""
        begin = self.place + 1
        quote = _QUOTES[self._text[self.place]]
        end = self._text.find(quote, begin)
        while end != -1:
            if not self._is_escaped(end):
                if _CLOSES.match(self._text, end + 1):
                    break
                self._damages += quote not in "'’"  # an apostrophe may be one
            end = self._text.find(quote, end + 1)
        self.cut_off |= end == -1
        end = len(self._text) if end == -1 else end
        self.place = min(end + 1, len(self._text))
        return _unescaped(self._text[begin:end])

    def _is_escaped(self, place: int) -> bool:
        before = self._text[max(0, place - 20) : place]
        return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _literal(word: str) -> object:
    if word.casefold() in _LITERALS:
        return _LITERALS[word.casefold()]
    try:
        number = float(word) if len(word) < 30 else None
    except ValueError:
        number = None
    if number is None:
        return word
    return int(number) if number.is_integer() else number


_NO_ESCAPE = re.compile(r"(?<!\\)\\(?![\"\\/bfnrtu])")
_LONE_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)"')


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    known = _NO_ESCAPE.sub(r"\\\\", raw)
    try:
        return str(_DECODER.decode('"' + _LONE_QUOTE.sub(r'\1\\"', known) + '"'))
    except ValueError:
        return raw


_TAIL = 600
_MAX_PERIOD = 100
_REPEATS = 5


def repetition_reason(text: str) -> str:
    """Return a reason if a model's reply ends in repetition, else empty."""
    tail = text[-_TAIL:]
    for period in range(1, min(_MAX_PERIOD, len(tail) // _REPEATS) + 1):
        part = tail[-period:]
        if part.strip() and tail.endswith(part * _REPEATS) and period * _REPEATS >= 20:
            return "the reply repeats itself"
    return ""


def rows_with(key: str, kind: type, values: Iterable[object]) -> Iterator[Mapping[str, Any]]:
    """Return the objects anywhere in the JSON whose value of `key` is of this kind."""
    for value in values:
        if isinstance(value, list):
            yield from rows_with(key, kind, value)
        elif isinstance(value, dict) and key in value and isinstance(value[key], kind):
            yield value
        elif isinstance(value, dict):
            yield from rows_with(
                key, kind, [v for v in value.values() if isinstance(v, list | dict)]
            )


def number_of(row: Mapping[str, Any], *, default: int = 0) -> int:
    """Return the number that a row gives in `n`, however it is written."""
    digits = re.search(r"\d{1,6}", str(row.get("n", default or "")))
    return int(digits.group()) if digits else default


def reply_opening(text: str) -> str:
    """Return the beginning of a model's reply on one short line."""
    return repr(" ".join(text[:200].split())[:60])
