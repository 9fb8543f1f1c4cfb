"""Public result types, independent of LlamaIndex and of the database, and namespaces of ids.

An id reads `namespace::name`, in the default namespace `name` alone. No name reaches into another
namespace: sources have theirs escaped, callers' own ids are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar
from warnings import warn

from .errors import SourceError

T = TypeVar("T")

EMPTY = "is empty"
"""Prefix of the reason for a source that is valid but empty."""
Mode = Literal["local", "global", "both", "agent"]
"""Mode of an answer: local passages, global overview, both combined, or a search in rounds."""
Strategy = Literal[
    "auto",
    "recursive",
    "fixed",
    "sentence",
    "markdown",
    "code",
    "faq",
    "transcript",
    "legal",
    "entries",
    "page",
    "semantic",
    "agentic",
    "parent_child",
    "sentence_window",
]
"""Chunking strategy; `auto` chooses by format and structure."""
MetaValue = str | int | float | bool | tuple[str, ...]
"""A value of a document's metadata; dates are ISO 8601 text, tags a tuple."""
Origin = Literal["library", "web", "memory"]
"""Origin of a passage: the library, a web search, or what the user said before.

From the web `document_id` is a URL and offsets count in the fetched text; from memory it names a
conversation of the user, which `engine.memory` alone shows.
"""
Shape = Literal["text", "markdown", "code", "transcript"]
"""Structure of a text, independent of its file format."""


def deprecated_aliases(**new_names: str) -> Callable[[type[T]], type[T]]:
    """Keep attributes of a class under their old names, each with a `DeprecationWarning`.

    `new_names` has the new name for each old one. For one release: delete the decorator then.
    """

    def decorate(cls: type[T]) -> type[T]:
        for old, new in new_names.items():
            setattr(cls, old, property(_deprecated(f"{cls.__name__}.{old}", new)))
        return cls

    return decorate


def _deprecated(old: str, new: str) -> Callable[[object], object]:
    def read(self: object) -> object:
        warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=2)
        value: object = getattr(self, new)
        return value

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A parsed document: the decoded text that is stored and cited.

    `pages` holds the start offset of each page in `text`, the first always 0; empty where the
    format has no pages. `sha256` is of the source's bytes, or of the text where it came as text.
    `source` is the file, address or table that it was read from: the id itself, but for a member
    of an archive, an attachment or a row; `source_sha256` is the hash of that. `metadata` is what
    the source says of itself, `given` what its owner says of it, which counts more.
    """

    id: str
    title: str
    text: str
    type: str
    sha256: str
    path: str | None = None
    pages: tuple[int, ...] = ()
    shape: Shape = "text"
    source: str = ""
    source_sha256: str = ""
    namespace: str = ""
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    given: Mapping[str, MetaValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A retrieved chunk: `document_text[start:end] == text`.

    `score` orders one result list and means nothing across questions; `relevance` is calibrated,
    0–1. `path` says how the passage was reached, `scores` what each list gave it.
    """

    text: str
    score: float
    relevance: float
    document_id: str
    chunk_id: str
    title: str
    start: int
    end: int
    page: int | None = None
    headings: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    origin: Origin = "library"


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A claim's thread back: `document_text[start:end] == quote`, always.

    `support` says how well the quote bears out the claim, 0–1; None where nobody compared them.
    """

    number: int
    document_id: str
    chunk_id: str
    title: str
    quote: str
    start: int
    end: int
    page: int | None = None
    support: float | None = None
    origin: Origin = "library"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a generated answer: `answer.text[start:end] == text`, without markers.

    `citations` are the numbers of those that it rests on. `support` is 0–1, None where it could not
    be compared with its source. `supported`: the sources bear it out; `unchecked`: rules cannot
    judge it, as across languages, and no model did. `computed` are its figures that follow from
    figures of its sources, as a difference or a sum.
    """

    text: str
    start: int
    end: int
    citations: tuple[int, ...] = ()
    support: float | None = None
    supported: bool = True
    unchecked: bool = False
    computed: tuple[str, ...] = ()


@deprecated_aliases(kept="cached_calls")
@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Cost of LLM calls. All zero without a language model.

    `cached_tokens` are those among the prompt's that the provider had kept from calls before.
    `cached_calls` counts requests answered from a cache, for nothing; `cost`
    is in `currency` (empty where nothing has a price), nil where a model's price is not known.
    """

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    currency: str = ""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            cached_calls=self.cached_calls + other.cached_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=self.cost + other.cost,
            currency=self.currency or other.currency,
        )

    def since(self, before: Usage) -> Usage:
        """Return the usage added after `before`."""
        return Usage(
            calls=self.calls - before.calls,
            cached_calls=self.cached_calls - before.cached_calls,
            prompt_tokens=self.prompt_tokens - before.prompt_tokens,
            cached_tokens=self.cached_tokens - before.cached_tokens,
            completion_tokens=self.completion_tokens - before.completion_tokens,
            cost=self.cost - before.cost,
            currency=self.currency,
        )


SURE = 0.9
"""Confidence from which a short answer is shown by itself."""


@deprecated_aliases(rests_on="citation_numbers", is_likely="is_confident")
@dataclass(frozen=True, slots=True, kw_only=True)
class ShortAnswer:
    """Short answer, a few words at most: `document_text[start:end] == text`.

    Only *yes* and *no*, and a name of the question that no cited sentence spells out, stand in no
    source: `document_id`, `start` and `end` are then None. `citation_numbers` name the
    citations it was taken or computed from; `confidence` is the probability, 0–1, that it is
    right.
    """

    text: str
    kind: str
    confidence: float
    citation_numbers: tuple[int, ...] = ()
    document_id: str | None = None
    start: int | None = None
    end: int | None = None

    @property
    def is_confident(self) -> bool:
        """Check whether the short answer is sure enough to be shown by itself."""
        return self.confidence >= SURE


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One stage of an answer: summary, figures, seconds and cost.

    `input` and `output` are the beginnings of what it took and gave, so that one can see where an
    answer went wrong; empty where the steps around it say it. The costs of all steps together are
    the answer's.
    """

    stage: str
    detail: str
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)
    input: str = ""
    output: str = ""
    usage: Usage = Usage()


@deprecated_aliases(signs="features")
@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Route of a question and its reason; `confidence` is 0.5 (undecided) to 1.

    `features` are what the rules found, with their weights, above 0 for the whole.
    """

    mode: Mode
    reason: str
    confidence: float
    features: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked before, and what was answered."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestPassage:
    """Text nearest to a question without an answer: `document_text[start:end] == text`.

    `heading` is that of its section, else empty; `score`, 0–1, is the relevance of its passage.
    """

    document_id: str
    chunk_id: str
    title: str
    heading: str
    text: str
    start: int
    end: int
    score: float
    page: int | None = None
    origin: Origin = "library"

    @property
    def name(self) -> str:
        """The title of the document and the heading of the section."""
        return " › ".join(dict.fromkeys(part for part in (self.title, self.heading) if part))


@deprecated_aliases(understood="rewritten_question")
@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with every claim tied to its source.

    `abstained`: the evidence is not enough for an answer. `rewritten_question` is the question as
    it was answered where the history changed it, else empty. `route` is None where the mode was
    given. `claims` are the statements of a generated text; `grounding` is the share of them that
    the sources support, None where that was not checked; `unchecked` says which configured check
    failed and why. `short` is the answer in a few words, where it is all but certain. `evidence` is
    the probability, 0–1, that the answer is right; None where it was not measured. `nearest` are
    the passages nearest to a question that was not answered, at most three. `clarification` is a
    question back to the user, in place of an answer; else empty. `memory` are passages of what the
    user said before, apart from the evidence of documents; `warnings` say what could not be done.
    """

    question: str
    text: str
    mode: Mode
    rewritten_question: str = ""
    route: Route | None = None
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    grounding: float | None = None
    unchecked: str = ""
    passages: tuple[Passage, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    usage: Usage = Usage()
    abstained: bool = False
    short: ShortAnswer | None = None
    evidence: float | None = None
    nearest: tuple[NearestPassage, ...] = ()
    clarification: str = ""
    memory: tuple[Passage, ...] = ()
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the answer with its sources, as the command line shows it."""
        from .plain_text import answer_text

        return answer_text(self)

    def __repr__(self) -> str:
        """Return the question and the beginning of the answer, on one line."""
        begun = " ".join(self.text.split())
        begun = begun if len(begun) <= _SHOWN else f"{begun[: _SHOWN - 1]}…"
        return (
            f"Answer(question={self.question!r}, text={begun!r}, mode={self.mode!r}, "
            f"citations={len(self.citations)}, abstained={self.abstained})"
        )

    def _repr_markdown_(self) -> str:
        """Return the answer as a notebook shows it."""
        from .plain_text import answer_markdown

        return answer_markdown(self)


_SHOWN = 80
"""Characters of a text in its `repr`."""
History = Sequence[Turn | Answer]
"""Chat history: earlier turns, oldest first."""


def is_empty(reason: str) -> bool:
    """Return whether a reason says that there was just nothing in a source."""
    return reason.startswith(EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFailure:
    """A source that was not added, and why, in one line."""

    source: str
    reason: str

    @property
    def is_empty(self) -> bool:
        """Check whether the source was merely empty."""
        return is_empty(self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialDocument:
    """A document that is stored and found by its words, and what else it lacks and why, in one
    line; it is not tried again until its text, the settings or the product's version change."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChunk:
    """A chunk that a language model was to read and has not, and why.

    The next run tries again, unless it is `unreadable` by this model.
    """

    document_id: str
    chunk_id: str
    reason: str
    unreadable: bool = False


@deprecated_aliases(passed_over="skipped")
@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """Result of one `add`, `sync` or `remove`. All tuples hold document ids, sorted.

    `partial` are documents among those added, changed or unchanged that a stage could not take.
    `pending` are chunks that a language model has still to read, and `postponed` says how many
    `reports`, `names` and `descriptions` it has still to see to: the next run goes on with both.
    `outdated` are documents whose file can no longer be read, and why: they
    keep the text of its last readable state.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[SourceFailure, ...] = ()
    outdated: tuple[SourceFailure, ...] = ()
    skipped: tuple[SourceFailure, ...] = ()
    notes: tuple[str, ...] = ()
    partial: tuple[PartialDocument, ...] = ()
    pending: tuple[PendingChunk, ...] = ()
    postponed: Mapping[str, int] = field(default_factory=dict)
    chunks: int = 0
    embedded: int = 0
    extracted: int = 0
    usage: Usage = Usage()
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageUsage:
    """LLM usage of one stage; `day` is a UTC date, empty for an estimate.

    `basis` says where a forecast comes from. `cost`, in `currency`, is None where a model's price
    is not known. `cached_tokens` are those among the prompts' that the provider had kept; no
    forecast counts on any.
    """

    stage: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cached_tokens: int = 0
    failed: int = 0
    day: str = ""
    basis: str = ""
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Cost estimate of an `add`: new documents and chunks, and the calls of each stage.

    What `failed` cannot be read and is not counted.
    """

    documents: int
    chunks: int
    stages: tuple[StageUsage, ...]
    notes: tuple[str, ...] = ()
    failed: tuple[SourceFailure, ...] = ()

    @property
    def currency(self) -> str:
        """Currency of all costs."""
        return next((stage.currency for stage in self.stages), "USD")

    @property
    def cost(self) -> float | None:
        """All stages' cost together, in `currency`; None where one is not known."""
        costs = [stage.cost for stage in self.stages]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


SEPARATOR = "::"
_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{0,64}")
_QUALIFIED = re.compile(rf"({_NAMESPACE.pattern}:):")


def check_namespace(namespace: str) -> None:
    """Validate a namespace name; raises `SourceError`."""
    if _NAMESPACE.fullmatch(namespace) is None:
        raise SourceError(
            f"namespace {namespace!r}: use up to 64 letters, digits, dots, dashes and underscores"
        )


def check_name(name: str) -> None:
    """Validate a document id that a caller chose.

    Raises:
        SourceError: the id holds the separator of namespaces.
    """
    if SEPARATOR in name:
        raise SourceError(
            f"document id {name!r}: {SEPARATOR!r} separates namespaces; leave it out of the id and "
            "give the namespace by itself"
        )


def source_id(namespace: str, name: str) -> str:
    """Return the id of a source of this name in a namespace; empty is the default one.

    A name such as `south::a.md` in the default namespace becomes `south:%3Aa.md`.
    """
    if namespace:
        return f"{namespace}{SEPARATOR}{name}"
    return _QUALIFIED.sub(r"\1%3A", name, count=1) if _QUALIFIED.match(name) else name


def qualified_id(namespace: str, document_id: str) -> str:
    """Return the id under which a document is looked up; it may be qualified already."""
    return f"{namespace}{SEPARATOR}{document_id}" if namespace else document_id
