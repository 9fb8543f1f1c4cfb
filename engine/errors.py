"""Exception tree of the engine.

    EngineError
    ├── SettingsError          a profile or an environment override that cannot be used
    ├── MissingExtra           an optional part is not installed; the message names the extra
    ├── LibraryError
    │   ├── LibraryNotFound    there is no library at this path
    │   ├── LibraryBusy        another process is writing
    │   ├── LibraryUnusable    not a library, a newer schema, a damaged or full disk
    │   └── VectorStoreUnavailable  the store that settings name cannot be reached, or refuses
    ├── SourceError            a source that cannot be read (one of many: a row in the report)
    ├── TooManyRemovals        a run would remove a large part of what was named: it wants a yes
    ├── QuestionError          a question that cannot be asked
    ├── NotAllowed             a namespace, file or address that is not for this caller
    ├── ModelError
    │   ├── ModelUnavailable   an endpoint or a model file that cannot be reached
    │   ├── ModelInputTooLong  a request that does not fit into the model's window
    │   ├── ModelOutputError   an answer that cannot be used
    │   └── BudgetExceeded     a call was not made, since it could cost more than is allowed
    └── GraphStageError        an error of the graph package, mapped at the door
        └── UnknownName        nothing that may be seen has this name or id

A message says what happened, the value, and what to do next, in one line.
"""

from collections.abc import Iterable, Mapping
from typing import Any


class EngineError(Exception):
    """Root of all errors that this package raises on purpose."""


class SettingsError(EngineError):
    """A profile or an override cannot be used."""


class MissingExtra(EngineError):
    """An optional part is not installed."""


class LibraryError(EngineError):
    """The library cannot do what was asked."""


class LibraryNotFound(LibraryError):
    """There is no library at this path."""


class LibraryBusy(LibraryError):
    """Another process is writing to this library."""


class LibraryUnusable(LibraryError):
    """The path holds something that is not a usable library, or the disk refuses."""


class VectorStoreUnavailable(LibraryError):
    """The vector store cannot be reached, or refuses; the library itself is whole."""


class SourceError(EngineError):
    """A source cannot be read."""


class TooManyRemovals(EngineError):
    """A run would remove many of the documents that it is about, and nobody agreed to that."""


class QuestionError(EngineError):
    """The question cannot be asked."""


class NotAllowed(EngineError):
    """This caller may not see or change that."""


class ModelError(EngineError):
    """A model could not do its part."""


class ModelUnavailable(ModelError):
    """A model or its endpoint cannot be reached."""


class ModelInputTooLong(ModelError):
    """A request does not fit into the model's window: send less text at a time."""


class ModelOutputError(ModelError):
    """A model's answer cannot be used."""


class BudgetExceeded(ModelError):
    """A call was not made: with it, the budget could be exceeded."""


class GraphStageError(EngineError):
    """The graph package refused; mapped once, at the door."""


class UnknownName(GraphStageError):
    """Nothing that may be seen has this name or id; the message names what comes near."""


def field_problems(
    problems: Iterable[Mapping[str, Any]], *, unknown: str = "unknown key"
) -> list[tuple[str, str]]:
    """Return field and reason of each of pydantic's problems, worded for the user."""
    return [
        (
            ".".join(str(part) for part in problem["loc"]),
            unknown if problem["type"] == "extra_forbidden" else plain_reason(problem["msg"]),
        )
        for problem in problems
    ]


def plain_reason(message: str) -> str:
    """Return a message of pydantic's without the name of the exception that it wraps."""
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
