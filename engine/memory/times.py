"""Time expressions in questions, in English and Chinese, as ranges of dates.

"last May", "two weeks ago", "on 7 May 2023", 上个月, 去年三月. A relative expression counts from
the day on which it is asked; one about another event ("the week before the race") has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

Days = tuple[date, date]
"""First and last day, both within."""
_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "may" else "may" for name in _MONTHS)
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_DIGITS = [
    "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(_DIGITS, start=1)}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2}
_HAN = {**{digit: value for value, digit in enumerate("零一二三四五六七八九十")}, "两": 2}
_NUMBER = r"(?P<number>\d{1,3}|a couple of|an?|" + "|".join(_DIGITS) + ")"
_HAN_NUMBER = r"(?P<number>\d{1,3}|[一二两三四五六七八九十]{1,3})"
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365, "天": 1, "日": 1, "周": 7, "星期": 7}
_UNIT_DAYS |= {"个星期": 7, "个月": 30, "月": 30, "年": 365}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SEASONS |= {"春": 3, "夏": 6, "秋": 9, "冬": 12}

_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b\.?,?"
    r"(?: (?P<year>\d{4}))?",
    re.I,
)
_MONTH_FIRST = re.compile(
    rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (?P<year>\d{{4}}))?", re.I
)
_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\b")
_IN_MONTH = re.compile(
    rf"\b(?:in|of|during|since|by|last|this|early|late|mid)[ -](?:the )?(?P<month>{_MONTH})\b"
    r"(?:,?(?: of)? (?P<year>\d{4}))?|"
    rf"\b(?P<month2>{_MONTH}) (?P<year2>\d{{4}})\b",
    re.I,
)
_SEASON = re.compile(
    r"\b(?P<last>last |this )?(?P<season>spring|summer|autumn|fall|winter)(?: of)?"
    r"(?: (?P<year>\d{4}))?\b",
    re.I,
)
_YEAR = re.compile(
    r"\b(?:in|during|of) (?P<year>(?:19|20)\d{2})\b|(?P<han>(?:19|20)\d{2})年(?!\d{1,2}月)"
)
_AGO = re.compile(rf"\b{_NUMBER} (?P<unit>day|week|month|year)s? (?:ago|earlier|back)\b", re.I)
_LAST = re.compile(
    r"\b(?P<which>last|this|past|previous) (?P<unit>week(?:end)?|month|year|"
    + "|".join(_WEEKDAYS)
    + r")\b",
    re.I,
)
_NEAR = re.compile(
    r"\b(?P<when>yesterday|today|the day before yesterday)\b|(?P<han>昨天|今天|前天)", re.I
)
_HAN_DAY = re.compile(
    r"(?:(?P<year>\d{4})年|(?P<last>去年|今年|前年))?的?(?P<month>\d{1,2}|[一二三四五六七八九十]{1,2})月"
    r"(?:(?P<day>\d{1,2})[日号])?"
)
_HAN_AGO = re.compile(rf"{_HAN_NUMBER}(?P<unit>天|个星期|星期|周|个月|年)(?:前|以前|之前)")
_HAN_LAST = re.compile(
    r"(?P<which>上上?|这|本)(?:个)?(?P<unit>月|周|星期|周末)|(?P<year>去年|今年|前年)(?P<season>[春夏秋冬])?"
)


def date_ranges(question: str, asked: date) -> list[Days]:
    """Return the ranges of days that a question names, asked on a day; empty without any."""
    found = [
        each
        for rule in (_full_dates, _months, _seasons_and_years, _relative, _chinese)
        for each in rule(question, asked)
    ]
    narrow = [each for each in found if not any(_is_within(other, each) for other in found)]
    return sorted(set(narrow))


def _is_within(one: Days, other: Days) -> bool:
    return one != other and other[0] <= one[0] and one[1] <= other[1]


def _full_dates(question: str, asked: date) -> Iterator[Days]:
    for pattern in (_DAY_FIRST, _MONTH_FIRST, _ISO):
        for match in pattern.finditer(question):
            month = int(match["month"]) if pattern is _ISO else _month(match["month"])
            yield from _days(match["year"], month, int(match["day"]), asked)


def _months(question: str, asked: date) -> Iterator[Days]:
    for match in _IN_MONTH.finditer(question):
        year = match["year"] or match["year2"]
        yield from _days(year, _month(match["month"] or match["month2"]), None, asked)


def _seasons_and_years(question: str, asked: date) -> Iterator[Days]:
    for match in _SEASON.finditer(question):
        if match["last"] or match["year"]:
            month = _SEASONS[match["season"].lower()]
            yield from _season(match["year"], month, asked)
    for match in _YEAR.finditer(question):
        year = int(match["year"] or match["han"])
        yield date(year, 1, 1), date(year, 12, 31)


def _relative(question: str, asked: date) -> Iterator[Days]:
    for match in _AGO.finditer(question):
        said = match["number"].lower()
        yield _ago(asked, int(said) if said.isdigit() else _NUMBERS[said], match["unit"].lower())
    for match in _LAST.finditer(question):
        yield from _last(asked, match["unit"].lower(), back=match["which"].lower() != "this")
    for match in _NEAR.finditer(question):
        said = (match["when"] or match["han"]).lower()
        back = {"yesterday": 1, "昨天": 1, "today": 0, "今天": 0}.get(said, 2)
        yield asked - timedelta(back), asked - timedelta(back)


def _chinese(question: str, asked: date) -> Iterator[Days]:
    back = {"去年": 1, "今年": 0, "前年": 2}
    for match in _HAN_DAY.finditer(question):
        year = match["year"] or (str(asked.year - back[match["last"]]) if match["last"] else None)
        day = int(match["day"]) if match["day"] else None
        yield from _days(year, _han(match["month"]), day, asked)
    for match in _HAN_AGO.finditer(question):
        yield _ago(asked, _han(match["number"]), match["unit"])
    for match in _HAN_LAST.finditer(question):
        if match["season"]:
            year = str(asked.year - back[match["year"]])
            yield from _season(year, _SEASONS[match["season"]], asked)
        elif match["year"]:
            year = asked.year - back[match["year"]]
            yield date(year, 1, 1), date(year, 12, 31)
        else:
            unit = {"月": "month", "周": "week", "星期": "week", "周末": "weekend"}[match["unit"]]
            yield from _last(asked, unit, back=match["which"].startswith("上"))


def _month(name: str) -> int:
    return next(n for n, full in enumerate(_MONTHS, 1) if full.startswith(name.lower()[:3]))


def _han(number: str) -> int:
    if number.isdigit():
        return int(number)
    tens, ten, ones = number.rpartition("十")
    return (_HAN.get(tens, 1) * 10 if ten else 0) + _HAN.get(ones, 0)


def _days(year: str | None, month: int, day: int | None, asked: date) -> Iterator[Days]:
    """Yield a day or a month; without a year the latest one that has begun."""
    if not 1 <= month <= 12:
        return
    number = int(year) if year else asked.year - ((month, day or 1) > (asked.month, asked.day))
    try:
        first = date(number, month, day or 1)
    except ValueError:
        return
    after = date(number + month // 12, month % 12 + 1, 1)
    yield (first, first) if day else (first, after - timedelta(1))


def _season(year: str | None, month: int, asked: date) -> Iterator[Days]:
    for first, _ in _days(year, month, None, asked):
        yield first, first + timedelta(91)


def _ago(asked: date, number: int, unit: str) -> Days:
    """Return about that long ago: the farther back, the wider."""
    size = _UNIT_DAYS[unit]
    middle = asked - timedelta(min(number * size, 36_500))
    slack = timedelta({1: 0, 7: 3, 30: 15, 365: 183}[size])
    return middle - slack, middle + slack


def _last(asked: date, unit: str, *, back: bool) -> Iterator[Days]:
    if unit in _WEEKDAYS:
        days = (asked.weekday() - _WEEKDAYS.index(unit)) % 7 or 7
        day = asked - timedelta(days if back else days % 7)
        yield day, day
        return
    if unit.startswith("week"):
        monday = asked - timedelta(asked.weekday() + 7 * back)
        first = monday + timedelta(5) if unit == "weekend" else monday
        yield first, monday + timedelta(6)
    elif unit == "month":
        month, year = (asked.month - back) or 12, asked.year - (back and asked.month == 1)
        yield from _days(str(year), month, None, asked)
    else:
        yield date(asked.year - back, 1, 1), date(asked.year - back, 12, 31)
