"""One open table: ask it about positions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from lookup.errors import InvalidPositionError
from lookup.format import REMOTENESS
from lookup.reader import TableFile
from lookup.records import DecodedRecords, Palette, decoded, open_records
from lookup.values import Outcome, Value, Values

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

    from numpy.typing import ArrayLike

    from lookup.format import TableInfo
    from lookup.games.base import Game

CACHE_BYTES = 64 * 1024 * 1024
_HISTOGRAM_STEP = 1 << 22


class Move(NamedTuple):
    """A legal move and what it is worth to the player who makes it.

    `value.outcome` is seen by that player; `value.remoteness` counts from the position after the
    move.
    """

    text: str
    position: str
    value: Value


class Table:
    """The solved game in one file. Open it with `open_table` or through a `Tablebase`.

    Small tables are decoded when opened, and their file is closed again; larger ones keep it open and
    read chunks through a cache of at most `cache_bytes`. Safe to share between threads.
    """

    def __init__(self, path: Path, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._file = TableFile(path)
        try:
            self._records = open_records(self._file, cache_bytes)
        except BaseException:
            self._file.close()
            raise
        if isinstance(self._records, DecodedRecords):
            self._file.close()
        self._by_index = self._records.by_index
        self._size = self._file.info.size
        self._palette = Palette(REMOTENESS in self._file.columns)

    @property
    def game(self) -> Game:
        """The game, with its parameters: text to index and back, rules, starting position."""
        return self._file.game

    @property
    def info(self) -> TableInfo:
        """What the file says of itself."""
        return self._file.info

    @property
    def name(self) -> str:
        """The table's name."""
        return self._file.info.name

    @property
    def path(self) -> Path:
        """The file it was opened from."""
        return self._file.path

    @property
    def digest(self) -> str:
        """The SHA-256 over metadata and decoded values: equal digests, equal tables."""
        return self._file.digest

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Table {self.name} ({self._file.info.positions:,} positions)>"

    # --- values -----------------------------------------------------------------------------------

    def probe_index(self, index: int) -> Value:
        """The value of the position with this index. O(1).

        Raises:
            InvalidPositionError: the index is out of range or not a position.
        """
        if 0 <= index < self._size:
            value = self._palette[self._by_index[index]]
            if value is not None:
                return value
        self.game.require_position(index)
        raise InvalidPositionError(index, "a position that the table stores")

    def probe(self, position: str) -> Value:
        """The value of a position given as text. O(1).

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        return self.probe_index(self.game.parse(position))

    def get(self, position: str) -> Value | None:
        """The value of a position, or None if the text is no position of this table."""
        try:
            return self.probe(position)
        except InvalidPositionError:
            return None

    def probe_many(self, indices: ArrayLike) -> Values:
        """The values of many indices at once; those that are not positions have outcome 0.

        Raises:
            InvalidPositionError: an index is out of range.
        """
        wanted = np.asarray(indices)
        if wanted.size and wanted.dtype.kind not in "iu":
            raise InvalidPositionError(
                str(wanted.dtype), "indices of an integer type; game.parse makes them from text"
            )
        flat = wanted.astype(np.int64, copy=False).ravel()
        # Seen as unsigned, a negative index is a huge one: one pass checks both ends.
        if len(flat) and int(flat.view(np.uint64).max()) >= self._size:
            bad = int(wanted.ravel()[(flat < 0) | (flat >= self._size)][0])
            raise InvalidPositionError(bad, f"an index from 0 to {self._size - 1}")
        records = self._records.take(flat).reshape(wanted.shape)
        return decoded(records, REMOTENESS in self._file.columns)

    # --- moves ------------------------------------------------------------------------------------

    def moves(self, position: str) -> list[Move]:
        """The legal moves, best first: fast wins, slow wins, draws, slow losses, fast losses.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        moves = [
            Move(step.text, step.position, -self.probe_index(step.after))
            for step in self.game.moves(position)
        ]
        return sorted(moves, key=_preference)

    def best(self, position: str) -> Move | None:
        """A best move, or None if the game is over.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        moves = self.moves(position)
        return moves[0] if moves else None

    def line(self, position: str | None = None) -> list[Move]:
        """Best play from a position (default: the start) to the end, or to a repeat if drawn.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        position = self.game.format(self.game.start) if position is None else position
        seen = {position}
        line: list[Move] = []
        while move := self.best(position):
            line.append(move)
            position = move.position
            if position in seen:
                break
            seen.add(position)
        return line

    def histogram(self) -> dict[Outcome, list[int]]:
        """For wins and losses, how many positions have remoteness 0, 1, 2, ... O(size).

        Empty lists if the table does not store remoteness.
        """
        longest = self.info.longest_remoteness
        counts = {end: np.zeros(longest + 1, np.int64) for end in (Outcome.LOSS, Outcome.WIN)}
        if longest >= 0:
            for low in range(0, self._size, _HISTOGRAM_STEP):
                values = self.probe_many(np.arange(low, min(low + _HISTOGRAM_STEP, self._size)))
                assert values.remoteness is not None
                for end, count in counts.items():
                    remoteness = values.remoteness[values.outcome == end]
                    count += np.bincount(remoteness, minlength=longest + 1)
        return {end: count.tolist() for end, count in counts.items()}


def _preference(move: Move) -> tuple[int, int]:
    """The sorting key of `moves`: a winner hurries, a loser delays."""
    remoteness = move.value.remoteness or 0
    return -move.value.outcome, -remoteness if move.value.outcome is Outcome.LOSS else remoteness


def open_table(path: str | PathLike[str], *, cache_bytes: int = CACHE_BYTES) -> Table:
    """Open one table file.

    Raises:
        MissingTableError: there is no such file.
        TableFileError: the file cannot be used; its subclasses say why.
    """
    return Table(Path(path), cache_bytes=cache_bytes)
