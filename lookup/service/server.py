"""A port to listen on, until Ctrl-C."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from lookup.errors import FailureError
from lookup.service.app import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from lookup.tablebase import Tablebase

STOP_SECONDS = 5
"""How long answers that are under way may take when the server is stopped."""


def serve(tables: Tablebase, host: str, port: int, announce: Callable[[str], object]) -> None:
    """Answer requests until Ctrl-C; `announce` is told the address once there is one.

    Raises:
        FailureError: nobody can listen there.
    """
    config = uvicorn.Config(
        create_app(tables),
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=STOP_SECONDS,
        ws="none",
    )
    # Ctrl-C is how a server is stopped; uvicorn finishes its work and then raises it once more.
    with listener(host, port) as listening, suppress(KeyboardInterrupt):
        announce(address(listening))
        uvicorn.Server(config).run(sockets=[listening])


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any free one.

    Raises:
        FailureError: nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
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
