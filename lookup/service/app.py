"""The routes. Each is: parse, one call, render; `errors` answers what goes wrong.

    GET  /api/health                           is it up, and which version
    GET  /api/tables                           the names of all tables
    GET  /api/tables/{name}                    what the table says of itself, as `lookup info --json`
    GET  /api/tables/{name}/probe?position=    value and moves, as `lookup probe --json`
    POST /api/tables/{name}/probe              {"positions": [...]} or {"indices": [...]}
    GET  /api/tables/{name}/line?position=     best play, as `lookup line --json`; &limit=
    GET  /api/tables/{name}/board?position=    the position as a picture, in lines of text
    GET  /api/tables/{name}/file               the table's file, whole or by Range
    GET  /                                     the page

Routes that are not `async` run in threads: tables are safe to share, and one slow answer holds up no
other.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Route

from lookup import __version__
from lookup.response import (
    batch_fields,
    board_fields,
    column_fields,
    info_fields,
    line_fields,
    probe_fields,
)
from lookup.service.errors import HANDLERS, MalformedRequestError, RangeError
from lookup.service.requests import batch_in, body_of, limit_of, position_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lookup.table import Table
    from lookup.tablebase import Tablebase

STATIC = Path(__file__).parent / "static"
PAGE = "index.html"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def create_app(tables: Tablebase) -> Starlette:
    """The service over some tables, which stay the caller's to close."""
    routes = [
        Route("/", page),
        Route("/static/{file}", static),
        Route("/api/health", health),
        Route("/api/tables", list_tables),
        Route("/api/tables/{name}", info),
        Route("/api/tables/{name}/probe", Probe),
        Route("/api/tables/{name}/line", line),
        Route("/api/tables/{name}/board", board),
        Route("/api/tables/{name}/file", file),
    ]
    app = Starlette(
        routes=routes, middleware=[Middleware(StandardHeaders)], exception_handlers=HANDLERS
    )
    app.router.redirect_slashes = False  # a redirect would repeat whatever host the request named
    app.state.tables = tables
    app.state.static = {path.name: path for path in STATIC.iterdir()}
    return app


def health(_: Request) -> Response:
    """The server is up."""
    return JSONResponse({"status": "ok", "version": __version__})


def list_tables(request: Request) -> Response:
    """The names of all tables."""
    return JSONResponse({"tables": list(request.app.state.tables)})


def info(request: Request) -> Response:
    """One table: parameters, rules, counts, histogram."""
    return JSONResponse(_info_fields(_table(request)))


class Probe(HTTPEndpoint):
    """Two routes of one path."""

    def get(self, request: Request) -> Response:
        """One position with its moves, best first."""
        return JSONResponse(probe_fields(_table(request), position_of(request)))

    async def post(self, request: Request) -> Response:
        """Many positions."""
        body = await body_of(request)
        return await run_in_threadpool(self._many, request, body)

    @staticmethod
    def _many(request: Request, body: bytes) -> Response:
        table, batch = _table(request), batch_in(body)
        if batch.positions is not None:
            return JSONResponse(batch_fields(table, batch.positions))
        return JSONResponse(column_fields(table, batch.indices or []))


def line(request: Request) -> Response:
    """Best play by both sides."""
    return JSONResponse(line_fields(_table(request), position_of(request), limit_of(request)))


def board(request: Request) -> Response:
    """One position as a picture."""
    return JSONResponse(board_fields(_table(request), position_of(request)))


def file(request: Request) -> Response:
    """The table's file."""
    path = request.app.state.tables.find(request.path_params["name"])
    return RangedFile(path, media_type="application/x-hdf5", filename=path.name)


def page(request: Request) -> Response:
    """The page."""
    return RangedFile(request.app.state.static[PAGE])


def static(request: Request) -> Response:
    """What belongs to the page. The files are known by name: none is looked for on disk."""
    if path := request.app.state.static.get(request.path_params["file"]):
        return RangedFile(path)
    raise HTTPException(404)


def _table(request: Request) -> Table:
    table: Table = request.app.state.tables[request.path_params["name"]]
    return table


@lru_cache(maxsize=64)
def _info_fields(table: Table) -> dict[str, Any]:
    """Counted once: a histogram reads the whole table, which does not change while it is open."""
    return info_fields(table)


class RangedFile(FileResponse):
    """A file, whole or in ranges. A bad range is raised: the base class would answer plain text."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or raise before anything is sent."""

        async def checked(message: Message) -> None:
            given = Headers(scope=scope).get("range", "")
            status = message.get("status")
            if status == 416:
                raise RangeError(given, Headers(raw=message["headers"])["content-range"])
            if status == 400:
                raise MalformedRequestError(f"{given[:100]!r} is not a range: expected 'bytes=0-99'")
            await send(message)

        await super().__call__(scope, receive, checked)


class StandardHeaders:
    """Middleware: what a browser must know of every answer, so that no text in it does anything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, with_headers)
