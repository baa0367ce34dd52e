"""Cram: a game of filling cells, of which a `MaskGame` needs only the moves."""

from __future__ import annotations

from functools import cached_property

from lookup import InvalidPositionError, MaskGame, parameter


class Cram(MaskGame):
    """Two players by turns put a domino on two empty neighbouring cells, across or down.

    Whoever cannot move loses; in misere play, wins.
    """

    rows: int = parameter(default=4, least=1, most=6, help="Rows of the board.")
    cols: int = parameter(default=4, least=1, most=6, help="Columns of the board.")
    misere: bool = parameter(default=False, help="Whoever cannot move wins.")

    @property
    def cells(self) -> int:
        """The number of cells, counted along the rows."""
        return self.rows * self.cols

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """Dominoes that lie across, then those that lie down."""
        across = [0b11 << at for at in range(self.cells - 1) if (at + 1) % self.cols]
        down = [1 << at | 1 << at + self.cols for at in range(self.cells - self.cols)]
        return tuple(across + down)

    def format(self, index: int) -> str:
        """Rows from the top, with 'X' for a filled cell."""
        cells = "".join(".X"[index >> at & 1] for at in range(self.cells))
        return "/".join(cells[at : at + self.cols] for at in range(0, self.cells, self.cols))

    def parse(self, text: str) -> int:
        """Text to index."""
        if len(text) == len(self.format(0)):
            index = sum(1 << at for at, sign in enumerate(text.replace("/", "")) if sign == "X")
            if index < self.size and self.format(index) == text:
                return index
        expected = f"{self.rows} rows of {self.cols} cells, '.' or 'X', joined by '/'"
        raise InvalidPositionError(text, expected)

    def move_name(self, index: int, after: int) -> str:
        """The two cells: columns are a, b, ...; rows are 1, 2, ... from the top."""
        ends = [at for at in range(self.cells) if (after ^ index) >> at & 1]
        return "-".join(f"{'abcdef'[at % self.cols]}{at // self.cols + 1}" for at in ends)

    def board(self, text: str) -> str:
        """The rows below each other."""
        return super().board(text).replace("/", "\n")
