"""LLM extraction of committed chunks.

Chunks that it has not read yet are packed several into one call, whichever documents they belong
to, and what it found is committed as each answer arrives: a crash loses the calls in flight alone,
and whatever could not be read stays noted with its reason, to be read by the next run unless the
model cannot read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from sqlalchemy import Connection

from ..concurrency import parallel_map
from ..embeddings.tokenizer import TokenCount
from ..errors import ModelError, ModelInputTooLong, ModelOutputError
from ..events import Progress
from ..llm.client import LLMClient
from ..llm.retry import CircuitBreaker
from ..storage.graph_api import (
    CUT_OFF,
    EXTRACT,
    FAILED,
    HAND_MADE,
    Extraction,
    ExtractionSchema,
    Extractor,
    Fault,
    Pack,
    PackResult,
    Prompt,
    UnreadChunk,
    chunk_context,
    extract_pack,
    extractions_by_text,
    forget_faults,
    isolation,
    merge_extractions,
    pack_chunks,
    put_extractions,
    put_faults,
    put_pending,
    read_extractions,
    sentence_spans,
    shift_extraction,
    unread_chunks,
)
from ..storage.library import Library
from ..storage.preparation import read_alone
from ..types import SEPARATOR, PendingChunk
from .unanswered import Unanswered, is_final

STAGE = "extraction"
"""The stage under which calls are booked."""

MIN_CHARACTERS = 200
"""A text that is shorter and still too long for the model is not halved any more."""

TRIED_ALONE = 3
"""Number of failed texts retried alone before at least one must succeed."""

FILL_BATCH = 64

Waiting = dict[str, list[UnreadChunk]]
"""Chunks by the hash of their text, in the order in which they are read."""


@dataclass(slots=True)
class LLMExtractionResult:
    """Result of a run: texts read, unreadable chunks and dropped items."""

    read: int = 0
    pending: list[PendingChunk] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """Chunks of one text that the model has not read, why, and whether it is not asked again."""

    reason: str
    chunks: Sequence[UnreadChunk]
    unreadable: bool


class LLMExtractionRunner:
    """Reads a library's chunks with a language model.

    Args:
        library: where chunks are read and what is found is kept.
        client: the model; what another has read is read anew.
        schema: what is looked for.
        beside: the extractor whose findings are kept beside the model's; None replaces them.
        fill: reads what the model could not, until it can; None leaves it unread.
        pack_tokens: how much text goes into one call.
        count: tokens of a text.
    """

    def __init__(
        self,
        library: Library,
        *,
        client: LLMClient,
        schema: ExtractionSchema,
        beside: Extractor | None,
        fill: Extractor | None,
        pack_tokens: int,
        count: TokenCount,
    ) -> None:
        self._library = library
        self._client = client
        self._schema = schema
        self._beside = beside
        self._fill = fill
        self._pack_tokens = pack_tokens
        self._count = count
        parts = [
            client.identity,
            schema.identity,
            *([beside.identity] if beside is not None else []),
        ]
        self.identity = " + ".join(parts)
        asker = f"{client.identity} {schema.identity}"
        self._unanswered = Unanswered(library, stage=STAGE, asker=asker)

    def packed(
        self, texts: Mapping[str, str], contexts: Mapping[str, str] | None = None
    ) -> list[Pack]:
        """Return the packs in which texts, by hash, would be sent, in order."""
        return pack_chunks(
            list(texts.items()),
            count=self._count,
            target_tokens=self._pack_tokens,
            contexts=contexts,
        )

    @property
    def keeps_rule_based(self) -> bool:
        """Check whether rule-based extraction also covers the chunks."""
        return self._beside is not None

    def known(self, shas: Iterable[str]) -> dict[str, Extraction]:
        """Return stored extractions of these text hashes."""
        with self._library.read() as connection:
            return extractions_by_text(connection, shas, extractor=self.identity)

    def waiting(self) -> dict[str, str]:
        """Return texts of the library pending for the model, by hash."""
        waiting = self._waiting()
        unreadable = self.unreadable(waiting)
        return {sha: held[0].text for sha, held in waiting.items() if sha not in unreadable}

    def unreadable(self, shas: Collection[str]) -> dict[str, str]:
        """Why the model cannot read texts of these hashes, and is not asked about them again."""
        return self._unanswered.reasons(shas)

    def run(self, *, progress: Progress) -> LLMExtractionResult:
        """Read everything that is not read yet.

        Texts that failed in company are tried alone, so that one that no model answers about takes
        no other with it. A model that does not answer, or a budget that is used up, ends the run
        early: no error, what is left is in the result and in the library.
        """
        done = LLMExtractionResult()
        held = self._take_over(self._waiting())
        unreadable = self.unreadable(held)
        waiting = {sha: chunks for sha, chunks in held.items() if sha not in unreadable}
        patience = CircuitBreaker()
        calls = _Calls(self._client, self._schema, patience=patience)
        reasons = self._read(waiting, calls, done, progress) if waiting else {}
        final = calls.final(sha for sha in reasons if sha in waiting)
        unreadable |= {sha: reasons[sha] for sha in final}
        self._unanswered.keep(unreadable, asked=held)
        left = {
            sha: _Left(
                reason=unreadable.get(sha) or reasons.get(sha, patience.over),
                chunks=chunks,
                unreadable=sha in unreadable,
            )
            for sha, chunks in held.items()
            if sha in waiting or sha in unreadable
        }
        self._note(left, done)
        done.pending.sort(key=lambda one: (one.document_id, one.chunk_id))
        return done

    def _read(
        self, waiting: Waiting, calls: _Calls, done: LLMExtractionResult, progress: Progress
    ) -> dict[str, str]:
        """Read what can be read of these, which then wait no more; why others could not be."""
        total = len(waiting)
        planned = [
            pack
            for part in _by_namespace(waiting)
            for pack in self.packed(
                {sha: held[0].text for sha, held in part.items()},
                {sha: _context(held) for sha, held in part.items()},
            )
        ]
        progress("read with the model", 0, total)
        reasons: dict[str, str] = {}

        def read(some: Sequence[Pack]) -> None:
            taken = calls.patience.guard(some)
            for result in parallel_map(taken, calls.read, workers=self._client.concurrency):
                reasons.update(self._keep(result, waiting, done))
                progress("read with the model", total - len(waiting), total)

        read(planned)
        alone = _alone(planned, reasons.keys() - calls.divided)
        read(alone[:TRIED_ALONE])
        if done.read:
            read(alone[TRIED_ALONE:])
        return reasons

    def _waiting(self) -> Waiting:
        waiting: Waiting = {}
        with self._library.read() as connection:
            for chunk in unread_chunks(connection, readers=(self.identity, HAND_MADE)):
                waiting.setdefault(chunk.text_sha, []).append(chunk)
        return waiting

    def _take_over(self, waiting: Waiting) -> Waiting:
        """Store what was read from the same text in another chunk; what is left."""
        with self._library.read() as connection:
            known = extractions_by_text(connection, waiting, extractor=self.identity)
        if known:
            found = {chunk.id: known[sha] for sha in known for chunk in waiting[sha]}
            with self._library.write() as connection:
                put_extractions(connection, found, extractor=self.identity)
        return {sha: held for sha, held in waiting.items() if sha not in known}

    def _keep(
        self, result: PackResult, waiting: Waiting, done: LLMExtractionResult
    ) -> Mapping[str, str]:
        """Commit what the answers to one pack gave, for every chunk of the same texts.

        Why nothing was found in the others, which go on waiting.
        """
        read = {
            chunk.id: extraction
            for sha, extraction in result.found.items()
            for chunk in waiting[sha]
        }
        with self._library.write() as connection:
            if self._beside is not None:
                held = [chunk for sha in result.found for chunk in waiting[sha]]
                ids = [chunk.id for chunk in held if chunk.reader == self._beside.identity]
                for chunk_id, before in read_extractions(connection, ids).items():
                    read[chunk_id] = merge_extractions([before, read[chunk_id]])
            if read:
                put_extractions(connection, read, extractor=self.identity)
            if self._beside is None:  # what the stand-in could not read the model has read
                forget_faults(connection, read, stage=EXTRACT)
        done.read += len(result.found)
        done.dropped.update(result.dropped)
        for sha in result.found:
            del waiting[sha]
        return result.unusable

    def _note(self, failed: Mapping[str, _Left], done: LLMExtractionResult) -> None:
        """Keep why chunks were not read, and let the stand-in read those that nobody has."""
        for batch in _batches(sorted(failed), FILL_BATCH):
            nobody = [sha for sha in batch if any(c.reader is None for c in failed[sha].chunks)]
            filled: dict[str, Extraction | Fault] = {}
            if self._fill is not None and nobody:
                texts = [failed[sha].chunks[0].text for sha in nobody]
                filled = dict(zip(nobody, read_alone(self._fill, texts), strict=True))
            reasons = {c.id: failed[sha].reason for sha in batch for c in failed[sha].chunks}
            with self._library.write() as connection:
                if self._fill is not None:
                    by_chunk = {
                        chunk: found
                        for sha, found in filled.items()
                        for chunk in failed[sha].chunks
                    }
                    _put_filled(connection, by_chunk, extractor=self._fill.identity)
                put_pending(connection, reasons)
            done.pending += [
                PendingChunk(
                    document_id=chunk.document_id,
                    chunk_id=chunk.id,
                    reason=failed[sha].reason,
                    unreadable=failed[sha].unreadable,
                )
                for sha in batch
                for chunk in failed[sha].chunks
            ]


def _put_filled(
    connection: Connection,
    by_chunk: Mapping[UnreadChunk, Extraction | Fault],
    *,
    extractor: str,
) -> None:
    """Store what the stand-in read; a chunk that it cannot read is empty and has a fault."""
    faults = {chunk: one for chunk, one in by_chunk.items() if isinstance(one, Fault)}
    read = {c.id: one for c, one in by_chunk.items() if not isinstance(one, Fault)}
    put_extractions(connection, read, extractor=extractor)
    empty = {chunk.id: Extraction() for chunk in faults}
    put_extractions(connection, empty, extractor=f"{FAILED}{extractor}")
    put_faults(connection, {c.id: fault.reason for c, fault in faults.items()}, stage=EXTRACT)
    for chunk, fault in faults.items():
        fault.log(f"{chunk.document_id} ({chunk.id})")


class _Calls:
    """The calls of one run: one a pack, more where a pack or what is said of it is too long.

    `divided` are the texts, by key, that were asked about in two parts.
    """

    def __init__(
        self, client: LLMClient, schema: ExtractionSchema, *, patience: CircuitBreaker
    ) -> None:
        self._client = client
        self._schema = schema
        self._failures: dict[str, ModelError] = {}
        self.patience = patience
        self.divided: set[str] = set()

    def read(self, pack: Pack) -> PackResult:
        """Extract from a pack; failed texts are unusable, with the reason."""
        for key in pack.keys:
            self._failures.pop(key, None)
        with isolation(EXTRACT) as isolated:
            return self._guarded(pack)
        isolated.caught.log(f"{len(pack.keys)} texts")
        return _unusable(pack, isolated.caught.reason)

    def final(self, keys: Iterable[str]) -> set[str]:
        """Of texts that could not be read those about which asking again would bring the same."""
        heard = self.patience.heard
        return {
            key
            for key in keys
            if key not in self._failures or is_final(self._failures[key], heard=heard)
        }

    def _guarded(self, pack: Pack, *, is_part: bool = False) -> PackResult:
        """Failures cost this pack alone, not what was read beside it."""
        try:
            try:
                result = self._whole_or_parts(pack, is_part=is_part)
            except ModelOutputError:  # nothing in it that a correction could quote
                result = self._whole_or_parts(pack, is_part=is_part)
        except ModelError as error:
            self._failed(pack, error)
            return _unusable(pack, str(error))
        return result

    def _failed(self, pack: Pack, error: ModelError) -> None:
        self.patience.failed(error)
        self._failures |= dict.fromkeys(pack.keys, error)

    def _whole_or_parts(self, pack: Pack, *, is_part: bool) -> PackResult:
        try:
            result = self._extracted(pack)
        except ModelInputTooLong as error:
            self.patience.answered()
            if len(pack.keys) > 1:
                return _both(self._guarded(half) for half in pack.halves())
            if len(pack.texts[0]) < MIN_CHARACTERS:
                raise
            return self._in_two(pack, str(error), is_part=is_part)
        cut_off = [
            key
            for key in pack.keys
            if result.unusable.get(key) == CUT_OFF and key not in self._failures
        ]
        return self._divided(pack, result, cut_off) if cut_off and not is_part else result

    def _divided(self, pack: Pack, result: PackResult, cut_off: Sequence[str]) -> PackResult:
        """Read the first oversized text in two halves, then the texts behind it.

        It had twice the room that it has alone, so it is not asked about alone.
        """
        first, others = pack.only(cut_off[:1]), pack.only(cut_off[1:])
        self.divided.add(cut_off[0])
        halved = self._in_two(first, CUT_OFF, is_part=True)
        rest = [self._guarded(others)] if others.keys else []
        return _both([result.without(cut_off), halved, *rest])

    def _extracted(self, pack: Pack) -> PackResult:
        replies = 0
        failure: ModelError | None = None

        def ask(prompt: Prompt) -> str:
            nonlocal replies
            text = self._client.ask(prompt, stage=STAGE).text
            self.patience.answered()
            replies += 1
            return text

        def ask_again(prompt: Prompt) -> str:
            """Make a further call without losing paid results."""
            nonlocal failure
            try:
                return ask(prompt)
            except ModelError as error:
                failure = error
                return ""

        result = extract_pack(pack, self._schema, ask, ask_again=ask_again)
        if failure is not None:
            self._failed(pack.only(result.unusable), failure)
        for _ in range(0 if result.found else replies):
            self._client.unusable(STAGE)
        return result

    def _in_two(self, pack: Pack, reason: str, *, is_part: bool) -> PackResult:
        """Split an oversized text between sentences and read both halves."""
        (key,), (text,) = pack.keys, pack.texts
        cut = _middle(text)
        if not 0 < cut < len(text):
            return _unusable(pack, reason)
        first, second = (replace(pack, texts=(part,)) for part in (text[:cut], text[cut:]))
        before = self._guarded(first, is_part=is_part)
        if before.unusable:
            return before
        after = self._guarded(second, is_part=is_part)
        dropped = before.dropped + after.dropped
        if after.unusable:
            return PackResult(found={}, unusable=after.unusable, dropped=dropped)
        whole = merge_extractions([before.found[key], shift_extraction(after.found[key], cut)])
        return PackResult(found={key: whole}, unusable={}, dropped=dropped)


def _by_namespace(waiting: Waiting) -> list[Waiting]:
    """Part texts by the namespace of their first chunk: no call shows texts of several."""
    parts: dict[str, Waiting] = {}
    for sha, held in waiting.items():
        namespace, mark, _ = held[0].document_id.partition(SEPARATOR)
        parts.setdefault(namespace if mark else "", {})[sha] = held
    return [parts[namespace] for namespace in sorted(parts)]


def _context(held: Sequence[UnreadChunk]) -> str:
    """Return the document and section of a text; of one in several places the first by name."""
    return min(chunk_context(chunk.title, chunk.headings, chunk.text) for chunk in held)


def _alone(planned: Iterable[Pack], failed: Collection[str]) -> list[Pack]:
    """Repack failed texts one by one, in order."""
    return [
        pack.only([key])
        for pack in planned
        if len(pack.keys) > 1
        for key in pack.keys
        if key in failed
    ]


def _unusable(pack: Pack, reason: str) -> PackResult:
    return PackResult(found={}, unusable=dict.fromkeys(pack.keys, reason), dropped=Counter())


def _both(results: Iterable[PackResult]) -> PackResult:
    found: dict[str, Extraction] = {}
    unusable: dict[str, str] = {}
    dropped: Counter[str] = Counter()
    for result in results:
        found |= result.found
        unusable |= result.unusable
        dropped.update(result.dropped)
    return PackResult(found=found, unusable=unusable, dropped=dropped)


def _middle(text: str) -> int:
    """Return the best split point: a sentence border near the middle."""
    ends = [end for _, end in sentence_spans(text)][:-1]
    middle = len(text) // 2
    return min(ends, key=lambda end: abs(end - middle), default=middle)


def _batches(values: Sequence[str], size: int) -> Iterator[list[str]]:
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch
