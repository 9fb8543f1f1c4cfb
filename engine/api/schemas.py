"""Request and response models besides the engine's types, and opaque pagination cursors."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from ..ingest.document import sanitise_text
from ..tools.schemas import MOST_TURNS, Arguments, MessageResult, without_addresses
from ..types import IngestReport, MetaValue, Passage
from .auth import Principal
from .errors import Problem
from .jobs import Job, State

MOST_CONDITIONS = 20
_OWN_STAGES = frozenset({"", "read", "embed", "extract"})
"""Stages of a job that count what its own documents hold; later ones count the whole library."""
_WHOLE_LIBRARY = "resolve"
"""First of the later stages: it stands for all of them where others' documents may not show."""
_MOST_METADATA = 50
_LONGEST_KEY = 100
_LONGEST_VALUE = 10_000
_LARGEST_NUMBER = 1 << 63

Namespace = Annotated[
    str | None,
    Query(
        max_length=64,
        description="Only what stands in this namespace; none is all that the token may see.",
        examples=["north"],
    ),
]
Where = Annotated[
    list[str],
    Query(
        max_length=MOST_CONDITIONS,
        description="Conditions on documents' metadata, all of which must hold.",
        examples=[["tags=red", "date>=2024-01-01"]],
    ),
]
Conditions = Annotated[list[Annotated[str, Field(max_length=1_000)]], Field(max_length=20)]
Scalar = str | int | float | bool
Mapped = Annotated[dict[str, Scalar | list[str]], Field(max_length=MOST_CONDITIONS)]
Filters = Conditions | Mapped | None
"""Texts such as `tags=red`, or a mapping whose values must all fit."""


class Wanted(BaseModel):
    """A body: what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid")


class Question(Arguments):
    """Something to ask, and which documents may be seen."""

    other_names: ClassVar = {"query": "question"}

    question: str = Field(min_length=1, max_length=4_000, examples=["Who founded the station?"])
    namespace: str | None = Field(None, max_length=64)
    filters: Filters = Field(
        None,
        description="Which documents may be seen, as in `where`: texts, or a mapping.",
        examples=[["tags=red"]],
    )


class AskRequest(Question):
    """A question to be answered."""

    history: list[MessageResult] = Field(
        [],
        max_length=MOST_TURNS,
        description="What was said before, oldest first: it helps to understand the question "
        "(“and when was he born?”) and is no source.",
        examples=[[{"question": "Who founded the station?", "answer": "Ada Marsh did. [1]"}]],
    )
    mode: Literal["auto", "local", "global", "both", "agent"] = "auto"
    effort: Literal["low", "medium"] | None = Field(
        None, description="How much an overview may cost; as the settings say where it is left out."
    )
    session: str | None = Field(
        None,
        max_length=64,
        description="Use and extend the memory of the token's user, in this conversation.",
    )
    user: str | None = Field(
        None, max_length=64, description="Whose memory, where the server asks for no token."
    )
    stream: bool = Field(False, description="Server-sent events, as with `Accept`.")
    explain: bool = Field(True, description="Whether passages and trace are sent along.")


class RetrieveRequest(Question):
    """A question whose passages are wanted."""

    top_k: int | None = Field(None, ge=1, le=100)
    min_relevance: float = Field(0.0, ge=0, le=1)


class Passages(BaseModel):
    """Passages, best first."""

    items: list[Passage]


class TextRequest(Wanted):
    """A text to be added; the same id later replaces it."""

    text: str = Field(min_length=1, examples=["The station at Gull Quay was founded in 1901."])
    document_id: str | None = Field(
        None,
        min_length=1,
        max_length=500,
        description="Where there is none, one is made from the text.",
        examples=["notes/station"],
    )
    title: str = Field("", max_length=1_000)
    metadata: dict[str, Any] | None = Field(None, examples=[{"tags": ["red"]}])
    namespace: str = Field("", max_length=64)


class Description(Wanted):
    """User metadata of a document, replacing earlier ones."""

    metadata: dict[str, Any] = Field(examples=[{"tags": ["red"], "date": "2024-05-01"}])


class JobStatus(BaseModel):
    """A piece of work that goes on beside requests."""

    id: str
    kind: Literal["add", "describe", "remove"]
    namespace: str
    sources: list[str] = Field(description="Ids of the documents that it is about.")
    state: State
    stage: str = Field(description="What is being done, in the engine's words.")
    done: int
    total: int
    report: IngestReport | None = None
    error: str | None = None

    @classmethod
    def of(cls, job: Job, caller: Principal) -> JobStatus:
        """Build the status of a job, as its caller may see it."""
        report = report_for(caller, job.report) if job.report is not None else None
        told = {**asdict(job), "sources": list(job.sources), "report": report}
        if caller.readable is not None and job.stage not in _OWN_STAGES:
            told |= {"stage": _WHOLE_LIBRARY, "done": 0, "total": 0}
        return cls(**told)


def report_for(caller: Principal, report: IngestReport) -> IngestReport:
    """Return a report without addresses of servers, unless an admin asks."""
    return report if caller.is_admin else without_addresses(report)


class Accepted(BaseModel):
    """Result of an upload: a job, or none if everything is unchanged."""

    job: str | None = Field(description="The job to ask after; null where nothing is to be done.")
    state: State
    documents: list[str] = Field(description="The ids that the documents have or will have.")
    unchanged: bool = Field(description="Whether the very same is in the library already.")


def metadata_in(value: object) -> dict[str, MetaValue] | None:
    """Metadata as a client sends them; lists of texts become tuples.

    Raises:
        Problem: 422, they are no mapping of names to plain values.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping) or len(value) > _MOST_METADATA:
        raise _bad(f"metadata: give an object of at most {_MOST_METADATA} names")
    found: dict[str, MetaValue] = {}
    for key, each in value.items():
        if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY or not _is_storable(key):
            raise _bad(f"metadata: a name has 1 to {_LONGEST_KEY} characters")
        found[key] = _meta_value(key, each)
    return found


def metadata_in_text(text: str) -> dict[str, MetaValue] | None:
    """Parse a JSON form field like `metadata_in`; None if empty."""
    if not text.strip():
        return None
    try:
        return metadata_in(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise _bad("metadata: not a JSON object; give names and values in braces") from error


def _meta_value(key: str, value: object) -> MetaValue:
    if isinstance(value, (bool, int, float)) and abs(value) < _LARGEST_NUMBER:  # no NaN is
        return value
    if isinstance(value, str) and len(value) <= _LONGEST_VALUE and _is_storable(value):
        return value
    if isinstance(value, list):
        texts = tuple(each for each in value if isinstance(each, str))
        fits = len("".join(texts)) <= _LONGEST_VALUE and _is_storable(*texts)
        if fits and len(texts) == len(value):
            return texts
    raise _bad(f"metadata {key!r}: give a text, a number, true, false, or a list of texts")


def _is_storable(*texts: str) -> bool:
    """Check for lone surrogates, which databases reject."""
    return all(sanitise_text(text) == text for text in texts)


def _bad(detail: str) -> Problem:
    return Problem(422, "metadata", detail)


Item = TypeVar("Item")
MOST_ITEMS = 200

Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="How many items at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=4_000, description="`next` of the page before; none begins anew."),
]


class Page(BaseModel, Generic[Item]):
    """Part of a list. `next` is the cursor of what follows, null at the end."""

    items: Sequence[Item]
    total: int = Field(description="How many there are on all pages together.")
    next: str | None = None


def encode_cursor(kind: str, place: str | tuple[str, int]) -> str:
    """Encode a pagination cursor: list kind, last id, and position where the order may change."""
    text = json.dumps([kind, place], ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def place_in(kind: str, cursor: str | None) -> str:
    """Decode where a page begins: the id to follow; empty for the first.

    Raises:
        Problem: 422, no cursor of this list.
    """
    value = _read(kind, cursor) if cursor else ""
    if not isinstance(value, str):
        raise _wrong()
    return value


def place_and_end_in(kind: str, cursor: str | None) -> tuple[str, int]:
    """Decode the start of a ranked page: an id, or its position if the id vanished.

    Raises:
        Problem: 422, no cursor of this list.
    """
    match _read(kind, cursor) if cursor else ["", 0]:
        case [str(after), int(end)] if 0 <= end < 1 << 31 and not isinstance(end, bool):
            return after, end
        case _:
            raise _wrong()


def _read(kind: str, cursor: str) -> object:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found = json.loads(text)
    except (ValueError, binascii.Error, RecursionError) as error:
        raise _wrong() from error
    if not isinstance(found, list) or len(found) != 2 or found[0] != kind:
        raise _wrong()
    return found[1]


def _wrong() -> Problem:
    return Problem(422, "cursor", "cursor: not of this list; begin without one")
