"""Global answer: gather points about the whole, drop repetitions, cite.

Four ways to gather: from the reports of one level (`fixed`), from those rated relevant from the
root down (`dynamic`), from whole passages, or from reports where no subject is named (`lazy`), and
from reports and the searches they lead to (`drift`, after microsoft/graphrag's DRIFT search, 2024).
A language model rates, maps and reduces, and every point keeps its evidence. Without one the answer
is a table of contents, whatever the selection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from ...config import AnswerSettings
from ...conversation import format_history
from ...embeddings.tokenizer import TokenCount
from ...errors import ModelError
from ...events import Listener, PassagesEvent, null_listener
from ...observability import synthesis_span
from ...prompts import language_of
from ...providers.llm_clients import Models
from ...retrieval.passages import Tracer
from ...retrieval.retriever import HybridRetriever
from ...storage.graph_api import (
    Chunk,
    Evidence,
    Finding,
    Point,
    Report,
    graph_errors,
)
from ...storage.graph_views import GraphViewCache
from ...storage.library import Library
from ...storage.schema import DocumentFilter
from ...types import Answer, Passage, Turn, Usage
from ...verification.llm_judge import in_other_language
from ...verification.pipeline import CitationVerifier
from ..extractive.block_candidates import Reader, to_the_end
from ..packing import Draft, PackedContext, as_passage, on_pages, pack_context
from ..synthesis import TokenStreamer
from .asked import Asked
from .contents import table_of_contents
from .context import (
    PLANS,
    BatchLLM,
    CandidatePoints,
    Effort,
    GlobalContext,
    ReportCacheHolder,
    ReportsFor,
    Selection,
    best_of,
    visible_reports,
)
from .map_reduce import (
    MAP_OUTPUT_TOKENS,
    REDUCE_OUTPUT_TOKENS,
    MapBatch,
    Mapped,
    best_points,
    map_batches,
    map_reports,
    read_questions,
    reduce_with_model,
    sheet_of_points,
)
from .selection import (
    best_reports,
    fit_reports,
    from_one_level,
    from_passages,
    from_rated_reports,
)

_FOLLOW_UP = {"en": "Now look for: {0}", "zh": "现在查找：{0}"}


def from_drift(scene: GlobalContext, watch: Tracer) -> CandidatePoints:
    """Points of the best reports and of what was looked up from there on."""
    reports = best_reports(scene, limit=scene.plan.primer_reports)
    watch.record("select", f"the {len(reports)} best report(s)",
              "; ".join(report.title for report in reports), reports=len(reports))  # fmt: skip
    drift = _Drift(scene, scene.model)
    drift.primer(reports, watch)
    for depth in range(scene.plan.depth):
        drift.follow(depth, watch)
    return CandidatePoints(points=drift.points, chunks=drift.chunks, usage=drift.usage)


@dataclass(slots=True)
class _Drift:
    """State of a DRIFT search by a model: points and questions so far."""

    scene: GlobalContext
    ask_many: BatchLLM
    points: list[Point] = field(default_factory=list)
    chunks: dict[str, Chunk] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    open: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def primer(self, reports: Sequence[Report], watch: Tracer) -> None:
        """Collect the first points and questions from reports."""
        scene = self.scene
        written = fit_reports(
            scene.written(reports), budget_tokens=scene.plan.primer_tokens, count=scene.count
        )
        self.chunks.update(scene.chunks_of(written))
        batches = map_batches(
            written,
            budget_tokens=scene.call_tokens(output_tokens=MAP_OUTPUT_TOKENS),
            count=scene.count,
        )
        mapped = map_reports(
            scene.question, batches, ask_many=self.ask_many, questions=scene.plan.follow_ups
        )
        self._take(mapped)
        watch.record("primer", f"{mapped.detail}, {len(self.open)} open question(s)",
                  "; ".join(self.open), **mapped.figures, open=len(self.open))  # fmt: skip

    def follow(self, depth: int, watch: Tracer) -> None:
        """Run one round: search every open question and map its passages, in parallel."""
        scene = self.scene
        questions = self.open[: scene.plan.follow_ups]
        if not questions:
            watch.record("follow", f"round {depth + 1}: no open question")
            return
        self.asked += questions
        self.open = []
        batches = [self._batch(question) for question in questions]
        read = [(q, batch) for q, batch in zip(questions, batches, strict=True) if batch.findings]
        try:
            mapped = map_reports(
                [f"{scene.question}\n{self._line(question)}" for question, _ in read],
                [batch for _, batch in read],
                ask_many=self.ask_many,
                questions=scene.plan.follow_ups,
            )
        except ModelError as error:
            if not self.points:
                raise
            watch.record(
                "follow", f"round {depth + 1}: every call failed: {error}", failed=len(read)
            )
            return
        self._take(mapped)
        watch.record("follow", f"round {depth + 1}: {mapped.detail} for {'; '.join(questions)}",
                  best_of(mapped.points), "; ".join(questions),
                  **mapped.figures, open=len(self.open))  # fmt: skip

    def _line(self, question: str) -> str:
        return _FOLLOW_UP[language_of(self.scene.question)].format(question)

    def _take(self, mapped: Mapped) -> None:
        self.usage = self.usage + mapped.usage
        self.points += mapped.points
        for reply in mapped.replies:
            known = [self.scene.question, *self.asked, *self.open]
            self.open += read_questions(reply or "", limit=self.scene.plan.follow_ups, known=known)

    def _batch(self, question: str) -> MapBatch:
        """Build a question's batch: numbered lines, each citing its chunk."""
        scene = self.scene
        search = scene.retriever.search(question, within=scene.within)
        budget = scene.follow_tokens(output_tokens=MAP_OUTPUT_TOKENS)
        packed = pack_context(search.passages, budget_tokens=budget, count=scene.count)
        held = scene.chunks(passage.chunk_id for passage in packed.passages)
        self.chunks.update(held)
        findings: dict[int, tuple[str, Finding]] = {}
        lines: list[str] = []
        for passage in packed.passages:
            chunk = held.get(passage.chunk_id)
            if chunk is None:
                continue
            place = Evidence(chunk_id=chunk.id, start=0, end=len(chunk.text))
            home = scene.places.homes.get(chunk.id, "")
            number = len(findings) + 1
            findings[number] = (home, Finding(text=chunk.text, evidences=(place,)))
            lines.append(f"[{number}] {chunk.title}: {' '.join(chunk.text.split())}")
        return MapBatch(context="\n".join(lines), findings=findings)


_WAYS: dict[Selection, Callable[[GlobalContext, Tracer], CandidatePoints]] = {
    "fixed": from_one_level,
    "dynamic": from_rated_reports,
    "lazy": from_passages,
    "drift": from_drift,
}


class GlobalAnswerer:
    """Answers questions about the whole of a library.

    Args:
        library: what is asked.
        settings: budgets and thresholds of answers.
        retriever: finds passages and names, and says how near chunks are to a question.
        views: the graph as documents that may be seen give it.
        models: their windows; the one that maps reports and the one that answers.
        checks: checks what a model wrote.
        count: tokens of a text.
        selection: the way points are gathered.
        effort: how much that may cost (see `plan`).
        ask_many: asks the language model several things at once; None does without one.
        reports_for: gives reports of communities, written first where a model is to write them;
            without it they are as the library holds them.
        reader: says how well an English sentence tells of what is asked, where no model writes;
            None: words and vectors decide.
        likeness: `reader` for questions in Chinese.
        about_whole: how likely a question is about the documents as a whole, 0–1.
    """

    def __init__(
        self,
        library: Library,
        settings: AnswerSettings,
        *,
        retriever: HybridRetriever,
        views: GraphViewCache,
        models: Models,
        checks: CitationVerifier,
        count: TokenCount,
        selection: Selection = "lazy",
        effort: Effort = "medium",
        ask_many: BatchLLM | None = None,
        reports_for: ReportsFor | None = None,
        reader: Reader | None = None,
        likeness: Reader | None = None,
        about_whole: Callable[[str], float] | None = None,
    ) -> None:
        self._about_whole = about_whole or (lambda _question: 0.0)
        self._library = library
        self._settings = settings
        self._retriever = retriever
        self._views = views
        self._models = models
        self._checks = checks
        self._count = count
        self._selection: Selection = selection
        self._effort: Effort = effort
        self._ask_many = ask_many
        self._reports_for = reports_for
        readers = {"en": reader, "zh": likeness}
        self._readers = {key: one and to_the_end(one) for key, one in readers.items()}
        self._shelves = ReportCacheHolder(library)

    def with_effort(self, effort: Effort) -> GlobalAnswerer:
        """Return the same answerer with another effort."""
        return self.with_selection(self._selection, effort=effort)

    def with_selection(self, selection: Selection, *, effort: Effort) -> GlobalAnswerer:
        """Return the same answerer with another selection or effort."""
        other = copy(self)
        other._selection, other._effort = selection, effort
        return other

    def answer(
        self,
        question: str,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
        otherwise: Callable[..., Answer] | None = None,
    ) -> Answer:
        """Answer with an overview and citations, or abstain if nothing is relevant.

        A model that writes it is shown the `turns` before the question. `on_event` hears
        of each stage
        as it ends, of what the answer rests on, and its text as it is written. `otherwise` answers
        from passages, with the same arguments, where no model writes and all that a page could tell
        of a subject is a sentence or two.

        Raises:
            ModelError: every call of a round failed, or the one that writes the answer.
        """
        watch = Tracer(on_event)
        scene = replace(self._scene(question, within), earlier=format_history(turns))
        spent = Usage()
        with synthesis_span(question) as said:
            draft = None
            if scene.ask_many is not None:
                draft, spent = _by_model(scene, self._selection, watch, on_event)
            if draft is None:
                draft = table_of_contents(scene, watch)
                is_thin = scene.ask_many is None and _is_thin(draft, scene)
                if is_thin and otherwise is not None:
                    answer = otherwise(question, within=within, turns=turns, on_event=on_event)
                    return replace(answer, trace=(*watch.steps, *answer.trace))
                _tell(draft, watch, on_event)
            said(draft.text)
        starts = self._library.page_starts({each.document_id for each in draft.citations})
        return Answer(
            question=question,
            text=draft.text,
            mode="global",
            citations=on_pages(draft.citations, starts),
            trace=tuple(watch.steps),
            usage=spent + draft.usage,
            abstained=draft.abstained,
            claims=draft.claims,
            grounding=draft.grounding,
            unchecked=draft.unchecked,
        )

    def _scene(self, question: str, within: DocumentFilter | None) -> GlobalContext:
        with self._library.read() as connection, graph_errors():
            shelf = self._shelves.current(connection)
            reports = visible_reports(connection, self._library, shelf, within)
        return GlobalContext(
            question=question,
            within=within,
            plan=PLANS[self._effort],
            settings=self._settings,
            retriever=self._retriever,
            models=self._models,
            checks=self._checks,
            count=self._count,
            library=self._library,
            shelf=shelf,
            shelves=self._shelves,
            reports=reports,
            views=self._views,
            ask_many=self._ask_many,
            reports_for=self._reports_for,
            reader=self._readers[language_of(question)],
            whole=self._about_whole(question),
        )


_FEWEST_CLAIMS = 2
"""A reply that names no line and claims less than this is no overview."""


def _by_model(
    scene: GlobalContext, selection: Selection, watch: Tracer, on_event: Listener
) -> tuple[Draft | None, Usage]:
    """With a model: the draft, None where no reply was of use, and what it cost besides."""
    gathered = _WAYS[selection](scene, watch)
    unread = any(step.figures.get("unusable") for step in watch.steps)
    draft = None
    if gathered.sheet or gathered.points or not unread:
        draft = _written(scene, gathered, on_event, ask_many=scene.model)
    if draft is None or (draft.figures.get("unmarked") and len(draft.claims) < _FEWEST_CLAIMS):
        watch.record("fall back", "no usable reply of the model: answered without it")
        return None, gathered.usage + (draft.usage if draft else Usage())
    watch.record("reduce", draft.detail, draft.text, best_of(gathered.points), **draft.figures)
    if in_other_language(draft.text, language_of(scene.question)):
        watch.record("language", "the answer is not in the language of the question")
    return draft, gathered.usage


_THIN = 2
"""Sentences of a page on a subject that are no overview."""


def _is_thin(draft: Draft, scene: GlobalContext) -> bool:
    """Check for a page on a subject of which hardly anything is told.

    On one with a title, and of several documents, less is enough; a part that was asked for is told
    however short it is.
    """
    documents = {each.document_id for each in draft.citations}
    most = _THIN - max(int(draft.figures.get("titled", 0.0)), int(len(documents) > 1))
    is_told = len(draft.citations) > most and draft.figures.get("worded", 1.0) > 0
    return not is_told and bool(Asked.read(scene.question, scene.weight).subject)


def _tell(draft: Draft, watch: Tracer, on_event: Listener) -> None:
    """Report a table of contents to the listener."""
    quoted = tuple(as_passage(citation) for citation in draft.citations)
    on_event(PassagesEvent(passages=quoted))
    TokenStreamer(on_event, quoted).end(draft)
    watch.record("reduce", draft.detail, draft.text, **draft.figures)


def _written(
    scene: GlobalContext, gathered: CandidatePoints, on_event: Listener, *, ask_many: BatchLLM
) -> Draft:
    """With a model: it writes the answer from all lines, or from the best points."""

    def check(reply: str, passages: Sequence[Passage], usage: Usage) -> Draft:
        return scene.checks.checked(
            scene.question,
            PackedContext(passages=tuple(passages), text="\n\n".join(one.text for one in passages)),
            reply=reply,
            usage=usage,
            within=scene.within,
            summing_up=True,
        )

    sheet = gathered.sheet
    if sheet is None:
        kept = best_points(
            gathered.points,
            limit=scene.settings.global_points * 2,
            budget_tokens=scene.reduce_tokens(output_tokens=REDUCE_OUTPUT_TOKENS),
            count=scene.count,
        )
        sheet = sheet_of_points(kept)
    return reduce_with_model(
        scene.question,
        sheet,
        ask_many=ask_many,
        chunks=gathered.chunks,
        earlier=scene.earlier,
        check=check,
        on_event=on_event,
    )
