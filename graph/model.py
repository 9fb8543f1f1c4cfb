"""The values of the knowledge graph and how their ids are made.

Everything here is frozen and comparable; ids come from content, so that the same corpus gives
the same ids in any order of arrival. Offsets are character offsets **into the chunk's text**
unless a name says otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

ENTITY_TYPES = (
    "PERSON",
    "ORGANISATION",
    "PLACE",
    "EVENT",
    "WORK",
    "PRODUCT",
    "CONCEPT",
    "NAME",
)
"""Types an LLM-free extractor gives. NAME: a name whose type nothing tells."""

NAMED_TYPES = frozenset(ENTITY_TYPES) - {"CONCEPT"}
"""Types of things that carry a proper name; CONCEPT is a noun phrase."""


OCCURS_WITH = "occurs with"
"""Predicate of co-occurrence; undirected, ends in sorted order."""

ALSO_KNOWN_AS = "also known as"
"""The predicate by which a text itself says that two names mean one thing."""

OF_TYPE = "of type"
"""Predicate of evidence that a name is of a type; the object is the type, no name."""

ORDINARY = "ordinary word"
"""Object of `OF_TYPE` where a mention may be no name: capitals that any word has there."""

DETERMINED = "with an article"
"""Object of `OF_TYPE` where an article stands before a mention, as before few persons."""

COMMON = "dictionary word"
"""Object of `OF_TYPE` where a mention is a word of the dictionary."""

PHRASE = "dictionary words"
"""Object of `OF_TYPE` where a mention is several words of the dictionary."""

LOCATED = "behind a preposition of place"
"""Object of `OF_TYPE` where "in", "at" or "near" stands before a mention."""

CUES_OF_NO_TYPE = frozenset({ORDINARY, DETERMINED, COMMON, PHRASE, LOCATED})
"""Objects of `OF_TYPE` that are no types, but weigh for or against some."""

SPEAKS_OF_A_NAME = (ALSO_KNOWN_AS, OF_TYPE)
"""Predicates that say something of a name, and are no relation of the graph."""


SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"
"""Verdicts on whether two names mean one thing."""


def content_id(prefix: str, *parts: str) -> str:
    """Return `prefix` and 16 hex digits of SHA-256 over the parts."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf8", "surrogatepass")).hexdigest()
    return f"{prefix}{digest[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Chunk as retrieved and cited: `text == document_text[start:end]`.

    `context` is read before the text to find it, and never cited; `read` is the wider span of the
    document that is to be read once the chunk is found (None: the chunk itself).
    """

    id: str
    document_id: str
    title: str
    text: str
    start: int = 0
    end: int = 0
    position: int = 0
    headings: tuple[str, ...] = ()
    page: int | None = None
    context: str = ""
    read: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Mention:
    """One occurrence of a name or noun phrase: `chunk.text[start:end] == surface`."""

    start: int
    end: int
    surface: str
    key: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Statement:
    """Evidence that `subject` has relation `predicate` to `object`, in one sentence.

    `start`/`end` are the sentence's span; `subject` and `object` are name keys (see
    `graph.text.names.name_key`), not entity ids: which entity a key means is decided by resolution.
    What a language model adds: `description` in a sentence of its own, `strength` from 0 to 1, and
    `inferred` where no single sentence names both ends (the span then reaches from one to the
    other).
    """

    start: int
    end: int
    subject: str
    predicate: str
    object: str
    description: str = ""
    strength: float = 1.0
    inferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Description:
    """Description of a name by a language model, from one chunk."""

    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Claim:
    """Claim about `subject` (a name key), in the sentence at `start`/`end`.

    `object` is a name key or empty; `status` is TRUE, FALSE or SUSPECTED, as the text has it; the
    dates are ISO 8601, as exact as the text is, or empty.
    """

    start: int
    end: int
    subject: str
    object: str
    type: str
    status: str
    start_date: str
    end_date: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Extraction of one chunk; tuples are sorted and unique.

    At most one description a key, and one statement for each span, subject, predicate and object.
    """

    mentions: tuple[Mention, ...] = ()
    statements: tuple[Statement, ...] = ()
    descriptions: tuple[Description, ...] = ()
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Evidence:
    """The place a fact was read: a span of a chunk."""

    chunk_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """All that a library holds under one name key: resolution works on these.

    `surfaces` and `types` map to how often each was seen; `documents` are the ids of the documents
    that mention it, `titles` those whose title it is.
    """

    key: str
    surfaces: dict[str, int]
    types: dict[str, int]
    documents: frozenset[str]
    titles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Assignment of a name key to an entity: its own name, or a rule with its reason."""

    key: str
    entity_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing the corpus speaks of, under all its names; `aliases` are the others, best first."""

    id: str
    name: str
    type: str
    keys: tuple[str, ...]
    aliases: tuple[str, ...]
    mention_count: int
    document_count: int
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A directed relation between two entities with everything that speaks for it."""

    id: str
    source_id: str
    predicate: str
    target_id: str
    weight: float
    evidences: tuple[Evidence, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """A cluster of one level of the hierarchy. Level 0 is the coarsest."""

    id: str
    level: int
    parent_id: str | None
    entity_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a report says, with the places that say it."""

    text: str
    evidences: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Community report. `rating` is 0–10: its share of the whole.

    `written_by` names the language model that wrote it; empty for sentences of the corpus itself.
    """

    community_id: str
    level: int
    title: str
    summary: str
    rating: float
    findings: tuple[Finding, ...]
    fingerprint: str
    rating_reason: str = ""
    written_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PlacedClaim:
    """A claim with the chunk it stands in and the entities it is about ("" for none)."""

    chunk_id: str
    claim: Claim
    subject_id: str
    object_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphExport:
    """Whole graph as values, every collection sorted by id.

    `appearances` are the ids of the chunks in which an entity's names stand, by entity id.
    """

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    communities: tuple[Community, ...] = ()
    reports: tuple[Report, ...] = ()
    claims: tuple[PlacedClaim, ...] = ()
    chunks: dict[str, Chunk] = field(default_factory=dict)
    appearances: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return how much of what the graph holds."""
        return (
            f"GraphExport(entities={len(self.entities)}, relations={len(self.relations)}, "
            f"communities={len(self.communities)}, reports={len(self.reports)})"
        )

    def _repr_html_(self) -> str:
        """Return the graph as a notebook shows it: a picture without scripts."""
        from .export.image import draw_picture, to_svg
        from .export.subgraph import Subgraph

        return to_svg(draw_picture(Subgraph(export=self)))


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Judgement:
    """Verdict on two sorted keys; `reason` is one of `REASONS` or empty."""

    first_key: str
    second_key: str
    verdict: str
    reason: str
    model: str


def shift_extraction(extraction: Extraction, offset: int) -> Extraction:
    """Shift an extraction to a text that begins `offset` characters earlier."""
    return replace(
        extraction,
        mentions=tuple(
            replace(one, start=one.start + offset, end=one.end + offset)
            for one in extraction.mentions
        ),
        statements=tuple(
            replace(one, start=one.start + offset, end=one.end + offset)
            for one in extraction.statements
        ),
        claims=tuple(
            replace(one, start=one.start + offset, end=one.end + offset)
            for one in extraction.claims
        ),
    )


def merge_extractions(extractions: Iterable[Extraction]) -> Extraction:
    """Merge extractions of a chunk without repeats; the longer description and statement win."""
    found = list(extractions)
    statements: dict[tuple[int, int, str, str, str], Statement] = {}
    for statement in (one for each in found for one in each.statements):
        key = (
            statement.start,
            statement.end,
            statement.subject,
            statement.predicate,
            statement.object,
        )
        known = statements.get(key)
        if known is None or _says(statement) > _says(known):
            statements[key] = statement
    texts: dict[str, str] = {}
    for description in (one for each in found for one in each.descriptions):
        other = texts.get(description.key, "")
        texts[description.key] = max(description.text, other, key=lambda text: (len(text), text))
    claims: dict[tuple[int, int, str, str, str], Claim] = {}
    for claim in sorted(one for each in found for one in each.claims):
        claims.setdefault((claim.start, claim.end, claim.subject, claim.object, claim.type), claim)
    return Extraction(
        mentions=tuple(sorted({one for each in found for one in each.mentions})),
        statements=tuple(sorted(statements.values())),
        descriptions=tuple(Description(key=key, text=texts[key]) for key in sorted(texts)),
        claims=tuple(sorted(claims.values())),
    )


def _says(statement: Statement) -> tuple[bool, int, float, str]:
    return (
        not statement.inferred,
        len(statement.description),
        statement.strength,
        statement.description,
    )
