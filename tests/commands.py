"""Run the two commands as a user does, in this process or, where that matters, in one of their own."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

import builder.cli
import lookup.cli
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


class Result(NamedTuple):
    code: int
    out: str
    error: str


MODULES = {"lookup": "lookup.cli", "build-tables": "builder.cli"}
_MAINS = {"lookup": lookup.cli.main, "build-tables": builder.cli.main}
# A terminal's width and colours must not change what tests compare.
_PLAIN = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}


def run(*words: str | Path, cwd: Path = ROOT, typed: str | None = None, **environment: str) -> Result:
    """`run("lookup", "probe", ...)`: exit code, output and error output; `typed` is its input.

    The command's own entry point, with its words, variables, folder and streams, but in this process:
    to start Python takes twenty times as long as most commands. `run_apart` does.
    """
    if words[:2] == ("lookup", "serve"):  # has its process to itself: signals, threads, a loop
        return run_apart(*words, cwd=cwd, typed=typed, **environment)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    with contextlib.ExitStack() as stack:
        streams = []
        for _ in range(3):  # files, since some of the output goes round Python's streams
            file = stack.enter_context(tempfile.TemporaryFile())
            streams.append(stack.enter_context(io.TextIOWrapper(file, encoding, newline="\n")))
        typing, out, error = streams
        typing.write(typed or "")
        typing.seek(0)
        stack.enter_context(mock.patch.dict(os.environ, {**_PLAIN, **environment}))
        stack.enter_context(
            mock.patch.multiple(sys, argv=[*map(str, words)], stdin=typing, stdout=out, stderr=error)
        )
        stack.enter_context(contextlib.chdir(cwd))
        stack.enter_context(warnings.catch_warnings())
        code: object = 0
        try:
            _MAINS[str(words[0])]()
        except SystemExit as done:
            code = done.code
        assert isinstance(code, int)
        return Result(code, _written(out), _written(error))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def run_apart(
    *words: str | Path, cwd: Path = ROOT, typed: str | None = None, **environment: str
) -> Result:
    """The same in a process of its own: for what one leaves behind, loads or is started with."""
    command = [sys.executable, "-W", "error", "-m", MODULES[str(words[0])], *map(str, words[1:])]
    done = subprocess.run(
        command,
        input=typed,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **_PLAIN, "PYTHONPATH": str(ROOT), **environment},
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
