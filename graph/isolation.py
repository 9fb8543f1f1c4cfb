"""Isolation of unexpected errors: one text that a stage cannot take costs itself alone.

`Isolation` is the one place of both packages where any exception is caught. What is known to end a
run (errors raised on purpose, a refusing disk or database, missing modules, memory, Ctrl-C) goes on
its way.
"""

from __future__ import annotations

import logging
import re
import traceback
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Self

from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    ProgrammingError,
)

from .errors import GraphError

MAX_MESSAGE_CHARACTERS = 200
"""Maximum number of characters that are kept of an exception's own message."""

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
_PACKAGES = ("engine", "graph")
_OF_THE_DATA = (IntegrityError, DataError, InterfaceError, ProgrammingError)
"""Database errors about rows; others concern the database itself."""

_OF_THE_MACHINE = (GraphError, MemoryError, OSError, ImportError)
_log = logging.getLogger("loregraph")


@dataclass(frozen=True, slots=True)
class Fault:
    """An unexpected error of one stage: the stage, and the error's type, message and place.

    `reason` holds no address and no time: the same text and code give the same one.
    """

    stage: str
    reason: str
    error: Exception | None = field(default=None, compare=False, repr=False)

    def log(self, subject: str) -> None:
        """Log that the stage failed for `subject`, with the traceback."""
        _log.error("%s of %r failed: %s", self.stage, subject, self.reason, exc_info=self.error)


@dataclass(slots=True)
class Isolation:
    """Context manager that keeps an unexpected error of its block as `fault`.

    `stage` names the work in the fault; `passing` are further errors that are raised on purpose.
    """

    stage: str
    passing: tuple[type[Exception], ...] = ()
    fault: Fault | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if not isinstance(error, Exception) or _ends_the_run(error, self.passing):
            return False
        self.fault = Fault(stage=self.stage, reason=reason_of(error), error=error)
        return True

    @property
    def caught(self) -> Fault:
        """Fault of a block that failed."""
        if self.fault is None:
            raise ValueError(f"no fault in {self.stage!r}: the block has ended")
        return self.fault


def reason_of(error: BaseException) -> str:
    """Type, message and place (`module:line` of the innermost frame of the product) of an error."""
    message = _ADDRESS.sub("0x…", " ".join(str(error).split()))
    if len(message) > MAX_MESSAGE_CHARACTERS:
        message = f"{message[:MAX_MESSAGE_CHARACTERS]}…"
    message = message.encode("utf8", "backslashreplace").decode("utf8")
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    place = _place(error)
    return f"{said} ({place})" if place else said


def product_version() -> str:
    """Return the product version; another version retries faulty texts."""
    try:
        return version("loregraph")
    except PackageNotFoundError:
        return ""


def _place(error: BaseException) -> str:
    places = [
        f"{name}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        for name in [str(frame.f_globals.get("__name__", ""))]
        if name.partition(".")[0] in _PACKAGES and name != __name__
    ]
    return places[-1] if places else ""


def _ends_the_run(error: BaseException, passing: tuple[type[Exception], ...]) -> bool:
    """Check whether an error concerns the run or the machine instead of the text."""
    for one in (error, error.__cause__):
        if isinstance(one, DBAPIError):
            return not isinstance(one, _OF_THE_DATA)
    return isinstance(error, (*_OF_THE_MACHINE, *passing)) or _is_interruption(error)


def _is_interruption(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
