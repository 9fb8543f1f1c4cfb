"""LlamaIndex adapters: a chat engine with memory, and the tools for LlamaIndex's agents.

Each message is a question to the library; earlier turns help to understand it and are no source.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.chat_engine.types import (
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import QueryBundle

from ..concurrency import astream_from_thread, run_in_thread, stream_from_thread
from ..conversation import pair_messages
from ..events import AnswerEvent, Event, Listener, TokensEvent, null_listener
from ..memory.records import Memory
from ..observability import node_of, response_of
from ..routing.llamaindex import ANSWER_KEY
from ..types import Answer, Turn
from .definitions import TOOLS, Tool
from .schemas import ALL_RIGHTS, Call, Result

if TYPE_CHECKING:
    from llama_index.core.tools import FunctionTool, ToolOutput

    from ..engine import KnowledgeEngine
    from ..storage.schema import Filters, Namespaces


class KnowledgeQueryEngine(BaseQueryEngine):
    """A LlamaIndex query engine around a way to answer.

    Args:
        asker: gives, for a question, a function that answers and tells a listener how.
        streaming: whether responses are `StreamingResponse`s.
    """

    def __init__(
        self, asker: Callable[[str], Callable[[Listener], Answer]], *, streaming: bool = False
    ) -> None:
        self._asker = asker
        self._streaming = streaming
        super().__init__(callback_manager=CallbackManager([]))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = self._asker(query_bundle.query_str)
        if not self._streaming:
            answer = asked(null_listener)
            return response_of(answer, {ANSWER_KEY: answer})

        def pieces() -> Generator[str]:
            for event in stream_from_thread(asked):
                match event:
                    case TokensEvent(text=text):
                        yield text
                    case AnswerEvent(answer=answer):
                        _complete(response, answer)

        response = StreamingResponse(response_gen=pieces(), metadata={})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = self._asker(query_bundle.query_str)
        if not self._streaming:
            answer = await run_in_thread(lambda: asked(null_listener))
            return response_of(answer, {ANSWER_KEY: answer})

        async def pieces() -> AsyncGenerator[str]:
            async for event in astream_from_thread(asked):
                match event:
                    case TokensEvent(text=text):
                        yield text
                    case AnswerEvent(answer=answer):
                        _complete(response, answer)

        response = AsyncStreamingResponse(response_gen=pieces(), metadata={})
        return response


def _complete(response: StreamingResponse | AsyncStreamingResponse, answer: Answer) -> None:
    """Add to a streamed response what is known at its end: sources and the `Answer`."""
    response.source_nodes = [node_of(passage) for passage in answer.passages]
    response.metadata = {ANSWER_KEY: answer}


REFUSED = {
    "llm": "open the library with it: KnowledgeEngine.open(path, llm=llm)",
    "embed_model": "open the library with it: KnowledgeEngine.open(path, embed_model=model)",
    "response_mode": "for LlamaIndex's synthesisers use "
    "RetrieverQueryEngine.from_args(engine.as_retriever(), llm=llm, response_mode=…)",
    "response_synthesizer": "use "
    "RetrieverQueryEngine.from_args(engine.as_retriever(), response_synthesizer=…)",
    "text_qa_template": "use "
    "RetrieverQueryEngine.from_args(engine.as_retriever(), llm=llm, text_qa_template=…)",
    "vector_store_query_mode": "retrieval is always hybrid; leave it out",
    "alpha": "retrieval is always hybrid and weighs its lists itself; leave it out",
    "verbose": "the trace of every answer says how it was found; leave it out",
    "chat_mode": "every message is a question to the library, understood from the messages "
    "before; leave it out",
    "memory": "pass chat_history to chat(), or memory=Memory(user, session)",
    "system_prompt": "name a profile with prompts of your own; leave it out",
}
"""Keywords of LlamaIndex's indexes that have no place here, and what to use instead."""
CHAT_MODES = frozenset({"best", "context", "condense_question", "condense_plus_context"})
"""LlamaIndex's chat modes that mean what the chat engine does."""


def refuse_keywords(method: str, given: Mapping[str, object]) -> None:
    """Refuse keywords that a method does not take, with what to use instead.

    Raises:
        TypeError: any is given.
    """
    for name in sorted(given):
        instead = REFUSED.get(name, "no such keyword; see its docstring")
        raise TypeError(f"{method}({name}=…): {instead}")


class KnowledgeChatEngine(BaseChatEngine):
    """One conversation, kept in memory; not to be shared by threads.

    Args:
        asking: who answers.
        mode: which way questions take.
        filters: as for `KnowledgeEngine.ask`.
        namespace: as for `KnowledgeEngine.ask`.
        chat_history: what was said before, oldest first.
        memory: as for `KnowledgeEngine.ask`.
    """

    def __init__(
        self,
        engine: KnowledgeEngine,
        *,
        mode: str = "auto",
        filters: Filters = None,
        namespace: Namespaces = None,
        chat_history: Sequence[ChatMessage] = (),
        memory: Memory | None = None,
    ) -> None:
        self._engine = engine
        self._options: dict[str, Any] = {
            "mode": mode,
            "filters": filters,
            "namespace": namespace,
            "memory": memory,
        }
        self._said: list[ChatMessage] = list(chat_history)

    def reset(self) -> None:
        """Forget what was said."""
        self._said.clear()

    @property
    def chat_history(self) -> list[ChatMessage]:
        """Messages of the conversation, oldest first."""
        return list(self._said)

    def chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Answer a message; `metadata["answer"]` holds the `Answer`.

        Raises:
            EngineError: as `KnowledgeEngine.ask`; the message is then not remembered.
        """
        answer = self._engine.ask(message, history=self._before(chat_history), **self._options)
        return self._answered(message, answer)

    async def achat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Answer like `chat` without blocking the event loop."""
        history = self._before(chat_history)
        answer = await self._engine.aask(message, history=history, **self._options)
        return self._answered(message, answer)

    def stream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Stream the answer; the history keeps the verified text."""
        events = self._engine.stream(message, history=self._before(chat_history), **self._options)
        response = StreamingAgentChatResponse(is_writing_to_memory=False)

        def pieces() -> Generator[ChatResponse]:
            for event in events:
                yield from self._piece(event, message, response)

        response.chat_stream = pieces()
        return response

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Stream like `stream_chat` without blocking the event loop."""
        events = self._engine.astream(message, history=self._before(chat_history), **self._options)
        response = StreamingAgentChatResponse(is_writing_to_memory=False)

        async def pieces() -> AsyncGenerator[ChatResponse]:
            async for event in events:
                for piece in self._piece(event, message, response):
                    yield piece

        response.achat_stream = pieces()
        return response

    def _before(self, given: Sequence[ChatMessage] | None) -> list[Turn]:
        if given is not None:
            self._said = list(given)
        return pair_messages((str(said.role.value), said.content or "") for said in self._said)

    def _piece(
        self, event: Event, message: str, response: StreamingAgentChatResponse
    ) -> list[ChatResponse]:
        match event:
            case TokensEvent(text=text):
                said = ChatMessage(role=MessageRole.ASSISTANT, content=text)
                return [ChatResponse(message=said, delta=text)]
            case AnswerEvent(answer=answer):
                response.source_nodes = self._answered(message, answer).source_nodes
        return []

    def _answered(self, message: str, answer: Answer) -> AgentChatResponse:
        self._said += [
            ChatMessage(role=MessageRole.USER, content=answer.rewritten_question or message),
            ChatMessage(role=MessageRole.ASSISTANT, content=answer.text),
        ]
        return AgentChatResponse(
            response=answer.text,
            source_nodes=[node_of(passage) for passage in answer.passages],
            metadata={ANSWER_KEY: answer},
        )


def llama_tools(
    engine: KnowledgeEngine,
    *,
    read_only: bool,
    namespace: str | None,
    folders: Sequence[str | Path],
    user: str = "",
) -> list[FunctionTool]:
    """Every tool as a `FunctionTool`; those that write only where that is allowed."""
    every = replace(ALL_RIGHTS, user=user)
    rights = every if namespace is None else every.only(namespace)
    call = Call(rights=rights, namespace=namespace, folders=[Path(one) for one in folders])
    return [
        _function_tool(engine, tool, call)
        for tool in TOOLS
        if tool.is_offered(rights) and not (read_only and tool.writes)
    ]


def _function_tool(engine: KnowledgeEngine, tool: Tool, call: Call) -> FunctionTool:
    from llama_index.core.tools import FunctionTool

    confined = call.namespace is not None

    def done(**arguments: object) -> Result:
        wanted = tool.checked(arguments, confined=confined)
        namespace = call.namespace if confined else getattr(wanted, "namespace", None)
        here = Call(rights=call.rights, namespace=namespace, folders=call.folders)
        return tool.run(engine, wanted, here)

    async def done_meanwhile(**arguments: object) -> Result:
        return await run_in_thread(lambda: done(**arguments))

    def told(result: Result) -> ToolOutput:
        from llama_index.core.tools import ToolOutput

        return ToolOutput(
            content=result.text,
            tool_name=tool.name,
            raw_input={},
            raw_output=tool.plain(result),
        )

    return FunctionTool.from_defaults(
        fn=done,
        async_fn=done_meanwhile,
        name=tool.name,
        description=tool.description,
        fn_schema=tool.arguments_schema(confined=confined),
        callback=told,
    )
