"""Document filters: LlamaIndex metadata filters and namespaces, applied exactly.

Applied before ranking, so that what is left out cannot push anything out of a list. Knows what a
document's metadata are, nothing of how chunks are scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import QuestionError
from ..ingest.content import sanitise_text

if TYPE_CHECKING:
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

    Filters = MetadataFilters | Mapping[str, "Value"] | Iterable[str] | None

Namespaces = str | Collection[str] | None
"""One namespace, any of several, or all."""
Value = str | int | float | bool | Sequence[str]
_OPERATORS = {"==": "==", "=": "==", "!=": "!=", ">=": ">=", "<=": "<=", ">": ">", "<": "<"}
_ORDERING = frozenset({">", ">=", "<", "<="})
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?)?")
_CONDITION = re.compile(r"\s*([\w.-]+)\s*(==|!=|>=|<=|=|>|<|~)\s*(.*?)\s*", re.S)


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Judges documents by their metadata; two with one `key` judge alike.

    `key` is a text that holds everything the judgement depends on.
    """

    key: str
    namespaces: frozenset[str] | None = None
    filters: MetadataFilters | None = None

    @property
    def home(self) -> DocumentFilter | None:
        """Return the namespace condition alone; None if all are visible."""
        if self.namespaces is None or self.filters is None:
            return self if self.namespaces is not None else None
        return DocumentFilter(key=_key(self.namespaces, None), namespaces=self.namespaces)

    def admits(self, metadata: Mapping[str, object]) -> bool:
        """Check whether a document with these metadata is visible."""
        if self.namespaces is not None and metadata.get("namespace") not in self.namespaces:
            return False
        return self.filters is None or matches(self.filters, metadata)


def document_filter(filters: Filters, *, namespace: Namespaces = None) -> DocumentFilter | None:
    """Build a filter from a caller's conditions; None for everything.

    Takes LlamaIndex's `MetadataFilters`; a mapping, whose conditions must all hold (a list of
    values: any of them); or texts such as `date>=2024-01-01` (see `condition`).

    Raises:
        QuestionError: a text that is no condition, an operator that is not offered, or what is no
            date where `date` is compared with it.
    """
    from llama_index.core.vector_stores.types import MetadataFilters

    if filters is not None and not isinstance(filters, MetadataFilters):
        if isinstance(filters, Mapping):
            parts = [_equal(key, value) for key, value in sorted(filters.items())]
        else:
            texts = [filters] if isinstance(filters, str) else filters
            parts = [condition(sanitise_text(text)) for text in sorted(texts)]
        filters = MetadataFilters(filters=list(parts)) if parts else None
    if filters is None and namespace is None:
        return None
    if filters is not None:
        _check_dates(filters)
    within = frozenset([namespace] if isinstance(namespace, str) else namespace or ())
    spaces = None if namespace is None else within
    return DocumentFilter(key=_key(spaces, filters), namespaces=spaces, filters=filters)


def _key(spaces: frozenset[str] | None, filters: MetadataFilters | None) -> str:
    shown = "all" if spaces is None else repr(sorted(spaces))
    return f"{shown} {filters.model_dump_json() if filters is not None else ''}"


def condition(text: str) -> MetadataFilter:
    """Parse `key=value`, `!=`, `>`, `>=`, `<`, `<=` or `key~substring` into a LlamaIndex filter.

    Raises:
        QuestionError: it is none of these.
    """
    from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter

    found = _CONDITION.fullmatch(text)
    if found is None:
        raise QuestionError(
            f"{text!r} is not a condition: write key=value, key!=value, key>=value or key~text"
        )
    key, operator, value = found.groups()
    if operator == "~":
        chosen = FilterOperator.TEXT_MATCH_INSENSITIVE
    else:
        chosen = FilterOperator(_OPERATORS[operator])
    return MetadataFilter(key=key, value=value, operator=chosen)


def _check_dates(filters: MetadataFilters) -> None:
    """Dates are compared as text: what is none would be before or after all of them."""
    from llama_index.core.vector_stores.types import MetadataFilters

    for part in filters.filters:
        if isinstance(part, MetadataFilters):
            _check_dates(part)
            continue
        compared = part.key == "date" and part.operator.value in _ORDERING
        if compared and not _DATE.fullmatch(str(part.value)):
            raise QuestionError(
                f"{str(part.value)!r} is no date to compare `date` with: "
                "write 2024, 2024-05 or 2024-05-01"
            )


def _equal(key: str, value: Value) -> MetadataFilter:
    from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter

    if isinstance(value, bool):
        return MetadataFilter(key=key, value=_text_of(value))
    if isinstance(value, (str, int, float)):
        return MetadataFilter(key=key, value=value)
    return MetadataFilter(key=key, value=list(map(_text_of, value)), operator=FilterOperator.ANY)


def matches(filters: MetadataFilters, metadata: Mapping[str, object]) -> bool:
    """Check metadata against filters, nested ones included.

    A value that is a list (tags) equals what it holds. Numbers are compared as numbers also where
    one side is text; everything else as text, so ISO dates compare as dates. A key that is not
    there satisfies only "is not", "not in" and "is empty".

    Raises:
        QuestionError: an operator that is not offered.
    """
    from llama_index.core.vector_stores.types import MetadataFilters

    results = (
        matches(part, metadata) if isinstance(part, MetadataFilters) else _holds(part, metadata)
        for part in filters.filters
    )
    match filters.condition:
        case "or":
            return any(results)
        case "not":
            return not any(results)
        case _:
            return all(results)


def _holds(wanted: MetadataFilter, metadata: Mapping[str, object]) -> bool:
    held = metadata.get(wanted.key)
    operator = str(wanted.operator.value)
    if operator == "is_empty":
        return held is None or held in ("", ())
    judge = _JUDGES.get(operator)
    if judge is None:
        raise QuestionError(f"filter operator {operator!r} is not offered")
    if held is None:
        return operator in ("!=", "nin")
    return judge(_values(held), _values(wanted.value))


def _values(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def _same(a: object, b: object) -> bool:
    left, right = _comparable(a, b)
    return left == right


def _text_of(value: object) -> str:
    """Return a value as text; booleans as in JSON."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _comparable(a: object, b: object) -> tuple[float, float] | tuple[str, str]:
    if isinstance(a, bool) or isinstance(b, bool):
        return _text_of(a), _text_of(b)
    try:
        return float(a), float(b)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return _text_of(a), _text_of(b)


def _any_same(held: Sequence[object], wanted: Sequence[object]) -> bool:
    return any(_same(a, b) for a in held for b in wanted)


def _ordered(
    compare: Callable[[float | str, float | str], bool],
) -> Callable[[Sequence[object], Sequence[object]], bool]:
    def judge(held: Sequence[object], wanted: Sequence[object]) -> bool:
        return any(compare(*_comparable(a, b)) for a in held for b in wanted)

    return judge


def _contains(held: Sequence[object], wanted: Sequence[object]) -> bool:
    return all(any(_same(a, b) for a in held) for b in wanted)


def _text(held: Sequence[object], wanted: Sequence[object]) -> bool:
    return any(str(b) in str(a) for a in held for b in wanted)


def _text_any_case(held: Sequence[object], wanted: Sequence[object]) -> bool:
    return any(str(b).casefold() in str(a).casefold() for a in held for b in wanted)


_JUDGES: Mapping[str, Callable[[Sequence[object], Sequence[object]], bool]] = {
    "==": _any_same,
    "!=": lambda held, wanted: not _any_same(held, wanted),
    "in": _any_same,
    "nin": lambda held, wanted: not _any_same(held, wanted),
    "any": _any_same,
    "all": _contains,
    "contains": _contains,
    "text_match": _text,
    "text_match_insensitive": _text_any_case,
    ">": _ordered(lambda a, b: a > b),  # type: ignore[operator]
    ">=": _ordered(lambda a, b: a >= b),  # type: ignore[operator]
    "<": _ordered(lambda a, b: a < b),  # type: ignore[operator]
    "<=": _ordered(lambda a, b: a <= b),  # type: ignore[operator]
}
