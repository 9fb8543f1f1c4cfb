"""Errors as `application/problem+json` (RFC 9457), whoever raises them.

On the paths that speak OpenAI's protocol the same error has OpenAI's shape.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from .. import errors

_OPENAI_PATHS = ("/v1/chat/completions", "/v1/models")
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TYPE = "urn:loregraph:problem:"
_log = logging.getLogger("loregraph.serve")
_SHOWN_ERRORS = 20


class Problem(HTTPException):
    """Error response; `kind` is for programs, `detail` is a line for people."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(status, detail, dict(headers) if headers else None)
        self.kind = kind
        self.errors = list(errors)


_STATUS: tuple[tuple[type[errors.EngineError], int, str], ...] = (
    (errors.QuestionError, 422, "question"),
    (errors.UnknownName, 404, "not-found"),
    (errors.SourceError, 422, "source"),
    (errors.LibraryNotFound, 404, "not-found"),
    (errors.LibraryBusy, 503, "library-busy"),
    (errors.LibraryError, 503, "library"),
    (errors.BudgetExceeded, 429, "budget"),
    (errors.ModelInputTooLong, 422, "too-long-for-the-model"),
    (errors.ModelOutputError, 502, "model-output"),
    (errors.ModelError, 503, "model"),
    (errors.MissingExtra, 501, "missing-extra"),
)
"""The first that fits counts."""
_NOT_TOLD = {
    "not-found": "there is no such thing in the library",
    "library-busy": "another process is writing to the library: try again in a moment",
    "library": "the library refuses; the server's log says why",
    "engine": "the server is not set up for this; its log says why",
}
"""Replacement text for errors that name paths of the server."""


def problem_of(error: errors.EngineError) -> Problem:
    """Convert an engine error to an HTTP problem document (RFC 9457)."""
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            headers = {"Retry-After": "5"} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
            told = isinstance(error, errors.UnknownName) or name not in _NOT_TOLD
            return Problem(status, name, str(error) if told else _NOT_TOLD[name], headers=headers)
    return Problem(500, "engine", _NOT_TOLD["engine"])


def as_problem(problem: HTTPException, *, instance: str) -> dict[str, Any]:
    """Return the members of RFC 9457, with `errors` for invalid fields."""
    kind = problem.kind if isinstance(problem, Problem) else _kind_of(problem.status_code)
    body: dict[str, Any] = {
        "type": f"{_TYPE}{kind}",
        "title": _phrase(problem.status_code),
        "status": problem.status_code,
        "detail": str(problem.detail),
        "instance": instance,
    }
    if isinstance(problem, Problem) and problem.errors:
        body["errors"] = problem.errors
    return body


def as_openai_error(problem: HTTPException) -> dict[str, Any]:
    """Return the error in OpenAI's format."""
    kind = problem.kind if isinstance(problem, Problem) else _kind_of(problem.status_code)
    server = problem.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return {
        "error": {
            "message": str(problem.detail),
            "type": "server_error" if server else "invalid_request_error",
            "param": None,
            "code": kind,
        }
    }


def is_openai(path: str) -> bool:
    """Check whether this path is of the OpenAI-compatible chat protocol."""
    return path in _OPENAI_PATHS or path.startswith("/v1/models/")


def response_of(problem: HTTPException, *, path: str) -> JSONResponse:
    """Return the problem as the response format of this path."""
    openai = is_openai(path)
    return JSONResponse(
        as_openai_error(problem) if openai else as_problem(problem, instance=path),
        status_code=problem.status_code,
        headers={**SECURITY_HEADERS, "Cache-Control": "no-store", **(problem.headers or {})},
        media_type="application/json" if openai else "application/problem+json",
    )


def validation_problem(error: RequestValidationError) -> Problem:
    """List invalid fields and reasons, without echoing input."""
    fields = [
        {"field": where[:200], "reason": what}
        for where, what in errors.field_problems(error.errors()[:_SHOWN_ERRORS])
    ]
    detail = "; ".join(f"{each['field']}: {each['reason']}" for each in fields)
    return Problem(422, "validation", detail, errors=fields)


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error of the REST application as a problem document (RFC 9457)."""

    async def on_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101  # registered for it below
        return response_of(error, path=request.url.path)

    async def on_validation(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        return response_of(validation_problem(error), path=request.url.path)

    async def on_engine(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, errors.EngineError)  # noqa: S101
        problem = problem_of(error)
        if problem.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            _log.warning("%s %s: %s", request.method, request.url.path, error)
        return response_of(problem, path=request.url.path)

    async def on_anything(request: Request, _error: Exception) -> JSONResponse:
        # Raised again after this by the framework, so that the server's log has the traceback.
        detail = "internal server error; the log of the server gives the reason"
        return response_of(Problem(500, "internal", detail), path=request.url.path)

    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(errors.EngineError, on_engine)
    app.add_exception_handler(Exception, on_anything)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _kind_of(status: int) -> str:
    return _phrase(status).lower().replace(" ", "-").replace("'", "")
