"""Tic-tac-toe: the game of the tutorial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence

POWERS = (1, 3, 9, 27, 81, 243, 729, 2187, 6561)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def cell(index: int, at: int) -> int:
    """What is in a cell: 0 nothing, 1 an x, 2 an o."""
    return index // POWERS[at] % 3


class TicTacToe(Game):
    """Two players by turns put an x and an o on a 3 x 3 board; three in a row win."""

    size = 3**9
    start = 0
    max_moves = 9

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Put the mover's sign into any empty cell."""
        signs = 0
        for at in range(9):
            signs += cell(index, at) > 0
        count = 0
        for at in range(9):
            if cell(index, at) == 0:
                out[count] = index + (1 + signs % 2) * POWERS[at]
                count += 1
        return count

    def terminal(self, index: int) -> int:
        """Three in a row were made by the other player; a full board is a draw."""
        full = True
        for a, b, c in LINES:
            if cell(index, a) == cell(index, b) == cell(index, c) != 0:
                return Outcome.LOSS
            full = full and cell(index, a) * cell(index, b) * cell(index, c) > 0
        return Outcome.DRAW if full else 0

    def format(self, index: int) -> str:
        """Three rows."""
        cells = "".join(".xo"[cell(index, at)] for at in range(9))
        return f"{cells[:3]}/{cells[3:6]}/{cells[6:]}"
