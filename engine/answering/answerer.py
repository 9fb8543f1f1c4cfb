"""Local answers: search, correct, pack, write or extract, cite; every stage is a trace step.

`ContextPacker` fits passages to the reader. Without a language model nothing is compressed, joined
or moved; with one the budget is what its window holds, up to a limit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from graph.text.cjk import in_script_of

from ..config import AnswerSettings, PackSettings
from ..conversation import format_history
from ..embeddings.tokenizer import Tokeniser
from ..errors import ModelError
from ..events import (
    Listener,
    PassagesEvent,
    StepEvent,
    null_listener,
    without_tokens,
)
from ..observability import synthesis_span
from ..prompts import Language, count_injections, language_of, prompt_text
from ..retrieval.passages import Embed, Tracer, preview_top_passages
from ..retrieval.query_expansion import Expander
from ..retrieval.retriever import HybridRetriever, SearchResult
from ..storage.graph_api import read_mentions
from ..storage.library import Library
from ..storage.schema import DocumentFilter, narrowed_to
from ..storage.tokenization import tokens
from ..types import Answer, Passage, TraceStep, Turn, Usage
from ..verification.llm_judge import in_other_language, retry_in_language
from ..verification.pipeline import CitationVerifier
from .compression import (
    SentenceSelection,
    render_selection,
    select_key_sentences,
    sentences_by_model,
)
from .connection_questions import connection_pairs
from .connections import ConnectionAnswerer
from .extractive.answer import extractive_answer
from .extractive.block_candidates import READ_PASSAGES, Reader, WholeReader
from .extractive.chinese.fact_questions import fact_question
from .extractive.chinese.facts import CANDIDATES, SHOWN, fact_searches, facts_first
from .extractive.chinese.known_as import KnownAs, name_candidates, other_name_searches
from .extractive.intent import (
    asked_person,
    compared_sides,
    compares_in_respect,
    question_intent,
    side_question,
)
from .extractive.likeness import is_doubtful
from .named_documents import named_source
from .nearest import quoted_passages
from .packing import (
    Draft,
    PackedContext,
    Shown,
    as_passage,
    on_pages,
    pack_context,
    to_document_offsets,
    window_budget_tokens,
)
from .passage_order import OF_SIDE, direct_first, with_nearest, with_sides
from .persons import PersonPlaces
from .rounds import AnswerRound, CorrectedPassages, Correction, Reflection
from .synthesis import TokenStreamer, synthesise

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

    from ..llm.client import LLMClient, LLMReply


_FRAME_TOKENS = 48
"""The lines around sources, and what a chat template puts around two messages."""
_LEAST_TOKENS = 6_000
"""Default tokens of sources without a model, and the least where one answers."""
_SHARE_OF_WINDOW = 1 / 16
"""Default share of a model's window that sources take, where that is more."""
PERSON_CANDIDATES = 600
"""Passages among which what introduces a person is looked for: a novel names one in hundreds."""
_TOKENS_A_PASSAGE = 60
"""Tokens of a short passage: a budget may hold one for each."""


class ContextPacker:
    """Fits passages to the reader of a question.

    Args:
        library: where text between neighbours and dates of documents are looked up.
        settings: the token budget.
        packing: joining, order and compression where a model reads.
        retriever: gives the weights of words for compression.
        gateway: the model that writes answers; without it sentences are extracted.
        embed: texts to unit vectors; None compares words alone.
        tokeniser: counts what fits.
        fills: retrieve as many passages as a model's budget may hold; else the default number.
    """

    def __init__(
        self,
        library: Library,
        settings: AnswerSettings,
        packing: PackSettings,
        *,
        retriever: HybridRetriever,
        gateway: LLMClient | None,
        embed: Embed | None,
        tokeniser: Tokeniser,
        fills: bool = True,
    ) -> None:
        self._library = library
        self._settings = settings
        self._packing = packing
        self._retriever = retriever
        self.gateway = gateway
        self._embed = embed
        self._count = tokeniser.count
        self._fills = fills

    @property
    def candidate_count(self) -> int | None:
        """The number of passages to retrieve; None for the default."""
        if self.gateway is None:
            return None
        if self._packing.long_context:
            return self._packing.passages
        if not self._fills:
            return None
        return max(1, min(self._cap_tokens // _TOKENS_A_PASSAGE, self._packing.passages))

    @property
    def _cap_tokens(self) -> int:
        """Tokens of the sources of one answer, whatever a window has left."""
        given, gateway = self._settings.budget_tokens, self.gateway
        if given is not None:
            return given
        window = gateway.context_window if gateway is not None else 0
        return max(_LEAST_TOKENS, int(_SHARE_OF_WINDOW * window))

    def pack(
        self,
        question: str,
        passages: Sequence[Passage],
        steps: Tracer,
        *,
        within: DocumentFilter | None = None,
        earlier: str = "",
    ) -> PackedContext:
        """Pack passages (best first) for a question; each stage is a trace step.

        `within` are the documents that may be seen: words are weighed in these alone. `earlier`
        is what was said before, where the answer follows on from it: it takes room.
        """
        gateway = self.gateway
        if gateway is None:
            packed = pack_context(passages, budget_tokens=self._cap_tokens, count=self._count)
        else:
            packed = pack_context(
                passages,
                budget_tokens=self._budget_tokens(gateway, question, earlier=earlier),
                count=self._count,
                order=self._packing.order,
                text=self._library.text_at if self._packing.merge else None,
                shown=self._compressed(gateway, question, passages, steps, within=within),
                dates=self._library.dates({passage.document_id for passage in passages}),
            )
        steps.record(
            "pack",
            f"{len(packed.passages)} passages in {packed.tokens} tokens",
            preview_top_passages(packed.passages),
            f"{len(passages)} passages",
            tokens=packed.tokens,
            left_out=packed.left_out,
            duplicates=packed.duplicates,
            joined=sum(len(span.parts) - 1 for span in packed.spans),
            ordering=count_injections(packed.passages),
        )
        return packed

    def _budget_tokens(self, gateway: LLMClient, question: str, *, earlier: str) -> int:
        """Tokens of sources in one request to the model that answers."""
        count, language = self._count, language_of(question)
        return window_budget_tokens(
            gateway.context_window,
            answer_tokens=gateway.max_output_tokens,
            instruction_tokens=count(prompt_text("answering/answer", language)) + _FRAME_TOKENS,
            question_tokens=count(question),
            history_tokens=count(earlier) + _FRAME_TOKENS if earlier else 0,
            cap_tokens=None if self._packing.long_context else self._cap_tokens,
        )

    def _compressed(
        self,
        gateway: LLMClient,
        question: str,
        passages: Sequence[Passage],
        steps: Tracer,
        *,
        within: DocumentFilter | None,
    ) -> Shown | None:
        if self._packing.compress == "none" or not passages:
            return None
        key: SentenceSelection | None = None
        why = ""
        if self._packing.compress == "llm":
            # One selection call shows a third of the answer's window.
            limit = max(256, (gateway.context_window - gateway.max_output_tokens) // 3)
            key, why = sentences_by_model(
                question,
                self._fitting(passages, limit=limit),
                ask=lambda prompt: gateway.ask(prompt, stage="compress", keep=True).text,
            )
        if key is None:
            weight = self._retriever.idf(within)
            key = select_key_sentences(question, passages, weight=weight, embed=self._embed)
        steps.record("compress", f"{key.detail}; {why}" if why else key.detail)
        return render_selection(key, passages)

    def _fitting(self, passages: Sequence[Passage], *, limit: int) -> list[Passage]:
        """Return leading passages within the limit, at least one."""
        kept: list[Passage] = []
        left = limit
        for passage in passages:
            left -= self._count(passage.text)
            if left < 0 and kept:
                break
            kept.append(passage)
        return kept


class LocalAnswerer:
    """Answers questions from the passages that local retrieval finds.

    Args:
        library: where cited pages are looked up.
        settings: thresholds of answers.
        retriever: finds passages.
        packer: fits them to the reader; its model writes the answer, else it is extracted.
        checks: checks what a model wrote.
        correction: judges and corrects what was found; None takes it as it is.
        reflection: answers in rounds; None answers once.
        connections: answers how two things are connected, where no model writes.
        places: tells where a person is named, where no model writes.
        reader: chooses the excerpt that answers where no model writes; None: rules choose.
        likeness: `reader` for questions in Chinese, which it does not read.
    """

    def __init__(
        self,
        library: Library,
        settings: AnswerSettings,
        *,
        retriever: HybridRetriever,
        packer: ContextPacker,
        checks: CitationVerifier,
        correction: Correction | None,
        reflection: Reflection | None,
        connections: ConnectionAnswerer,
        places: PersonPlaces,
        reader: Reader | None = None,
        likeness: WholeReader | None = None,
    ) -> None:
        self._library = library
        self._settings = settings
        self._retriever = retriever
        self._packer = packer
        self._checks = checks
        self._correction = correction
        self._reflection = reflection
        self._connections = connections
        self._places = places
        self._reader = reader
        self._likeness = likeness

    def search(self, question: str, within: DocumentFilter | None = None) -> SearchResult:
        """Retrieve as an answer does, silently; `from_found` answers from it."""
        return self._search(question, within=within, expander=None, on_event=null_listener)

    def reading(self, retriever: HybridRetriever) -> LocalAnswerer:
        """Return the same answerer over another retriever of the library."""
        other = copy(self)
        other._retriever = retriever
        return other

    def from_found(self, found: SearchResult) -> Callable[..., Answer]:
        """Return `answer` from what `search` found, for the same question and filter."""
        return partial(self.answer, found=found)

    def answer(
        self,
        question: str,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
        found: SearchResult | None = None,
    ) -> Answer:
        """Answer with citations, or abstain.

        A model is shown the `turns` before the question. `found` is read instead of a first search
        where it is given. `on_event` receives each finished stage,
        the passages, and the text while it is generated.

        Raises:
            ModelError: the language model could not do its part.
        """
        if self._packer.gateway is None:
            connected = self._connected(question, within, on_event)
            if connected is not None:
                return connected
            told = self._told_by_source(question, within, found)
            if told is not None:
                return self._said(question, told, on_event)
        reflection, earlier = self._reflection, format_history(turns)
        if reflection is None:
            attempt = self._attempt(
                question, within=within, earlier=earlier, on_event=on_event, found=found
            )
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

    def _connected(
        self, question: str, within: DocumentFilter | None, on_event: Listener
    ) -> Answer | None:
        """Return how two things are connected; None where that is not asked for."""
        steps = Tracer(on_event)
        draft = self._connections.answer(
            question, within=within, find=lambda: self.search(question, within).passages
        )
        if draft is None:
            return None
        through = draft.figures["through"]
        is_far = draft.abstained or through > 0
        if is_far and (told := self._told_together(question, within, is_unlikely=through > 1)):
            why = "search is told" if through > 1 else "search names both"
            steps.record("connect", f"{draft.detail}; {why}", told.draft.text, question)
            told = replace(told, trace=(*steps.steps, *told.trace))
            return self._said(question, told, on_event)
        steps.record("connect", draft.detail, draft.text, question, **draft.figures)
        packed = PackedContext(passages=tuple(as_passage(each) for each in draft.citations))
        attempt = AnswerRound(packed=packed, draft=draft, trace=tuple(steps.steps))
        return self._said(question, attempt, on_event)

    def _said(self, question: str, attempt: AnswerRound, on_event: Listener) -> Answer:
        """Return the answer of a round made in silence, and report it to the listener."""
        on_event(PassagesEvent(passages=attempt.packed.passages))
        TokenStreamer(on_event, attempt.packed.passages).end(attempt.draft)
        return self._answer(question, attempt)

    def _told_by_source(
        self, question: str, within: DocumentFilter | None, found: SearchResult | None
    ) -> AnswerRound | None:
        """Return what a document that the question names tells without a doubt; maybe None."""
        source = named_source(question)
        if source is None:
            return None
        passages = (found or self.search(question, within)).passages
        weight = self._retriever.idf(within)
        own = {
            one.document_id
            for one in passages
            if source.is_of(one.title, one.document_id, weight=weight)
        }
        if not own:
            return None
        told = self._attempt(
            source.asked, within=narrowed_to(within, own), earlier="", on_event=null_listener
        )
        return None if is_doubtful(told.draft, source.asked) else told

    def _told_together(
        self, question: str, within: DocumentFilter | None, *, is_unlikely: bool
    ) -> AnswerRound | None:
        """Return what search finds without a doubt, where one citation names both; maybe None.

        Whatever it finds, where the way in the graph `is_unlikely` to say much.
        """
        found = self._attempt(question, within=within, earlier="", on_event=null_listener)
        if is_unlikely and not found.draft.abstained:
            return found
        pairs = [[set(tokens(name)) for name in pair] for pair in connection_pairs(question)]
        cited = (set(tokens(f"{one.title}\n{one.quote}")) for one in found.draft.citations)
        is_of_both = any(all(name <= held for name in pair) for held in cited for pair in pairs)
        return found if is_of_both and not is_doubtful(found.draft, question) else None

    def _attempt(
        self,
        question: str,
        *,
        within: DocumentFilter | None,
        earlier: str,
        on_event: Listener,
        expander: Expander | None = None,
        found: SearchResult | None = None,
    ) -> AnswerRound:
        """One round: search, correct where that is asked for, pack, write or extract."""
        if found is None:
            found = self._search(question, within=within, expander=expander, on_event=on_event)
        else:
            for step in found.trace:
                on_event(StepEvent(step=step))
        steps = Tracer(on_event)
        corrected = CorrectedPassages(passages=found.passages)
        if self._correction is not None:
            corrected = self._correction.corrected(
                question, found.passages, within=within, steps=steps
            )
        packed = self._packer.pack(
            question, corrected.passages, steps, within=within, earlier=earlier
        )
        on_event(PassagesEvent(passages=packed.passages))
        spoken = TokenStreamer(on_event, packed.passages)
        with synthesis_span(question) as said:
            draft = corrected.refusal or self._draft(
                question, packed, spoken, steps, within=within, earlier=earlier
            )
            said(draft.text)
        spoken.end(draft)
        return AnswerRound(packed=packed, draft=draft, trace=(*found.trace, *steps.steps))

    def _search(
        self,
        question: str,
        *,
        within: DocumentFilter | None,
        expander: Expander | None,
        on_event: Listener,
    ) -> SearchResult:
        """Search; for a fact or an excerpt among more passages, those that may hold it first."""
        is_fact = expander is None and fact_question(question) is not None
        is_person = expander is None and bool(asked_person(question))
        gateway = self._packer.gateway
        has_excerpt = gateway is None and question_intent(question) is not None
        usual = self._retriever.top_k  # fewer than are read by default are wanted: no others
        is_quoted = gateway is None and expander is None and usual >= READ_PASSAGES
        looks_wider = is_fact or has_excerpt or is_quoted
        among = PERSON_CANDIDATES if is_person else CANDIDATES
        if expander is None and gateway is None:
            expander = other_name_searches(question, self._known_as(question, within))

        def keep(passages: list[Passage]) -> list[Passage]:
            if is_fact:
                return facts_first(question, passages)[:SHOWN]
            if has_excerpt:
                known_as = self._known_as(question, within)
                return direct_first(question, passages, known_as)[:READ_PASSAGES]
            return with_nearest(question, passages, first=usual) if is_quoted else passages

        found = self._retriever.search(
            question,
            top_k=max(among, usual) if looks_wider else self._packer.candidate_count,
            within=within,
            expander=fact_searches if is_fact or is_person else expander,
            keep=keep,
            on_event=on_event,
        )
        is_comparison = question_intent(question) == "comparison"
        if is_fact or not has_excerpt or not is_comparison or compares_in_respect(question):
            return found
        sides = compared_sides(question)
        asked = (side_question(question, side, sides) or side for side in sides)
        each = [self._retriever.search(one, top_k=OF_SIDE, within=within).passages for one in asked]
        return replace(found, passages=with_sides(found.passages, each)[:READ_PASSAGES])

    def _answer(
        self, question: str, attempt: AnswerRound, *, before: Sequence[TraceStep] = ()
    ) -> Answer:
        draft = attempt.draft
        citations = to_document_offsets(draft.citations, attempt.packed.spans)
        told = (*citations, *draft.nearest)
        starts = self._library.page_starts({each.document_id for each in told})
        is_plain = draft.abstained and not citations
        read = on_pages(to_document_offsets(draft.nearest, attempt.packed.spans), starts)
        return Answer(
            question=question,
            text=in_script_of(question, draft.text) if is_plain else draft.text,
            mode="local",
            citations=on_pages(citations, starts),
            claims=draft.claims,
            grounding=draft.grounding,
            unchecked=draft.unchecked,
            passages=attempt.packed.passages,
            trace=(*before, *attempt.trace),
            usage=draft.usage,
            abstained=draft.abstained,
            short=draft.short,
            evidence=draft.evidence,
            nearest=quoted_passages(read, attempt.packed.passages),
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
        gateway = self._packer.gateway
        if gateway is None:
            draft = self._extracted(question, packed, within)
            draft = self._places.below(question, draft, within=within)
            steps.record("extract", draft.detail, draft.text, question, **draft.figures)
            return draft

        def complete(messages: Sequence[ChatMessage]) -> tuple[str, Usage]:
            reply = gateway.chat(messages, stage="answers", keep=True, on_event=spoken.piece)
            steps.record("write", f"by {gateway.model}", reply.text, str(messages[-1].content))
            if not in_other_language(reply.text, language):
                return reply.text, reply.usage
            if self._settings.other_language == "note":
                steps.record("language", "the answer is not in the language of the question")
                return reply.text, reply.usage
            return _once_more(gateway, messages, reply, language, steps)

        language = language_of(question)
        draft = synthesise(
            question,
            packed,
            earlier=earlier,
            complete=complete,
            check=partial(self._checks.checked, within=within),
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
            weight=self._retriever.idf(within),
            max_sentences=self._settings.max_sentences,
            min_evidence=self._settings.min_evidence,
            one_excerpt=True,
            read=self._reader,
            likeness=self._likeness,
            text_at=self._library.text_at,
            types=self._types(packed.passages) if self._reader is not None else {},
            known_as=self._known_as(question, within),
        )

    def _known_as(self, question: str, within: DocumentFilter | None) -> KnownAs:
        """Return the other names of what a Chinese question names, and of a person asked for."""
        if language_of(question) != "zh":
            person = asked_person(question)
            known = self._retriever.other_names([person.casefold()], within) if person else {}
            return KnownAs(tuple((person, others) for others in known.values()))
        known = self._retriever.other_names(name_candidates(question), within)
        return KnownAs.of(question, known)

    def _types(self, passages: Sequence[Passage]) -> dict[str, str]:
        """Return the commonest type of each name in the passages."""
        with self._library.read() as connection:
            found = read_mentions(connection, (passage.chunk_id for passage in passages))
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for chunk_id in sorted(found):
            for mention in found[chunk_id]:
                counts[mention.surface][mention.type] += 1
        return {name: count.most_common(1)[0][0] for name, count in counts.items()}


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
        steps.record("language", f"{said}; the second attempt failed: {error}", failed=1.0)
        return reply.text, reply.usage
    usage = reply.usage + again.usage
    if in_other_language(again.text, language):
        steps.record("language", f"{said}, nor in the second attempt", again.text, failed=1.0)
        return reply.text, usage
    steps.record("language", f"{said}; retried", again.text)
    return again.text, usage
