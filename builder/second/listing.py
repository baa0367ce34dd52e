"""Games of steps with every move listed: one step, two after each other, and leaps.

The steps of each position are listed once. A pair of steps is a step and each step of what it leads to,
position by position: what these are worth is looked up anew for every pair, and nothing is remembered
of what one step reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from builder.compile import Engine, Kernel, buffer, rule, views
from builder.second.method import Method
from builder.solvers.solution import slices
from lookup.errors import GameError
from lookup.games.step_game import StepGame
from lookup.values import Outcome, Values

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from builder.workers import Workers
    from lookup.games.base import Game, Neighbours
    from lookup.progress import Report

LOSS, WIN = np.uint8(Outcome.LOSS), np.uint8(Outcome.WIN)
_STEP = {Engine.NUMBA: 1 << 15, Engine.PYTHON: 1 << 10}  # indices between two reports
_SEEN = 512  # positions whose steps are counted to know how many there are
_VALUES = 1 << 12  # Grundy values that have room; a step game with larger ones has no table


class Listing(Method):
    """Grundy value and remoteness by the plain moves."""

    words: ClassVar[str] = "by listing every move, pairs of steps one by one"

    def __init__(self, game: Game, engine: Engine) -> None:
        assert isinstance(game, StepGame)
        self._game, self._engine = game, engine
        self._grundy = np.zeros(game.size, np.uint16)
        self._remoteness = np.zeros(game.size, np.uint16)

    @staticmethod
    def memory_needed(game: Game) -> int:
        """What is stored, and the steps of every position: about as many as those of some have."""
        assert isinstance(game, StepGame)
        out = [0] * game.max_steps
        seen = range(0, game.size, max(1, game.size // _SEEN))
        mean = sum(game.steps(index, out) for index in seen) / len(seen)
        return int(game.size * (12 + 4 * (mean + 1)))

    def solve(self, report: Report, workers: Workers) -> None:  # noqa: ARG002 - in order
        """List the steps; then settle the indices in their order, since all moves make them smaller."""
        game, engine = self._game, self._engine
        steps, leaps = rule(game.steps, engine), rule(game.leaps, engine)
        parts = list(slices(0, game.size, _STEP[engine]))
        places, listed, done = np.zeros(game.size + 1, np.int64), np.zeros(0, np.uint32), 0
        # First how many steps each index has; then, from the end of its list down, which.
        for writing in (False, True):
            if writing:
                np.cumsum(places, out=places)
                listed = np.zeros(int(places[-1]), np.uint32)
            for low, high in parts:
                out = buffer(game.max_steps, engine)
                given = views(engine, places, listed)
                bad = _list_steps(engine)(steps, low, high, writing, out, *given)
                if bad >= 0:
                    problem = "has a step that leads to no smaller index"
                    raise GameError(f"index {bad} of {game.table_name} {problem}")
                done += high - low
                report(done, 3 * game.size)
        settle, given = _settle(engine), views(engine, places, listed, self._grundy, self._remoteness)
        for low, high in parts:
            room = buffer(game.max_steps, engine), buffer(_VALUES, engine)
            bad = settle(leaps, low, high, _VALUES, *room, *given)
            if bad >= 0:
                problem = f"leaps to a larger index, or is worth {_VALUES} and more"
                raise GameError(f"index {bad} of {game.table_name} {problem}")
            done += high - low
            report(done, 3 * game.size)

    def values(self, low: int, high: int) -> Values:
        """All are positions."""
        grundy = self._grundy[low:high]
        return Values(np.where(grundy > 0, WIN, LOSS), self._remoteness[low:high], grundy)


@Kernel
def _list_steps(
    steps: Neighbours,
    low: int,
    high: int,
    writing: bool,
    out: MutableSequence[int],
    places: MutableSequence[int],
    listed: MutableSequence[int],
) -> int:
    """Count the steps from a stretch of indices, or write them into the room that they have.

    Returns an index that has others than to smaller ones, or -1.
    """
    for index in range(low, high):
        count = steps(index, out)
        if not writing:
            places[index] = count
        for at in range(count):
            if not 0 <= out[at] < index:
                return index
            if writing:
                places[index] -= 1
                listed[places[index]] = out[at]
    return -1


@Kernel
def _settle(
    leaps: Neighbours,
    low: int,
    high: int,
    values: int,
    out: MutableSequence[int],
    reached: MutableSequence[int],
    places: Sequence[int],
    listed: Sequence[int],
    grundy: MutableSequence[int],
    remoteness: MutableSequence[int],
) -> int:
    """Settle a stretch of indices, those before it being settled; returns one that cannot be, or -1.

    `reached[value]` is one more than the last index from which a move reached that value. With 0 comes
    the quickest way to it, and of all others the slowest counts.
    """
    for index in range(low, high):
        quickest, slowest = 1 << 30, -1
        for at in range(places[index], places[index + 1]):
            between = listed[at]
            # The step alone, and then each that may follow it.
            for second in range(places[between] - 1, places[between + 1]):
                there = between if second < places[between] else listed[second]
                value, plies = grundy[there], remoteness[there]
                reached[value] = index + 1
                if value == 0 and plies < quickest:
                    quickest = plies
                if plies > slowest:
                    slowest = plies
        count = leaps(index, out) if slowest >= 0 else 0
        for at in range(count):
            there = out[at]
            if not 0 <= there < index:
                return index
            value, plies = grundy[there], remoteness[there]
            reached[value] = index + 1
            if value == 0 and plies < quickest:
                quickest = plies
            if plies > slowest:
                slowest = plies
        least = 0
        while reached[least] == index + 1:
            least += 1
            if least == values - 1:
                return index
        grundy[index] = least
        remoteness[index] = 1 + (quickest if least else slowest)
    return -1
