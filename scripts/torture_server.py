"""A server of its own for whoever attacks it: asked over real sockets, on this machine alone."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PATIENCE = 30.0
"""Seconds without an answer after which a server counts as stuck."""


class Reply(NamedTuple):
    """What came back: status 0 if nothing did."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error; '' if it is none."""
        with suppress(ValueError, TypeError, KeyError):
            return str(self.json["error"]["code"])
        return ""


class Server:
    """A running `lookup serve`, and what can be seen of it from outside."""

    def __init__(self, process: subprocess.Popen[str], port: int, errors: Path) -> None:
        self.process, self.port, self._errors = process, port, errors

    def connect(self, seconds: float = PATIENCE, receive_buffer: int = 0) -> socket.socket:
        """A connection; with a small buffer, one over which little is read ahead."""
        client = socket.socket()
        client.settimeout(seconds)
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.connect(("127.0.0.1", self.port))
        return client

    def raw(self, request: bytes, seconds: float = PATIENCE) -> bytes:
        """All that comes back until the connection is closed.

        Raises:
            TimeoutError: it is not.
        """
        with self.connect(seconds) as client:
            with suppress(ConnectionError):  # it may be refused before it is all sent
                client.sendall(request)
            return everything(client)

    def get(self, path: str, headers: dict[str, str] | None = None) -> Reply:
        """The answer to a path exactly as it is written."""
        return self.ask("GET", path, None, headers)

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """The answer over a connection of its own.

        Raises:
            TimeoutError: there is none.
        """
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {"connection": "close", **(headers or {})})
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, names, answer.read())
        finally:
            connection.close()

    @property
    def processes(self) -> list[int]:
        """Its process, and those of its workers."""
        first = self.process.pid
        listed = Path(f"/proc/{first}/task/{first}/children").read_text()
        return [first, *map(int, listed.split())]

    @property
    def megabytes(self) -> float:
        """Memory that it has, all processes together."""
        pages = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in self.processes]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20

    @property
    def open_files(self) -> int:
        """Handles that it has, all processes together."""
        return sum(len(list(Path(f"/proc/{one}/fd").iterdir())) for one in self.processes)

    @property
    def said(self) -> str:
        """What it wrote to standard error."""
        return self._errors.read_text("utf-8", "replace")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Its exit code, and how many seconds it took to end."""
        began = time.monotonic()
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        return code, time.monotonic() - began


def everything(client: socket.socket) -> bytes:
    """All that comes until the connection is closed, well or not."""
    received = b""
    with suppress(ConnectionError):
        while more := client.recv(1 << 16):
            received += more
    return received


def status_of(answer: bytes) -> int:
    """The status of the first answer; 0 if there is none."""
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found[1]) if found else 0


@contextmanager
def serving(
    *words: str | Path, first: str = "", tables: Path | None = None, through: tuple[str, ...] = ()
) -> Iterator[Server]:
    """A server on a free port, stopped in the end if it still runs.

    `first` is Python that it runs before anything else: to make times shorter and tables larger.
    `through` is a command that runs another.
    """
    command = [
        sys.executable,
        "-c",
        f"{first}\nfrom lookup.cli import main\nmain()",
        "serve",
        "--port",
        "0",
    ]
    if tables:
        command += ["--tables", str(tables)]
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "stderr"
        with errors.open("w") as file:
            process = subprocess.Popen(
                [*through, *command, *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        try:
            assert process.stdout
            announced = re.search(r":(\d+)/", process.stdout.readline())
            if announced is None:
                raise RuntimeError(f"lookup serve does not start: {errors.read_text()}")
            yield Server(process, int(announced[1]), errors)
        finally:
            process.terminate()  # so that it takes its temporary folders along
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()
