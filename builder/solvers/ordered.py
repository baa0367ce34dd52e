"""Solve a two-player game in which every move leads to a smaller index: one pass, in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.compile import UNWRITTEN, Engine, Kernel, buffer, rule, views
from builder.conformance import check_index
from builder.solvers.plan import RangePlan, Shard, Zeros, chain
from builder.solvers.solution import is_narrow, packed_outcome, packed_remoteness, slices
from lookup.errors import GameError
from lookup.format import Totals
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence, Sequence

    from numpy.typing import NDArray

    from builder.solvers.solution import PackedColumn
    from lookup.games.base import Game, IndexTest, Neighbours

# Compiled code knows no enums.
LOSS, DRAW, WIN = int(Outcome.LOSS), int(Outcome.DRAW), int(Outcome.WIN)
LONGEST = 255
_SLICE = 1 << 18  # indices in a shard


class OrderedPlan(RangePlan):
    """Outcome and remoteness of every index; a shard is a range of it, and needs the one before."""

    def __init__(self, game: Game, engine: Engine, zeros: Zeros = np.zeros) -> None:
        self._game, self._engine = game, engine
        self.parallel = False
        self.total = self.size = game.size
        self._outcome, self._remoteness = zeros(game.size, np.uint8), zeros(game.size, np.uint8)
        self.arrays = {"outcome": self._outcome, "remoteness": self._remoteness}
        self._rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
        self._settle = _settle(engine)

    def stages(self) -> Iterator[Sequence[Shard]]:
        """One stage."""
        yield chain(slices(0, self._game.size, _SLICE), self.arrays)

    def run(self, shard: Shard) -> None:
        """Settle a range.

        Raises:
            GameError: a move does not lead to a smaller index, or a game lasts longer than 255 plies.
        """
        arrays = views(self._engine, self._outcome, self._remoteness)
        out = buffer(self._game.max_moves, self._engine)
        fixed = int(self._game.stuck), self._game.max_moves
        bad = self._settle(*self._rules, *fixed, shard.low, shard.high, out, *arrays)
        if bad >= 0:
            check_index(self._game, bad)
            problem = f"expected moves to smaller indices, and at most {LONGEST} plies to the end"
            name = self._game.table_name
            raise GameError(f"index {bad} of {name} cannot be solved in order: {problem}")

    def count(self, low: int, high: int) -> Totals:
        """Both arrays."""
        counts = np.bincount(self._outcome[low:high], minlength=WIN + 1)
        longest = int(self._remoteness[low:high].max())
        return Totals((int(counts[LOSS]), int(counts[DRAW]), int(counts[WIN])), longest)

    def packed(self, totals: Totals) -> tuple[PackedColumn, ...]:
        """Both arrays."""
        outcome = packed_outcome(self._outcome, narrow=is_narrow(totals, self.size))
        return outcome, packed_remoteness(self._remoteness, totals.longest)


def memory_needed(game: Game, engine: Engine) -> int:  # noqa: ARG001 - the same for both
    """Bytes that a plan takes at its peak: both arrays, and what looking at a stretch of them takes."""
    return 2 * game.size + 16 * min(game.size, _SLICE)


@Kernel
def _settle(  # noqa: C901 - one loop over moves; helpers would cost more than it does
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    stuck: int,
    most: int,
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
        if end < 0 or end >> 2 > LONGEST or (end and end & 3 == 0):
            return index
        if end:
            outcome[index] = end & 3
            remoteness[index] = end >> 2
            continue
        quickest, slowest, drawn = LONGEST + 1, -1, False
        count = successors(index, out)
        if not 0 <= count <= most:
            return index
        if count == 0:
            outcome[index] = stuck
            continue
        for at in range(count):
            after = out[at]
            out[at] = UNWRITTEN
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
