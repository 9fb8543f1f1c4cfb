"""Spreadsheet numbers as shown: ISO 8601 dates, percentages, decimals, money.

The formats' own small language (ECMA-376 part 1, 18.8.31) is followed where it changes what a
reader sees as the value; colours, padding and fractions are not.
"""

from __future__ import annotations

import datetime
import math
import re
from functools import lru_cache
from typing import NamedTuple

_QUOTED = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\-\]]*+)[^\]]*+\]')
_HIDDEN = re.compile(r"_.|\*.|\[[^\]]*\]")
_DATE_LETTERS = re.compile(r"[ymdhs年月日]|AM/PM|上午/下午", re.I)
_DIGITS = re.compile(r"[#0?][#0?,.]*")
_SECONDS_A_DAY = 86_400
_LONGEST = 300
"""Characters; programs allow 255. A longer format is damaged, and is no format."""
_EPOCH = {False: datetime.datetime(1899, 12, 30), True: datetime.datetime(1904, 1, 1)}
BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss",
    20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 27: "yyyy-mm-dd", 28: "yyyy-mm-dd",
    29: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd", 32: "h:mm", 33: "h:mm:ss", 34: "h:mm",
    35: "h:mm:ss", 36: "yyyy-mm-dd", 37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss", 48: "0.0E+0", 50: "yyyy-mm-dd", 51: "yyyy-mm-dd",
    52: "yyyy-mm-dd", 53: "yyyy-mm-dd", 54: "yyyy-mm-dd", 57: "yyyy-mm-dd", 58: "yyyy-mm-dd",
}  # fmt: skip
"""Built-in formats by number; 14–17 and 27–58 are locale dates."""


class Shown(NamedTuple):
    """Parsed number format: kind, decimals (None: as many as needed) and affixes."""

    kind: str
    decimals: int | None = None
    grouped: bool = False
    before: str = ""
    after: str = ""


def shown(value: float, *, format_: str = "", since_1904: bool = False) -> str:
    """Format a cell's number; deterministic."""
    how, signed = _how(format_, value < 0)
    if how.kind == "general":
        return plain_number(value)
    if how.kind != "number":
        return _moment(value, how.kind, since_1904=since_1904) or plain_number(value)
    size = value if signed else abs(value)
    percent = "%" in how.after or "%" in how.before
    digits = _decimal(size * 100 if percent else size, how)
    return f"{how.before}{digits}{how.after}".strip()


@lru_cache(maxsize=1024)
def _how(format_: str, negative: bool) -> tuple[Shown, bool]:
    """Return the format for a number's sign, and whether the sign is still shown.

    Negative sections show their own.
    """
    if len(format_) > _LONGEST:
        format_ = ""
    section = _section(format_ or "General", negative=negative)
    return _shape(section), not (negative and section != format_.split(";")[0] and format_)


def plain_number(value: float) -> str:
    """Format a plain number: integers without a point, others without binary noise."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}"


def _decimal(value: float, how: Shown) -> str:
    if how.decimals is None:
        return plain_number(value)
    grouping = "," if how.grouped else ""
    return f"{value:{grouping}.{how.decimals}f}"


def _section(format_: str, *, negative: bool) -> str:
    """Return the format section for this sign; quoted `;` does not separate."""
    parts = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', format_)
    chosen = parts[1] if negative and len(parts) > 1 and parts[1] else parts[0]
    return chosen or "General"


def _shape(section: str) -> Shown:
    if section.lower() in ("general", "@", "standard"):
        return Shown("general")
    bare = _QUOTED.sub("", section)
    duration = re.search(r"\[(?:h+|m+|s+)\]", bare, re.I)
    letters = {letter.lower() for letter in _DATE_LETTERS.findall(_HIDDEN.sub("", bare))}
    if duration:
        return Shown("duration")
    if letters & {"y", "d", "年", "月", "日"} or letters == {"m"}:
        return Shown("datetime" if letters & {"h", "s"} else "date")
    if letters & {"h", "s"}:
        return Shown("time")
    return _number_shape(section)


def _number_shape(section: str) -> Shown:
    # What is in quotes is shown as it stands: it is set aside while the digits are looked for.
    literals: list[str] = []

    def aside(found: re.Match[str]) -> str:
        literals.append(found.group(1) or found.group(2) or found.group(3) or "")
        return chr(0xE000 + len(literals) - 1)

    text = _HIDDEN.sub("", _QUOTED.sub(aside, section))
    digits = _DIGITS.search(text)
    if digits is None or re.search(r"[eE][+-]|/", text):
        return Shown("general")
    whole, _, decimals = digits.group().partition(".")

    def back(part: str) -> str:
        return "".join(
            literals[ord(sign) - 0xE000] if 0xE000 <= ord(sign) < 0xE000 + len(literals) else sign
            for sign in part
            if sign not in "#0?.,"
        )

    if digits.group().endswith(","):  # thousands cut off: the value itself is truer
        return Shown("general")
    return Shown(
        "number",
        decimals=min(len(decimals), 15),
        grouped="," in whole,
        before=back(text[: digits.start()]),
        after=back(text[digits.end() :]),
    )


def _moment(value: float, kind: str, *, since_1904: bool) -> str:
    """Return a serial day as ISO 8601; empty if out of range."""
    if not math.isfinite(value):
        return ""
    seconds = round(value * _SECONDS_A_DAY)
    if kind == "duration" or (kind == "time" and value < 1):
        minutes, second = divmod(abs(seconds), 60)
        sign = "-" if seconds < 0 else ""
        return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
    if not since_1904 and 0 < value < 60:
        seconds += _SECONDS_A_DAY  # 1900 has a 29 February there, so its first days are one off
    try:
        moment = _EPOCH[since_1904] + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return ""
    if value < 0 or moment.year < 1899:
        return ""
    if kind == "date" and moment.time() == datetime.time():
        return moment.date().isoformat()
    return moment.isoformat(sep=" ") if kind != "date" else moment.date().isoformat()
