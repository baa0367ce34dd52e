"""Outcomes of games that fill empty masks of cells: a bit a position, 64 positions a word.

The index is the set of filled cells, and every move leads to a larger one. So positions are solved
from the last to the first, and never one at a time: cells 0 to 5 say which bit of a *word*, the next
six which word of a *group*, the next few which group of a *block*, the rest which block. What a move
does to a position depends on the highest cell that it fills:

- beyond the block (*far*) or the group (*near*): it leads to another block or group, known already. All
  words of this one are won at once where the words there are lost: a loop over consecutive words,
  shifted by the cells that the move fills inside the word. Such loops become vector instructions.
- beyond the word (*middle*): it leads to another word of the group. Which one is the same in every
  group, so it is written down once for each of the 64 words. Fuller words come first.
- inside the word (*inner*): a table of eight times 256 words says, for each byte of a word and what is
  won in it so far, what else is won in that byte and in the bytes before it.

Far moves are looked at a whole block at a time, since they read memory that no cache holds: blocks of
16 cells took three quarters of the time of single groups on 2^33 positions, larger ones more.

Without a compiler the same is done by numpy, over all words of a shard with equally many filled cells
in the number of the word, which do not depend on each other.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from builder.compile import Engine, Kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

WORD_CELLS = 6
GROUP_CELLS = 12
BLOCK_CELLS = 16
WORD = 1 << WORD_CELLS
GROUP = 1 << GROUP_CELLS - WORD_CELLS  # words

NO_END_WINS, FULL_BOARD_WINS, EVERY_END_WINS = 0, 1, 2
"""Which positions without a move are won: none under normal play, under misere play all; that is the
full board alone if any empty cell can be filled, which is much quicker to see."""


def ends_that_win(cells: int, masks: Sequence[int], misere: bool) -> int:
    """Which positions without a move are won."""
    if not misere:
        return NO_END_WINS
    single = {1 << cell for cell in range(cells)} <= set(masks)
    return FULL_BOARD_WINS if single else EVERY_END_WINS


def _bits(numbers: Iterable[int]) -> int:
    """The word with these bits set."""
    word = 0
    for number in numbers:
        word |= 1 << number
    return word


@cache
def _without(low: int) -> int:
    """The positions of a word that have these cells empty."""
    return _bits(at for at in range(WORD) if not at & low)


# --- compiled -------------------------------------------------------------------------------------


class Pulls(NamedTuple):
    """Moves out of a unit of words: the unit they lead to, the words inside it, and inside a word."""

    unit: NDArray[np.int64]
    word: NDArray[np.int64]
    low: NDArray[np.uint64]
    keep: NDArray[np.uint64]

    @classmethod
    def of(cls, masks: Iterable[int], unit_cells: int) -> Pulls:
        """Masks that fill a cell beyond the unit; those that lead to equal words come first."""
        inside = (1 << unit_cells) - 1
        ordered = sorted(masks, key=lambda mask: ((mask & inside) >> WORD_CELLS != 0, mask))
        lows = [mask & WORD - 1 for mask in ordered]
        return cls(
            np.array([mask >> unit_cells for mask in ordered], np.int64),
            np.array([(mask & inside) >> WORD_CELLS for mask in ordered], np.int64),
            np.array(lows, np.uint64),
            np.array([_without(low) for low in lows], np.uint64),
        )


class Within(NamedTuple):
    """Moves inside a group. Those of the word `order[i]` are the targets `first[i]` to `first[i + 1]`.

    `movable` are the positions of each word that have such a move.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    target: NDArray[np.int64]
    low: NDArray[np.uint64]
    keep: NDArray[np.uint64]
    movable: NDArray[np.uint64]
    resolve: NDArray[np.uint64]

    @classmethod
    def of(cls, masks: Sequence[int]) -> Within:
        """Masks of cells of one group, those inside a word among them."""
        inner = [mask for mask in masks if mask < WORD]
        middle = [(mask >> WORD_CELLS, mask & WORD - 1) for mask in masks if mask >= WORD]
        order = sorted(range(GROUP), key=lambda word: -word.bit_count())
        moves = [[(word | high, low) for high, low in middle if not word & high] for word in order]
        within_word = _bits(at for at in range(WORD) if any(not at & mask for mask in inner))
        movable = [0] * GROUP
        for word, found in zip(order, moves, strict=True):
            movable[word] = within_word
            for _, low in found:
                movable[word] |= _without(low)
        flat = [move for found in moves for move in found]
        return cls(
            np.array(order, np.int64),
            np.cumsum([0, *map(len, moves)], dtype=np.int64),
            np.array([target for target, _ in flat], np.int64),
            np.array([low for _, low in flat], np.uint64),
            np.array([_without(low) for _, low in flat], np.uint64),
            np.array(movable, np.uint64),
            _resolve(inner),
        )


def _resolve(inner: Sequence[int]) -> NDArray[np.uint64]:
    """For each byte of a word, and all that may be won in it by moves out of the word: what is won."""
    reach = _reach(inner)
    table = np.zeros((8, 256), np.uint64)
    for byte in range(8):
        table[byte] = np.arange(256, dtype=np.uint64) << np.uint64(8 * byte)
        for at in range(8 * byte + 7, 8 * byte - 1, -1):
            lost = ~table[byte] >> np.uint64(at) & np.uint64(1)
            table[byte] |= lost * reach[at]
    return table.ravel()


def _reach(inner: Sequence[int]) -> list[np.uint64]:
    """For each position of a word, those that move to it inside the word."""
    return [np.uint64(_bits(at ^ mask for mask in inner if at & mask == mask)) for at in range(WORD)]


class BitKernel:
    """The compiled form for a board of at least a group; threads may solve different blocks at once."""

    def __init__(self, cells: int, masks: Sequence[int], misere: bool) -> None:
        block_cells = min(cells, BLOCK_CELLS)
        self._length = 1 << block_cells - WORD_CELLS
        far = [mask for mask in masks if mask >> block_cells]
        near = [mask for mask in masks if mask >> GROUP_CELLS and not mask >> block_cells]
        within = [mask for mask in masks if not mask >> GROUP_CELLS]
        self._fixed = (
            (1 << cells - block_cells) - 1,
            ends_that_win(cells, masks, misere),
            *Pulls.of(far, block_cells),
            *Pulls.of(near, GROUP_CELLS),
            *Within.of(within),
        )
        self._kernel = _solve_blocks(Engine.NUMBA)

    def solve(self, words: NDArray[np.uint64], low: int, high: int) -> None:
        """Solve the words from `low` to `high`, whole blocks, if all after them are solved."""
        room = (np.zeros(self._length, np.uint64) for _ in range(2))
        self._kernel(words, *room, low // self._length, high // self._length, *self._fixed)


def _pull(
    won: NDArray[np.uint64],
    at: int,
    length: int,
    known: NDArray[np.uint64],
    source: int,
    word: int,
    low: np.uint64,
    keep: np.uint64,
) -> None:
    """Add to `length` words from `at` on what a move to the words from `source` on wins.

    Unsigned array indices spare numba the test for negative ones, without which the loops become
    vector instructions. Words that have the cells of `word` empty come in runs.
    """
    if word == 0:
        for i in range(np.uint64(length)):
            won[np.uint64(at) + i] |= (~known[np.uint64(source) + i] >> low) & keep
        return
    run = word & -word
    first = 0
    while first < length:
        to, of = np.uint64(at + first), np.uint64(source + (first | word))
        for i in range(np.uint64(run)):
            won[to + i] |= (~known[of + i] >> low) & keep
        first = ((first | word | run - 1) + 1) & ~word


def _mark(able: NDArray[np.uint64], at: int, length: int, word: int, keep: np.uint64) -> None:
    """Note which positions of `length` words from `at` on have a move."""
    for i in range(length):
        if i & word == 0:
            able[at + i] |= keep


@Kernel
def _solve_blocks(  # noqa: C901 - three nested loops over moves; helpers would hide their order
    words: NDArray[np.uint64],
    won: NDArray[np.uint64],
    able: NDArray[np.uint64],
    first_block: int,
    end_block: int,
    last_block: int,
    ends: int,
    far_unit: NDArray[np.int64],
    far_word: NDArray[np.int64],
    far_low: NDArray[np.uint64],
    far_keep: NDArray[np.uint64],
    near_unit: NDArray[np.int64],
    near_word: NDArray[np.int64],
    near_low: NDArray[np.uint64],
    near_keep: NDArray[np.uint64],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    target: NDArray[np.int64],
    low: NDArray[np.uint64],
    keep: NDArray[np.uint64],
    movable: NDArray[np.uint64],
    resolve: NDArray[np.uint64],
) -> None:
    """Solve blocks from the last to the first; a set bit is a win. `won` and `able` are for scratch."""
    length = len(won)
    for block in range(end_block - 1, first_block - 1, -1):
        won[:] = 0
        able[:] = 0
        for move in range(len(far_unit)):
            if block & far_unit[move] == 0:
                source = (block | far_unit[move]) * length
                _pull(won, 0, length, words, source, far_word[move], far_low[move], far_keep[move])
                if ends == EVERY_END_WINS:
                    _mark(able, 0, length, far_word[move], far_keep[move])
        if ends == FULL_BOARD_WINS and block == last_block:
            won[length - 1] |= np.uint64(1) << np.uint64(WORD - 1)
        for group in range(length // GROUP - 1, -1, -1):
            at = group * GROUP
            for move in range(len(near_unit)):
                if group & near_unit[move] == 0:
                    source = (group | near_unit[move]) * GROUP
                    _pull(won, at, GROUP, won, source, near_word[move], near_low[move], near_keep[move])
                    if ends == EVERY_END_WINS:
                        _mark(able, at, GROUP, near_word[move], near_keep[move])
            base = np.uint64(at)
            for i in range(GROUP):
                number = base + np.uint64(order[i])
                word = won[number]
                for move in range(np.uint64(first[i]), np.uint64(first[i + 1])):
                    word |= (~won[base + np.uint64(target[move])] >> low[move]) & keep[move]
                if ends == EVERY_END_WINS:
                    word |= ~(able[number] | movable[np.uint64(order[i])])
                # Written out: the compiler keeps a loop, which takes twice as long.
                word |= resolve[np.uint64(7 << 8) + (word >> np.uint64(56))]
                word |= resolve[np.uint64(6 << 8) + (word >> np.uint64(48) & np.uint64(255))]
                word |= resolve[np.uint64(5 << 8) + (word >> np.uint64(40) & np.uint64(255))]
                word |= resolve[np.uint64(4 << 8) + (word >> np.uint64(32) & np.uint64(255))]
                word |= resolve[np.uint64(3 << 8) + (word >> np.uint64(24) & np.uint64(255))]
                word |= resolve[np.uint64(2 << 8) + (word >> np.uint64(16) & np.uint64(255))]
                word |= resolve[np.uint64(1 << 8) + (word >> np.uint64(8) & np.uint64(255))]
                word |= resolve[word & np.uint64(255)]
                won[number] = word
        start = np.uint64(block * length)
        for i in range(np.uint64(length)):
            words[start + i] = won[i]


# --- numpy ----------------------------------------------------------------------------------------


class BitLevels:
    """The numpy form for one game: all words with equally many filled cells in their number at once."""

    def __init__(self, cells: int, masks: Sequence[int], misere: bool) -> None:  # noqa: ARG002 - as BitKernel
        self._misere = misere
        self._outer = [
            (mask >> WORD_CELLS, np.uint64(mask & WORD - 1), np.uint64(_without(mask & WORD - 1)))
            for mask in masks
            if mask >= WORD
        ]
        inner = [mask for mask in masks if mask < WORD]
        self._reach = _reach(inner)
        self._movable = np.uint64(
            _bits(at for at in range(WORD) if any(not at & mask for mask in inner))
        )

    def solve(self, words: NDArray[np.uint64], low: int, high: int) -> None:
        """Solve the words from `low` to `high`, numbers that share their leading bits."""
        numbers = np.arange(low, high)
        filled = np.bitwise_count(numbers)
        for level in range(int(filled.max()), int(filled.min()) - 1, -1):
            self._solve_level(words, numbers[filled == level])

    def _solve_level(self, words: NDArray[np.uint64], numbers: NDArray[np.int64]) -> None:
        won = np.zeros(len(numbers), np.uint64)
        can_move = np.full(len(numbers), self._movable)
        for high, low, keep in self._outer:
            able = np.flatnonzero(numbers & high == 0)
            won[able] |= (~words[numbers[able] | high] >> low) & keep
            can_move[able] |= keep
        if self._misere:
            won |= ~can_move
        for at in range(WORD - 1, -1, -1):
            lost = ~won >> np.uint64(at) & np.uint64(1)
            won |= lost * self._reach[at]
        words[numbers] = won
