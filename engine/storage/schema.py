"""Tables of the library besides the graph's, schema migrations, and filters of documents.

Migrations are SQL by starting version; added columns stand empty until documents are added again.
Filters (LlamaIndex's metadata filters and namespaces) apply before ranking, so that what is left
out cannot push anything out of a list.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from ..errors import QuestionError
from ..ingest.document import sanitise_text
from ..types import MetaValue
from .graph_api import metadata

if TYPE_CHECKING:
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

SCHEMA = 12
HASHED_WORDS = 9
"""Schema since which BM25 counts in files hold hashes in place of words."""

_STEPS: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE chunks ADD COLUMN context TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE chunks ADD COLUMN read_start INTEGER",
        "ALTER TABLE chunks ADD COLUMN read_end INTEGER",
        "ALTER TABLE documents ADD COLUMN namespace VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN source TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN source_sha256 VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN given TEXT NOT NULL DEFAULT '{}'",
        "UPDATE documents SET source = id, source_sha256 = sha256",
        "CREATE INDEX ix_documents_source ON documents (source)",
    ),
    2: (  # what a chunk introduces is found by other rules
        "UPDATE chunks SET linked = 0",
        "UPDATE state SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'",
    ),
    3: (  # what language models say; tables that no later step changes are made by `migrate`
        "ALTER TABLE statements ADD COLUMN description TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE statements ADD COLUMN strength FLOAT NOT NULL DEFAULT 1",
        "ALTER TABLE statements ADD COLUMN inferred BOOLEAN NOT NULL DEFAULT 0",
        "ALTER TABLE entities ADD COLUMN description TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE relations ADD COLUMN description TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE usage (day VARCHAR NOT NULL, stage VARCHAR NOT NULL, model VARCHAR NOT NULL, "
        "calls INTEGER NOT NULL, failed INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, "
        "completion_tokens INTEGER NOT NULL, cost FLOAT NOT NULL, PRIMARY KEY (day, stage, model))",
    ),
    4: ("ALTER TABLE usage ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0",),
    # The tables of faults and of what models could not answer are made by `migrate`.
    5: ("ALTER TABLE documents ADD COLUMN outdated TEXT",),
    6: (  # a chunk has vectors of several models
        "ALTER TABLE vectors RENAME TO old_vectors",
        "DROP INDEX IF EXISTS vectors_by_input",
        "CREATE TABLE vectors (chunk_id VARCHAR NOT NULL, model VARCHAR NOT NULL, "
        "window INTEGER NOT NULL, input_sha VARCHAR NOT NULL, vector BLOB NOT NULL, "
        "PRIMARY KEY (chunk_id, model, window), "
        "FOREIGN KEY(chunk_id) REFERENCES chunks (id) ON DELETE CASCADE)",
        "INSERT INTO vectors SELECT chunk_id, model, window, input_sha, vector FROM old_vectors",
        "DROP TABLE old_vectors",
        "CREATE INDEX vectors_by_input ON vectors (input_sha, model)",
    ),
    7: ("ALTER TABLE keywords ADD COLUMN heading TEXT NOT NULL DEFAULT ''",),
    8: (  # changed keywords are noticed; names whose facts changed are looked up
        "ALTER TABLE keywords ADD COLUMN stamp VARCHAR NOT NULL DEFAULT ''",
        "CREATE INDEX IF NOT EXISTS ix_chunks_title_key ON chunks (title_key)",
        "CREATE INDEX IF NOT EXISTS statements_by_subject ON statements (subject, predicate)",
        "CREATE INDEX IF NOT EXISTS statements_by_object ON statements (object, predicate)",
        "CREATE INDEX IF NOT EXISTS described_statements ON statements (predicate) "
        "WHERE description != ''",
        "CREATE INDEX IF NOT EXISTS unlinked_chunks ON chunks (id) WHERE NOT linked",
        "CREATE INDEX IF NOT EXISTS ix_communities_parent_id ON communities (parent_id)",
    ),
    9: ("CREATE INDEX IF NOT EXISTS ix_documents_namespace ON documents (namespace)",),
    10: (  # the few rows that are described or dirty are looked up
        "CREATE INDEX IF NOT EXISTS described_entities ON entities (id) WHERE description != ''",
        "CREATE INDEX IF NOT EXISTS described_relations ON relations (id) WHERE description != ''",
        "CREATE INDEX IF NOT EXISTS dirty_communities ON communities (id) WHERE dirty",
    ),
    11: (  # what is said of a name, and the most mentioned entities, are looked up
        "DROP INDEX IF EXISTS described_statements",
        "CREATE INDEX IF NOT EXISTS described_subjects ON statements (subject) "
        "WHERE description != ''",
        "CREATE INDEX IF NOT EXISTS described_objects ON statements (object) "
        "WHERE description != ''",
        "CREATE INDEX IF NOT EXISTS entities_by_mentions ON entities (mention_count)",
    ),
}


def schema_version(connection: Connection) -> int:
    """Return the schema version of the database; 0 if new."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def stamp_schema(connection: Connection) -> None:
    """Record in the database that it has the present schema version."""
    connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA:d}")


def migrate_schema(connection: Connection) -> None:
    """Migrate a library's schema to the present one, in the caller's transaction."""
    for version in range(schema_version(connection), SCHEMA):
        for statement in _STEPS[version]:
            connection.exec_driver_sql(statement)
    metadata.create_all(connection)
    stamp_schema(connection)


documents = Table(
    "documents",
    metadata,
    Column("id", String, primary_key=True),
    Column("title", Text, nullable=False),
    Column("type", String, nullable=False),
    Column("path", Text),
    Column("namespace", String, nullable=False, server_default="", index=True),
    # What it was read from (a file, an archive, an address, a table), and that one's hash.
    Column("source", Text, nullable=False, server_default="", index=True),
    Column("source_sha256", String, nullable=False, server_default=""),
    Column("sha256", String, nullable=False),
    Column("recipe", String, nullable=False),  # how it was cut, embedded and extracted
    Column("text", Text, nullable=False),
    Column("pages", Text, nullable=False),  # JSON list of start offsets
    Column("metadata", Text, nullable=False),  # JSON: what the source says of itself
    Column("given", Text, nullable=False, server_default="{}"),  # JSON: what its owner says of it
    Column("outdated", Text),  # why its source can no longer be read; null while it can
)

vectors = Table(
    "vectors",
    metadata,
    Column("chunk_id", ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("model", String, primary_key=True),
    Column("window", Integer, primary_key=True),
    Column("input_sha", String, nullable=False),
    Column("vector", LargeBinary, nullable=False),  # float32, unit length
    Index("vectors_by_input", "input_sha", "model"),
)
"""Vectors of chunks by model; a chunk longer than a model's window has several, the best counts."""

keywords = Table(
    "keywords",
    metadata,
    Column("chunk_id", ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True),
    Column("title", Text, nullable=False),  # tokens with spaces between
    Column("heading", Text, nullable=False),
    Column("body", Text, nullable=False),  # the title's tokens among them
    Column("readable", Float, nullable=False),  # 0–1: how much of it an English model can read
    Column("stamp", String, nullable=False, server_default=""),  # a digest of the tokens
)


class KeywordEntry(NamedTuple):
    """Row of `keywords` without its chunk id: tokens of each field, and the readable share."""

    title: str
    heading: str
    body: str
    readable: float

    @property
    def stamp(self) -> str:
        """Return a digest of the tokens, by which a changed row is noticed."""
        words = "\x1f".join((self.title, self.heading, self.body))
        digest = hashlib.blake2b(words.encode("utf8", "surrogatepass"), digest_size=8)
        return digest.hexdigest()


usage = Table(
    "usage",
    metadata,
    Column("day", String, primary_key=True),  # ISO 8601, UTC
    Column("stage", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("calls", Integer, nullable=False),
    Column("failed", Integer, nullable=False),  # calls that gave nothing that could be used
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("cost", Float, nullable=False),
    # Of the prompts' tokens, what the provider had kept from calls before.
    Column("cached_tokens", Integer, nullable=False, server_default="0"),
)
"""LLM usage by day, stage and model."""

replies = Table(
    "replies",
    metadata,
    Column("key", String, primary_key=True),  # hash of model, parameters and prompt
    Column("generation", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
)
"""Cached LLM replies to questions; deleted when documents change."""

unanswered = Table(
    "unanswered",
    metadata,
    Column("stage", String, primary_key=True),
    Column("asker", String, primary_key=True),  # the model and all that decides its answers
    Column("key", String, primary_key=True),  # hash of what was asked about
    Column("reason", Text, nullable=False),
)
"""Requests without a usable answer, which are not repeated.

`unanswered.py` says which.
"""


def metadata_text(values: Mapping[str, MetaValue]) -> str:
    """Return a document's metadata as stored: JSON, sorted by key."""
    return json.dumps(dict(sorted(values.items())), ensure_ascii=False)


def metadata_values(text: str) -> dict[str, MetaValue]:
    """Metadata as they were before `metadata_text`."""
    if text == "{}":  # of most documents
        return {}
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in json.loads(text).items()
    }


if TYPE_CHECKING:
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
        return self.filters is None or matches_filters(self.filters, metadata)


def document_filter(filters: Filters, *, namespace: Namespaces = None) -> DocumentFilter | None:
    """Build a filter from a caller's conditions; None for everything.

    Takes LlamaIndex's `MetadataFilters`; a mapping, whose conditions must all hold (a list of
    values: any of them); or texts such as `date>=2024-01-01` (see `condition`).

    Raises:
        QuestionError: a text that is no condition, an operator that is not offered, or what is no
            date where `date` is compared with it.
    """
    is_empty = isinstance(filters, Mapping | list | tuple) and not filters
    judged = None if filters is None or is_empty else _metadata_filters(filters)
    if judged is None and namespace is None:
        return None
    if judged is not None:
        _check_dates(judged)
    within = frozenset(_texts("namespace", () if namespace is None else namespace))
    spaces = None if namespace is None else within
    return DocumentFilter(key=_key(spaces, judged), namespaces=spaces, filters=judged)


def narrowed_to(within: DocumentFilter | None, documents: Iterable[str]) -> DocumentFilter:
    """Return the filter that admits some documents alone, of those that `within` admits."""
    from llama_index.core.vector_stores.types import MetadataFilters

    filters = MetadataFilters(filters=[_equal("document_id", sorted(documents))])
    if within is not None and within.filters is not None:
        filters.filters.append(within.filters)
    namespaces = None if within is None else within.namespaces
    return DocumentFilter(key=_key(namespaces, filters), namespaces=namespaces, filters=filters)


def _metadata_filters(filters: Filters) -> MetadataFilters | None:
    from llama_index.core.vector_stores.types import MetadataFilters

    if isinstance(filters, MetadataFilters):
        return filters
    if isinstance(filters, Mapping):
        parts = [_equal(key, value) for key, value in sorted(filters.items())]
    else:
        texts = _texts("filters", filters)
        parts = [parse_condition(sanitise_text(text)) for text in sorted(texts)]
    return MetadataFilters(filters=list(parts)) if parts else None


def _texts(name: str, given: object) -> list[str]:
    """Return one text or several as a list; raises `QuestionError` where they are none."""
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    wrong = [type(each).__name__ for each in several if not isinstance(each, str)]
    if wrong:
        raise QuestionError(f"{name}: not text: {wrong[0]}; give a text or a list of texts")
    return [each for each in several if isinstance(each, str)]


def _key(spaces: frozenset[str] | None, filters: MetadataFilters | None) -> str:
    shown = "all" if spaces is None else repr(sorted(spaces))
    return f"{shown} {filters.model_dump_json() if filters is not None else ''}"


def parse_condition(text: str) -> MetadataFilter:
    """Parse `key=value`, `!=`, `>`, `>=`, `<`, `<=` or `key~substring` into a metadata filter.

    Raises:
        QuestionError: it is none of these.
    """
    from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter

    found = _CONDITION.fullmatch(text)
    if found is None:
        raise QuestionError(
            f"filter not usable: {text!r}; write key=value, key!=value, key>=value or key~text"
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
                f"date not usable: {str(part.value)!r}; write 2024, 2024-05 or 2024-05-01"
            )


def _equal(key: str, value: Value) -> MetadataFilter:
    from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter

    if isinstance(value, bool):
        return MetadataFilter(key=key, value=_text_of(value))
    if isinstance(value, (str, int, float)):
        return MetadataFilter(key=key, value=value)
    return MetadataFilter(key=key, value=list(map(_text_of, value)), operator=FilterOperator.ANY)


def matches_filters(filters: MetadataFilters, metadata: Mapping[str, object]) -> bool:
    """Check a document's metadata against filters, nested ones included.

    A value that is a list (tags) equals what it holds. Numbers are compared as numbers also where
    one side is text; everything else as text, so ISO dates compare as dates. A key that is not
    there satisfies only "is not", "not in" and "is empty".

    Raises:
        QuestionError: an operator that is not offered.
    """
    from llama_index.core.vector_stores.types import MetadataFilters

    results = (
        matches_filters(part, metadata)
        if isinstance(part, MetadataFilters)
        else _holds(part, metadata)
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
        raise QuestionError(
            f"unknown filter operator: {operator!r}; use one of those of the documentation"
        )
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
