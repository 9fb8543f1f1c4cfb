"""Tables of the graph: facts of chunks, and derived rows.

Facts (`chunks`, `mentions`, `statements`) belong to one chunk and go with it. Everything below
them is a function of all facts: rows marked `dirty` rest on evidence that has changed since and
are never read. `metadata` is shared: a larger database adds its own tables to it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()

state = Table(
    "state",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", Text, nullable=False),
)
"""State: `generation` counts changes of facts.

`derived` is the generation derived from.
"""

chunks = Table(
    "chunks",
    metadata,
    Column("id", String, primary_key=True),
    Column("document_id", String, nullable=False, index=True),
    Column("position", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("title_key", Text, nullable=False, index=True),
    Column("headings", Text, nullable=False),  # JSON list, outermost first
    Column("text", Text, nullable=False),
    Column("text_sha", String, nullable=False, index=True),
    Column("start", Integer, nullable=False),  # offsets into the document's text
    Column("end", Integer, nullable=False),
    Column("page", Integer),
    Column("context", Text, nullable=False, server_default=""),  # read before the text to find it
    Column("read_start", Integer),  # the wider span to read, where there is one
    Column("read_end", Integer),
    Column("extractor", Text),  # who extracted; null: pending
    Column("linked", Boolean, nullable=False, default=False),  # matched with the current names
    Index("unlinked_chunks", "id", sqlite_where=text("NOT linked")),
)

_CHUNK = "chunks.id"

mentions = Table(
    "mentions",
    metadata,
    Column("chunk_id", ForeignKey(_CHUNK, ondelete="CASCADE"), primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("end", Integer, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("surface", Text, nullable=False),
    Column("type", String, nullable=False),
    Index("mentions_by_key", "key"),
)

statements = Table(
    "statements",
    metadata,
    Column("chunk_id", ForeignKey(_CHUNK, ondelete="CASCADE"), primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("end", Integer, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("predicate", Text, primary_key=True),
    Column("object", Text, primary_key=True),
    Column("description", Text, nullable=False, server_default=""),
    Column("strength", Float, nullable=False, server_default="1"),
    Column("inferred", Boolean, nullable=False, server_default="0"),
    Index("statements_by_subject", "subject", "predicate"),
    Index("statements_by_object", "object", "predicate"),
    Index("described_subjects", "subject", sqlite_where=text("description != ''")),
    Index("described_objects", "object", sqlite_where=text("description != ''")),
)

descriptions = Table(
    "descriptions",
    metadata,
    Column("chunk_id", ForeignKey(_CHUNK, ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("text", Text, nullable=False),
)
"""Model descriptions of names, by chunk."""

claims = Table(
    "claims",
    metadata,
    Column("chunk_id", ForeignKey(_CHUNK, ondelete="CASCADE"), primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("end", Integer, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("object", Text, primary_key=True),
    Column("type", Text, primary_key=True),
    Column("status", String, nullable=False),
    Column("start_date", String, nullable=False),
    Column("end_date", String, nullable=False),
    Column("text", Text, nullable=False),
)

pending = Table(
    "pending",
    metadata,
    Column("chunk_id", ForeignKey(_CHUNK, ondelete="CASCADE"), primary_key=True),
    Column("reason", Text, nullable=False),
)
"""Chunks a model could not read, with reasons; the next run retries."""

faults = Table(
    "faults",
    metadata,
    Column("chunk_id", ForeignKey(_CHUNK, ondelete="CASCADE"), primary_key=True),
    Column("stage", String, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("version", String, nullable=False),  # of the product
)
"""Chunks that a stage raised an unexpected error about: their documents are partial."""

changes = Table(
    "changes",
    metadata,
    Column("kind", String, primary_key=True),  # name | document | chunk | link
    Column("key", Text, primary_key=True),
)
"""Names whose facts changed since the last derivation, documents whose chunks did, chunks gone,
and names that these had links to."""

kept_names = Table(
    "kept_names",
    metadata,
    Column("key", Text, primary_key=True),
    Column("name", Text, nullable=False),  # JSON: all that resolution knows of it; "" for no name
    Column("blocks", LargeBinary, nullable=False),
    Column("reads", LargeBinary, nullable=False),
)
"""Aggregated facts of each name, and its blocks (see `graph.resolution.kept_names`)."""

name_blocks = Table(
    "name_blocks",
    metadata,
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("key", Text, primary_key=True),
    Column("part", Integer, nullable=False),  # 1 a rule reads it, 2 it reads the others, 3 both
    sqlite_with_rowid=False,
)
"""Names by the forms that they share: only these can change what rules say of each other."""

proposed_links = Table(
    "proposed_links",
    metadata,
    Column("stage", String, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("other", Text, primary_key=True, index=True),
    Column("reason", Text, primary_key=True),
    Column("lesser", Text, nullable=False),
    Column("stated", Boolean, nullable=False),
    Column("any_type", Boolean, nullable=False),
    Index("proposed_links_by_key", "key"),
)
"""Links that rules propose between names; clusters say which are carried out."""

chunk_words = Table(
    "chunk_words",
    metadata,
    Column("word", BigInteger, primary_key=True, autoincrement=False),  # hashed
    Column("chunk_id", String, primary_key=True),
    sqlite_with_rowid=False,
)
"""Chunks by the words of their texts: where a name that comes may occur."""

name_starts = Table(
    "name_starts",
    metadata,
    Column("start", BigInteger, primary_key=True, autoincrement=False),  # hashed
    Column("key", Text, primary_key=True),
    sqlite_with_rowid=False,
)
"""Names by their first words (which may occur in a chunk?) and last words (which are alike?)."""

entities = Table(
    "entities",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", String, nullable=False),
    Column("aliases", Text, nullable=False),  # JSON list, best first
    Column("mention_count", Integer, nullable=False),
    Column("document_count", Integer, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("dirty", Boolean, nullable=False, default=False),
    Index("described_entities", "id", sqlite_where=text("description != ''")),
    Index("entities_by_mentions", "mention_count"),
)

names = Table(
    "names",
    metadata,
    Column("key", Text, primary_key=True),
    Column("entity_id", String, nullable=False, index=True),
    Column("reason", Text, nullable=False),
    Column("kind", String, nullable=False),  # title | name | concept
    Column("dirty", Boolean, nullable=False, default=False),
)
"""Entity of each name, and the reason."""

links = Table(
    "links",
    metadata,
    Column("chunk_id", ForeignKey(_CHUNK, ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("opens", Boolean, nullable=False),  # the text begins with it: a title for the untitled
    Index("links_by_key", "key"),
)
"""Names occurring in chunks, wherever first extracted."""

relations = Table(
    "relations",
    metadata,
    Column("id", String, primary_key=True),
    Column("source_id", String, nullable=False, index=True),
    Column("predicate", Text, nullable=False),
    Column("target_id", String, nullable=False, index=True),
    Column("weight", Float, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Index("described_relations", "id", sqlite_where=text("description != ''")),
)
"""Its evidences are the statements whose names mean its two ends."""

communities = Table(
    "communities",
    metadata,
    Column("id", String, primary_key=True),
    Column("level", Integer, nullable=False),
    Column("parent_id", String, index=True),
    Column("dirty", Boolean, nullable=False, default=False),
    Index("dirty_communities", "id", sqlite_where=text("dirty")),
)

members = Table(
    "members",
    metadata,
    Column("community_id", ForeignKey("communities.id", ondelete="CASCADE"), primary_key=True),
    Column("entity_id", String, primary_key=True),
    Index("members_by_entity", "entity_id"),
)

reports = Table(
    "reports",
    metadata,
    Column("community_id", ForeignKey("communities.id", ondelete="CASCADE"), primary_key=True),
    Column("fingerprint", String, nullable=False),
    Column("level", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("rating", Float, nullable=False),
    Column("findings", Text, nullable=False),  # JSON: [{text, evidences: [[chunk, start, end]]}]
    Column("dirty", Boolean, nullable=False, default=False),
)

written_reports = Table(
    "written_reports",
    metadata,
    Column("fingerprint", String, primary_key=True),  # of the extractive report it stands for
    Column("model", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("rating", Float, nullable=False),
    Column("rating_reason", Text, nullable=False),
    Column("findings", Text, nullable=False),  # as in `reports`
)
"""Model-written reports, tied to the extractive report's fingerprint."""

judgements = Table(
    "judgements",
    metadata,
    Column("first_key", Text, primary_key=True),  # the two name keys in sorted order
    Column("second_key", Text, primary_key=True),
    Column("verdict", String, nullable=False),  # same | different | unknown
    Column("reason", Text, nullable=False),
    Column("model", Text, nullable=False),
)
"""Verdicts on similar names; deleted with either name."""

digests = Table(
    "digests",
    metadata,
    Column("fingerprint", String, primary_key=True),  # of the thing and all that is said of it
    Column("text", Text, nullable=False),
    Column("model", String, nullable=False),
)
"""Summaries of descriptions; deleted when these change."""

curations = Table(
    "curations",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("action", String, nullable=False),  # merge | split | rename | retype
    Column("keys", Text, nullable=False),  # JSON list of name keys
    Column("names", Text, nullable=False),  # JSON list of the same as they were typed
    Column("value", Text, nullable=False),  # the new name or type
)
"""User overrides; they outlive documents."""
