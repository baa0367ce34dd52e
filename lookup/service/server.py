"""A port to listen on, until Ctrl-C or SIGTERM: in one process, or in several workers."""

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import sys
import tempfile
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from lookup.errors import FailureError
from lookup.records import decode_records
from lookup.service.access_log import AccessLog
from lookup.service.shelf import Shelf
from lookup.service.workers import METRICS_VARIABLE, SIGNALS, STOP, supervise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.applications import Starlette

    from lookup.records import Decode
    from lookup.tablebase import Tablebase

STOP_SECONDS = 5
"""How long answers that are under way may take when the server is stopped."""

KEEP_ALIVE_SECONDS = 30
BACKLOG = 2048
"""Connections that may wait to be accepted: hundreds of clients start at the same moment."""

OPEN_FILES = 4096
"""A worker may have, if the system lets it: a table that is sent takes two beside its connection."""


def serve(
    tables: Tablebase,
    host: str,
    port: int,
    announce: Callable[[str], object],
    *,
    workers: int = 1,
    access_log: str | None = None,
    rate: float | None = None,
) -> None:
    """Answer requests until Ctrl-C; `announce` is told the address once there is one.

    Several workers listen on the same port and have decoded tables in memory once. `rate` is how many
    requests a second each of them answers to one client; None is any number.

    Raises:
        FailureError: nobody can listen there, or log there.
    """
    if workers > 1 and not hasattr(os, "fork"):
        raise FailureError("this system cannot run several workers: expected --workers 1")
    with (
        _signals_noted(),
        listener(host, port) as listening,
        AccessLog.opened(access_log) as log,
        _shared() if workers > 1 else _alone() as decode,
    ):
        _allow_open_files()
        from lookup.service.app import create_app  # it counts, and `_shared` settles where

        app = create_app(Shelf(tables, decode), log, rate)
        gc.freeze()  # what is there now stays: looking at it again and again would only cost time
        started = partial(announce, address(listening))
        if workers == 1:
            started()
            _answer(app, listening)
        else:
            supervise(lambda: _answer(app, listening), workers, STOP_SECONDS, started)


def _answer(app: Starlette, listening: socket.socket) -> None:
    """Answer in this process, until a signal ends it."""
    from lookup.service.connections import Connection, Server  # they count, too

    config = uvicorn.Config(
        app,
        http=Connection,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        server_header=False,
        ws="none",
    )
    Server(config).run(sockets=[listening])


def _allow_open_files() -> None:
    """Many systems let a process open few files, and more if it asks."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # then there are fewer connections
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def _signals_noted() -> Iterator[None]:
    """Signals are how a server is stopped; until it follows them, they are noted."""
    before = {one: signal.signal(one, STOP) for one in SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def _shared() -> Iterator[Decode]:
    """What the workers have together: decoded tables, and the numbers they count."""
    from lookup.service.arena import Arena, own_prefix  # not on Windows, which has no workers

    # Counted on disk: where there is no room for what is mapped, a process is killed.
    with Arena() as arena, tempfile.TemporaryDirectory(prefix=own_prefix()) as counted:
        os.environ[METRICS_VARIABLE] = counted
        yield arena.decode


@contextmanager
def _alone() -> Iterator[Decode]:
    """A single process has all of it to itself."""
    os.environ.pop(METRICS_VARIABLE, None)
    yield decode_records


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any free one.

    Raises:
        FailureError: nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = f"port {port} of {host!r} is in use: choose another with --port"
        else:
            problem = f"cannot listen on port {port} of {host!r}: {error.strerror or error}"
        raise FailureError(problem) from error
    except UnicodeError as error:
        raise FailureError(f"{host!r} is not a host: expected a name or an address") from error


def address(listening: socket.socket) -> str:
    """The address of the page."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
