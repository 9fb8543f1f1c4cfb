"""Change detection: new and changed sources are read, unchanged ones skipped.

One source that cannot be read is a failure in the report and stops no other. A file whose size and
times are unchanged is taken to hold the same bytes; a web address is asked with the marks (ETag,
Last-Modified) of the last answer. Both hints are in one file in `derived/`, which only saves work
and can be deleted at any time.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..config import IngestSettings
from ..errors import SourceError
from ..types import MetaValue, SourceFailure, SourceText, check_name, is_empty, source_id
from .discovery import FileSource, sha256_of
from .load import SEPARATOR, document_from_part, read_llama_document, read_text
from .readers.database.connection import database_source
from .readers.database.reader import DatabaseNote, DatabaseOptions, read_database
from .sandbox import Job, ReaderPool, Reading

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from .http import Fetched

_SECRET = re.compile(r"(?<=:)//.*@", re.S)
Look = tuple[int, int, int, int]
"""Stat signature of a file; compared for equality only."""


class FileHints(Protocol):
    """Cache protocol that avoids re-reading sources (see `engine.ingest.change_detection`)."""

    def sha256_of(self, source: str, look: Look | None) -> str | None:
        """Return the hash of an unchanged file; None if it must be read."""
        ...

    def note_file(self, source: str, look: Look | None, sha256: str) -> None:
        """Remember how a file looked when its bytes had this hash."""

    def marks_of(self, source: str) -> tuple[str, str]:
        """ETag and Last-Modified of an address."""
        ...

    def note_address(self, source: str, *, etag: str, last_modified: str) -> None:
        """Remember what a server said of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """Stored state of a document, for change detection."""

    sha256: str
    recipe: str
    title: str
    source: str
    source_sha256: str
    given: Mapping[str, MetaValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestTarget:
    """User options for the documents to add.

    `given` is metadata of theirs: None leaves what a document has, anything else replaces it.
    """

    namespace: str = ""
    given: Mapping[str, MetaValue] | None = None

    def id_of(self, name: str) -> str:
        """Return the document id of a name within the namespace."""
        return source_id(self.namespace, name)


@dataclass(kw_only=True)
class ChangeDetector:
    """Reads sources; what came of them stands in its lists.

    Args:
        settings: limits.
        held: what the library holds, by document id.
        recipe: how a document would be cut, embedded and extracted now.
        wish: what the owner says of the documents.
        hints: what files and addresses looked like the last time.
        look: how a file looks without opening it.
        pool: where files are read.

    Attributes:
        unchanged: documents that are as the library holds them.
        failures: what could not be read, and why.
        gone: documents whose source was read and no longer holds them, or was emptied.
        outdated: documents whose file can no longer be read, by id, and why.
        notes: what was passed over on purpose, a line each.
        restamped: of documents that are the same in a source that is not, the source's new hash.
    """

    settings: IngestSettings
    held: Mapping[str, StoredDocument]
    recipe: str
    wish: IngestTarget
    hints: FileHints
    look: Callable[[Path], Look | None]
    pool: ReaderPool
    unchanged: list[str] = field(default_factory=list)
    failures: list[SourceFailure] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    outdated: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    restamped: dict[str, str] = field(default_factory=dict)

    # --- by kind of source ------------------------------------------------------------------

    def files(
        self,
        sources: Iterable[FileSource],
        *,
        progress: Callable[[int], None],
        passing: bool = False,
    ) -> Iterator[SourceText]:
        """Yield documents of new and changed files; an unchanged file costs a stat.

        Of files that are only `passing` through a folder, their place is not kept.
        """
        jobs = self._jobs(sources, progress, follows=not passing)
        for (source, look), outcome in self.pool.read(jobs):
            name = self.wish.id_of(source.id)
            if isinstance(outcome, Reading) and not passing:
                self.hints.note_file(name, look, outcome.sha256)
            path = None if passing else source.path
            follows = not passing
            yield from self._read(
                outcome, source=name, path=path, file_name=source.path.name, follows=follows
            )

    def is_unchanged(self, source: FileSource) -> bool:
        """Check whether a file is unchanged, by stat, else by hash.

        Raises:
            SourceError: it cannot be read.
        """
        source_id = self.wish.id_of(source.id)
        look = self.look(source.path)
        known = self.by_source.get(source_id, [])
        if not known:
            return False
        sha256 = self.hints.sha256_of(source_id, look)
        if sha256 is None:
            sha256 = sha256_of(source.path, max_bytes=self.settings.max_file_bytes)
            self.hints.note_file(source_id, look, sha256)
        return all(self._is_current(name, source_sha256=sha256) for name in known)

    def addresses(self, urls: Iterable[str]) -> Iterator[SourceText]:
        """Yield documents of new and changed web addresses."""
        urls = list(urls)
        if not urls:
            return  # the HTTP client is not loaded for nothing
        for (url, fetched), outcome in self.pool.read(self._fetched(urls)):
            source = self.wish.id_of(url)
            yield from self._read(outcome, source=source, path=None, file_name=fetched.file_name)
            if source in self.by_source or isinstance(outcome, Reading):
                marks = fetched.freshness
                self.hints.note_address(source, etag=marks.etag, last_modified=marks.last_modified)

    def databases(self, urls: Iterable[str], *, options: DatabaseOptions) -> Iterator[SourceText]:
        """Yield new and changed rows of databases; missing ones are recorded as deleted."""
        for url in urls:
            try:
                name = database_source(url)
            except SourceError as error:
                self.fail(_without_secret(url), error)
                continue
            source = self.wish.id_of(name)
            found, unread = set(), []
            try:
                for item in read_database(url, options=options):
                    match item:
                        case SourceFailure():
                            self.failures.append(item)
                            unread.append(self.wish.id_of(item.source))
                        case DatabaseNote():
                            self.notes.append(item.text)
                        case SourceText():
                            document = replace(item, id=self.wish.id_of(item.id), source=source)
                            found.add(document.id)
                            yield from self._if_new(document)
            except SourceError as error:
                self.fail(name, error)
                continue
            missing = set(self.by_source.get(source, ())) - found
            if options.tables:  # of tables that were not asked for nothing is known
                read = {name.rpartition("/")[0] for name in found}
                missing = {name for name in missing if name.rpartition("/")[0] in read}
            rows = tuple(f"{place}/" for place in unread)
            self.gone |= {row for row in missing if row not in unread and not row.startswith(rows)}

    def documents(self, documents: Iterable[Document]) -> Iterator[SourceText]:
        """LlamaIndex documents that are new or changed."""
        limit = self.settings.max_document_characters
        for document in documents:
            try:
                check_name(document.id_)
                source = read_llama_document(document, max_characters=limit)
            except SourceError as error:
                self.fail(document.id_, error)
                continue
            yield from self._if_new(self._named(source))

    def text(self, text: str, *, document_id: str, title: str) -> Iterator[SourceText]:
        """One text in hand, if it is new or changed."""
        limit = self.settings.max_document_characters
        try:
            check_name(document_id)
            source = read_text(text, document_id=document_id, title=title, max_characters=limit)
        except SourceError as error:
            self.fail(document_id, error)
            return
        yield from self._if_new(self._named(source))

    def fail(self, source: str, error: SourceError) -> None:
        """Note why a source is not there."""
        self.failures.append(SourceFailure(source=source, reason=str(error)))

    # --- what they share --------------------------------------------------------------------

    @cached_property
    def by_source(self) -> Mapping[str, list[str]]:
        """The documents held of each source, sorted."""
        found: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.held):
            found[self.held[name].source].append(name)
        return found

    def _named(self, source: SourceText) -> SourceText:
        name = self.wish.id_of(source.id)
        return replace(source, id=name, source=name)

    def _is_current(self, name: str, *, source_sha256: str) -> bool:
        held = self.held[name]
        return (
            held.recipe == self.recipe
            and held.source_sha256 == source_sha256
            and (self.wish.given is None or self.wish.given == held.given)
        )

    def _jobs(
        self, sources: Iterable[FileSource], progress: Callable[[int], None], *, follows: bool
    ) -> Iterator[tuple[tuple[FileSource, Look | None], Job]]:
        for number, source in enumerate(sources):
            progress(number)
            look = self.look(source.path)  # before it is read: what changes later looks different
            try:
                unchanged = self.is_unchanged(source)
            except SourceError as error:
                self.fail(source.id, error)
                if follows:
                    self._outdate(self.by_source.get(self.wish.id_of(source.id), ()), error)
                continue
            if unchanged:
                self.unchanged += self.by_source[self.wish.id_of(source.id)]
            else:
                yield (source, look), Job(name=source.path.name, path=source.path)

    def _fetched(self, urls: Iterable[str]) -> Iterator[tuple[tuple[str, Fetched], Job]]:
        from .http import FetchLimits, Freshness, canonical_url, fetch_url

        limits = FetchLimits(
            max_bytes=self.settings.max_file_bytes,
            timeout_seconds=self.settings.fetch_timeout_seconds,
            allow_private=self.settings.allow_private_addresses,
        )
        for given in urls:
            url = None
            try:
                url = canonical_url(given)
                source = self.wish.id_of(url)
                known = self.by_source.get(source, [])
                current = known and all(
                    self._is_current(name, source_sha256=self.held[name].source_sha256)
                    for name in known
                )
                etag, modified = self.hints.marks_of(source) if current else ("", "")
                marks = Freshness(etag=etag, last_modified=modified) if etag or modified else None
                fetched = fetch_url(url, known=marks, limits=limits)
            except SourceError as error:
                if url is not None or "@" not in given:
                    self.fail(given, error)
                else:  # the reason may quote what is a password
                    why = "has a user name or password in it: leave them out of the address"
                    self.fail(_without_secret(given), SourceError(why))
                continue
            if fetched is None:
                self.unchanged += known
            else:
                yield (url, fetched), Job(name=fetched.file_name, data=fetched.data)

    def _read(
        self,
        outcome: Reading | SourceError,
        *,
        source: str,
        path: Path | None,
        file_name: str,
        follows: bool = True,
    ) -> Iterator[SourceText]:
        """Read the documents of one source; record the missing ones as deleted.

        Where a part could not be read, the document that it was, or those that lay inside it, stay
        as they are, outdated; where there is nothing in it any more, they are gone. An upload
        (nothing that `follows` a file) that cannot be read changes nothing.
        """
        held = self.by_source.get(source, [])
        if isinstance(outcome, SourceError):
            self.fail(source, outcome)
            if follows:
                self._outdate(held, outcome, is_file=path is not None)
            return
        if not follows and all(part.content is None for part in outcome.parts):
            held = []
        found: set[str] = set()
        for part in outcome.parts:
            name = f"{source}{SEPARATOR}{part.name}" if part.name else source
            if name in found:
                self.fail(name, SourceError("occurs twice: only the first is read"))
                continue
            found.add(name)
            if part.content is None:
                error = SourceError(part.failure)
                self.fail(name, error)
                inside = f"{name}{SEPARATOR}"
                kept = [each for each in held if each == name or each.startswith(inside)]
                self._outdate(kept, error, is_file=path is not None)
                found.update(kept)
                continue
            document = document_from_part(
                part, part.content, document_id=name, source=source, path=path, file_name=file_name
            )
            yield from self._if_new(replace(document, source_sha256=outcome.sha256))
        self.gone |= set(held) - found

    def _outdate(
        self, documents: Iterable[str], error: SourceError, *, is_file: bool = True
    ) -> None:
        """Documents whose source cannot be read stay, outdated; an emptied file's are gone.

        An address that gives nothing is more likely ill than emptied.
        """
        if is_file and is_empty(str(error)):
            self.gone.update(documents)
        else:
            self.outdated.update(dict.fromkeys(documents, str(error)))

    def _if_new(self, document: SourceText) -> Iterator[SourceText]:
        held = self.held.get(document.id)
        given = self.wish.given
        if given is None:
            given = held.given if held is not None else {}
        document = replace(document, given=given, namespace=self.wish.namespace)
        now = StoredDocument(
            sha256=document.sha256,
            recipe=self.recipe,
            title=document.title,
            source=document.source,
            source_sha256=document.source_sha256 or document.sha256,
            given=given,
        )
        if held is None or replace(held, source_sha256=now.source_sha256) != now:
            yield document
            return
        self.unchanged.append(document.id)
        if held != now:
            self.restamped[document.id] = now.source_sha256


def _without_secret(address: str) -> str:
    """Return an unparsable address without anything that may be a password."""
    return _SECRET.sub("//…@", address).partition("?")[0]


FILE_NAME = "seen.json"
_RACY_NANOSECONDS = 2_000_000_000
"""Files modified this shortly before reading are not cached.

A later write within one clock tick would go unseen.
"""


class FileStateCache:
    """Hints of one library, read when first needed; nothing is written before `save`."""

    def __init__(self, library: Path) -> None:
        self._path = library / "derived" / FILE_NAME
        self._changed = False

    @property
    def _files(self) -> dict[str, list[Any]]:
        return self._held[0]

    @property
    def _addresses(self) -> dict[str, list[str]]:
        return self._held[1]

    @property
    def is_read(self) -> bool:
        """Check whether hints were needed."""
        return "_held" in vars(self)

    def sha256_of(self, source: str, look: Look | None) -> str | None:
        """Return the hash of an unchanged file; None if it must be read."""
        held = self._files.get(source)
        if look is None or held is None or held[:-1] != list(look):
            return None
        return str(held[-1])

    def note_file(self, source: str, look: Look | None, sha256: str) -> None:
        """Remember how a file looked when its bytes had this hash."""
        settled = look is not None and time.time_ns() - max(look[1], look[2]) > _RACY_NANOSECONDS
        entry = [*look, sha256] if look is not None and settled else None
        if entry is None:
            self._changed |= self._files.pop(source, None) is not None
        elif self._files.get(source) != entry:
            self._files[source] = entry
            self._changed = True

    def marks_of(self, source: str) -> tuple[str, str]:
        """ETag and Last-Modified of an address; empty where none is known."""
        etag, modified = self._addresses.get(source, ("", ""))
        return etag, modified

    def note_address(self, source: str, *, etag: str, last_modified: str) -> None:
        """Remember what a server said of an address."""
        if self._addresses.get(source) != [etag, last_modified]:
            self._addresses[source] = [etag, last_modified]
            self._changed = True

    @property
    def sources(self) -> set[str]:
        """Return the sources of which something is known."""
        return self._files.keys() | self._addresses.keys()

    def save(self, *, gone: Collection[str]) -> None:
        """Save what is known of all sources but those that are gone.

        A disk that refuses costs the hints alone.
        """
        for known in (self._files, self._addresses):
            for source in gone:
                self._changed |= known.pop(source, None) is not None
        if not self._changed:
            return
        values = {"files": self._files, "addresses": self._addresses}
        text = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        temporary = self._path.with_suffix(f".{os.getpid()}.part")
        try:
            self._path.parent.mkdir(exist_ok=True)
            temporary.write_text(text, encoding="utf8")
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)
        self._changed = False

    @cached_property
    def _held(self) -> tuple[dict[str, list[Any]], dict[str, list[str]]]:
        """The hints of files, and those of addresses."""
        try:
            values = json.loads(self._path.read_text(encoding="utf8"))
            files, addresses = values["files"], values["addresses"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}, {}  # never written, or damaged: everything is looked at again
        if not (isinstance(files, dict) and isinstance(addresses, dict)):
            return {}, {}
        return (
            {k: v for k, v in files.items() if _is_list(v, 5)},
            {k: v for k, v in addresses.items() if _is_list(v, 2)},
        )


def stat_signature(path: Path) -> Look | None:
    """Return a file's stat signature; None if absent or not a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _is_list(value: object, length: int) -> bool:
    return isinstance(value, list) and len(value) == length
