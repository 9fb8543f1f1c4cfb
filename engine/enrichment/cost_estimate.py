"""Cost estimate of LLM calls for documents that are not in the library yet.

Nothing is sent. Calls and what goes into them are counted on the very packs that would be sent;
what comes out is told from what the same stage gave in this library before, or, where it was never
run, from a sample that is read without a model.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from graph.text.cjk import is_chinese

from ..storage.graph_api import (
    CUT_OFF,
    OCCURS_WITH,
    Chunk,
    Correction,
    Description,
    Extraction,
    ExtractionSchema,
    Extractor,
    Fault,
    Pack,
    Prompt,
    SqlGraphStore,
    chunk_of_node,
    graph_errors,
    prompt_of,
    put_chunks,
    put_extractions,
    report_prompt,
    text_sha,
)
from ..storage.library import Library
from ..storage.preparation import read_alone
from ..types import Estimate, SourceText, StageUsage
from .entities import NAMES, SUMMARIES, EntityRefiner
from .extraction import LLMExtractionRunner
from .reports import ReportWriter

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

SAMPLE_CHUNKS = 150
"""Number of chunks extracted by rules as a sample where no usage history exists."""

ENOUGH_CALLS = 3
"""After so many calls of a stage its own figures are experience."""

EXTRACTION, REPORTS = "extraction", "reports"

MESSAGE_TOKENS = 8
"""Tokens that a chat template adds to a prompt."""

ENTITY_TOKENS, RELATION_TOKENS, TEXT_SHARE = 41, 29, 0.37
"""Expected answer tokens for a name and for a relation, as found by rules.

And of each token of
a text beside that: names and relations that rules do not find.
"""

SPREAD = (0.7, 1.0, 1.3)
"""Answers are as much shorter or longer than is told, and some are cut off for it."""

CHINESE = 0.83
"""Factor of expected answers for Chinese text."""

OBJECT_TOKENS = 15
"""Answer tokens around the content of one text."""

REPORT_TOKENS = 360
ANSWER_TOKENS = {NAMES: 20, SUMMARIES: 110, REPORTS: REPORT_TOKENS}
"""Expected completion tokens per requested item and stage, names included."""

CONTINUED = Correction(reason=CUT_OFF, roomier=True)
"""Completion tokens that continue a truncated reply."""

SAID_CHARACTERS, SAID_CHINESE = 70, 30
"""Expected length of a model's description, in characters."""

SHORT_ANSWER_TOKENS = 2_000
"""Completion tokens below which truncation is ruled out."""

_TOLD_FROM = {NAMES: "names in doubt", SUMMARIES: "descriptions", REPORTS: "communities"}

Planned = Sequence[tuple[Prompt, int]]
"""Calls, each with the number of things that it asks about."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model of one stage: its name, whether each request has the schema of the reply in it,
    and what tokens in and out cost (None: not known)."""

    name: str
    sends_schema: bool
    cost: Callable[[int, int], float | None]
    currency: str = "USD"


class CostEstimator:
    """Says what adding documents would cost.

    Args:
        chunker: a document to nodes; never one that asks a model.
        count: tokens of a text, as packs are measured.
        billed: tokens of a text, about as models count them.
        history: what each stage has cost in this library.
        models: by stage.
        enrichment: what would read the chunks; None where no model does.
        schema: what it would look for.
        reports: the writer of reports, where they are written at once; None where not.
        sampler: reads the sample.
        second_look: what asks about names and descriptions then; None where nothing does.
        report_budget_tokens: prompt tokens of reports that a question may have written first.
    """

    def __init__(
        self,
        *,
        chunker: Callable[[SourceText], list[BaseNode]],
        count: Callable[[str], int],
        billed: Callable[[str], int],
        history: Callable[[], Sequence[StageUsage]],
        models: Mapping[str, Model],
        enrichment: LLMExtractionRunner | None,
        schema: ExtractionSchema,
        reports: ReportWriter | None,
        sampler: Extractor,
        second_look: EntityRefiner | None,
        report_budget_tokens: int = 0,
    ) -> None:
        self._report_budget_tokens = report_budget_tokens
        self._chunker = chunker
        self._count = count
        self._billed = lru_cache(maxsize=64)(billed)  # much is the same in many requests
        self._history = history
        self._models = models
        self._enrichment = enrichment
        self._schema = schema
        self._reports = reports
        self._sampler = sampler
        self._second_look = second_look

    def of(self, sources: Iterable[SourceText]) -> Estimate:
        """Estimate the cost of adding these documents, including pending chunks."""
        chunks: list[Chunk] = []
        documents = 0
        for source in sources:
            documents += 1
            chunks += [chunk_of_node(node) for node in self._chunker(source)]
        if self._enrichment is None and self._reports is None:
            later = tuple(self._written_later())
            return Estimate(documents=documents, chunks=len(chunks), stages=(), notes=later)
        texts, notes = self._unread(chunks)
        notes += self._written_later()
        new = {text_sha(chunk.text) for chunk in chunks}
        waiting = [text for sha, text in texts.items() if sha not in new]
        sample = _Sample(self._sampler, chunks, waiting, self._count)
        stages = []
        if self._enrichment is not None:
            stages.append(self._extraction(self._enrichment, texts, sample))
        if self._second_look is not None:
            stages += self._looked_at(self._second_look, sample, before=stages)
        if self._reports is not None:
            writer = self._reports

            def planned(library: Library) -> Planned:
                return [
                    (report_prompt(pack), len(pack))
                    for pack in writer.for_library(library).planned()
                ]

            found = self._later(REPORTS, lambda: sample.planned(planned), sample, before=stages)
            stages.append(found)
        return Estimate(
            documents=documents, chunks=len(texts), stages=tuple(stages), notes=tuple(notes)
        )

    def _written_later(self) -> list[str]:
        if not self._report_budget_tokens:
            return []
        return [
            "a question about the whole has reports written first, once: prompts of at most"
            f" {self._report_budget_tokens:,} tokens"
        ]

    def _unread(self, chunks: Sequence[Chunk]) -> tuple[dict[str, str], list[str]]:
        """Collect the texts a model would read, by hash, with notes."""
        texts = {text_sha(chunk.text): chunk.text for chunk in chunks}
        if self._enrichment is None:
            return texts, []
        known = self._enrichment.known(texts)
        waiting = self._enrichment.waiting()
        before = {sha: text for sha, text in waiting.items() if sha not in texts}
        notes = [f"{len(before)} chunks of the library wait to be read too"] if before else []
        return {**before, **{k: v for k, v in texts.items() if k not in known}}, notes

    def _extraction(
        self, enrichment: LLMExtractionRunner, texts: Mapping[str, str], sample: _Sample
    ) -> StageUsage:
        packs = enrichment.packed(texts)
        past = self._past(EXTRACTION)
        if past is not None:
            return self._as_before(packs, past)
        answers = sample.answers(texts)
        calls = [
            one
            for factor in SPREAD
            for said in [{key: factor * size for key, size in answers.items()}]
            for pack in packs
            for one in self._calls(pack, said)
        ]
        rounds = 1 + self._schema.gleanings
        prompt_tokens = sum(self._tokens(EXTRACTION, prompt) for prompt, _ in calls)
        completion = round(sum(answer for _, answer in calls) / len(SPREAD))
        share = completion / max(1, sum(map(self._count, texts.values())))
        basis = (
            f"answers of {share:.1f} tokens to a token of text, told from {sample.size} chunks read"
            " without a model; a model that says more or less costs more or less"
        )
        return self._stage(
            EXTRACTION,
            calls=round(len(calls) * rounds / len(SPREAD)),
            prompt_tokens=round(prompt_tokens * rounds / len(SPREAD)),
            completion_tokens=completion,
            basis=basis,
        )

    def _as_before(self, packs: Sequence[Pack], past: StageUsage) -> StageUsage:
        """Estimate these packs from past usage of the model."""
        answer = past.completion_tokens / max(1, past.prompt_tokens)
        calls = [
            one
            for pack in packs
            for size in [self._tokens(EXTRACTION, prompt_of(pack, self._schema))]
            for one in self._calls(pack, _divided(answer * size, pack, self._count))
        ]
        first = sum(self._tokens(EXTRACTION, prompt_of(pack, self._schema)) for pack in packs)
        rounds = 1 + self._schema.gleanings
        return self._stage(
            EXTRACTION,
            calls=len(calls) * rounds,
            prompt_tokens=sum(self._tokens(EXTRACTION, prompt) for prompt, _ in calls) * rounds,
            completion_tokens=round(answer * first),
            basis=f"as in {past.calls} calls before",
        )

    def _calls(self, pack: Pack, answers: Mapping[str, float]) -> Iterator[tuple[Prompt, float]]:
        """Return the calls for a pack with the tokens of each answer.

        A reply that is cut off is gone on with, as `extract_pack` does.
        """
        left, correction = pack, None
        while left.keys:
            prompt = prompt_of(left, self._schema, correction=correction)
            room = prompt.max_output_tokens
            whole = _that_fit([answers[key] for key in left.keys], room)
            total = sum(answers[key] for key in left.keys)
            if total <= max(room, SHORT_ANSWER_TOKENS):
                yield prompt, total
                return
            yield prompt, room
            if not whole and correction is not None:
                yield from self._halves(left.only(left.keys[:1]), answers)
                left, correction = left.only(left.keys[1:]), None
            else:
                left, correction = left.only(left.keys[whole:]), CONTINUED

    def _halves(self, pack: Pack, answers: Mapping[str, float]) -> Iterator[tuple[Prompt, float]]:
        """Return the calls for a text whose answer exceeds the limit."""
        (key,), (text,) = pack.keys, pack.texts
        middle = len(text) // 2
        for part in (text[:middle], text[middle:]):
            half = Pack(keys=(key,), texts=(part,))
            for correction in (None, CONTINUED):
                prompt = prompt_of(half, self._schema, correction=correction)
                yield prompt, min(answers[key] / 2, prompt.max_output_tokens)
                if answers[key] / 2 <= prompt.max_output_tokens:
                    break

    def _looked_at(
        self, second_look: EntityRefiner, sample: _Sample, *, before: Sequence[StageUsage]
    ) -> Iterator[StageUsage]:
        """Estimate the stages that judge names and summarise descriptions."""
        plans = cache(partial(sample.planned, second_look.planned))
        names = self._later(
            NAMES, lambda: plans()[NAMES], sample, before=before, most=second_look.pairs
        )
        summaries = self._later(SUMMARIES, lambda: plans()[SUMMARIES], sample, before=before)
        yield from (stage for stage in (names, summaries) if stage.calls)

    def _later(
        self,
        stage: str,
        planned: Callable[[], Planned],
        sample: _Sample,
        *,
        before: Sequence[StageUsage],
        most: int | None = None,
    ) -> StageUsage:
        """Estimate a later stage from usage history, or from the sample.

        It asks about `most` things in all.
        """
        past, read = self._past(stage), self._past(EXTRACTION)
        if past is not None and read is not None and before:
            share = before[0].prompt_tokens / max(1, read.prompt_tokens)
            return self._stage(
                stage,
                calls=round(past.calls * share),
                prompt_tokens=round(past.prompt_tokens * share),
                completion_tokens=round(past.completion_tokens * share),
                basis=f"as in {past.calls} calls before",
            )
        calls = planned()
        things = sum(number for _, number in calls)
        share = len(sample.chunks) / max(1, sample.size)
        if most is not None and things * share > most:
            share = most / things
        return self._stage(
            stage,
            calls=math.ceil(round(len(calls) * share, 3)),
            prompt_tokens=round(sum(self._tokens(stage, prompt) for prompt, _ in calls) * share),
            completion_tokens=round(things * ANSWER_TOKENS[stage] * share),
            basis=f"{_TOLD_FROM[stage]} told from {sample.size} chunks read without a model",
        )

    def _stage(
        self, stage: str, *, calls: int, prompt_tokens: int, completion_tokens: int, basis: str
    ) -> StageUsage:
        model = self._models[stage]
        return StageUsage(
            stage=stage,
            model=model.name,
            calls=calls,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost=model.cost(prompt_tokens, completion_tokens),
            basis=basis,
            currency=model.currency,
        )

    def _past(self, stage: str) -> StageUsage | None:
        """Return the past cost of a stage with its present model, if there is enough data."""
        model = self._models[stage].name
        rows = [row for row in self._history() if (row.stage, row.model) == (stage, model)]
        calls = sum(row.calls for row in rows)
        if calls < ENOUGH_CALLS:
            return None
        return StageUsage(
            stage=stage,
            model=model,
            calls=calls,
            prompt_tokens=sum(row.prompt_tokens for row in rows),
            completion_tokens=sum(row.completion_tokens for row in rows),
            cost=None,
        )

    def _tokens(self, stage: str, prompt: Prompt) -> int:
        """Of a whole request, with the schema that the reply is held to."""
        size = self._billed(prompt.system) + self._billed(prompt.user) + MESSAGE_TOKENS
        if prompt.schema is None or not self._models[stage].sends_schema:
            return size
        return size + self._billed(json.dumps(prompt.schema, ensure_ascii=False))


@dataclass(slots=True)
class _Sample:
    """The first texts as they are read without a model, once that is asked for.

    Chunks of what is added come first, then texts of the library that wait for a model.
    """

    sampler: Extractor
    chunks: Sequence[Chunk]
    waiting: Sequence[str]
    count: Callable[[str], int]
    _found: list[Extraction] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of texts in the sample."""
        return min(len(self.chunks) + len(self.waiting), SAMPLE_CHUNKS)

    @property
    def texts(self) -> list[str]:
        """The texts in the sample."""
        return [*(chunk.text for chunk in self.chunks), *self.waiting][: self.size]

    def _read(self) -> list[Extraction]:
        if not self._found and self.size:
            read = read_alone(self.sampler, self.texts)
            self._found = [Extraction() if isinstance(one, Fault) else one for one in read]
        return self._found

    def answers(self, texts: Mapping[str, str]) -> dict[str, float]:
        """Return the expected answer length of each text, by hash.

        Of a text that is not in the sample as long as those that are, to a token of text.
        """
        told: dict[str, float] = {}
        sizes = 0
        for text, found in zip(self.texts, map(named_only, self._read()), strict=True):
            sha, size = text_sha(text), self.count(text)
            sizes += 0 if sha in told else size
            said = (
                ENTITY_TOKENS * len({mention.key for mention in found.mentions})
                + RELATION_TOKENS * len(found.statements)
                + TEXT_SHARE * size
            )
            told[sha] = OBJECT_TOKENS + said * (CHINESE if is_chinese(text) else 1.0)
        share = sum(told.values()) / max(1, sizes)
        return {
            sha: told[sha] if sha in told else share * self.count(text)
            for sha, text in texts.items()
        }

    def planned(self, plan: Callable[[Library], T]) -> T:
        """Plan the reports for a library that holds the sample alone."""
        read = self._read()
        sample = self.chunks[: self.size]
        with tempfile.TemporaryDirectory(prefix="loregraph-") as folder:
            library = Library(folder)
            try:
                store = SqlGraphStore(library.database)
                with library.write() as connection:
                    put_chunks(connection, sample)
                    found = {
                        chunk.id: as_described(one, chunk.text)
                        for chunk, one in zip(sample, read[: len(sample)], strict=True)
                    }
                    put_extractions(connection, found, extractor=self.sampler.identity)
                with graph_errors():
                    store.refresh()
                return plan(library)
            finally:
                library.close()


def _that_fit(sizes: Iterable[float], room: int) -> int:
    """Count how many of these fit completely, in order."""
    return sum(reached <= room for reached in accumulate(sizes))


def _divided(answer: float, pack: Pack, count: Callable[[str], int]) -> dict[str, float]:
    """Split a pack's answer into its texts' answers, by length."""
    sizes = [count(text) for text in pack.texts]
    return {
        key: answer * size / max(1, sum(sizes)) for key, size in zip(pack.keys, sizes, strict=True)
    }


def named_only(extraction: Extraction) -> Extraction:
    """Keep named entities only: drop concepts and dense co-occurrence relations."""
    mentions = tuple(mention for mention in extraction.mentions if mention.type != "CONCEPT")
    names = {mention.key for mention in mentions}
    inside = [one for one in extraction.statements if {one.subject, one.object} <= names]
    return replace(extraction, mentions=mentions, statements=tuple(inside[: 2 * len(names)]))


def as_described(extraction: Extraction, text: str) -> Extraction:
    """Add placeholder descriptions, as a model would write them for reports."""
    length = SAID_CHINESE if is_chinese(text) else SAID_CHARACTERS
    begins = {mention.key: mention.start for mention in reversed(extraction.mentions)}
    return replace(
        extraction,
        descriptions=tuple(
            Description(key=key, text=text[start : start + length])
            for key, start in sorted(begins.items())
        ),
        statements=tuple(
            replace(
                one,
                predicate="linked with" if one.predicate == OCCURS_WITH else one.predicate,
                description=text[one.start : one.start + length],
            )
            for one in extraction.statements
        ),
    )
