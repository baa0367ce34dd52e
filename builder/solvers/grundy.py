"""Solve an impartial game whose positions never come again: Grundy values, perhaps remoteness.

An index is settled when all that its moves lead to are. The solver sweeps over the index, down and up
by turns, and settles what it can. Where every move leads to smaller indices, or every move to larger
ones, one sweep is enough; in other numberings each sweep gets as far as the order of the index allows.
A sweep that settles nothing has met positions that can come again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from builder.compile import UNWRITTEN, Engine, Kernel, buffer, rule
from builder.conformance import broken_rule
from builder.solvers.plan import RangePlan, Shard, Zeros
from builder.solvers.solution import (
    is_narrow,
    packed_grundy,
    packed_outcome,
    packed_remoteness,
)
from lookup.errors import GameError
from lookup.format import Totals
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence, Sequence

    from numpy.typing import NDArray

    from builder.solvers.solution import PackedColumn
    from lookup.games.base import Game, IndexTest, Neighbours

# Compiled code knows no enums.
NOT_A_POSITION, LOSS, WIN = int(Outcome.NOT_A_POSITION), int(Outcome.LOSS), int(Outcome.WIN)
UNSETTLED = 255
MOST_MOVES = (1 << 15) - 1
"""With more, the exclusive or of two values might not fit 16 bits."""

MOST_SWEEPS = 1000
"""Numberings that have nothing to do with the order of play would take hours."""

_SLICE = 1 << 18  # indices in a shard
_SHOWN = 6  # positions of a loop that are named


class GrundyPlan(RangePlan):
    """Grundy value, outcome and, where moves lead to single positions, remoteness of every index.

    Each range of a sweep is a stage. `cursor` tells where the plan is: whether this sweep goes up, how
    far it has come, how many it has left unsettled, and how many the sweep before it left.
    """

    settles: ClassVar[bool] = False

    def __init__(
        self,
        game: Game,
        engine: Engine,
        zeros: Zeros = np.zeros,
        stretch: tuple[int, int] | None = None,
    ) -> None:
        """If only a stretch of the index is to be settled, all others that it reads must be."""
        if game.max_moves > MOST_MOVES:
            limit = f"at most {MOST_MOVES} moves, not {game.max_moves}"
            raise GameError(f"{game.table_name} has too many moves for Grundy values: {limit}")
        self._game, self._engine = game, engine
        self.parallel = False
        self.total = self.size = game.size
        self._stretch = low, high = stretch or (0, game.size)
        alone = game.parts == 1
        self.arrays = {
            "cursor": np.array([_starts_upwards(game), 0, 0, game.size + 1], np.int64),
            "outcome": zeros(game.size, np.uint8),
            "grundy": zeros(game.size, np.uint16),
            "remoteness": zeros(game.size if alone else 0, np.uint32),
        }
        self.arrays["outcome"][low:high] = UNSETTLED
        self._rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
        self._settle = _settle(engine)
        self._sweeps = 0

    def stages(self) -> Iterator[Sequence[Shard]]:
        """Sweep until nothing is left.

        Raises:
            GameError: a position can come again.
        """
        cursor, game = self.arrays["cursor"], self._game
        size = game.size
        while True:
            while cursor[1] < size:
                low = int(cursor[1])
                yield [Shard(low, min(low + _SLICE, size), min(_SLICE, size - low))]
            left, before = int(cursor[2]), int(cursor[3])
            if left == 0:
                return
            if left == before:
                raise self._loop()
            self._count_sweep()
            self.total += size
            cursor[:] = 1 - cursor[0], 0, 0, left

    def run(self, shard: Shard) -> None:
        """A range of a sweep; counted from the end of the index in one that goes down.

        Raises:
            GameError: a rule breaks the contract.
        """
        game, engine, cursor = self._game, self._engine, self.arrays["cursor"]
        first, last = shard.low, shard.high
        if not cursor[0]:
            first, last = game.size - 1 - shard.low, game.size - 1 - shard.high
        room = (
            buffer(game.max_moves * game.parts, engine),
            buffer(2 << game.max_moves.bit_length(), engine),
        )
        left = self._settle(
            *self._rules, game.parts, game.max_moves, first, last, 1 if cursor[0] else -1, *room,
            *(self.arrays[name] for name in ("outcome", "grundy", "remoteness")),
        )  # fmt: skip
        if left < 0:
            raise broken_rule(game, -1 - left)
        cursor[1:3] = shard.high, cursor[2] + left

    def settle(self) -> None:
        """Settle the stretch, sweeping over it alone.

        Raises:
            GameError: a rule breaks the contract, or a position can come again.
        """
        cursor, size, (low, high) = self.arrays["cursor"], self.size, self._stretch
        before = high - low + 1
        while True:
            begin, end = (low, high) if cursor[0] else (size - high, size - low)
            cursor[2] = 0
            self.run(Shard(begin, end, high - low))
            left = int(cursor[2])
            if left == 0:
                return
            if left == before:
                raise self._loop()
            self._count_sweep()
            before = left
            cursor[0] = 1 - cursor[0]

    def _count_sweep(self) -> None:
        """One more is needed."""
        self._sweeps += 1
        if self._sweeps > MOST_SWEEPS:
            problem = f"the numbering of {self._game.table_name} takes more than {MOST_SWEEPS} sweeps"
            raise GameError(f"{problem}: expected most moves to lead the same way, down or up")

    def count(self, low: int, high: int) -> Totals:
        """All arrays."""
        counts = np.bincount(self.arrays["outcome"][low:high], minlength=WIN + 1)
        remoteness, longest = self.arrays["remoteness"], -1
        if len(remoteness):
            longest = int(remoteness[low:high].max())
        largest = int(self.arrays["grundy"][low:high].max())
        return Totals((int(counts[LOSS]), 0, int(counts[WIN])), longest, largest)

    def packed(self, totals: Totals) -> tuple[PackedColumn, ...]:
        """All arrays."""
        outcome = packed_outcome(self.arrays["outcome"], narrow=is_narrow(totals, self.size))
        grundy = packed_grundy(self.arrays["grundy"], totals.largest_grundy)
        if not len(self.arrays["remoteness"]):
            return outcome, grundy
        return outcome, grundy, packed_remoteness(self.arrays["remoteness"], totals.longest)

    def _loop(self) -> GameError:
        """The error that names positions which lead back to where they came from."""
        game, outcome = self._game, self.arrays["outcome"]
        low, high = self._stretch
        index = low + int((outcome[low:high] == UNSETTLED).argmax())
        path: list[int] = []
        while index not in path:
            path.append(index)
            after = (one for option in game.options_of(index) for one in option)
            index = next(one for one in after if outcome[one] == UNSETTLED)
        loop = [*path[path.index(index) :], index]
        shown = " -> ".join(repr(game.format(one)) for one in loop[:_SHOWN])
        more = " -> ..." if len(loop) > _SHOWN else ""
        return GameError(
            f"positions of {game.table_name} can come again, {shown}{more}: expected a game that ends, "
            "as Grundy values need; 'retrograde' solves others"
        )


def memory_needed(game: Game, engine: Engine) -> int:  # noqa: ARG001 - the same for both
    """Bytes that a plan takes at its peak."""
    remoteness = 4 if game.parts == 1 else 0
    return (3 + remoteness) * game.size + 16 * min(game.size, _SLICE) + 64 * game.max_moves * game.parts


def _starts_upwards(game: Game) -> bool:
    """Whether the first sweep goes up: moves from the start lead down, as in most numberings."""
    after = [one for option in game.options_of(game.start) for one in option]
    return sum(one > game.start for one in after) * 2 <= len(after)


@Kernel
def _settle(  # noqa: C901 - one loop over moves; helpers would cost more than it does
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    parts: int,
    most: int,
    first: int,
    last: int,
    step: int,
    out: MutableSequence[int],
    reached: MutableSequence[int],
    outcome: NDArray[np.uint8],
    grundy: NDArray[np.uint16],
    remoteness: NDArray[np.uint32],
) -> int:
    """Settle what can be, from index `first` to before `last`; returns how many are left.

    -1 - n if the rules break the contract at index n. `reached[value]` is one more than the last index
    from which a move reached that value; what an earlier visit reached, this one reaches too.
    """
    left = 0
    for index in range(first, last, step):
        if outcome[index] != UNSETTLED:
            continue
        if is_position(index) == 0:
            outcome[index] = NOT_A_POSITION
            continue
        end = terminal(index)
        if end != 0 and end != LOSS:
            return -1 - index
        count = 0 if end else successors(index, out)
        if not 0 <= count <= most:
            return -1 - index
        settled = True
        quickest = slowest = -1
        for move in range(count):
            value = 0
            for part in range(parts):
                after = out[move * parts + part]
                if after == UNWRITTEN:
                    return -1 - index
                if not 0 <= after < len(outcome) or outcome[after] == NOT_A_POSITION:
                    return -1 - index
                if outcome[after] == UNSETTLED:
                    settled = False
                value ^= int(grundy[after])
            if not settled:
                break
            reached[value] = index + 1
            if parts == 1:
                plies = int(remoteness[out[move]])
                if value == 0 and (quickest < 0 or plies < quickest):
                    quickest = plies
                slowest = max(slowest, plies)
        for at in range(count * parts):
            out[at] = UNWRITTEN
        if not settled:
            left += 1
            continue
        value = 0
        while reached[value] == index + 1:
            value += 1
        grundy[index] = value
        outcome[index] = WIN if value else LOSS
        if parts == 1:
            remoteness[index] = quickest + 1 if value else slowest + 1
    return left
