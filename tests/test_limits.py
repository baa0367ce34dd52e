"""What a build needs is known before it starts, and it never takes more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from builder import build, limits
from builder.build import build_table, estimate
from builder.limits import Needs, bytes_from_text
from lookup.disk import sized
from lookup.errors import BuildError, InvalidParameterError
from lookup.games.tactics import Tactics
from tests.commands import one_line, run
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096), ("1k", 1024), ("500M", 500 << 20), ("8G", 8 << 30), ("1.5GiB", 3 << 29),
        ("2 gb", 2 << 30), ("0", 0), ("1T", 1 << 40),
    ],
)  # fmt: skip
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert bytes_from_text(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "8X", "1e9", "8 G B", "1,5G", "nan"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"expected bytes, as in 8G, 500M, 1.5GiB or 4096"):
        bytes_from_text(text)


def test_sizes_are_shown_in_a_few_figures() -> None:
    shown = [sized(count) for count in (0, 1023, 1024, 5 << 20, 300 << 20, 12 << 30, 1 << 50)]
    expected = ["0 bytes", "1023 bytes", "1.0 KiB", "5.0 MiB", "300 MiB", "12 GiB", "1,048,576 GiB"]
    assert shown == expected


def test_what_is_needed_and_what_there_is(tmp_path: Path) -> None:
    needs = estimate(Tactics(6, 6), tmp_path / "not" / "there")
    assert needs.positions == 1 << 36
    assert 8 << 30 < needs.memory < 12 << 30
    assert 2 << 30 < needs.disk < 8 << 30
    assert needs.disk_available
    assert needs.memory_available
    assert "68,719,476,736 positions, needs about 8." in str(needs)


def test_too_little_of_either_is_refused() -> None:
    Needs("t", 1, 100, 100, 100, None).require()
    Needs("t", 1, 100, None, 100, 100).require()
    with pytest.raises(
        BuildError, match=r"^t needs about 101 bytes of memory, and 100 bytes available"
    ):
        Needs("t", 1, 101, 100, 1, 100).require()
    with pytest.raises(BuildError, match=r"^t needs about 101 bytes of disk, and 100 bytes available"):
        Needs("t", 1, 100, 100, 101, 100).require()
    Needs("t", 1, 101, 100, 101, 100).require(force=True)
    with pytest.raises(BuildError, match="larger than any machine"):
        Needs("t", 1, 1 << 70, 100, 1, 100).require(force=True)


def test_a_bound_of_the_users_own(tmp_path: Path) -> None:
    words = ("build-tables", "tactics", "--rows", "3", "--cols", "4", "--out", tmp_path)
    result = run(*words, "--max-memory", "100K")
    assert result.code == 1
    assert "KiB of memory, and 100 KiB available: it was not started" in one_line(result)
    assert list(tmp_path.iterdir()) == []
    assert run(*words, "--max-memory", "100K", "--force").code == 0
    result = run(*words, "--max-memory", "much")
    assert result.code == 2
    assert "memory cannot be 'much': expected bytes, as in 8G" in one_line(result)


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "available_disk", lambda folder: 1000)
    with pytest.raises(BuildError, match=r"needs about .* of disk, and 1000 bytes available"):
        build_table(Tactics(3, 3), tmp_path / "never")
    assert not (tmp_path / "never").exists()
    build_table(Tactics(3, 3), tmp_path, force=True)


def test_a_group_may_leave_less(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("0::/outer/inner\n")
    assert limits._left_in_group(tmp_path, mine) is None
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("1000\n")
    assert limits._left_in_group(tmp_path, mine) is None
    (inner.parent / "memory.max").write_text("9000\n")
    (inner.parent / "memory.current").write_text("2000\n")
    assert limits._left_in_group(tmp_path, mine) == 7000
    (inner / "memory.max").write_text("5000\n")
    assert limits._left_in_group(tmp_path, mine) == 4000
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("3500\n")
    assert limits._left_in_group(tmp_path, mine) == 0


def test_a_group_of_the_first_version(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("5:cpu:/elsewhere\n4:memory:/box\n")
    box = tmp_path / "memory" / "box"
    box.mkdir(parents=True)
    (box / "memory.limit_in_bytes").write_text("5000\n")
    (box / "memory.usage_in_bytes").write_text("1000\n")
    assert limits._left_in_group(tmp_path, mine) == 4000


LIMITED = """
import resource, sys, threading
from pathlib import Path
from builder import build
from builder.compile import Engine, rule
from builder.fallback import rules_of
from lookup.games import find_game
game, first = find_game(sys.argv[1]), find_game(sys.argv[2])
engine, folder = Engine(sys.argv[3]), Path(sys.argv[4])
# What the interpreter, numba and the packages take is there before: the rest is the build's.
build.build_table(first, folder / "first", engine=engine)
for function in rules_of(game).values():
    rule(function, engine)
pages = int(Path("/proc/self/statm").read_text().split()[0])
needed = build.memory_needed(game, engine) - (build._COMPILER_BYTES if engine == "numba" else 0)
# A thread would reserve 8 MiB for its stack, of which hardly anything is used.
threading.stack_size(1 << 18)
limit = pages * resource.getpagesize() + int(float(sys.argv[5]) * needed) + (8 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
build.build_table(game, folder, engine=engine, force=True)
"""


def build_limited(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Build where the kernel refuses the process any byte more, used or only reserved."""
    command = [sys.executable, "-c", LIMITED, *arguments]
    # One arena for all threads: each would reserve 64 MiB, of which hardly anything is used.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")
@pytest.mark.parametrize(
    ("name", "first", "engine"),
    [
        ("tactics-5x6-run2", "tactics-2x13-run2", "numba"),
        ("tactics-3x5", "tactics-3x3", "python"),
        ("clock-7-7", "clock-4-2", "numba"),
        ("winners-losers-22", "winners-losers-9", "numba"),
        ("sticks-special-54", "sticks-special-20", "numba"),
    ],
)
def test_an_accepted_build_fits_into_what_it_was_said_to_need(
    name: str, first: str, engine: str, tmp_path: Path
) -> None:
    done = build_limited(name, first, engine, str(tmp_path), "1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{name}.h5").is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")
@pytest.mark.parametrize(
    ("name", "first", "share"),
    [
        ("tactics-5x6-run2", "tactics-2x13-run2", "0.5"),
        ("clock-6-9", "clock-4-2", "0.2"),
        ("winners-losers-22", "winners-losers-9", "0.4"),
    ],
)
def test_less_would_not_have_been_enough(name: str, first: str, share: str, tmp_path: Path) -> None:
    """So that the test above can fail."""
    done = build_limited(name, first, "numba", str(tmp_path), share)
    assert done.returncode != 0
    assert re.search("MemoryError|not enough memory", done.stderr)
    assert not (tmp_path / f"{name}.h5").exists()


def test_a_limit_of_the_address_space_is_seen() -> None:
    code = (
        "import resource; from builder.limits import available_memory;"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); print(available_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert 0 < int(done.stdout) < 1 << 30
