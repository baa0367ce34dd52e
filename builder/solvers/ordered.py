"""Solve a two-player game in which every move leads to a smaller index: one pass, in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Engine, Kernel, buffer, rule, views
from builder.solvers.solution import (
    Report,
    Solution,
    packed_outcome,
    packed_remoteness,
    silent,
    slices,
)
from lookup.errors import GameError
from lookup.format import Totals
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from numpy.typing import NDArray

    from lookup.games.base import Game, IndexTest, Neighbours

# Compiled code knows no enums.
LOSS, DRAW, WIN = int(Outcome.LOSS), int(Outcome.DRAW), int(Outcome.WIN)
LONGEST = 255
_SLICE = 1 << 18  # indices between two reports


def solve(game: Game, engine: Engine, report: Report = silent) -> Solution:
    """Outcome and remoteness of every index.

    Raises:
        GameError: a move does not lead to a smaller index, or a game lasts longer than 255 plies.
    """
    outcome, remoteness = np.zeros(game.size, np.uint8), np.zeros(game.size, np.uint8)
    rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
    out = buffer(game.max_moves, engine)
    settle = _settle(engine)
    for low, high in slices(0, game.size, _SLICE):
        bad = settle(*rules, low, high, out, *views(engine, outcome, remoteness))
        if bad >= 0:
            problem = f"expected moves to smaller indices, and at most {LONGEST} plies to the end"
            raise GameError(f"index {bad} of {game.table_name} cannot be solved in order: {problem}")
        report(high, game.size)
    counts = [int(np.count_nonzero(outcome == code)) for code in (LOSS, DRAW, WIN)]
    longest = int(remoteness.max())
    columns = (packed_outcome(outcome), packed_remoteness(remoteness, longest))
    return Solution(columns, Totals((counts[0], counts[1], counts[2]), longest))


def memory_needed(game: Game) -> int:
    """Bytes that `solve` takes at its peak: both arrays, and what packing them takes."""
    return 5 * game.size


@Kernel
def _settle(  # noqa: C901 - one loop over moves; helpers would cost more than it does
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    low: int,
    high: int,
    out: MutableSequence[int],
    outcome: NDArray[np.uint8],
    remoteness: NDArray[np.uint8],
) -> int:
    """Settle a stretch of indices, those before it being settled; returns one that cannot be, or -1."""
    for index in range(low, high):
        if is_position(index) == 0:
            continue
        end = terminal(index)
        if end >> 2 > LONGEST:
            return index
        if end:
            outcome[index] = end & 3
            remoteness[index] = end >> 2
            continue
        quickest, slowest, drawn = LONGEST + 1, -1, False
        for at in range(successors(index, out)):
            after = out[at]
            if not 0 <= after < index:
                return index
            if outcome[after] == LOSS:
                quickest = min(quickest, remoteness[after])
            elif outcome[after] == WIN:
                slowest = max(slowest, remoteness[after])
            else:
                drawn = True
        if quickest < LONGEST:
            outcome[index] = WIN
            remoteness[index] = quickest + 1
        elif quickest == LONGEST:
            return index
        elif drawn:
            outcome[index] = DRAW
        elif 0 <= slowest < LONGEST:
            outcome[index] = LOSS
            remoteness[index] = slowest + 1
        else:
            return index
    return -1
