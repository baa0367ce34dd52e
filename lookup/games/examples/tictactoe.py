"""Tic-tac-toe: the game of the tutorial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence

POWERS = (1, 3, 9, 27, 81, 243, 729, 2187, 6561)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def count(index: int, sign: int) -> int:
    """How many of the nine cells hold a sign: 0 is an empty cell, 1 an x, 2 an o."""
    found = 0
    for power in POWERS:
        found += index // power % 3 == sign
    return found


def has_line(index: int, sign: int) -> bool:
    """Whether three of a sign are in a row."""
    for a, b, c in LINES:
        if index // POWERS[a] % 3 == index // POWERS[b] % 3 == index // POWERS[c] % 3 == sign:
            return True
    return False


class TicTacToe(Game):
    """Two players by turns put an x and an o on a 3 x 3 board; three in a row win."""

    size = 3**9
    start = 0
    max_moves = 9

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Put the mover's sign into any empty cell."""
        sign = 1 + count(index, 1) - count(index, 2)
        moves = 0
        for power in POWERS:
            if index // power % 3 == 0:
                out[moves] = index + sign * power
                moves += 1
        return moves

    def terminal(self, index: int) -> int:
        """Three in a row were made by the other player; a full board is a draw."""
        if has_line(index, 1) or has_line(index, 2):
            return Outcome.LOSS
        return 0 if count(index, 0) else Outcome.DRAW

    def is_position(self, index: int) -> bool:
        """As many o as x, or one x more; and play ended with the first line."""
        more = count(index, 1) - count(index, 2)
        return 0 <= more <= 1 and not has_line(index, 2 if more else 1)

    def format(self, index: int) -> str:
        """Three rows."""
        cells = "".join(".xo"[index // power % 3] for power in POWERS)
        return f"{cells[:3]}/{cells[3:6]}/{cells[6:]}"

    def move_name(self, index: int, after: int) -> str:
        """Columns are a, b, c; rows are 1, 2, 3 from the top."""
        row, column = divmod(
            POWERS.index((after - index) // (1 + count(index, 1) - count(index, 2))), 3
        )
        return f"{'abc'[column]}{row + 1}"
