"""Records of one chunk from a model: names, relations, claims, in any form.

Objects under other words, bare lists, a mapping of names to types: what can be read is read, the
rest is counted. Nothing is compared with the chunk's text here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

MAX_ENTITIES = 100
MAX_RELATIONS = 200
MAX_CLAIMS = 100
MAX_NAME_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 600
MALFORMED = "malformed record"
OVER_THE_LIMIT = "over the limit"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEntity:
    """A name as the model gave it."""

    name: str
    type: str = ""
    description: str = ""


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
        return "the reply names it and says nothing of it"
    given = first(fields, _ENTITIES)
    if isinstance(given, bool | int | float) or (isinstance(given, str) and not _is_empty(given)):
        return f"its entities are {'text' if isinstance(given, str) else 'a number'}, not a list"
    entities = [_entity(record) for record in _records(given, dropped)]
    names = frozenset(entity.name.casefold() for entity in entities if entity)
    relations = [
        _relation(record, names) for record in _records(first(fields, _RELATIONS), dropped)
    ]
    claims = [_claim(record) for record in _records(first(fields, _CLAIMS), dropped)]
    dropped[MALFORMED] += sum(some.count(None) for some in (entities, relations, claims))
    read = RawExtraction(
        entities=_distinct(entity for entity in entities if entity),
        relations=_distinct(relation for relation in relations if relation),
        claims=_distinct(claim for claim in claims if claim),
    )
    kept = RawExtraction().with_more(read)
    dropped[OVER_THE_LIMIT] += read.size - kept.size
    return kept


def first(fields: Mapping[str, object], words: Sequence[str]) -> object:
    """Return the first of these fields present; None without any."""
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
    if isinstance(record, str):
        name, kind, description = record, "", ""
    elif isinstance(record, list):
        name, kind, description, *_ = (*map(_text, record), "", "", "")
    elif isinstance(record, dict):
        fields = _fields(record)
        name = _text(first(fields, ("name", "entity", "entity_name", "label", "名称", "id")))
        kind = _text(first(fields, ("type", "entity_type", "category", "kind", "label", "类型")))
        description = _text(first(fields, ("description", "about", "summary", "描述", "说明")))
    else:
        return None
    name = _line(name)
    if not name or len(name) > MAX_NAME_CHARACTERS or _is_empty(name):
        return None
    return RawEntity(name=name, type=_line(kind)[:80], description=shortened(description))


_SOURCES = ("source", "subject", "head", "from", "source_entity", "src", "主体", "起点", "源")
_TARGETS = ("target", "object", "tail", "to", "target_entity", "tgt", "客体", "终点", "目标")
_PREDICATES = ("predicate", "relation", "relationship", "type", "label", "verb", "关系", "谓词")


def _relation(record: object, names: frozenset[str]) -> RawRelation | None:
    if isinstance(record, list):
        parts = [_text(part) for part in record]
        if len(parts) < 3:
            return None
        source, second, third, description, strength, *_ = (*parts, "", "")
        named = (_line(second).casefold() in names, _line(third).casefold() in names)
        target, predicate = (second, third) if named == (True, False) else (third, second)
    elif isinstance(record, dict):
        fields = _fields(record)
        source, target = _text(first(fields, _SOURCES)), _text(first(fields, _TARGETS))
        predicate = _text(first(fields, _PREDICATES))
        description = _text(first(fields, ("description", "about", "evidence", "描述", "说明")))
        strength = _text(first(fields, ("strength", "weight", "score", "confidence", "强度")))
    else:
        return None
    source, target = _line(source), _line(target)
    if not source or not target or max(len(source), len(target)) > MAX_NAME_CHARACTERS:
        return None
    return RawRelation(
        source=source,
        target=target,
        predicate=_line(predicate)[:MAX_NAME_CHARACTERS],
        description=shortened(description),
        strength=_line(strength)[:40],
    )


def _claim(record: object) -> RawClaim | None:
    if not isinstance(record, dict):
        return None
    fields = _fields(record)
    subject = _line(_text(first(fields, ("subject", "entity", "name", "source", "主体"))))
    text = shortened(_text(first(fields, ("text", "description", "claim", "内容", "描述"))))
    target = _line(_text(first(fields, ("object", "target", "客体"))))
    if not subject or not text or max(len(subject), len(target)) > MAX_NAME_CHARACTERS:
        return None
    return RawClaim(
        subject=subject,
        text=text,
        object="" if _is_empty(target) else target,
        type=_line(_text(first(fields, ("type", "claim_type", "类型")))),
        status=_line(_text(first(fields, ("status", "claim_status", "状态"))))[:40],
        start=_line(_text(first(fields, ("start", "start_date", "date", "from", "开始"))))[:40],
        end=_line(_text(first(fields, ("end", "end_date", "to", "结束"))))[:40],
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


def shortened(text: str) -> str:
    """One line of at most 600 characters, cut behind a sentence or at least a word."""
    line = _line(text)
    if len(line) <= MAX_TEXT_CHARACTERS:
        return "" if _is_empty(line) else line
    cut = line[: MAX_TEXT_CHARACTERS - 1]
    end = max(cut.rfind(mark) for mark in (". ", "。", "！", "？", "! ", "? "))
    if end > MAX_TEXT_CHARACTERS // 2:
        return cut[: end + 1]
    return _LAST_WORD.sub("", cut) + "…"
