"""Local answers: retrieve, pack, generate or extract, cite; every stage is traced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..events import Listener, PassagesEvent, null_listener, without_tokens
from ..index.door import capitalised_names, sentence_spans
from ..index.filters import DocumentFilter
from ..observe.llama_index import synthesis
from ..retrieve.stopwatch import Tracer
from ..retrieve.tokens import tokens
from ..retrieve.transform import Expander
from ..types import Answer, TraceStep, Turn, Usage
from .checks.in_language import in_other_language, retry_in_language
from .correct import CorrectedPassages
from .draft import Draft
from .extracts.extractive import extractive_answer
from .language import Language, language_of
from .packing.context import candidate_count, packed_context
from .packing.merge import to_document_offsets
from .packing.pack import PackedContext
from .parts import AnswerDependencies
from .rounds import AnswerRound
from .spoken import TokenStreamer
from .synthesise import synthesise
from .talk.turns import format_history

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ..models.gateway import LLMClient, LLMReply


class LocalAnswerer:
    """Answers questions from the passages that local retrieval finds."""

    def __init__(self, parts: AnswerDependencies) -> None:
        self._parts = parts

    def answer(
        self,
        question: str,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
    ) -> Answer:
        """Answer with citations, or abstain.

        A model is shown the `turns` before the question. `on_event` hears of each stage as it ends, of
        the passages, and the text as it is written.

        Raises:
            ModelError: the language model could not do its part.
        """
        reflection, earlier = self._parts.reflection, format_history(turns)
        if reflection is None:
            attempt = self._attempt(question, within=within, earlier=earlier, on_event=on_event)
            return self._answer(question, attempt)
        steps = Tracer(on_event)
        spared = reflection.spared(question, steps)
        if spared is not None:
            on_event(PassagesEvent(passages=()))
            TokenStreamer(on_event, ()).end(spared)
            attempt = AnswerRound(packed=PackedContext(), draft=spared)
            return self._answer(question, attempt, before=steps.steps)
        tried: list[TraceStep] = []
        quietly = without_tokens(on_event)

        def once(expander: Expander | None) -> AnswerRound:
            # Only the best round is spoken: what the others wrote is nobody's answer.
            made = self._attempt(
                question, within=within, earlier=earlier, on_event=quietly, expander=expander
            )
            tried.extend(made.trace)
            return made

        decided = list(steps.steps)
        best, unchecked = reflection.best(question, once, steps, within=within)
        on_event(PassagesEvent(passages=best.packed.passages))
        TokenStreamer(on_event, best.packed.passages).end(best.draft)
        draft = replace(best.draft, unchecked=best.draft.unchecked or unchecked)
        later = steps.steps[len(decided) :]
        return self._answer(
            question, replace(best, draft=draft, trace=()), before=[*decided, *tried, *later]
        )

    def _attempt(
        self,
        question: str,
        *,
        within: DocumentFilter | None,
        earlier: str,
        on_event: Listener,
        expander: Expander | None = None,
    ) -> AnswerRound:
        """One round: search, correct where that is asked for, pack, write or extract."""
        found = self._parts.retriever.search(
            question,
            top_k=candidate_count(self._parts),
            within=within,
            expander=expander,
            on_event=on_event,
        )
        steps = Tracer(on_event)
        corrected = CorrectedPassages(passages=found.passages)
        if self._parts.correction is not None:
            corrected = self._parts.correction.corrected(
                question, found.passages, within=within, steps=steps
            )
        packed = packed_context(
            self._parts, question, corrected.passages, steps, within=within, earlier=earlier
        )
        on_event(PassagesEvent(passages=packed.passages))
        spoken = TokenStreamer(on_event, packed.passages)
        with synthesis(question) as said:
            draft = corrected.refusal or self._draft(
                question, packed, spoken, steps, within=within, earlier=earlier
            )
            said(draft.text)
        spoken.end(draft)
        return AnswerRound(packed=packed, draft=draft, trace=(*found.trace, *steps.steps))

    def _answer(
        self, question: str, attempt: AnswerRound, *, before: Sequence[TraceStep] = ()
    ) -> Answer:
        draft = attempt.draft
        return Answer(
            question=question,
            text=draft.text,
            mode="local",
            citations=self._parts.cited(to_document_offsets(draft.citations, attempt.packed.spans)),
            claims=draft.claims,
            grounding=draft.grounding,
            unchecked=draft.unchecked,
            passages=attempt.packed.passages,
            trace=(*before, *attempt.trace),
            usage=draft.usage,
            abstained=draft.abstained,
            short=draft.short,
            evidence=draft.evidence,
        )

    def _draft(
        self,
        question: str,
        packed: PackedContext,
        spoken: TokenStreamer,
        steps: Tracer,
        *,
        within: DocumentFilter | None,
        earlier: str,
    ) -> Draft:
        gateway = self._parts.models.answers
        if gateway is None:
            draft = self._extracted(question, packed, within)
            steps.record("extract", draft.detail, draft.text, question, **draft.figures)
            return draft

        def complete(messages: Sequence[ChatMessage]) -> tuple[str, Usage]:
            reply = gateway.chat(messages, stage="answers", keep=True, on_event=spoken.piece)
            steps.record("write", f"by {gateway.model}", reply.text, str(messages[-1].content))
            if not in_other_language(reply.text, language):
                return reply.text, reply.usage
            if self._parts.settings.other_language == "note":
                steps.record("language", "the answer is not in the language of the question")
                return reply.text, reply.usage
            return _once_more(gateway, messages, reply, language, steps)

        language = language_of(question)
        draft = synthesise(
            question,
            packed,
            earlier=earlier,
            complete=complete,
            check=partial(self._parts.checks.checked, within=within),
        )
        quotes = " | ".join(f"[{each.number}] {each.quote}" for each in draft.citations)
        failed = float(bool(draft.unchecked))
        steps.record("cite", draft.detail, quotes, **draft.figures, failed=failed)
        return draft

    def _extracted(
        self, question: str, packed: PackedContext, within: DocumentFilter | None
    ) -> Draft:
        return extractive_answer(
            question,
            packed.passages,
            tokens=tokens,
            weight=self._parts.idf(within),
            sentence_spans=sentence_spans,
            names=capitalised_names,
            max_sentences=self._parts.settings.max_sentences,
            min_evidence=self._parts.settings.min_evidence,
        )


def _once_more(
    gateway: LLMClient,
    messages: Sequence[ChatMessage],
    reply: LLMReply,
    language: Language,
    steps: Tracer,
) -> tuple[str, Usage]:
    """Retry in the question's language; keep the first answer if that fails.

    It is not spoken: a listener hears the text that stands in the end.
    """
    said = "the answer was not in the language of the question"
    try:
        again = gateway.chat(
            retry_in_language(messages, reply.text, language), stage="answers", keep=True
        )
    except ModelError as error:
        steps.record("language", f"{said}; asking again failed: {error}", failed=1.0)
        return reply.text, reply.usage
    usage = reply.usage + again.usage
    if in_other_language(again.text, language):
        steps.record("language", f"{said}, nor was it when asked again", again.text, failed=1.0)
        return reply.text, usage
    steps.record("language", f"{said}; asked again", again.text)
    return again.text, usage
