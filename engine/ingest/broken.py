"""Error reasons for unforeseen reader exceptions.

A reader is many parsers of other people, fed with files of yet others; what one raises unforeseen
is a fact about the file, and named as its reason.
"""

from __future__ import annotations

_MESSAGE_LIMIT = 200
_OUT_OF_MEMORY = (
    "bad_alloc",
    "memoryerror",
    "out of memory",
    "cannot allocate",
    "alloc failed",
    "memory allocation",
)


def shown(error: BaseException) -> str:
    """Format the exception's type and the start of its message, on one line."""
    message = " ".join(str(error)[:_MESSAGE_LIMIT].split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def broken_reason(said: str) -> str:
    """Return the failure reason for an unforeseen exception."""
    return (
        f"broke its reader ({said}): it is damaged or unusual; "
        "save it again, or convert it to another format"
    )


def is_memory_error(words: str) -> bool:
    """Check whether a foreign error means lack of memory."""
    words = words.casefold()
    return any(sign in words for sign in _OUT_OF_MEMORY)
