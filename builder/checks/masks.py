"""Outcomes of games of filling masks, a bit each: 64 positions at a time, from the definition.

A position is won if some mask that is empty leads to a lost one, or if it has no move and the game is
misere. All outcomes are known here, so there is no order to keep: for each word of 64 positions, what
the words after each move say is shifted into place and joined, and must give the word itself.

Words are cut into *blocks*, which stay in the first cache of a core, and blocks into *pieces* of the
file, of which as many are kept as memory allows. A mask has a part inside a word, one inside a block,
one inside a piece, and one that leads to another piece; all pieces that a piece leads to are kept at
once.

A compiled loop and a numpy form share how masks are cut, and nothing with the solver.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from builder.checks.check import Check, Wrong
from builder.compile import Engine, Kernel
from lookup.format import CHUNK_BYTES_LARGE, OUTCOME, Totals
from lookup.games.base import Game
from lookup.games.mask_game import MaskGame
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from builder.workers import Workers
    from lookup.reader import TableReader

WORD, WORD_BYTES = 64, 8
ALL = np.uint64(2**64 - 1)

BLOCK = {Engine.NUMBA: 1 << 13, Engine.PYTHON: 1 << 15}
"""Bytes of a block: larger ones leave the cache, smaller ones make short loops."""

LEAST_PIECE, BEST_PIECE = CHUNK_BYTES_LARGE, 1 << 20
"""Bytes of a piece: the least that is worth reading, and those that keep all cores busy."""


def applies_to(file: TableReader) -> bool:
    """Whether a table is a bit a position of a game that is nothing but its masks."""
    kind = type(file.game)
    return (
        issubclass(kind, MaskGame)
        and kind.successors is MaskGame.successors
        and kind.terminal is MaskGame.terminal
        and kind.is_position is Game.is_position
        and [stored.column.bits for stored in file.columns.values()] == [1]
    )


def memory_needed(game: MaskGame, threads: int) -> int:
    """The least bytes that `check` takes, without what reading chunks takes."""
    piece = min(_table_bytes(game), LEAST_PIECE)
    return _pieces_at_once(game, piece) * piece + _working_bytes(piece, threads)


def check(
    file: TableReader, engine: Engine, workers: Workers, memory: int, sampled: bool = False
) -> Check:
    """The check of a table that it `applies_to`, in about so many bytes, if they are enough.

    It counts the wins that it sees: `totals` is right once it has been given every index.
    """
    game = file.game
    assert isinstance(game, MaskGame)
    table = _table_bytes(game)
    memory -= _working_bytes(min(table, BEST_PIECE), workers.count)
    piece = min(table, LEAST_PIECE)
    while not sampled and 2 * piece <= min(table, BEST_PIECE):
        if _pieces_at_once(game, 2 * piece) * 2 * piece > memory:
            break
        piece *= 2
    kept = min(table // piece, max(_pieces_at_once(game, piece), memory // piece))
    pieces = _Pieces(file, piece, kept, workers)
    block = min(piece, BLOCK[engine])
    moves = _Moves.cut(game, block // WORD_BYTES, piece // WORD_BYTES)
    first_wrong_word = _first_wrong_word(engine) if engine == Engine.NUMBA else _first_wrong_in_numpy
    in_a_word = np.uint64((1 << min(game.size, WORD)) - 1)
    wins = 0

    def first_wrong(low: int, high: int) -> Wrong | None:
        nonlocal wins
        number, at = divmod(low // WORD, piece // WORD_BYTES)
        own, sources = moves.sources(number, pieces)

        def in_blocks(first: int, last: int) -> tuple[int, int]:
            won = np.zeros(block // WORD_BYTES, np.uint64)
            parts = moves.low, moves.keep, moves.inside, moves.high
            word: int = first_wrong_word(
                pieces.words, own, first, last, sources, *parts, in_a_word, game.misere, won
            )
            return word, 0 if word < 0 else int(won[word % len(won)] & in_a_word)

        end = max(at + 1, at + (high - low) // WORD)
        for word, expected in workers.in_order(in_blocks, _shares(at, end, block, workers.count)):
            if word >= 0:
                stored = int(pieces.words[own + word] & in_a_word)
                return _wrong(number * piece // WORD_BYTES + word, stored, expected)
        seen = pieces.words[own + at : own + end] & in_a_word
        wins += int(np.bitwise_count(seen).sum(dtype=np.int64))
        return None

    def totals() -> Totals:
        return Totals((game.size - wins, 0, wins))

    stretch, grain = (min(game.size, 8 * bytes_) for bytes_ in (piece, block))
    return Check(first_wrong, stretch, grain, parallel=False, totals=totals)


def _table_bytes(game: MaskGame) -> int:
    """Bytes of a table's bits, in whole words."""
    return max(WORD_BYTES, game.size // 8)


def _working_bytes(piece: int, threads: int) -> int:
    """What threads make of blocks on their way, what is counted of a piece, and the masks."""
    return threads * 8 * min(piece, max(BLOCK.values())) + 2 * piece + (1 << 16)


def _pieces_at_once(game: MaskGame, piece: int) -> int:
    """How many pieces must be kept: one that is checked, and those that moves from it lead to."""
    return len({0, *(mask // (8 * piece) for mask in game.masks)})


def _shares(first: int, end: int, block: int, threads: int) -> Iterator[tuple[int, int]]:
    """The blocks that hold words `first` to `end`, in a range for each thread."""
    words = block // WORD_BYTES
    low, high = first // words, -(-end // words)
    share = -(-(high - low) // threads)
    return ((at, min(at + share, high)) for at in range(low, high, share))


def _wrong(word: int, stored: int, expected: int) -> Wrong:
    """The first position of a word whose outcome is not the expected one."""
    different = stored ^ expected
    at = (different & -different).bit_length() - 1
    records = (Outcome.LOSS, Outcome.WIN) if expected >> at & 1 else (Outcome.WIN, Outcome.LOSS)
    return Wrong(word * WORD + at, *map(int, records))


class _Pieces:
    """Pieces of a table's bits, side by side; those used least recently make room for others."""

    def __init__(self, file: TableReader, piece: int, most: int, workers: Workers) -> None:
        self._file, self._stored, self._workers = file, file.columns[OUTCOME], workers
        self._piece, self._most = piece, most
        self._bytes = np.zeros(piece * most, np.uint8)
        self._slots: OrderedDict[int, int] = OrderedDict()
        self.words = self._bytes.view(np.uint64)

    def hold(self, numbers: Iterable[int]) -> dict[int, int]:
        """Where in `words` each of these pieces begins, until the next call."""
        wanted = set(numbers)
        for number in wanted & self._slots.keys():
            self._slots.move_to_end(number)
        missing = sorted(wanted - self._slots.keys())
        for number in missing:
            free = len(self._slots)
            self._slots[number] = free if free < self._most else self._slots.popitem(last=False)[1]
        for _ in self._workers.in_order(self._read, self._chunks_of(missing)):
            pass
        return {number: self._slots[number] * self._piece // WORD_BYTES for number in wanted}

    def _chunks_of(self, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Pieces, each with each chunk of the file in which some of it lies."""
        for number in numbers:
            low, high = (
                number * self._piece,
                min((number + 1) * self._piece, self._stored.column.nbytes),
            )
            size = self._stored.chunk_bytes
            yield from ((number, chunk) for chunk in range(low // size, -(-high // size)))

    def _read(self, number: int, chunk: int) -> None:
        """Put what a chunk has of a piece into its place."""
        first = chunk * self._stored.chunk_bytes - number * self._piece  # where the chunk begins in it
        content = np.frombuffer(self._file.read_chunk(OUTCOME, chunk), np.uint8)
        content = content[max(0, -first) : self._piece - first]
        start = self._slots[number] * self._piece + max(0, first)
        self._bytes[start : start + len(content)] = content


class _Moves(NamedTuple):
    """A game's masks, cut into their four parts.

    `low` is the part inside a word, as a number of bits to shift by, and `keep` the positions of a word
    that have it empty. `inside` says words of a block, `high` blocks of a piece, `top` pieces.
    """

    low: NDArray[np.uint64]
    keep: NDArray[np.uint64]
    inside: NDArray[np.int64]
    high: NDArray[np.int64]
    top: tuple[int, ...]

    @classmethod
    def cut(cls, game: MaskGame, block: int, piece: int) -> _Moves:
        """The moves of a game, for blocks and pieces of so many words."""
        masks = sorted(game.masks)
        empty = [sum(1 << at for at in range(WORD) if at & low == 0) for low in range(WORD)]
        return cls(
            np.array([mask % WORD for mask in masks], np.uint64),
            np.array([empty[mask % WORD] for mask in masks], np.uint64),
            np.array([mask // WORD % block for mask in masks], np.int64),
            np.array([mask // WORD % piece // block for mask in masks], np.int64),
            tuple(mask // WORD // piece for mask in masks),
        )

    def sources(self, number: int, pieces: _Pieces) -> tuple[int, NDArray[np.int64]]:
        """Where a piece begins, and where the one that each mask leads to; -1 for those not empty."""
        places = pieces.hold({number, *(number | top for top in self.top if number & top == 0)})
        sources = [-1 if number & top else places[number | top] for top in self.top]
        return places[number], np.array(sources, np.int64)


# --- compiled -------------------------------------------------------------------------------------


@Kernel
def _first_wrong_word(
    words: NDArray[np.uint64],
    own: int,
    first: int,
    last: int,
    sources: NDArray[np.int64],
    low: NDArray[np.uint64],
    keep: NDArray[np.uint64],
    inside: NDArray[np.int64],
    high: NDArray[np.int64],
    in_a_word: np.uint64,
    misere: bool,
    won: NDArray[np.uint64],
) -> int:
    """The first wrong word in blocks `first` to `last` - 1 of the piece that begins at `own`, or -1.

    `won` is then what its block should be.
    """
    size = len(won)
    for block in range(first, last):
        won[:] = 0
        if misere and not _all_can_move(block, sources, keep, inside, high):
            _find_stuck(won, block, sources, keep, inside, high)
        for move in range(len(sources)):
            if sources[move] >= 0 and block & high[move] == 0:
                target = np.uint64(sources[move] + (block | high[move]) * size)
                _join_losses(won, words, target, low[move], keep[move], inside[move])
        start = np.uint64(own + block * size)
        different = np.uint64(0)
        for at in range(np.uint64(size)):
            different |= won[at] ^ words[start + at]
        if different & in_a_word:
            word = 0
            while (won[word] ^ words[own + block * size + word]) & in_a_word == 0:
                word += 1
            return block * size + word
    return -1


def _all_can_move(
    block: int,
    sources: NDArray[np.int64],
    keep: NDArray[np.uint64],
    inside: NDArray[np.int64],
    high: NDArray[np.int64],
) -> bool:
    """Whether one and the same move is open to all positions of a block, as in most blocks."""
    for move in range(len(sources)):
        if sources[move] >= 0 and block & high[move] == 0 and inside[move] == 0 and keep[move] == ALL:
            return True
    return False


def _find_stuck(
    stuck: NDArray[np.uint64],
    block: int,
    sources: NDArray[np.int64],
    keep: NDArray[np.uint64],
    inside: NDArray[np.int64],
    high: NDArray[np.int64],
) -> None:
    """Write which positions of a block have no move."""
    stuck[:] = ALL
    for move in range(len(sources)):
        if sources[move] >= 0 and block & high[move] == 0:
            for word in range(len(stuck)):
                if word & inside[move] == 0:
                    stuck[word] &= ~keep[move]


def _join_losses(
    won: NDArray[np.uint64],
    words: NDArray[np.uint64],
    target: np.uint64,
    low: np.uint64,
    keep: np.uint64,
    inside: int,
) -> None:
    """Add the positions of a block from which a move leads to a lost one of the block at `target`.

    The words that have `inside` empty come in runs. Unsigned array indices spare numba the test for
    negative ones, without which the loop over a run becomes vector instructions.
    """
    run = inside & -inside if inside else len(won)
    word = 0
    while word < len(won):
        to, source = np.uint64(word), target + np.uint64(word | inside)
        for at in range(np.uint64(run)):
            won[to + at] |= (~words[source + at] >> low) & keep
        word = ((word | inside | (run - 1)) + 1) & ~inside


# --- numpy ----------------------------------------------------------------------------------------


def _first_wrong_in_numpy(
    words: NDArray[np.uint64],
    own: int,
    first: int,
    last: int,
    sources: NDArray[np.int64],
    low: NDArray[np.uint64],
    keep: NDArray[np.uint64],
    inside: NDArray[np.int64],
    high: NDArray[np.int64],
    in_a_word: np.uint64,
    misere: bool,
    won: NDArray[np.uint64],
) -> int:
    """The same as `_first_wrong_word`."""
    size = len(won)
    for block in range(first, last):
        won[:] = 0
        moves = np.flatnonzero((sources >= 0) & (block & high == 0)).tolist()
        if misere:
            for move in moves:
                _part(won, inside[move], filled=False)[...] |= keep[move]
            np.invert(won, out=won)
        for move in moves:
            target = int(sources[move] + (block | high[move]) * size)
            after = _part(words[target : target + size], inside[move], filled=True)
            _part(won, inside[move], filled=False)[...] |= ~after >> low[move] & keep[move]
        different = (won ^ words[own + block * size : own + (block + 1) * size]) & in_a_word
        if different.any():
            return block * size + int((different != 0).argmax())
    return -1


def _part(block: NDArray[np.uint64], inside: int, filled: bool) -> NDArray[np.uint64]:
    """The words of a block whose numbers have all bits of `inside` set, or none, as a view.

    Neighbouring bits that are all in `inside`, or all outside, become one dimension.
    """
    shape: list[int] = []
    chosen: list[int | slice] = []
    left, rest = len(block).bit_length() - 1, int(inside)
    while left:
        bit = rest & 1
        other = (~rest if bit else rest) | 1 << left
        count = (other & -other).bit_length() - 1
        shape.insert(0, 1 << count)
        chosen.insert(0, (-1 if filled else 0) if bit else slice(None))
        rest, left = rest >> count, left - count
    return block.reshape(shape)[(*chosen, ...)]  # a view, even of a single word
