"""Commands as nobody would type them."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from torture_wild import LONGEST_MESSAGE, case, require, shown

import builder.cli
import lookup.cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random


class Ran(NamedTuple):
    """How a command ended."""

    code: object
    out: str
    error: str


_MAINS = {"lookup": lookup.cli.main, "build-tables": builder.cli.main}


def run_command(*words: str, cwd: Path, typed: str = "") -> Ran:
    """Run a command in this process, as `tests/commands.py` does."""
    with contextlib.ExitStack() as stack:
        streams = []
        for _ in range(3):
            file = stack.enter_context(tempfile.TemporaryFile())
            streams.append(stack.enter_context(io.TextIOWrapper(file, "utf-8", newline="\n")))
        typing, out, error = streams
        typing.write(typed)
        typing.seek(0)
        plain = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "XDG_DATA_HOME": str(cwd / "data")}
        stack.enter_context(mock.patch.dict(os.environ, plain))
        stack.enter_context(
            mock.patch.multiple(sys, argv=list(words), stdin=typing, stdout=out, stderr=error)
        )
        stack.enter_context(mock.patch("lookup.download.PAUSES", ()))
        stack.enter_context(contextlib.chdir(cwd))
        stack.enter_context(warnings.catch_warnings())
        code: object = 0
        try:
            _MAINS[words[0]]()
        except SystemExit as done:
            code = done.code
        return Ran(code, _written(out), _written(error))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def check_command(ran: Ran) -> str:
    """A command ends well, or says what is wrong in one line.

    Raises:
        BrokenError: neither.
    """
    require(ran.code in (0, 1, 2), f"exit code {ran.code}: {ran.error[-500:]!r}")
    require("Traceback" not in ran.error and "fault of ours" not in ran.error, ran.error[-700:])
    said = [line for line in ran.error.splitlines() if line.startswith("error: ")]
    require(not said if ran.code == 0 else said, f"exit code {ran.code}, and {ran.error[-500:]!r}")
    require(
        max(map(len, said), default=0) < LONGEST_MESSAGE, f"a line of {max(map(len, said), default=0)}"
    )
    return f"exit {ran.code}"


COMMANDS = {
    "lookup": (
        "probe",
        "line",
        "play",
        "info",
        "list",
        "where",
        "export",
        "fetch",
        "export-site",
        "",
        "nope",
    ),
    "build-tables": (
        *("tactics", "rota", "sticks", "sticks any", "sticks run", "sticks special", "clock", "list"),
        *("winners-losers", "game", "check", "verify", "bundle", "nope"),
    ),
}
OPTIONS = (
    *(
        "--json",
        "--to",
        "--output",
        "--move",
        "--limit",
        "--moves",
        "--tables",
        "--game",
        "--as",
        "--seed",
    ),
    *(
        "--against",
        "--count",
        "--no-text",
        "--never-lose",
        "--best",
        "--out",
        "--engine",
        "--max-memory",
    ),
    *("--force", "--set", "--rows", "--cols", "--max-run", "--normal", "--n", "--k", "--min", "--max"),
    *(
        "--heaps",
        "--length",
        "--diameters",
        "--version",
        "--help",
        "-h",
        "--sha256",
        "--table",
        "--nope",
    ),
    *("-x", "--limit=", "--n=", "--tables="),
)
WORDS = (
    *(
        "",
        "-",
        "--",
        "0",
        "-1",
        "1",
        "2",
        "3",
        "999999999999",
        "9" * 5000,
        "1e3",
        "\u0663",
        "\xb2",
        "nan",
    ),
    *("None", "rota", "rota.h5", "tactics-3x3", "clock-4-2", "clock-1000-1000000", "winners-losers-20"),
    *("winners-losers", "sticks-any-1-3", "sticks-run-1-2", "nope", "no/such/folder"),
    *(
        "a\0b",
        "\ud800",
        "\udcff",
        "a\nb",
        "\x1b[31m",
        "\xe9",
        "x.py",
        "x.py:Nim",
        "x.o/.x./..o x",
        "||||",
    ),
    *("WLWL", "csv", "json", "npz", "dot", "parquet", "first", "second", "none", "both", "perfect"),
    *(
        "random",
        "python",
        "numba",
        ".",
        "out.csv",
        "https://",
        "http://",
        "http://[",
        "file:///etc",
        "a=b",
    ),
    *(
        "http://127.0.0.1:1/\udcff",
        "http://127.0.0.1:1/x?\udcff",
        "=",
        "heap=3",
        "%s",
        "' \"",
        "\u202e",
    ),
    *("nim", "kayles", "tic-tac-toe", "1 GB", "10k"),
)
"""None leads out of the folder that commands are run in: they write wherever they are told to."""
TYPED = ("", "help\nhint\nback\nzzz\nquit\n", "\0\n\x1b\n\n" * 3, "1\nn\n0\nX\na1\nleft\n" * 3)


def attempt_command(folder: Path) -> Callable[[Random], str]:
    """Type any command, in a folder of its own."""
    folder.mkdir(parents=True)

    def attempt(random: Random) -> str:
        tool = random.choice(list(COMMANDS))
        words = [tool, *random.choice(COMMANDS[tool]).split()]
        count = random.choice((0, 1, 1, 2, 2, 3, 4, 6))
        words += [random.choice(OPTIONS if random.random() < 0.45 else WORDS) for _ in range(count)]
        with case(shown(words)):
            ending = check_command(run_command(*words, cwd=folder, typed=random.choice(TYPED)))
        return f"{tool}: {ending}"

    return attempt
