"""A `lookup serve` of its own, on a free port, for tests that ask it over a real socket."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

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
        process.communicate()
