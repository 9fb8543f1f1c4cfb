"""Review of gold questions on a small local page, by keyboard.

The page listens on 127.0.0.1 alone. Every request must name that host and carry the token of the
run, so that no other site's page can read or decide anything. Each decision is written to the file
at once: an accepted question is marked, a dropped one leaves the file when the review ends.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import SourceError
from .gold import GoldQuestion, parse_gold, write_gold

AROUND_CHARACTERS = 400
"""Characters of the document shown before and after a gold span."""
MAX_REQUEST_BYTES = 100_000
DECISIONS = ("accept", "drop", "open")
_FORM = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Review of questions</title>
<style>{style}
input, textarea {{ width: 100%; font: inherit; color: inherit; background: var(--tint);
  border: 1px solid var(--line); padding: .4rem; }}
</style></head><body data-token="{token}">
<h1>Review of questions</h1>
<p class="soft">a accept · d drop · e edit (Enter saves) · o open again · j next · k back</p>
<p><strong id="place"></strong> – <span id="decision"></span>
<span class="bad" id="problem"></span></p>
<p class="soft" id="kind"></p>
<h3>Question</h3><input id="text" maxlength="1000">
<h3>Accepted answers or points, one a line</h3><textarea id="answers" rows="4"></textarea>
<p><button id="do-accept">accept</button> <button id="do-drop">drop</button>
<button id="do-open">open again</button></p>
<div id="sources"></div><script src="/review.js"></script></body></html>
"""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Review:
    """Gold questions under review; safe to use by several requests at a time.

    Args:
        path: the file that is read and written.
        questions: as read from it.
        text_of: document id → its stored text; raises `KeyError` for an unknown one.
    """

    def __init__(
        self, path: Path, questions: Sequence[GoldQuestion], *, text_of: Callable[[str], str]
    ) -> None:
        self._path = path
        self._questions = {one.id: one for one in questions}
        self._dropped: set[str] = set()
        self._text_of = text_of
        self._lock = threading.Lock()

    def rows(self) -> list[dict[str, Any]]:
        """Return the questions with their sources, in order."""
        with self._lock:
            return [self._row(one) for one in self._questions.values()]

    def _row(self, question: GoldQuestion) -> dict[str, Any]:
        decision = "drop" if question.id in self._dropped else ""
        decision = decision or ("accept" if question.accepted else "")
        sources = []
        for span in question.query.gold_spans:
            try:
                text = self._text_of(span.document_id)
            except KeyError:
                text = ""
            start, end = span.start, span.end
            sources.append(
                {
                    "document": span.document_id, "start": start, "end": end,
                    "before": text[max(0, start - AROUND_CHARACTERS) : start],
                    "text": text[start:end], "after": text[end : end + AROUND_CHARACTERS],
                }
            )  # fmt: skip
        return question.row() | {"decision": decision, "sources": sources}

    def decide(self, question_id: str, decision: str, text: str, lines: Sequence[str]) -> Any:
        """Record a decision with the question's edited text and answers; return its row.

        Raises:
            SourceError: an unknown question or decision, or an edit that is not a question.
        """
        with self._lock:
            known = self._questions.get(question_id)
            if known is None or decision not in DECISIONS:
                raise SourceError(f"unknown question or decision: {question_id!r}, {decision!r}")
            key = "points" if known.points else "answers"
            edited = known.row() | {"text": text, key: list(lines)}
            edited["accepted"] = decision == "accept"
            self._questions[question_id] = parse_gold(edited, "the edited question")
            (self._dropped.add if decision == "drop" else self._dropped.discard)(question_id)
            write_gold(self._path, self._kept())
            return self._row(self._questions[question_id])

    def _kept(self) -> list[GoldQuestion]:
        return [one for one in self._questions.values() if one.id not in self._dropped]

    def counts(self) -> tuple[int, int, int]:
        """Return how many questions were accepted, dropped, and are open."""
        kept = self._kept()
        accepted = sum(one.accepted for one in kept)
        return accepted, len(self._dropped), len(kept) - accepted


class _Handler(BaseHTTPRequestHandler):
    """Serves the page and takes decisions."""

    def __init__(self, *connection: Any, review: Review, page: bytes, token: str) -> None:
        self._review, self._page, self._token = review, page, token
        super().__init__(*connection)

    def do_GET(self) -> None:
        """Send the page, its script, or the questions."""
        if self.path == f"/?token={self._token}":
            self._send(200, self._page, "text/html; charset=utf-8")
        elif self.path == "/review.js":
            self._send(200, _file("review.js").encode(), "text/javascript; charset=utf-8")
        elif self.path == "/rows" and self._is_ours():
            self._json(self._review.rows())
        else:
            self._send(403, b"not allowed: open the address that was printed", "text/plain")

    def do_POST(self) -> None:
        """Record a decision."""
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isdigit() else MAX_REQUEST_BYTES + 1
        if self.path != "/decide" or not self._is_ours() or size > MAX_REQUEST_BYTES:
            self._send(403, b"not allowed", "text/plain")
            return
        try:
            match json.loads(self.rfile.read(size)):
                case {
                    "id": str(name),
                    "decision": str(said),
                    "text": str(text),
                    "lines": [*lines],
                }:
                    wanted = [str(one) for one in lines]
                    self._json(self._review.decide(name, said, text, wanted))
                case _:
                    raise SourceError("decision not usable; reload the page")
        except (SourceError, ValueError, RecursionError) as error:
            self._send(400, str(error).encode("utf8", "replace"), "text/plain; charset=utf-8")

    def _is_ours(self) -> bool:
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        given = self.headers.get("X-Review-Token") or ""
        same = secrets.compare_digest(given.encode("utf8", "replace"), self._token.encode())
        return host in ("127.0.0.1", "localhost") and same

    def _json(self, value: object) -> None:
        body = json.dumps(value, ensure_ascii=True).encode()
        self._send(200, body, "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: the terminal shows the counts at the end."""


def _file(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf8")


def review_server(review: Review, *, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """Return a server on 127.0.0.1 that is not yet running, and the address of its page."""
    token = secrets.token_urlsafe(24)
    page = _FORM.format(style=_file("report.css"), token=escape(token)).encode()
    handler = partial(_Handler, review=review, page=page, token=token)
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    return server, f"http://127.0.0.1:{server.server_address[1]}/?token={token}"
