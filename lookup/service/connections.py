"""Connections that nobody can hold: what comes too slowly, or without end, is dropped.

uvicorn bounds neither the head of a request nor the time it takes, and writes for ever to whoever does
not read. Here both are bounded, and so is what all connections hold together.
"""

from __future__ import annotations

import asyncio
import math
import sys
from array import array
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from lookup.service.errors import KINDS, BusyError, Kind, error_content, error_reply
from lookup.service.metrics import REFUSED
from lookup.service.requests import DRAINED_BODY
from lookup.service.workers import STOP

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

LARGEST_HEAD = 64 * 1024
"""Bytes of a request line with all headers."""

HEAD_SECONDS, BODY_SECONDS = 15, 60
"""How long a head may take from its first byte, or from the connection, and a body from there."""

SEND_SECONDS, SLOWEST = 30, 16 * 1024
"""Whoever reads fewer bytes of an answer than these in so many seconds is not waited for."""

MOST_CONNECTIONS = 1000
"""Of a worker. For one more the longest idle one is closed; where none is idle, it is told to wait."""

MOST_PIPELINED = 100
"""Requests that may wait on a connection for the answers to earlier ones."""

MOST_UNREAD = 128 * 1024 * 1024
"""Bytes of answers that may wait for those who asked, of all connections together."""

_LARGE = 256 * 1024  # bytes of unread answers that are worth a look at all the others
_SPARE_CONNECTIONS = 100  # that may be told to wait; any further ones are closed at once
_SPARE_FILES = 200  # of those that a process may open: for tables, and what Python itself needs
_NOT_HTTP = Kind(400, "bad_request")
_TOO_SLOW = Kind(408, "too_slow")
_HEAD_TOO_LARGE = Kind(431, "head_too_large")


class Server(uvicorn.Server):
    """Looks after its connections once a second."""

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Begin, unless it was told to stop before it followed signals."""
        await super().startup(sockets)
        self.should_exit = self.should_exit or STOP.is_asked

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop."""
        if counter % 10 == 0:
            for connection in self._connections:
                connection.look_after()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """Finish what is under way; whoever does not let us is left behind in time."""
        patience = max(0.1, (self.config.timeout_graceful_shutdown or 1) - 1)
        asyncio.get_running_loop().call_later(patience, self._leave)
        await super().shutdown(sockets)

    def _leave(self) -> None:
        for connection in self._connections:
            connection.transport.abort()

    @property
    def _connections(self) -> list[Connection]:
        return cast("list[Connection]", list(self.server_state.connections))


class Connection(HttpToolsProtocol):
    """One connection, with bounds on what it may take and how long."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline = math.inf  # of what is being received
        self.idle_since = 0.0
        self._in_head = True
        self._is_over = False  # what still comes is no request
        self._received = self._body = 0  # bytes since the last request, and those of a body
        self.stalled: tuple[float, int] | None = None  # when so many bytes were still unread
        self._refusal: tuple[Kind, str] | None = None
        self._under_way: deque[RequestResponseCycle] = deque()  # from the first that is to be answered

    @property
    def is_idle(self) -> bool:
        """Whether no answer is under way."""
        return not self._under_way

    # --- from the transport -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Make room for one more."""
        super().connection_made(transport)
        self.idle_since = self.loop.time()
        self._deadline = self.idle_since + HEAD_SECONDS
        if len(self.connections) > most_connections():
            self._make_room()

    def _make_room(self) -> None:
        others = cast("set[Connection]", self.connections) - {self}
        idle = [one for one in others if one.is_idle and not one.transport.is_closing()]
        if idle:
            min(idle, key=lambda one: one.idle_since).transport.close()
        elif len(self.connections) > most_connections() + _SPARE_CONNECTIONS:
            self.transport.abort()
        else:
            self.app = _busy
        REFUSED.labels("too_many_connections").inc()

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request, or of several."""
        self._unset_keepalive_if_required()
        if self._is_over:
            return
        self._received += len(data)
        if self._deadline == math.inf and self.is_idle:
            self._deadline = self.loop.time() + HEAD_SECONDS
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_over, self.cycle.keep_alive = True, False  # it is answered as if it wanted none
        except httptools.HttpParserError:
            self._refuse(*(self._refusal or (_NOT_HTTP, "the request is not HTTP/1.1")))
        else:
            self._check_size()

    def _check_size(self) -> None:
        # What is no body is a head, or what a body in chunks has between them and after the last.
        if self._received - self._body > LARGEST_HEAD + 8 * self._body:
            self._refuse(_HEAD_TOO_LARGE, _said_of_head())
        elif self._body > DRAINED_BODY and self.is_idle:
            self._refuse(KINDS[BusyError], "")  # it was answered long ago

    def pause_writing(self) -> None:
        """An answer is not read as fast as it comes; for the room of all, somebody has to go."""
        super().pause_writing()
        if self.transport.get_write_buffer_size() > _LARGE:
            connections = cast("set[Connection]", self.connections)
            unread = {one: one.transport.get_write_buffer_size() for one in connections}
            if sum(unread.values()) > MOST_UNREAD:
                now = self.loop.time()
                slow = (one for one, size in unread.items() if size > _LARGE)
                slowest = min(slow, key=lambda one: one.stalled[0] if one.stalled else now)
                slowest.drop("too_slow")

    def resume_writing(self) -> None:
        """It is read after all."""
        self.stalled = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end."""
        self._tell_of_the_end()
        super().connection_lost(exc)

    # --- from the parser --------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._in_head, self._deadline = True, self.loop.time() + HEAD_SECONDS

    def on_headers_complete(self) -> None:
        """The end of a head."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > LARGEST_HEAD:
            self._refusal = _HEAD_TOO_LARGE, _said_of_head()
            raise ValueError(size)
        if len(self.pipeline) >= MOST_PIPELINED:
            self._refusal = KINDS[BusyError], ""
            raise ValueError(len(self.pipeline))
        super().on_headers_complete()
        self._under_way.append(self.cycle)
        self._in_head, self._deadline = False, self.loop.time() + BODY_SECONDS

    def on_body(self, body: bytes) -> None:
        """Some bytes of a body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        super().on_message_complete()
        self._deadline, self._received, self._body = math.inf, 0, 0
        if self.is_idle:  # it was answered before: nothing else ends a connection that says no more
            self._deadline = self.loop.time() + self.timeout_keep_alive

    def on_response_complete(self) -> None:
        """The last byte of an answer."""
        self.idle_since = self.loop.time()
        self._under_way.popleft()
        super().on_response_complete()

    # --- the end ----------------------------------------------------------------------------------

    def look_after(self) -> None:
        """Drop it if it takes too long."""
        now, unread = self.loop.time(), _unread(self.transport)
        if not unread:
            self.stalled = None
        elif self.stalled is None or unread <= self.stalled[1] - SLOWEST:
            self.stalled = now, unread
        elif now - self.stalled[0] > SEND_SECONDS:
            self.drop("too_slow")
        if now > self._deadline and not self.flow.read_paused and not self.transport.is_closing():
            seconds, what = (HEAD_SECONDS, "head") if self._in_head else (BODY_SECONDS, "body")
            self._refuse(_TOO_SLOW, f"the {what} of the request took too long: expected {seconds} s")

    def shutdown(self) -> None:
        """Finish an answer to what was asked; a question that is not all here yet is dropped."""
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_started:
            self._close()
        else:
            super().shutdown()

    def _refuse(self, kind: Kind, message: str) -> None:
        """Say why, where that cannot be taken for the answer to an earlier request, and close."""
        REFUSED.labels(kind.code).inc()
        alone = self.is_idle if self._in_head else not (self.cycle.response_started or self.pipeline)
        if message and self._received and alone:
            body = error_content(kind, message)
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[kind.status] + head % len(body) + body)
        self._close()

    def _close(self) -> None:
        """Nothing of it is read or answered any more."""
        self._is_over, self._deadline = True, math.inf
        self._tell_of_the_end()
        self.transport.close()

    def _tell_of_the_end(self) -> None:
        """No answer is wanted any more; uvicorn tells that to the last request alone."""
        self.pipeline.clear()
        for cycle in self._under_way:
            cycle.disconnected = True
            cycle.message_event.set()

    def drop(self, code: str) -> None:
        """Close it at once, whatever was still to be sent."""
        REFUSED.labels(code).inc()
        self.transport.abort()


def _unread(transport: asyncio.Transport) -> int:
    """Bytes of answers that were not received yet; 0 if none waits here.

    Those that the system has taken are among them, where it tells: it takes more only after a third of
    its megabytes has gone, and who reads slowly but steadily would seem to read nothing for a minute.
    """
    here = transport.get_write_buffer_size()
    if not here or sys.platform != "linux":
        return here
    import fcntl
    import termios

    taken = array("i", [0])
    with suppress(OSError, ValueError):  # it is closed
        fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, taken)
    return here + taken[0]


def most_connections() -> int:
    """Fewer than a process may open files, on systems that have such a limit."""
    if not _MOST_FILES:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(_MOST_FILES - _SPARE_FILES, _MOST_FILES // 2))


def _most_files() -> int:
    """How many files this process may open; 0 is any number."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 0 if most == resource.RLIM_INFINITY else most


_MOST_FILES = _most_files()


def _said_of_head() -> str:
    return f"the head of the request is too large: expected at most {LARGEST_HEAD:,} bytes"


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer on a connection too many."""
    reply = error_reply(BusyError("too many connections"))
    reply.headers["connection"] = "close"
    await reply(scope, receive, send)
