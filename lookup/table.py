"""One open table: ask it about positions."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, lru_cache, reduce
from operator import index as as_int
from operator import xor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from lookup.answers import Move, preference
from lookup.errors import InvalidPositionError, TableFileError
from lookup.folder import open_reader
from lookup.format import Period
from lookup.games import load_game
from lookup.games.base import Game
from lookup.processes import found, found_by
from lookup.records import DecodedRecords, Layout, decode_records, decoded, open_records
from lookup.stored import StoredAnswers
from lookup.values import Outcome, Value, Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike
    from types import TracebackType

    from numpy.typing import ArrayLike, NDArray

    from lookup.claims import Rules
    from lookup.format import TableInfo
    from lookup.processes import Found
    from lookup.records import Decode

_MOST_WORTHS = 1 << 16
CACHE_BYTES = 64 * 1024 * 1024
_STRETCH = 1 << 22
_MOST_AGAIN = 4  # tables that came pickled and are kept open for what else may come
LARGEST_INDEX = (1 << 63) - 1
"""No index in an array is larger."""


class Worths(dict[int, tuple[int, Value]]):
    """Records as what a move there is worth, and its rank among others; KeyError for no position."""

    def __init__(self, palette: Mapping[int, Value | None]) -> None:
        super().__init__()
        self._palette = palette

    def __missing__(self, record: int) -> tuple[int, Value]:
        after = self._palette[record]
        if after is None:
            raise KeyError(record)
        value = -after
        worth = preference(value), value
        if len(self) < _MOST_WORTHS:
            self[record] = worth
        return worth


class Table(StoredAnswers):
    """A solved game in one file or a folder of parts. Open it with `open_table` or by a `Tablebase`.

    Small tables are decoded when opened, and their file is closed again; larger ones keep it open and
    read chunks through a cache of at most `cache_bytes`. Parts are opened when they are needed, and
    some stay open; a part that is not the right one any more is a `TableFileError` then.

    Safe to share between threads, which may all ask at once, and to fork while they do. It can be
    pickled, as for `pool.map(table.probe_index, indices)`: the other process opens the file again, once
    for all that is handed to it, and raises `TableFileError` if it is not the same table any more.
    Not safe is to close a table that another thread still asks: that thread then gets a
    `TableFileError` (never a wrong value), unless the table is held in memory.
    """

    def __init__(
        self,
        path: Path,
        *,
        rules: Rules | None = None,
        cache_bytes: int = CACHE_BYTES,
        decode: Decode = decode_records,
    ) -> None:
        self._rules, self._cache_bytes = rules, cache_bytes
        self._file = open_reader(path, rules)
        try:
            self._records = open_records(self._file, cache_bytes, decode)
        except BaseException:
            self._file.close()
            raise
        if self.is_in_memory:
            self._file.close()
        info = self._file.info
        period = Period.from_text(info.period) if info.period else None
        super().__init__(self._records.by_index, self._records.palette, info.size, period)
        self._layout = Layout.of(self._file)
        self._named = self.game.move_name if self.game.is_ours() else self.game.named
        # The usual game, for which `moves` has a shorter way.
        self._is_usual = type(self.game).moves is Game.moves and not self._is_sum and not self._is_alone
        self._worths = Worths(self._palette)

    @property
    def game(self) -> Game:
        """The game, with its parameters: text to index and back, rules, starting position.

        An `UnknownGame` if its rules are not known here: then positions are indices, as numbers.
        """
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
        """The file, or the folder of parts, that it was opened from."""
        return self._file.path

    @property
    def form(self) -> str:
        """How it is stored: `file`, or `folder`, of parts."""
        return self._file.form

    @property
    def is_in_memory(self) -> bool:
        """Whether it was decoded whole: then no answer reads the file."""
        return isinstance(self._records, DecodedRecords)

    @property
    def digest(self) -> str:
        """The SHA-256 over metadata and decoded values: equal digests, equal tables.

        Of a folder of parts that is not held in memory it is what the manifest says; that it is so,
        `build-tables verify` finds out.
        """
        return self._file.digest

    def close(self) -> None:
        """Close the file; a table that is held in memory goes on answering."""
        self._file.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, so that it cannot answer any more."""
        return self._file.is_closed and not self.is_in_memory

    def close_when_unused(self) -> None:
        """Close the file once nobody holds this table any more: threads may still be asking it."""
        weakref.finalize(self, self._file.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        rules: tuple[tuple[str, Found], ...] | Found | None = None
        if isinstance(self._rules, Mapping):
            rules = tuple((name, found_by(kind)) for name, kind in self._rules.items())
        elif self._rules is not None:
            rules = found_by(self._rules if isinstance(self._rules, type) else type(self._rules))
        return _again, (self.path.absolute(), self.digest, rules, self._cache_bytes)

    def __repr__(self) -> str:
        return f"<Table {self.name} ({self._file.info.positions:,} positions)>"

    # --- values -----------------------------------------------------------------------------------

    def probe_texts(self, positions: Iterable[str]) -> list[Value]:
        """The values of many positions given as text.

        Raises:
            InvalidPositionError: one of them is not a position of this game.
        """
        if self._is_sum:
            return super().probe_texts(positions)
        parse, records, palette = self.game.parse, self._by_index, self._palette
        indices = [parse(position) for position in positions]
        if indices and not 0 <= min(indices) <= max(indices) < self._size:  # a period may go on there
            return [self.probe_index(index) for index in indices]
        values = [palette[records[index]] for index in indices]
        if None in values:
            raise self._outside(indices[values.index(None)])
        return cast("list[Value]", values)

    def moves(self, position: str) -> list[Move]:
        """The legal moves, best first: fast wins, slow wins, draws, slow losses, fast losses.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        if not self._is_usual:
            return super().moves(position)
        game, records, worths = self.game, self._by_index, self._worths
        index, named, text = game.parse(position), self._named, game.format
        ranked: list[tuple[int, int, Move]] = []
        try:
            for after in game.successors_of(index):
                rank, value = worths[records[after]]
                ranked.append((rank, len(ranked), Move(named(index, after), text(after), value)))
        except LookupError:  # a table that does not fit the rules: the longer way says what is wrong
            return super().moves(position)
        ranked.sort()
        return [move for _, _, move in ranked]

    def probe_many(self, indices: ArrayLike) -> Values:
        """The values of many indices at once; those that are not positions have outcome 0.

        Raises:
            InvalidPositionError: an index is out of range.
        """
        try:
            wanted = np.asarray(indices)
        except ValueError:
            raise InvalidPositionError("a list of lists of several lengths", "an array") from None
        if wanted.size and wanted.dtype.kind not in "iu":
            raise InvalidPositionError(
                str(wanted.dtype), "indices of an integer type; game.parse makes them from text"
            )
        if not wanted.size:
            wanted = np.empty(wanted.shape, np.int64)
        elif wanted.dtype == np.uint64 and int(wanted.max()) > LARGEST_INDEX:
            raise InvalidPositionError(int(wanted.max()), f"an index from 0 to {LARGEST_INDEX}")
        flat = wanted.astype(np.int64, copy=False).ravel()
        periods = None
        # Seen as unsigned, a negative index is a huge one: one pass checks both ends.
        if len(flat) and int(flat.view(np.uint64).max()) >= self._size:
            flat, periods = self._fold_many(flat)
        records = self._records.take(flat).reshape(wanted.shape)
        values = decoded(records, self._layout)
        if periods is not None and values.remoteness is not None and self._period:
            further = periods.reshape(wanted.shape) * self._period.plies
            values = values._replace(remoteness=values.remoteness.astype(np.uint64) + further)
        return values

    def _fold_many(self, flat: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Indices inside the table that stand for others beyond it, and the periods between them."""
        period, beyond = self._period, flat >= self._size
        if period is None or bool((flat < 0).any()):
            bad = flat < 0 if period else (flat < 0) | beyond
            raise self._outside(int(flat[bad][0]))
        inside, periods = flat.copy(), np.zeros(len(flat), np.uint64)
        periods[beyond], rest = np.divmod(flat[beyond] - period.preperiod, period.period)
        inside[beyond] = period.preperiod + rest
        return inside, periods

    def _probe_beyond(self, period: Period, index: int) -> Value:
        """As a plain number: numpy's integers would overflow, and make values of their own kind."""
        return super()._probe_beyond(period, as_int(index))

    def _outside(self, index: int) -> InvalidPositionError:
        """By the number alone; what is none is a mistake of another kind."""
        return super()._outside(as_int(index))

    def _probe_sum(self, components: tuple[int, ...]) -> Value:
        """By a list of all Grundy values, if the table is small."""
        if len(components) > 1:
            with suppress(LookupError):
                grundy = reduce(xor, map(self._grundies.__getitem__, components), 0)
                return Value(Outcome.WIN if grundy else Outcome.LOSS, None, grundy)
        return super()._probe_sum(components)

    @cached_property
    def _grundies(self) -> list[int]:
        """The Grundy values of all indices of a small table; none of a large one, or one with holes."""
        if self._size > _MOST_WORTHS:
            return []
        values = self.probe_many(np.arange(self._size))
        whole = values.grundy is not None and bool(values.outcome.all())
        return values.grundy.tolist() if whole and values.grundy is not None else []

    def scan(self) -> Iterator[tuple[int, Values]]:
        """All indices in order, a stretch at a time: its first index, and its values.

        In bounded memory, however large the table is; holes have outcome 0. O(size).
        """
        for low in range(0, self._size, _STRETCH):
            records = self._records.stretch(low, min(low + _STRETCH, self._size))
            yield low, decoded(records, self._layout)

    def histogram(self, width: int = 1) -> dict[Outcome, list[int]]:
        """For wins and losses, how many positions have remoteness 0, 1, 2, ... O(size).

        Counted in steps of `width` plies. Empty lists if the table does not store remoteness.
        """
        longest = self.info.longest_remoteness
        steps = longest // width + 1
        counts = {end: np.zeros(steps, np.int64) for end in (Outcome.LOSS, Outcome.WIN)}
        if longest >= 0:
            for _, values in self.scan():
                assert values.remoteness is not None
                for end, count in counts.items():
                    remoteness = values.remoteness[values.outcome == end]
                    count += np.bincount(remoteness // width, minlength=steps)
        return {end: count.tolist() for end, count in counts.items()}

    def grundy_counts(self) -> list[int]:
        """How many indices have Grundy value 0, 1, 2, ...; empty if they are not stored. O(size)."""
        largest = self.info.largest_grundy
        counts = np.zeros(largest + 1, np.int64)
        if largest >= 0:
            for _, values in self.scan():
                assert values.grundy is not None
                counts += np.bincount(values.grundy[values.outcome > 0], minlength=largest + 1)
        return [int(count) for count in counts]


def _again(*which: Any) -> Table:
    """A table in another process, or once more in this one: opened unless it is open already."""
    table = _opened_again(*which)
    if table.is_closed:
        _opened_again.cache_clear()
        table = _opened_again(*which)
    return table


@lru_cache(maxsize=_MOST_AGAIN)
def _opened_again(
    path: Path,
    digest: str,
    rules: tuple[tuple[str, Found], ...] | Found | None,
    cache_bytes: int,
) -> Table:
    known: Rules | None = None
    if isinstance(rules, tuple):
        known = {name: found(by) for name, by in rules}
    elif rules is not None:
        known = found(rules)
    table = Table(path, rules=known, cache_bytes=cache_bytes)
    if table.digest != digest:
        table.close()
        raise TableFileError(path, f"is another table than was pickled: expected the digest {digest}")
    table.close_when_unused()
    return table


def open_table(
    path: str | PathLike[str],
    *,
    game: Game | type[Game] | str | PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> Table:
    """Open one table: a file, or a folder of parts (or the manifest in it).

    A table of a game that is neither ours nor installed needs its rules to answer for texts and moves:
    `game` is its class, a game of it, or the file it is written in (`"nim.py"`, `"nim.py:Nim"`), which
    is then run. `UnknownGame` opens any table without its rules, for indices alone.

    Of a table that is too large to be decoded whole, at most `cache_bytes` of decoded chunks are kept
    (but one chunk in any case). `Table` says how threads and processes may share it.

    Raises:
        MissingTableError: there is no such file.
        TableFileError: the file cannot be used; its subclasses say why.
        InvalidGameError: `game` is no game, or another than the table's.
    """
    if game is None or isinstance(game, Game | type):
        return Table(Path(path), rules=game, cache_bytes=cache_bytes)
    return Table(Path(path), rules=load_game(game), cache_bytes=cache_bytes)
