"""Arguments, results, access rights and call records of tools.

Arguments reject unknown fields; the descriptions are read by models. Access is a set of namespaces
and of sources that may be added.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from ..errors import NotAllowed
from ..events import Progress, no_progress
from ..ingest.discovery import find_sources
from ..memory.records import Memory
from ..storage.graph_api import CommunityDetail, EntityDetail, EntityPath, SeenCommunity
from ..types import Citation, IngestReport, MetaValue, NearestPassage, check_namespace

LONGEST_TEXT = 1_000_000
LONGEST_WINDOW = 20_000
MOST_PASSAGES = 50
MOST_METADATA = 50
MOST_TURNS = 100
_Condition = Annotated[str, Field(max_length=1_000)]
_Plain = Annotated[str, Field(max_length=10_000)] | int | float | bool
Metadata = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=100)],
        _Plain | Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=100)],
    ],
    WithJsonSchema({"type": "object"}),
]

Filters = Annotated[
    list[_Condition],
    Field(default_factory=list, max_length=20, description="As in `search`."),
]
DescribedFilters = Annotated[
    list[_Condition],
    Field(
        default_factory=list,
        max_length=20,
        description=(
            "Conditions on metadata, document_id, title, type; all must hold: = != >= <= "
            '~ (contains), as ["tags=red"].'
        ),
    ),
]
"""Filters of `search`, described in full; the other tools refer to them."""
NAMESPACE = Field(None, max_length=64, description="Only this namespace; default all.")
HOME = Field(None, max_length=64, description="Its namespace.")


class Arguments(BaseModel):
    """Base of tool arguments; unknown fields are rejected, `other_names` accepted."""

    model_config = ConfigDict(extra="forbid")
    other_names: ClassVar[Mapping[str, str]] = {}
    """Other name of an argument → its field."""

    @model_validator(mode="before")
    @classmethod
    def _accept_other_names(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        named = dict(values)
        for other in cls.other_names.keys() & values.keys():
            field = cls.other_names[other]
            if field in named:
                raise ValueError(f"`{field}` and `{other}` are the same argument; give one")
            named[field] = named.pop(other)
        return named

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the JSON schema without what costs a model tokens and tells it nothing."""
        found: dict[str, Any] = _compact(super().model_json_schema(*args, **options))
        return found


_LIMITS = {"maxLength", "minLength", "maxItems", "minimum", "maximum", "maxProperties"}
_UNTOLD = frozenset({"title", "propertyNames", *_LIMITS})
"""Schema keywords that a model can do without; the limits are checked nevertheless."""
_EMPTY: tuple[object, ...] = ("", [], {}, None)


def _compact(schema: Any) -> Any:
    """Drop titles, lengths, empty defaults, null alternatives and the text of objects."""
    if isinstance(schema, list):
        return [_compact(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: one for key, one in schema.items() if key not in _UNTOLD}
    if "properties" in kept:
        kept.pop("description", None)
    if "default" in kept and kept["default"] in _EMPTY:
        del kept["default"]
    options = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
    if len(options) == 1:
        kept = {**_compact(options[0]), **{key: kept[key] for key in kept if key != "anyOf"}}
    return {
        key: {name: _compact(each) for name, each in one.items()}
        if key in {"properties", "$defs"}
        else _compact(one)
        for key, one in kept.items()
    }


class SearchArguments(Arguments):
    """Arguments of `search`."""

    other_names: ClassVar = {"question": "query", "limit": "top_k"}

    query: str = Field(min_length=1, max_length=4_000, description="What to look for, in words.")
    top_k: int = Field(8, ge=1, le=MOST_PASSAGES, description="Maximum number of passages.")
    min_relevance: float = Field(0.0, ge=0, le=1, description="Minimum relevance, 0–1.")
    filters: DescribedFilters


class MessageResult(Arguments):
    """An earlier question of the same conversation, and what was answered."""

    question: str = Field(min_length=1, max_length=4_000)
    answer: str = Field("", max_length=40_000)


class AskArguments(Arguments):
    """Arguments of `ask`."""

    other_names: ClassVar = {"question": "query"}

    query: str = Field(min_length=1, max_length=4_000, description="The question.")
    history: Annotated[
        list[MessageResult],
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
    ] = Field(
        default_factory=list,
        max_length=MOST_TURNS,
        description="Earlier turns {question, answer}, oldest first.",
    )
    mode: Literal["auto", "local", "global", "both", "agent"] = Field(
        "auto", description="local: facts; global: themes of all documents."
    )
    effort: Literal["low", "medium"] | None = Field(
        None, description="How much a global answer may read."
    )
    session: str | None = Field(None, max_length=64, description="Conversation to remember.")
    filters: Filters


class RecallArguments(Arguments):
    """Arguments of `recall`."""

    other_names: ClassVar = {"question": "query", "limit": "top_k"}

    query: str = Field(min_length=1, max_length=4_000, description="What to look for, in words.")
    top_k: int | None = Field(
        None, ge=1, le=MOST_PASSAGES, description="Maximum number of passages; else as set."
    )
    topic: str = Field("", max_length=64, description="Only conversations of this topic bucket.")


class RememberArguments(Arguments):
    """Arguments of `remember`."""

    text: str = Field(
        min_length=1, max_length=40_000, description="What the user said, in their own words."
    )
    session: str = Field("default", max_length=64, description="The conversation.")


class ForgetArguments(Arguments):
    """Arguments of `forget`: one of both."""

    fact: str | None = Field(None, max_length=64, description="Id of a fact, from `recall`.")
    session: str | None = Field(None, max_length=64, description="A whole conversation.")


class ExploreArguments(Arguments):
    """Arguments of `explore_entity`."""

    other_names: ClassVar = {"entity": "name"}

    name: str = Field(min_length=1, max_length=500, description="Any of its names, or its id.")
    related_to: str = Field("", max_length=500, description="Another thing: show paths to it.")
    limit: int = Field(12, ge=1, le=100, description="Maximum number of relations.")
    filters: Filters


class TopicsArguments(Arguments):
    """Arguments of `explore_topics`."""

    topic_id: str = Field("", max_length=100, description="Show this topic's report.")
    level: int | None = Field(0, ge=0, le=100, description="0 is the widest; null: all.")
    limit: int = Field(20, ge=1, le=200, description="Maximum number of topics.")
    filters: Filters


class ListArguments(Arguments):
    """Arguments of `list_documents`."""

    query: str = Field("", max_length=200, description="Part of an id or a title.")
    limit: int = Field(50, ge=1, le=200, description="Maximum number of documents.")
    after: str = Field("", max_length=2_000, description="`next` of the list before.")
    filters: Filters


class ReadArguments(Arguments):
    """Arguments of `read_document`."""

    other_names: ClassVar = {"path": "document_id", "id": "document_id"}

    document_id: str = Field(min_length=1, max_length=2_000, description="Its id.")
    start: int = Field(0, ge=0, description="First character.")
    length: int = Field(8_000, ge=1, le=LONGEST_WINDOW, description="Maximum number of characters.")


class StatsArguments(Arguments):
    """Arguments of `stats`: none."""


_METADATA: Any = Field(
    default_factory=dict,
    max_length=MOST_METADATA,
    description="For filters, such as tags (a list) or date (ISO 8601).",
)


class AddTextArguments(Arguments):
    """Arguments of `add_text`."""

    other_names: ClassVar = {"content": "text", "id": "document_id"}

    text: str = Field(min_length=1, max_length=LONGEST_TEXT, description="The text itself.")
    title: str = Field("", max_length=1_000, description="Its title.")
    document_id: str = Field("", max_length=500, description="Its id; made from the text if empty.")
    metadata: Metadata = _METADATA


class AddDocumentArguments(Arguments):
    """Arguments of `add_document`."""

    other_names: ClassVar = {"source": "path", "url": "path"}

    path: str = Field(
        min_length=1,
        max_length=4_000,
        description="A file or folder in an allowed folder, or an http(s) address.",
    )
    metadata: Metadata = _METADATA


class RemoveArguments(Arguments):
    """Arguments of `remove`."""

    other_names: ClassVar = {"path": "document_id", "id": "document_id"}

    document_id: str = Field(
        min_length=1,
        max_length=2_000,
        description="Id of a document, archive or address.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageResult:
    """A passage: the document's characters from `start` to `end`. `relevance` is 0–1."""

    document_id: str
    title: str
    text: str
    start: int
    end: int
    page: int | None
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FactResult:
    """A statement of the user; `current` unless a later one replaced it."""

    id: str
    kind: str
    text: str
    valid_from: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Passages of what the user said, best first, and the facts in them."""

    passages: tuple[PassageResult, ...]
    facts: tuple[FactResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Number of messages that were stored, or whether something was forgotten."""

    stored: int = 0
    forgotten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassages:
    """Passages, best first."""

    passages: tuple[PassageResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerResult:
    """Answer; `[1]` is the citation of that number. `abstained`: insufficient evidence.

    `rewritten_question` is the question as it was answered, where `history` made another of it.
    `nearest` are the passages nearest to a question that was not answered.
    """

    answer: str
    rewritten_question: str
    abstained: bool
    mode: str
    why_this_mode: str
    citations: tuple[Citation, ...]
    nearest: tuple[NearestPassage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredEntity:
    """Entity with sentences and relations, and paths to another if requested."""

    entity: EntityDetail
    paths: tuple[EntityPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The topic that was asked for, or else a list of topics out of `total`."""

    topic: CommunityDetail | None
    topics: tuple[SeenCommunity, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document without its text."""

    id: str
    title: str
    type: str
    namespace: str
    characters: int
    metadata: Mapping[str, MetaValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocuments:
    """Documents by id; `next` is what to go on behind, null where these are the last."""

    documents: tuple[ListedDocument, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadText:
    """The characters `[start, end)` of a document that has `total`."""

    document_id: str
    title: str
    text: str
    start: int
    end: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsResult:
    """Counts of everything visible."""

    figures: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Result of a change by document id; `failed` and `partial` give reasons."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pending_chunks: int = 0


_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
_OTHER_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_ADDRESS = re.compile(r"https?://[^\s'\"),;]+", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\*?\[\] !#])")
_LONGEST_SOURCE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Readable and writable namespaces; None is all, the empty set is none.

    `user` is whose memory may be read and written; empty is nobody's.
    """

    reads: frozenset[str] | None = None
    writes: frozenset[str] | None = None
    user: str = ""

    def memory(self, session: str) -> Memory:
        """Return the caller's memory in a session; raises `NotAllowed` without a user."""
        if not self.user:
            raise NotAllowed(
                "no memory here; use a token made with --user, or start with `loregraph mcp --user`"
            )
        return Memory(self.user, session)

    def within(self, namespace: str | None) -> str | frozenset[str] | None:
        """Return the visible namespaces of a call for this one (None: all permitted).

        Raises:
            NotAllowed: that one may not be seen.
        """
        if namespace is None:
            return self.reads
        check_namespace(namespace)
        if self.reads is not None and namespace not in self.reads:
            raise NotAllowed(f"namespace may not be read here: {namespace!r}; choose another")
        return namespace

    def home(self, namespace: str | None) -> str:
        """Return the namespace for new documents: the given one, or the only one permitted.

        Raises:
            NotAllowed: that one may not be written to, or one must be said.
        """
        if namespace is None:
            if self.writes is None or "" in self.writes:
                return ""
            if len(self.writes) != 1:
                known = ", ".join(sorted(self.writes)) or "none"
                raise NotAllowed(f"namespace missing; choose one that may be written to: {known}")
            return next(iter(self.writes))
        check_namespace(namespace)
        if not self.may_write(namespace):
            raise NotAllowed(f"namespace may not be written to here: {namespace!r}; choose another")
        return namespace

    def can_access(self, namespace: str) -> bool:
        """Check whether documents of a namespace are readable."""
        return self.reads is None or namespace in self.reads

    def may_write(self, namespace: str) -> bool:
        """Check whether documents of a namespace are writable."""
        return self.writes is None or namespace in self.writes

    def only(self, namespace: str) -> Access:
        """Return the access restricted to this namespace."""
        return Access(
            reads=frozenset({namespace} if self.can_access(namespace) else ()),
            writes=frozenset({namespace} if self.may_write(namespace) else ()),
            user=self.user,
        )

    def read_only(self) -> Access:
        """Return the access without writing."""
        return Access(reads=self.reads, writes=frozenset(), user=self.user)


ALL_RIGHTS = Access()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Permitted source: an address, or an allowed folder with patterns.

    Naming the folder, not the file, keeps two files of one name apart: ids begin at the folder.
    """

    source: str
    include: tuple[str, ...] = ()


def without_addresses(report: IngestReport) -> IngestReport:
    """Return a report for callers confined to namespaces.

    It names no server address, and counts every chunk as embedded and extracted: that one was
    spared, since another namespace holds the same text, may not show.
    """

    def hide(text: str) -> str:
        return _ADDRESS.sub("(address not shown)", text)

    return replace(
        report,
        notes=tuple(map(hide, report.notes)),
        postponed={},  # counts of the whole library
        embedded=report.chunks,
        extracted=report.chunks,
        pending=tuple(replace(each, reason=hide(each.reason)) for each in report.pending),
    )


def admitted_source(source: str, *, folders: Sequence[Path]) -> Admitted:
    """Validate a source: a web address, or a path really inside an allowed folder.

    A relative path is looked for in the allowed folders. Links are followed before it is judged
    where something lies, also those inside a folder. Which web addresses are fetched, the rules of
    `ingest` say.

    Raises:
        NotAllowed: anything else; what lies elsewhere is not told from what is not there.
    """
    source = source.strip()
    if _WEB.fullmatch(source):
        return Admitted(source=source)
    if _OTHER_ADDRESS.match(source):
        raise NotAllowed(
            "source not allowed; give a file in an allowed folder, or an http(s) address"
        )
    if not folders:
        raise NotAllowed("no folder is allowed to add files from; start with `--allow FOLDER`")
    real = [folder.resolve() for folder in folders]
    found = next((path for path in _places(source, real) if _lies_in(path, real)), None)
    if found is None:
        names = ", ".join(repr(str(folder)) for folder in folders)
        raise NotAllowed(f"file outside of the allowed folders: {source!r}; allowed: {names}")
    if found.is_dir():
        _check_links(found, real)
    root = next(root for root in real if found.is_relative_to(root))
    if found == root:
        return Admitted(source=str(root))
    return Admitted(source=str(root), include=(_pattern(found.relative_to(root)),))


def _pattern(path: Path) -> str:
    """Return a `.gitignore` pattern for exactly this path."""
    return "/" + _SPECIAL.sub(r"\\\1", path.as_posix())


def _places(source: str, roots: Sequence[Path]) -> list[Path]:
    """Return existing targets a path may mean, links resolved."""
    if not source or "\0" in source or len(source) > _LONGEST_SOURCE:
        return []
    found = []
    for base in (Path(), *roots, *(root.parent for root in roots)):
        try:
            found.append((base / source).resolve(strict=True))
        except (OSError, RuntimeError):  # it is not there, or links lead in a circle
            continue
    return found


def _lies_in(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _check_links(folder: Path, roots: Sequence[Path]) -> None:
    """Raise `NotAllowed` if a link in a folder leads outside the allowed ones."""
    for file in find_sources([folder]).sources:
        if not _lies_in(file.path.resolve(), roots):
            raise NotAllowed(
                f"symbolic link out of the allowed folders: {str(folder)!r}; add the target itself"
            )


LONGEST_ANSWER = 60_000
"""Maximum characters of readable text per call; values are complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Tool call: access, requested namespace, and allowed folders."""

    rights: Access = ALL_RIGHTS
    namespace: str | None = None
    folders: Sequence[Path] = ()
    progress: Progress = no_progress


@dataclass(frozen=True, slots=True)
class Result:
    """Tool result: readable lines, and the same as a value (a frozen dataclass)."""

    text: str
    value: object

    @classmethod
    def of(cls, lines: Sequence[str], value: object) -> Result:
        """Build a result; lines beyond `LONGEST_ANSWER` are dropped with a note."""
        text = "\n".join(lines)
        if len(text) > LONGEST_ANSWER:
            text = f"{text[:LONGEST_ANSWER]}…\n(cut here: ask for less, or go on from there)"
        return cls(text, value)
