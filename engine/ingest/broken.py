"""What an exception that no reader foresaw says of the file that it was reading.

A reader is many parsers of other people, fed with files of yet others; what one raises unforeseen
is a fact about the file, and named as its reason. Knows nothing of who catches it.
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
    """The exception's type and the start of its message, on one line."""
    message = " ".join(str(error)[:_MESSAGE_LIMIT].split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def broken_reason(said: str) -> str:
    """The reason of a source whose reader raised what is `shown`; it can follow the name."""
    return (
        f"broke its reader ({said}): it is damaged or unusual; "
        "save it again, or convert it to another format"
    )


def speaks_of_memory(words: str) -> bool:
    """Whether an error that is not Python's own says that there was not enough memory."""
    words = words.casefold()
    return any(sign in words for sign in _OUT_OF_MEMORY)
