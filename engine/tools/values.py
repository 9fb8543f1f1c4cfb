"""Tool arguments, which reject unknown fields, and plain results.

The descriptions are read by models: they say what to give and what comes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..explore import CommunityDetail, EntityDetail, EntityPath, SeenCommunity
from ..types import Citation, MetaValue

LONGEST_TEXT = 1_000_000
LONGEST_WINDOW = 20_000
MOST_PASSAGES = 50
MOST_METADATA = 50
MOST_TURNS = 100
_Condition = Annotated[str, Field(max_length=1_000)]
_Plain = Annotated[str, Field(max_length=10_000)] | int | float | bool
Metadata = dict[
    Annotated[str, Field(min_length=1, max_length=100)],
    _Plain | Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=100)],
]

Filters = Annotated[
    list[_Condition],
    Field(
        default_factory=list,
        max_length=20,
        description=(
            "Conditions on documents' metadata, all of which must hold: `key=value`, `key!=value`, "
            "`key>=value`, `key~part`; keys are also document_id, title and type. "
            'For example ["tags=red", "date>=2024-01-01"].'
        ),
    ),
]
NAMESPACE = Field(
    None,
    max_length=64,
    description="Only documents of this namespace; leave it out for all that may be seen.",
)
HOME = Field(
    None, max_length=64, description="The namespace it goes to; leave it out for the usual one."
)


class Arguments(BaseModel):
    """Base of tool arguments; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class SearchArguments(Arguments):
    """Arguments of `search`."""

    question: str = Field(
        min_length=1, max_length=4_000, description="What is looked for, in words."
    )
    top_k: int = Field(8, ge=1, le=MOST_PASSAGES, description="How many passages at most.")
    min_relevance: float = Field(
        0.0, ge=0, le=1, description="Leave out passages that are less relevant than this (0–1)."
    )
    filters: Filters


class MessageResult(Arguments):
    """An earlier question of the same conversation, and what was answered."""

    question: str = Field(min_length=1, max_length=4_000)
    answer: str = Field("", max_length=40_000)


class AskArguments(Arguments):
    """Arguments of `ask`."""

    question: str = Field(min_length=1, max_length=4_000, description="The question, in words.")
    history: list[MessageResult] = Field(
        default_factory=list,
        max_length=MOST_TURNS,
        description=(
            "What was asked and answered before in this conversation, oldest first: it makes a "
            "question such as “and when was he born?” understood, and is no source."
        ),
    )
    mode: Literal["auto", "local", "global", "both"] = Field(
        "auto",
        description=(
            "local: from passages, for facts; global: from reports about the whole collection, for "
            "themes and overviews; both; auto lets the library decide."
        ),
    )
    effort: Literal["low", "medium", "high"] | None = Field(
        None,
        description=(
            "How much an answer about the whole collection may read and cost; leave it out for "
            "the library's own setting. Answers from passages take no notice of it."
        ),
    )
    filters: Filters


class ExploreArguments(Arguments):
    """Arguments of `explore_entity`."""

    name: str = Field(
        min_length=1, max_length=500, description="The thing's name, any of its names, or its id."
    )
    related_to: str = Field(
        "",
        max_length=500,
        description="Another thing: also show the ways that lead from the first to this one.",
    )
    limit: int = Field(12, ge=1, le=100, description="How many relations at most.")
    filters: Filters


class TopicsArguments(Arguments):
    """Arguments of `explore_topics`."""

    topic_id: str = Field(
        "", max_length=100, description="A topic's id: show its report. Without it, list topics."
    )
    level: int | None = Field(
        0, ge=0, le=100, description="List those of this level: 0 is the widest; null is all."
    )
    limit: int = Field(20, ge=1, le=200, description="How many topics, or things in one, at most.")
    filters: Filters


class ListArguments(Arguments):
    """Arguments of `list_documents`."""

    query: str = Field("", max_length=200, description="Part of an id or a title.")
    limit: int = Field(50, ge=1, le=200, description="How many at most.")
    after: str = Field(
        "", max_length=2_000, description="Go on behind this id: the `next` of the list before."
    )
    filters: Filters


class ReadArguments(Arguments):
    """Arguments of `read_document`."""

    document_id: str = Field(min_length=1, max_length=2_000, description="The document's id.")
    start: int = Field(0, ge=0, description="The first character to read.")
    length: int = Field(
        8_000, ge=1, le=LONGEST_WINDOW, description="How many characters to read at most."
    )


class StatsArguments(Arguments):
    """Arguments of `stats`: none."""


class AddTextArguments(Arguments):
    """Arguments of `add_text`."""

    text: str = Field(min_length=1, max_length=LONGEST_TEXT, description="The text itself.")
    title: str = Field("", max_length=1_000, description="What it is called.")
    document_id: str = Field(
        "",
        max_length=500,
        description="An id; the same one later replaces the text. Without one it is made from it.",
    )
    metadata: Metadata = Field(
        default_factory=dict,
        max_length=MOST_METADATA,
        description="What to filter by later, such as tags (a list) or date (ISO 8601).",
    )


class AddDocumentArguments(Arguments):
    """Arguments of `add_document`."""

    source: str = Field(
        min_length=1,
        max_length=4_000,
        description="The path of a file or folder in an allowed folder, or an http(s) address.",
    )
    metadata: Metadata = Field(
        default_factory=dict,
        max_length=MOST_METADATA,
        description="What to filter by later, such as tags (a list) or date (ISO 8601).",
    )


class RemoveArguments(Arguments):
    """Arguments of `remove`."""

    document_id: str = Field(
        min_length=1,
        max_length=2_000,
        description="The id of a document, or of an archive or address whose documents all go.",
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
class FoundPassages:
    """Passages, best first."""

    passages: tuple[PassageResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerResult:
    """Answer; `[1]` is the citation of that number. `abstained`: insufficient evidence.

    `understood` is the question as it was answered, where `history` made another of it.
    """

    answer: str
    understood: str
    abstained: bool
    mode: str
    why_this_mode: str
    citations: tuple[Citation, ...]


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
    """What was done, by document id; `failed` says of sources that were not taken why, `partial`
    of documents what they lack."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pending_chunks: int = 0
