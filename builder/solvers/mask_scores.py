"""Outcomes and remoteness of games that fill empty masks of cells: a byte a position.

The byte is a *score*: a win in r is 126 - r and a loss in r is r - 126, so that the least score among
the successors is what the mover picks, and one step towards 0 counts the ply. 127 marks 'no successor
seen'.

Positions are solved from the last to the first, 64 at a time: those of a *word* share all cells but
the first six. An *outer* move leads to another word, which is known already; an *inner* one stays in
its word.

Without a compiler the same is done by numpy, over all words with equally many filled cells in their
number, which do not depend on each other. The two forms share only `ScoreMoves`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Engine, Kernel
from builder.solvers.mask_bits import WORD, WORD_CELLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

UNSEEN = 127
FINISHED = 126


class ScoreMoves:
    """A game's masks, split into parts for words and parts inside a word."""

    def __init__(self, masks: Sequence[int], misere: bool) -> None:
        self.misere = misere
        self.outer = [(mask >> WORD_CELLS, mask & WORD - 1) for mask in masks if mask >= WORD]
        self._inner = [mask for mask in masks if mask < WORD]

    def inner_targets(self, at: int) -> list[int]:
        """Where inner moves lead from a position of a word."""
        return [at | mask for mask in self._inner if not at & mask]


class ScoreKernel:
    """The compiled form for one game; `solve` may run in several threads, on different words."""

    def __init__(self, moves: ScoreMoves) -> None:
        lows = [low for _, low in moves.outer]
        # For each outer move the least score that a position may take from it: UNSEEN bars the move.
        bar = [[UNSEEN if at & low else -UNSEEN for at in range(WORD)] for low in lows]
        targets = [moves.inner_targets(at) for at in range(WORD)]
        self._fixed = (
            np.array([high for high, _ in moves.outer], np.int64),
            np.array(lows, np.int64),
            np.array(bar, np.int8).reshape(-1, WORD),
            np.array([target for group in targets for target in group], np.int64),
            np.cumsum([0, *map(len, targets)]),
            moves.misere,
        )
        self._kernel = _solve_words(Engine.NUMBA)

    def solve(self, scores: NDArray[np.int8], low: int, high: int) -> None:
        """Solve the words from `low` to `high` if all after them are solved.

        `scores` has room for one word more: what is read shifted by a move runs over.
        """
        self._kernel(scores, low, high, *self._fixed)


@Kernel
def _solve_words(
    scores: NDArray[np.int8],
    first: int,
    end: int,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    bar: NDArray[np.int8],
    inner: NDArray[np.int64],
    bounds: NDArray[np.int64],
    misere: bool,
) -> None:
    """Score words from the last to the first.

    Unsigned array indices spare numba the test for negative ones, without which the loop over a
    word's 64 bytes becomes vector instructions: three times faster in all.
    """
    least = np.empty(WORD, np.int8)
    for word in range(end - 1, first - 1, -1):
        least[:] = UNSEEN
        for move in range(len(high)):
            if word & high[move] == 0:
                source = np.uint64((word | high[move]) * WORD + low[move])
                for at in range(np.uint64(WORD)):
                    least[at] = min(least[at], max(scores[source + np.uint64(at)], bar[move, at]))
        base = np.uint64(word * WORD)
        for at in range(WORD - 1, -1, -1):
            score = least[at]
            for move in range(bounds[at], bounds[at + 1]):
                score = min(score, scores[base + np.uint64(inner[move])])
            if score == UNSEEN:
                score = FINISHED if misere else -FINISHED
            elif score > 0:
                score = 1 - score
            else:
                score = -1 - score
            scores[base + np.uint64(at)] = score


class ScoreLevels:
    """The numpy form for one game: all words with equally many filled cells in their number at once."""

    def __init__(self, moves: ScoreMoves) -> None:
        self._moves = moves
        self._empty = [np.array([at for at in range(WORD) if not at & low]) for low in range(WORD)]

    def solve(self, scores: NDArray[np.int8], low: int, high: int) -> None:
        """Solve the words from `low` to `high`, numbers that share their leading bits."""
        words = scores.reshape(-1, WORD)
        numbers = np.arange(low, high)
        filled = np.bitwise_count(numbers)
        for level in range(int(filled.max()), int(filled.min()) - 1, -1):
            self._solve_level(words, numbers[filled == level])

    def _solve_level(self, words: NDArray[np.int8], numbers: NDArray[np.int64]) -> None:
        least = np.full((len(numbers), WORD), UNSEEN, np.int8)
        for high, low in self._moves.outer:
            able = np.flatnonzero(numbers & high == 0)
            seen = words[numbers[able] | high]
            if low:
                barred = np.full_like(seen, UNSEEN)
                barred[:, self._empty[low]] = seen[:, self._empty[low] | low]
                seen = barred
            least[able] = np.minimum(least[able], seen)
        # Positions across, words along: each step then runs over contiguous memory.
        across = np.ascontiguousarray(least.T)
        for at in range(WORD - 1, -1, -1):
            score = across[at]
            for target in self._moves.inner_targets(at):
                np.minimum(score, across[target], out=score)
            finished = FINISHED if self._moves.misere else -FINISHED
            counted = np.where(score > 0, 1 - score, -1 - score)
            across[at] = np.where(score == UNSEEN, finished, counted)
        words[numbers] = across.T
