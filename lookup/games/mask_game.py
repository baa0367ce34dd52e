"""Games in which a move fills a set of cells that must all be empty, and filled cells stay filled.

Such a game is a list of masks. The index is the mask of the filled cells, so a move is one OR, every
move leads to a larger index, and everything else follows.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from lookup.games.base import Game, IndexTest, Neighbours, SolverKind

if TYPE_CHECKING:
    from collections.abc import MutableSequence

LOSS, WIN = 1, 3  # the codes of Outcome; compiled functions know only integers


class MaskGame(Game):
    """A game of filling masks. REQUIRED: `cells`, `masks`. OPTIONAL: all that a `Game` has."""

    solver: ClassVar[SolverKind] = "mask"

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells the board has."""

    @property
    @abstractmethod
    def masks(self) -> tuple[int, ...]:
        """Every move, as the mask of the cells it fills; none is 0, none occurs twice."""

    @property
    def size(self) -> int:
        """One index for every set of filled cells."""
        return 1 << self.cells

    @property
    def start(self) -> int:
        """The empty board."""
        return 0

    @property
    def max_moves(self) -> int:
        """On an empty board every mask is a move."""
        return len(self.masks)

    @cached_property
    def successors(self) -> Neighbours:
        """Fill any mask that is still empty."""
        masks = self.masks

        def successors(index: int, out: MutableSequence[int]) -> int:
            count = 0
            for mask in masks:
                if index & mask == 0:
                    out[count] = index | mask
                    count += 1
            return count

        return successors

    @cached_property
    def predecessors(self) -> Neighbours:
        """Empty any mask that is filled."""
        masks = self.masks

        def predecessors(index: int, out: MutableSequence[int]) -> int:
            count = 0
            for mask in masks:
                if index & mask == mask:
                    out[count] = index ^ mask
                    count += 1
            return count

        return predecessors

    @cached_property
    def terminal(self) -> IndexTest:
        """The game ends when no mask is empty."""
        masks = self.masks
        end = WIN if self.misere else LOSS

        def terminal(index: int) -> int:
            for mask in masks:
                if index & mask == 0:
                    return 0
            return end

        return terminal
