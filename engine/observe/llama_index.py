"""LlamaIndex instrumentation: spans and events for queries, retrieval and synthesis.

Whoever watches LlamaIndex (a handler at its root dispatcher) sees this engine too. Where nobody
does, nothing is made. Models' own calls are told by their LlamaIndex classes, inside these spans.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Token

from llama_index.core.base.response.schema import Response
from llama_index.core.instrumentation.event_handlers import NullEventHandler
from llama_index.core.instrumentation.events.query import QueryEndEvent, QueryStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.events.synthesis import (
    SynthesizeEndEvent,
    SynthesizeStartEvent,
)
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.instrumentation.span_handlers import NullSpanHandler
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import active_instrument_tags
from llama_index_instrumentation.events.span import SpanDropEvent

from ..types import Answer, Passage

_dispatcher = get_dispatcher("loregraph")


@contextmanager
def query(question: str) -> Iterator[Callable[[Answer], None]]:
    """Open a query span; pass the answer to the yielded callable."""
    if not _is_watched():
        yield _nothing
        return
    with _span("KnowledgeEngine.ask", question) as results:
        _dispatcher.event(QueryStartEvent(query=question))

        def answered(answer: Answer) -> None:
            response = response_of(answer)
            _dispatcher.event(QueryEndEvent(query=question, response=response))
            results.append(response)

        yield answered


@contextmanager
def retrieval(question: str) -> Iterator[Callable[[Sequence[Passage]], None]]:
    """Open a retrieval span; pass the passages to the yielded callable."""
    if not _is_watched():
        yield _nothing
        return
    with _span("LocalRetriever.search", question) as results:
        _dispatcher.event(RetrievalStartEvent(str_or_query_bundle=question))

        def found(passages: Sequence[Passage]) -> None:
            nodes = [node_of(passage) for passage in passages]
            _dispatcher.event(RetrievalEndEvent(str_or_query_bundle=question, nodes=nodes))
            results.append(nodes)

        yield found


@contextmanager
def synthesis(question: str) -> Iterator[Callable[[str], None]]:
    """Open a synthesis span; pass the text to the yielded callable."""
    if not _is_watched():
        yield _nothing
        return
    with _span("KnowledgeEngine.synthesise", question) as results:
        _dispatcher.event(SynthesizeStartEvent(query=question))

        def said(text: str) -> None:
            response = Response(text)
            _dispatcher.event(SynthesizeEndEvent(query=question, response=response))
            results.append(response)

        yield said


def response_of(answer: Answer, metadata: dict[str, object] | None = None) -> Response:
    """Convert an answer to a LlamaIndex response with its passages as source nodes."""
    return Response(
        response=answer.text,
        source_nodes=[node_of(passage) for passage in answer.passages],
        metadata=metadata,
    )


def node_of(passage: Passage) -> NodeWithScore:
    """Convert a passage to a LlamaIndex node."""
    node = TextNode(
        id_=passage.chunk_id,
        text=passage.text,
        start_char_idx=passage.start,
        end_char_idx=passage.end,
        metadata={"title": passage.title, "document_id": passage.document_id},
    )
    return NodeWithScore(node=node, score=passage.score)


def _nothing(result: object) -> None:
    """Nobody watches."""


def _is_watched() -> bool:
    of_root = _dispatcher.root
    events = (*_dispatcher.event_handlers, *of_root.event_handlers)
    spans = (*_dispatcher.span_handlers, *of_root.span_handlers)
    return not all(isinstance(each, NullEventHandler) for each in events) or not all(
        isinstance(each, NullSpanHandler) for each in spans
    )


@contextmanager
def _span(name: str, question: str) -> Iterator[list[object]]:
    """Open a dispatcher span as LlamaIndex's decorator does.

    Appended values are its result.
    """
    bound = inspect.signature(lambda question: question).bind(question=question)
    id_ = f"{name}-{uuid.uuid4()}"
    token = active_span_id.set(id_)
    parent = None if token.old_value is Token.MISSING else token.old_value
    tags = active_instrument_tags.get()
    _dispatcher.span_enter(id_=id_, bound_args=bound, parent_id=parent, tags=tags)
    results: list[object] = []
    try:
        yield results
    except BaseException as error:
        _dispatcher.event(SpanDropEvent(span_id=id_, err_str=str(error)))
        _dispatcher.span_drop(id_=id_, bound_args=bound, err=error)
        raise
    else:
        _dispatcher.span_exit(id_=id_, bound_args=bound, result=next(iter(results), None))
    finally:
        active_span_id.reset(token)
