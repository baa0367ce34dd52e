"""Solve a game whose moves are a step, or two steps one after the other, or a leap, in index order.

For each position Q the solver keeps what one step from it leads to: which Grundy values, the quickest
loss and the longest game. What two steps from P lead to is then the union of these over the positions
Q that one step from P leads to, at no further cost. Without values, two bits a position are enough:
whether it is won, and whether one step leads to a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from builder.compile import Engine, Kernel, buffer, rule, views
from builder.solvers.solution import (
    PackedColumn,
    Report,
    Solution,
    packed_grundy,
    packed_remoteness,
    silent,
    slices,
)
from lookup.blocks import pack
from lookup.errors import GameError
from lookup.format import Totals, outcome_column

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

    from lookup.games.base import Neighbours
    from lookup.games.step_game import StepGame

VALUES = 63  # sets of Grundy values are the bits of a word but its sign
NEVER = 255
WON, STEP_WINS = 1, 2
_SLICE, _COMPILED_SLICE = 1 << 10, 1 << 16  # positions between two reports


def solve(game: StepGame, engine: Engine, report: Report = silent) -> Solution:
    """Outcome of every index and, if the game stores values, Grundy value and remoteness.

    Raises:
        GameError: a move does not lead to a smaller index, or a value is too large for this solver.
    """
    if not game.stores_values:
        return _solve_outcomes(game, engine, report)
    grundy, remoteness, quickest, longest_ahead = (np.zeros(game.size, np.uint8) for _ in range(4))
    stepped = np.zeros(game.size, np.int64)
    arrays = (grundy, remoteness, stepped, quickest, longest_ahead)
    _run(game, engine, _settle(engine), arrays, report)
    wins, largest, longest = int(np.count_nonzero(grundy)), int(grundy.max()), int(remoteness.max())
    columns = (
        PackedColumn(outcome_column(1, game.size), pack((grundy > 0).view(np.uint8), 1)),
        packed_grundy(grundy, largest),
        packed_remoteness(remoteness, longest),
    )
    return Solution(columns, Totals((game.size - wins, 0, wins), longest, largest))


def _solve_outcomes(game: StepGame, engine: Engine, report: Report) -> Solution:
    flags = np.zeros(game.size, np.uint8)
    _run(game, engine, _settle_outcomes(engine), (flags,), report)
    flags &= np.uint8(WON)
    wins = int(np.count_nonzero(flags))
    outcome = PackedColumn(outcome_column(1, game.size), pack(flags, 1))
    return Solution((outcome,), Totals((game.size - wins, 0, wins)))


def memory_needed(game: StepGame) -> int:
    """Bytes that `solve` takes at its peak."""
    return (16 if game.stores_values else 3) * game.size


def _run(game: StepGame, engine: Engine, settle: Any, arrays: Sequence[Any], report: Report) -> None:
    steps, leaps = rule(game.steps, engine), rule(game.leaps, engine)
    out = buffer(game.max_steps, engine)
    for low, high in slices(0, game.size, _COMPILED_SLICE if engine == Engine.NUMBA else _SLICE):
        bad = settle(steps, leaps, low, high, out, *views(engine, *arrays))
        if bad >= 0:
            problem = f"expected moves to smaller indices, Grundy values below {VALUES} and short games"
            raise GameError(f"index {bad} of {game.table_name} cannot be solved in order: {problem}")
        report(high, game.size)


# --- kernels --------------------------------------------------------------------------------------


@Kernel
def _settle(  # noqa: C901 - two loops over moves; helpers would cost more than they do
    steps: Neighbours,
    leaps: Neighbours,
    low: int,
    high: int,
    out: MutableSequence[int],
    grundy: NDArray[np.uint8],
    remoteness: NDArray[np.uint8],
    stepped: NDArray[np.int64],
    quickest: NDArray[np.uint8],
    longest: NDArray[np.uint8],
) -> int:
    """Settle a stretch of indices, those before it being settled; returns one that cannot be, or -1.

    `stepped` holds the Grundy values after one step, `quickest` the least remoteness of a loss and
    `longest` the greatest of any position there.
    """
    for index in range(low, high):
        one = two = 0
        one_quickest = two_quickest = NEVER
        one_longest = two_longest = 0
        count = steps(index, out)
        for at in range(count):
            after = out[at]
            if not 0 <= after < index:
                return index
            # Comparing is much faster than min and max where this is interpreted.
            value, plies = grundy[after], remoteness[after]
            one |= 1 << value
            two |= stepped[after]
            if value == 0 and plies < one_quickest:
                one_quickest = plies
            if plies > one_longest:
                one_longest = plies
            if quickest[after] < two_quickest:
                two_quickest = quickest[after]
            if longest[after] > two_longest:
                two_longest = longest[after]
        stepped[index] = one
        quickest[index] = one_quickest
        longest[index] = one_longest
        if count == 0:
            continue
        two |= one
        two_quickest = min(two_quickest, one_quickest)
        two_longest = max(two_longest, one_longest)
        for at in range(leaps(index, out)):
            after = out[at]
            if not 0 <= after < index:
                return index
            value, plies = grundy[after], remoteness[after]
            two |= 1 << value
            if value == 0 and plies < two_quickest:
                two_quickest = plies
            if plies > two_longest:
                two_longest = plies
        least = 0
        while two >> least & 1:
            least += 1
            if least == VALUES:
                return index
        length = 1 + (two_quickest if least else two_longest)
        if length >= NEVER:
            return index
        grundy[index] = least
        remoteness[index] = length
    return -1


@Kernel
def _settle_outcomes(
    steps: Neighbours,
    leaps: Neighbours,
    low: int,
    high: int,
    out: MutableSequence[int],
    flags: NDArray[np.uint8],
) -> int:
    """The same for outcomes alone: bit `WON`, and bit `STEP_WINS` if one step leads to a loss."""
    for index in range(low, high):
        won, step_wins = 0, 0
        for at in range(steps(index, out)):
            after = out[at]
            if not 0 <= after < index:
                return index
            if flags[after] & WON == 0:
                step_wins = STEP_WINS
                won = WON
                break
            if flags[after] & STEP_WINS:
                won = WON
        if not won:
            for at in range(leaps(index, out)):
                after = out[at]
                if not 0 <= after < index:
                    return index
                if flags[after] & WON == 0:
                    won = WON
                    break
        flags[index] = won | step_wins
    return -1
