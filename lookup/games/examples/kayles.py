"""Kayles: a move may leave two rows, which are then played as a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence


class Kayles(Game):
    """Knock down one pin of a row, or two that stand together; whoever takes the last of all wins.

    A position is the length of a row, or of several: '1 + 11'.
    """

    longest: int = parameter(default=100, least=1, help="The longest row.")

    solver = "grundy"
    parts = 2

    @property
    def size(self) -> int:
        """The index is the number of pins."""
        return self.longest + 1

    @property
    def start(self) -> int:
        """The longest row."""
        return self.longest

    @property
    def max_moves(self) -> int:
        """One and two pins, from the end to the middle."""
        return self.longest + 1

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Two rows for each move, the shorter one first; either may have no pins."""
        moves = 0
        for taken in (1, 2):
            for shorter in range((index - taken) // 2 + 1):
                out[2 * moves] = shorter
                out[2 * moves + 1] = index - taken - shorter
                moves += 1
        return moves

    def move_name(self, index: int, after: tuple[int, ...]) -> str:
        """The pins that fall, counted from the end of the shorter row: '1' or '3-4'."""
        before = after[0] if len(after) == 2 else 0
        fallen = index - sum(after)
        return f"{before + 1}" if fallen == 1 else f"{before + 1}-{before + 2}"

    def board(self, text: str) -> str:
        """Rows of pins."""
        rows = super().board(text).split(" + ")
        return "  ".join("|" * int(row) or "." for row in rows)
