"""Solve a game of one player: the shortest way to a win.

A game that knows a shorter way than search fills its table itself, and `verify` checks it. Others are
searched backwards from the wins, which is what `retrograde` does when there is no opponent.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from builder.compile import Engine, Kernel, views
from builder.solvers import retrograde
from builder.solvers.solution import (
    PackedColumn,
    Report,
    Solution,
    packed_remoteness,
    silent,
    slices,
)
from lookup.blocks import packed_length
from lookup.errors import GameError
from lookup.format import Totals, outcome_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from lookup.games.base import Filling, Game

LARGEST = 1 << 32
"""Indices of a game that fills its table: no remoteness may be larger than an entry of 32 bits."""

_SLICE = 1 << 20


def solve(game: Game, engine: Engine, report: Report = silent) -> Solution:
    """Outcome, a win or (where no win can be reached) a draw, and the number of moves to the win.

    Raises:
        GameError: the game is too large for this solver, or breaks the contract.
    """
    if (filling := game.filling) is None:
        return retrograde.solve(game, engine, report)
    if game.size > LARGEST:
        raise GameError(f"{game.table_name} is too large: at most {LARGEST} indices")
    stretches = Stretches(filling, game.size, engine)
    # Compiled kernels run without the interpreter's lock, so threads use all cores.
    with ThreadPoolExecutor(os.cpu_count() if engine == Engine.NUMBA else 1) as pool:
        measured, total = filling.stretches - 1, len(stretches.needs)
        for shards in (range(measured), range(measured, total)):
            for number, _ in zip(shards, pool.map(stretches.run, shards), strict=True):
                report(number + 1, total)
    return stretches.solution()


class Stretches:
    """A game that is filled in stretches: first all but the last are measured, then all are filled.

    Each of these is a shard, and `needs` says which others must have run before it.
    """

    def __init__(self, filling: Filling, size: int, engine: Engine) -> None:
        self.filling = filling
        self.engine = engine
        self.measures = np.zeros(filling.stretches - 1, np.int64)
        measured = len(self.measures)
        self.needs = [range(0)] * measured + [range(number) for number in range(measured + 1)]
        self.array = np.empty(size, np.uint32)
        self._kernel = cache(lambda function: Kernel(function)(engine))  # to find its types once

    def run(self, number: int) -> None:
        """Measure a stretch, or fill one."""
        if number < len(self.measures):
            self.measures[number] = self.filling.measure(number, self._call)
        else:
            number -= len(self.measures)
            before = int(self.measures[:number].sum())
            self.filling.fill(number, before, self.array, self._call)

    def solution(self) -> Solution:
        """What the filled array says, which is used up: the remoteness takes its place."""
        size, longest = len(self.array), 0
        for low, high in reversed(list(slices(0, size, _SLICE))):
            remoteness = self.filling.read(self.array, low, high)
            longest = max(longest, int(remoteness.max()))
            self.array[low:high] = remoteness
        won = np.full(packed_length(size, 1), 0xFF, np.uint8)
        won[-1] = (1 << ((size - 1) % 8 + 1)) - 1  # padding is 0
        outcome = PackedColumn(outcome_column(1, size), won)
        columns = (outcome, packed_remoteness(self.array, longest))
        return Solution(columns, Totals((0, 0, size), longest))

    def _call(self, function: Callable[..., Any], *arguments: Any) -> int:
        """Call a plain function with the engine; what a filling knows as `run`."""
        called: int = self._kernel(function)(*map(self._given, arguments))
        return called

    def _given(self, argument: Any) -> Any:
        """An argument as kernels want it: see `views` and `buffer`."""
        if isinstance(argument, np.ndarray):
            return views(self.engine, argument)[0]
        if isinstance(argument, list) and self.engine == Engine.NUMBA:
            return np.array(argument, np.int64)
        return argument


def memory_needed(game: Game) -> int:
    """Bytes that `solve` takes at its peak."""
    if game.filling is None:
        return retrograde.memory_needed(game)
    return 4 * game.size + packed_length(game.size, 1) + 8 * min(game.size, _SLICE)
