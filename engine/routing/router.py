"""Query router: local, global or both.

`QuerySelector` hears the classifier of scopes and, where that is in doubt, what retrieval finds and
a language model: one short call whose reply is read tolerantly. `llamaindex.LibraryRouter` is the
same as LlamaIndex's `RouterQueryEngine`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, get_args

from ..answering.combined import combine_answers, global_events, local_events, stands_by_itself
from ..answering.connection_questions import connection_pairs
from ..answering.extractive.intent import named_plainly
from ..answering.global_search.about import asks_where_to_begin
from ..answering.global_search.asked import asks_to_sum_up, without_closing
from ..answering.global_search.references import asks_for_part
from ..answering.named_documents import document_asked, is_title_of, is_whole_named, named_source
from ..errors import ModelError
from ..events import Listener, RouteEvent, StepEvent, null_listener
from ..prompts import ABSTENTION, Language, fence, fill_prompt, language_of, prompt_text
from ..retrieval.passages import Tracer
from ..retrieval.retriever import SearchResult
from ..storage.graph_api import Prompt, find_json
from ..storage.schema import DocumentFilter
from ..storage.tokenization import tokens_of
from ..types import Answer, Mode, Route, TraceStep, Turn
from .rules import (
    SUMS_UP,
    classify_scope,
    concentration_of,
    explain_ambiguous,
    explain_connection,
    explain_llm_choice,
    explain_route,
    explain_split,
    goes_both_ways,
)
from .rules import SURE as SURE_OF_HALVES
from .scope import Scope, ScopeClassifier


class Answering(Protocol):
    """Query engine function: answers from documents admitted by a filter, with events.

    A model is shown the turns before it, too.
    """

    def __call__(
        self,
        question: str,
        *,
        within: DocumentFilter | None = None,
        turns: tuple[Turn, ...] = (),
        on_event: Listener = null_listener,
    ) -> Answer:
        """Answer the question."""
        ...


FromFound = Callable[[SearchResult], Answering]
"""Gives the local engine that answers from what was retrieved before."""


@dataclass(slots=True, kw_only=True)
class RoutedQuery:
    """A question to some of the documents, on its way to an answer.

    `turns` is what was said before it, `on_event` hears what happens on the way; `route` is where
    it was sent, once that is decided, and `steps` what deciding took.
    """

    question: str
    within: DocumentFilter | None = None
    turns: tuple[Turn, ...] = ()
    on_event: Listener = null_listener
    route: Route | None = None
    steps: Tracer = field(init=False)

    def __post_init__(self) -> None:
        self.steps = Tracer(self.on_event)

    def go(self, route: Route) -> None:
        """Dispatch to the router's decision."""
        self.route = route
        self.on_event(RouteEvent(route=route))
        features = {name: round(weight, 2) for name, weight in route.features.items()}
        self.steps.record(
            "route",
            f"{route.mode}: {route.reason}",
            f"{route.mode}, confidence {route.confidence:.2f}",
            self.question,
            confidence=route.confidence,
            **features,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRouter:
    """Routes a question and answers it: locally, globally or both ways.

    `brief` is the short overview for both, `from_found` answers from what deciding retrieved.
    `spares`: where it is in doubt whether one thing or the whole is asked for, a local answer that
    is likely right stands alone.
    """

    selector: QuerySelector
    local: Answering
    overview: Answering
    brief: Answering | None = None
    from_found: FromFound | None = None
    spares: bool = False

    def answer(self, asked: RoutedQuery) -> Answer:
        """Answer a question; the step of routing stands first in its trace."""
        route, found = self.selector.route_with_passages(asked.question, asked.within)
        asked.go(route)
        local = self.local
        if self.from_found is not None and found is not None:
            local = self.from_found(found)
        match route.mode:
            case "local":
                answer = _asked_of(local, asked, asked.on_event)
            case "global":
                answer = _asked_of(self.overview, asked, asked.on_event)
            case "both":
                spares = self.spares and route.confidence < SURE
                answer = both_ways(local, self.brief or self.overview, asked, spares=spares)
        return with_route(answer, asked)


def with_route(answer: Answer, asked: RoutedQuery) -> Answer:
    """Return the answer with its route and the routing step first in its trace."""
    return replace(answer, route=asked.route, trace=(*asked.steps.steps, *answer.trace))


def both_ways(
    local: Answering, brief: Answering, asked: RoutedQuery, *, spares: bool = False
) -> Answer:
    """Answer locally and globally, and join the two.

    `spares`: a local answer that is likely right stands alone.
    """
    first = _asked_of(local, asked, local_events(asked.on_event))
    if spares and stands_by_itself(first):
        step = TraceStep(stage="merge", detail=_ENOUGH, seconds=0.0)
        asked.on_event(StepEvent(step=step))
        return replace(first, trace=(*first.trace, step))
    second = _asked_of(brief, asked, global_events(asked.on_event, first))
    return _joined(first, second, asked.on_event)


def _asked_of(answering: Answering, asked: RoutedQuery, on_event: Listener) -> Answer:
    return answering(asked.question, within=asked.within, turns=asked.turns, on_event=on_event)


_ENOUGH = "the local answer is likely right: no overview is needed"


def _joined(first: Answer, second: Answer, on_event: Listener) -> Answer:
    answer = combine_answers(first, second)
    on_event(StepEvent(step=answer.trace[-1]))
    return answer


Ask = Callable[[Prompt], str]
"""A model's reply to a prompt; raises `ModelError`."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": list(get_args(Mode))},
        "reason": {"type": "string"},
    },
    "required": ["mode", "reason"],
    "additionalProperties": False,
}
CONFIDENCE = 0.85
"""Confidence of a model's decision, and of a question for a connection."""
_MAX_OUTPUT_TOKENS = 256
_MAX_REASON = 160
_NO_HELP: dict[Language, str] = {
    "en": "the model was no help: {error}",
    "zh": "模型未能判断：{error}",
}
_NO_WAY: dict[Language, str] = {"en": "the model named no way", "zh": "模型没有说明方式"}
_SAID = re.compile(r"(?<![\w-])(local|global|both)(?![\w-])", re.IGNORECASE)


def route_by_model(question: str, ask: Ask) -> tuple[Route | None, str]:
    """Route by a model; return None and a one-line reason on failure or model error."""
    language = language_of(question)
    try:
        reply = ask(route_prompt(question))
    except ModelError as error:
        return None, _NO_HELP[language].format(error=error)
    read = read_route(reply, language)
    if read is None:
        return None, _NO_WAY[language]
    return read, ""


def route_prompt(question: str) -> Prompt:
    """Build the routing prompt; its instructions are constant."""
    language = language_of(question)
    word = fence(question).replace("sources", "question")
    return Prompt(
        system=fill_prompt(
            prompt_text("answering/route", language), abstention=ABSTENTION[language]
        ),
        user=f"<<<{word}>>>\n{question}\n<<<end {word}>>>",
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        schema=SCHEMA,
    )


def read_route(reply: str, language: Language = "en") -> Route | None:
    """Parse the route of a reply; None if missing or ambiguous."""
    for value in find_json(reply).values:
        if isinstance(value, dict):
            fields = {str(key).strip().casefold(): field for key, field in value.items()}
            mode = _mode(str(fields.get("mode", "")))
            if mode is not None:
                return _route(mode, str(fields.get("reason") or ""), language)
    mode = _mode(reply)
    return _route(mode, "", language) if mode is not None else None


def _mode(text: str) -> Mode | None:
    said = {word.casefold() for word in _SAID.findall(text)}
    modes: list[Mode] = [mode for mode in get_args(Mode) if mode in said]
    return modes[0] if len(modes) == 1 else None


def _route(mode: Mode, reason: str, language: Language) -> Route:
    said = " ".join(reason.split())[:_MAX_REASON]
    return Route(mode=mode, reason=explain_llm_choice(said, language), confidence=CONFIDENCE)


SURE = 0.65
"""Confidence below which a model is asked, or both routes are taken."""

Find = Callable[[str, DocumentFilter | None], SearchResult]
"""Retrieves for a question from the documents that a filter admits."""


class QuerySelector:
    """Chooses the way of a question: local, global or both.

    Args:
        scope: tells the scope of a question; by default by words alone.
        find: retrieves as a local answer does, where that may change the way; None goes by the
            question alone.
        ask: asks a language model where rules are in doubt; None asks none.
        sure: the confidence below which rules are in doubt.
        both: whether what stays in doubt goes both ways, rather than the likelier one.
        outlines: whether what asks to sum up one thing goes to the overview, which tells it section
            by section where no model writes.
        titles: gives the titles of the documents that may be seen; what asks what one of them
            covers goes to the overview, too.
    """

    def __init__(
        self,
        scope: Callable[[str], Scope] | None = None,
        *,
        find: Find | None = None,
        ask: Ask | None = None,
        sure: float = SURE,
        both: bool = True,
        outlines: bool = False,
        titles: Callable[[DocumentFilter | None], Iterable[str]] | None = None,
    ) -> None:
        self._scope = scope or ScopeClassifier()
        self._find = find
        self._ask = ask
        self._sure = sure
        self._both = both
        self._outlines = outlines
        self._titles = titles

    def route(self, question: str, within: DocumentFilter | None = None) -> Route:
        """Route a question by rules where confident, else by a model.

        Raises:
            EmbeddingUnavailable: the embedding model does not answer.
        """
        return self.route_with_passages(question, within)[0]

    def route_with_passages(
        self, question: str, within: DocumentFilter | None = None
    ) -> tuple[Route, SearchResult | None]:
        """Route a question; return what was retrieved for that, too, if anything was."""
        if connection_pairs(question):
            reason = explain_connection(language_of(question))
            return Route(mode="local", reason=reason, confidence=CONFIDENCE), None
        if self._is_of_document(question, within):
            reason = explain_route({SUMS_UP: 1.0}, "global", language_of(question))
            return Route(mode="global", reason=reason, confidence=CONFIDENCE), None
        whole, question = question, without_closing(question)
        two = goes_both_ways(question, self.rule) if self._both else None
        if two is not None:
            reason = explain_split(*two, language_of(question))
            return Route(mode="both", reason=reason, confidence=SURE_OF_HALVES), None
        ruled, found = self._ruled(question, within)
        return self._decided(whole, ruled), found

    def _is_of_document(self, question: str, within: DocumentFilter | None) -> bool:
        """Check for a question that asks what a document, a part of one or the library covers."""
        if self._outlines and (asks_for_part(question) or asks_where_to_begin(question)):
            return True
        if not self._outlines or self._titles is None:
            return False
        titles = list(self._titles(within))
        source = named_source(question)
        is_told = source is not None and source.about and source.words
        if source and is_told and source.words.isdisjoint(tokens_of(*titles)):
            return True  # no document is called so: all are asked what they say
        if not (name := document_asked(question)):
            return False
        return any(is_title_of(name, title) for title in titles) or is_whole_named(name, titles)

    def _ruled(
        self, question: str, within: DocumentFilter | None
    ) -> tuple[Route, SearchResult | None]:
        """Rule on a question; retrieve where what is found could change that."""
        source = named_source(question)
        plain = named_plainly(question if source is None else source.asked)
        rule = partial(classify_scope, plain, scope=self._scope(plain))
        ruled, at_most = rule(), rule(concentration=1.0)
        sure = min(ruled.confidence, at_most.confidence) >= self._sure
        if self._find is None or (sure and ruled.mode == at_most.mode):
            return ruled, None
        found = self._find(question, within)
        return rule(concentration=concentration_of(found.passages)), found

    def _decided(self, question: str, ruled: Route) -> Route:
        """Take a rule where it is sure; else ask a model, or go both ways."""
        is_sure = ruled.confidence >= self._sure
        if self._outlines and asks_to_sum_up(question) and not (is_sure and ruled.mode == "global"):
            reason = explain_route({SUMS_UP: 1.0}, "global", language_of(question))
            return replace(ruled, mode="global", reason=reason, confidence=CONFIDENCE)
        if is_sure:
            return ruled
        why = ""
        if self._ask is not None:
            said, why = route_by_model(question, self._ask)
            if said is not None:
                return said if self._both or said.mode != "both" else ruled
        mode: Mode = "both" if self._both else ruled.mode
        reason = (
            explain_ambiguous(ruled.features, language_of(question)) if self._both else ruled.reason
        )
        return replace(ruled, mode=mode, reason=f"{reason}; {why}" if why else reason)

    def rule(self, question: str) -> Route:
        """Local or global, by the question alone."""
        return classify_scope(question, scope=self._scope(question))
