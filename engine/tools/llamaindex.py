"""LlamaIndex adapters: a chat engine with memory, and the tools for LlamaIndex's agents.

Each message is a question to the library; earlier turns help to understand it and are no source.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.chat_engine.types import (
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)

from ..concurrency import run_in_thread
from ..conversation import pair_messages
from ..events import AnswerEvent, Event, TokensEvent
from ..observability import node_of
from ..routing.router import ANSWER_KEY
from ..types import Answer, Turn
from .definitions import TOOLS, Tool
from .schemas import ALL_RIGHTS, Call, Result

if TYPE_CHECKING:
    from llama_index.core.tools import FunctionTool, ToolOutput

    from ..engine import KnowledgeEngine
    from ..storage.schema import Filters, Namespaces


class KnowledgeChatEngine(BaseChatEngine):
    """One conversation, kept in memory; not to be shared by threads.

    Args:
        asking: who answers.
        mode: which way questions take.
        filters: as for `KnowledgeEngine.ask`.
        namespace: as for `KnowledgeEngine.ask`.
    """

    def __init__(
        self,
        engine: KnowledgeEngine,
        *,
        mode: str = "auto",
        filters: Filters = None,
        namespace: Namespaces = None,
    ) -> None:
        self._engine = engine
        self._options: dict[str, Any] = {"mode": mode, "filters": filters, "namespace": namespace}
        self._said: list[ChatMessage] = []

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
) -> list[FunctionTool]:
    """Every tool as a `FunctionTool`; those that write only where that is allowed."""
    rights = ALL_RIGHTS if namespace is None else ALL_RIGHTS.only(namespace)
    call = Call(rights=rights, namespace=namespace, folders=[Path(one) for one in folders])
    return [_function_tool(engine, tool, call) for tool in TOOLS if not (read_only and tool.writes)]


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
