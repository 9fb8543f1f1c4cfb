"""Community reports by a language model, kept as they arrive.

What is written already is never paid for again; what cannot be written stays extractive, and is
tried again by the next run unless the model cannot write it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..concurrency import parallel_map
from ..embeddings.tokenizer import TokenCount
from ..errors import LibraryBusy, ModelError, ModelOutputError
from ..events import Progress, no_progress
from ..llm.client import LLMClient
from ..llm.retry import CircuitBreaker
from ..storage.graph_api import (
    Evidence,
    Report,
    ReportBasis,
    ReportMaterial,
    ReportQueue,
    ReportQuote,
    WrittenReport,
    derived_reports,
    evidences_of,
    put_written,
    read_chunks,
    read_reports,
    read_written,
    report_material,
    report_prompt,
    unwritten_among,
)
from ..storage.library import Library, day_of
from .unanswered import Unanswered, is_final

STAGE = "reports"
"""The stage under which calls are booked."""

_LOGGER = logging.getLogger("loregraph")

REPORT_TOKENS = 1_800
"""Maximum tokens shown of one community."""

CALL_TOKENS = 3_600
CALL_REPORTS = 4
"""Maximum tokens shown in one call, over communities."""


@dataclass(slots=True)
class ReportRun:
    """Number of reports written, and failures by community id.

    `failed` are those that the next run tries again, `given_up` those that it does not.
    """

    count: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    given_up: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    materials: Sequence[ReportMaterial]
    found: dict[str, WrittenReport]
    unusable: dict[str, str]
    error: ModelError | None = None


class ReportWriter:
    """Writes the reports of a library's communities.

    Args:
        library: where they are kept.
        client: the model, whose name signs its reports.
        min_entities: smaller communities keep their extractive reports.
        budget_tokens: prompt tokens at most for reports that one question has written first.
        count: tokens of a text.
    """

    def __init__(
        self,
        library: Library,
        *,
        client: LLMClient,
        min_entities: int,
        budget_tokens: int,
        count: TokenCount,
    ) -> None:
        self._library = library
        self._client = client
        self._min_entities = min_entities
        self._budget_tokens = budget_tokens
        self._count = count
        self._unanswered = Unanswered(library, stage=STAGE, asker=client.identity)

    def for_library(self, library: Library) -> ReportWriter:
        """Return the same writer for another library, as for the sample of an estimate."""
        return ReportWriter(
            library,
            client=self._client,
            min_entities=self._min_entities,
            budget_tokens=self._budget_tokens,
            count=self._count,
        )

    @property
    def at_once(self) -> int:
        """Reports that one question has written first at most."""
        return self._budget_tokens // REPORT_TOKENS

    def planned(self) -> list[list[ReportMaterial]]:
        """Return the material of each call if all reports were written now."""
        desk = self._desk()
        return [pack for level in self._to_write(desk) for pack in self._packs(desk, level)]

    def write(
        self, community_ids: Collection[str] | None = None, *, progress: Progress
    ) -> ReportRun:
        """Write what is not written of all communities or of these, finest level first.

        A model that fails or a budget that is used up is no error: what is left has its reason.
        """
        desk = self._desk()
        done = ReportRun(given_up=self._given_up_before(desk, community_ids))
        levels = self._to_write(desk, community_ids)
        total = sum(map(len, levels))
        patience, asked = CircuitBreaker(), set[str]()
        calls = _Calls(self._client, patience=patience)
        errors: dict[str, ModelError] = {}
        for level in levels:
            taken = patience.guard(self._packs(desk, level))
            for result in parallel_map(taken, calls.write, workers=self._client.concurrency):
                asked.update(one.basis.community.id for one in result.materials)
                self._keep(desk, result, done)
                if result.error is not None:
                    errors |= dict.fromkeys(result.unusable, result.error)
                progress("report", done.count + len(done.failed), total)
        self._give_up(desk, done, errors, heard=patience.heard)
        left = {key for level in levels for key in level} - asked
        done.failed |= dict.fromkeys(sorted(left), patience.over)
        return done

    def _to_write(
        self, desk: ReportQueue, community_ids: Collection[str] | None = None
    ) -> list[list[str]]:
        """Return missing reports by level, without those the model cannot write."""
        closed = self._unanswered.reasons()
        levels = desk.unwritten(community_ids)
        return [[key for key in level if desk.fingerprint(key) not in closed] for level in levels]

    def _given_up_before(
        self, desk: ReportQueue, community_ids: Collection[str] | None
    ) -> dict[str, str]:
        """Return the reasons of missing reports that are not asked for again."""
        closed = self._unanswered.reasons()
        missing = (
            (key, desk.fingerprint(key)) for level in desk.unwritten(community_ids) for key in level
        )
        return {key: closed[mark] for key, mark in missing if mark in closed}

    def _give_up(
        self, desk: ReportQueue, done: ReportRun, errors: Mapping[str, ModelError], *, heard: bool
    ) -> None:
        """Do not ask again for what would fail again."""
        final = {
            key: reason
            for key, reason in done.failed.items()
            if key not in errors or is_final(errors[key], heard=heard)
        }
        for key in final:
            del done.failed[key]
        done.given_up |= final
        by_print = {desk.fingerprint(key): reason for key, reason in final.items()}
        missing = {desk.fingerprint(key) for level in desk.unwritten() for key in level}
        self._unanswered.keep(by_print, asked=missing)

    def now(self, community_ids: Sequence[str]) -> dict[str, Report]:
        """Return the reports of these communities; missing ones are written first.

        Only the weightiest are, as many as the budget of a question holds, so that it writes no
        more when it is asked again. What is beyond, what cannot be written, or not while another
        process writes to the library, is extractive.
        """
        wanted = frozenset(community_ids)
        with self._library.read() as connection:
            weights = {one.community_id: one.rating for one in derived_reports(connection)}
            best = sorted(wanted & weights.keys(), key=lambda key: (-weights[key], key))
            missing = unwritten_among(
                connection, best[: self.at_once], min_entities=self._min_entities
            )
        if missing:
            try:
                written = self.write(missing, progress=no_progress)
                reasons = [*written.failed.values(), *written.given_up.values()]
                for reason, count in Counter(reasons).items():
                    _LOGGER.warning("%d reports stay extractive: %s", count, reason)
            except LibraryBusy as error:
                _LOGGER.info("reports stay extractive for now: %s", error)
        with self._library.read() as connection:
            return {r.community_id: r for r in read_reports(connection) if r.community_id in wanted}

    def _desk(self) -> ReportQueue:
        with self._library.read() as connection:
            return ReportQueue(connection, min_entities=self._min_entities)

    def _packs(
        self, desk: ReportQueue, community_ids: Sequence[str]
    ) -> Iterator[list[ReportMaterial]]:
        """Communities in order, several a call; numbers run through a pack."""
        pack: list[ReportMaterial] = []
        size = first = 0
        for key in community_ids:
            shown = self._material(desk, key, first)
            if pack and (size + shown.tokens > CALL_TOKENS or len(pack) == CALL_REPORTS):
                yield pack
                pack, size, first = [], 0, 0
                shown = self._material(desk, key, first)
            pack.append(shown)
            size += shown.tokens
            first += len(shown.places)
        if pack:
            yield pack

    def _material(self, desk: ReportQueue, community_id: str, before: int) -> ReportMaterial:
        basis = desk.basis(community_id)
        return report_material(
            basis,
            quotes=self._quotes(basis),
            budget_tokens=REPORT_TOKENS,
            count=self._count,
            first=before + 1,
        )

    def _quotes(self, basis: ReportBasis) -> dict[Evidence, ReportQuote]:
        """Return the sentences that a report may rest on, with their document's title and date."""
        wanted = evidences_of(basis)
        with self._library.read() as connection:
            held = read_chunks(connection, sorted({place.chunk_id for place in wanted}))
            known = self._library.document_metadata(connection)
        return {
            place: ReportQuote(
                text=held[place.chunk_id].text[place.start : place.end],
                title=held[place.chunk_id].title,
                date=day_of(known.get(held[place.chunk_id].document_id, {})),
            )
            for place in wanted
            if place.chunk_id in held
        }

    def _keep(self, desk: ReportQueue, result: _Result, done: ReportRun) -> None:
        by_print = {desk.fingerprint(key): report for key, report in result.found.items()}
        with self._library.write() as connection:
            kept = frozenset(put_written(connection, by_print, model=self._client.model))
        for one in result.materials:
            key = one.basis.community.id
            written = result.found.get(key)
            if written is None or desk.fingerprint(key) not in kept:
                continue
            done.count += 1
            signed = replace(
                one.basis.derived,
                title=written.title,
                summary=written.summary,
                rating=written.rating,
                rating_reason=written.rating_reason,
                findings=written.findings,
                written_by=self._client.model,
            )
            desk.note(key, signed)
        done.failed |= result.unusable


class _Calls:
    """The calls of one run."""

    def __init__(self, client: LLMClient, *, patience: CircuitBreaker) -> None:
        self._client = client
        self._patience = patience

    def write(self, materials: Sequence[ReportMaterial]) -> _Result:
        """Write reports of these communities; failed ones are unusable, with reasons."""
        first = self._asked(materials)
        refused = first.error is not None and not isinstance(first.error, ModelOutputError)
        if not first.unusable or refused:
            return first
        # Once more, each with less beside it to be mixed up with.
        again = [one for one in materials if one.basis.community.id in first.unusable]
        second = self._asked(again)
        found = first.found | second.found
        return replace(second, materials=materials, found=found)

    def _asked(self, materials: Sequence[ReportMaterial]) -> _Result:
        try:
            reply = self._client.ask(report_prompt(materials), stage=STAGE).text
        except ModelError as error:
            self._patience.failed(error)
            unusable = {one.basis.community.id: str(error) for one in materials}
            return _Result(materials=materials, found={}, unusable=unusable, error=error)
        self._patience.answered()
        found, unusable = read_written(reply, materials)
        if not found:
            self._client.unusable(STAGE)
        return _Result(materials=materials, found=found, unusable=unusable)
