"""Solve games in which a move fills an all-empty mask of cells, 64 positions at a time.

The index is the set of filled cells. Its low six bits say which position of a *word*, the rest (the
*block number*) says which word. Every move leads to a larger index, so words are solved from the
last to the first. A move splits into the part that it fills in the block number (`high`) and in the
word (`low`):

- an *outer* move has `high` != 0 and leads from word h to word h | high, which is known already; all
  64 positions follow at once, by a shift of `low`, masked by the positions that have `low` empty;
- an *inner* move stays in its word. The highest position not yet won is lost, whatever moves to it
  inside the word is won, and so on down. Lost positions are rare, so this is short.

Outcomes alone take a bit a position. With remoteness a position is a signed byte, its *score*: a win
in r is 126 - r and a loss in r is r - 126, so that the least score among the successors is what the
mover picks, and one step towards 0 counts the ply. 127 marks 'no successor seen'.

Both have two forms that share only `Moves`: a compiled loop over words, and numpy over all words
with the same number of filled cells in their block number, which do not depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Engine, Kernel
from builder.solvers.solution import (
    PackedColumn,
    Report,
    Solution,
    packed_remoteness,
    silent,
)
from lookup.blocks import pack
from lookup.format import Totals, outcome_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lookup.games.mask_game import MaskGame

LOW_CELLS = 6
WORD = 1 << LOW_CELLS
REMOTENESS_CELLS = 25
"""Boards up to this many cells get remoteness; larger ones a bit a position."""

UNSEEN = 127
FINISHED = 126
ALL = np.uint64(2**64 - 1)
_SLICE = 1 << 14  # words between two reports


@dataclass(frozen=True)
class Moves:
    """A game's masks, split into parts for words and parts inside a word."""

    blocks: int
    high: NDArray[np.int64]
    low: NDArray[np.int64]
    inner: NDArray[np.int64]
    misere: bool

    @classmethod
    def split(cls, cells: int, masks: Sequence[int], misere: bool) -> Moves:
        """The moves of a game."""
        all_masks = np.array(sorted(masks), np.int64)
        high, low = all_masks >> LOW_CELLS, all_masks & (WORD - 1)
        outer = high != 0
        return cls(1 << max(0, cells - LOW_CELLS), high[outer], low[outer], low[~outer], misere)

    @property
    def keep(self) -> NDArray[np.uint64]:
        """For each outer move, the positions of a word that have its low part empty."""
        return np.array(
            [_bits(at for at in range(WORD) if not at & low) for low in self.low], np.uint64
        )

    @property
    def reach(self) -> NDArray[np.uint64]:
        """For each position of a word, those that move to it by an inner move."""
        return np.array(
            [_bits(at ^ mask for mask in self.inner if at & mask == mask) for at in range(WORD)],
            np.uint64,
        )

    @property
    def movable(self) -> np.uint64:
        """The positions of a word that have an inner move."""
        return np.uint64(_bits(at for at in range(WORD) if any(not at & mask for mask in self.inner)))

    def inner_targets(self, at: int) -> list[int]:
        """Where inner moves lead from a position of a word."""
        return [at | int(mask) for mask in self.inner if not at & mask]


def solve(game: MaskGame, engine: Engine, report: Report = silent) -> Solution:
    """Outcomes, with remoteness for boards of up to `REMOTENESS_CELLS` cells."""
    if game.cells <= REMOTENESS_CELLS:
        return solve_remoteness(game, engine, report)
    return solve_outcome(game, engine, report)


def solve_outcome(game: MaskGame, engine: Engine, report: Report = silent) -> Solution:
    """Outcomes only."""
    moves = Moves.split(game.cells, game.masks, game.misere)
    words = np.zeros(moves.blocks, np.uint64)
    if engine == Engine.NUMBA:
        _run_words(moves, words, report)
    else:
        _level_words(moves, words, report)
    packed = words.view(np.uint8)[: max(1, game.size // 8)]
    if game.cells < 3:
        packed = packed & np.uint8((1 << game.size) - 1)
    wins = int(np.bitwise_count(packed).sum(dtype=np.int64))
    outcome = PackedColumn(outcome_column(1, game.size), packed)
    return Solution((outcome,), Totals((game.size - wins, 0, wins)))


def solve_remoteness(game: MaskGame, engine: Engine, report: Report = silent) -> Solution:
    """Outcomes and remoteness."""
    moves = Moves.split(game.cells, game.masks, game.misere)
    padded = np.zeros((moves.blocks + 1) * WORD, np.int8)  # shifted reads run over by one word
    if engine == Engine.NUMBA:
        _run_scores(moves, padded, report)
    else:
        _level_scores(moves, padded.reshape(-1, WORD), report)
    scores = padded[: game.size]
    won = scores > 0
    remoteness = (FINISHED - np.abs(scores)).view(np.uint8)
    longest, wins = int(remoteness.max()), int(won.sum())
    outcome = PackedColumn(outcome_column(1, game.size), pack(won.view(np.uint8), 1))
    columns = (outcome, packed_remoteness(remoteness, longest))
    return Solution(columns, Totals((game.size - wins, 0, wins), longest))


def memory_needed(game: MaskGame) -> int:
    """Bytes that `solve` takes at its peak, with what the writer needs of them."""
    if game.cells <= REMOTENESS_CELLS:
        return 5 * max(game.size, WORD)
    return game.size // 8 * 3


# --- compiled: words from the last to the first --------------------------------------------------


def _run_words(moves: Moves, words: NDArray[np.uint64], report: Report) -> None:
    kernel = _solve_words(Engine.NUMBA)
    low, keep, reach = moves.low.astype(np.uint64), moves.keep, moves.reach
    for first, last in _slices(moves.blocks, report):
        kernel(words, first, last, moves.high, low, keep, reach, moves.movable, moves.misere)


@Kernel
def _solve_words(
    words: NDArray[np.uint64],
    first: int,
    last: int,
    high: NDArray[np.int64],
    low: NDArray[np.uint64],
    keep: NDArray[np.uint64],
    reach: NDArray[np.uint64],
    movable: np.uint64,
    misere: bool,
) -> None:
    """Solve words `last` - 1 down to `first`; a set bit is a win."""
    for block in range(last - 1, first - 1, -1):
        won = np.uint64(0)
        can_move = movable
        for move in range(len(high)):
            if block & high[move] == 0:
                can_move |= keep[move]
                won |= (~words[block | high[move]] >> low[move]) & keep[move]
                if won == ALL:
                    break
        if misere:
            won |= ~can_move
        open_ = ~won
        while open_:
            # The highest open position: smear its bit downwards, then count what is below it.
            smear = open_ | open_ >> np.uint64(1)
            smear |= smear >> np.uint64(2)
            smear |= smear >> np.uint64(4)
            smear |= smear >> np.uint64(8)
            smear |= smear >> np.uint64(16)
            smear |= smear >> np.uint64(32)
            top = smear ^ smear >> np.uint64(1)
            below = reach[_bit_number(top)]
            won |= below
            open_ &= ~(below | top)
        words[block] = won


def _bit_number(bit: np.uint64) -> int:
    """The number of the only bit set."""
    number = 0
    if bit & np.uint64(0xFFFFFFFF00000000):
        number += 32
    if bit & np.uint64(0xFFFF0000FFFF0000):
        number += 16
    if bit & np.uint64(0xFF00FF00FF00FF00):
        number += 8
    if bit & np.uint64(0xF0F0F0F0F0F0F0F0):
        number += 4
    if bit & np.uint64(0xCCCCCCCCCCCCCCCC):
        number += 2
    if bit & np.uint64(0xAAAAAAAAAAAAAAAA):
        number += 1
    return number


def _run_scores(moves: Moves, scores: NDArray[np.int8], report: Report) -> None:
    kernel = _solve_scores(Engine.NUMBA)
    # For each outer move the least score that a position may take from it: UNSEEN bars the move.
    bar = np.array(
        [[UNSEEN if at & low else -UNSEEN for at in range(WORD)] for low in moves.low], np.int8
    ).reshape(-1, WORD)
    targets = [moves.inner_targets(at) for at in range(WORD)]
    bounds = np.cumsum([0, *map(len, targets)])
    inner = np.array([target for group in targets for target in group], np.int64)
    for first, last in _slices(moves.blocks, report):
        kernel(scores, first, last, moves.high, moves.low, bar, inner, bounds, moves.misere)


@Kernel
def _solve_scores(
    scores: NDArray[np.int8],
    first: int,
    last: int,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    bar: NDArray[np.int8],
    inner: NDArray[np.int64],
    bounds: NDArray[np.int64],
    misere: bool,
) -> None:
    """Score words `last` - 1 down to `first`.

    Unsigned array indices spare numba the test for negative ones, without which the loop over a
    word's 64 bytes becomes vector instructions: three times faster in all.
    """
    least = np.empty(WORD, np.int8)
    for block in range(last - 1, first - 1, -1):
        least[:] = UNSEEN
        for move in range(len(high)):
            if block & high[move] == 0:
                source = np.uint64((block | high[move]) * WORD + low[move])
                for at in range(np.uint64(WORD)):
                    least[at] = min(least[at], max(scores[source + np.uint64(at)], bar[move, at]))
        base = np.uint64(block * WORD)
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


def _slices(blocks: int, report: Report) -> Iterator[tuple[int, int]]:
    """Ranges of words from the last to the first, with reports in between."""
    for last in range(blocks, 0, -_SLICE):
        report(blocks - last, blocks)
        yield max(0, last - _SLICE), last
    report(blocks, blocks)


# --- numpy: all words with equally many filled cells at once -------------------------------------


def _levels(moves: Moves, report: Report) -> Iterator[NDArray[np.int64]]:
    """Block numbers by falling number of filled cells, with reports in between."""
    numbers = np.arange(moves.blocks)
    filled = np.bitwise_count(numbers)
    done = 0
    for level in range(int(filled[-1]), -1, -1):
        blocks = numbers[filled == level]
        yield blocks
        done += len(blocks)
        report(done, moves.blocks)


def _level_words(moves: Moves, words: NDArray[np.uint64], report: Report) -> None:
    keep, reach = moves.keep, moves.reach
    for blocks in _levels(moves, report):
        won = np.zeros(len(blocks), np.uint64)
        can_move = np.full(len(blocks), moves.movable)
        for high, low, kept in zip(moves.high, moves.low.astype(np.uint64), keep, strict=True):
            able = np.flatnonzero(blocks & high == 0)
            won[able] |= (~words[blocks[able] | high] >> low) & kept
            can_move[able] |= kept
        if moves.misere:
            won |= ~can_move
        for at in range(WORD - 1, -1, -1):
            lost = ~won >> np.uint64(at) & np.uint64(1)
            won |= lost * reach[at]
        words[blocks] = won


def _level_scores(moves: Moves, scores: NDArray[np.int8], report: Report) -> None:
    # Positions across, words along: each step then runs over contiguous memory.
    empty = [np.array([at for at in range(WORD) if not at & low]) for low in range(WORD)]
    for blocks in _levels(moves, report):
        least = np.full((len(blocks), WORD), UNSEEN, np.int8)
        for high, low in zip(moves.high, moves.low, strict=True):
            able = np.flatnonzero(blocks & high == 0)
            seen = scores[blocks[able] | high]
            if low:
                barred = np.full_like(seen, UNSEEN)
                barred[:, empty[low]] = seen[:, empty[low] | low]
                seen = barred
            least[able] = np.minimum(least[able], seen)
        across = np.ascontiguousarray(least.T)
        for at in range(WORD - 1, -1, -1):
            score = across[at]
            for target in moves.inner_targets(at):
                np.minimum(score, across[target], out=score)
            finished = FINISHED if moves.misere else -FINISHED
            counted = np.where(score > 0, 1 - score, -1 - score)
            across[at] = np.where(score == UNSEEN, finished, counted)
        scores[blocks] = across.T


def _bits(numbers: Iterator[int]) -> int:
    """The word with these bits set."""
    word = 0
    for number in numbers:
        word |= 1 << int(number)
    return word
