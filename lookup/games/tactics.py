"""Tactics (TacTix, Bulo): fill a run of cells in a row or column; whoever fills the last one loses."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import ClassVar, Self

from lookup.errors import InvalidParameterError, InvalidPositionError
from lookup.games.mask_game import MaskGame
from lookup.games.parameters import parameter

MAX_CELLS = 48
_PIECE_CELLS = 12
_NAME = re.compile(r"tactics-(\d{1,2})x(\d{1,2})(?:-run(\d{1,2}))?(-normal)?")


@lru_cache(maxsize=2 << _PIECE_CELLS)
def _text(bits: int, cols: int, rows: int) -> str:
    """The text of some rows; remembered, since moves leave most of a board as it was."""
    cells = format(bits, f"0{rows * cols}b")[::-1].replace("0", ".").replace("1", "X")
    return "/".join([cells[at : at + cols] for at in range(0, rows * cols, cols)])


def _letters(col: int) -> str:
    """The name of a column; after z they go on as aa, ab, ...: boards are as long as 48 cells."""
    return chr(97 + col) if col < 26 else "a" + chr(97 + col - 26)


class Tactics(MaskGame):
    """Fill runs of cells in a row or column; whoever fills the last cell loses (TacTix, Bulo)."""

    rows: int = parameter(help="Rows of the board.", bounded=False)
    cols: int = parameter(help="Columns of the board.", bounded=False)
    max_run: int = parameter(
        default=0, help="Most cells a move may fill; 0 for the longer side.", bounded=False
    )
    normal: bool = parameter(default=False, help="Whoever fills the last cell wins.")

    name: ClassVar[str] = "tactics"

    def __post_init__(self) -> None:
        for side, value in (("rows", self.rows), ("cols", self.cols)):
            if value < 1:
                raise InvalidParameterError(side, value, f"1 to {MAX_CELLS}")
        if self.cells > MAX_CELLS:
            board = f"{self.rows}x{self.cols}"
            raise InvalidParameterError("board", board, f"1 to {MAX_CELLS} cells, not {self.cells}")
        longest = max(self.rows, self.cols)
        if not 0 <= self.max_run <= longest:
            raise InvalidParameterError("max_run", self.max_run, f"1 to {longest}, or 0 for that")
        object.__setattr__(self, "max_run", self.max_run or longest)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.rows * self.cols

    @property
    def misere(self) -> bool:
        """The usual rule: whoever fills the last cell loses."""
        return not self.normal

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """Every run of 1 to `max_run` cells: by first cell, along the row and then the column."""
        masks: dict[int, None] = {}
        for row in range(self.rows):
            for col in range(self.cols):
                for step, room in ((1, self.cols - col), (self.cols, self.rows - row)):
                    mask = 0
                    for length in range(min(self.max_run, room)):
                        mask |= 1 << (row * self.cols + col + length * step)
                        masks[mask] = None
        return tuple(masks)

    @property
    def rules(self) -> str:
        """The rules with this table's parameters."""
        end = "wins" if self.normal else "loses"
        return (
            f"{self.rows} x {self.cols} cells, all empty at the start. A move fills 1 to "
            f"{self.max_run} adjacent empty cells of one row or one column. Whoever fills the last "
            f"cell {end}."
        )

    @property
    def notation(self) -> str:
        """How positions and moves are written, with an example of this size."""
        return (
            "Rows from the top joined by '/', '.' for an empty cell, 'X' for a filled one: "
            f"'{self.format(self.size // 3)}'. A move is its first and last cell, columns a, b, ... "
            "from the left, rows 1, 2, ... from the top: 'a1' or 'a1-a2'."
        )

    @property
    def indexing(self) -> str:
        """One bit a cell."""
        return "Bit r*cols + c is set when the cell in row r, column c is filled."

    def parse(self, text: str) -> int:
        """Text to index."""
        if not self._pattern.fullmatch(text):
            rows = text.split("/")
            if len(rows) != self.rows or any(len(row) != self.cols for row in rows):
                expected = f"{self.rows} rows of {self.cols} cells joined by '/'"
                raise InvalidPositionError(text, expected)
            raise InvalidPositionError(text, "only '.' and 'X' for cells")
        return int(text.replace("/", "").replace(".", "0").replace("X", "1")[::-1], 2)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        row = f"[.X]{{{self.cols}}}"
        return re.compile("/".join([row] * self.rows))

    def format(self, index: int) -> str:
        """Index to text."""
        return "/".join(
            [_text(index >> at & mask, cols, rows) for at, mask, cols, rows in self._pieces]
        )

    @cached_property
    def _pieces(self) -> tuple[tuple[int, int, int, int], ...]:
        """The board in pieces of whole rows, of few cells: place of the first cell, mask, size."""
        together = max(1, _PIECE_CELLS // self.cols)
        pieces = []
        for row in range(0, self.rows, together):
            rows = min(together, self.rows - row)
            pieces.append((row * self.cols, (1 << rows * self.cols) - 1, self.cols, rows))
        return tuple(pieces)

    def move_name(self, index: int, after: int) -> str:
        """First and last cell of the run, or the one cell."""
        return self._run_names[index ^ after]

    @cached_property
    def _run_names(self) -> dict[int, str]:
        names = {}
        for mask in self.masks:
            first = self._cell_name((mask & -mask).bit_length() - 1)
            last = self._cell_name(mask.bit_length() - 1)
            names[mask] = first if first == last else f"{first}-{last}"
        return names

    def board(self, text: str) -> str:
        """The cells, with the letters of columns above and the numbers of rows at the left.

        >>> print(Tactics(2, 3).board("X.X/..X"))
          a b c
        1 X . X
        2 . . X
        """
        self.parse(text)
        columns = [_letters(col) for col in range(self.cols)]
        lines = [("", columns), *((str(number), row) for number, row in enumerate(text.split("/"), 1))]
        margin, width = len(str(self.rows)), len(columns[-1])
        return "\n".join(
            " ".join([f"{label:>{margin}}", *(f"{cell:>{width}}" for cell in cells)])
            for label, cells in lines
        )

    def _cell_name(self, cell: int) -> str:
        row, col = divmod(cell, self.cols)
        return f"{_letters(col)}{row + 1}"

    @property
    def table_name(self) -> str:
        """`tactics-4x4`, and what differs from the usual rules."""
        run = "" if self.max_run == max(self.rows, self.cols) else f"-run{self.max_run}"
        return f"tactics-{self.rows}x{self.cols}{run}{'-normal' if self.normal else ''}"

    @classmethod
    def from_table_name(cls, table_name: str) -> Self | None:
        """The board that `table_name` names."""
        if not (match := _NAME.fullmatch(table_name)):
            return None
        rows, cols, run, normal = match.groups()
        game = cls(int(rows), int(cols), int(run or 0), normal is not None)
        return game if game.table_name == table_name else None

    @property
    def build_command(self) -> str:
        """The flags that differ from the default."""
        command = f"build-tables tactics --rows {self.rows} --cols {self.cols}"
        if self.max_run != max(self.rows, self.cols):
            command += f" --max-run {self.max_run}"
        return command + (" --normal" if self.normal else "")
