"""Errors as answers: the one place that knows status codes.

Every error is `{"error": {"code", "message"}}`. Messages are the sentences of the library, but name no
folders of the server and say nothing of what broke inside it: that is for its log.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from lookup.errors import (
    CallerError,
    EndtableError,
    InvalidMoveError,
    InvalidPositionError,
    MissingTableError,
    TableFileError,
)
from lookup.manifest import PARTS_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LONGEST_QUOTE = 100

log = logging.getLogger("lookup.service")


class MalformedRequestError(CallerError):
    """A request that cannot be understood."""


class TooLargeError(CallerError):
    """A request for more than is answered at once."""


class NoFileError(CallerError):
    """A request for the file of a table that has several."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the table {name!r} is a folder of parts and has no file to send: "
            "expected a request for its positions"
        )


class RangeError(CallerError):
    """A range that a file does not have."""

    def __init__(self, given: str, content_range: str) -> None:
        super().__init__(f"the file has no range {_quoted(given)}: it is '{content_range}'")
        self.content_range = content_range


class OtherDigestError(CallerError):
    """A request for one version of a table, where there is another."""

    def __init__(self, name: str, given: str, digest: str | None) -> None:
        there = f"the one here has {digest}" if digest else "a formula answers for it here"
        super().__init__(f"no table {name!r} with the digest {given!r} here; {there}")


class LaterError(EndtableError):
    """A request that may be sent again after some seconds."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class BusyError(LaterError):
    """There is more to do than can be done."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}: ask again a little later", 1)


class TooManyRequestsError(LaterError):
    """One client asked more than it may."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"you ask too often: expected no request for {seconds} s", seconds)


class CutShortError(Exception):
    """A file that became shorter while it was sent: half an answer, which cannot be finished."""


class Kind(NamedTuple):
    """How a kind of error is answered."""

    status: int
    code: str


KINDS: dict[type[Exception], Kind] = {
    InvalidPositionError: Kind(400, "invalid_position"),
    InvalidMoveError: Kind(400, "invalid_move"),
    MissingTableError: Kind(404, "missing_table"),
    OtherDigestError: Kind(404, "other_digest"),
    NoFileError: Kind(404, "no_file"),
    TooLargeError: Kind(413, "too_large"),
    RangeError: Kind(416, "no_such_range"),
    MalformedRequestError: Kind(422, "malformed_request"),
    TooManyRequestsError: Kind(429, "too_many_requests"),
    BusyError: Kind(503, "busy"),
    CallerError: Kind(400, "bad_request"),
    TableFileError: Kind(500, "unusable_table"),
    Exception: Kind(500, "internal_error"),
}
"""The first that an error is an instance of counts."""

HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


def error_reply(error: Exception) -> JSONResponse:
    """The answer to an error."""
    headers = None
    if isinstance(error, RangeError):
        headers = {"content-range": error.content_range}
    elif isinstance(error, LaterError):
        headers = {"retry-after": str(error.seconds)}
    return _answer(_kind(error), _message(error), headers)


def error_content(kind: Kind, message: str) -> bytes:
    """The same as bytes, for what never became a request."""
    return bytes(_answer(kind, message).body)


def _expected(_: Request, error: Exception) -> JSONResponse:
    return error_reply(error)


def _failure(request: Request, error: Exception) -> JSONResponse:
    log.error("%s: %s", request.scope["path"], error)
    return error_reply(error)


def _http(request: Request, error: Exception) -> JSONResponse:
    """What the routing itself refuses: no such page, no such method."""
    assert isinstance(error, HTTPException)
    kind = Kind(error.status_code, HTTP_CODES.get(error.status_code, "bad_request"))
    asked = f"{request.method[:_LONGEST_QUOTE]} {_quoted(request.scope['path'])}"
    return _answer(kind, f"{asked} is not answered here: {error.detail.lower()}", error.headers)


HANDLERS: Mapping[type[Exception], Callable[[Request, Exception], JSONResponse]] = {
    CallerError: _expected,
    LaterError: _expected,
    EndtableError: _failure,
    HTTPException: _http,
}


class Faults:
    """Middleware: whatever else was raised is a fault of ours, which the log tells and nobody else.

    Starlette would answer outside of all other middleware, without their headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, in any case."""
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            pass  # whoever asked has gone: nobody is there to be told
        except CutShortError:
            log.warning("%s: the file was cut while it was sent", scope["path"])
        except Exception as error:
            log.exception("%s", scope["path"])
            if begun:
                raise  # half an answer is sent: all that is left is to break off
            await error_reply(error)(scope, receive, send)


def _kind(error: Exception) -> Kind:
    return next(kind for known, kind in KINDS.items() if isinstance(error, known))


def _message(error: Exception) -> str:
    """One sentence; what the library's own says of this machine is left out."""
    if isinstance(error, MissingTableError):
        hint = f"build it with: {error.command}" if error.command else "/api/tables lists what there is"
        return f"no table {_quoted(error.name)} here; {hint}"
    if isinstance(error, TableFileError):
        path = error.path
        named = f"{path.parent.name}/{path.name}" if path.parent.suffix == PARTS_SUFFIX else path.name
        return f"'{named}' {error.problem}"
    if isinstance(error, CallerError | LaterError):
        return str(error)
    return "something broke that you could not know; the log of the server says what"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}...")


def _answer(kind: Kind, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    fields = {"error": {"code": kind.code, "message": message}}
    return JSONResponse(fields, status_code=kind.status, headers=headers)
