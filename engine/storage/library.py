"""The library: a folder, its SQLite database, which holds the truth, and the writer's lock.

Documents, chunks, vectors, keyword tokens and the graph's tables stand in one file, so that a
document comes, changes and goes in one transaction. Everything in `derived/` can be deleted.
SQLite's errors become messages that say what to do; a library made for a run that stored nothing is
deleted.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from urllib.parse import quote

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, delete, func, insert, select, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from ..errors import EngineError, LibraryError, LibraryNotFound
from ..ingest.change_detection import stat_signature
from ..ingest.load import SEPARATOR
from ..types import MetaValue, SourceText
from . import integrity
from .files import delete_artifacts
from .graph_api import (
    Database,
    GraphError,
    chunk_table,
    content_digest,
    delete_chunks,
    derived_stamp,
    in_batches,
    lineage,
    metadata,
    read_state,
    rows_in,
    write_state,
)
from .integrity import find_damage
from .library_errors import (
    cannot_create,
    folder_not_empty,
    is_damage,
    library_busy,
    library_damaged,
    library_not_found,
    library_refused,
    lost_database,
    newer_schema,
    not_listed,
    not_locked,
    other_database,
    path_is_file,
    read_only,
)
from .schema import (
    HASHED_WORDS,
    SCHEMA,
    KeywordEntry,
    documents,
    keywords,
    metadata_text,
    metadata_values,
    migrate_schema,
    schema_version,
    stamp_schema,
    vectors,
)
from .vectors.log import note_vector_change, vector_stamp


def prepare_folder(folder: Path, database_name: str, *, create: bool) -> None:
    """See to it that a library is in the folder, or can be made there.

    Raises:
        LibraryNotFound: no library there, and `create` is false.
        LibraryUnusable: a file, a folder of other things, one that cannot be made or read, or a
            library whose database is lost.
    """
    if folder.exists() and not folder.is_dir():
        raise path_is_file(folder)
    database = folder / database_name
    # One look: between two another process can have begun a library here.
    try:
        held = {entry.name for entry in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise not_listed(folder, error) from error
    if database_name in held:
        if not size_of(database) and "derived" in held:
            raise lost_database(database)
        return
    if not create:
        raise library_not_found(folder)
    if held:
        raise folder_not_empty(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_create(folder, error) from error


def is_writable(database: Path) -> bool:
    """Check whether the database file and its folder are writable."""
    folder = database.parent
    return os.access(folder, os.W_OK) and (not database.exists() or os.access(database, os.W_OK))


def library_url(database: Path) -> URL:
    """Return the SQLite URL of a library, read-only where nothing else is possible.

    WAL mode needs files beside the database, even to read, unless it is told that nothing changes.
    What a process that was killed left in such a file would then be missing: where there is one,
    it is read with it or not at all.
    """
    file = str(database.resolve())
    if is_writable(database):
        return URL.create("sqlite", database=file)
    how = {"uri": "true", "mode": "ro"}
    if not os.access(database.parent, os.W_OK) and not size_of(Path(f"{file}-wal")):
        how["immutable"] = "1"
    return URL.create("sqlite", database=f"file:{quote(file)}", query=how)


def size_of(file: Path) -> int:
    """Bytes in a file; none where it is not there."""
    try:
        return file.stat().st_size
    except FileNotFoundError:  # the database's side files go when another process closes it
        return 0


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files of a library folder, ignoring vanished ones."""
    walked = os.walk(folder)  # passes over folders that are gone
    return sum(size_of(Path(place) / name) for place, _, names in walked for name in names)


DATABASE_NAME = "library.db"
CHANGED = "changed namespaces"
"""Key of the state table: namespaces of which derived copies may hold former text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """Listing row of a document.

    `source` is the file, address or table it was read from, `source_sha256` that one's hash, and
    `given` the metadata that its owner gave it. `outdated` says why its source can no longer be
    read: the document then keeps the text of its last readable state. None while it can be read.
    """

    id: str
    title: str
    type: str
    path: str | None
    namespace: str
    source: str
    source_sha256: str
    sha256: str
    recipe: str
    given: Mapping[str, MetaValue]
    outdated: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowVector:
    """Vector of a chunk: its window number and the hash of the embedded text."""

    chunk_id: str
    window: int
    input_sha: str
    vector: NDArray[np.float32]


def day_of(metadata: Mapping[str, object]) -> str:
    """Return the day of a document's date, ISO 8601; "" where it has none."""
    return str(metadata.get("date") or "")[:10]


class Library:
    """Open library.

    On a read-only disk queries work and writes are refused (`is_read_only`).

    Args:
        path: the library's folder.
        create: make it if there is none.
        lock_timeout_seconds: how long a writer waits for another one.

    Raises:
        LibraryNotFound: no library there, and `create` is false.
        LibraryUnusable: the path is a file, not a library, damaged, or of a newer schema.
    """

    def __init__(
        self, path: str | Path, *, create: bool = True, lock_timeout_seconds: float = 60.0
    ) -> None:
        self.path = Path(path)
        prepare_folder(self.path, DATABASE_NAME, create=create)
        self.is_read_only = not is_writable(self.path / DATABASE_NAME)
        self.database = Database(library_url(self.path / DATABASE_NAME))
        self._lock = FileLock(self.path / "write.lock", timeout=lock_timeout_seconds)
        self._has_written = False
        self._content: tuple[tuple[str, str], str] | None = None
        try:
            self._prepare_schema(create=create)
            self._look_for_damage()
        except BaseException:
            self.database.close()
            raise

    def _prepare_schema(self, *, create: bool) -> None:
        with self.read() as connection:
            held = schema_version(connection)
            tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if held == SCHEMA:
            return
        if held > SCHEMA:
            raise newer_schema(self.path, held=held, known=SCHEMA)
        if held > 0:
            with self.write() as connection:
                if held < HASHED_WORDS:
                    delete_artifacts(self.path / "derived", "bm25")
                migrate_schema(connection)
            return
        if held or tables:
            raise other_database(self.path / DATABASE_NAME)
        if not create:
            raise library_not_found(self.path)
        with self.write() as connection:
            metadata.create_all(connection)
            if schema_version(connection) == 0:
                stamp_schema(connection)

    def _look_for_damage(self) -> None:
        """Refuse a damaged database.

        Where the file looks as it did when it was sound, in no time.

        Raises:
            LibraryUnusable: it is damaged.
        """
        look = stat_signature(self._file)
        if integrity.is_noted(self.path, look):
            return
        with self.read() as connection:
            if found := next(find_damage(connection), ""):
                raise library_damaged(self._file, found)
        integrity.note_sound(self.path, look)

    @property
    def _file(self) -> Path:
        return self.path / DATABASE_NAME

    # --- transactions -----------------------------------------------------------------------

    @contextmanager
    def writer(self, *, timeout_seconds: float | None = None) -> Iterator[None]:
        """Hold the writer lock for a whole run; the system releases it if the process dies.

        Waits for another writer as long as the library was opened for, or `timeout_seconds`.
        """
        seconds = self._lock.timeout if timeout_seconds is None else timeout_seconds
        if self.is_read_only:
            raise read_only(self.path)
        try:
            self._lock.acquire(timeout=seconds)
        except Timeout as error:
            raise library_busy(self.path, waited_seconds=seconds) from error
        except OSError as error:
            raise not_locked(self.path, error) from error
        try:
            if self._lock.lock_counter == 1:
                self._look_for_damage()
            yield
            integrity.note_sound(self.path, stat_signature(self._file))
        finally:
            self._lock.release()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction, joined by everything inside it that writes."""
        if self.is_read_only:
            raise read_only(self.path)
        self._has_written = True
        with self._errors_mapped(), self.database.write() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a consistent read transaction."""
        with self._errors_mapped(), self.database.read() as connection:
            yield connection

    @contextmanager
    def _errors_mapped(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            if is_damage(error):
                self._forget_soundness()
            raise library_refused(error, self._file) from error
        except (EngineError, GraphError):
            raise
        except Exception as error:
            # What was read may be no value that was ever written: then that is what went wrong.
            if said := self._damage_behind():
                self._forget_soundness()
                raise library_damaged(self._file, said) from error
            raise

    def _forget_soundness(self) -> None:
        self._has_written = False  # it is not noted as sound when it is closed, either
        integrity.forget_sound(self.path, stat_signature(self._file))

    def _damage_behind(self) -> str:
        try:
            with self.database.read() as connection:
                return next(find_damage(connection), "")
        except (DBAPIError, sqlite3.Error) as error:
            return " ".join(str(getattr(error, "orig", None) or error).split())

    def close(self) -> None:
        """Close the database."""
        self.database.close()
        if self._has_written:
            integrity.note_sound(self.path, stat_signature(self._file))
            self._has_written = False

    def content_stamp(self, connection: Connection) -> str:
        """Return a stamp of the chunks of this state: its lineage, or their digest, made once.

        Counters would not do: a library that was restored counts again where it counted before.
        """
        if derived := lineage(connection):
            return derived
        state = (derived_stamp(connection), vector_stamp(connection))
        known = self._content
        if known is None or known[0] != state:
            known = self._content = (state, content_digest(connection))
        return known[1]

    # --- documents --------------------------------------------------------------------------

    def put_documents(self, sources: Sequence[SourceText], *, recipe: str) -> None:
        """Store texts and metadata of documents; their chunks come through the indexes."""
        rows = [
            {
                "id": source.id,
                "title": source.title,
                "type": source.type,
                "path": source.path,
                "sha256": source.sha256,
                "recipe": recipe,
                "text": source.text,
                "pages": json.dumps(source.pages),
                "metadata": metadata_text(source.metadata),
                "namespace": source.namespace,
                "source": source.source or source.id,
                "source_sha256": source.source_sha256 or source.sha256,
                "given": metadata_text(source.given),
            }
            for source in sources
        ]
        with self.write() as connection:
            for namespace in sorted({source.namespace for source in sources}):
                _note_changed(connection, namespace)
            for batch in in_batches(source.id for source in sources):
                connection.execute(delete(documents).where(documents.c.id.in_(batch)))
            connection.execute(insert(documents), rows)

    def update_fingerprints(self, source_sha256: Mapping[str, str]) -> None:
        """Update source hashes by document id, where the content is unchanged."""
        with self.write() as connection:
            for document_id, sha256 in sorted(source_sha256.items()):
                connection.execute(
                    update(documents)
                    .where(documents.c.id == document_id)
                    .values(source_sha256=sha256)
                )

    def mark_outdated(self, reasons: Mapping[str, str | None]) -> None:
        """Note, by document id, why its source can no longer be read; None where it can."""
        with self.write() as connection:
            for document_id, reason in sorted(reasons.items()):
                connection.execute(
                    update(documents).where(documents.c.id == document_id).values(outdated=reason)
                )

    def document_metadata(self, connection: Connection) -> dict[str, Mapping[str, object]]:
        """Return filterable metadata by document id.

        Those of the source, overridden by the user's, and `document_id`, `title`, `type`,
        `namespace`.
        """
        columns = ("id", "title", "type", "namespace", "metadata", "given")
        rows = connection.execute(select(*(documents.c[name] for name in columns)))
        return {
            row.id: {
                **metadata_values(row.metadata),
                **metadata_values(row.given),
                "document_id": row.id,
                "title": row.title,
                "type": row.type,
                "namespace": row.namespace,
            }
            for row in rows
        }

    def delete_document_row(self, document_id: str) -> None:
        """Remove the document itself; its chunks go through the indexes."""
        inside = documents.c.id == document_id
        with self.write() as connection:
            query = select(documents.c.namespace).where(inside)
            for namespace in connection.execute(query).scalars().all():
                _note_changed(connection, namespace)
            connection.execute(delete(documents).where(inside))

    def documents(self, about: Collection[str] | None = None) -> dict[str, DocumentRow]:
        """Return documents without text, by id, sorted: all, or those `about` some names.

        These are the documents of such an id or source, or whose id lies inside of one.
        """
        names = [*DocumentRow.__dataclass_fields__]
        query, column = select(*(documents.c[name] for name in names)), documents.c.id
        with self.read() as connection:
            if about is None:
                rows = connection.execute(query).all()
            else:
                rows = [*rows_in(connection, query, column, about)]
                rows += rows_in(connection, query, documents.c.source, about)
                for name, end in product(about, ("/", SEPARATOR)):
                    first = f"{name}{end}"
                    inside = and_(column > first, column < f"{first[:-1]}0")  # "0" follows "/"
                    rows += connection.execute(query.where(inside)).all()
        found = {}
        for row in rows:
            values = dict(zip(names, row, strict=True))
            values["given"] = metadata_values(values["given"])
            found[row[0]] = DocumentRow(**values)
        return dict(sorted(found.items()))

    def sources_among(self, sources: Iterable[str]) -> set[str]:
        """Return those of these sources that documents came out of."""
        column = documents.c.source
        with self.read() as connection:
            return {row.source for row in rows_in(connection, select(column), column, sources)}

    def sources_of(self, document_ids: Iterable[str]) -> set[str]:
        """Return the sources that these documents came out of."""
        with self.read() as connection:
            query = select(documents.c.source).where(documents.c.source != "")
            return {row.source for row in rows_in(connection, query, documents.c.id, document_ids)}

    def held_among(self, document_ids: Iterable[str]) -> set[str]:
        """Return those of these ids under which a document is stored."""
        with self.read() as connection:
            return {
                row.id
                for row in rows_in(connection, select(documents.c.id), documents.c.id, document_ids)
            }

    def document_text(self, document_id: str) -> str:
        """Return the stored text that offsets refer to.

        Raises:
            LibraryNotFound: no such document.
        """
        query = select(documents.c.text).where(documents.c.id == document_id)
        with self.read() as connection:
            text: str | None = connection.execute(query).scalar()
        if text is None:
            raise LibraryNotFound(
                f"unknown document: {document_id!r} in {str(self.path)!r}; `loregraph "
                "stats --documents` lists the ids"
            )
        return text

    def page_starts(self, document_ids: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return page starts by document id; documents without pages are omitted."""
        found: dict[str, tuple[int, ...]] = {}
        with self.read() as connection:
            for batch in in_batches(document_ids):
                query = select(documents.c.id, documents.c.pages).where(documents.c.id.in_(batch))
                for row in connection.execute(query):
                    found[row.id] = tuple(json.loads(row.pages))
        return {name: starts for name, starts in found.items() if starts}

    def dates(self, document_ids: Iterable[str]) -> dict[str, str]:
        """Return dates by document id, the user's before the source's.

        Undated ones are omitted.
        """
        found: dict[str, str] = {}
        columns = (documents.c.id, documents.c.metadata, documents.c.given)
        with self.read() as connection:
            for batch in in_batches(document_ids):
                for row in connection.execute(select(*columns).where(documents.c.id.in_(batch))):
                    known = {**metadata_values(row.metadata), **metadata_values(row.given)}
                    date = known.get("date")
                    if isinstance(date, str) and date.strip():
                        found[row.id] = date
        return found

    def text_at(self, document_id: str, start: int, end: int) -> str:
        """Return the document's characters `[start, end)`; empty if absent."""
        query = select(func.substr(documents.c.text, start + 1, end - start))
        with self.read() as connection:
            return connection.execute(query.where(documents.c.id == document_id)).scalar() or ""

    # --- vectors and keyword tokens ---------------------------------------------------------

    def put_vectors(self, values: Sequence[WindowVector], *, model: str) -> None:
        """Replace this model's vectors of these chunks; each is brought to unit length."""
        with self.write() as connection:
            note_vector_change(connection, {value.chunk_id for value in values})
            for batch in in_batches(value.chunk_id for value in values):
                own = vectors.c.chunk_id.in_(batch) & (vectors.c.model == model)
                connection.execute(delete(vectors).where(own))
            if values:
                connection.execute(
                    insert(vectors),
                    [
                        {
                            "chunk_id": value.chunk_id,
                            "window": value.window,
                            "model": model,
                            "input_sha": value.input_sha,
                            "vector": unit_length(value.vector).tobytes(),
                        }
                        for value in values
                    ],
                )

    def delete_vectors(self, chunk_ids: Iterable[str]) -> None:
        """Remove the vectors of these chunks, and the chunks that no graph index has read."""
        gone = {*chunk_ids}
        with self.write() as connection:
            note_vector_change(connection, gone)
            for batch in in_batches(gone):
                connection.execute(delete(vectors).where(vectors.c.chunk_id.in_(batch)))
                unread = select(chunk_table.c.id).where(
                    chunk_table.c.id.in_(batch), chunk_table.c.extractor.is_(None)
                )
                delete_chunks(connection, connection.execute(unread).scalars().all())

    def drop_other_vectors(
        self, models: Collection[str], *, only: Collection[str] | None = None
    ) -> None:
        """Remove the vectors of all models but these, of the documents `only` or of all."""
        if not self.vector_models() - set(models):
            return
        others = vectors.c.model.not_in(sorted(models))
        inside = select(chunk_table.c.id)
        with self.write() as connection:
            note_vector_change(connection, None)
            if only is None:
                connection.execute(delete(vectors).where(others))
            for batch in in_batches(only or ()):
                own = vectors.c.chunk_id.in_(inside.where(chunk_table.c.document_id.in_(batch)))
                connection.execute(delete(vectors).where(others, own))

    def vector_models(self) -> frozenset[str]:
        """Identities of the models whose vectors are stored."""
        with self.read() as connection:
            found = connection.execute(select(vectors.c.model).distinct())
            return frozenset(found.scalars())

    def holds_english(self) -> bool:
        """Check whether any chunk holds text that an English embedding model reads."""
        with self.read() as connection:
            query = select(keywords.c.chunk_id).where(keywords.c.readable > 0).limit(1)
            return connection.execute(query).first() is not None

    def vectors_by_input(
        self, shas: Iterable[str], *, model: str
    ) -> dict[str, NDArray[np.float32]]:
        """Vectors already made by this model from the same text, by the text's hash."""
        found: dict[str, NDArray[np.float32]] = {}
        with self.read() as connection:
            for batch in in_batches(shas):
                query = select(vectors.c.input_sha, vectors.c.vector).where(
                    vectors.c.model == model, vectors.c.input_sha.in_(batch)
                )
                for row in connection.execute(query.order_by(vectors.c.chunk_id)):
                    found.setdefault(row.input_sha, np.frombuffer(row.vector, dtype="<f4"))
        return found

    def put_keywords(self, values: Mapping[str, KeywordEntry]) -> None:
        """Store the tokens of title, heading and text, and the readable share, by chunk id."""
        with self.write() as connection:
            for batch in in_batches(values):
                connection.execute(delete(keywords).where(keywords.c.chunk_id.in_(batch)))
            if values:
                connection.execute(
                    insert(keywords),
                    [
                        {"chunk_id": chunk_id, "stamp": entry.stamp, **entry._asdict()}
                        for chunk_id, entry in sorted(values.items())
                    ],
                )

    def counts(self) -> dict[str, int]:
        """Rows of every table, by its name."""
        with self.read() as connection:
            return {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in metadata.sorted_tables
            }

    def size_bytes(self) -> int:
        """Return the size on disk, derived files included."""
        return folder_bytes(self.path)


def changed_namespaces(connection: Connection) -> frozenset[str]:
    """Return the namespaces whose documents changed since `forget_changed`."""
    return frozenset(json.loads(read_state(connection, CHANGED) or "[]"))


def forget_changed(connection: Connection) -> None:
    """Note that no copy holds former text any more."""
    write_state(connection, CHANGED, "[]")


def _note_changed(connection: Connection, namespace: str) -> None:
    known = changed_namespaces(connection)
    if namespace not in known:
        write_state(connection, CHANGED, json.dumps(sorted({*known, namespace})))


def unit_length(vector: NDArray[np.floating]) -> NDArray[np.float32]:
    """Normalise to length 1; unit and zero vectors stay as they are.

    What was stored once comes out again bit for bit.
    """
    values = np.asarray(vector, dtype="<f4")
    length = float(np.linalg.norm(values))
    if length == 0 or abs(length - 1) < 1e-4:
        return values
    return (values / length).astype("<f4")


_HELD = ("documents", "curations", "usage")
"""Tables of user input and paid results; all others are derived."""


def delete_if_empty(path: Path) -> None:
    """Delete an empty library.

    One with content or a writer stays, as do files that cannot be moved.

    The folder is moved aside before it is deleted, under the writer's lock: whoever opened it
    meanwhile finds no place to lock, and can store nothing that would be lost.
    """
    with suppress(LibraryError, OSError):
        library = Library(path, create=False)
        try:
            with library.writer(timeout_seconds=0):
                counts = library.counts()
                if any(counts[name] for name in _HELD):
                    return
                library.close()
                aside = tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent)
                path.rename(Path(aside) / path.name)
        finally:
            library.close()
        shutil.rmtree(aside)
