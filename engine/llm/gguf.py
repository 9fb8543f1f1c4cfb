"""A model file run in this process by llama.cpp, as a LlamaIndex model.

Uses the chat template in the file itself. One call at a time: the model has one memory, which
answers are computed in. Importing this module needs the extra `gguf` only when a model is loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback

from ..errors import ModelUnavailable


class _Weights:
    """The loaded model, shared by all copies of a `GgufModel`."""

    def __init__(self, path: Path, *, context_window_tokens: int) -> None:
        self.turn = threading.RLock()
        self._path = path
        self._window = context_window_tokens
        self._model: Any = None

    def loaded(self) -> Any:
        """Return the loaded model; use it within `turn`.

        Raises:
            ModelUnavailable: the file is no model that llama.cpp can run.
        """
        if self._model is None:
            from llama_cpp import Llama

            try:
                self._model = Llama(
                    model_path=str(self._path), n_ctx=self._window, seed=0, verbose=False
                )
            except (ValueError, RuntimeError, OSError) as error:
                raise ModelUnavailable(
                    f"llama.cpp cannot load {str(self._path)!r}: {' '.join(str(error).split())}"
                ) from error
        return self._model


class GgufModel(CustomLLM):
    """At temperature 0. `raw` of a response is what OpenAI's protocol would carry."""

    model_name: str
    context_window: int
    max_tokens: int
    _weights: _Weights = PrivateAttr()

    def __init__(self, *, weights: _Weights, **fields: Any) -> None:
        super().__init__(**fields)
        self._weights = weights

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of this class."""
        return "GgufModel"

    @property
    def metadata(self) -> LLMMetadata:
        """The window, the longest answer, and the name."""
        return LLMMetadata(
            context_window=self.context_window,
            num_output=self.max_tokens,
            is_chat_model=True,
            model_name=self.model_name,
        )

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the whole answer."""
        with self._weights.turn:
            raw = self._weights.loaded().create_chat_completion(**self._arguments(messages, kwargs))
        text = raw["choices"][0]["message"].get("content") or ""
        return ChatResponse(message=ChatMessage(role="assistant", content=text), raw=raw)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Stream the answer."""
        arguments = self._arguments(messages, kwargs)

        def pieces() -> Generator[ChatResponse]:
            text = ""
            with self._weights.turn:
                for raw in self._weights.loaded().create_chat_completion(stream=True, **arguments):
                    delta = raw["choices"][0]["delta"].get("content") or ""
                    text += delta
                    message = ChatMessage(role="assistant", content=text)
                    yield ChatResponse(message=message, delta=delta, raw=raw)

        return pieces()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the answer to one message."""
        response = self.chat([ChatMessage(content=prompt)], **kwargs)
        return CompletionResponse(text=response.message.content or "", raw=response.raw)

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Stream the answer to one message."""

        def pieces() -> Generator[CompletionResponse]:
            for response in self.stream_chat([ChatMessage(content=prompt)], **kwargs):
                text = response.message.content or ""
                yield CompletionResponse(text=text, delta=response.delta, raw=response.raw)

        return pieces()

    def _arguments(
        self, messages: Sequence[ChatMessage], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        said = [{"role": m.role.value, "content": m.content or ""} for m in messages]
        arguments = {"messages": said, "max_tokens": self.max_tokens, "temperature": 0.0}
        form = given.get("response_format")
        if form is None:
            return arguments
        schema = form.get("json_schema", {}).get("schema")
        own = {"type": "json_object"} | ({"schema": schema} if schema is not None else {})
        return arguments | {"response_format": own}


def open_model(
    path: Path, *, name: str, context_window_tokens: int, max_output_tokens: int
) -> GgufModel:
    """Open the model of this file; it is loaded on first use."""
    return GgufModel(
        weights=_Weights(path, context_window_tokens=context_window_tokens),
        model_name=name,
        context_window=context_window_tokens,
        max_tokens=max_output_tokens,
    )
