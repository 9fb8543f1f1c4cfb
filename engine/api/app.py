"""The ASGI application: routes, middleware, the web page and `HEAD` for every `GET`.

A request passes the metrics first (every request is counted), then authentication, then limits on
bodies. The web page is static files under a restrictive content security policy.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..concurrency import run_in_thread
from ..config import Settings
from ..engine import KnowledgeEngine
from ..storage.graph_api import drawing_scripts
from . import errors
from .auth import AuthMiddleware
from .errors import Problem
from .jobs import Service
from .limits import RequestLimits
from .metrics import Measured
from .reference import reference_page
from .routes import chat_completions, documents, graph, memory, query, system
from .upload_jobs import take_over_uploads

if TYPE_CHECKING:
    from .mcp import McpPart

STATIC = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
}
router = APIRouter(include_in_schema=False)


class _Files(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file that browsers always revalidate."""
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


@router.get("/")
async def index() -> Response:
    """Return the web page."""
    file = STATIC / "index.html"
    if not file.is_file():
        raise Problem(404, "not-found", "no web page in this installation; the API is under /v1")
    return FileResponse(file, headers=_HEADERS)


@router.get("/favicon.ico")
async def icon() -> Response:
    """Return the web page's icon, which browsers ask for unasked."""
    if (STATIC / "icon.svg").is_file():
        return RedirectResponse("/static/icon.svg")
    return Response(status_code=204)


@router.get("/docs")
async def reference(request: Request) -> Response:
    """Return the API as a page, under the policy of the web page."""
    return HTMLResponse(reference_page(request.app.openapi()), headers=_HEADERS)


@cache
def _drawing() -> dict[str, str]:
    return drawing_scripts()


@router.get("/static/drawing/{name}")
async def drawing(name: str) -> Response:
    """Return a script of what draws graphs, the same as in the graph page."""
    script = _drawing().get(name)
    if script is None:
        raise Problem(404, "not-found", f"no such script: {name!r}; reload the page")
    return Response(script, media_type="text/javascript", headers=_HEADERS)


def install_web_page(app: FastAPI) -> None:
    """Serve the web page's static files under its content security policy."""
    app.include_router(router)
    app.mount("/static", _Files(directory=STATIC, check_dir=False), name="static")


class HeadMiddleware:
    """ASGI middleware: behind it a `HEAD` is a `GET` whose body nobody gets.

    What lies below `apart` answers for itself: it holds on to its answers.
    """

    def __init__(self, app: ASGIApp, *, apart: str) -> None:
        self._app = app
        self._apart = apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; of a `HEAD`'s answer only what stands before the body."""
        asked = scope["type"] == "http" and scope["method"] == "HEAD"
        if not asked or scope["path"].startswith(self._apart):
            await self._app(scope, receive, send)
            return

        async def bare(message: Message) -> None:
            is_body = message["type"] == "http.response.body"
            await send({**message, "body": b""} if is_body else message)

        await self._app({**scope, "method": "GET"}, receive, bare)


_LATER_SECONDS = 5.0
"""Extra seconds for routes that report their own timeout."""
_DESCRIPTION = """\
Documents go in, cited answers come out.

Every error is a problem of RFC 9457 (`application/problem+json`). Lists come in pages: `next` is
the `cursor` of the one that follows. Where tokens are in use, send `Authorization: Bearer …`; a
token sees the namespaces that it was made for, and for it there is nothing else.

Every caller (a token; without tokens an address) may make `serve.requests_per_minute` requests at
once and as many a minute; what is beyond gets 429. Where all places are taken, the library is being
written, or a model is away, it is 503. `Retry-After` says in whole seconds when to try again, where
that is known. Whoever tries without a token, or with a wrong one, is counted by address.
"""
_PROBLEM = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:loregraph:problem:not-found"]},
        "title": {"type": "string", "examples": ["Not Found"]},
        "status": {"type": "integer", "examples": [404]},
        "detail": {"type": "string", "examples": ["no document 'notes.md'"]},
        "instance": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "reason": {"type": "string"}},
            },
        },
    },
}

_OPENAI_ERROR = {
    "type": "object",
    "description": "An error as OpenAI's clients expect it.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "string"},
            },
        }
    },
}

_LATER = {"429": "Too many requests, or no budget left.", "503": "Not now."}
_RETRY = {
    "Retry-After": {
        "description": "Whole seconds after which to try again, where that is known.",
        "schema": {"type": "integer", "minimum": 1},
    }
}


def create_app(
    engine_or_path: KnowledgeEngine | str | Path, settings: Settings | None = None
) -> FastAPI:
    """Build the ASGI application (REST, web page, MCP) over one library.

    Args:
        engine_or_path: an open engine, which stays the caller's to close, or a library's folder,
            opened when the application starts and closed when it ends (made if there is none).
        settings: all sections; None means the defaults under the environment's overrides.

    Raises:
        EngineError: the library cannot be opened.
    """
    settings = settings if settings is not None else Settings.load()
    own = not isinstance(engine_or_path, KnowledgeEngine)
    engine = (
        KnowledgeEngine.open(engine_or_path, settings=settings)
        if not isinstance(engine_or_path, KnowledgeEngine)
        else engine_or_path
    )
    service = Service(engine, settings=settings, place=engine.path)
    take_over_uploads(service)
    agents = _for_agents(service) if settings.serve.mcp else None

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if own:
                stack.callback(engine.close)
            stack.callback(service.close)
            await run_in_thread(engine.watch_memory)
            if agents is not None:
                await stack.enter_async_context(agents.running())
            yield

    app = FastAPI(
        title="loregraph",
        version=version("loregraph"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # FastAPI's pages would ask other origins for their scripts
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    errors.install_error_handlers(app)
    for part in (documents, query, graph, memory, chat_completions, system):
        app.include_router(part.router)
    app.include_router(system.figures)
    if agents is not None:
        app.router.routes.append(agents.route)
    install_web_page(app)
    _install_middleware(app, service)
    _install_openapi(app)
    return app


def _for_agents(service: Service) -> McpPart:
    """Mount the MCP tools at `/mcp`, imported only if enabled."""
    from ..mcp_server import ServerOptions, no_access
    from .mcp import McpPart

    serve = service.settings.serve
    return McpPart(
        ServerOptions(
            engine=service.engine,
            rights_of=no_access,
            namespace=None,
            read_only=False,
            folders=(),
            concurrency=serve.concurrency,
            timeout_seconds=serve.request_timeout_seconds,
        )
    )


def _install_middleware(app: FastAPI, service: Service) -> None:
    """Install middleware; the last one added sees a request first."""
    serve = service.settings.serve
    app.add_middleware(HeadMiddleware, apart="/mcp")
    app.add_middleware(
        RequestLimits,
        max_body_bytes=serve.max_body_bytes,
        max_upload_bytes=serve.max_upload_bytes,
        stall_timeout_seconds=serve.stall_timeout_seconds,
        answer_timeout_seconds=serve.request_timeout_seconds + _LATER_SECONDS,
    )
    app.add_middleware(AuthMiddleware, settings=serve, tokens=service.tokens, rate=service.rate)
    if serve.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(serve.cors_origins),
            allow_methods=["GET", "HEAD", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            max_age=600,
        )
    app.add_middleware(Measured, metrics=service.metrics)


def _install_openapi(app: FastAPI) -> None:
    """Document errors and token requirements for every operation."""

    def described() -> dict[str, object]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
            )
            schema["components"].setdefault("securitySchemes", {})["token"] = {
                "type": "http",
                "scheme": "bearer",
                "description": "Made by `loregraph token create`.",
            }
            schema["components"]["schemas"] |= {"Problem": _PROBLEM, "OpenAIError": _OPENAI_ERROR}
            for path, item in schema["paths"].items():
                for operation in item.values():
                    _describe(operation, path)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # as FastAPI's manual says


def _describe(operation: dict[str, object], path: str) -> None:
    responses = operation["responses"]
    assert isinstance(responses, dict)  # noqa: S101  # so OpenAPI says
    responses.pop("422", None)
    is_openai = errors.is_openai(path)
    kind, shape = ("json", "OpenAIError") if is_openai else ("problem+json", "Problem")
    content = {f"application/{kind}": {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
    responses["default"] = {"description": "What went wrong.", "content": content}
    for status, reason in _LATER.items():
        responses[status] = {"description": reason, "headers": _RETRY, "content": content}
    operation["security"] = [] if path == "/v1/health" else [{"token": []}, {}]
