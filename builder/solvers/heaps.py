"""Solve heaps of which a move takes some, and perhaps splits the rest in two: a sequence of values.

The moves from n lead to S(n - b), .., S(n - a), where S(m) are the values of m left in one heap, or in
two: G(x) xor G(m - x) for all x. So S(m) is looked at once, when n - a reaches m, and for each value v
it is enough to remember the `latest` m whose S(m) has it: a move from n reaches v if that is at least
n - b.

Most sequences of splitting heaps have a *sparse space* (Berlekamp, Conway, Guy, Winning Ways, chapter
4): a set of bits such that few heaps, the *rare* ones, have an even number of these bits set in their
value. The exclusive or of two values is odd exactly if one of them is even, so all odd values of S(m)
come from the few rare heaps. The least odd value that is not reached is then the Grundy value, unless
an even one below it is not reached either; those are searched for, and found soon. Without a sparse
space all heaps count as rare and nothing is left to search.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Engine, Kernel, views
from builder.periods import find_period
from builder.solvers.plan import Plan, Shard, chain
from builder.solvers.solution import (
    Solution,
    packed_grundy,
    packed_outcome,
    packed_remoteness,
)
from lookup.errors import GameError
from lookup.format import Totals
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lookup.format import Period
    from lookup.games.heap_game import HeapGame

VALUES = 1 << 16
"""No Grundy value may reach this; those of long moves grow fastest."""
_TRIED = 256  # small heaps that are tried for even values before they are searched for
_FIRST_SPACE = 512  # heaps that are solved before a sparse space is looked for


class HeapsPlan(Plan):
    """Grundy values, the period if one can be proven and, of single heaps, remoteness.

    Heaps that do not split are one shard. Those that split come in shards that each double what is
    known: a sparse space is looked for before each, and a period after it, from when on the values are
    only repeated.
    """

    def __init__(self, game: HeapGame, engine: Engine) -> None:
        self._game, self._engine = game, engine
        self.parallel = False
        self.total = game.size
        self._period: Period | None = None
        self._tried = 0
        self._ends = [game.size if game.parts == 1 else min(_FIRST_SPACE, game.size)]
        while self._ends[-1] < game.size:
            self._ends.append(min(2 * self._ends[-1], game.size))
        if game.parts == 1:
            self.arrays = {name: np.zeros(game.size, np.uint32) for name in ("grundy", "remoteness")}
        else:
            self.arrays = {"grundy": np.zeros(game.size, np.uint16)}

    def stages(self) -> Iterator[Sequence[Shard]]:
        """One stage."""
        yield chain(pairwise([0, *self._ends]), self.arrays)

    def run(self, shard: Shard) -> None:
        """The values of a range of heaps.

        Raises:
            GameError: a Grundy value is too large for this solver.
        """
        if self._game.parts == 1:
            self._run_single()
        elif period := self._known_period(shard.low):
            known = self.arrays["grundy"][period.preperiod : period.preperiod + period.period]
            first = (shard.low - period.preperiod) % period.period
            self.arrays["grundy"][shard.low : shard.high] = np.resize(
                np.roll(known, -first), shard.high - shard.low
            )
        else:
            self._run_splitting(shard.low, shard.high)

    def solution(self) -> Solution:
        """Values, outcomes and what else is known."""
        game, grundy, remoteness = self._game, self.arrays["grundy"], self.arrays.get("remoteness")
        period = self._known_period(game.size)
        codes = np.where(grundy > 0, np.uint8(Outcome.WIN), np.uint8(Outcome.LOSS))
        wins, largest = int(np.count_nonzero(grundy)), int(grundy.max())
        columns = [packed_outcome(codes, narrow=True), packed_grundy(grundy, largest)]
        longest = -1
        if remoteness is not None:
            longest = int(remoteness.max())
            columns.append(packed_remoteness(remoteness, longest))
        totals = Totals((game.size - wins, 0, wins), longest, largest, period)
        return Solution(tuple(columns), totals)

    def _known_period(self, known: int) -> Period | None:
        """The period, if the first so many heaps, all of which are solved, prove one.

        Looked for where each shard ends, so that the proof is the same if some were not run this time.
        """
        for end in self._ends:
            if self._period is None and self._tried < end <= known:
                grundy, remoteness = self.arrays["grundy"][:end], self.arrays.get("remoteness")
                self._period = find_period(grundy, remoteness, self._game.takes[1], self._engine)
                self._tried = end
        return self._period

    def _run_single(self) -> None:
        """The values and the remoteness of heaps that do not split."""
        size, engine = self._game.size, self._engine
        queues = np.zeros((2, size), np.int64)
        latest = np.full(size + 1, -1, np.int64)
        arrays = self.arrays["grundy"], self.arrays["remoteness"], latest, *queues
        values, plies, seen, quick, slow = views(engine, *arrays)
        _take(engine)(values, plies, *self._game.takes, seen, quick, slow)

    def _run_splitting(self, low: int, high: int) -> None:
        """The values of heaps that split, from those before."""
        (fewest, most), engine, grundy = self._game.takes, self._engine, self.arrays["grundy"]
        odd = _odd_values(grundy[:low]) if low else np.zeros(VALUES, np.bool_)
        rares = np.flatnonzero(~odd[grundy[:low]])
        rare = np.zeros(high, np.int64)
        rare[: len(rares)] = rares
        latest = np.full(VALUES, -1, np.int64)
        values, seen = views(engine, grundy, latest)
        for left in range(max(0, low - most), low - fewest):
            _scan(engine)(values, left, seen)
        spaces = views(engine, odd, rare)
        if _split(engine)(values, low, high, fewest, most, *spaces, len(rares), seen) < 0:
            name = self._game.table_name
            raise GameError(f"{name} has Grundy values of {VALUES} and more: expected smaller ones")


def memory_needed(game: HeapGame, engine: Engine) -> int:  # noqa: ARG001 - the same for both
    """Bytes that a plan takes at its peak."""
    listed = 8 * game.parts * game.max_moves  # of the largest heap, when it is checked
    return 64 * game.size + 8 * VALUES + 4 * listed


def _odd_values(grundy: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """For each value whether it is outside the sparse space: the choice of bits with fewest inside."""
    counts = np.bincount(grundy)
    # The Walsh-Hadamard transform: at each choice of bits, the even values less the odd ones.
    excess = np.zeros(1 << (len(counts) - 1).bit_length(), np.int64)
    excess[: len(counts)] = counts
    half = 1
    while half < len(excess):
        pairs = excess.reshape(-1, 2, half)
        excess = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    best = int(np.argmin(excess))
    odd: NDArray[np.bool_] = np.bitwise_count(best & np.arange(VALUES)) % 2 == 1
    return odd


# --- kernels --------------------------------------------------------------------------------------


@Kernel
def _take(
    grundy: NDArray[np.uint32],
    remoteness: NDArray[np.uint32],
    fewest: int,
    most: int,
    latest: NDArray[np.int64],
    quick: NDArray[np.int64],
    slow: NDArray[np.int64],
) -> None:
    """Values of heaps that do not split.

    `quick` and `slow` hold the heaps in reach that may still decide: losses by rising remoteness, and
    all heaps by falling remoteness, both in the order of their size.
    """
    quick_from = quick_end = slow_from = slow_end = 0
    for n in range(fewest, len(grundy)):
        new = n - fewest
        latest[grundy[new]] = new
        if grundy[new] == 0:
            while quick_end > quick_from and remoteness[quick[quick_end - 1]] >= remoteness[new]:
                quick_end -= 1
            quick[quick_end] = new
            quick_end += 1
        while slow_end > slow_from and remoteness[slow[slow_end - 1]] <= remoteness[new]:
            slow_end -= 1
        slow[slow_end] = new
        slow_end += 1
        while quick_from < quick_end and quick[quick_from] < n - most:
            quick_from += 1
        while slow[slow_from] < n - most:
            slow_from += 1
        value = 0
        while latest[value] >= max(0, n - most):
            value += 1
        grundy[n] = value
        decides = quick[quick_from] if value else slow[slow_from]
        remoteness[n] = remoteness[decides] + 1


@Kernel
def _scan(grundy: NDArray[np.uint16], left: int, latest: NDArray[np.int64]) -> None:
    """Remember all values of so much left in two heaps."""
    for small in range(left // 2 + 1):
        value = grundy[small] ^ grundy[left - small]
        latest[value] = max(latest[value], left)


@Kernel
def _split(
    grundy: NDArray[np.uint16],
    low: int,
    high: int,
    fewest: int,
    most: int,
    odd: NDArray[np.bool_],
    rare: NDArray[np.int64],
    rares: int,
    latest: NDArray[np.int64],
) -> int:
    """Values of heaps from `low` to `high` that may split; returns the number of rare heaps, or -1.

    `odd` says which values are outside the sparse space, `rare` lists the heaps inside it.
    """
    for n in range(low, high):
        left = n - fewest
        reached = max(0, n - most)
        if left >= 0:
            for at in range(rares):
                if rare[at] > left:
                    break
                latest[grundy[rare[at]] ^ grundy[left - rare[at]]] = left
            for small in range(min(_TRIED, left // 2 + 1)):
                latest[grundy[small] ^ grundy[left - small]] = left
        value = 0
        while value < len(latest):
            if latest[value] < reached:
                if odd[value] or rares == n:
                    break
                # An even value: it may be reached by two heaps that are not rare.
                if not _search(grundy, value, reached, left, latest):
                    break
            value += 1
        if value == len(latest):
            return -1
        grundy[n] = value
        if not odd[value]:
            rare[rares] = n
            rares += 1
    return rares


def _search(
    grundy: NDArray[np.uint16], wanted: int, first: int, last: int, latest: NDArray[np.int64]
) -> bool:
    """Look for a value among what may be left, and remember what is found on the way.

    Small heaps first, whatever is left beside them: a value that is there is found soon, but often
    only with some of the numbers that may be taken.
    """
    for small in range(last // 2 + 1):
        for left in range(max(first, 2 * small), last + 1):
            value = grundy[small] ^ grundy[left - small]
            if latest[value] < left:
                latest[value] = left
            if value == wanted:
                return True
    return False
