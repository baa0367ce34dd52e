"""Solve a game of one player: the shortest way to a win.

A game that knows a shorter way than search fills its table itself, and `verify` checks it. Others are
searched backwards from the wins, which is what `retrograde` does when there is no opponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from builder.compile import Engine, Kernel, views
from builder.solvers import retrograde
from builder.solvers.plan import Plan, Shard
from builder.solvers.retrograde import RetrogradePlan
from builder.solvers.solution import Computed, PackedColumn, Solution, packed_remoteness
from lookup.format import Totals, outcome_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lookup.games.base import Game


def plan(game: Game, engine: Engine) -> Plan:
    """Outcome, a win or (where no win can be reached) a draw, and the number of moves to the win."""
    return RetrogradePlan(game, engine) if game.fill is None else FillPlan(game, engine)


class FillPlan(Plan):
    """What a game fills in itself."""

    def __init__(self, game: Game, engine: Engine) -> None:
        self._game, self._engine = game, engine
        self.parallel = False
        self.total = game.size
        self.arrays = {"remoteness": np.zeros(game.size, np.uint32)}

    def stages(self) -> Iterator[Sequence[Shard]]:
        """One shard."""
        yield [Shard(0, self._game.size, self._game.size)]

    def run(self, shard: Shard) -> None:  # noqa: ARG002 - the only one
        """Fill the array."""

        def run(function: Callable[..., object], *arguments: Any) -> object:
            kernel = Kernel(function)(self._engine)
            return kernel(
                *(
                    views(self._engine, one)[0] if isinstance(one, np.ndarray) else one
                    for one in arguments
                )
            )

        assert self._game.fill
        self._game.fill(self.arrays["remoteness"], run)

    def solution(self) -> Solution:
        size, remoteness = self._game.size, self.arrays["remoteness"]
        longest = int(remoteness.max())
        outcome = Computed(lambda low, high: np.ones(high - low, np.uint8), 1, size)
        columns = (
            PackedColumn(outcome_column(1, size), outcome),
            packed_remoteness(remoteness, longest),
        )
        return Solution(columns, Totals((0, 0, size), longest))


def memory_needed(game: Game, engine: Engine) -> int:
    """Bytes that a plan takes at its peak."""
    return retrograde.memory_needed(game, engine) if game.fill is None else 9 * game.size
