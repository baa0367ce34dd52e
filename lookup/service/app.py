"""The routes. Each is: parse, one call, render; `errors` answers what goes wrong.

    GET  /api/health                           is it up, and which version
    GET  /api/tables                           the names of all tables
    GET  /api/tables/{name}                    what the table says of itself, as `lookup info --json`
    GET  /api/tables/{name}/probe?position=    value and moves, as `lookup probe --json`
    POST /api/tables/{name}/probe              {"positions": [...]} or {"indices": [...]}
    GET  /api/tables/{name}/move?position=&move=    one move, and what it is worth
    GET  /api/tables/{name}/line?position=     best play, as `lookup line --json`; &limit=
    GET  /api/tables/{name}/board?position=    the position as a picture, in lines of text
    GET  /api/tables/{name}/file               the table's file, whole or by Range
    GET  /metrics                              numbers for Prometheus
    GET  /openapi.json, /docs                  all this for programs, and for people
    GET  /                                     the explorer

What takes microseconds is answered at once; all else in threads, so that nobody waits for it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.routing import Route

from lookup import __version__
from lookup.response import (
    batch_fields,
    board_fields,
    column_fields,
    line_fields,
    probe_fields,
    single_move_fields,
)
from lookup.service.errors import HANDLERS, Faults
from lookup.service.limits import Limits, Turns
from lookup.service.metrics import POSITIONS, Observed, metrics_page
from lookup.service.openapi import description
from lookup.service.replies import (
    ASK_AGAIN,
    FOR_EVER,
    StaticFile,
    encoded,
    file_reply,
    json_reply,
    lifetime,
    table_reply,
)
from lookup.service.requests import (
    LONGEST_IN_LINE,
    Held,
    batch_in,
    body_of,
    limit_of,
    move_of,
    position_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lookup.answers import Answers
    from lookup.service.access_log import AccessLog
    from lookup.service.shelf import Served, Shelf

    Ask: TypeAlias = Callable[[Answers], dict[str, Any] | list[Any]]

STATIC = Path(__file__).parent / "static"
QUICK_TEXT, QUICK_CHARACTERS, QUICK_INDICES = 60, 25_000, 10_000
"""Positions, and batches by text and by index, of up to so many characters or indices are answered at
once: in a few milliseconds, while nobody else is."""

LINE_SECONDS = 2.0
"""Lines that take longer are broken off."""

AT_ONCE, MOST_LINES, MOST_BATCHES = 2, 20, 50
"""So many lines, and so many large batches, are worked out at a time: all threads take turns, and those
who ask for less must not wait for a hundred others. So many may be asked for, these among them: nobody
waits for a minute."""

COMPRESSED_FROM = 1000  # bytes; less gains nothing
COMPRESSION_LEVEL = 4  # half of the time of 6; a long list of moves is a fifth larger
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
READABLE_HEADERS = ["accept-ranges", "content-disposition", "content-range", "etag", "retry-after"]

_SINGLE, _TEXTS, _INDICES = (POSITIONS.labels(how) for how in ("single", "texts", "indices"))


def create_app(shelf: Shelf, log: AccessLog | None = None, rate: float | None = None) -> Starlette:
    """The service over some tables, which stay the caller's to close.

    `rate` is how many requests a second each client may send; None is any number.
    """
    routes = [
        Route("/api/tables/{name}/probe", probe, methods=["GET", "POST"]),
        Route("/api/tables/{name}/move", move),
        Route("/api/tables/{name}/line", line),
        Route("/api/tables/{name}/board", board),
        Route("/api/tables/{name}/file", file),
        Route("/api/tables/{name}", info),
        Route("/api/tables", list_tables),
        Route("/api/health", health),
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/docs", docs),
        Route("/static/{file:path}", static),
        Route("/", explorer),
    ]
    middleware = [
        Middleware(Observed, log=log),
        Middleware(StandardHeaders),
        Middleware(
            CORSMiddleware,
            allow_origins=["*"],
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["*"],
            expose_headers=READABLE_HEADERS,
            max_age=86400,
        ),
        Middleware(Limits, rate=rate),
        Middleware(
            GZipMiddleware,
            minimum_size=COMPRESSED_FROM,
            compresslevel=COMPRESSION_LEVEL,
            exclude_content_types=(*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/x-hdf5"),
        ),
        Middleware(Faults),
    ]
    for route in routes:  # for `$`, which they end with, a line break may follow
        route.path_regex = re.compile(f"(?:{route.path_regex.pattern})\\Z")
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=HANDLERS)
    app.router.redirect_slashes = False  # a redirect would repeat whatever host the request named
    app.state.shelf = shelf
    app.state.lines = Turns("lines", AT_ONCE, MOST_LINES)
    app.state.batches = Turns("batches", AT_ONCE, MOST_BATCHES)
    app.state.held = Held()
    # Known by name: none is looked for on disk, whatever a request names.
    app.state.static = {
        path.relative_to(STATIC).as_posix(): StaticFile(path)
        for path in STATIC.rglob("*")
        if path.is_file()
    }
    app.state.description = description()
    return app


async def health(_: Request) -> Response:
    """The server is up."""
    return json_reply({"status": "ok", "version": __version__})


def list_tables(request: Request) -> Response:
    """The names of all tables."""
    return json_reply({"tables": list(_shelf(request).tables)})


async def info(request: Request) -> Response:
    """One table: parameters, rules, counts, histogram."""
    name, shelf = request.path_params["name"], _shelf(request)

    def told(served: Served) -> Response:
        lasts = lifetime(request, served)
        return table_reply(
            request, served, encoded(served.info), lasts if lasts == FOR_EVER else ASK_AGAIN
        )

    return await run_in_threadpool(shelf.ask, name, told)


async def probe(request: Request) -> Response:
    """One position with its moves, best first; or many, if they are posted."""
    if request.method == "POST":
        return await _probe_many(request)
    position = position_of(request)
    _SINGLE.inc()
    quick = len(position) <= QUICK_TEXT
    return await _asked(request, lambda table: probe_fields(table, position), quick)


async def _probe_many(request: Request) -> Response:
    positions, indices = batch_in(await body_of(request))
    if positions is not None:
        _TEXTS.inc(len(positions))
        quick = sum(map(len, positions)) <= QUICK_CHARACTERS
        return await _asked_many(request, lambda table: batch_fields(table, positions), quick)
    _INDICES.inc(len(indices))
    shelf, quick = _shelf(request), len(indices) <= QUICK_INDICES
    return await _asked_many(request, lambda table: column_fields(shelf.stored(table), indices), quick)


async def _asked_many(request: Request, ask: Ask, quick: bool) -> Response:
    """The answer to a batch; large ones take turns."""
    if quick:
        return await _asked(request, ask, quick)
    async with request.app.state.batches.taken(request):
        return await _asked(request, ask, quick)


async def move(request: Request) -> Response:
    """One move, and what it is worth."""
    position, made = position_of(request), move_of(request)
    quick = len(position) <= QUICK_TEXT
    return await _asked(request, lambda table: single_move_fields(table, position, made), quick)


async def line(request: Request) -> Response:
    """Best play by both sides."""
    position, limit = position_of(request, LONGEST_IN_LINE), limit_of(request)
    async with request.app.state.lines.taken(request):
        return await _asked(
            request, lambda table: line_fields(table, position, limit, LINE_SECONDS), quick=False
        )


async def board(request: Request) -> Response:
    """One position as a picture."""
    position = position_of(request)
    quick = len(position) <= QUICK_TEXT
    return await _asked(request, lambda table: board_fields(table, position), quick)


def file(request: Request) -> Response:
    """The table's file."""
    return file_reply(request, *_shelf(request).open_file(request.path_params["name"]))


async def metrics(_: Request) -> Response:
    """Numbers for Prometheus."""
    return metrics_page()


async def openapi(request: Request) -> Response:
    """What can be asked, for programs."""
    return json_reply(request.app.state.description)


async def docs(request: Request) -> Response:
    """What can be asked, for people."""
    return _static(request, "docs.html")


async def explorer(request: Request) -> Response:
    """The page."""
    return _static(request, "index.html")


async def static(request: Request) -> Response:
    """What belongs to the page."""
    return _static(request, request.path_params["file"])


def _static(request: Request, name: str) -> Response:
    found: StaticFile | None = request.app.state.static.get(name)
    if found is None:
        raise HTTPException(404)
    return found.reply(request)


async def _asked(request: Request, ask: Ask, quick: bool) -> Response:
    """The answer of a table: at once if it is quick, else in a thread."""
    name, shelf = request.path_params["name"], _shelf(request)

    def answered(served: Served) -> Response:
        lasts = lifetime(request, served)
        return table_reply(request, served, encoded(ask(served.answers)), lasts)

    served = shelf.known(name)
    if served and quick and served.is_quick:
        return answered(served)
    return await run_in_threadpool(shelf.ask, name, answered)


def _shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.shelf
    return shelf


class StandardHeaders:
    """Middleware: what a browser must know of every answer, so that no text in it does anything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                headers += self._headers
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-cache"))
            await send(message)

        await self._app(scope, receive, with_headers)
