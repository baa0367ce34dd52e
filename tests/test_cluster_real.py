"""Builds on clusters of real processes, which are killed, slow, short of memory or of room."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import psutil
import pytest
from cluster_apart import ApartCluster, Hooked, Settings, gone, kill_one

import lookup
from builder import writer
from builder.build import build_table
from builder.catalogue import CATALOGUE
from builder.cluster import engine, tasks
from builder.cluster.build import ClusterBuild
from builder.cluster.engine import PROCESS_BYTES, ClusterOptions, connected
from lookup.errors import BuildError, GameError
from lookup.games import find_game
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers
from lookup.progress import Progress
from tests.commands import run_apart
from tests.conftest import ROOT, SHIPPED_LEVELS
from tests.own_games import own_game, write_game
from tests.test_grundy_solver import NIM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lookup.games.base import Game

MEMORY = 370 << 20
"""Bytes of a worker. A task may take 19 MiB of it: less than a whole tactics-3x9."""

BITS = Tactics(2, 13)
SCORES = Tactics(4, 4)
IN_ORDER = WinnersLosers(14)


@pytest.fixture(autouse=True)
def shipped_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers compress as users' do, and so must we to get the same bytes."""
    monkeypatch.setattr(writer, "LEVELS", SHIPPED_LEVELS)


class Lab(NamedTuple):
    """A cluster, and what its workers note."""

    cluster: ApartCluster
    notes: Path

    def written(self) -> Counter[str]:
        """How often each object was written."""
        return Counter(name for _, name in self._lines())

    def writers(self) -> Counter[str]:
        """How many objects each process has written."""
        return Counter(process for process, _ in self._lines())

    def _lines(self) -> list[list[str]]:
        log = self.notes / "log"
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    def pause(self, **seconds: float) -> None:
        """Let workers pause with each object: all, or by number of process."""
        named = {name.removeprefix("p").replace("all", ""): one for name, one in seconds.items()}
        (self.notes / "new").write_text(json.dumps(named))
        (self.notes / "new").rename(self.notes / "pauses")

    def forget(self) -> None:
        """Begin anew."""
        for note in self.notes.iterdir():
            note.unlink()

    def build(
        self,
        game: Game,
        folder: Path,
        hook: Callable[[str, int], None] | None = None,
        shard: int | None = None,
        store: Path | str | None = None,
    ) -> bytes:
        """Build a table, and give its bytes."""
        options = ClusterOptions(
            self.cluster.address, str(store) if store else None, command="build-tables again"
        )
        progress = Hooked(hook) if hook else Progress.silent()
        return ClusterBuild(options, progress, shard=shard).table(game, folder).path.read_bytes()

    def require_nothing_twice(self, most: int = 0) -> None:
        """No object was written twice, but for some that were in hand when their worker was killed."""
        assert sum(times > 1 for times in self.written().values()) <= most


@contextmanager
def cluster_with_notes(notes: Path, **settings: Any) -> Iterator[Lab]:
    notes.mkdir(exist_ok=True)
    how = Settings(memory=str(MEMORY), preload="tests.cluster_preload", **settings)
    with ApartCluster(how, {"ENDTABLE_NOTES": str(notes)}) as cluster:
        yield Lab(cluster, notes)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A cluster for all tests that leave it alive; what a killed worker ran is given up at once."""
    with cluster_with_notes(tmp_path_factory.mktemp("notes"), failures=0) as lab:
        yield lab


@pytest.fixture
def lab(shared: Lab) -> Lab:
    shared.forget()
    return shared


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Game], bytes]:
    """The bytes of a table that was built here."""
    folder, known = tmp_path_factory.mktemp("local"), dict[str, bytes]()

    def build(game: Game) -> bytes:
        name = game.table_name
        if name not in known:
            known[name] = build_table(game, folder).path.read_bytes()
        return known[name]

    return build


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- the same bytes -------------------------------------------------------------------------------


def test_every_default_table(lab: Lab, tmp_path: Path) -> None:
    words = ("--engine", "dask", "--scheduler", lab.cluster.address, "--out", tmp_path)
    result = run_apart("build-tables", *words)
    assert result.code == 0, result.error
    names = {f"{game.table_name}.h5" for game in CATALOGUE} | {"SHA256SUMS"}
    assert set(left_in(tmp_path)) == names, "and nothing is left of the store"
    for name in names:
        assert (tmp_path / name).read_bytes() == (ROOT / "tables" / name).read_bytes(), name
    assert len(result.error.splitlines()) == 1 + len(CATALOGUE), result.error
    assert result.error.count("; dashboard: http://127.0.0.1:") == 1


@pytest.mark.parametrize(
    ("game", "shard"),
    [(SCORES, 1 << 12), (IN_ORDER, 1 << 12), (SticksSpecial(30), 1 << 9), (find_game("kayles-60"), 16)],
    ids=str,
)
def test_shards_of_every_kind(
    game: Game, shard: int, lab: Lab, local: Callable[[Game], bytes], tmp_path: Path
) -> None:
    assert lab.build(game, tmp_path, shard=shard) == local(game)
    assert sum(name.startswith("solve/") for name in lab.written()) == -(-game.size // shard)
    lab.require_nothing_twice()


def test_workers_with_less_memory_than_the_game(
    lab: Lab, local: Callable[[Game], bytes], tmp_path: Path
) -> None:
    game = Tactics(3, 9)
    with connected(ClusterOptions(lab.cluster.address)) as cluster:
        assert cluster.memory < engine_memory(game), "it must not fit into a task"
    assert lab.build(game, tmp_path) == local(game)
    assert len(lab.written()) > 60
    peaks = [peak_of(worker) for worker in lab.cluster.workers()]
    assert peaks
    assert all(peak < 0.8 * MEMORY for peak in peaks), "from there on Dask pauses a worker"
    assert all(peak < 1.3 * PROCESS_BYTES for peak in peaks), "a task took more than it should"


def engine_memory(game: Game) -> int:
    from builder.build import solver_of
    from builder.compile import Engine

    return solver_of(game).memory_needed(game, Engine.NUMBA)


def peak_of(worker: psutil.Process) -> int:
    lines = Path(f"/proc/{worker.pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def test_a_game_from_a_file(lab: Lab, local: Callable[[Game], bytes], tmp_path: Path) -> None:
    game = own_game(tmp_path, NIM, heap=500)
    assert lab.build(game, tmp_path, shard=64) == local(game)
    assert len(lab.written()) == 8 + 8 + 1


def test_a_table_too_large_for_one_file_is_a_folder(lab: Lab, tmp_path: Path) -> None:
    game, file = SCORES, tmp_path / "tactics-4x4.h5"
    file.write_bytes(b"an older one, which would be found first")
    build = ClusterBuild(ClusterOptions(lab.cluster.address), Progress.silent(), folder_bytes=0)
    built = build.table(game, tmp_path)
    assert (built.path, built.changed) == (tmp_path / "tactics-4x4.parts", True)
    assert left_in(tmp_path) == ["tactics-4x4.parts"], "nothing is left beside it"
    with (
        lookup.open_table(ROOT / "tables/tactics-4x4.h5") as whole,
        lookup.open_table(built.path) as parts,
    ):
        assert built.digest == parts.digest == whole.digest
        indices = np.arange(game.size)
        one, other = whole.probe_many(indices), parts.probe_many(indices)
        assert one.remoteness is not None
        assert other.remoteness is not None
        assert np.array_equal(one.outcome, other.outcome)
        assert np.array_equal(one.remoteness, other.remoteness)
    again = build.table(game, tmp_path)
    assert (again.digest, again.changed) == (built.digest, False)


# --- what is killed -------------------------------------------------------------------------------


def test_workers_that_are_killed(lab: Lab, local: Callable[[Game], bytes], tmp_path: Path) -> None:
    """Dask gives up what they ran at once, and would never take another worker for it."""
    chance, moments = random.Random(7), [10, 30]
    lab.pause(all=0.03)

    def kill(kind: str, done: int) -> None:
        if kind == "solve" and moments and done >= moments[0]:
            moments.pop(0)
            until(lambda: len(lab.cluster.settled()) > 0)
            assert kill_one(chance.choice(lab.cluster.settled()))

    assert lab.build(BITS, tmp_path, kill) == local(BITS)
    assert moments == []
    lab.require_nothing_twice(2)


def build_command(lab: Lab, folder: Path, *more: str) -> list[str]:
    words = [*BITS.build_command.split(), "--engine", "dask", "--out", str(folder), *more]
    return [*words, "--scheduler", lab.cluster.address] if "--workers" not in more else words


def started(words: list[str], **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "builder.cli", *words[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        start_new_session=True,
    )


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_client_that_is_killed(lab: Lab, local: Callable[[Game], bytes], tmp_path: Path) -> None:
    lab.pause(all=0.1)
    with started(build_command(lab, tmp_path)) as client:
        until(lambda: len(lab.written()) > 10)
        client.kill()
    until(lambda: time.time() - (lab.notes / "log").stat().st_mtime > 0.5)  # workers are at rest
    kept = {path: path.stat().st_ino for path in (tmp_path / ".tactics-2x13.store/solve").iterdir()}
    assert 10 < len(kept) < 60

    def look(kind: str, done: int) -> None:
        if (kind, done) == ("pack", 0):
            assert {path: path.stat().st_ino for path in kept} == kept, "left as they were"

    lab.pause(all=0)
    assert lab.build(BITS, tmp_path, look) == local(BITS)
    lab.require_nothing_twice()
    assert left_in(tmp_path) == ["tactics-2x13.h5"]


GONE = re.compile(
    r"error: the scheduler is gone; (\d+) finished tasks are kept in '(.*)'; "
    r"go on with: (build-tables .*)"
)


def test_a_scheduler_that_is_killed(local: Callable[[Game], bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with cluster_with_notes(tmp_path / "notes", workers=1) as lab:
        port = lab.cluster.port
        lab.pause(all=0.1)
        with started(build_command(lab, out)) as client:
            until(lambda: len(lab.written()) > 10)
            lab.cluster.kill()
            said, error = client.communicate()
    assert (client.returncode, said) == (1, "")
    last = error.splitlines()[-1]
    match = GONE.fullmatch(last)
    assert match is not None, error
    assert "Traceback" not in error
    assert len(error.splitlines()) == 3
    count, store, command = match.groups()
    assert store == str(out / ".tactics-2x13.store")
    assert 8 <= int(count) <= len(lab.written()) + 2
    with cluster_with_notes(tmp_path / "notes", workers=1, port=port) as lab:
        lab.pause(all=0)
        result = run_apart(*shlex.split(command))
    assert result.code == 0, result.error
    assert (out / "tactics-2x13.h5").read_bytes() == local(BITS)
    lab.require_nothing_twice()


def test_ctrl_c(tmp_path: Path) -> None:
    """It reaches all processes of a terminal."""
    lab = Lab(ApartCluster(), tmp_path / "notes")
    lab.notes.mkdir()
    lab.pause(all=0.2)
    words = build_command(lab, tmp_path / "out", "--workers", "1", "--max-memory", "500M")
    noting = {"ENDTABLE_NOTES": str(lab.notes)}
    preload = {"DASK_DISTRIBUTED__WORKER__PRELOAD": '["tests.cluster_preload"]'}
    with started(words, **noting, **preload) as client:
        until(lambda: len(lab.written()) > 3)
        processes = psutil.Process(client.pid).children(recursive=True)
        os.killpg(client.pid, signal.SIGINT)
        said, error = client.communicate()
    assert (client.returncode, said) == (130, "")
    assert error.splitlines()[2:] == ["error: interrupted"]
    assert processes
    assert all(gone(process) for process in processes)
    assert len(list((tmp_path / "out/.tactics-2x13.store/solve").iterdir())) > 3


# --- a store that is full, damaged or elsewhere ---------------------------------------------------


def test_a_full_store(lab: Lab, local: Callable[[Game], bytes], tmp_path: Path) -> None:
    """As far as a limit of the size of files is one: what is written fails in the same way."""

    def limit(bytes_: int) -> None:
        for worker in lab.cluster.workers():
            worker.rlimit(psutil.RLIMIT_FSIZE, (bytes_, resource.RLIM_INFINITY))

    def fill(kind: str, done: int) -> None:
        if (kind, done) == ("solve", 10):
            limit(100)

    with pytest.raises(BuildError) as caught:
        lab.build(BITS, tmp_path, fill)
    limit(resource.RLIM_INFINITY)
    problem = r"shard 'solve/\d+-\d+' failed: .*File too large"  # the object, or code for later runs
    kept = r"\d+ finished tasks are kept in '.*'; go on with: build-tables again"
    assert re.fullmatch(f"{problem}; {kept}", str(caught.value))
    assert lab.build(BITS, tmp_path) == local(BITS)
    lab.require_nothing_twice()


class Vandal:
    """Damages or removes objects at a moment of a build."""

    def __init__(self, store: Path, moment: tuple[str, int], under: str) -> None:
        self._store, self._moment, self._under = store, moment, under
        self._chance = random.Random(str(moment))
        self.spoiled: set[str] = set()

    def __call__(self, kind: str, done: int) -> None:
        if (kind, done) == self._moment and not self.spoiled:
            self.spoil()

    def spoil(self) -> None:
        """Damage some objects, each in another way."""
        objects = sorted((self._store / self._under).glob("[!.]*"))
        for number, path in enumerate(self._chance.sample(objects, min(4, len(objects)))):
            whole = path.read_bytes()
            at = self._chance.randrange(len(whole))
            flipped = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
            spoiled = (None, whole[: len(whole) // 2], flipped, b"")[number]
            path.unlink()
            if spoiled is not None:
                path.write_bytes(spoiled)
            self.spoiled.add(f"{self._under}/{path.name}")


@pytest.mark.parametrize(
    ("game", "shard", "moment", "under"),
    [
        (SCORES, 1 << 11, ("solve", 12), "solve"),  # others need them
        (SCORES, 1 << 11, ("pack", 0), "solve"),  # of a stage before
        (SCORES, 1 << 11, ("write", 0), "pack"),  # read here
        (IN_ORDER, 1 << 12, ("solve", 0), "survey"),
        (BITS, None, ("solve", 30), "solve"),
    ],
)
def test_objects_that_are_damaged_meanwhile(
    game: Game,
    shard: int | None,
    moment: tuple[str, int],
    under: str,
    lab: Lab,
    local: Callable[[Game], bytes],
    tmp_path: Path,
) -> None:
    vandal = Vandal(tmp_path / f".{game.table_name}.store", moment, under)
    assert lab.build(game, tmp_path, vandal, shard) == local(game)
    assert vandal.spoiled
    twice = {name for name, times in lab.written().items() if times > 1}
    assert twice <= vandal.spoiled, "whatever is sound is not made again"
    assert twice or game is BITS, "nobody may have needed them"


def test_objects_that_are_damaged_between_two_runs(
    lab: Lab, local: Callable[[Game], bytes], tmp_path: Path
) -> None:
    store = tmp_path / "stores" / f"{IN_ORDER.table_name}.store"

    def stop(kind: str, _done: int) -> None:
        if kind == "pack":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.build(IN_ORDER, tmp_path / "out", stop, 1 << 12, tmp_path / "stores")
    vandals = [Vandal(store, ("", 0), under) for under in ("survey", "solve")]
    for vandal in vandals:
        vandal.spoil()
    built = lab.build(IN_ORDER, tmp_path / "out", None, 1 << 12, tmp_path / "stores")
    assert built == local(IN_ORDER)
    twice = {name for name, times in lab.written().items() if times > 1}
    assert twice == vandals[0].spoiled | vandals[1].spoiled
    assert (left_in(tmp_path / "stores"), left_in(tmp_path / "out")) == (
        [],
        [f"{IN_ORDER.table_name}.h5"],
    )


def test_a_store_that_workers_do_not_see(lab: Lab, tmp_path: Path) -> None:
    words = (
        r"worker tcp://.* cannot be used: it does not see the store: 'layout/shard' in 'memory://.*' is"
    )
    with pytest.raises(BuildError, match=rf"{words} missing; expected a folder that all workers share"):
        lab.build(SCORES, tmp_path, store="memory://nowhere")
    assert left_in(tmp_path) == []


def test_a_store_that_is_in_use(lab: Lab, tmp_path: Path) -> None:
    refusals: list[str] = []

    def again(kind: str, done: int) -> None:
        if (kind, done) == ("solve", 0) and not refusals:
            with pytest.raises(BuildError) as caught:
                lab.build(SCORES, tmp_path)
            refusals.append(str(caught.value))

    lab.build(SCORES, tmp_path, again)
    assert refusals == [
        f"the store '{tmp_path}/.tactics-4x4.store' is in use: expected no other build of that table"
    ]


# --- workers of all kinds -------------------------------------------------------------------------


def test_a_slow_worker(lab: Lab, local: Callable[[Game], bytes], tmp_path: Path) -> None:
    until(lambda: len(lab.cluster.workers()) == 2)
    slow, fast = (str(worker.pid) for worker in lab.cluster.workers())
    lab.pause(**{f"p{slow}": 0.3, "all": 0.01})
    assert lab.build(SCORES, tmp_path, shard=1 << 11) == local(SCORES)
    assert lab.writers()[fast] > lab.writers()[slow], "the other one does most of it"


def test_workers_with_other_code(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (engine, tasks):
        monkeypatch.setattr(module, "code_here", lambda: "endtable 99")
    words = (
        r"worker tcp://.* cannot be used: it has endtable \S+ \(.*\) with zstd .*; expected endtable 99"
    )
    with pytest.raises(BuildError, match=words):
        lab.build(SCORES, tmp_path)


def test_a_rule_that_fails_on_a_worker(lab: Lab, tmp_path: Path) -> None:
    source = NIM.replace("count = 0", "count = 1 // (index != 777) - 1")
    path = write_game(tmp_path, source)
    words = ["game", str(path), "--set", "heap=1000", "--engine", "dask"]
    result = run_apart("build-tables", *words, "--scheduler", lab.cluster.address, "--out", tmp_path)
    assert (result.code, result.out) == (1, "")
    lines = result.error.splitlines()
    assert "ZeroDivisionError" in lines[-1]
    assert "(in shard 'solve/whole')" in lines[-1]
    assert "Traceback" not in result.error


def test_a_rule_that_breaks_the_contract(lab: Lab, tmp_path: Path) -> None:
    """In a place that nobody looks at before."""
    odd = NIM.replace("index - taken", "index - taken if index != 777 else index + 1")
    game = own_game(tmp_path, odd, heap=1000)
    with pytest.raises(
        GameError, match=r"can come again, '777' -> '778' -> .*\(in shard 'solve/768-832'\)"
    ):
        lab.build(game, tmp_path, shard=64)
