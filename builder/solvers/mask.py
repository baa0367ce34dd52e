"""Plans for games in which a move fills an all-empty mask of cells.

Boards of up to `REMOTENESS_CELLS` cells get outcome and remoteness (`mask_scores`), larger ones a bit a
position (`mask_bits`). The index is the set of filled cells. A shard is the positions that share their
leading cells; a move fills some of these or none, so a shard needs those that have one of them more
filled, and thereby all that have more.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Engine
from builder.solvers.mask_bits import GROUP_CELLS, WORD, WORD_CELLS, BitKernel, BitLevels
from builder.solvers.mask_scores import FINISHED, ScoreKernel, ScoreLevels, ScoreMoves
from builder.solvers.plan import Piece, Plan, Shard
from builder.solvers.solution import Computed, PackedColumn, Solution, slices
from lookup.blocks import smallest_bits
from lookup.format import OUTCOME, Totals, outcome_column, remoteness_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lookup.games.mask_game import MaskGame

REMOTENESS_CELLS = 25
"""Boards up to this many cells get remoteness; larger ones a bit a position."""

_WHOLE_SCORES, _WHOLE_BITS = 21, 25  # boards of up to so many cells are one shard
_SHARDS_BITS = 6  # 64 shards keep some cores busy ...
_SHARD_CELLS = 28  # ... unless they are larger than this
_STRETCH = 1 << 22  # elements counted at a time


def plan(game: MaskGame, engine: Engine) -> Plan:
    """The plan for a game."""
    if game.cells <= REMOTENESS_CELLS:
        return ScoresPlan(game, engine)
    return BitsPlan(game, engine)


def memory_needed(game: MaskGame, engine: Engine) -> int:
    """Bytes that a plan takes at its peak."""
    with_scores = game.cells <= REMOTENESS_CELLS
    leading = _leading(game.cells, _WHOLE_SCORES if with_scores else _WHOLE_BITS)
    shard = 1 << max(WORD_CELLS, game.cells - leading)
    room = 4 * min(shard, _STRETCH)
    if engine == Engine.PYTHON:
        room += 12 * shard if with_scores else shard  # numpy looks at a third of a shard at a time
    return max(game.size if with_scores else game.size // 8, WORD) + room


def _leading(cells: int, whole: int) -> int:
    """How many leading cells the positions of a shard share, if so many cells are still one shard."""
    return max(_SHARDS_BITS, cells - _SHARD_CELLS) if cells > whole else 0


def _shards(cells: int, leading: int, array: str, per_element: int) -> list[Shard]:
    """The shards of a board, fullest first; an element of the array holds so many positions."""
    size = 1 << cells - leading
    last = (1 << leading) - 1
    # Shard `number` is at place `last - number`: whoever takes them in order starts at the end.
    return [
        Shard(
            number * size,
            (number + 1) * size,
            size,
            tuple(last - (number | 1 << bit) for bit in range(leading) if not number >> bit & 1),
            (Piece(array, number * size // per_element, (number + 1) * size // per_element),),
        )
        for number in range(last, -1, -1)
    ]


class BitsPlan(Plan):
    """Outcomes alone. The array is the packed column itself."""

    def __init__(self, game: MaskGame, engine: Engine) -> None:
        self._game = game
        self.parallel = engine == Engine.NUMBA
        self.total = game.size
        self._words = np.zeros(max(1, game.size // WORD), np.uint64)
        self._packed = self._words.view(np.uint8)[: max(1, game.size // 8)]
        self.arrays = {OUTCOME: self._packed}
        self.columns = (outcome_column(1, game.size),)
        compiled = engine == Engine.NUMBA and game.cells >= GROUP_CELLS
        form = (BitKernel if compiled else BitLevels)(game.cells, game.masks, game.misere)
        self._solve = form.solve

    def stages(self) -> Iterator[Sequence[Shard]]:
        """One stage."""
        cells = self._game.cells
        yield _shards(cells, _leading(cells, _WHOLE_BITS), OUTCOME, 8)

    def run(self, shard: Shard) -> None:
        """Solve a range of positions."""
        self._solve(self._words, shard.low // WORD, max(1, shard.high // WORD))

    def solution(self) -> Solution:
        """The bits as they are."""
        size = self._game.size
        if size < WORD:
            self._words &= np.uint64((1 << size) - 1)
        wins = _count(self._words)
        column = PackedColumn(self.columns[0], self._packed, OUTCOME)
        return Solution((column,), Totals((size - wins, 0, wins)))


class ScoresPlan(Plan):
    """Outcomes and remoteness."""

    def __init__(self, game: MaskGame, engine: Engine) -> None:
        self._game = game
        self.parallel = engine == Engine.NUMBA
        self.total = game.size
        words = 1 << max(0, game.cells - WORD_CELLS)
        self._padded = np.zeros((words + 1) * WORD, np.int8)
        self._scores: NDArray[np.int8] = self._padded[: game.size]
        self.arrays = {"scores": self._scores}
        moves = ScoreMoves(game.masks, game.misere)
        form = ScoreKernel(moves) if engine == Engine.NUMBA else ScoreLevels(moves)
        self._solve = form.solve

    def stages(self) -> Iterator[Sequence[Shard]]:
        """One stage."""
        cells = self._game.cells
        yield _shards(cells, _leading(cells, _WHOLE_SCORES), "scores", 1)

    def run(self, shard: Shard) -> None:
        """Solve a range of positions."""
        self._solve(self._padded, shard.low // WORD, max(1, shard.high // WORD))

    def solution(self) -> Solution:
        """The scores, taken apart when they are asked for."""
        size, scores = self._game.size, self._scores
        wins, nearest = 0, FINISHED
        for low, high in slices(0, size, _STRETCH):
            some = scores[low:high]
            wins += int(np.count_nonzero(some > 0))
            nearest = min(nearest, int(np.abs(some).min()))
        longest = FINISHED - nearest
        bits = smallest_bits(longest)

        def won(low: int, high: int) -> NDArray[np.uint8]:
            return (scores[low:high] > 0).view(np.uint8)

        def remoteness(low: int, high: int) -> NDArray[np.uint8]:
            return (FINISHED - np.abs(scores[low:high])).view(np.uint8)

        columns = (
            PackedColumn(outcome_column(1, size), Computed(won, 1, size)),
            PackedColumn(remoteness_column(bits, size), Computed(remoteness, bits, size)),
        )
        return Solution(columns, Totals((size - wins, 0, wins), longest))


def _count(words: NDArray[np.uint64]) -> int:
    """How many bits are set; numpy lets threads count side by side."""

    def count(part: tuple[int, int]) -> int:
        return int(np.bitwise_count(words[part[0] : part[1]]).sum(dtype=np.int64))

    parts = list(slices(0, len(words), _STRETCH))
    if len(parts) == 1:
        return count(parts[0])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(count, parts))
