"""What a long build has finished, kept in a folder beside its table until the table is there.

    .<table>.h5.build/
        key                          what was being built, by what: of anything else nothing is used
        lock                         held by the process that builds
        <array>-<low>-<high>.part    a stretch of an array of the plan, or of a column of the table
        snapshot-<number>/           all arrays of a plan that does not settle, and `done`: how much is
                                     done, and how many parts there are

A build that is over soon keeps nothing. Every file is whole or has no name, so the process may be
killed at any moment. Parts are checked before they are used. Nothing here is needed for a right table:
whatever cannot be used is done again, and if the disk is full the build goes on without checkpoints.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from builder.parts import Part, PartWriter, encode_chunk
from builder.solvers.plan import Piece
from builder.solvers.solution import slices
from lookup.errors import BuildError
from lookup.format import CHUNK_BYTES
from lookup.locks import clear_folder, hold_folder, leave_folder
from lookup.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import IO

    from builder.parts import Encoded
    from builder.solvers.plan import Plan, Shard
    from lookup.progress import Report

PATIENCE = 20.0
"""Seconds after which a build is worth keeping."""

SHARE = 0.03
"""The share of a build's time that may go into keeping what the table itself does not hold."""

STATE_LEVEL = 1
_FIRST_GUESS = 100e6  # bytes a second, until one snapshot was timed
_PART = re.compile(r"(\w+)-(\d+)-(\d+)\.part")


class Restored(NamedTuple):
    """What an earlier run has left: shards that need not be run again, or the weight that is done."""

    shards: frozenset[Shard] = frozenset()
    done: int = 0


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
        self._held: IO[bytes] | None = None
        self._enabled, self._discarded = True, False

    def will_store(self, stored: dict[str, tuple[int, int]]) -> None:
        """Say which arrays the table will hold as they are: the bytes of a chunk there, and the level.

        Their parts serve twice, and so cost nothing.
        """
        self._stored = stored

    # --- going on ---------------------------------------------------------------------------------

    @property
    def exist(self) -> bool:
        """Whether an earlier run has left something of use."""
        return self.folder.is_dir() and self._hold()

    def restore(self, plan: Plan, report: Report = silent) -> Restored:
        """Put what was kept into the arrays of a plan that was just made.

        Raises:
            BuildError: a part could be read once and then no more.
        """
        if not self.exist:
            return Restored()
        if not plan.settles:
            return Restored(done=self._restore_snapshot(plan))
        shards = [shard for stage in plan.stages() for shard in stage if shard.leaves]
        kept: set[Shard] = set()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            whole = pool.map(lambda shard: self._read(plan, shard.leaves), shards)
            for number, (shard, is_whole) in enumerate(zip(shards, whole, strict=True)):
                if is_whole:
                    kept.add(shard)
                report(number + 1, len(shards))
        return Restored(frozenset(kept))

    def _restore_snapshot(self, plan: Plan) -> int:
        for folder in self._snapshots():
            pieces = [piece for piece in map(_piece, folder.iterdir()) if piece]
            try:
                done, count = map(int, (folder / "done").read_text("ascii").split())
                # All are looked through first: half of a snapshot in the arrays would be a disaster.
                for piece in pieces:
                    for _ in self._open(piece, folder).decoded():
                        pass
            except (OSError, ValueError):
                continue
            if len(pieces) == count and all(
                piece.array in plan.arrays and piece.high <= len(plan.arrays[piece.array])
                for piece in pieces
            ):
                if not self._read(plan, pieces, folder):
                    raise BuildError(f"'{folder}' cannot be read: remove it and try again")
                return done
        return 0

    def _read(self, plan: Plan, pieces: Sequence[Piece], folder: Path | None = None) -> bool:
        """Read pieces into the plan's arrays; False if one is missing or damaged."""
        if not all(self._path(piece, folder).exists() for piece in pieces):
            return False
        for piece in pieces:
            try:
                target = plan.arrays[piece.array][piece.low : piece.high]
                self._open(piece, folder).read_into(target)
            except (OSError, ValueError):
                self._path(piece, folder).unlink(missing_ok=True)
                return False
        return True

    # --- keeping ----------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Whether the build is worth keeping, and can be kept."""
        if not self._enabled or time.monotonic() - self._started < self._patience:
            return False
        with self._lock:
            return self._hold()

    def shard_finished(self, plan: Plan, shard: Shard) -> None:
        """Keep what a shard has left, and what others left before it was worth while."""
        if not shard.leaves:
            return
        with self._lock:
            self._pending.append(shard)
        while self.is_active and (due := self._next_due()):
            started = time.monotonic()
            try:
                self._save_pieces(plan, due.leaves, self.folder)
            except OSError:
                self._give_up()
            with self._lock:
                self._spent += time.monotonic() - started

    def between_stages(self, plan: Plan, done: int) -> None:
        """Keep all arrays of a plan that does not settle, if it is time again."""
        size = sum(array.nbytes for array in plan.arrays.values())
        cost = self._cost or size / _FIRST_GUESS
        if self.is_active and time.monotonic() - self._last > cost / SHARE:
            started = time.monotonic()
            try:
                self._save_snapshot(plan, done)
            except OSError:
                self._give_up()
            self._last = time.monotonic()
            self._cost = self._last - started

    def _next_due(self) -> Shard | None:
        """A finished shard to keep now, if there is time for it."""
        with self._lock:
            if not self._pending:
                return None
            free = all(piece.array in self._stored for piece in self._pending[0].leaves)
            if not free and self._spent > SHARE * (time.monotonic() - self._started):
                return None
            return self._pending.pop(0)

    def _save_pieces(self, plan: Plan, pieces: Sequence[Piece], folder: Path) -> None:
        for piece in pieces:
            array = plan.arrays[piece.array]
            chunk, level = self._stored.get(piece.array, (CHUNK_BYTES, STATE_LEVEL))
            with PartWriter(self._path(piece, folder), self._label(piece), chunk, level) as part:
                for low, high in slices(piece.low, piece.high, chunk // array.itemsize):
                    part.add(encode_chunk(array, low, high, chunk, level))

    def _save_snapshot(self, plan: Plan, done: int) -> None:
        before = self._snapshots()
        number = _number(before[0]) + 1 if before else 1
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

    def parts(self, array: str) -> dict[int, int]:
        """The stretches of a column that are kept: where each begins, and where it ends."""
        if self._held is None or not self._enabled or array not in self._stored:
            return {}
        pieces = map(_piece, self.folder.iterdir())
        return {piece.low: piece.high for piece in pieces if piece and piece.array == array}

    def chunks(self, piece: Piece) -> list[Encoded]:
        """The chunks of a stretch that is kept; none if they are damaged, or not as the table's are."""
        try:
            part = self._open(piece)
            if (part.chunk, part.level) == self._stored[piece.array]:
                return list(part.chunks())
        except (OSError, ValueError):
            self._path(piece).unlink(missing_ok=True)
        return []

    @contextlib.contextmanager
    def keeping(self, piece: Piece) -> Iterator[Callable[[Encoded], None]]:
        """Keep a stretch of a column while it is written, if that is worth while."""
        part = self._begin(piece)

        def keep(encoded: Encoded) -> None:
            nonlocal part
            if part:
                try:
                    part.add(encoded)
                except OSError:
                    part.abandon()
                    part = None
                    self._give_up()

        try:
            yield keep
        except BaseException:
            if part:
                part.abandon()
            raise
        if part:
            try:
                part.close()
            except OSError:
                part.abandon()
                self._give_up()

    def _begin(self, piece: Piece) -> PartWriter | None:
        if piece.array not in self._stored or not self.is_active:
            return None
        try:
            return PartWriter(self._path(piece), self._label(piece), *self._stored[piece.array])
        except OSError:
            self._give_up()
            return None

    # --- the folder -------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the folder; what it holds stays, unless it was discarded."""
        if self._held is None:
            return
        self._held.close()
        self._held = None
        # What other threads were still writing when it was; with a lock it is another's by now.
        if self._discarded and self.folder.is_dir() and not (self.folder / "lock").exists():
            with contextlib.suppress(OSError):
                if (late := hold_folder(self.folder)) is not None:
                    self._remove(late)

    def discard(self) -> None:
        """Remove what was kept, and keep no more: the table is there, or what was kept is no good."""
        self._enabled = False
        if self._held is not None and not self._discarded:
            self._discarded = True
            self._remove(self._held)

    def _remove(self, held: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            clear_folder(self.folder)
        leave_folder(self.folder, held)

    def _give_up(self) -> None:
        """Go on without checkpoints: the disk does not take them."""
        with self._lock:
            self.discard()

    def _hold(self) -> bool:
        """Make the folder ours: False if another process has it, or it cannot be made."""
        if self._held is not None:
            return True
        try:
            self._held = hold_folder(self.folder)
            if self._held is not None:
                self._check_key()
                return True
        except OSError:
            self.discard()
        self._enabled = False
        return False

    def _check_key(self) -> None:
        """Remove what is of another build."""
        key, mine = self.folder / "key", self._key.encode()
        if key.is_file() and key.read_bytes() == mine:
            return
        clear_folder(self.folder)
        key.write_bytes(mine)

    def _snapshots(self) -> list[Path]:
        """The whole snapshots, the newest first."""
        folders = self.folder.glob("snapshot-*")
        return sorted((one for one in folders if not one.suffix), key=_number, reverse=True)

    def _open(self, piece: Piece, folder: Path | None = None) -> Part:
        return Part.open(self._path(piece, folder), self._label(piece))

    def _path(self, piece: Piece, folder: Path | None = None) -> Path:
        return (folder or self.folder) / f"{piece.array}-{piece.low}-{piece.high}.part"

    def _label(self, piece: Piece) -> str:
        return f"{piece.array} {piece.low} {piece.high} {self._key}"


def _piece(path: Path) -> Piece | None:
    """The piece that a part is named after."""
    match = _PART.fullmatch(path.name)
    return Piece(match[1], int(match[2]), int(match[3])) if match else None


def _number(snapshot: Path) -> int:
    return int(snapshot.name.partition("-")[2])
