"""A `lookup serve` of its own, on a free port, for tests that ask it over a real socket."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

from tests.commands import run
from tests.conftest import ROOT

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
    from pathlib import Path

SECONDS = 60
"""No wait is longer; a server that is up answers in milliseconds."""


class Server(NamedTuple):
    process: subprocess.Popen[str]
    announced: str
    client: httpx.Client

    def stop(self, how: signal.Signals) -> tuple[int, str, str]:
        """Send a signal; exit code, and what was printed since."""
        self.process.send_signal(how)
        out, error = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, error


@contextmanager
def running(*words: str | Path) -> Iterator[Server]:
    """A server on a free port, killed in the end if it still runs."""
    serve = [sys.executable, "-W", "error", "-m", "lookup.cli", "serve", "--port", "0"]
    with listening([*serve, *map(str, words)], ROOT, {**os.environ, "PYTHONPATH": str(ROOT)}) as server:
        yield server


@contextmanager
def listening(command: list[str], cwd: Path, environment: dict[str, str]) -> Iterator[Server]:
    """The same by any command that announces a server."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment
    )
    assert process.stdout
    try:
        with ThreadPoolExecutor(1) as reader:
            line = reader.submit(process.stdout.readline)
            try:
                announced = line.result(SECONDS)
            except TimeoutError:
                process.kill()  # which ends the line, and so the thread
                raise
        (address,) = re.findall(r"http://\S+/", announced) or [pytest.fail(process.communicate()[1])]
        with httpx.Client(base_url=address, timeout=SECONDS, trust_env=False) as client:
            yield Server(process, announced, client)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)  # workers that stay would hold its output open


class FilesOnly(SimpleHTTPRequestHandler):
    """A web server that knows nothing but files, and no ranges either."""

    protocol_version = "HTTP/1.1"  # connections are kept
    disable_nagle_algorithm = True  # or each answer waits for 40 ms between its head and its body

    def end_headers(self) -> None:
        """Pages that were read need not be read again for the next test."""
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002 - as its base calls it
        """Nothing: tests have enough to say."""


@contextmanager
def hosted(folder: Path, kind: type[FilesOnly] = FilesOnly) -> Iterator[str]:
    """The address of a folder on a web server of a kind."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(kind, directory=str(folder)))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def explorer_of(hosting: str, folder: Path, *words: str | Path) -> Iterator[str]:
    """The address of the explorer: "served", or a "site" that is written to the folder and hosted.

    The words are those that `lookup serve` and `lookup export-site` have in common.
    """
    if hosting == "served":
        with running(*words) as server:
            yield str(server.client.base_url)
        return
    code, _, error = run("lookup", "export-site", folder, *words)
    assert code == 0, error
    with hosted(folder) as address:
        yield address
