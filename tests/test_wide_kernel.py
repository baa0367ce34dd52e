"""The kernel that solves 64 words at a time against one position at a time, on boards of real size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import pytest

from builder.compile import Engine
from builder.executor import execute
from builder.solvers import mask
from lookup.games.tactics import Tactics
from tests.test_mask_solver import Dominoes, runs

if TYPE_CHECKING:
    from numpy.typing import NDArray


def masks_of(game: Tactics) -> NDArray[np.int64]:
    """Every move, from the words of the rules."""
    moves = runs(game.rows, game.cols, game.max_run)
    return np.array([sum(1 << row * game.cols + col for row, col in run) for run in moves], np.int64)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]  # numba has no types
def one_at_a_time(masks: Any, won: Any, misere: bool) -> None:
    """Who wins each position: a plain loop, from the full board to the empty one."""
    for index in range(len(won) - 1, -1, -1):
        moves = 0
        for move in masks:
            if index & move == 0:
                moves += 1
                if not won[index | move]:
                    won[index] = True
                    break
        if moves == 0:
            won[index] = misere


def bits(game: Any) -> NDArray[np.uint8]:
    packed = execute(mask.BitsPlan(game, Engine.NUMBA)).columns[0].data
    return np.asarray(packed, np.uint8)


@pytest.mark.parametrize("normal", [False, True])
def test_every_bit_of_5x5(normal: bool) -> None:
    game = Tactics(5, 5, normal=normal)
    won = np.zeros(game.size, np.bool_)
    one_at_a_time(masks_of(game), won, not normal)
    assert np.array_equal(np.packbits(won, bitorder="little"), bits(game))


@pytest.mark.parametrize("normal", [False, True])
def test_a_million_positions_of_5x6_with_all_their_successors(normal: bool) -> None:
    game = Tactics(5, 6, normal=normal)
    packed = bits(game)

    def won(indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        set_bits: NDArray[np.bool_] = packed[indices >> 3] >> (indices & 7).astype(np.uint8) & 1 != 0
        return set_bits

    sample = np.random.default_rng(20261117).integers(0, game.size, 1_000_000)
    sample[:2] = 0, game.size - 1
    expected = np.zeros(len(sample), np.bool_)
    ended = np.ones(len(sample), np.bool_)
    for move in masks_of(game):
        able = np.flatnonzero(sample & move == 0)
        expected[able] |= ~won(sample[able] | move)
        ended[able] = False
    assert ended.sum() == 1
    expected |= ended & (not normal)
    assert np.array_equal(won(sample), expected)
    assert 0.05 < 1 - expected.mean() < 0.15  # both values occur


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("length", [12, 13, 16, 17, 19, 22])
def test_games_that_end_before_the_board_is_full(length: int, misere: bool) -> None:
    """Boards of a group, of a block, of one cell more, and of shards."""
    game = Dominoes(length, misere)
    won = np.zeros(game.size, np.bool_)
    one_at_a_time(np.array(game.masks, np.int64), won, misere)
    assert np.array_equal(np.packbits(won, bitorder="little"), bits(game))


@pytest.mark.parametrize("seed", range(8))
def test_any_masks_at_all(seed: int) -> None:
    """Masks that no board has: all over words, groups and blocks."""
    random = np.random.default_rng(seed)
    cells = int(random.integers(12, 20))
    sizes = random.integers(1, 5, 30)
    chosen = [random.choice(cells, size, replace=False).tolist() for size in sizes]
    scattered = {sum(1 << cell for cell in move) for move in chosen}

    class Scattered(Dominoes):
        masks = tuple(sorted(scattered))

    game = Scattered(cells, bool(seed % 2))
    won = np.zeros(game.size, np.bool_)
    one_at_a_time(np.array(game.masks, np.int64), won, game.misere)
    assert np.array_equal(np.packbits(won, bitorder="little"), bits(game))
