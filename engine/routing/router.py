"""Query router on LlamaIndex's `RouterQueryEngine`: local, global or both.

`QuerySelector` hears the rules, the likeness to examples and, where these are in doubt, a language
model: one short call whose reply is read tolerantly. An `Answer` travels in the metadata of
LlamaIndex's `Response`. LlamaIndex's global `Settings` are never read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, Protocol, get_args

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.prompt_helper import ChatPromptHelper, PromptHelper
from llama_index.core.llms import MockLLM
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.response_synthesizers import TreeSummarize
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool
from llama_index.core.tools.types import ToolMetadata

from ..answering.answerer import combine_answers, global_events, local_events
from ..answering.connections import connection_pairs
from ..errors import ModelError, QuestionError
from ..events import Listener, RouteEvent, StepEvent, null_listener
from ..observability import response_of
from ..prompts import ABSTENTION, Language, fence, fill_prompt, language_of, prompt_text
from ..retrieval.passages import Tracer
from ..retrieval.retriever import SearchResult
from ..storage.graph_api import Prompt, find_json
from ..storage.schema import DocumentFilter
from ..types import Answer, Mode, Route, Turn
from .examples import ExampleSimilarity, fit_examples, load_pretrained
from .rules import SURE as SURE_OF_HALVES
from .rules import (
    classify_scope,
    concentration_of,
    explain_ambiguous,
    explain_connection,
    explain_llm_choice,
    explain_split,
    goes_both_ways,
)


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

ANSWER_KEY = "answer"
DESCRIPTIONS = {
    "local": "Facts: who, what, when, where, how; answered from the passages that say so.",
    "global": "The whole collection: themes, overviews, what runs through many documents.",
}


@dataclass
class RoutedQuery(QueryBundle):
    """A question to some of the documents, as it travels through LlamaIndex's engines.

    `turns` is what was said before it, `on_event` hears what happens on the way; `route`
    is where it
    was sent, once that is decided, `steps` what deciding took, and `answers` what came back so far.
    `found` is what deciding retrieved, if it did: a local answer reads it instead of searching.
    """

    within: DocumentFilter | None = None
    turns: tuple[Turn, ...] = ()
    on_event: Listener = null_listener
    route: Route | None = None
    answers: list[Answer] = field(default_factory=list)
    found: SearchResult | None = None
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
            self.query_str,
            confidence=route.confidence,
            **features,
        )


class AnswerEngine(BaseQueryEngine):
    """A LlamaIndex query engine around a function that answers.

    `beside` answers instead where the question goes both ways. `from_found` answers where
    deciding retrieved for the question already.
    """

    def __init__(
        self,
        answer: Answering,
        *,
        beside: Answering | None = None,
        from_found: FromFound | None = None,
    ) -> None:
        self._answer = answer
        self._beside = beside
        self._from_found = from_found
        super().__init__(callback_manager=CallbackManager([]))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = routed_query(query_bundle)
        plain = self._answer
        if self._from_found is not None and asked.found is not None:
            plain = self._from_found(asked.found)
        if asked.route is not None and asked.route.mode == "both":
            done = asked.answers
            on_event = (
                global_events(asked.on_event, done[0]) if done else local_events(asked.on_event)
            )
            answer = _asked_of(self._beside or plain, asked, on_event)
        else:
            answer = _asked_of(plain, asked, asked.on_event)
        asked.answers.append(answer)
        return _response(answer)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        # A language model may think for a minute: the event loop must go on.
        return await asyncio.to_thread(self._query, query_bundle)


class QueryRouter(RouterQueryEngine):
    """LlamaIndex router whose response holds one `Answer`, also for two engines."""

    def between(
        self, *, local: Answering, overview: Answering, from_found: FromFound | None = None
    ) -> QueryRouter:
        """One that chooses as this one does, between others."""
        return build_router(self._selector, local=local, overview=overview, from_found=from_found)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = routed_query(query_bundle)
        return _with_answer(super()._query(asked), asked)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = routed_query(query_bundle)
        return _with_answer(await super()._aquery(asked), asked)


class _Joining(TreeSummarize):
    """Summariser of LlamaIndex's router that joins responses without a model."""

    def get_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> str:
        return "\n\n".join(text_chunks)

    async def aget_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> str:
        return "\n\n".join(text_chunks)


def build_router(
    selector: BaseSelector,
    *,
    local: Answering,
    overview: Answering,
    brief: Answering | None = None,
    from_found: FromFound | None = None,
) -> QueryRouter:
    """Build the router over local and global engines.

    `brief` is the short overview for both, `from_found` the local one from what was retrieved.
    """
    # Left out, these two would make LlamaIndex read its global settings and turn to OpenAI.
    silent = MockLLM()
    tools = [
        QueryEngineTool.from_defaults(engine, name=name, description=DESCRIPTIONS[name])
        for name, engine in (
            ("local", AnswerEngine(local, from_found=from_found)),
            ("global", AnswerEngine(overview, beside=brief)),
        )
    ]
    summariser = _Joining(
        llm=silent,
        callback_manager=CallbackManager([]),
        # Nothing is cut: neither a vocabulary nor the global settings are read.
        prompt_helper=PromptHelper(tokenizer=list),
        chat_prompt_helper=ChatPromptHelper(tokenizer=list),
    )
    return QueryRouter(selector, tools, llm=silent, summarizer=summariser)


def both_ways(local: Answering, brief: Answering, asked: RoutedQuery) -> Answer:
    """Both ways because that was asked for: no router decides."""
    first = _asked_of(local, asked, local_events(asked.on_event))
    second = _asked_of(brief, asked, global_events(asked.on_event, first))
    return _joined(first, second, asked.on_event)


def routed_query(query: QueryBundle) -> RoutedQuery:
    """Wrap a LlamaIndex query bundle for the router; one from elsewhere has no filter."""
    if isinstance(query, RoutedQuery):
        return query
    return RoutedQuery(query_str=query.query_str)


def _asked_of(answering: Answering, asked: RoutedQuery, on_event: Listener) -> Answer:
    return answering(asked.query_str, within=asked.within, turns=asked.turns, on_event=on_event)


def _with_answer(response: RESPONSE_TYPE, asked: RoutedQuery) -> RESPONSE_TYPE:
    if len(asked.answers) < 2:
        return response
    first, second = sorted(asked.answers, key=lambda answer: answer.mode == "global")
    together = _response(_joined(first, second, asked.on_event))
    together.metadata = {**(response.metadata or {}), **(together.metadata or {})}
    return together


def _joined(first: Answer, second: Answer, on_event: Listener) -> Answer:
    answer = combine_answers(first, second)
    on_event(StepEvent(step=answer.trace[-1]))
    return answer


def _response(answer: Answer) -> Response:
    return response_of(answer, {ANSWER_KEY: answer})


def answer_of(response: RESPONSE_TYPE, asked: RoutedQuery) -> Answer:
    """Return the answer of a router response, with the routing step first in its trace."""
    return with_route((response.metadata or {})[ANSWER_KEY], asked)


def with_route(answer: Answer, asked: RoutedQuery) -> Answer:
    """Return the answer with its route and the routing step first in its trace."""
    return replace(answer, route=asked.route, trace=(*asked.steps.steps, *answer.trace))


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
_READS = 0.5
"""Minimum readable share for the embedding model to be consulted."""


class PrototypeClassifier:
    """Prototype classifier by an embedding model, fitted once for each language.

    `identity` is the model's: what is shipped for it need not be learnt.
    """

    def __init__(
        self, embed_model: BaseEmbedding, *, readable: Callable[[str], float], identity: str = ""
    ) -> None:
        self._embed_model = embed_model
        self._readable = readable
        self._identity = identity
        self._lock = Lock()
        self._learnt: dict[Language, ExampleSimilarity] = {}

    def likeness(self, question: str) -> float | None:
        """Return −1 (one thing) to 1 (the whole); None if the model cannot read the question."""
        if self._readable(question) < _READS:
            return None
        language = language_of(question)
        with self._lock:
            if language not in self._learnt:
                embed = self._embed_model.get_text_embedding_batch
                self._learnt[language] = load_pretrained(self._identity, language) or fit_examples(
                    lambda texts: embed(list(texts)), language
                )
        return self._learnt[language](self._embed_model.get_text_embedding(question))


Find = Callable[[str, DocumentFilter | None], SearchResult]
"""Retrieves for a question from the documents that a filter admits."""


class RouteSelection(SingleSelection):
    """A selection that also says how sure it is, 0.5 to 1."""

    confidence: float


class QuerySelector(BaseSelector):
    """Selector of one or both of two tools named `local` and `global`.

    Args:
        embed_model: compares a question with typical ones; without it words alone do.
        readable: how much of a text that model reads, 0–1; None means everything.
        identity: of that model; empty where nobody knows it.
        find: retrieves as a local answer does, where words leave open what is asked about; None
            goes by words alone.
        known_names: counts the names of the knowledge graph in a question, of those documents
            alone that may be seen; without it only the capitalised ones are seen.
        ask: asks a language model where rules are in doubt; None asks none.
        sure: the confidence below which rules are in doubt.
        both: whether what stays in doubt goes both ways, rather than the likelier one.
    """

    def __init__(
        self,
        embed_model: BaseEmbedding | None = None,
        *,
        readable: Callable[[str], float] | None = None,
        identity: str = "",
        known_names: Callable[[str, DocumentFilter | None], int] | None = None,
        find: Find | None = None,
        ask: Ask | None = None,
        sure: float = SURE,
        both: bool = True,
    ) -> None:
        self._typical = (
            PrototypeClassifier(
                embed_model, readable=readable or (lambda _text: 1.0), identity=identity
            )
            if embed_model is not None
            else None
        )
        self._known_names = known_names
        self._find = find
        self._ask = ask
        self._sure = sure
        self._both = both

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
        two = goes_both_ways(question, lambda part: self.rule(part, within)) if self._both else None
        if two is not None:
            reason = explain_split(*two, language_of(question))
            return Route(mode="both", reason=reason, confidence=SURE_OF_HALVES), None
        ruled, found = self._ruled(question, within)
        return self._decided(question, ruled), found

    def _ruled(
        self, question: str, within: DocumentFilter | None
    ) -> tuple[Route, SearchResult | None]:
        """Rule on a question; retrieve where what is found could change that."""
        rule = self._rule(question, within)
        ruled, at_most = rule(concentration=0.0), rule(concentration=1.0)
        sure = min(ruled.confidence, at_most.confidence) >= self._sure
        if self._find is None or (sure and ruled.mode == at_most.mode):
            return ruled, None
        found = self._find(question, within)
        return rule(concentration=concentration_of(found.passages)), found

    def _decided(self, question: str, ruled: Route) -> Route:
        """Take a rule where it is sure; else ask a model, or go both ways."""
        if ruled.confidence >= self._sure:
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

    def rule(self, question: str, within: DocumentFilter | None = None) -> Route:
        """Local or global, by words, names and likeness alone."""
        return self._rule(question, within)(concentration=0.0)

    def _rule(self, question: str, within: DocumentFilter | None) -> Callable[..., Route]:
        """Return the rule for a question, whose likeness and names are looked up once."""
        count = self._known_names
        return partial(
            classify_scope,
            question,
            vector_likeness=self._typical.likeness(question) if self._typical else None,
            known_names=count(question, within) if count is not None else 0,
        )

    def _select(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        route, found = self.route_with_passages(query.query_str, _within(query))
        return _selection(choices, _told(route, query, found))

    async def _aselect(self, choices: Sequence[ToolMetadata], query: QueryBundle) -> SelectorResult:
        return await asyncio.to_thread(self._select, choices, query)

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if prompts_dict:
            raise QuestionError(
                f"the scope selector has no prompts to set: {sorted(prompts_dict)}; leave them out"
            )


def _within(query: QueryBundle) -> DocumentFilter | None:
    """Return the document filter of a query."""
    return query.within if isinstance(query, RoutedQuery) else None


def _told(route: Route, query: QueryBundle, found: SearchResult | None) -> Route:
    """Attach the decision, and what was retrieved for it, to our own query."""
    if isinstance(query, RoutedQuery):
        query.found = found
        query.go(route)
    return route


def _selection(choices: Sequence[ToolMetadata], route: Route) -> SelectorResult:
    names = [choice.name for choice in choices]
    if sorted(str(name) for name in names) != ["global", "local"]:
        raise QuestionError(f"tools of the router: {names!r}; give it 'local' and 'global'")
    wanted = ("local", "global") if route.mode == "both" else (route.mode,)
    return SelectorResult(
        selections=[
            RouteSelection(
                index=names.index(name), reason=route.reason, confidence=route.confidence
            )
            for name in wanted
        ]
    )
