"""A game as a user writes it, of some million positions: cat and mouse on a board, both like kings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, Outcome, parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence


class Chase(Game):
    """The cat moves first and wins when it catches the mouse; a mouse that is never caught draws."""

    side: int = parameter(default=40, least=2, most=100, help="Cells of a side of the board.")

    max_moves = 8

    @property
    def size(self) -> int:
        """Who is to move, where the mover is, where the other is."""
        return 2 * self.side**4

    @property
    def start(self) -> int:
        """In opposite corners."""
        return self.side**2 - 1

    def terminal(self, index: int) -> int:
        """Caught: the cat has won."""
        cells = self.side * self.side
        if index // cells % cells != index % cells:
            return 0
        return Outcome.LOSS if index // (cells * cells) else Outcome.WIN

    def around(self, index: int, out: MutableSequence[int], moved_last: int) -> int:
        """The positions a king's step of one piece away; each time the places of the two change."""
        side, cells = self.side, self.side * self.side
        turn, mover, other = index // (cells * cells), index // cells % cells, index % cells
        steps = other if moved_last else mover
        waits = mover if moved_last else other
        row, column, count = steps // side, steps % side, 0
        for down in range(max(0, row - 1), min(side, row + 2)):
            for right in range(max(0, column - 1), min(side, column + 2)):
                to = down * side + right
                if to != steps:
                    pair = to * cells + waits if moved_last else waits * cells + to
                    out[count] = (1 - turn) * cells * cells + pair
                    count += 1
        return count

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """The mover steps."""
        return self.around(index, out, 0)


class ChaseBothWays(Chase):
    """The same, with predecessors."""

    def predecessors(self, index: int, out: MutableSequence[int]) -> int:
        """The other one has stepped."""
        return self.around(index, out, 1)
