"""Building: atomic, repeatable, and refused before it starts if it cannot end well."""

from __future__ import annotations

import errno
import os
import tracemalloc
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lookup
from builder import build, limits, room, verify, writer
from builder.build import build_table
from builder.compile import Engine
from builder.executor import execute
from builder.writer import write_table
from lookup import atomic, locks
from lookup.errors import BuildError, GameError, InvalidParameterError, VerificationError
from lookup.format import TableInfo, chunk_bytes
from lookup.games.clock import Clock
from lookup.games.loading import load_game
from lookup.games.rota import Rota
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers
from lookup.progress import Progress, silent
from lookup.reader import TableFile
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builder.solvers.plan import Plan
    from builder.solvers.solution import Solution


def test_a_build_makes_one_file_and_nothing_else(tmp_path: Path) -> None:
    built = build_table(Tactics(3, 3), tmp_path / "new" / "folder")
    assert built.changed
    assert [file.name for file in built.path.parent.iterdir()] == ["tactics-3x3.h5"]
    with lookup.open_table(built.path) as table:
        assert table.info == built.info
        assert table.digest == built.digest


def test_a_rebuild_leaves_the_same_table_untouched(tmp_path: Path) -> None:
    first = build_table(Tactics(3, 3), tmp_path)
    os.utime(first.path, (1, 1))
    second = build_table(Tactics(3, 3), tmp_path)
    assert not second.changed
    assert second.digest == first.digest
    assert first.path.stat().st_mtime == 1


def test_a_rebuild_by_another_version_leaves_the_same_values_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build_table(Tactics(3, 3), tmp_path)
    monkeypatch.setattr(build, "__version__", "99.0")
    second = build_table(Tactics(3, 3), tmp_path)
    assert (second.changed, second.digest) == (False, first.digest)


@pytest.mark.parametrize(
    "damage", [lambda b: b"junk", lambda b: b[:-1], lambda b: b[:-200] + b"\xff" + b[-199:]]
)
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: Any) -> None:
    path = build_table(Tactics(3, 3), tmp_path).path
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    build_table(Tactics(3, 3), tmp_path)
    with lookup.open_table(path) as table:
        assert table.probe_index(0).outcome is lookup.Outcome.WIN


def test_a_wrong_solution_never_gets_into_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = build_table(Tactics(3, 3), tmp_path).path.read_bytes()
    right = build.SOLVERS["mask"]

    def wrong(game: Any, engine: Engine) -> Plan:
        return right.plan(Tactics(game.rows, game.cols, normal=True), engine)

    monkeypatch.setitem(build.SOLVERS, "mask", right._replace(plan=wrong))
    with pytest.raises(VerificationError):
        build_table(Tactics(3, 3), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["tactics-3x3.h5"]
    assert (tmp_path / "tactics-3x3.h5").read_bytes() == old


def test_what_does_not_fit_in_memory_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "available_memory", lambda most: 1 << 20)
    with pytest.raises(
        BuildError, match=r"tactics-5x6 needs about .* of memory, and 1.0 MiB available"
    ):
        build_table(Tactics(5, 6), tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_available_memory_is_known_here() -> None:
    available = limits.available_memory()
    assert available is not None
    assert 1 << 20 < available < 1 << 50


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096), ("0", 0), ("7B", 7), ("8G", 8 << 30), ("500M", 500 << 20), ("1.5GiB", 3 << 29),
        ("1k", 1024), (" 2 tb ", 2 << 40), ("0.5KB", 512),
    ],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert limits.bytes_from_text(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "1e9", "8 X", "1.G", "1,5G", "8GG", "8iB", "nan", "٣"])
def test_other_sizes_are_refused_and_quoted(text: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        limits.bytes_from_text(text)
    expected = "bytes, as in 8G, 500M, 1.5GiB or 4096"
    assert str(caught.value) == f"memory cannot be {text!r}: expected {expected}"


def test_work_leaves_some_memory_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "available_memory", lambda: 8000)
    assert limits.usable_memory() == 7000
    monkeypatch.setattr(limits, "available_memory", lambda: None)
    assert limits.usable_memory() == limits.BEYOND


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BuildError, match="cannot be written"):
        build_table(Tactics(2, 2), tmp_path / "file" / "tables")
    assert (tmp_path / "file").read_text() == "in the way"


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_kept(tmp_path: Path) -> None:
    """By locks: numbers of processes come again, most of all in containers, where many are number 1."""
    fcntl = pytest.importorskip("fcntl", reason="Windows has other locks, which are not used")
    for number in (1, os.getpid()):
        (tmp_path / f".tactics-2x2.h5.{number}.0123abcd.tmp").write_text("left by a killed build")
    (tmp_path / ".tactics-2x2.h5.1.0123abce.tmp").mkdir()
    mine = tmp_path / ".tactics-2x2.h5.notes.tmp"
    mine.write_text("no name of ours")
    alive = tmp_path / ".tactics-2x2.h5.999999999.0123abcd.tmp"  # of another machine
    with alive.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        build_table(Tactics(2, 2), tmp_path)
        names = {path.name for path in tmp_path.iterdir() if path.is_file()}
        assert names == {"tactics-2x2.h5", alive.name, mine.name}
    with atomic.temporary_beside(tmp_path / "tactics-2x2.h5"):
        assert not alive.exists()


def test_without_locks_what_is_old_is_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "try_lock", lambda handle, **named: None)
    monkeypatch.setattr(atomic, "is_at", lambda *_: False)  # as where inodes have no lasting numbers
    old, new = (tmp_path / f".x.1.0123abc{at}.tmp" for at in "de")
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    with atomic.temporary_beside(tmp_path / "x") as temporary:
        assert {path.name for path in tmp_path.iterdir()} == {new.name, temporary.name}


def test_a_temporary_file_that_is_swept_before_it_is_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = locks.try_lock, list[Path]()

    def meanwhile(handle: int, *, shared: bool = False) -> bool | None:
        if shared and len(swept) < 2:
            (found,) = tmp_path.glob(".x.*.tmp")
            found.unlink()
            swept.append(found)
            return False if len(swept) == 1 else lock(handle, shared=shared)
        return lock(handle, shared=shared)

    monkeypatch.setattr(atomic, "try_lock", meanwhile)
    with atomic.temporary_beside(tmp_path / "x") as temporary:
        assert len({*swept, temporary}) == 3
        temporary.write_text("x")
        atomic.put_in_place(temporary, tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_folder_that_was_taken_away_is_brought_back(tmp_path: Path) -> None:
    """Where two folders cannot be exchanged, a process may be killed between two renames."""
    (tmp_path / ".x.1.0123abcd.tmp").touch()
    for kind in ("old", "new"):
        (tmp_path / f".x.1.0123abcd.{kind}").mkdir()
        (tmp_path / f".x.1.0123abcd.{kind}" / kind).touch()
    with atomic.temporary_folder_beside(tmp_path / "x"):
        assert [path.name for path in (tmp_path / "x").iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_two_that_fill_the_same_new_folder_both_succeed(tmp_path: Path) -> None:
    with (
        atomic.temporary_folder_beside(tmp_path / "x") as one,
        atomic.temporary_folder_beside(tmp_path / "x") as other,
    ):
        for folder in (one, other):
            (folder / "file").write_text(folder.name)
            atomic.put_folder_in_place(folder, tmp_path / "x")
            assert (tmp_path / "x" / "file").read_text() == folder.name
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("kib", [1, 34])
def test_when_the_disk_refuses_the_reason_is_one_sentence(tmp_path: Path, kib: int) -> None:
    """Before HDF5 is begun, and before a chunk is written: it is not left to HDF5, which may crash."""
    resource = pytest.importorskip("resource", reason="Windows has no limit on the size of files")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, limits[1]))
    try:
        with pytest.raises(BuildError) as caught:
            build_table(Tactics(4, 4), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    path = tmp_path / "tactics-4x4.h5"
    assert str(caught.value) == f"'{path}' cannot be written: File too large"
    assert list(tmp_path.iterdir()) == []


def test_of_what_hdf5_says_the_reason_is_told() -> None:
    """Where room cannot be reserved; what fails when a file is closed is no OSError."""
    said = "Can't flush (file write failed: file descriptor = 5, errno = 28, error message = '...')"
    for kind in (OSError, RuntimeError):
        with pytest.raises(OSError, match=r"No space left on device") as caught, writer._reasons():
            raise kind(said)
        assert caught.value.errno == errno.ENOSPC
    with pytest.raises(RuntimeError, match="another"), writer._reasons():
        raise RuntimeError("another")


@pytest.mark.parametrize("game", [Tactics(2, 2), Rota(), Tactics(4, 4)], ids=str)
def test_room_is_reserved_for_all_that_hdf5_writes(
    game: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many chunks there are; and what was too much is given back."""
    give_back, reserved = room.Room.give_back, list[int]()

    def done(self: room.Room) -> None:
        reserved.append(self._needed)
        give_back(self)

    monkeypatch.setattr(
        writer, "chunk_bytes", lambda column, total: min(chunk_bytes(column, total), 64)
    )
    monkeypatch.setattr(room.Room, "give_back", done)
    solution = execute(build.solver_of(game).plan(game, Engine.PYTHON))
    info = TableInfo.describe(game, "endtable", solution.totals)
    write_table(tmp_path / "reserved.h5", info, solution.columns)
    monkeypatch.setattr(room, "_fallocate", None)
    write_table(tmp_path / "plain.h5", info, solution.columns)
    plain = (tmp_path / "plain.h5").read_bytes()
    assert len(plain) <= reserved[0]
    assert (tmp_path / "reserved.h5").read_bytes() == plain


def test_a_file_system_that_cannot_reserve_room_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))  # as ZFS says

    monkeypatch.setattr(room, "_fallocate", cannot)
    assert build_table(Tactics(2, 2), tmp_path).changed


def test_a_folder_in_the_place_of_a_table_is_found_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "tactics-2x2.h5").mkdir()
    with pytest.raises(BuildError, match=r"tactics-2x2.h5' cannot be written: it is a folder"):
        build_table(Tactics(2, 2), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tactics-2x2.h5"]


def test_large_tables_are_verified_by_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(verify.WHOLE, Engine.NUMBA, 100_000)
    monkeypatch.setitem(verify.SAMPLED, Engine.NUMBA, 100 * 1024)
    seen: list[verify.Verified] = []
    real = verify.verify_file

    def spy(*given: Any, **named: Any) -> verify.Verified:
        seen.append(real(*given, **named))
        return seen[-1]

    monkeypatch.setattr(verify, "verify_file", spy)
    build_table(Tactics(3, 6), tmp_path)
    build_table(Tactics(3, 5), tmp_path, engine=Engine.NUMBA)
    assert [table.checked for table in seen] == [100 * 1024, 1 << 15]


def test_a_sample_does_not_spare_the_totals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(verify.WHOLE, Engine.PYTHON, 100)
    monkeypatch.setitem(verify.SAMPLED, Engine.PYTHON, 100)

    def miscounted(*arguments: Any) -> Solution:
        solution = execute(*arguments)
        losses, draws, wins = solution.totals.counts
        totals = solution.totals._replace(counts=(losses + 1, draws, wins - 1))
        return replace(solution, totals=totals)

    monkeypatch.setattr(build, "execute", miscounted)
    with pytest.raises(VerificationError, match="says of it that losses is"):
        build_table(Tactics(3, 4), tmp_path, engine=Engine.PYTHON)


def test_a_file_is_flushed_and_then_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is renamed must be on the disk already, and be renamed, not copied."""
    events: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        events.append(f"flush {Path(f'/proc/self/fd/{handle}').readlink().suffix or 'folder'}")
        real_sync(handle)

    def replace(self: Path, target: Path) -> Path:
        events.append(f"rename {self.suffix} to {target.suffix}")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    build_table(Tactics(2, 2), tmp_path)
    assert events == ["flush .tmp", "rename .tmp to .h5", "flush folder"]


def test_damage_inside_a_chunk_is_replaced_too(tmp_path: Path) -> None:
    path = build_table(Tactics(3, 3), tmp_path).path
    whole = path.read_bytes()
    file = TableFile(path)
    file.close()
    at = file.columns["outcome"].offsets[0] + 5
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert build_table(Tactics(3, 3), tmp_path).changed
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unexpected(*arguments: Any) -> Plan:
        pytest.fail("solved although the result could not be written")

    monkeypatch.setitem(build.SOLVERS, "mask", build.SOLVERS["mask"]._replace(plan=unexpected))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BuildError, match="cannot be written"):
        build_table(Tactics(2, 2), tmp_path / "file")


@pytest.mark.parametrize("game", [Tactics(4, 5), Tactics(3, 5, normal=True), Rota()], ids=str)
def test_every_stage_reports_to_its_end(game: Any, tmp_path: Path) -> None:
    last: dict[str, tuple[int, int]] = {}

    class Spy(Progress):
        @contextmanager
        def stage(self, name: str, unit: str = "") -> Iterator[Any]:
            def report(done: int, total: int) -> None:
                assert last.get(name, (0, total))[0] <= done <= total
                last[name] = (done, total)

            yield report

    for engine in Engine if game.size < 500_000 else (Engine.NUMBA,):
        last.clear()
        build_table(game, tmp_path, engine=engine, progress=Spy())
        assert [name.split(": ")[1] for name in last] == ["solve", "write", "verify"]
        assert all(done == total for done, total in last.values())


MEASURED = [
    Tactics(3, 6), Tactics(2, 10, normal=True), Rota(), SticksAny(2, 5), SticksRun(1, 3, 300),
    Clock(8, 3), SticksSpecial(24), WinnersLosers(15),
]  # fmt: skip


@pytest.mark.parametrize("game", MEASURED, ids=str)
def test_memory_stays_below_the_estimate(game: Any, tmp_path: Path) -> None:
    """Measured in Python and numpy alone; what numba takes is a constant, see scripts/bench."""
    build_table(Tactics(2, 2), tmp_path)
    tracemalloc.start()
    solution = solve(build.SOLVERS[game.solver].plan, game, Engine.PYTHON, silent)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.columns
    assert peak < build.memory_needed(game, Engine.PYTHON) + (1 << 20)
    assert build.memory_needed(game, Engine.PYTHON) < 65 * game.size + (4 << 20)
    assert build.memory_needed(game, Engine.NUMBA) > build.memory_needed(game, Engine.PYTHON)


def test_a_container_may_leave_less(tmp_path: Path) -> None:
    assert limits._left_in_group(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert limits._left_in_group(tmp_path) is None
    (tmp_path / "memory.max").write_text("5000\n")
    assert limits._left_in_group(tmp_path) == 4000


def test_two_builds_at_once_do_not_share_a_temporary_file(tmp_path: Path) -> None:
    with (
        atomic.temporary_beside(tmp_path / "x") as one,
        atomic.temporary_beside(tmp_path / "x") as other,
    ):
        assert one != other
        one.write_text("one")
        atomic.put_in_place(one, tmp_path / "x")
        assert other.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_a_vanished_temporary_file_is_an_error(tmp_path: Path) -> None:
    with atomic.temporary_beside(tmp_path / "x") as temporary:
        temporary.unlink()
        with pytest.raises(FileNotFoundError):
            atomic.put_in_place(temporary, tmp_path / "x")


class WritesTooMuch(Tactics):
    @property
    def max_moves(self) -> int:
        return 3


class Stumbles(Tactics):
    def format(self, index: int) -> str:
        raise KeyError(index)


@pytest.mark.parametrize(
    ("game", "words"),
    [
        (WritesTooMuch(3, 6), "lists 81: expected at most max_moves = 3"),
        (Stumbles(3, 3), "line [0-9]+: format fails: KeyError: [0-9]+"),
    ],
    ids=["WritesTooMuch", "Stumbles"],
)
def test_a_broken_game_is_explained_before_it_is_compiled(
    game: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(GameError, match=words):
        build_table(game, tmp_path / "tables", engine=Engine.NUMBA)
    assert not (tmp_path / "tables").exists()


def test_a_rule_that_lacks_a_file_is_not_taken_for_a_table_that_cannot_be_written(
    tmp_path: Path,
) -> None:
    rules = tmp_path / "bookish.py"
    rules.write_text(
        "from lookup import Game\n"
        "class Bookish(Game):\n"
        "    name, solver, size, start, max_moves = 'bookish', 'ordered', 60000, 59999, 1\n"
        "    def successors(self, index, out):\n"
        "        if index == 43777:\n"
        "            raise FileNotFoundError(2, 'No such file', 'book.txt')\n"
        "        out[0] = index // 2\n"
        "        return min(index, 1)\n"
    )
    with pytest.raises(GameError, match=r"^bookish.py, line 6: successors fails: FileNotFoundError"):
        build_table(load_game(rules)(), tmp_path / "tables", engine=Engine.PYTHON)
    assert list((tmp_path / "tables").iterdir()) == []


def test_a_failed_verification_names_the_table_and_not_the_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = build.SOLVERS["mask"]

    def wrong(game: Any, engine: Engine) -> Plan:
        return right.plan(Tactics(game.rows, game.cols, normal=True), engine)

    monkeypatch.setitem(build.SOLVERS, "mask", right._replace(plan=wrong))
    with pytest.raises(VerificationError, match=r"^the new tactics-3x3 says that index"):
        build_table(Tactics(3, 3), tmp_path)
