"""Solve a game of one player: the shortest way to a win.

A game that knows a shorter way than search fills its table itself, and `verify` checks it. Others are
searched backwards from the wins, which is what `retrograde` does when there is no opponent.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from builder.compile import Engine, Kernel, views
from builder.solvers import retrograde
from builder.solvers.plan import Plan, Shard
from builder.solvers.solution import Computed, PackedColumn, Solution, slices
from lookup.blocks import smallest_bits
from lookup.errors import GameError
from lookup.format import Totals, outcome_column, remoteness_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from lookup.games.base import Game
    from lookup.games.filling import Filling

LARGEST = 1 << 32
"""Indices of a game that fills its table: no remoteness may be larger than an entry of 32 bits."""

_SLICE = 1 << 20


def plan(game: Game, engine: Engine) -> Plan:
    """Outcome, a win or (where no win can be reached) a draw, and the number of moves to the win.

    Raises:
        GameError: the game is too large for this solver.
    """
    if (filling := game.filling) is None:
        return retrograde.RetrogradePlan(game, engine)
    if game.size > LARGEST:
        raise GameError(f"{game.table_name} is too large: at most {LARGEST} indices")
    return FillingPlan(filling, game.size, engine)


class FillingPlan(Plan):
    """A game that is filled in stretches: all but the last are measured, then all are filled.

    Each is a shard, numbered by `low`: a stretch to measure, or after these a stretch to fill. They
    leave nothing to keep: entries are scattered over the array, and to fill it again takes much less
    time than to write it down once more.
    """

    def __init__(self, filling: Filling, size: int, engine: Engine) -> None:
        self._filling, self._engine = filling, engine
        self.parallel = engine == Engine.NUMBA
        self.total = size
        self._measures = np.zeros(filling.stretches - 1, np.int64)
        self._entries = np.empty(size, np.uint32)
        self.arrays = {"measures": self._measures, "entries": self._entries}
        self._kernel = cache(lambda function: Kernel(function)(engine))  # to find its types once

    def stages(self) -> Iterator[Sequence[Shard]]:
        """All but the last measured, and all filled: each needs the measures before it."""
        measured = len(self._measures)
        weight = self.total // (measured + 1)
        yield [
            *(Shard(number, number + 1, 0) for number in range(measured)),
            *(
                Shard(measured + number, measured + number + 1, weight, tuple(range(number)))
                for number in range(measured + 1)
            ),
        ]

    def run(self, shard: Shard) -> None:
        """Measure a stretch, or fill one."""
        number, measured = shard.low, len(self._measures)
        if number < measured:
            self._measures[number] = self._filling.measure(number, self._call)
        else:
            before = int(self._measures[: number - measured].sum())
            self._filling.fill(number - measured, before, self._entries, self._call)

    def solution(self) -> Solution:
        """Every index is won; the remoteness is computed from the entries when it is written."""
        size = self.total

        def remoteness(low: int, high: int) -> NDArray[np.uint32]:
            return self._filling.read(self._entries, low, high)

        def won(low: int, high: int) -> NDArray[np.uint8]:
            return np.ones(high - low, np.uint8)

        longest = max(int(remoteness(*part).max()) for part in slices(0, size, _SLICE))
        bits = smallest_bits(longest)
        columns = (
            PackedColumn(outcome_column(1, size), Computed(won, 1, size)),
            PackedColumn(remoteness_column(bits, size), Computed(remoteness, bits, size)),
        )
        return Solution(columns, Totals((0, 0, size), longest))

    def _call(self, function: Callable[..., Any], *arguments: Any) -> int:
        """Call a plain function with the engine; what a filling knows as `run`."""
        called: int = self._kernel(function)(*map(self._given, arguments))
        return called

    def _given(self, argument: Any) -> Any:
        """An argument as kernels want it: see `views` and `buffer`."""
        if isinstance(argument, np.ndarray):
            return views(self._engine, argument)[0]
        if isinstance(argument, list) and self._engine == Engine.NUMBA:
            return np.array(argument, np.int64)
        return argument


def memory_needed(game: Game, engine: Engine) -> int:
    """Bytes that a plan takes at its peak."""
    if game.filling is None:
        return retrograde.memory_needed(game, engine)
    return 4 * game.size + 8 * min(game.size, _SLICE)
