"""Outcome and remoteness by their definition, one round for each ply.

Round r looks at every index whose value is not known, and knows what ends in less than r plies: a move
to a lost position wins in r; if all moves lead to won ones, it is lost in r. A single player wins by a
move to a won position, and nothing else. A round in which nothing is settled is the last, and what is
left is a draw: there are as many rounds as the longest play has plies. Threads share a round, since
what it settles it does not use.

Nothing here depends on the order of the index, on symmetry or on `predecessors`.
"""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from builder.checks.check import STRETCH
from builder.compile import UNWRITTEN, Engine, Kernel, buffer, rule, views
from builder.conformance import broken_rule
from builder.second.method import Method
from builder.solvers.solution import slices
from lookup.games.mask_game import MaskGame
from lookup.values import Outcome, Values

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from numpy.typing import DTypeLike, NDArray

    from builder.workers import Workers
    from lookup.games.base import Game, IndexTest, Neighbours
    from lookup.progress import Report

# Compiled code knows no enums.
LOSS, DRAW, WIN = int(Outcome.LOSS), int(Outcome.DRAW), int(Outcome.WIN)
OPEN, HOLE = 0, 4
"""What is known of an index is its outcome and, times 4, one more than its remoteness if it has one."""
_NARROW = 62  # plies that fit what is known into a byte


class Rounds(Method):
    """Rounds over `successors`, until nothing changes."""

    words: ClassVar[str] = "by rounds, one for each ply"

    def __init__(self, game: Game, engine: Engine) -> None:
        self._game, self._engine = game, engine
        self._known: NDArray[np.unsignedinteger] = np.zeros(game.size, _dtype(game))
        self._rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]

    @staticmethod
    def memory_needed(game: Game) -> int:
        """A byte or four for each index."""
        return game.size * np.dtype(_dtype(game)).itemsize

    def solve(self, report: Report, workers: Workers) -> None:
        """Rounds, until one settles nothing and nothing waits for a later one."""
        game, engine, size = self._game, self._engine, self._game.size
        kernel, known = _one_round(engine), views(engine, self._known)

        def settle(low: int, high: int) -> int:
            fixed = game.players == 1, int(game.stuck), game.max_moves, plies, low, high
            found: int = kernel(*self._rules, *fixed, buffer(game.max_moves, engine), *known)
            return found

        left = {part: part[1] - part[0] for part in slices(0, size, STRETCH[engine])}
        plies, done, again = 0, 0, True
        while again:
            again = False
            run = workers.in_order if engine == Engine.NUMBA else starmap
            for part, found in zip(list(left), run(settle, list(left)), strict=True):
                if found < 0:
                    raise broken_rule(game, -1 - found)
                again = again or found > 0
                done += found >> 1
                left[part] -= found >> 1
                report(done, size)
            left = {part: count for part, count in left.items() if count}
            plies += 1
        report(size, size)

    def values(self, low: int, high: int) -> Values:
        """What is not known is a draw."""
        known = self._known[low:high].astype(np.uint32)
        outcome = np.where(known == OPEN, np.uint8(DRAW), (known & 3).astype(np.uint8))
        remoteness = np.where(known > HOLE, (known >> 2) - 1, 0)
        return Values(outcome, remoteness, None)


def _dtype(game: Game) -> DTypeLike:
    """A byte where no play is long: a move fills a cell at least."""
    return np.uint8 if isinstance(game, MaskGame) and game.cells <= _NARROW else np.uint32


@Kernel
def _one_round(  # noqa: C901 - one loop over moves; helpers would cost more than it does
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    alone: bool,
    stuck: int,
    most: int,
    plies: int,
    low: int,
    high: int,
    out: MutableSequence[int],
    known: MutableSequence[int],
) -> int:
    """Settle the indices from `low` to before `high` that end in so many plies.

    Returns twice their number, plus 1 if an end waits for a later round; -1 - n if the rules break the
    contract at index n.
    """
    settled = waiting = 0
    for index in range(low, high):
        if known[index] != OPEN:
            continue
        value = OPEN
        end = 0
        if plies == 0 and is_position(index) == 0:
            value = HOLE
        else:
            end = terminal(index)
        if end:
            if end < 0 or end & 3 == 0:
                return -1 - index
            if end & 3 == DRAW:
                value = DRAW
            elif end >> 2 == plies:
                value = (plies + 1) << 2 | end & 3
            else:
                waiting = 1
        elif value == OPEN:
            count = successors(index, out)
            if not 0 <= count <= most:
                return -1 - index
            if count == 0:
                value = DRAW if stuck == DRAW else 4 | stuck
            won, lost = False, not alone and count > 0
            for at in range(count):
                after = out[at]
                out[at] = UNWRITTEN
                if not 0 <= after < len(known):
                    return -1 - index
                if won:
                    continue
                # To numba, a sum of unsigned and signed is signed, and wide.
                there = known[after] + 0
                if there == HOLE:
                    return -1 - index
                if there == OPEN or there >> 2 > plies:
                    lost = False
                elif there & 3 == (WIN if alone else LOSS):
                    won = True
                elif there & 3 != WIN:
                    lost = False
            if won or lost:
                value = (plies + 1) << 2 | (WIN if won else LOSS)
        if value != OPEN:
            known[index] = value
            settled += 1
    return 2 * settled + waiting
