"""Answers as responses: JSON with what a cache must know, and files that may be replaced meanwhile.

A position's value never changes: answers of our own games may be kept for a day, and for ever if the
request named the digest of the table. What somebody else's rules say, and what a table says of itself,
is asked for again each time, and not sent if the entity tag is still the same.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response

from lookup.service.errors import CutShortError, OtherDigestError, RangeError
from lookup.service.requests import digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import Message, Receive, Scope, Send

    from lookup.service.shelf import Served

JSON = "application/json"
ASK_AGAIN = "no-cache"
FOR_A_DAY = "public, max-age=86400"
FOR_EVER = "public, max-age=31536000, immutable"

_RANGES = re.compile(
    r"bytes=(\s*(\d{1,18}-\d{0,18}|-\d{1,18})\s*)(,\s*(\d{1,18}-\d{0,18}|-\d{1,18})\s*)*"
)


def encoded(content: Any) -> bytes:
    """Content as JSON."""
    return orjson.dumps(content)


def json_reply(content: Any) -> Response:
    """JSON that may be another the next time."""
    return Response(encoded(content), media_type=JSON)


def table_reply(request: Request, served: Served, body: bytes, lasts: str) -> Response:
    """JSON that a table, or a formula, answered."""
    if request.method == "POST":
        return Response(body, media_type=JSON)
    headers = {"etag": served.entity_tag, "cache-control": lasts}
    return _unless_known(request, Response(body, media_type=JSON, headers=headers))


def lifetime(request: Request, served: Served) -> str:
    """How long an answer may be kept.

    Raises:
        OtherDigestError: the request wants the answer of another table.
    """
    wanted = digest_of(request)
    if wanted and not (served.digest and served.digest.startswith(wanted)):
        raise OtherDigestError(served.answers.name, wanted, served.digest)
    if not served.is_ours:
        return ASK_AGAIN
    return FOR_EVER if wanted else FOR_A_DAY


def _unless_known(request: Request, response: Response) -> Response:
    """The response, or that it is still the same as the one that the client has."""
    if known := request.headers.get("if-none-match"):
        tag = response.headers["etag"].removeprefix("W/")
        tags = [one.strip().removeprefix("W/") for one in known.split(",")]
        if tag in tags or known.strip() == "*":
            kept = {key: response.headers[key] for key in ("etag", "cache-control")}
            return Response(status_code=304, headers=kept)
    return response


class StaticFile:
    """A file that belongs to the page, in memory."""

    def __init__(self, path: Path) -> None:
        self._content = path.read_bytes()
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        tag = hashlib.sha256(self._content).hexdigest()[:16]
        self._headers = {"content-type": kind, "etag": f'W/"{tag}"', "cache-control": ASK_AGAIN}
        if kind.startswith("text/"):
            self._headers["content-type"] += "; charset=utf-8"

    def reply(self, request: Request) -> Response:
        """The file."""
        return _unless_known(request, Response(self._content, headers=self._headers))


def file_reply(request: Request, path: Path, held: int) -> Response:
    """A table's file, which is open and is closed here, whole or by ranges."""
    return _unless_known(request, RangedFile(path, held))


class RangedFile(FileResponse):
    """A file, whole or in ranges, which stays the same while it is sent, whatever replaces it.

    What is no range is ignored, as HTTP wants it; a range that the file does not have is raised: the
    base class would answer plain text.
    """

    def __init__(self, path: Path, held: int) -> None:
        # The base class would look at the path and open it later: by then another file may be there.
        self._held = held
        try:
            status = os.fstat(self._held)
            tag = f'"{status.st_size:x}-{status.st_mtime_ns:x}-{status.st_ino:x}"'
            super().__init__(
                f"/dev/fd/{self._held}" if os.name == "posix" else path,
                media_type="application/x-hdf5",
                filename=path.name,
                stat_result=status,
                headers={"etag": tag, "cache-control": ASK_AGAIN},
            )
        except BaseException:
            os.close(self._held)
            raise

    def __del__(self) -> None:
        with suppress(OSError):  # also when it was never sent: not modified
            os.close(self._held)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or raise before anything is sent."""
        given = Headers(scope=scope).get("range", "")
        if scope["method"] != "GET" or not _is_range(given):
            scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"range"]}

        missing = 0  # bytes that were announced and not sent yet

        async def checked(message: Message) -> None:
            nonlocal missing
            if message["type"] == "http.response.start":
                headers = Headers(raw=message["headers"])
                if message["status"] == 416:
                    raise RangeError(given, headers["content-range"])
                missing = int(headers["content-length"]) if scope["method"] == "GET" else 0
            missing -= len(message.get("body", b""))
            if message.get("more_body") is False and missing > 0:
                raise CutShortError(self.filename)
            await send(message)

        await super().__call__(scope, receive, checked)


def _is_range(given: str) -> bool:
    """Whether a header asks for ranges of bytes, each from its first to its last."""
    if not _RANGES.fullmatch(given):
        return False
    spans = (span.strip().split("-") for span in given.partition("=")[2].split(","))
    return all(not first or not last or int(first) <= int(last) for first, last in spans)
