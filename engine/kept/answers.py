"""Answers that were given before, by all that they depend on.

An answer depends on the question and what was said before it, on what may be seen, on the library
as it is, on the settings and on the models. Its library's state is part of its key, so that a
change by any process leaves it unfound; what was kept before the change is let go. An answer in
which a stage failed, or that rests on anything outside, is not kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from dataclasses import dataclass, replace

from ..answer.overviews.plan import Effort
from ..index.filters import DocumentFilter
from ..index.library import Library
from ..index.stamps import answer_cache_stamp, contents_fingerprint
from ..types import Answer, TraceStep, Turn, Usage
from .reading import read, written
from .shelf import CacheBackend

_LOGGER = logging.getLogger("loregraph")
VERSION = "3"
UNCACHEABLE = ("failed", "unusable", "outside")
"""Figures of a step, above nil, of an answer that is not to be given again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRequest:
    """Cache request: the question, its history, mode, effort and document filter.

    `effort` is that of an overview; None leaves it to the settings.
    """

    question: str
    mode: str
    within: DocumentFilter | None
    turns: tuple[Turn, ...] = ()
    effort: Effort | None = None


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Cache key of a question in one state of the library."""

    question: str
    key: str
    stamp: str


class AnswerCache:
    """Of one library. Safe to share by threads.

    Args:
        library: whose answers these are.
        shelf: where they lie.
        made_by: the settings and models that made them, as one text.
    """

    def __init__(self, library: Library, shelf: CacheBackend, *, made_by: str) -> None:
        self._library = library
        self._shelf = shelf
        self._made_by = made_by
        self._lock = threading.Lock()
        self._stamp = ""
        self._contents = ""

    def key_of(self, asked: CacheRequest) -> CacheKey:
        """Return the cache key of a question for the library's present state."""
        stamp = self._current()
        parts = [
            VERSION,
            self._contents if self._shelf.is_shared else "",
            stamp,
            self._made_by,
            asked.question,
            asked.mode,
            asked.effort,
            asked.within.key if asked.within is not None else None,
            [[turn.question, turn.answer] for turn in asked.turns],
        ]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return CacheKey(asked.question, key, stamp)

    def find(self, place: CacheKey) -> Answer | None:
        """Return the cached answer, at no cost; its trace says so."""
        data = self._shelf.get(place.key)
        if data is None:
            return None
        with self._library.read():
            answer = read(data, question=place.question, text_at=self._library.text_at)
        if answer is None:
            _LOGGER.warning("a kept answer is not used: it does not fit the library")
            return None
        return _for_nothing(answer)

    def keep(self, place: CacheKey, answer: Answer) -> None:
        """Keep an answer, unless the library changed while it was given or a stage failed."""
        failed = any(step.figures.get(name) for step in answer.trace for name in UNCACHEABLE)
        if failed or self._current() != place.stamp:
            return
        data = written(answer)
        if data is not None:
            self._shelf.put(place.key, data)

    def clear(self) -> None:
        """Clear the cache after the library changed."""
        self._shelf.clear()

    def close(self) -> None:
        """Nothing is kept any more."""
        self._shelf.close()

    def _current(self) -> str:
        """Return the library's state; a new state evicts the answers of the previous one."""
        with self._library.read() as connection:
            stamp = answer_cache_stamp(connection)
            with self._lock:
                if stamp == self._stamp:
                    return stamp
                known = bool(self._stamp)
                if self._shelf.is_shared:
                    self._contents = contents_fingerprint(connection)
                self._stamp = stamp
        if known:
            self._shelf.clear()
        return stamp


def _for_nothing(answer: Answer) -> Answer:
    """Return the answer with its usage counted as cached and without times."""
    said = "answered before; the steps are those of then"
    step = TraceStep(stage="cache", detail=said, seconds=0.0)
    then = (replace(each, seconds=0.0, usage=_kept(each.usage)) for each in answer.trace)
    return replace(answer, trace=(step, *then), usage=_kept(answer.usage))


def _kept(usage: Usage) -> Usage:
    return Usage(kept=usage.calls + usage.kept)
