"""Solve a game of one player: the shortest way to a win.

A game that knows a shorter way than search fills its table itself, and `verify` checks it. Others are
searched backwards from the wins, which is what `retrograde` does when there is no opponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from builder.compile import Engine, Kernel, views
from builder.solvers import retrograde
from builder.solvers.solution import PackedColumn, Report, Solution, packed_remoteness, silent
from lookup.blocks import packed_length
from lookup.format import Totals, outcome_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from lookup.games.base import Game


def solve(game: Game, engine: Engine, report: Report = silent) -> Solution:
    """Outcome, a win or (where no win can be reached) a draw, and the number of moves to the win.

    Raises:
        GameError: the game is too large for this solver, or breaks the contract.
    """
    if game.fill is None:
        return retrograde.solve(game, engine, report)
    remoteness = np.zeros(game.size, np.uint32)

    def run(function: Callable[..., object], *arguments: Any) -> object:
        kernel = Kernel(function)(engine)
        return kernel(
            *(views(engine, one)[0] if isinstance(one, np.ndarray) else one for one in arguments)
        )

    game.fill(remoteness, run)
    report(1, 1)
    longest = int(remoteness.max())
    won = np.full(packed_length(game.size, 1), 0xFF, np.uint8)
    won[-1] = (1 << ((game.size - 1) % 8 + 1)) - 1  # padding is 0
    outcome = PackedColumn(outcome_column(1, game.size), won)
    columns = (outcome, packed_remoteness(remoteness, longest))
    return Solution(columns, Totals((0, 0, game.size), longest))


def memory_needed(game: Game) -> int:
    """Bytes that `solve` takes at its peak."""
    return retrograde.memory_needed(game) if game.fill is None else 13 * game.size
