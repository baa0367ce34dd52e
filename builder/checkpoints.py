"""What a long build has finished, kept in a folder beside its table until the table is there.

    .<table>.h5.build/
        key                          what was being built, by what: of anything else nothing is used
        <array>-<low>-<high>.part    a stretch of an array of the plan, or of a column of the table
        snapshot-<number>/           all arrays of a plan that does not settle, and `done`: how much is
                                     done, and how many parts there are

A build that is over soon keeps nothing. Every file is whole or has no name, so a process may be killed
at any moment; digests tell if a disk has lost something since. Nothing here is needed for a right
table: whatever cannot be read is done again, and if the disk is full the build goes on without.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

from builder.parts import Part, PartWriter, encode_chunk
from builder.solvers.plan import Piece
from builder.solvers.solution import silent, slices
from lookup.format import CHUNK_BYTES

try:
    import fcntl
except ImportError:  # Windows: two builds of the same table at once are not noticed there
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from builder.solvers.plan import Plan, Shard
    from builder.solvers.solution import Report

PATIENCE = 20.0
"""Seconds after which a build is worth keeping."""

SHARE = 0.03
"""The share of a build's time that may go into keeping what the table itself does not hold."""

STATE_LEVEL = 1
_FIRST_GUESS = 100e6  # bytes a second, until one snapshot was timed
_PART = re.compile(r"(\w+)-(\d+)-(\d+)\.part")


class Checkpoints:
    """The checkpoints of one build. Worker threads may call it at once."""

    def __init__(self, table: Path, key: str, patience: float = PATIENCE) -> None:
        self.folder = table.parent / f".{table.name}.build"
        self._key, self._patience = key, patience
        self._stored: dict[str, tuple[int, int]] = {}
        self._started = self._last = time.monotonic()
        self._spent, self._cost = 0.0, 0.0
        self._pending: list[Shard] = []
        self._lock = Lock()
        self._held: BinaryIO | None = None
        self._enabled = True

    def will_store(self, stored: dict[str, tuple[int, int]]) -> None:
        """Say which arrays the table will hold as they are: the bytes of a chunk there, and the level.

        Their parts serve twice, and so cost nothing.
        """
        self._stored = stored

    # --- going on ---------------------------------------------------------------------------------

    def restore(self, plan: Plan, report: Report = silent) -> tuple[frozenset[Shard], int]:
        """Put what was kept into the arrays: the shards that need not be run, and the weight done."""
        if not self.folder.is_dir() or not self._hold():
            return frozenset(), 0
        if not plan.settles:
            return frozenset(), self._restore_snapshot(plan)
        shards = [shard for stage in plan.stages() for shard in stage if shard.leaves]
        kept: set[Shard] = set()
        done = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            whole = pool.map(lambda shard: self._read(plan, shard.leaves), shards)
            for shard, is_whole in zip(shards, whole, strict=True):
                if is_whole:
                    kept.add(shard)
                    done += shard.weight
                    report(done, plan.total)
        return frozenset(kept), 0

    def _restore_snapshot(self, plan: Plan) -> int:
        for folder in self._snapshots():
            with contextlib.suppress(OSError, ValueError):
                done, count = map(int, (folder / "done").read_text("ascii").split())
                pieces = [piece for piece in map(_piece, folder.iterdir()) if piece]
                # All are looked through first: half of a snapshot in the arrays would be a disaster.
                for piece in pieces:
                    for _ in Part.open(self._path(piece, folder)).decoded():
                        pass
                if len(pieces) == count and self._read(plan, pieces, folder):
                    return done
        return 0

    def _read(self, plan: Plan, pieces: Sequence[Piece], folder: Path | None = None) -> bool:
        """Read pieces into the plan's arrays; False if one is missing or damaged."""
        paths = [self._path(piece, folder) for piece in pieces]
        if not all(path.exists() for path in paths):
            return False
        for piece, path in zip(pieces, paths, strict=True):
            try:
                Part.open(path).read_into(plan.arrays[piece.array][piece.low : piece.high])
            except (OSError, ValueError):
                path.unlink(missing_ok=True)
                return False
        return True

    # --- keeping ----------------------------------------------------------------------------------

    def shard_finished(self, plan: Plan, shard: Shard) -> None:
        """Keep what a shard has left, and what others left before it was worth while."""
        if not shard.leaves:
            return
        with self._lock:
            self._pending.append(shard)
        while self.is_active and (due := self._next_due()):
            self._keep(lambda due=due: self._save_pieces(plan, due.leaves, self.folder))  # type: ignore[misc]

    def between_stages(self, plan: Plan, done: int) -> None:
        """Keep all arrays of a plan that does not settle, if it is time again."""
        size = sum(array.nbytes for array in plan.arrays.values())
        cost = self._cost or size / _FIRST_GUESS
        if self.is_active and time.monotonic() - self._last > cost / SHARE:
            started = time.monotonic()
            self._keep(lambda: self._save_snapshot(plan, done))
            self._last = time.monotonic()
            self._cost = self._last - started

    @property
    def is_active(self) -> bool:
        """Whether the build is worth keeping, and can be kept."""
        if not self._enabled or time.monotonic() - self._started < self._patience:
            return False
        with self._lock:
            return self._hold()

    def _next_due(self) -> Shard | None:
        """A finished shard to keep now, if there is time for it."""
        with self._lock:
            if not self._pending:
                return None
            free = all(piece.array in self._stored for piece in self._pending[0].leaves)
            if not free and self._spent > SHARE * (time.monotonic() - self._started):
                return None
            return self._pending.pop(0)

    def _keep(self, action: Callable[[], None]) -> None:
        """Do something that writes; a disk that does not take it ends all keeping, not the build."""
        started = time.monotonic()
        try:
            action()
        except OSError:
            self._enabled = False
            self.discard()
        with self._lock:
            self._spent += time.monotonic() - started

    def _save_pieces(self, plan: Plan, pieces: Sequence[Piece], folder: Path) -> None:
        for piece in pieces:
            array = plan.arrays[piece.array]
            chunk, level = self._stored.get(piece.array, (CHUNK_BYTES, STATE_LEVEL))
            writer = PartWriter(self._path(piece, folder), chunk, level)
            try:
                for low, high in slices(piece.low, piece.high, chunk // array.itemsize):
                    writer.add(encode_chunk(array, low, high, chunk, level))
                writer.close()
            except BaseException:
                writer.abandon()
                raise

    def _save_snapshot(self, plan: Plan, done: int) -> None:
        before = self._snapshots()
        number = int(before[0].name.partition("-")[2]) + 1 if before else 1
        new = self.folder / f"snapshot-{number}.tmp"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        pieces = [piece for piece in plan.state() if piece.low < piece.high]
        self._save_pieces(plan, pieces, new)
        (new / "done").write_text(f"{done} {len(pieces)}", "ascii")
        new.rename(new.with_suffix(""))
        for old in before:
            shutil.rmtree(old, ignore_errors=True)

    # --- for the writer of the table --------------------------------------------------------------

    def parts(self, array: str) -> dict[int, tuple[int, Part]]:
        """The parts of a column, by where they begin: where each ends, and the part."""
        found: dict[int, tuple[int, Part]] = {}
        if self._held is None or not self._enabled or array not in self._stored:
            return found
        for path in self.folder.iterdir():
            piece = _piece(path)
            if piece and piece.array == array:
                with contextlib.suppress(OSError, ValueError):
                    part = Part.open(path)
                    if (part.chunk, part.level) == self._stored[array]:
                        found[piece.low] = (piece.high, part)
        return found

    def part_writer(self, piece: Piece) -> PartWriter | None:
        """To keep a stretch of a column while it is written; None if that is not worth while."""
        if piece.array not in self._stored or not self.is_active:
            return None
        try:
            return PartWriter(self._path(piece), *self._stored[piece.array])
        except OSError:
            self._enabled = False
            return None

    # --- the folder -------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the folder; what it holds stays."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def discard(self) -> None:
        """Remove what was kept: the table is there, or there is no room."""
        if self._held is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _hold(self) -> bool:
        """Make the folder ours: False if another process builds the same table."""
        if self._held is not None:
            return True
        with contextlib.ExitStack() as if_it_fails:
            try:
                self.folder.mkdir(exist_ok=True)
                held = if_it_fails.enter_context((self.folder / "lock").open("ab"))
                if fcntl:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._enabled = False
                return False
            if_it_fails.pop_all()
        self._held = held
        key = self.folder / "key"
        if not key.is_file() or key.read_text("utf-8") != self._key:
            for item in self.folder.iterdir():
                if item.is_dir():
                    shutil.rmtree(item, ignore_errors=True)
                elif item.name != "lock":
                    item.unlink(missing_ok=True)
            key.write_text(self._key, "utf-8")
        return True

    def _snapshots(self) -> list[Path]:
        """The whole snapshots, the newest first."""
        folders = [one for one in self.folder.glob("snapshot-*") if one.name[9:].isdecimal()]
        return sorted(folders, key=lambda one: -int(one.name[9:]))

    def _path(self, piece: Piece, folder: Path | None = None) -> Path:
        return (folder or self.folder) / f"{piece.array}-{piece.low}-{piece.high}.part"


def _piece(path: Path) -> Piece | None:
    """The piece that a part is named after."""
    match = _PART.fullmatch(path.name)
    return Piece(match[1], int(match[2]), int(match[3])) if match else None
