"""Domineering: the players have different moves, so the index tells who is to move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, InvalidPositionError, parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence


class Domineering(Game):
    """By turns one player puts dominoes down, the other across, each on two empty cells.

    Whoever cannot move loses.
    """

    rows: int = parameter(default=4, least=1, most=6, help="Rows of the board.")
    cols: int = parameter(default=4, least=1, most=6, help="Columns of the board.")

    solver = "ordered"

    @property
    def cells(self) -> int:
        """The number of cells, counted along the rows."""
        return self.rows * self.cols

    @property
    def size(self) -> int:
        """The empty cells are the bits of index // 2, so that every move makes it smaller."""
        return 2 << self.cells

    @property
    def start(self) -> int:
        """All cells are empty; the last bit is 0, so that Vertical is to move."""
        return self.size - 2

    @property
    def max_moves(self) -> int:
        """No more than there are cells."""
        return self.cells

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Fill two cells; then it is the other's turn."""
        empty, side = index >> 1, index & 1
        step = 1 if side else self.cols
        moves = 0
        for at in range(self.cells - step):
            domino = 1 << at | 1 << at + step
            if empty & domino == domino and not (side and (at + 1) % self.cols == 0):
                out[moves] = (empty ^ domino) << 1 | 1 - side
                moves += 1
        return moves

    def format(self, index: int) -> str:
        """Rows from the top with 'X' for a filled cell, and who is to move: V or H."""
        cells = "".join("X."[index >> at & 1] for at in range(1, self.cells + 1))
        rows = [cells[at : at + self.cols] for at in range(0, self.cells, self.cols)]
        return f"{'/'.join(rows)} {'VH'[index & 1]}"

    def parse(self, text: str) -> int:
        """Text to index."""
        if len(text) == len(self.format(0)):
            cells, side = text[:-2].replace("/", ""), text[-1]
            index = sum(2 << at for at, sign in enumerate(cells) if sign == ".") + (side == "H")
            if index < self.size and self.format(index) == text:
                return index
        expected = f"{self.rows} rows of {self.cols} cells, '.' or 'X', joined by '/', and ' V' or ' H'"
        raise InvalidPositionError(text, expected)

    def move_name(self, index: int, after: int) -> str:
        """The two cells: columns are a, b, ...; rows are 1, 2, ... from the top."""
        filled = index >> 1 & ~(after >> 1)
        ends = [at for at in range(self.cells) if filled >> at & 1]
        return "-".join(f"{'abcdef'[at % self.cols]}{at // self.cols + 1}" for at in ends)

    def board(self, text: str) -> str:
        """The rows below each other, and who is to move."""
        rows, side = super().board(text).split(" ")
        return rows.replace("/", "\n") + f"\n{side} to move"
