"""Three men's morris: play may go on for ever, and the board looks the same from eight sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, Outcome, parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence

POWERS = (1, 3, 9, 27, 81, 243, 729, 2187, 6561)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
TURNS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8), (6, 3, 0, 7, 4, 1, 8, 5, 2),
    (8, 7, 6, 5, 4, 3, 2, 1, 0), (2, 5, 8, 1, 4, 7, 0, 3, 6),
    (2, 1, 0, 5, 4, 3, 8, 7, 6), (0, 3, 6, 1, 4, 7, 2, 5, 8),
    (6, 7, 8, 3, 4, 5, 0, 1, 2), (8, 5, 2, 7, 4, 1, 6, 3, 0),
)  # fmt: skip
EMPTY, X, O = 0, 1, 2  # noqa: E741 - as the pieces are called


def count(index: int, piece: int) -> int:
    """How many points hold a piece."""
    found = 0
    for power in POWERS:
        found += index // power % 3 == piece
    return found


def has_line(index: int, piece: int) -> bool:
    """Whether three of a piece are in a row, a column or a diagonal."""
    for a, b, c in LINES:
        if index // POWERS[a] % 3 == index // POWERS[b] % 3 == index // POWERS[c] % 3 == piece:
            return True
    return False


class ThreeMensMorris(Game):
    """Place three pieces each on nine points, then slide them; three in a row win.

    Players by turns place a piece on any empty point of a 3 x 3 board until each has three. Then they
    by turns slide a piece to a neighbouring empty point, along a row or a column and, if `diagonals`,
    also between the centre and a corner. Whoever first has three in a row, a column or a diagonal wins,
    in either phase. Whoever cannot slide loses; endless play is a draw.
    """

    diagonals: bool = parameter(default=False, help="Slides between the centre and the corners, too.")

    size = 2 * 3**9
    start = 0
    max_moves = 12
    symmetries = 8

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Place a piece, or slide one. An index below 3^9 has x to move, the others o."""
        mover = X if index < 3**9 else O
        other = index + 3**9 if mover == X else index - 3**9
        placing = count(index, mover) < 3
        moves = 0
        for to in range(9):
            if index // POWERS[to] % 3 != EMPTY:
                continue
            if placing:
                out[moves] = other + mover * POWERS[to]
                moves += 1
                continue
            for at in range(9):
                if index // POWERS[at] % 3 == mover and self.is_slide(at, to):
                    out[moves] = other + mover * (POWERS[to] - POWERS[at])
                    moves += 1
        return moves

    def is_slide(self, at: int, to: int) -> bool:
        """Whether a piece may slide from one point to another."""
        down, across = abs(at // 3 - to // 3), abs(at % 3 - to % 3)
        return down + across == 1 or (self.diagonals and down == across == 1 and 4 in (at, to))

    def terminal(self, index: int) -> int:
        """Three in a row were made by the player who has just moved."""
        return Outcome.LOSS if has_line(index, O if index < 3**9 else X) else 0

    def is_position(self, index: int) -> bool:
        """At most three pieces each, placed by turns, and no line of the player who is to move."""
        xs, os = count(index, X), count(index, O)
        if has_line(index, X if index < 3**9 else O) or xs > 3:
            return False
        return xs == os if index < 3**9 else xs == os + 1 or xs == os == 3

    def transform(self, index: int, k: int) -> int:
        """Four turns of the board, and their mirror images."""
        image = index - index % 3**9
        for at in range(9):
            image += index // POWERS[TURNS[k][at]] % 3 * POWERS[at]
        return image

    def format(self, index: int) -> str:
        """Three rows, and who is to move."""
        cells = "".join(".xo"[index // power % 3] for power in POWERS)
        return f"{cells[:3]}/{cells[3:6]}/{cells[6:]} {'xo'[index // 3**9]}"

    def move_name(self, index: int, after: int) -> str:
        """The point, or where from and where to: 'b2', 'b2-b3'; rows are 1, 2, 3 from the top."""
        points = [at for at in range(9) if index // POWERS[at] % 3 != after // POWERS[at] % 3]
        points.sort(key=lambda at: index // POWERS[at] % 3 == EMPTY)
        return "-".join(f"{'abc'[at % 3]}{at // 3 + 1}" for at in points)

    def board(self, text: str) -> str:
        """The rows below each other, and who is to move."""
        rows, mover = super().board(text).split(" ")
        return rows.replace("/", "\n") + f"\n{mover} to move"
