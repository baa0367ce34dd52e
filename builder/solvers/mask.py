"""Plans for games in which a move fills an all-empty mask of cells.

Boards of up to `REMOTENESS_CELLS` cells get outcome and remoteness (`mask_scores`), larger ones a bit a
position (`mask_bits`). The index is the set of filled cells. A shard is the positions that share their
leading cells; a move fills some of these or none, so a shard needs those that have one of them more
filled, and thereby all that have more.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from builder.compile import Engine
from builder.solvers.mask_bits import BLOCK_CELLS, GROUP_CELLS, WORD, WORD_CELLS, BitKernel, BitLevels
from builder.solvers.mask_scores import FINISHED, ScoreKernel, ScoreLevels, ScoreMoves
from builder.solvers.plan import Piece, RangePlan, Shard, Zeros
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


def plan(
    game: MaskGame, engine: Engine, zeros: Zeros = np.zeros, shard_cells: int | None = None
) -> RangePlan:
    """The plan for a game; if asked for, with shards of so many cells: see `least_shard_cells`."""
    kind = ScoresPlan if game.cells <= REMOTENESS_CELLS else BitsPlan
    return kind(game, engine, zeros, shard_cells)


def memory_needed(game: MaskGame, engine: Engine) -> int:
    """Bytes that a plan takes at its peak."""
    with_scores = game.cells <= REMOTENESS_CELLS
    leading = _leading(game.cells, _WHOLE_SCORES if with_scores else _WHOLE_BITS)
    shard = 1 << max(WORD_CELLS, game.cells - leading)
    room = 4 * min(shard, _STRETCH)
    if engine == Engine.PYTHON:
        room += 12 * shard if with_scores else shard  # numpy looks at a third of a shard at a time
    return max(game.size if with_scores else game.size // 8, WORD) + room


def least_shard_cells(game: MaskGame, engine: Engine) -> int:
    """The fewest cells of a shard that is not the whole board: kernels solve whole words, or blocks."""
    in_blocks = engine == Engine.NUMBA and game.cells > REMOTENESS_CELLS
    return BLOCK_CELLS if in_blocks else WORD_CELLS


def shard_memory(game: MaskGame, shard_cells: int) -> int:
    """Bytes that one shard of so many cells takes, with all that it reads."""
    cells = min(game.cells, shard_cells)
    # The empty board reads the most; and an interpreter looks at a third of a shard at a time.
    known = len({mask >> cells for mask in game.masks})
    with_scores = game.cells <= REMOTENESS_CELLS
    return (known + 1) * (1 << cells) // (1 if with_scores else 8) + (12 if with_scores else 1) * (
        1 << cells
    )


def _leading(cells: int, whole: int, shard_cells: int | None = None) -> int:
    """How many leading cells the positions of a shard share, if so many cells are still one shard.

    Unless it is said how many cells a shard has.
    """
    if shard_cells is not None:
        return max(0, cells - shard_cells)
    return max(_SHARDS_BITS, cells - _SHARD_CELLS) if cells > whole else 0


class _Cut(NamedTuple):
    """A board cut into shards that share their leading cells."""

    game: MaskGame
    leading: int
    array: str
    per_element: int  # positions that an element of the array holds

    @property
    def size(self) -> int:
        """The positions of a shard."""
        return 1 << self.game.cells - self.leading

    def piece(self, number: int) -> Piece:
        """What the shard of this number leaves."""
        size = max(1, self.size // self.per_element)
        return Piece(self.array, number * size, (number + 1) * size)

    def shards(self) -> list[Shard]:
        """All shards, fullest first."""
        size, leading = self.size, self.leading
        last = (1 << leading) - 1
        # Shard `number` is at place `last - number`: whoever takes them in order starts at the end.
        return [
            Shard(
                number * size,
                (number + 1) * size,
                size,
                tuple(last - (number | 1 << bit) for bit in range(leading) if not number >> bit & 1),
                (self.piece(number),),
            )
            for number in range(last, -1, -1)
        ]

    def reads(self, shard: Shard) -> list[Piece]:
        """What a shard reads of others: those that its moves lead to."""
        number, cells = shard.low // self.size, self.game.cells - self.leading
        filled = {mask >> cells for mask in self.game.masks}
        return [self.piece(number | more) for more in sorted(filled) if more and not number & more]


class _MaskPlan(RangePlan):
    """What both plans have: a board that is cut."""

    def __init__(self, cut: _Cut, engine: Engine) -> None:
        self._cut, self._game = cut, cut.game
        self.parallel = engine == Engine.NUMBA
        self.total = self.size = cut.game.size

    def stages(self) -> Iterator[Sequence[Shard]]:
        """One stage."""
        yield self._cut.shards()

    def reads(self, shard: Shard) -> list[Piece]:
        """The shards that its moves lead to."""
        return self._cut.reads(shard)


class BitsPlan(_MaskPlan):
    """Outcomes alone. The array is the packed column itself."""

    def __init__(
        self,
        game: MaskGame,
        engine: Engine,
        zeros: Zeros = np.zeros,
        shard_cells: int | None = None,
    ) -> None:
        leading = _leading(game.cells, _WHOLE_BITS, shard_cells)
        super().__init__(_Cut(game, leading, OUTCOME, 8), engine)
        self._words = zeros(max(1, game.size // WORD), np.uint64)
        self._packed = self._words.view(np.uint8)[: max(1, game.size // 8)]
        self.arrays = {OUTCOME: self._packed}
        self.columns = (outcome_column(1, game.size),)
        compiled = engine == Engine.NUMBA and game.cells >= GROUP_CELLS
        form = (BitKernel if compiled else BitLevels)(game.cells, game.masks, game.misere)
        self._solve = form.solve

    def run(self, shard: Shard) -> None:
        """Solve a range of positions."""
        self._solve(self._words, shard.low // WORD, max(1, shard.high // WORD))
        if self.size < WORD:
            self._words &= np.uint64((1 << self.size) - 1)

    def count(self, low: int, high: int) -> Totals:
        """A bit is a win."""
        wins = int(np.bitwise_count(self._words[low // WORD : -(-high // WORD)]).sum(dtype=np.int64))
        return Totals((high - low - wins, 0, wins))

    def packed(self, totals: Totals) -> tuple[PackedColumn, ...]:  # noqa: ARG002 - a bit is enough for all
        """The bits as they are."""
        return (PackedColumn(self.columns[0], self._packed, OUTCOME),)

    def solution(self) -> Solution:
        """The same, but counted in threads: numpy lets them count side by side."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            parts = pool.map(lambda part: self.count(*part), slices(0, self.size, _STRETCH * WORD))
            totals = reduce(Totals.joined, parts)
        return Solution(self.packed(totals), totals)


class ScoresPlan(_MaskPlan):
    """Outcomes and remoteness."""

    def __init__(
        self,
        game: MaskGame,
        engine: Engine,
        zeros: Zeros = np.zeros,
        shard_cells: int | None = None,
    ) -> None:
        leading = _leading(game.cells, _WHOLE_SCORES, shard_cells)
        super().__init__(_Cut(game, leading, "scores", 1), engine)
        words = 1 << max(0, game.cells - WORD_CELLS)
        self._padded = zeros((words + 1) * WORD, np.int8)
        self._scores: NDArray[np.int8] = self._padded[: game.size]
        self.arrays = {"scores": self._scores}
        moves = ScoreMoves(game.masks, game.misere)
        form = ScoreKernel(moves) if engine == Engine.NUMBA else ScoreLevels(moves)
        self._solve = form.solve

    def run(self, shard: Shard) -> None:
        """Solve a range of positions."""
        self._solve(self._padded, shard.low // WORD, max(1, shard.high // WORD))

    def count(self, low: int, high: int) -> Totals:
        """Scores of wins are positive, and the nearer to 0, the longer is the way."""
        some = self._scores[low:high]
        wins = int(np.count_nonzero(some > 0))
        return Totals((high - low - wins, 0, wins), FINISHED - int(np.abs(some).min()))

    def packed(self, totals: Totals) -> tuple[PackedColumn, ...]:
        """The scores, taken apart when they are asked for."""
        size, scores = self.size, self._scores
        bits = smallest_bits(totals.longest)

        def won(low: int, high: int) -> NDArray[np.uint8]:
            return (scores[low:high] > 0).view(np.uint8)

        def remoteness(low: int, high: int) -> NDArray[np.uint8]:
            return (FINISHED - np.abs(scores[low:high])).view(np.uint8)

        return (
            PackedColumn(outcome_column(1, size), Computed(won, 1, size)),
            PackedColumn(remoteness_column(bits, size), Computed(remoteness, bits, size)),
        )
