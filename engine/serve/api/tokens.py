"""Bearer tokens: 256 random bits, shown once, kept as their SHA-256.

A plain hash is enough here: a password's hash must be slow because passwords can be guessed, and
256 random bits cannot, however fast one tries. The file holds hashes, names and rights, no secret.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from filelock import FileLock

from ...errors import SettingsError
from ...ingest.content import sanitise_text
from ...namespaces import check_namespace
from ...settings import Settings
from .principal import Principal

FILE_NAME = "tokens.json"
PREFIX = "lore_"
ALL = "*"
_SECRET_BYTES = 32
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """Stored token; `id` is the start of its hash. Namespaces are sorted, `*` is all.

    From `expires` (UTC) on it is refused; None is never.
    """

    id: str
    name: str
    sha256: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    is_admin: bool = False
    expires: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        """Check whether the token has expired."""
        return self.expires is not None and now >= self.expires

    @property
    def principal(self) -> Principal:
        """Return the principal of the token."""
        return Principal(
            id=self.id,
            name=self.name,
            reads=_namespaces(self.reads),
            writes=_namespaces(self.writes),
            is_admin=self.is_admin,
        )


class TokenStore:
    """Token store in one file; other processes' writes take effect at once; thread-safe."""

    def __init__(self, file: str | Path) -> None:
        self.file = Path(file)
        self._guard = threading.Lock()
        self._look: tuple[int, int, int] | None = None
        self._rows: tuple[TokenRow, ...] = ()

    def rows(self) -> tuple[TokenRow, ...]:
        """All tokens, in the order in which they were made.

        Raises:
            SettingsError: the file cannot be read, or is no list of tokens.
        """
        with self._guard:
            look = _look_at(self.file)
            if look != self._look:
                self._rows = _read(self.file) if look is not None else ()
                self._look = look
            return self._rows

    def row_of(self, token: str) -> TokenRow | None:
        """Return the row of a token, expired or not; None if unknown.

        Looks at every hash, always.
        """
        digest = _sha256(token)
        found = None
        for row in self.rows():
            if hmac.compare_digest(row.sha256, digest):
                found = row
        return found

    def create(
        self,
        name: str,
        *,
        reads: Collection[str] = (),
        writes: Collection[str] = (),
        is_admin: bool = False,
        expires: datetime | None = None,
    ) -> tuple[TokenRow, str]:
        """Create a token; the secret is not stored; `*` means all namespaces.

        From `expires` on (with its zone) it is refused.

        Raises:
            SettingsError: it may do nothing, the name is taken, or the file cannot be written.
            SourceError: a namespace that cannot be.
        """
        if not (reads or writes or is_admin):
            raise SettingsError(
                "a token that may do nothing: say --read, --write (a namespace, '' for the one "
                "without a name, or '*' for all) or --admin"
            )
        if sanitise_text(name) != name or not name.strip():
            raise SettingsError(f"{name!r} is no name for a token: give it letters")
        for namespace in {*reads, *writes} - {ALL}:
            check_namespace(namespace)
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        digest = _sha256(secret)
        row = TokenRow(
            id=digest[:8],
            name=name,
            sha256=digest,
            reads=tuple(sorted(set(reads))),
            writes=tuple(sorted(set(writes))),
            is_admin=is_admin,
            expires=expires,
        )
        with self._changing():
            rows = self.rows()
            if any(name == each.name for each in rows):
                raise SettingsError(f"there is a token named {name!r}: revoke it, or name another")
            self._write([*rows, row])
        return row, secret

    def revoke(self, wanted: str) -> TokenRow:
        """Forget a token by its id or its name; it is refused from the next request on.

        Raises:
            SettingsError: there is none, or the file cannot be written.
        """
        with self._changing():
            rows = self.rows()
            found = next((each for each in rows if wanted in (each.id, each.name)), None)
            if found is None:
                raise SettingsError(f"no token {wanted!r}: `loregraph token list` shows them")
            self._write([each for each in rows if each != found])
        return found

    def _changing(self) -> FileLock:
        if not self.file.parent.is_dir():
            raise SettingsError(
                f"no folder {str(self.file.parent)!r} for tokens: `loregraph add` makes a library"
            )
        return FileLock(self.file.with_name(f"{self.file.name}.lock"))

    def _write(self, rows: Sequence[TokenRow]) -> None:
        values = [
            {
                "id": row.id,
                "name": row.name,
                "sha256": row.sha256,
                "read": list(row.reads),
                "write": list(row.writes),
                "admin": row.is_admin,
                "expires": row.expires.isoformat() if row.expires else None,
            }
            for row in rows
        ]
        text = json.dumps({"tokens": values}, ensure_ascii=False, indent=1)
        try:
            handle, temporary = tempfile.mkstemp(dir=self.file.parent, prefix=".tokens-")
            with os.fdopen(handle, "w", encoding="utf8") as file:  # made for its owner alone
                file.write(text + "\n")
            Path(temporary).replace(self.file)
        except OSError as error:
            raise SettingsError(f"cannot write {str(self.file)!r}: {error.strerror}") from error


def tokens_file(settings: Settings, library: Path) -> Path:
    """Return the token file of a library."""
    named = settings.serve.tokens_file
    return Path(named) if named else library / FILE_NAME


def time_after(duration: str, now: datetime) -> datetime:
    """When a duration such as `90d`, `12h` or `2w` is over, to the second.

    Raises:
        SettingsError: it cannot be read, is nil, or ends beyond the calendar.
    """
    read = re.fullmatch(r"(\d{1,7})([hdw])", duration.strip().lower(), re.ASCII)
    if read is None or not int(read[1]):
        raise SettingsError(f"{duration!r} is no time that a token may last: write 90d, 12h or 2w")
    try:
        over = now + timedelta(hours=int(read[1]) * _HOURS[read[2]])
    except OverflowError as error:
        raise SettingsError(f"{duration!r} ends beyond the calendar: leave it out") from error
    return over.astimezone(UTC).replace(microsecond=0)


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _namespaces(names: Sequence[str]) -> frozenset[str] | None:
    return None if ALL in names else frozenset(names)


def _look_at(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"cannot read {str(file)!r}: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(file: Path) -> tuple[TokenRow, ...]:
    try:
        values = json.loads(file.read_text(encoding="utf8"))["tokens"]
        return tuple(_row(value) for value in values)
    except OSError as error:
        raise SettingsError(f"cannot read {str(file)!r}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{str(file)!r} is no list of tokens: mend or remove it") from error


def _row(value: dict[str, Any]) -> TokenRow:
    reads, writes = value["read"], value["write"]
    if not all(isinstance(each, str) for each in (*reads, *writes, value["sha256"])):
        raise TypeError("namespaces and hashes are texts")
    over = datetime.fromisoformat(value["expires"]) if value.get("expires") else None
    if over is not None and over.tzinfo is None:
        raise ValueError("a time without its zone")
    return TokenRow(
        id=str(value["id"]),
        name=str(value["name"]),
        sha256=value["sha256"],
        reads=tuple(reads),
        writes=tuple(writes),
        is_admin=value["admin"] is True,
        expires=over,
    )
