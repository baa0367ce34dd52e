"""Heaps of which a move takes some and, in some games, leaves the rest in two heaps.

The index is the size of a heap. Where heaps split, a position is a sum of heaps, and the nim-sum of
their Grundy values tells who wins. Where they do not, a position is one heap.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from lookup.games.base import Game, IndexTest, Neighbours, SolverKind

if TYPE_CHECKING:
    from collections.abc import MutableSequence

LOSS = 1  # the code of Outcome.LOSS; compiled functions know only integers


class HeapGame(Game):
    """Take from a heap; whoever cannot loses. REQUIRED: `takes`, `largest`, the texts of `Game`.

    OPTIONAL: `parts`, 2 if what is left of a heap may be split in two.
    """

    solver: ClassVar[SolverKind] = "heaps"

    @property
    @abstractmethod
    def takes(self) -> tuple[int, int]:
        """The fewest and the most that a move takes."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The largest heap that the table stores."""

    @property
    def stores_grundy(self) -> bool:
        """Always: sums need them."""
        return True

    @property
    def stores_remoteness(self) -> bool:
        """Of single heaps; that of a sum does not follow from its parts."""
        return self.parts == 1

    @property
    def size(self) -> int:
        """One index for every size of a heap, 0 among them."""
        return self.largest + 1

    @property
    def max_moves(self) -> int:
        """Those of the largest heap, supposing that every number can be taken."""
        fewest, most = self.takes
        most = min(most, self.largest)
        if self.parts == 1:
            return max(1, most - fewest + 1)
        return max(1, sum((self.largest - taken) // 2 + 1 for taken in range(fewest, most + 1)))

    @property
    def work(self) -> int:
        """Large heaps have thousands of moves."""
        return self.size * self.max_moves // 64

    @cached_property
    def successors(self) -> Neighbours:
        """Take any number that is allowed; where heaps split, from any place."""
        fewest, most = self.takes

        def take(index: int, out: MutableSequence[int]) -> int:
            count = 0
            for taken in range(fewest, min(most, index) + 1):
                out[count] = index - taken
                count += 1
            return count

        def take_and_split(index: int, out: MutableSequence[int]) -> int:
            count = 0
            for taken in range(fewest, min(most, index) + 1):
                left = index - taken
                for small in range(left // 2 + 1):
                    out[2 * count] = small
                    out[2 * count + 1] = left - small
                    count += 1
            return count

        return take if self.parts == 1 else take_and_split

    @cached_property
    def terminal(self) -> IndexTest:
        """A heap is over when it is too small to take from."""
        fewest = self.takes[0]

        def terminal(index: int) -> int:
            return LOSS if index < fewest else 0

        return terminal
