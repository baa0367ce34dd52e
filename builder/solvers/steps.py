"""Solve a game whose moves are a step, or two steps one after the other, or a leap, in index order.

For each position Q the solver keeps what one step from it leads to: which Grundy values, the quickest
loss and the longest game. What two steps from P lead to is then the union of these over the positions
Q that one step from P leads to, at no further cost. Without values, two bits a position are enough:
whether it is won, and whether one step leads to a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Engine, Kernel, buffer, rule, views
from builder.solvers.plan import RangePlan, Shard, Zeros, chain
from builder.solvers.solution import (
    Computed,
    PackedColumn,
    packed_grundy,
    packed_remoteness,
    slices,
)
from lookup.errors import GameError
from lookup.format import Totals, outcome_column

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence, Sequence

    from numpy.typing import NDArray

    from lookup.games.base import Neighbours
    from lookup.games.step_game import StepGame

VALUES = 63  # sets of Grundy values are the bits of a word but its sign
NEVER = 255
WON, STEP_WINS = 1, 2
_SLICE, _COMPILED_SLICE = 1 << 10, 1 << 16  # positions in a shard


class StepsPlan(RangePlan):
    """Outcome of every index and, if the game stores values, Grundy value and remoteness.

    A shard is a range of the index, and needs the one before.
    """

    def __init__(self, game: StepGame, engine: Engine, zeros: Zeros = np.zeros) -> None:
        self._game, self._engine = game, engine
        self.parallel = False
        self.total = self.size = game.size
        if game.stores_values:
            names = {"grundy": np.uint8, "remoteness": np.uint8, "stepped": np.int64}
            names |= {"quickest": np.uint8, "longest": np.uint8}
            self.packs = "grundy", "remoteness"
            self._settle = _settle(engine)
        else:
            names = {"flags": np.uint8}
            self._settle = _settle_outcomes(engine)
        self.arrays = {name: zeros(game.size, dtype) for name, dtype in names.items()}
        self._steps, self._leaps = rule(game.steps, engine), rule(game.leaps, engine)

    def stages(self) -> Iterator[Sequence[Shard]]:
        """One stage."""
        length = _COMPILED_SLICE if self._engine == Engine.NUMBA else _SLICE
        yield chain(slices(0, self._game.size, length), self.arrays)

    def run(self, shard: Shard) -> None:
        """Settle a range.

        Raises:
            GameError: a move does not lead to a smaller index, or a value is too large for this solver.
        """
        out = buffer(self._game.max_steps, self._engine)
        arrays = views(self._engine, *self.arrays.values())
        bad = self._settle(self._steps, self._leaps, shard.low, shard.high, out, *arrays)
        if bad >= 0:
            problem = f"expected moves to smaller indices, Grundy values below {VALUES} and short games"
            name = self._game.table_name
            raise GameError(f"index {bad} of {name} cannot be solved in order: {problem}")

    def count(self, low: int, high: int) -> Totals:
        """A flag, or a Grundy value that is not 0, is a win."""
        if not self._game.stores_values:
            wins = int(np.count_nonzero(self.arrays["flags"][low:high] & np.uint8(WON)))
            return Totals((high - low - wins, 0, wins))
        grundy, remoteness = self.arrays["grundy"][low:high], self.arrays["remoteness"][low:high]
        wins = int(np.count_nonzero(grundy))
        return Totals((high - low - wins, 0, wins), int(remoteness.max()), int(grundy.max()))

    def packed(self, totals: Totals) -> tuple[PackedColumn, ...]:
        """The columns that the game stores."""
        arrays = self.arrays

        def won(low: int, high: int) -> NDArray[np.uint8]:
            return arrays["flags"][low:high] & np.uint8(WON)

        def has_value(low: int, high: int) -> NDArray[np.uint8]:
            return (arrays["grundy"][low:high] > 0).view(np.uint8)

        values = self._game.stores_values
        elements = Computed(has_value if values else won, 1, self.size)
        outcome = PackedColumn(outcome_column(1, self.size), elements)
        if not values:
            return (outcome,)
        grundy = packed_grundy(arrays["grundy"], totals.largest_grundy)
        return outcome, grundy, packed_remoteness(arrays["remoteness"], totals.longest)


def memory_needed(game: StepGame, engine: Engine) -> int:  # noqa: ARG001 - the same for both
    """Bytes that a plan takes at its peak."""
    return (12 if game.stores_values else 1) * game.size + _COMPILED_SLICE


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
