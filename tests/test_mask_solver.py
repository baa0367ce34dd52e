"""The mask solver against a twin that shares nothing with it: coordinates, sets and recursion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from builder.compile import Engine
from builder.solvers import mask
from lookup.blocks import unpack
from lookup.errors import InvalidPositionError
from lookup.games.mask_game import MaskGame
from lookup.games.tactics import Tactics
from tests.solving import solve

if TYPE_CHECKING:
    from builder.solvers.solution import Solution

SMALL_BOARDS = [(rows, cols) for rows in range(1, 5) for cols in range(rows, 17) if rows * cols <= 12]


def runs(rows: int, cols: int, most: int) -> list[frozenset[tuple[int, int]]]:
    """Every run of cells, from the words of the rules."""
    found = set()
    for row in range(rows):
        for col in range(cols):
            for length in range(1, most + 1):
                across = [(row, col + step) for step in range(length)]
                down = [(row + step, col) for step in range(length)]
                found |= {frozenset(run) for run in (across, down)}
    inside = {(row, col) for row in range(rows) for col in range(cols)}
    return [run for run in found if run <= inside]


def twin_by_recursion(game: Tactics) -> dict[int, tuple[bool, int]]:
    """Who wins, and how far off the end is, of every set of empty cells, by recursion."""
    moves = runs(game.rows, game.cols, game.max_run)

    @cache
    def value(empty: frozenset[tuple[int, int]]) -> tuple[bool, int]:
        after = [value(empty - run) for run in moves if run <= empty]
        if not after:
            return not game.normal, 0
        losses = [plies for wins, plies in after if not wins]
        return (True, min(losses) + 1) if losses else (False, max(plies for _, plies in after) + 1)

    cells = [(row, col) for row in range(game.rows) for col in range(game.cols)]
    return {
        index: value(frozenset(cell for at, cell in enumerate(cells) if not index >> at & 1))
        for index in range(1 << len(cells))
    }


def twin_by_layers(game: Tactics) -> tuple[list[bool], list[int]]:
    """The same as the recursion for larger boards: plain lists, fullest boards first."""
    cells = {(at // game.cols, at % game.cols): at for at in range(game.cells)}
    moves = [sum(1 << cells[cell] for cell in run) for run in runs(game.rows, game.cols, game.max_run)]
    wins, plies = [not game.normal] * game.size, [0] * game.size
    for index in range(game.size - 2, -1, -1):
        quickest, slowest = 99, 0
        for move in moves:
            if not index & move:
                after = index + move
                if wins[after]:
                    slowest = max(slowest, plies[after])
                else:
                    quickest = min(quickest, plies[after])
        wins[index] = quickest < 99
        plies[index] = 1 + (quickest if quickest < 99 else slowest)
    return wins, plies


def decoded(solution: Solution) -> tuple[np.ndarray, ...]:
    return tuple(unpack(part.data, part.column.bits, part.column.items) for part in solution.columns)


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("board", SMALL_BOARDS, ids=str)
def test_agrees_with_recursion(board: tuple[int, int], normal: bool) -> None:
    for max_run in {0, 1, min(2, max(board))}:
        game = Tactics(*board, max_run, normal)
        twin = twin_by_recursion(game)
        for engine in Engine:
            won, plies = decoded(solve(mask.ScoresPlan, game, engine))
            assert [(bool(won[at]), plies[at]) for at in range(game.size)] == list(twin.values())


@pytest.mark.parametrize("normal", [False, True])
def test_every_position_of_4x4_agrees_with_recursion(normal: bool) -> None:
    game = Tactics(4, 4, normal=normal)
    twin = twin_by_recursion(game)
    won, plies = decoded(solve(mask.ScoresPlan, game, Engine.PYTHON))
    assert [(bool(won[at]), plies[at]) for at in range(game.size)] == list(twin.values())


@pytest.mark.parametrize(
    ("board", "normal"),
    [((2, 9), True), ((3, 6), False)],
    ids=str,
)
def test_larger_boards_agree_with_layers(board: tuple[int, int], normal: bool) -> None:
    game = Tactics(*board, normal=normal)
    wins, plies = twin_by_layers(game)
    for engine in Engine:
        stored_wins, stored_plies = decoded(solve(mask.ScoresPlan, game, engine))
        assert stored_wins.astype(bool).tolist() == wins
        assert stored_plies.tolist() == plies


@pytest.mark.parametrize("board", [(1, 1), (1, 2), (2, 3), (1, 6), (1, 7), (4, 4), (2, 9)], ids=str)
@pytest.mark.parametrize("normal", [False, True])
def test_all_four_ways_give_the_same_bytes(board: tuple[int, int], normal: bool) -> None:
    game = Tactics(*board, normal=normal)
    slow, fast = (solve(mask.ScoresPlan, game, engine) for engine in Engine)
    bits = [solve(mask.BitsPlan, game, engine) for engine in Engine]
    assert slow.totals == fast.totals
    assert bits[0].totals == bits[1].totals == slow.totals._replace(longest=-1)
    for one, other in zip(slow.columns, fast.columns, strict=True):
        assert one.column == other.column
        assert one.data.tobytes() == other.data.tobytes()
    for solution in bits:
        assert solution.columns[0].data.tobytes() == slow.columns[0].data.tobytes()


@pytest.mark.parametrize(
    "board",
    [(r, c) for r in range(1, 5) for c in range(r, 25) if r * c <= 24 and r % 2 == c % 2],
    ids=str,
)
def test_normal_play_follows_the_mirror_theorem(board: tuple[int, int]) -> None:
    """Both sides even: answer a move with its image. Both odd: take the centre first."""
    rows, cols = board
    for game in (Tactics(rows, cols, normal=True), Tactics(cols, rows, normal=True)):
        first_wins = solve(mask.BitsPlan, game, Engine.NUMBA).columns[0].data[0] & 1
        assert first_wins == rows % 2


def test_the_finding_in_the_readme() -> None:
    """Misere, the second player wins just where it does under normal play; 1x1 is the exception."""
    for rows in range(1, 5):
        for cols in range(rows, 24 // rows + 1):
            first_wins = solve(mask.BitsPlan, Tactics(rows, cols), Engine.NUMBA).columns[0].data[0] & 1
            both_even = rows % 2 == cols % 2 == 0
            assert bool(first_wins) is not (both_even or rows == cols == 1), (rows, cols)


@dataclass(frozen=True)
class Dominoes(MaskGame):
    """Cram on a strip: fill two neighbouring cells. Boards can end with cells still empty."""

    length: int
    misere_: bool = False

    name: ClassVar[str] = "dominoes"

    @property
    def cells(self) -> int:
        return self.length

    @property
    def misere(self) -> bool:
        return self.misere_

    @property
    def masks(self) -> tuple[int, ...]:
        return tuple(0b11 << at for at in range(self.length - 1))

    def parse(self, text: str) -> int:
        raise InvalidPositionError(text, "nothing: this game has no texts")

    def format(self, index: int) -> str:
        return str(index)

    def move_name(self, index: int, after: int) -> str:
        return str(index ^ after)


@pytest.mark.parametrize("engine", Engine)
def test_games_that_end_before_the_board_is_full(engine: Engine) -> None:
    # Dawson's Kayles: the second player wins a strip of these lengths (OEIS A002187 is 0 there).
    second_wins = {0, 1, 5, 9, 15}
    for length in range(1, 18):
        solution = solve(mask.BitsPlan, Dominoes(length), engine)
        assert solution.columns[0].data[0] & 1 != (length in second_wins)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("misere", [False, True])
def test_stuck_positions_count_for_both_rules(engine: Engine, misere: bool) -> None:
    game = Dominoes(9, misere)
    won, plies = decoded(solve(mask.ScoresPlan, game, engine))
    values: dict[int, tuple[bool, int]] = {}
    for index in range(game.size - 1, -1, -1):
        after = [values[one] for one in game.successors_of(index)]
        losses = [depth for wins, depth in after if not wins]
        if not after:
            values[index] = misere, 0
        else:
            values[index] = (True, min(losses) + 1) if losses else (False, max(p for _, p in after) + 1)
    assert all(values[index] == (bool(won[index]), plies[index]) for index in range(game.size))
    assert (
        solve(mask.BitsPlan, game, engine).columns[0].data == np.packbits(won, bitorder="little")
    ).all()


def test_boards_of_26_cells_keep_outcomes_only() -> None:
    solution = solve(mask.plan, Tactics(2, 13), Engine.NUMBA)
    assert [part.column.name for part in solution.columns] == ["outcome"]
    assert solution.totals.longest == -1
    assert sum(solution.totals.counts) == 1 << 26
