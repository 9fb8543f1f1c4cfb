"""Extraction by the language rules in a process of its own.

spaCy and the rules hold the interpreter's lock: only another process reads names while this one
embeds and stores. What a text gives depends on the text alone, so it is the same wherever it is
read. A text that crashes the process costs its own chunk.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..concurrency import WorkCancelled
from ..errors import EngineError
from ..ingest.child_process import ChildProcess, ProcessDied
from ..ingest.worker import (
    MAX_REQUEST_BYTES,
    Frame,
    Json,
    Notes,
    pack_frame,
    read_frame,
    receive,
    take_pipes,
    write_frame,
)

if TYPE_CHECKING:
    from .graph_api import Extraction, LanguageExtractor

ENTRY = __name__
"""The module whose `main` the process runs."""
_LOGGER = "loregraph"
_REPLY_LIMIT = 1 << 40
"""A reply comes from our own rules, which are limited by the text."""
_MOST_DEATHS = 30
"""Maximum number of processes that die in a row; after as many, texts are read in this one."""
_log = logging.getLogger("loregraph.graph.extract")


class ExtractionProcess:
    """Extractor that works in a process of its own while it is open, else in this one.

    Threads take turns; any may stop it.

    Args:
        spacy_model: as for `LanguageExtractor`.
        concepts: as for `LanguageExtractor`.
        local: the same extractor in this process.
    """

    def __init__(self, *, spacy_model: str, concepts: bool, local: LanguageExtractor) -> None:
        self._terms: Json = {"spacy_model": spacy_model, "concepts": concepts}
        self._local = local
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._process: ChildProcess | None = None
        self._is_open = self._is_stopped = False
        self._deaths = 0

    @property
    def identity(self) -> str:
        """The extractor's identity."""
        return self._local.identity

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let texts be read in a process, started for the first of them, ended with this block."""
        self._is_open, self._is_stopped, self._deaths = True, False, 0
        try:
            yield
        finally:
            self.stop()
            if self._process is not None:
                self._process.end()
            self._process, self._is_open, self._is_stopped = None, False, False

    def stop(self) -> None:
        """Kill the process; whoever waits for it gets `WorkCancelled`."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """Return one extraction per text, in order.

        Raises:
            ProcessDied: two processes died of these texts.
        """
        reply: Json | None = None
        with self._turn:
            if texts and self._is_open and self._deaths < _MOST_DEATHS:
                try:
                    reply = self._asked(texts)
                except ProcessDied:  # what an earlier text left behind may be the cause
                    reply = self._asked(texts)
        if reply is None or reply["kind"] != "extracted":
            return self._local.extract(texts)  # which raises what was raised there
        for note in _listed(reply["notes"]):
            _log.warning("%s", note)
        return [_from_json(each) for each in _listed(reply["found"])]

    def _asked(self, texts: Sequence[str]) -> Json | None:
        """Return the reply of the process; None where none can be started."""
        process = self._ready()
        if process is None:
            return None
        try:
            reply = process.ask({"texts": list(texts)})
        except ProcessDied as error:
            self._end(process)
            self._deaths += 1
            _log.warning("an extraction process %s\n%s", error, process.stderr_tail())
            raise
        self._deaths = 0
        return reply

    def _ready(self) -> ChildProcess | None:
        if self._is_stopped:
            raise WorkCancelled
        if self._process is not None and self._process.is_alive():
            return self._process
        if self._process is not None:
            self._end(self._process)
        try:
            process = ChildProcess(ENTRY, reply_limit=_REPLY_LIMIT)
        except EngineError as error:
            self._give_up(error)
            return None
        with self._lock:
            self._process = process
            if self._is_stopped:
                process.kill()
        try:
            process.greet(self._terms)
        except ProcessDied as error:
            self._end(process)
            self._give_up(error)
            return None
        return process

    def _end(self, process: ChildProcess) -> None:
        process.end()
        with self._lock:
            self._process = None
            if self._is_stopped:
                raise WorkCancelled

    def _give_up(self, error: Exception) -> None:
        _log.warning("names are extracted in this process: %s", error)
        self._deaths = _MOST_DEATHS


def main() -> None:
    """Extract texts until the pipe closes. The first frame says by which rules."""
    requests, replies = take_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = read_frame(requests, limit=MAX_REQUEST_BYTES)
    if first is None:
        return
    from .graph_api import LanguageExtractor

    terms = first.message
    extractor = LanguageExtractor(
        spacy_model=str(terms["spacy_model"]), concepts=bool(terms["concepts"])
    )
    notes = Notes(_LOGGER, logging.WARNING)
    write_frame(replies, pack_frame({"kind": "ready"}, limit=_REPLY_LIMIT))
    pending: SimpleQueue[Frame] = SimpleQueue()
    threading.Thread(target=receive, args=(requests, pending), daemon=True).start()
    while True:
        notes.begin()
        reply = _reply(pending.get(), extractor)
        reply["notes"] = notes.lines()
        write_frame(replies, pack_frame(reply, limit=_REPLY_LIMIT))


def _reply(job: Frame, extractor: LanguageExtractor) -> Json:
    """Return extractions, or that this process fails at them as the other one will."""
    from .graph_api import EXTRACT, isolation

    with suppress(ImportError, MemoryError, OSError), isolation(EXTRACT):
        texts = [str(text) for text in _listed(job.message["texts"])]
        return {"kind": "extracted", "found": [asdict(each) for each in extractor.extract(texts)]}
    return {"kind": "failed"}


def _from_json(value: Any) -> Extraction:
    from .graph_api import Claim, Description, Extraction, Mention, Statement

    return Extraction(
        mentions=tuple(Mention(**each) for each in value["mentions"]),
        statements=tuple(Statement(**each) for each in value["statements"]),
        descriptions=tuple(Description(**each) for each in value["descriptions"]),
        claims=tuple(Claim(**each) for each in value["claims"]),
    )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
