"""`build-tables --engine dask` as users type it: a line for each mistake, and nothing of Dask's own."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from builder.cluster import engine
from tests.commands import one_line, run, run_apart
from tests.conftest import ROOT
from tests.test_public_names import loaded_after

if TYPE_CHECKING:
    from pathlib import Path

BUILD = ("build-tables", "tactics", "--rows", "2", "--cols", "3")
DASK = {"dask", "distributed", "fsspec", "tornado", "bokeh"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--scheduler", "tcp://127.0.0.1:1"),
            "--scheduler is for --engine dask, which was not asked for",
        ),
        (("--store", "x"), "--store is for --engine dask"),
        (("--workers", "2"), "--workers is for --engine dask"),
        (("--engine", "numba", "--workers", "2"), "--workers is for --engine dask"),
        (("--engine", "dask", "--workers", "0"), "workers cannot be 0: expected 1 or more"),
        (("--engine", "dask", "--workers", "two"), "'two' is not a whole number"),
        (
            ("--engine", "dask", "--store", ""),
            "store cannot be '': expected a folder, or a URL such as",
        ),
        (
            ("--engine", "dask", "--store", "nosuch://x"),
            "store cannot be 'nosuch://x/tactics-2x3.store'",
        ),
        (
            ("--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", "--workers", "2"),
            "--workers is for a cluster of this machine, not for --scheduler",
        ),
        (("--engine", "dask", "--scheduler", "nonsense://x"), "scheduler cannot be 'nonsense://x'"),
        (("--engine", "dask", "--scheduler", ""), "scheduler cannot be ''"),
    ],
)
def test_mistakes(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = run(*BUILD, "--out", tmp_path / "out", *words)
    assert (result.code, result.out) == (2, "")
    assert message in one_line(result)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.h5"))


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_TIMEOUT", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens there
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        result = run(*BUILD, "--out", tmp_path, "--engine", "dask", "--scheduler", address)
    assert (result.code, result.out) == (2, "")
    line = one_line(result)
    assert f"scheduler cannot be '{address}': expected the address of a Dask scheduler" in line


def test_somebody_else_at_that_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        result = run(*BUILD, "--out", tmp_path, "--engine", "dask", "--scheduler", address)
    assert (result.code, result.out) == (2, "")
    assert f"scheduler cannot be '{address}'" in one_line(result)


@pytest.mark.parametrize("place", ["store", "out"])
def test_a_file_in_the_place_of_a_folder(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = ["--out", str(tmp_path / "out"), "--store", str(tmp_path / "store")]
    words[words.index(f"--{place}") + 1] = str(tmp_path / "file")
    result = run(*BUILD, "--engine", "dask", *words)
    assert (result.code, result.out) == (1, "")
    line = one_line(result)
    assert re.search(rf"'{tmp_path}/file.*' cannot be written: (Not a directory|File exists)", line), (
        line
    )


def test_without_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        f"sys.argv = {['build-tables', *BUILD[1:], '--engine', 'dask', '--out', str(tmp_path)]!r}\n"
        "from builder.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "")
    problem = "error: --engine dask needs 'distributed', which is not installed"
    hint = "install the extra 'cluster', as in pip install 'endtable[cluster]'"
    assert done.stderr == f"{problem}: {hint}\n"


def test_a_local_cluster(tmp_path: Path) -> None:
    """Its progress, the link to Dask's page, JSON; and what it leaves: nothing but the table."""
    quick = tmp_path / "sitecustomize.py"  # lines come a minute apart
    quick.write_text("from lookup import progress\nprogress.LOG_EVERY = 0\n")
    words = ["--engine", "dask", "--workers", "1", "--max-memory", "800M", "--json"]
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    result = run_apart(*BUILD, *words, "--out", tmp_path / "out", PYTHONPATH=path)
    assert result.code == 0, result.error
    (table,) = json.loads(result.out)
    assert (table["table"], table["changed"]) == ("tactics-2x3", True)
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["tactics-2x3.h5"]
    cluster, needs, *progress = result.error.splitlines()
    assert needs.startswith("tactics-2x3: 64 positions, needs about")
    about = r"cluster: 1 tasks at a time, each with 3\d\d MiB of memory; dashboard: "
    assert re.fullmatch(about + r"http://127\.0\.0\.1:\d+/status", cluster)
    assert "tactics-2x3: solve: 0%, 0 of 1 shards, 0 shards/s" in progress
    assert any(
        re.fullmatch(r"tactics-2x3: solve: 100%, 1 of 1 shards, \S+ shards/s, 0:00 left", line)
        for line in progress
    ), progress
    assert all(line.startswith("tactics-2x3: ") for line in progress)


def test_too_little_memory_for_a_task(tmp_path: Path) -> None:
    words = ["--engine", "dask", "--workers", "1", "--max-memory", "340M", "--out", str(tmp_path)]
    result = run_apart("build-tables", "winners-losers", "--length", "22", *words)
    assert (result.code, result.out) == (1, "")
    assert "expected workers with more memory" in result.error.splitlines()[-1]
    assert "Traceback" not in result.error


def test_nothing_of_dask_is_loaded_without_being_asked_for(tmp_path: Path) -> None:
    assert loaded_after("import builder.cli, lookup, lookup.cli") & DASK == set()
    build = (
        f"from builder.build import build_table; build_table(Tactics(2, 2), Path({str(tmp_path)!r}))"
    )
    code = f"from pathlib import Path; from lookup.games.tactics import Tactics; {build}"
    assert loaded_after(code) & DASK == set()
