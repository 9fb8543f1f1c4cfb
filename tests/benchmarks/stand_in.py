"""A deterministic stand-in for a language model, in a process of its own.

    python tests/benchmarks/stand_in.py

It prints its address and answers until its input ends: chats as `reading_model` reads them, and
embeddings, without any delay; an answer that is longer than asked for is cut off, and the schema
that it is held to counts as part of the prompt. Each line of its
input makes it print, as JSON, how many chats it has answered. Tokens are counted as OpenAI's models
count them, by the tokeniser that LlamaIndex bundles.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

sys.path.insert(0, str(Path(__file__).parents[1]))

from openai_server import OpenAIServer, Reply, Request
from reading_model import read_like_a_model, some_name

MESSAGE_TOKENS = 4
"""What a chat puts around each message."""


class StandIn:
    """The process, as a context; `calls()` asks it for its own count."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.base_url = self._answer()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def calls(self) -> int:
        """Chats answered so far."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(json.loads(self._answer())["calls"])

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def counted() -> Callable[[Request], Reply]:
    """Answers with its tokens; instructions that come again are counted once."""
    from llama_index.core.utils import get_tokenizer

    encode = get_tokenizer()

    @lru_cache(maxsize=64)
    def of_instructions(text: str) -> int:
        return len(encode(text))

    def answer(request: Request) -> Reply:
        if request.path.endswith("/embeddings"):
            return Reply()
        *before, last = [str(message["content"]) for message in request.body["messages"]]
        prompt = len(encode(last)) + sum(map(of_instructions, before))
        prompt += MESSAGE_TOKENS * (1 + len(before))
        wanted = request.body.get("response_format") or {}
        if "json_schema" in wanted:
            schema = json.dumps(wanted["json_schema"].get("schema"), ensure_ascii=False)
            prompt += of_instructions(schema)
        text = read_like_a_model(request, names=some_name)
        said = encode(text)
        limit = request.body.get("max_tokens") or len(said)
        if len(said) <= limit:
            return Reply(text, tokens=(prompt, len(said)))
        # Tokens cannot be turned back here, so the cut is in the same proportion of characters.
        part = text[: len(text) * limit // len(said)]
        return Reply(part, tokens=(prompt, limit), finish_reason="length")

    return answer


def serve() -> None:
    with OpenAIServer() as server:
        server.answer_with(counted())
        print(server.base_url, flush=True)
        for _ in sys.stdin:
            calls = sum(request.path.endswith("/chat/completions") for request in server.requests)
            print(json.dumps({"calls": calls}), flush=True)


if __name__ == "__main__":
    serve()
