"""Schema migrations: SQL by starting version.

What was added stands empty until the documents are added again; nothing is lost.
"""

from __future__ import annotations

from sqlalchemy import Connection

from .door import metadata

SCHEMA = 6
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
}


def schema_version(connection: Connection) -> int:
    """Return the schema version of the database; 0 if new."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def stamp(connection: Connection) -> None:
    """Say that the database has today's schema."""
    connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA:d}")


def migrate(connection: Connection) -> None:
    """Migrate to the present schema, step by step, in the caller's transaction."""
    for version in range(schema_version(connection), SCHEMA):
        for statement in _STEPS[version]:
            connection.exec_driver_sql(statement)
    metadata.create_all(connection)
    stamp(connection)
