"""Parsing of extraction replies: chunks of a pack, records, values.

A reply may wrap its objects, use other keys, leave out numbers, count from 0, give a chunk twice or
one that nobody asked for: what can be read is read, the rest is counted. Nothing is compared with
the chunk's text here; that is `grounding`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ...model import ALSO_KNOWN_AS, OCCURS_WITH
from .json_repair import Damaged, FoundJson, Unfinished, find_json
from .prompts import Pack, fold_predicate, normalised_predicate

MAX_ENTITIES = 100
MAX_RELATIONS = 200
MAX_CLAIMS = 100
MAX_NAME_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 600
MAX_ALIASES = 10
MALFORMED = "malformed record"
OVER_THE_LIMIT = "over the limit"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEntity:
    """A name as the model gave it."""

    name: str
    type: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRelation:
    """A relation as the model gave it; `strength` still on the model's own scale."""

    source: str
    target: str
    predicate: str = ""
    description: str = ""
    strength: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawClaim:
    """A claim as the model gave it."""

    subject: str
    text: str
    object: str = ""
    type: str = ""
    status: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawExtraction:
    """All that was said of one chunk, in the model's order, without repeats."""

    entities: tuple[RawEntity, ...] = ()
    relations: tuple[RawRelation, ...] = ()
    claims: tuple[RawClaim, ...] = ()

    def with_more(self, other: RawExtraction) -> RawExtraction:
        """Both, this one's first, up to the limits."""
        return RawExtraction(
            entities=_distinct((*self.entities, *other.entities))[:MAX_ENTITIES],
            relations=_distinct((*self.relations, *other.relations))[:MAX_RELATIONS],
            claims=_distinct((*self.claims, *other.claims))[:MAX_CLAIMS],
        )

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.entities) + len(self.relations) + len(self.claims)


_ENTITIES = ("entities", "entity", "nodes", "names", "实体")
_RELATIONS = ("relations", "relationships", "relation", "edges", "triples", "triplets", "关系")
_CLAIMS = ("claims", "claim", "covariates", "论断", "主张")
LISTS = frozenset((*_ENTITIES, *_RELATIONS, *_CLAIMS))
"""Words for the three lists, in small letters."""


def read_records(fields: Mapping[str, object], dropped: Counter[str]) -> RawExtraction | str:
    """Parse the records of a chunk, or return the reason against them.

    Counts drops in `dropped`.

    The fields' names are in small letters.
    """
    if not LISTS & fields.keys():
        return "the reply has no lists for this chunk"
    given = first_field(fields, _ENTITIES)
    if isinstance(given, bool | int | float) or (isinstance(given, str) and not _is_empty(given)):
        return f"its entities are {'text' if isinstance(given, str) else 'a number'}, not a list"
    entities = [_entity(record) for record in _records(given, dropped)]
    names = frozenset(entity.name.casefold() for entity in entities if entity)
    relations = [
        _relation(record, names) for record in _records(first_field(fields, _RELATIONS), dropped)
    ]
    claims = [_claim(record) for record in _records(first_field(fields, _CLAIMS), dropped)]
    dropped[MALFORMED] += sum(some.count(None) for some in (entities, relations, claims))
    read = RawExtraction(
        entities=_distinct(entity for entity in entities if entity),
        relations=_distinct(relation for relation in relations if relation),
        claims=_distinct(claim for claim in claims if claim),
    )
    kept = RawExtraction().with_more(read)
    dropped[OVER_THE_LIMIT] += read.size - kept.size
    return kept


def first_field(fields: Mapping[str, object], words: Sequence[str]) -> object:
    """Return the first of these fields that a model's record has; None without any."""
    return next((fields[word] for word in words if word in fields), None)


def _distinct(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))


_NOTHING = frozenset({"", "none", "null", "n/a", "nil", "[]", "{}", "无", "没有"})


def _is_empty(text: str) -> bool:
    return text.strip().casefold() in _NOTHING


def _records(value: object, dropped: Counter[str]) -> Iterator[object]:
    """Return the records of a list; of a mapping its values with keys as `name`."""
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        fields = _fields(value)
        if fields.keys() & {"name", "source", "subject"}:
            yield fields
            return
        for key, one in fields.items():
            if isinstance(one, dict):
                yield {"name": key, **one}
            elif isinstance(one, list):  # a type and its names
                yield from ([name, key] for name in one)
            else:
                yield [key, one]
    elif value is not None and not (isinstance(value, str) and _is_empty(value)):
        dropped[MALFORMED] += 1


def _fields(record: Mapping[object, object]) -> dict[str, object]:
    return {str(key).strip().casefold(): value for key, value in record.items()}


def _entity(record: object) -> RawEntity | None:
    others: object = ()
    if isinstance(record, str):
        name, kind, description = record, "", ""
    elif isinstance(record, list):
        name, kind, description, *_ = (*map(_text, record), "", "", "")
        others = record[3:]
    elif isinstance(record, dict):
        fields = _fields(record)
        name = _text(first_field(fields, ("name", "entity", "entity_name", "label", "名称", "id")))
        kind = _text(
            first_field(fields, ("type", "entity_type", "category", "kind", "label", "类型"))
        )
        description = _text(
            first_field(fields, ("description", "about", "summary", "描述", "说明"))
        )
        others = first_field(fields, _ALIASES)
    else:
        return None
    name = _line(name)
    if not name or len(name) > MAX_NAME_CHARACTERS or _is_empty(name):
        return None
    return RawEntity(
        name=name,
        type=_line(kind)[:80],
        description=one_line(description),
        aliases=_distinct(other for other in _names(others) if other != name)[:MAX_ALIASES],
    )


_ALIASES = ("aliases", "alias", "other_names", "other names", "aka", "also_known_as", "别名")
_BETWEEN_NAMES = re.compile(r"\s*[;；、]\s*")


def _names(value: object) -> Iterator[str]:
    """Return the names of a list, however deep, or of a text that lists them."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _names(one)
    elif isinstance(value, str):
        names = map(_line, _BETWEEN_NAMES.split(value))
        yield from (n for n in names if len(n) <= MAX_NAME_CHARACTERS and not _is_empty(n))


_SOURCES = ("source", "subject", "head", "from", "source_entity", "src", "主体", "起点", "源")
_TARGETS = ("target", "object", "tail", "to", "target_entity", "tgt", "客体", "终点", "目标")
_PREDICATES = ("predicate", "relation", "relationship", "type", "label", "verb", "关系", "谓词")


def _relation(record: object, names: frozenset[str]) -> RawRelation | None:
    if isinstance(record, list):
        parts = [_text(part) for part in record]
        if len(parts) < 3:
            return None
        if len(parts) == 4 and _written_number(parts[3]) is not None:
            parts.insert(3, "")
        source, second, third, description, strength, *_ = (*parts, "", "")
        named = (_line(second).casefold() in names, _line(third).casefold() in names)
        target, predicate = (second, third) if named == (True, False) else (third, second)
    elif isinstance(record, dict):
        fields = _fields(record)
        source, target = _text(first_field(fields, _SOURCES)), _text(first_field(fields, _TARGETS))
        predicate = _text(first_field(fields, _PREDICATES))
        description = _text(
            first_field(fields, ("description", "about", "evidence", "描述", "说明"))
        )
        strength = _text(first_field(fields, ("strength", "weight", "score", "confidence", "强度")))
    else:
        return None
    source, target = _line(source), _line(target)
    if not source or not target or max(len(source), len(target)) > MAX_NAME_CHARACTERS:
        return None
    return RawRelation(
        source=source,
        target=target,
        predicate=_line(predicate)[:MAX_NAME_CHARACTERS],
        description=one_line(description),
        strength=_line(strength)[:40],
    )


_CLAIM_ORDER = ("subject", "object", "type", "status", "start", "end", "text")


def _claim(record: object) -> RawClaim | None:
    if isinstance(record, list) and len(record) == len(_CLAIM_ORDER):
        record = dict(zip(_CLAIM_ORDER, record, strict=True))
    if not isinstance(record, dict):
        return None
    fields = _fields(record)
    subject = _line(_text(first_field(fields, ("subject", "entity", "name", "source", "主体"))))
    text = one_line(_text(first_field(fields, ("text", "description", "claim", "内容", "描述"))))
    target = _line(_text(first_field(fields, ("object", "target", "客体"))))
    if not subject or not text or max(len(subject), len(target)) > MAX_NAME_CHARACTERS:
        return None
    return RawClaim(
        subject=subject,
        text=text,
        object="" if _is_empty(target) else target,
        type=_line(_text(first_field(fields, ("type", "claim_type", "类型")))),
        status=_line(_text(first_field(fields, ("status", "claim_status", "状态"))))[:40],
        start=_line(_text(first_field(fields, ("start", "start_date", "date", "from", "开始"))))[
            :40
        ],
        end=_line(_text(first_field(fields, ("end", "end_date", "to", "结束"))))[:40],
    )


def _text(value: object) -> str:
    """Return a scalar as text, strings joined; empty for other values."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 10**15):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return " ".join(part for part in value if isinstance(part, str))
    return ""


_NO_TEXT = frozenset({"Cc", "Cs", "Cn", "Co"})


def _line(text: str) -> str:
    """One line without control characters and half surrogates, spaces single."""
    spaced = " ".join(text[: 4 * MAX_TEXT_CHARACTERS].split())
    return "".join(c for c in spaced if unicodedata.category(c) not in _NO_TEXT).strip()


_LAST_WORD = re.compile(r"\s+\S*\Z")


def one_line(text: str) -> str:
    """Return an extracted description on one line of at most 600 characters."""
    line = _line(text)
    if len(line) <= MAX_TEXT_CHARACTERS:
        return "" if _is_empty(line) else line
    cut = line[: MAX_TEXT_CHARACTERS - 1]
    end = max(cut.rfind(mark) for mark in (". ", "。", "！", "？", "! ", "? "))
    if end > MAX_TEXT_CHARACTERS // 2:
        return cut[: end + 1]
    return _LAST_WORD.sub("", cut) + "…"


UNKNOWN_CHUNK = "chunk outside the batch"
LEFT_OUT = "missing in the reply of the model"
CUT_OFF = "the reply was cut off"
DAMAGED = "the JSON of the reply is not well-formed"
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
    """Assign positions to a reply's objects if unnumbered.

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
        number = _number(first_field(fields, _NUMBERS))
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


RELATED_TO = "related to"
"""The predicate of a relation of which the model says only that it is there."""
_WRITTEN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d{1,3})?", re.IGNORECASE)
_OF = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(?:/|out of|分之)\s*(\d+(?:\.\d+)?)")
_WORDS = {
    "very high": 1.0,
    "very strong": 1.0,
    "high": 0.9,
    "strong": 0.9,
    "medium": 0.5,
    "moderate": 0.5,
    "low": 0.2,
    "weak": 0.2,
    "强": 0.9,
    "高": 0.9,
    "中": 0.5,
    "弱": 0.2,
    "低": 0.2,
}


def scale_of(strengths: Iterable[str]) -> float:
    """Return the scale of a reply's strengths: 1, 10 or 100."""
    values = [value for value in map(_written_number, strengths) if value is not None]
    largest = max(values, default=1.0)
    return 1.0 if largest <= 1 else 10.0 if largest <= 10 else 100.0


def strength_of(said: str, *, scale: float) -> float:
    """Return a strength from 0 to 1, to two decimals; 1 by default."""
    part = _OF.search(said)
    if part and 0 < float(part[2]) < 1e9:
        return _bounded(float(part[1][:12]) / float(part[2]))
    value = _written_number(said)
    if value is not None:
        return _bounded(value / (100.0 if "%" in said else scale))
    return _WORDS.get(said.strip().casefold(), 1.0)


def _written_number(said: str) -> float | None:
    if _OF.search(said) or "%" in said:
        match = _WRITTEN_NUMBER.search(said) if "%" in said else None
        return float(match.group()) if match and "/" not in said else None
    match = _WRITTEN_NUMBER.fullmatch(said.strip())
    value = float(match.group()) if match else math.nan
    return value if math.isfinite(value) else None


def _bounded(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 2)


_EQUAL = """
also known as; known as; better known as; also called; also named; aka; a.k.a; alias; alias of;
has alias; is alias of; pen name; has pen name; wrote under the pen name; writes under the pen name;
wrote as; writes as; pen name of; pseudonym; pseudonym of; nickname; nicknamed; nickname of;
stage name; stage name of; birth name; birth name of; born as; full name; full name of; real name;
real name of; former name; former name of; formerly known as; abbreviation; abbreviated as;
abbreviated to; abbreviation of; abbreviation for; acronym of; acronym for; short for;
short form of; short name of; stands for; translated as; translation of; english name;
english name of; chinese name; chinese name of; courtesy name; courtesy name of; art name; same as;
identical to; another name for; other name of;
又名; 又称; 亦称; 也称; 也叫; 又叫; 别名; 别称; 别号; 笔名; 艺名; 化名;
本名; 原名; 真名; 曾用名; 全名; 全称; 简称; 缩写; 缩写为; 简称为; 字; 号;
绰号; 外号; 乳名; 小名; 英文名; 中文名; 英文名称; 中文名称; 译名; 译为; 即; 等同于;
同一人
"""
EQUAL_PREDICATES = frozenset(fold_predicate(" ".join(p.split())) for p in _EQUAL.split(";"))
"""Predicates, folded, which say that two names mean one thing."""
_DETERMINERS = re.compile(r"^(?:(?:is|was|are|were|has|had) )?(?:an?|the|his|her|its) ")
_TURNED = re.compile(r"(?:of|for)$")


def names_alias(predicate: str) -> bool:
    """Check whether a predicate says that both ends are names of one thing."""
    plain = _DETERMINERS.sub("", normalised_predicate(predicate), count=1)
    return fold_predicate(plain) in EQUAL_PREDICATES


def is_turned(predicate: str) -> bool:
    """Check whether the source is the second name: "is the pen name of"."""
    return _TURNED.search(normalised_predicate(predicate)) is not None


def predicate_of(said: str, *, inferred: bool) -> str:
    """Return the normalised predicate.

    That two names mean one thing is believed of a single sentence alone, and that they occur
    together is no relation of its own.
    """
    predicate = normalised_predicate(said)
    if predicate in ("", OCCURS_WITH) or (inferred and predicate == ALSO_KNOWN_AS):
        return RELATED_TO
    return predicate


_TRUE = frozenset({"true", "confirmed", "yes", "verified", "属实", "真", "是", "已证实"})
_FALSE = frozenset({"false", "denied", "no", "refuted", "disproved", "不实", "假", "否", "已否认"})


def claim_status_of(said: str) -> str:
    """Return an extracted claim's status: TRUE, FALSE or, if unclear, SUSPECTED."""
    word = said.strip().casefold()
    return "TRUE" if word in _TRUE else "FALSE" if word in _FALSE else "SUSPECTED"


_DATE = re.compile(
    r"(\d{3,4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?|月?)|年)?(?:[T ].*)?", re.ASCII
)
_HAN_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def date_of(said: str) -> str:
    """Return an ISO 8601 date of the given precision (2019, 2019-05, 2019-05-01), or empty."""
    text = unicodedata.normalize("NFKC", said).strip().translate(_HAN_DIGITS)
    match = _DATE.fullmatch(text)
    if match is None or not int(match[1]):
        return ""
    year, month, day = match[1].zfill(4), int(match[2] or 0), int(match[3] or 0)
    if not 1 <= month <= 12:
        return year
    if not 1 <= day <= _DAYS[month - 1]:
        return f"{year}-{month:02}"
    return f"{year}-{month:02}-{day:02}"


def stands_in(date: str, text: str) -> bool:
    """Check whether a date's year occurs in a text, in either script's digits.

    Years before 1000 stand there with or without their zeros: "875" is "0875".
    """
    plain = unicodedata.normalize("NFKC", text).translate(_HAN_DIGITS)
    if not date.startswith("0"):
        return date[:4] in plain
    return re.search(rf"(?<!\d)0{{0,3}}{int(date[:4])}(?!\d)", plain) is not None
