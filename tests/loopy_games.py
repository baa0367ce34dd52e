"""Games with loops that can be as large as a test wants them: for builds on a cluster.

RookEnding(13)    two players, 9,653,618 indices, eight symmetries, moves are listed
Hanoi(4, 12)      one player, 16,777,216 indices, all of them positions, with `predecessors`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, Outcome, parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence

STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))


class RookEnding(Game):
    """King and rook against king, on a board of any size: mate wins, all else is a draw."""

    side: int = parameter(default=8, least=3, most=64, help="Squares of a side of the board.")

    @property
    def start(self) -> int:
        """The king in a corner, the rook beside it, the lone king in the opposite corner."""
        return self.index(0, 0, 1, self.squares - 1)

    @property
    def squares(self) -> int:
        return self.side * self.side

    @property
    def size(self) -> int:
        """Who is to move, the king with the rook, the rook, and the lone king."""
        return 2 * self.squares**3

    @property
    def max_moves(self) -> int:
        return 8 + 2 * (self.side - 1)

    symmetries = 8

    def square(self, index: int, piece: int) -> int:
        return int(index // self.squares ** (2 - piece) % self.squares)

    def index(self, mover: int, king: int, rook: int, lone: int) -> int:
        return ((mover * self.squares + king) * self.squares + rook) * self.squares + lone

    def touch(self, a: int, b: int) -> bool:
        return abs(a % self.side - b % self.side) <= 1 and abs(a // self.side - b // self.side) <= 1

    def beyond(self, square: int, number: int) -> int:
        """The next square in a direction, or -1."""
        across, up = STEPS[number]
        file, rank = square % self.side + across, square // self.side + up
        return rank * self.side + file if 0 <= file < self.side and 0 <= rank < self.side else -1

    def checks(self, king: int, rook: int, at: int) -> bool:
        """Whether the rook attacks a square, the king with it not being in between."""
        side = self.side
        between = min(rook, at) < king < max(rook, at)
        if rook == at:
            return False
        if rook // side == at // side:
            return not (between and king // side == at // side)
        return rook % side == at % side and not (between and king % side == at % side)

    def flees(self, king: int, rook: int, to: int) -> bool:
        """Whether the lone king may go to a square, where it may take the rook."""
        return to >= 0 and not self.touch(to, king) and not self.checks(king, rook, to)

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        king, rook, lone = self.square(index, 0), self.square(index, 1), self.square(index, 2)
        moves = 0
        for number in range(8):
            if index >= self.squares**3:
                to = self.beyond(lone, number)
                if self.flees(king, rook, to):
                    out[moves] = self.index(0, king, rook, to)
                    moves += 1
                continue
            to = self.beyond(king, number)
            if to >= 0 and to != rook and not self.touch(to, lone):
                out[moves] = self.index(1, to, rook, lone)
                moves += 1
            to = self.beyond(rook, number) if number < 4 else -1
            while to >= 0 and to != king:
                out[moves] = self.index(1, king, to, lone)
                moves += 1
                to = self.beyond(to, number)
        return moves

    def terminal(self, index: int) -> int:
        """A rook on the square of the lone king has been taken."""
        king, rook, lone = self.square(index, 0), self.square(index, 1), self.square(index, 2)
        if index < self.squares**3:
            return Outcome.DRAW if rook == lone else 0
        for number in range(8):
            if self.flees(king, rook, self.beyond(lone, number)):
                return 0
        return Outcome.LOSS if self.checks(king, rook, lone) else Outcome.DRAW

    def is_position(self, index: int) -> bool:
        king, rook, lone = self.square(index, 0), self.square(index, 1), self.square(index, 2)
        if king == rook or self.touch(king, lone):
            return False
        return not self.checks(king, rook, lone) if index < self.squares**3 else rook != lone

    def transform(self, index: int, k: int) -> int:
        """Mirror the files if k & 1, the ranks if k & 2, and the diagonal if k & 4."""
        image, last = index // self.squares**3, self.side - 1
        for piece in range(3):
            square = self.square(index, piece)
            file, rank = square % self.side, square // self.side
            file, rank = last - file if k & 1 else file, last - rank if k & 2 else rank
            square = file * self.side + rank if k & 4 else rank * self.side + file
            image = image * self.squares + square
        return image


class Hanoi(Game):
    """Bring a tower to another peg, disc by disc, never a larger one on a smaller one."""

    pegs: int = parameter(default=4, least=3, most=9, help="Pegs.")
    discs: int = parameter(default=5, least=1, most=20, help="Discs of the tower.")

    solver = "distance"
    start = 0

    @property
    def size(self) -> int:
        """A digit for each disc, the peg it is on; the smallest disc is the last digit."""
        return int(self.pegs**self.discs)

    @property
    def max_moves(self) -> int:
        return self.pegs * (self.pegs - 1) // 2

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        blocked, moves, weight = 0, 0, 1
        for _ in range(self.discs):
            peg = index // weight % self.pegs
            if blocked >> peg & 1 == 0:
                for to in range(self.pegs):
                    if to != peg and blocked >> to & 1 == 0:
                        out[moves] = index + (to - peg) * weight
                        moves += 1
            blocked |= 1 << peg
            weight *= self.pegs
        return moves

    predecessors = successors  # every move can be undone

    def terminal(self, index: int) -> int:
        return Outcome.WIN if index == self.size - 1 else 0
