"""Games at random, one for each seed: whatever a solver supposes about games, some of them do not do.

They have holes, ends of all kinds, positions without moves, plays that come again, positions that
cannot be reached, and symmetry. Their rules are plain arithmetic, and can be compiled as others.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lookup import Game, HeapGame, MaskGame, Outcome, parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence

_PRIME = (1 << 31) - 1
_HOLE, _END, _CODE, _COUNT, _TARGET, _KEY, _PLIES = range(1000, 8000, 1000)


def mixed(seed: int, number: int, salt: int) -> int:
    """A number below 2^31 that looks random; no product on the way needs more than 63 bits."""
    mix = (number * 2654435 + seed * 40503 + salt * 69621 + 12345) % _PRIME
    mix = mix * 48271 % _PRIME
    mix ^= mix >> 13
    mix = mix * 69621 % _PRIME
    return mix ^ mix >> 11


class _Random(Game):
    """Indices are pairs, each of which is the mirror image of the other."""

    seed: int = parameter(default=0, most=1 << 20, help="Which of all these games.")
    pairs: int = parameter(default=20, least=1, help="Half of the indices.")

    symmetries = 2
    max_moves = 5

    @property
    def size(self) -> int:
        """Pairs of indices."""
        return 2 * self.pairs

    @property
    def start(self) -> int:
        """The first position; there is one."""
        return next(index for index in range(self.size) if self.is_position(index))

    def is_position(self, index: int) -> int:
        """There are none, a few or many holes; never all."""
        holes = self.seed % 4 * 15
        last = index // 2 == self.pairs - 1
        return 1 if last or mixed(self.seed, index // 2, _HOLE) % 100 >= holes else 0

    def transform(self, index: int, k: int) -> int:
        """The other one of a pair."""
        return index ^ k

    def terminal(self, index: int) -> int:
        """Some end, with a win, a loss or a draw."""
        if mixed(self.seed, index // 2, _END) % 100 >= 4 + self.seed // 4 % 3 * 12:
            return 0
        return 1 + mixed(self.seed, index // 2, _CODE) % 3

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """To anywhere but a hole; some have no moves and no end."""
        found = 0
        for move in range(mixed(self.seed, index // 2, _COUNT) % (self.max_moves + 1)):
            target = mixed(self.seed, index // 2, _TARGET + move) % self.size ^ index & 1
            known = self.is_position(target) == 0
            for at in range(found):
                known = known or out[at] == target
            if not known:
                out[found] = target
                found += 1
        return found


class RandomLoops(_Random):
    """Two players, whose play may come again."""


class RandomMisere(_Random):
    """The same, where whoever cannot move wins."""

    misere = True


class RandomWay(_Random):
    """One player, who looks for the shortest way to a win."""

    solver = "distance"


class RandomOrder(Game):
    """Two players; every move makes the index smaller, and ends may have plies to come."""

    seed: int = parameter(default=0, most=1 << 20, help="Which of all these games.")
    size: int = parameter(default=40, least=1, help="Indices.")

    solver = "ordered"
    max_moves = 4

    @property
    def start(self) -> int:
        """The last."""
        return self.size - 1

    def is_position(self, index: int) -> int:
        """Some are holes; not the first, to which all can move, nor the last."""
        inside = 0 < index < self.size - 1
        return 0 if inside and mixed(self.seed, index, _HOLE) % 100 < self.seed % 4 * 15 else 1

    def terminal(self, index: int) -> int:
        """An outcome, and up to three plies more."""
        if index and mixed(self.seed, index, _END) % 100 >= 5 + self.seed // 4 % 3 * 10:
            return 0
        outcome = 1 + mixed(self.seed, index, _CODE) % 3
        return (
            outcome if outcome == Outcome.DRAW else outcome + 4 * (mixed(self.seed, index, _PLIES) % 4)
        )

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """To any smaller one, in most games a near one."""
        found = 0
        reach = index if self.seed % 3 == 0 else min(index, 12)
        for move in range(mixed(self.seed, index, _COUNT) % (self.max_moves + 1)):
            target = index - 1 - mixed(self.seed, index, _TARGET + move) % reach
            known = self.is_position(target) == 0
            for at in range(found):
                known = known or out[at] == target
            if not known:
                out[found] = target
                found += 1
        return found


class RandomSums(Game):
    """Both players have the same moves; indices are in no order."""

    seed: int = parameter(default=0, most=1 << 20, help="Which of all these games.")
    size: int = parameter(default=40, least=1, help="Indices.")

    solver = "grundy"
    max_moves = 9

    @property
    def start(self) -> int:
        """The position that comes before all others in play."""
        return max(filter(self.is_position, range(self.size)), key=self.key)

    def key(self, index: int) -> int:
        """Play makes it smaller, whatever it does to the index."""
        if self.seed % 2:
            return mixed(self.seed, index, _KEY) % 1000 * self.size + index
        return index

    def is_position(self, index: int) -> int:
        """Some are holes."""
        return 0 if index and mixed(self.seed, index, _HOLE) % 100 < self.seed % 4 * 15 else 1

    def terminal(self, index: int) -> int:
        """Some are over though there would be moves."""
        return 1 if mixed(self.seed, index, _END) % 100 < self.seed // 4 % 3 * 10 else 0

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """To positions that come later in play."""
        found = 0
        for move in range(mixed(self.seed, index, _COUNT) % (self.max_moves + 1)):
            target = mixed(self.seed, index, _TARGET + move) % self.size
            known = self.is_position(target) == 0 or self.key(target) >= self.key(index)
            for at in range(found):
                known = known or out[at] == target
            if not known:
                out[found] = target
                found += 1
        return found


class RandomPairs(RandomSums):
    """The same, where a move leads to two positions that are played as a sum."""

    parts = 2

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Two of the positions that come later in play."""
        found = 0
        for move in range(mixed(self.seed, index, _COUNT) % (self.max_moves + 1)):
            one = mixed(self.seed, index, _TARGET + 2 * move) % self.size
            other = mixed(self.seed, index, _TARGET + 2 * move + 1) % self.size
            if self.key(one) >= self.key(index) or self.key(other) >= self.key(index):
                continue
            if self.is_position(one) == 0 or self.is_position(other) == 0:
                continue
            known = False
            for at in range(found):
                known = known or (out[2 * at] == one and out[2 * at + 1] == other)
                known = known or (out[2 * at] == other and out[2 * at + 1] == one)
            if not known:
                out[2 * found] = one
                out[2 * found + 1] = other
                found += 1
        return found


class RandomMasks(MaskGame):
    """Fill cells by masks of any shape."""

    seed: int = parameter(default=0, most=1 << 20, help="Which of all these games.")
    cells: int = parameter(default=8, least=1, most=30, help="Cells.")
    misere: bool = parameter(default=False, help="Whoever cannot move wins.")

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """Up to twice as many as there are cells, of any number of cells."""
        masks: dict[int, None] = {}
        for move in range(1 + mixed(self.seed, 0, _COUNT) % (2 * self.cells)):
            mask = mixed(self.seed, move, _TARGET) % (self.size - 1) + 1
            if mixed(self.seed, move, _KEY) % 3:
                mask &= mixed(self.seed, move, _TARGET + 1)
            masks[mask] = None
        masks.pop(0, None)
        return tuple(masks) or (1,)


class RandomHeaps(HeapGame):
    """Take from a heap, and split the rest if `parts` is 2."""

    fewest: int = parameter(default=1, least=1, help="Fewest that a move takes.")
    most: int = parameter(default=3, least=1, help="Most that a move takes.")
    largest: int = parameter(default=60, least=1, help="The largest heap.")

    start = 0

    @property
    def takes(self) -> tuple[int, int]:
        """The parameters."""
        return self.fewest, self.most


class RandomSplits(RandomHeaps):
    """The same, and what is left may be split in two."""

    parts = 2
