"""A global answer: gather points about the whole, keep what differs, cite.

Four ways to gather: from the reports of one level (`fixed`), from those rated relevant from the
root down (`dynamic`), from chunks tested community by community (`lazy`), and from reports and what
they lead to (`drift`). With a language model it rates, maps and reduces; without one, words, chunks
and vectors decide. Either way every point keeps its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

from ...events import Listener, PassagesEvent, null_listener
from ...index.door import graph_errors, reduce_points, token_similarity
from ...index.filters import DocumentFilter
from ...index.library import Library
from ...observe.llama_index import synthesis
from ...retrieve.stopwatch import Tracer
from ...retrieve.tokens import tokens
from ...types import Answer, Passage, Turn, Usage
from ..checks.in_language import in_other_language
from ..draft import Draft, as_passage
from ..language import language_of
from ..packing.pack import PackedContext
from ..parts import AnswerDependencies
from ..spoken import TokenStreamer
from ..talk.turns import format_history
from .asking import BatchLLM
from .drift import from_drift
from .from_reports import from_one_level, from_rated_reports
from .lazy import from_tested_chunks
from .plan import PLANS, Effort, Selection
from .points import CandidatePoints, best_of, document_of
from .scene import GlobalContext, ReportCacheHolder, ReportsFor, visible_reports
from .told import render_overview
from .written import REDUCE_OUTPUT_TOKENS, reduce_with_model

_WAYS: dict[Selection, Callable[[GlobalContext, Tracer], CandidatePoints]] = {
    "fixed": from_one_level,
    "dynamic": from_rated_reports,
    "lazy": from_tested_chunks,
    "drift": from_drift,
}


class GlobalAnswerer:
    """Answers questions about the whole of a library.

    Args:
        library: what is asked.
        parts: what answers are made with.
        selection: the way points are gathered.
        effort: how much that may cost (see `plan`).
        ask_many: asks the language model several things at once; None does without one.
        reports_for: gives reports of communities, written first where a model is to write them;
            without it they are as the library holds them.
    """

    def __init__(
        self,
        library: Library,
        parts: AnswerDependencies,
        *,
        selection: Selection = "lazy",
        effort: Effort = "medium",
        ask_many: BatchLLM | None = None,
        reports_for: ReportsFor | None = None,
    ) -> None:
        self._library = library
        self._parts = parts
        self._selection: Selection = selection
        self._effort: Effort = effort
        self._ask_many = ask_many
        self._reports_for = reports_for
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
    ) -> Answer:
        """Answer with an overview and citations, or abstain if nothing is relevant.

        A model that writes it is shown the `turns` before the question. `on_event` hears of each stage
        as it ends, of what the answer rests on, and its text as it is written.

        Raises:
            ModelError: every call of a round failed, or the one that writes the answer.
        """
        watch = Tracer(on_event)
        scene = replace(self._scene(question, within), earlier=format_history(turns))
        gathered = _WAYS[self._selection](scene, watch)
        spent = gathered.usage
        if not gathered.points and any(step.figures.get("unusable") for step in watch.steps):
            watch.record("fall back", "no reply of the model could be used: answered without it")
            scene = replace(scene, ask_many=None)
            gathered = _WAYS[self._selection](scene, watch)
        with synthesis(question) as said:
            draft = (
                _told(scene, gathered, on_event)
                if scene.ask_many is None
                else _written(scene, gathered, on_event, ask_many=scene.ask_many)
            )
            said(draft.text)
        watch.record("reduce", draft.detail, draft.text, best_of(gathered.points), **draft.figures)
        if scene.ask_many is not None and in_other_language(draft.text, language_of(question)):
            watch.record("language", "the answer is not in the language of the question")
        return Answer(
            question=question,
            text=draft.text,
            mode="global",
            citations=self._parts.cited(draft.citations),
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
            parts=self._parts,
            library=self._library,
            shelf=shelf,
            shelves=self._shelves,
            reports=reports,
            ask_many=self._ask_many,
            reports_for=self._reports_for,
        )


def _told(scene: GlobalContext, gathered: CandidatePoints, on_event: Listener) -> Draft:
    """Without a model: what differs most among the best points, by theme."""
    settings = scene.parts.settings
    points = reduce_points(
        gathered.points,
        limit=settings.global_points,
        budget_tokens=settings.budget_tokens,
        count=scene.count,
        similarity=token_similarity(tokens),
        document_of=document_of(gathered.chunks),
        concepts=tokens,
        given=gathered.given,
    )
    draft = render_overview(
        scene.question,
        points,
        titles=scene.titles,
        chunks=gathered.chunks,
        line_of=scene.shelf.tree.line,
    )
    quoted = tuple(as_passage(citation) for citation in draft.citations)
    on_event(PassagesEvent(passages=quoted))
    TokenStreamer(on_event, quoted).end(draft)
    return draft


def _written(
    scene: GlobalContext, gathered: CandidatePoints, on_event: Listener, *, ask_many: BatchLLM
) -> Draft:
    """With a model: it writes the answer from the best points."""

    def check(reply: str, passages: Sequence[Passage], usage: Usage) -> Draft:
        return scene.parts.checks.checked(
            scene.question,
            PackedContext(passages=tuple(passages), text="\n\n".join(one.text for one in passages)),
            reply=reply,
            usage=usage,
            within=scene.within,
            summing_up=True,
        )

    return reduce_with_model(
        scene.question,
        gathered.points,
        ask_many=ask_many,
        chunks=gathered.chunks,
        earlier=scene.earlier,
        budget_tokens=scene.reduce_tokens(output_tokens=REDUCE_OUTPUT_TOKENS),
        count=scene.count,
        limit=scene.parts.settings.global_points * 2,
        check=check,
        on_event=on_event,
    )
