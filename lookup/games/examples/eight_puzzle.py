"""The 8-puzzle: one player looks for the shortest way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, InvalidPositionError, Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

GOAL = 8  # 123/456/78.


def cells_of(index: int) -> list[int]:
    """The nine cells in reading order, 0 being the gap.

    The index is the gap's cell and, times 9, the number of the order of the tiles. No slide makes an
    even order odd: it passes no tile or two. So six choices out of 8, 7, ... 3 tiles say all.
    """
    left = [1, 2, 3, 4, 5, 6, 7, 8]
    cells = [0, 0, 0, 0, 0, 0, 0, 0, 0]
    gap, order, odd = index % 9, index // 9, 0
    for place in range(8):
        choice = order % (8 - place) if place < 6 else odd * (7 - place)
        order //= 8 - place
        odd = (odd + choice) % 2
        cells[place + (place >= gap)] = left.pop(choice)
    return cells


def index_of(cells: Sequence[int]) -> int:
    """The index of nine cells, or of those with the last two tiles swapped."""
    gap = place = order = 0
    weight = 1
    for at in range(9):
        if cells[at] == 0:
            gap = at
        elif place < 6:
            for later in range(at + 1, 9):
                order += weight * (0 < cells[later] < cells[at])
            weight *= 8 - place
            place += 1
    return 9 * order + gap


class EightPuzzle(Game):
    """Slide tiles into the gap until they are in order: 1 2 3, 4 5 6, 7 8 and the gap."""

    solver = "distance"
    size = 181_440
    start = index_of((8, 6, 7, 2, 5, 4, 3, 0, 1))
    max_moves = 4

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Slide a neighbour of the gap into it."""
        cells, gap = cells_of(index), index % 9
        moves = 0
        for at in range(9):
            if abs(at // 3 - gap // 3) + abs(at % 3 - gap % 3) == 1:
                cells[gap], cells[at] = cells[at], 0
                out[moves] = index_of(cells)
                cells[at], cells[gap] = cells[gap], 0
                moves += 1
        return moves

    predecessors = successors  # every slide can be undone

    def terminal(self, index: int) -> int:
        """All in order."""
        return Outcome.WIN if index == GOAL else 0

    def format(self, index: int) -> str:
        """Three rows, with '.' for the gap."""
        cells = "".join(".12345678"[tile] for tile in cells_of(index))
        return f"{cells[:3]}/{cells[3:6]}/{cells[6:]}"

    def parse(self, text: str) -> int:
        """Text to index."""
        if sorted(text) == sorted("123/456/78."):
            index = index_of([".12345678".index(tile) for tile in text if tile != "/"])
            if self.format(index) == text:
                return index
        expected = "three rows such as '867/254/3.1' from which '123/456/78.' can be reached"
        raise InvalidPositionError(text, expected)

    def move_name(self, index: int, after: int) -> str:
        """The tile that slides."""
        return str(cells_of(index)[after % 9])

    def board(self, text: str) -> str:
        """The rows below each other."""
        return super().board(text).replace("/", "\n")
