"""Web page: static files with a restrictive content security policy."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI, Response
from starlette.responses import FileResponse, RedirectResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from .problems import Problem

STATIC = Path(__file__).parents[1] / "static"
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
    """Return the page."""
    file = STATIC / "index.html"
    if not file.is_file():
        raise Problem(404, "not-found", "this installation has no page; the API is under /v1")
    return FileResponse(file, headers=_HEADERS)


@router.get("/favicon.ico")
async def icon() -> Response:
    """Browsers ask for it unasked."""
    if (STATIC / "icon.svg").is_file():
        return RedirectResponse("/static/icon.svg")
    return Response(status_code=204)


def install(app: FastAPI) -> None:
    """Serve the page."""
    app.include_router(router)
    app.mount("/static", _Files(directory=STATIC, check_dir=False), name="static")
