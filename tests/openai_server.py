"""A real OpenAI-compatible server on 127.0.0.1, scripted by the test that uses it.

It answers as Ollama does too, at `/api/chat`, and whole as Anthropic does, at `/v1/messages`.

    server.script(Reply(status=429, headers={"Retry-After": "0.05"}), Reply("fine"))
    server.answer_with(lambda request: Reply(f"you said {request.question}"))

Scripted replies go first, one a request, then the function's, then a fixed text. Every request is
recorded. Stalls, waits and drips end when the server closes, so that no test hangs on one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 256
DEFAULT_TEXT = "This is the default answer."
_STALL_SECONDS = 300.0
_JSON = "application/json"
_OLLAMA_PATH = "/api/chat"
_ANTHROPIC_PATH = "/v1/messages"
_PATHS = ("/v1/chat/completions", "/v1/embeddings", _OLLAMA_PATH, _ANTHROPIC_PATH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it arrived: header names in lower case, `at` on the monotonic clock."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    at: float = 0.0

    @property
    def question(self) -> str:
        """The last message of a chat."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True, slots=True)
class Reply:
    """What to do with one request: answer `text`, or misbehave.

    `status` other than 200 sends an error; `raw` sends these bytes as the body; `stall` says
    nothing at all; `cut` closes the connection in the middle of the body; `usage=False` leaves
    token counts out, as many local servers do; `finished=False` ends a stream without saying so.
    `wait_seconds` passes before anything is sent; with `drip_seconds` so much passes after each
    byte (of a stream: each event), and with `drip_headers` it does from the first header on.
    `code` is what an error says of itself beside its message; `tokens` are the counts of prompt and
    answer, words where they are not given, `cached` how many of the prompt's had been kept,
    `written` how many are from now on.
    """

    text: str = DEFAULT_TEXT
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = _JSON
    stall: bool = False
    cut: bool = False
    usage: bool = True
    finished: bool = True
    finish_reason: str = "stop"
    wait_seconds: float = 0.0
    drip_seconds: float = 0.0
    drip_headers: bool = False
    code: str | int | None = None
    tokens: tuple[int, int] | None = None
    cached: int | None = None
    written: int = 0


TOO_LONG = Reply(
    "This model's maximum context length is 100 tokens. Please reduce the length of the messages.",
    status=400,
    code="context_length_exceeded",
)
"""What an endpoint says to a request that does not fit."""


class OpenAIServer:
    """Start with `with OpenAIServer() as server`, or through the fixture `openai_server`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self.most_at_once = 0
        self.at_once = 0
        self._replies: deque[Reply] = deque()
        self._function: Callable[[Request], Reply] = lambda request: Reply()
        self._lock = threading.Lock()
        self._http = _QuietServer(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def ollama_url(self) -> str:
        """Where it answers as Ollama does."""
        return self.base_url.removesuffix("/v1")

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def settings(self, *, model: str = "m", **more: Any) -> dict[str, Any]:
        """The section of settings that makes this server the model of an engine."""
        return {"kind": "openai_like", "base_url": self.base_url, "model": model, **more}

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def script(self, *replies: Reply | str) -> None:
        """Queue replies, one a request."""
        self._replies.extend(Reply(r) if isinstance(r, str) else r for r in replies)

    def answer_with(self, function: Callable[[Request], Reply | str]) -> None:
        """Compute the reply once the queue is empty."""

        def answer(request: Request) -> Reply:
            reply = function(request)
            return Reply(reply) if isinstance(reply, str) else reply

        self._function = answer

    def storm(self, count: int, status: int = 500, *, retry_after: str = "") -> None:
        """Refuse the next so many requests."""
        headers = {"Retry-After": retry_after} if retry_after else {}
        self.script(*[Reply("a storm", status=status, headers=headers)] * count)

    @contextmanager
    def counted(self) -> Iterator[Callable[[], None]]:
        """A request that is being answered, and what says before the end that it has been."""
        over = threading.Event()
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)

        def answered() -> None:
            with self._lock:
                self.at_once -= not over.is_set()
                over.set()

        try:
            yield answered
        finally:
            answered()

    def next_reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if self._replies:
                return self._replies.popleft()
        return self._function(request)


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up on purpose are what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _QuietServer
    protocol_version = "HTTP/1.1"
    timeout = 5  # an idle kept-alive connection must not keep the server from closing

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Nothing on stderr."""

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            model = {"id": "test-model", "object": "model", "created": 0, "owned_by": "tests"}
            self._send_json({"object": "list", "data": [model]})
        else:
            self._send_json({"error": {"message": "no such path"}}, status=404)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        request = Request(
            path=self.path,
            body=json.loads(self.rfile.read(length)),
            headers={name.lower(): value for name, value in self.headers.items()},
            at=time.monotonic(),
        )
        if self.path not in _PATHS:
            self._send_json({"error": {"message": "no such path"}}, status=404)
            return
        with self.server.owner.counted() as self._answered:
            self._answer(self.server.owner.next_reply(request), request)

    def _answer(self, reply: Reply, request: Request) -> None:
        self.server.owner.closing.wait(reply.wait_seconds)
        if reply.stall:
            self.server.owner.closing.wait(_STALL_SECONDS)
            self.close_connection = True
        elif reply.drip_headers:
            self._drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"w" * 10_000, reply.drip_seconds)
            self.close_connection = True
        elif reply.status != 200:
            code = reply.status if reply.code is None else reply.code
            error = {"error": {"message": reply.text, "type": "test", "code": code}}
            self._send_json(error, status=reply.status, headers=reply.headers)
        elif reply.raw is not None:
            self._send(reply.raw, content_type=reply.content_type, headers=reply.headers)
        elif self.path == _OLLAMA_PATH:
            lines = [json.dumps(line, ensure_ascii=False) for line in _ollama(reply, request)]
            self._send("\n".join(lines).encode(), headers=reply.headers, cut=reply.cut)
        elif self.path == _ANTHROPIC_PATH:
            self._send_json(_anthropic(reply, request))
        elif self.path == "/v1/embeddings":
            self._send_json(_embeddings(request.body), cut=reply.cut)
        elif request.body.get("stream"):
            self._stream(reply, request)
        else:
            completion = json.dumps(_completion(reply, request), ensure_ascii=False).encode()
            self._send(
                completion, headers=reply.headers, cut=reply.cut, drip_seconds=reply.drip_seconds
            )

    def _drip(self, data: bytes, seconds: float) -> None:
        for at in range(len(data)):
            self.wfile.write(data[at : at + 1])
            self.wfile.flush()
            if self.server.owner.closing.wait(seconds):
                return

    def _send_json(
        self,
        value: object,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self._send(body, status=status, headers=headers or {}, cut=cut)

    def _send(
        self,
        body: bytes,
        *,
        status: int = 200,
        content_type: str = _JSON,
        headers: Mapping[str, str],
        cut: bool = False,
        drip_seconds: float = 0.0,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if drip_seconds:
            self._drip(body, drip_seconds)
        else:
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self._hang_up()

    def _stream(self, reply: Reply, request: Request) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        events = _chunks(reply, request)
        for event in events[: len(events) // 2] if reply.cut else events:
            if event == events[-1]:
                self._answered()  # whoever reads it may ask again before this thread goes on
            data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
            self._write_chunk(f"data: {data}\n\n".encode())
            self.server.owner.closing.wait(reply.drip_seconds)
        if reply.cut:
            self._hang_up()
        else:
            self._write_chunk(b"")

    def _write_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _ollama(reply: Reply, request: Request) -> list[dict[str, object]]:
    """The lines of Ollama's own protocol: one, or of a stream one a word."""
    words = re.findall(r"\S+\s*|\s+", reply.text) if request.body.get("stream") else [reply.text]
    usage = _usage(reply, request)
    frame = {"model": request.body["model"], "created_at": "2026-01-01T00:00:00Z"}
    lines: list[dict[str, object]] = [
        frame | {"message": {"role": "assistant", "content": word}, "done": False} for word in words
    ]
    ending: dict[str, object] = {"done": True, "done_reason": reply.finish_reason}
    counts = {
        "prompt_eval_count": usage["prompt_tokens"],
        "eval_count": usage["completion_tokens"],
    }
    lines[-1] |= ending | (counts if reply.usage else {})
    return lines


def _anthropic(reply: Reply, request: Request) -> dict[str, object]:
    """A whole answer; what was kept is counted beside the prompt, as that vendor does."""
    usage = _usage(reply, request)
    kept = reply.cached or 0
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [{"type": "text", "text": reply.text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"] - kept,
            "output_tokens": usage["completion_tokens"],
            "cache_creation_input_tokens": reply.written,
            "cache_read_input_tokens": kept,
        },
    }


def _completion(reply: Reply, request: Request) -> dict[str, object]:
    message = {"role": "assistant", "content": reply.text}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    completion = {
        "id": "completion-1",
        "object": "chat.completion",
        "created": 0,
        "model": request.body["model"],
        "choices": [choice],
    }
    return completion | ({"usage": _usage(reply, request)} if reply.usage else {})


def _chunks(reply: Reply, request: Request) -> list[dict[str, object] | str]:
    """The events of a stream: a word each, then the end, then the usage if it was asked for."""
    model = request.body["model"]
    frame = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": model}
    words = re.findall(r"\S+\s*|\s+", reply.text)

    def event(delta: Mapping[str, str], finish: str | None = None) -> dict[str, object]:
        return frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    events: list[dict[str, object] | str] = [event({"role": "assistant", "content": ""})]
    events.extend(event({"content": word}) for word in words)
    if not reply.finished:
        return events
    events.append(event({}, reply.finish_reason))
    if reply.usage and (request.body.get("stream_options") or {}).get("include_usage"):
        events.append(frame | {"choices": [], "usage": _usage(reply, request)})
    return [*events, "[DONE]"]


def _usage(reply: Reply, request: Request) -> dict[str, Any]:
    """Words unless the reply counts: a test can tell the server's count from a tokeniser's."""
    words = sum(len(str(message["content"]).split()) for message in request.body["messages"])
    prompt, answer = reply.tokens or (words, len(reply.text.split()))
    counts: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
    }
    if reply.cached is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": reply.cached}
    return counts


def _embeddings(body: Mapping[str, Any]) -> dict[str, object]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = []
    for index, text in enumerate(texts):
        vector: object = embed(text)
        if body.get("encoding_format") == "base64":
            packed = struct.pack(f"<{DIMENSION}f", *embed(text))
            vector = base64.b64encode(packed).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    words = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": words, "total_tokens": words}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def embed(text: str) -> list[float]:
    """A unit vector of hashed words and Chinese characters: near texts are near, always."""
    vector = [0.0] * DIMENSION
    for word in re.findall(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+", text.casefold()) or [text]:
        digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
        vector[int.from_bytes(digest[:2]) % DIMENSION] += 1.0 if digest[2] % 2 else -1.0
    norm = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / norm for value in vector]
