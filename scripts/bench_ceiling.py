"""The loops of our solvers in C, compiled on the spot: the ceiling that `bench.py` measures them by.

Only solvers whose loop is short enough to be the same in C have one: not `heaps`, not `steps`.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from builder.solvers.mask_bits import BLOCK_CELLS, WORD, WORD_CELLS, BitKernel
from builder.solvers.mask_scores import ScoreKernel, ScoreMoves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench_games import Pursuit
    from numpy.typing import NDArray

    from lookup.games.clock import Clock
    from lookup.games.mask_game import MaskGame
    from lookup.games.winners_losers import WinnersLosers

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC")
Arrays: TypeAlias = "tuple[NDArray[Any], ...]"
Loop: TypeAlias = "Callable[[], Arrays]"


def compile_ceiling(folder: Path) -> Path | None:
    """Compile the loops into a folder: the library, or None if there is no C compiler that can."""
    if not (compiler := shutil.which("cc")):
        return None
    library = folder / "ceiling.so"
    done = subprocess.run([compiler, *FLAGS, "-o", str(library), str(SOURCE)], check=False)
    return None if done.returncode else library


class Ceiling:
    """Solvers in C, on one core.

    Each prepares a game and returns the loop: a function that makes the arrays of a solution, fills
    them and returns those of its columns, unpacked.
    """

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def bits(self, game: MaskGame) -> Loop:
        """The loop of `mask_bits`, on the arrays that ours runs on; returns the packed words."""
        # C is given what our kernels are given, which is nobody else's business.
        last_block, ends, *lists = BitKernel(game.cells, game.masks, game.misere)._fixed  # noqa: SLF001
        far, near, within = lists[:4], lists[4:8], lists[8:]
        length = 1 << min(game.cells, BLOCK_CELLS) - WORD_CELLS

        def solve() -> Arrays:
            words = np.zeros(game.size // WORD, np.uint64)
            won, able = np.zeros((2, length), np.uint64)
            self._call(
                "solve_blocks", words, won, able, length, 0, len(words) // length, last_block, ends,
                len(far[0]), *far, len(near[0]), *near, *within,
            )  # fmt: skip
            return (words.view(np.uint8),)

        return solve

    def bits_by_words(self, game: MaskGame) -> Loop:
        """The same one word after the other, sharing nothing with ours; returns the packed words."""
        outer = [mask for mask in game.masks if mask >= WORD]
        inner = [mask for mask in game.masks if mask < WORD]
        high = np.array([mask >> WORD_CELLS for mask in outer], np.int64)
        lows = [mask % WORD for mask in outer]
        keep = [_set(at for at in range(WORD) if not at & low) for low in lows]
        reach = [_set(at ^ mask for mask in inner if at & mask == mask) for at in range(WORD)]
        movable = [_set(at for at in range(WORD) if any(not at & mask for mask in inner))]
        lists = [np.array(one, np.uint64) for one in (lows, keep, reach, movable)]

        def solve() -> Arrays:
            words = np.zeros(game.size // WORD, np.uint64)
            self._call("solve_words", words, len(words), len(high), high, *lists, game.misere)
            return (words.view(np.uint8),)

        return solve

    def scores(self, game: MaskGame) -> Loop:
        """The loop of `mask_scores`, on the arrays that ours runs on; returns the scores."""
        fixed = ScoreKernel(ScoreMoves(game.masks, game.misere))._fixed  # noqa: SLF001 - as above

        def solve() -> Arrays:
            scores = np.zeros(game.size + WORD, np.int8)
            self._call("solve_scores", scores, game.size // WORD, len(fixed[0]), *fixed)
            return (scores[: game.size],)

        return solve

    def pursuit(self, game: Pursuit) -> Loop:
        """The queue of `retrograde`, with the rules of this game compiled into it."""

        def solve() -> Arrays:
            outcome, unrefuted = np.zeros(game.size, np.uint8), np.zeros(game.size, np.uint16)
            remoteness, queue = np.zeros((2, game.size), np.uint32)
            self._call("solve_pursuit", game.side, game.size, outcome, unrefuted, remoteness, queue)
            return outcome, remoteness

        return solve

    def letters(self, game: WinnersLosers) -> Loop:
        """The loop of `ordered`, with the rules of this game compiled into it."""

        def solve() -> Arrays:
            outcome, remoteness = np.zeros((2, game.size), np.uint8)
            self._call("solve_letters", game.size, outcome, remoteness)
            return outcome, remoteness

        return solve

    def clock(self, game: Clock) -> Loop:
        """The walk over all clocks, one step after the other; returns the remoteness."""

        def solve() -> Arrays:
            turns, remoteness = np.zeros((2, game.size), np.uint32)
            word = np.zeros(game.n, np.int64)
            self._call("solve_clock", remoteness, turns, game.n, game.k + 1, word)
            return (remoteness,)

        return solve

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, name)
        function.restype = None
        function(
            *(
                ctypes.c_void_p(one.ctypes.data) if isinstance(one, np.ndarray) else ctypes.c_int64(one)
                for one in arguments
            )
        )


def _set(numbers: Iterable[int]) -> int:
    """The word with these bits set."""
    return sum(1 << number for number in set(numbers))
