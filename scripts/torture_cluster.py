"""Campaign `cluster`: builds on a Dask cluster whose workers, client, scheduler and store are spoiled.

    workers     killed at random, while the build goes on
    stopped     the build is stopped at a random step, and the store is damaged before it goes on
    client      its process is killed at a random moment, and started again
    scheduler   killed with all workers at a random moment; another takes its place

However it went, the table must be the same as one that was built here, byte for byte, and nothing else
may be left in the folder. A command that fails says so in one sentence.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cluster_apart import ROOT, ApartCluster, Hooked, Settings, kill_one
from torture_builds_lab import MEMORY

from builder.build import build_table
from builder.cluster.build import ClusterBuild
from builder.cluster.engine import ClusterOptions
from lookup.errors import EndtableError
from lookup.games import find_game
from lookup.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from torture_tally import Tally

    from lookup.games.base import Game

SHARDS = {
    "tactics-4x4": 1 << 11,
    "tactics-3x5-normal": 1 << 10,
    "tactics-2x13": 1 << 20,
    "sticks-special-30": 1 << 9,
    "winners-losers-14": 1 << 11,
    "kayles-60": 8,
}
"""Tables, and how they are cut where the command does not decide it."""

BY_COMMAND = ("tactics-2x13", "winners-losers-18", "tactics-4x4")
WORKERS, STOPPED, CLIENT, SCHEDULER = 15, 80, 6, 4
_SETTINGS = Settings(workers=2, memory=str(700 << 20))
_PATIENCE = 180  # seconds, after which a build hangs


class SpoiledError(Exception):
    """A case ended as none may."""


class _Lab:
    """A cluster, which is started anew when it was killed, and tables to compare with."""

    def __init__(self, tally: Tally, folder: Path) -> None:
        self.tally, self.chance = tally, random.Random(tally.seed)
        self._folder, self._number = folder, 0
        self._right: dict[str, bytes] = {}
        self.cluster = ApartCluster(_SETTINGS).__enter__()

    def close(self) -> None:
        """End the cluster."""
        self.cluster.__exit__()

    def restart(self) -> None:
        """Another cluster, at the same address."""
        port = self.cluster.port
        self.cluster.kill()
        self.close()
        self.cluster = ApartCluster(_SETTINGS._replace(port=port)).__enter__()

    def settle(self) -> None:
        """Have two workers that may be killed."""
        end = time.monotonic() + 30
        while len(self.cluster.settled()) < 2:
            if time.monotonic() > end:
                self.restart()
                end += 60
            time.sleep(0.1)

    def right(self, game: Game) -> bytes:
        """The table as it is built here."""
        name = game.table_name
        if name not in self._right:
            self._right[name] = build_table(game, self._folder / "right").path.read_bytes()
        return self._right[name]

    def trial(self, kind: str, name: str, work: Callable[[Game, Path], str]) -> None:
        """Do `work`, which says how it ended, in a fresh folder, and compare what is there then."""
        self._number += 1
        case = f"case {self._number}, {name}"
        folder, game = self._folder / str(self._number), find_game(name)
        try:
            ending = work(game, folder)
            self._require_right(game, folder)
            self.tally.add(kind, ending)
        except SpoiledError as error:
            self.tally.fail(kind, str(error).partition(":")[0], f"{case}: {error}")
        except (EndtableError, OSError) as error:
            self.tally.fail(kind, type(error).__name__, f"{case}: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _require_right(self, game: Game, folder: Path) -> None:
        name = f"{game.table_name}.h5"
        if (folder / name).read_bytes() != self.right(game):
            raise SpoiledError("another table")
        if left := [path.name for path in folder.iterdir() if path.name != name]:
            raise SpoiledError(f"left something: {left[0]}")

    def build(self, game: Game, folder: Path, hook: Callable[[str, int], None] | None = None) -> None:
        """Build a table, with a client in this process."""
        progress = Hooked(hook) if hook else Progress.silent()
        options = ClusterOptions(self.cluster.address, command="again")
        ClusterBuild(options, progress, shard=SHARDS[game.table_name]).table(game, folder)

    def command(self, game: Game, folder: Path) -> subprocess.Popen[str]:
        """Build a table, with a client in a process of its own."""
        words = [*game.build_command.split()[1:], "--engine", "dask", "--out", str(folder)]
        return subprocess.Popen(
            [sys.executable, "-m", "builder.cli", *words, "--scheduler", self.cluster.address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def ended(self, client: subprocess.Popen[str]) -> int:
        """The exit code of a command, which says at most one sentence when it fails."""
        try:
            _, error = client.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            client.kill()
            client.communicate()
            raise SpoiledError("hangs") from None
        sentences = [line for line in error.splitlines() if line.startswith("error: ")]
        if "Traceback" in error or len(sentences) != (1 if client.returncode > 0 else 0):
            raise SpoiledError(f"no plain sentence: {error[-300:]}")
        return client.returncode


def campaign(tally: Tally) -> None:
    """All kinds of cases."""
    place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(
        prefix="torture-", dir=place, ignore_cleanup_errors=True
    ) as folder:
        lab = _Lab(tally, Path(folder))
        try:
            _workers(lab)
            _stopped(lab)
            _client(lab)
            _scheduler(lab)
        finally:
            lab.close()


def _workers(lab: _Lab) -> None:
    for number in range(lab.tally.share(WORKERS)):

        def work(game: Game, folder: Path) -> str:
            killed = 0
            lab.settle()

            def kill(_kind: str, _done: int) -> None:
                nonlocal killed
                workers = lab.cluster.settled()
                if killed < 3 and len(workers) > 1 and lab.chance.random() < 0.1:
                    killed += kill_one(lab.chance.choice(workers))

            lab.build(game, folder, kill)
            return f"same table, {killed} killed"

        lab.trial("workers", list(SHARDS)[number % len(SHARDS)], work)


def _stopped(lab: _Lab) -> None:
    for number in range(lab.tally.share(STOPPED)):

        def stop(_kind: str, _done: int) -> None:
            if lab.chance.random() < 0.05:
                raise KeyboardInterrupt

        def work(game: Game, folder: Path) -> str:
            try:
                lab.build(game, folder, stop)
            except KeyboardInterrupt:
                spoiled = _spoil(lab, folder / f".{game.table_name}.store")
                lab.build(game, folder)
                return f"same table, {spoiled} objects damaged" if spoiled else "same table"
            return "not stopped"

        lab.trial("stopped", list(SHARDS)[number % len(SHARDS)], work)


def _spoil(lab: _Lab, store: Path) -> int:
    """Damage some objects, each in one of many ways; how many."""
    chance = lab.chance
    # Tasks that ran when the build was stopped go on to their end: what they write has no name yet.
    found = sorted(
        path
        for path in store.rglob("*")
        if path.is_file() and path.name != "lock" and not path.name.startswith(".")
    )
    objects = {path: path.read_bytes() for path in found}
    chosen = chance.sample(found, min(len(found), chance.randrange(6)))
    for path in chosen:
        whole = bytearray(objects[path])
        match chance.randrange(5):
            case 0:
                path.unlink()
                continue
            case 1:
                whole = whole[: chance.randrange(len(whole))]
            case 2:
                whole = bytearray(objects[chance.choice(found)])  # another, or by chance itself
            case 3:
                whole += chance.randbytes(chance.randrange(1, 100))
            case _:
                whole[chance.randrange(len(whole))] ^= chance.randrange(1, 256)
        path.write_bytes(whole)
    return len(chosen)


def _client(lab: _Lab) -> None:
    for number in range(lab.tally.share(CLIENT)):

        def work(game: Game, folder: Path) -> str:
            kills = 0
            for _ in range(2):
                with lab.command(game, folder) as client:
                    time.sleep(lab.chance.uniform(1, 6))
                    if client.poll() is None:
                        client.kill()
                        kills += 1
                    client.communicate()
            if code := lab.ended(lab.command(game, folder)):
                raise SpoiledError(f"fails with {code}")
            return f"same table, {kills} killed"

        lab.trial("client", BY_COMMAND[number % len(BY_COMMAND)], work)


def _scheduler(lab: _Lab) -> None:
    for number in range(lab.tally.share(SCHEDULER)):

        def work(game: Game, folder: Path) -> str:
            client = lab.command(game, folder)
            time.sleep(lab.chance.uniform(1, 6))
            was_running = client.poll() is None
            lab.cluster.kill()
            code = lab.ended(client)
            lab.restart()
            if again := lab.ended(lab.command(game, folder)):
                raise SpoiledError(f"fails with {again}")
            if not was_running:
                return "finished before"
            return "same table, after a sentence" if code else "finished without it"

        lab.trial("scheduler", BY_COMMAND[number % len(BY_COMMAND)], work)
