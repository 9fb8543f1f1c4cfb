"""Local answers: retrieve, pack, generate or extract, cite; every stage is traced.

Combination of a local and a global answer to one question.

The local part comes first, the overview after it under a line of its own; one that abstains leaves
the other alone. Marks of the overview are renumbered, and a span that both cite has one number. A
listener hears one answer too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..conversation import format_history
from ..errors import ModelError
from ..events import (
    Event,
    Listener,
    PassagesEvent,
    TokensEvent,
    compose_listeners,
    null_listener,
    without_tokens,
)
from ..observability import synthesis
from ..prompts import ABSTENTION, Language, language_of
from ..retrieval.passages import Tracer
from ..retrieval.query_expansion import Expander
from ..storage.schema import DocumentFilter
from ..types import Answer, Citation, Passage, TraceStep, Turn, Usage
from ..verification.llm_judge import in_other_language, retry_in_language
from .context import AnswerDependencies, candidate_count, packed_context
from .corrective import CorrectedPassages
from .extractive.answer import extractive_answer
from .packing import Draft, PackedContext, to_document_offsets
from .self_rag import AnswerRound
from .synthesis import TokenStreamer, synthesise

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ..llm.client import LLMClient, LLMReply


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

        A model is shown the `turns` before the question. `on_event` receives each finished stage,
        the passages, and the text while it is generated.

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
            weight=self._parts.idf(within),
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


LEAD: dict[Language, str] = {"en": "On the whole:", "zh": "总的来看："}
_MARK = re.compile(r"\[(\d{1,4})\]")
_LEADS = re.compile(r"[:：]$")
_REPEATED = re.compile(r"(\[\d{1,4}\])(?:\1)+")


def combine_answers(local: Answer, overview: Answer) -> Answer:
    """One answer of mode `both`, with the passages, steps and costs of the two.

    It abstains where both do, in the local one's words.
    """
    telling = [part for part in (local, overview) if not part.abstained]
    citations, numbers = _together(local, overview)
    if len(telling) == 2:
        lead = LEAD[language_of(local.question)]
        known = {each.number for each in local.citations}
        told = _unrepeated(_renumbered(overview.text, numbers), known)
        text = f"{local.text}\n\n{lead}\n\n{told}" if told else local.text
    else:
        only = telling[0] if telling else local
        text, citations = only.text, only.citations
    shared = len(local.citations) + len(overview.citations) - len(citations)
    step = TraceStep(
        stage="merge",
        detail=_said(local, overview),
        seconds=0.0,
        figures={"shared_citations": float(shared)} if len(telling) == 2 else {},
    )
    return replace(
        telling[0] if telling else local,
        text=text,
        mode="both",
        citations=citations,
        passages=_all_passages(local, overview),
        trace=(*local.trace, *overview.trace, step),
        usage=local.usage + overview.usage,
        abstained=not telling,
    )


def local_events(on_event: Listener) -> Listener:
    """Return the listener of the local part.

    Withholds its abstention, which may not be final.
    """

    def heard(event: Event) -> None:
        if not (isinstance(event, TokensEvent) and event.text in ABSTENTION.values()):
            on_event(event)

    return compose_listeners(on_event, heard)


def global_events(on_event: Listener, first: Answer) -> Listener:
    """Return the listener of the global part; numbers its passages after the first part's.

    Marks in the pieces of an overview are whole, as `Spoken` gives them.
    """
    begun = first.abstained

    def heard(event: Event) -> None:
        nonlocal begun
        match event:
            case PassagesEvent(passages=passages):
                on_event(PassagesEvent(passages=(*first.passages, *passages)))
            case TokensEvent(text=text) if text in ABSTENTION.values():
                if first.abstained:
                    on_event(event)
            case TokensEvent(text=text):
                if not begun:
                    on_event(TokensEvent(text=f"\n\n{LEAD[language_of(first.question)]}\n\n"))
                    begun = True
                on_event(TokensEvent(text=_moved(text, by=len(first.passages))))
            case _:
                on_event(event)

    return compose_listeners(on_event, heard)


def _moved(text: str, *, by: int) -> str:
    return _MARK.sub(lambda match: f"[{int(match.group(1)) + by}]", text)


def _all_passages(local: Answer, overview: Answer) -> tuple[Passage, ...]:
    """Each once, the local answer's first."""
    held = {passage.chunk_id for passage in local.passages}
    return (*local.passages, *(each for each in overview.passages if each.chunk_id not in held))


def _together(local: Answer, overview: Answer) -> tuple[tuple[Citation, ...], dict[int, int]]:
    """Concatenate the citations; map each number of the overview to its new one."""
    number_of = {_span(each): each.number for each in local.citations}
    last = max((each.number for each in local.citations), default=0)
    citations = list(local.citations)
    numbers: dict[int, int] = {}
    for each in overview.citations:
        span = _span(each)
        if span not in number_of:
            last += 1
            number_of[span] = last
            citations.append(replace(each, number=last))
        numbers[each.number] = number_of[span]
    return tuple(citations), numbers


def _renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """Renumber citation marks; other numbers in brackets stay."""

    def number(match: re.Match[str]) -> str:
        old = int(match.group(1))
        return f"[{numbers[old]}]" if old in numbers else match.group()

    return _REPEATED.sub(r"\1", _MARK.sub(number, text))


def _unrepeated(text: str, known: Collection[int]) -> str:
    """Drop list lines that rest only on sources the local part cites.

    A line that introduces such lines alone goes with them.
    """
    kept: list[str] = []
    for line in text.split("\n"):
        marks = {int(number) for number in _MARK.findall(line)}
        if not (line.startswith("- ") and marks and marks <= set(known)):
            kept.append(line)
    lines = [
        line
        for line, after in zip_longest(kept, kept[1:], fillvalue="")
        if not (_LEADS.search(line) and not after.startswith("- ") and f"{line}\n- " in text)
    ]
    if all(_LEADS.search(line) for line in lines if line.strip()):
        return ""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _span(citation: Citation) -> tuple[str, int, int]:
    return citation.document_id, citation.start, citation.end


def _said(local: Answer, overview: Answer) -> str:
    match (local.abstained, overview.abstained):
        case (False, False):
            return "the local answer, then the overview"
        case (False, True):
            return "the local answer; the overview abstained"
        case (True, False):
            return "the overview; the local answer abstained"
        case _:
            return "both abstained"
