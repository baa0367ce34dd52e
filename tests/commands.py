"""Run the two commands as a user does, in a process of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


class Result(NamedTuple):
    code: int
    out: str
    error: str


MODULES = {"lookup": "lookup.cli", "build-tables": "builder.cli"}


def run(*words: str | Path, cwd: Path = ROOT, typed: str | None = None, **environment: str) -> Result:
    """`run("lookup", "probe", ...)`: exit code, output and error output; `typed` is its input."""
    command = [sys.executable, "-W", "error", "-m", MODULES[str(words[0])], *map(str, words[1:])]
    # A terminal's width and colours must not change what tests compare.
    plain = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command,
        input=typed,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **plain, **environment},
    )
    return Result(done.returncode, done.stdout, done.stderr)


ESTIMATE = re.compile(r"\S+: [\d,]+ positions, needs about .* of memory .* and .* of disk .*")
"""What a build says before it starts."""


def one_line(result: Result) -> str:
    """The error line of a command that failed as it should: one line, no traceback, no output.

    A build that was begun has said before what it needs.
    """
    lines = [line for line in result.error.splitlines() if not ESTIMATE.fullmatch(line)]
    assert len(lines) == 1, result.error
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.error
    return lines[0]
