"""King and rook against king: a chess endgame with all its positions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lookup import Game, InvalidPositionError, Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence

TEXT = re.compile(r"K([a-h][1-8]) (?:R([a-h][1-8]) )?k([a-h][1-8]) ([wb])")
SQUARES = [file + rank for rank in "12345678" for file in "abcdefgh"]
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
WHITE, BLACK = 0, 1


def index_of(side: int, king: int, rook: int, lone: int) -> int:
    """The index: who is to move, the white king, the rook, the lone king."""
    return ((side * 64 + king) * 64 + rook) * 64 + lone


def touch(a: int, b: int) -> bool:
    """Whether two squares are neighbours, or the same."""
    return abs(a % 8 - b % 8) <= 1 and abs(a // 8 - b // 8) <= 1


def checks(king: int, rook: int, at: int) -> bool:
    """Whether the rook attacks a square, the white king not being in between."""
    if rook == at or (rook % 8 != at % 8 and rook // 8 != at // 8):
        return False
    if rook // 8 == at // 8:
        return king // 8 != at // 8 or not min(rook, at) < king < max(rook, at)
    return king % 8 != at % 8 or not min(rook, at) < king < max(rook, at)


def beyond(square: int, step: tuple[int, int]) -> int:
    """The next square in a direction, or -1."""
    file, rank = square % 8 + step[0], square // 8 + step[1]
    return 8 * rank + file if 0 <= file < 8 and 0 <= rank < 8 else -1


class KRK(Game):
    """White has a king and a rook, Black a king; the rules are those of chess.

    Mate wins, stalemate is a draw, and so is a rook that is taken. A rook on the square of the lone
    king is one that has just been taken.
    """

    size = 2 * 64**3
    start = index_of(WHITE, 4, 7, 60)  # Ke1 Rh1 ke8
    max_moves = 8 + 14
    symmetries = 8

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Moves of the king and of the rook, or of the lone king."""
        king, rook, lone = index // 64**2 % 64, index // 64 % 64, index % 64
        moves = 0
        for number in range(8):
            step = STEPS[number]
            if index >= 64**3:
                to = beyond(lone, step)
                if to >= 0 and not touch(to, king) and not checks(king, rook, to):
                    out[moves] = index_of(WHITE, king, rook, to)
                    moves += 1
                continue
            to = beyond(king, step)
            if to >= 0 and to != rook and not touch(to, lone):
                out[moves] = index_of(BLACK, to, rook, lone)
                moves += 1
            to = beyond(rook, step) if number < 4 else -1
            while to >= 0 and to != king:
                out[moves] = index_of(BLACK, king, to, lone)
                moves += 1
                to = beyond(to, step)
        return moves

    def terminal(self, index: int) -> int:
        """A taken rook, mate, or stalemate."""
        king, rook, lone = index // 64**2 % 64, index // 64 % 64, index % 64
        if index < 64**3:
            return Outcome.DRAW if rook == lone else 0
        for step in STEPS:
            to = beyond(lone, step)
            if to >= 0 and not touch(to, king) and not checks(king, rook, to):
                return 0
        return Outcome.LOSS if checks(king, rook, lone) else Outcome.DRAW

    def is_position(self, index: int) -> bool:
        """Kings are apart, and Black is not in check when White is to move."""
        king, rook, lone = index // 64**2 % 64, index // 64 % 64, index % 64
        if king == rook or touch(king, lone):
            return False
        return not checks(king, rook, lone) if index < 64**3 else rook != lone

    def transform(self, index: int, k: int) -> int:
        """Mirror the files if k & 1, the ranks if k & 2, and the long diagonal if k & 4."""
        image = index // 64**3
        for weight in (64**2, 64, 1):
            square = index // weight % 64 ^ (7 if k & 1 else 0) ^ (56 if k & 2 else 0)
            image = image * 64 + (square % 8 * 8 + square // 8 if k & 4 else square)
        return image

    def format(self, index: int) -> str:
        """The pieces and who is to move: 'Ke1 Rh1 ke8 w'; without R if it has been taken."""
        king, rook, lone = (SQUARES[index // weight % 64] for weight in (64**2, 64, 1))
        taken = "" if rook == lone else f"R{rook} "
        return f"K{king} {taken}k{lone} {'wb'[index // 64**3]}"

    def parse(self, text: str) -> int:
        """Text to index."""
        if match := TEXT.fullmatch(text):
            king, rook, lone, side = match.groups()
            squares = (SQUARES.index(square) for square in (king, rook or lone, lone))
            index = index_of("wb".index(side), *squares)
            if self.is_position(index) and self.format(index) == text:
                return index
        raise InvalidPositionError(text, "a legal position such as 'Ke1 Rh1 ke8 w'")

    def move_name(self, index: int, after: int) -> str:
        """Piece, from, to: 'Ke1-e2', 'Rh1-h8', 'ke8-e7'; 'x' for the capture."""
        for piece, weight in (("K", 64**2), ("R", 64), ("k", 1)):
            at, to = index // weight % 64, after // weight % 64
            if at != to:
                taken = piece == "k" and to == after // 64 % 64
                return f"{piece}{SQUARES[at]}{'x' if taken else '-'}{SQUARES[to]}"
        raise ValueError(f"no move leads from {index} to {after}")

    def board(self, text: str) -> str:
        """The chess board with Black above."""
        at = {piece[1:]: piece[0] for piece in super().board(text).split()[:-1]}
        rows = [" ".join(at.get(file + rank, ".") for file in "abcdefgh") for rank in "87654321"]
        return "\n".join([*rows, f"{'White' if text[-1] == 'w' else 'Black'} to move"])
