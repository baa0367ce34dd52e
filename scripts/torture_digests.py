"""The same table, however it is built: the digests of some tables as one Python makes them.

Started as a program, `torture_digests.py THREADS ENGINE TABLE ...` builds tables and prints their
digests; so it can be run by another Python, with other environment variables.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.13")
"""The oldest and the newest that we allow."""
_LONGEST = 1800.0  # seconds for all tables of one way


class Way(NamedTuple):
    """How tables are built: by which Python, in how many threads, by which engine, with what hashes."""

    name: str
    python: str = sys.executable
    threads: int = 2
    engine: str = "numba"
    hash_seed: int = 0


def digests_of(way: Way, tables: Sequence[str]) -> dict[str, str]:
    """The digests of tables built in one way, by name.

    Raises:
        RuntimeError: the program failed; says how.
    """
    command = [way.python, __file__, str(way.threads), way.engine, *tables]
    environment = os.environ | {"PYTHONHASHSEED": str(way.hash_seed)}
    if way.python == sys.executable:
        environment["PYTHONPATH"] = str(ROOT)
    else:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=_LONGEST, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"{way.name}: {lines[-1]}")
    found: dict[str, str] = json.loads(done.stdout)
    return found


@contextmanager
def other_pythons() -> Iterator[Mapping[str, str]]:
    """Those of `PYTHONS` that are here, but the one that runs this: with Endtable and numba installed.

    By version, the program to start; empty if it is here and the packages cannot be had.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for version in PYTHONS:
            if version == f"{sys.version_info.major}.{sys.version_info.minor}":
                continue
            if environment := _environment_that_runs(f"python{version}"):
                found[version] = _installed(version, Path(folder) / version, environment)
        yield found


def _environment_that_runs(program: str) -> dict[str, str] | None:
    """The variables with which a Python starts: some managers of versions want to be told which."""
    if not shutil.which(program):
        return None
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    choices = [plain]
    if shutil.which("pyenv"):
        listed = subprocess.run(
            ["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False
        )
        choices += [plain | {"PYENV_VERSION": name} for name in listed.stdout.split()]
    for environment in choices:
        command = [program, "-c", "import venv, ensurepip"]
        if subprocess.run(command, capture_output=True, env=environment, check=False).returncode == 0:
            return environment
    return None


def _installed(version: str, folder: Path, environment: dict[str, str]) -> str:
    """A Python of this version with all that a build needs; empty if that cannot be had."""
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    for command in (
        [f"python{version}", "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "-q", "--no-compile", f"{ROOT}[fast]"],
        [python, "-c", "import numba, builder.build"],
    ):
        if subprocess.run(
            command, capture_output=True, env=environment, cwd=folder.parent, check=False
        ).returncode:
            return ""
    return python


def main() -> None:
    """Build, and print digests."""
    threads, engine, *tables = sys.argv[1:]
    os.cpu_count = lambda: int(threads)
    from builder import writer  # now: whoever asks for cores is told so many
    from builder.build import build_table
    from builder.compile import Engine
    from lookup import find_game

    # Level 3 is quicker, and the digest is of what is not compressed.
    writer.LEVELS = tuple((most, 3) for most, _ in writer.LEVELS)  # type: ignore[assignment]  # as many
    with tempfile.TemporaryDirectory() as folder:
        found = {
            name: build_table(find_game(name), Path(folder), engine=Engine(engine)).digest
            for name in tables
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
